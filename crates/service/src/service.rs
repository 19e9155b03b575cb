//! The public interface of the service: every call in one line, grouped by the room that answers it.

use crate::bodies::Newest;
use crate::edit::Folder;
use crate::meter::Meter;
use crate::overview::{Knowledge, Overview};
use crate::parts::Parts;
use crate::provider::ProviderRules;
use crate::retention::{Retention, RetentionBatch};
use crate::streams::Streams;
use crate::view::{Figures, StatsScope};
use ctx_api::cache::Misses;
use ctx_api::context::{ContextView, WorthView};
use ctx_api::conversations::{Conversations, ImportResult};
use ctx_api::edit::{EditRequest, EditResult};
use ctx_api::face::Face;
use ctx_api::frames::Frames;
use ctx_api::history::{Branches, Diff, HistoryRequest, HistoryView, Tags};
use ctx_api::map::ContextMap;
use ctx_api::models::ModelsView;
use ctx_api::offloaded::{OffloadedQuery, OffloadedView};
use ctx_api::phases::{PhaseRequest, PhasesView};
use ctx_api::plan::{Plan, PlanView};
use ctx_api::requests::{CompositionView, SentView};
use ctx_api::search::SearchResults;
use ctx_api::show::ContentView;
use ctx_api::stats::Stats;
use ctx_api::status::ProviderView;
use ctx_api::timeline::{AccessView, Event, Timeline};
use ctx_api::waiting::{PendingOutcome, WaitView, WaitingView};
use ctx_core::SlotId;
use ctx_engine::attribution::SeenRequest;
use ctx_engine::card::Card;
use ctx_engine::compose::Ready;
use ctx_engine::edit::handle::Handles;
use ctx_engine::edit::heal::Illness;
use ctx_engine::helper::questions::{OpenQuestions, StaleTitle};
use ctx_engine::log::{HelperUse, PhaseSummary};
use ctx_engine::ports::{About, Authors, Automatic};
use ctx_engine::request::Ticket;
use ctx_engine::response::Timing;
use ctx_engine::{Moments, Problem, Refusal};
use ctx_models::Models;
use ctx_store::{Presence, PurgeReport, Record, Store, StoreError};
use ctx_wire::answer::{Answer, Ending};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// All conversations, and all calls on them.
pub struct Service {
    pub(crate) parts: Parts,
}

impl Service {
    /// Opens the service on a store and the conversations in it.
    pub fn open(store: Arc<dyn Store>) -> Result<Service, StoreError> {
        let overview = Overview::read(&*store)?;
        Ok(Service { parts: Parts::of(store, overview) })
    }

    /// The same with the edited conversations only, so that requests pass at once. A [`Recorder`](crate::Recorder) reads
    /// the others; until then, what concerns any conversation waits.
    pub fn open_early(store: Arc<dyn Store>) -> Result<Service, StoreError> {
        let overview = Overview::read_edited(&*store)?;
        let knowledge = Knowledge::of_edited();
        Ok(Service { parts: Parts { knowledge, ..Parts::of(store, overview) } })
    }

    /// Opens the service while its store is out of reach, with the cards of edited conversations: their requests are
    /// withheld until the store can be read, all others pass.
    pub fn open_away(store: Arc<dyn Store>, edited: Vec<Card>) -> Service {
        Service { parts: Parts::of(store, Overview::of_edited(edited)) }
    }

    /// The parts, when all conversations are known.
    fn known(&self) -> &Parts {
        self.parts.wait_until_known();
        &self.parts
    }

    /// The cards of edited conversations without any content, for [`Service::open_away`].
    pub fn edited_cards(&self) -> Vec<Card> {
        self.parts.edited_cards()
    }

    /// Increases whenever [`Service::edited_cards`] get another conversation or lose one.
    pub fn edited_changes(&self) -> u64 {
        self.parts.held.changes()
    }

    /// Calls `keep` after edits, before they are acknowledged here or to the daemon that made them. Only the first one
    /// counts.
    pub fn before_confirming(&self, keep: impl Fn() + Send + Sync + 'static) {
        let _ = self.parts.keeper.set(Box::new(keep));
    }

    /// Sets the folder for offloaded content.
    pub fn offloading_to(mut self, folder: Folder) -> Service {
        self.parts.engine.offload_folder = Some(Arc::new(folder.clone()));
        let _ = self.parts.offload.set(folder);
        self
    }

    /// Keeps offloaded content in the store, for agents that cannot read the daemon's files.
    pub fn keeping_in_store(mut self, handles: Handles) -> Service {
        self.parts.engine.handles = Some(handles);
        self
    }

    /// Sets the moments that deferred edits wait for.
    pub fn with_moments(mut self, moments: Moments) -> Service {
        self.parts.engine.moments = moments;
        self
    }

    /// Sets the user's entries on models.
    pub fn with_models(mut self, models: Models) -> Service {
        self.parts.engine.models = models;
        self
    }

    /// Sets the edits that the provider is asked to make. `upstream` names the provider.
    pub fn with_provider(mut self, source: Arc<dyn ProviderRules>, upstream: &str) -> Service {
        self.parts.ask_provider(source, upstream);
        self
    }

    /// Replaces the automatic editor, or switches it off with `None`. Commits made so far stay.
    pub fn automate(&self, editor: Option<Arc<dyn Automatic>>) {
        self.parts.automatic.put(editor);
    }

    /// Whether a request must be held until it is composed: its conversation has or may have operations, or pending
    /// ones; all requests are inspected; or the provider may be asked for additional edits.
    pub fn holds(&self, hints: &ctx_clients::Hints) -> bool {
        self.parts.automatic.holds_all() || self.parts.held.holds(hints) || self.parts.provider.holds(hints)
    }

    /// Requests since the start that carried only new messages because the provider keeps their history.
    pub fn elsewhere(&self) -> u64 {
        self.parts.elsewhere.load(Ordering::Relaxed)
    }

    /// The newest bodies, with which passing bodies are compared.
    pub fn newest(&self) -> &Newest {
        &self.parts.newest
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// Calls `listener` with every stored record until it returns false.
    pub fn listen(&self, listener: impl Fn(&ctx_store::Record) -> bool + Send + 'static) {
        self.parts.writer.listen(Box::new(listener));
    }

    /// Tells `meter` what happens from now on. Only the first meter counts.
    pub fn meter(&self, meter: Arc<dyn Meter>) {
        let _ = self.parts.meter.set(meter);
    }

    /// Calls `listener` when a daemon that shares the store, this one included, has stored something, until it returns
    /// false.
    pub fn listen_to_all(&self, listener: impl Fn() -> bool + Send + 'static) {
        crate::threads::lock(&self.parts.growth).push(Box::new(listener));
    }

    /// Replies while they grow.
    pub fn streams(&self) -> &Arc<Streams> {
        &self.parts.streams
    }

    /// Waits until everything observed so far is stored, at most for `most`.
    pub fn settle(&self, most: Duration) {
        self.parts.settle(most);
    }

    /// Whether a deferred edit waits for its moment.
    pub fn has_deferred_edits(&self) -> bool {
        self.parts.alarm.is_set()
    }

    /// The number of conversations that have or may have edits.
    pub fn edited_count(&self) -> usize {
        self.parts.held.edited_count()
    }

    /// This daemon among those that share the store; `None` if it is not shared.
    pub fn presence(&self) -> Option<Presence> {
        self.parts.replica.as_ref().map(|replica| replica.presence())
    }

    /// The number of steps since the start that another daemon overtook.
    pub fn conflicts(&self) -> u64 {
        self.parts.writer.conflicts()
    }

    /// The bytes that wait for the store.
    pub fn waiting_bytes(&self) -> u64 {
        self.parts.writer.waiting_bytes()
    }

    /// For how long the oldest step has been waiting for the store.
    pub fn oldest_waiting(&self) -> Duration {
        self.parts.writer.oldest_waiting()
    }

    /// The number of steps stored since the start.
    pub fn appends(&self) -> u64 {
        self.parts.writer.appends()
    }

    /// The number of conversations in memory, and their bytes.
    pub fn loaded(&self) -> (usize, usize) {
        crate::threads::lock(&self.parts.directory).loaded()
    }

    /// The number of records that could not be stored since the start.
    pub fn unsaved(&self) -> u64 {
        self.parts.writer.unsaved()
    }

    /// Whether the provider itself edits the requests of a conversation.
    pub fn provider_edits(&self, about: &About<'_>) -> bool {
        self.parts.provider_edits(about)
    }

    /// Whether the provider is asked for any edits.
    pub fn asks_provider(&self) -> bool {
        self.parts.asks_provider()
    }

    /// Records a request. `None` if it belongs to no conversation.
    pub fn observe(&self, seen: SeenRequest) -> Result<Option<Ticket>, Problem> {
        self.known().observe(seen)
    }

    /// Records a held request. `ready` is called before the rest is done; if it is not called, the request leaves
    /// unchanged. On an error nothing is recorded, and requests of an edited conversation must not leave.
    pub fn hold(&self, seen: SeenRequest, ready: Ready<'_>) -> Result<Option<Ticket>, Problem> {
        self.known().hold(seen, ready)
    }

    /// Records an answer. Without an `ending` the provider could not be reached.
    pub fn answered(
        &self,
        ticket: &Ticket,
        ending: Option<Ending>,
        answer: Option<Answer>,
        timing: Timing,
    ) -> Result<(), Problem> {
        self.known().answered(ticket, ending, answer, timing)
    }

    /// Resolves `name` to an id: an id, a session, a prefix of either, or `active`. A whole session means its main
    /// conversation, the newest one if it moved to another format: an agent that names its own session means itself,
    /// not its subagents. After `@session:`, no prefix counts.
    pub fn resolve(&self, name: &str) -> Result<String, Refusal> {
        self.known().resolve(name)
    }

    /// Whether a conversation has exactly this id.
    pub fn has(&self, id: &str) -> Result<bool, Refusal> {
        self.known().has(id)
    }

    /// All conversations, most recently active first.
    pub fn conversations(&self) -> Conversations {
        self.known().conversations()
    }

    pub fn conversation_count(&self) -> usize {
        self.known().conversation_count()
    }

    pub fn frames(&self, name: &str, with_steps: bool, at: Option<&str>) -> Result<Frames, Refusal> {
        self.known().frames(name, with_steps, at)
    }

    /// Like `frames`, preceded by the frames that the client has left.
    pub fn all_frames(&self, name: &str, with_steps: bool, at: Option<&str>) -> Result<Frames, Refusal> {
        self.known().all_frames(name, with_steps, at)
    }

    /// The composition of a conversation as it is sent, and the usage of its turns.
    pub fn map(&self, name: &str, at: Option<&str>) -> Result<ContextMap, Refusal> {
        self.known().map(name, at)
    }

    /// Shows the content that `id` names in a conversation, now or as of a commit.
    pub fn show(&self, name: &str, id: &str, at: Option<&str>) -> Result<ContentView, Refusal> {
        self.known().show(name, id, at)
    }

    /// Offloaded content by its handle.
    pub fn offloaded(&self, name: &str, handle: &str, query: &OffloadedQuery) -> Result<OffloadedView, Refusal> {
        self.known().offloaded(name, handle, query)
    }

    /// Finds blocks that contain all these words, in any order and case, in messages, calls and results; `"quoted
    /// words"` are a phrase. Skips the system prompt and the tools, which are the same everywhere.
    pub fn search(&self, query: &str, name: Option<&str>, most: usize) -> Result<SearchResults, Refusal> {
        self.known().search(query, name, most)
    }

    pub fn context(&self, name: &str) -> Result<ContextView, Refusal> {
        self.known().context(name)
    }

    /// The content of a conversation that is worth removing.
    pub fn worth(&self, name: &str) -> Result<WorthView, Refusal> {
        self.known().worth(name)
    }

    pub fn models(&self) -> ModelsView {
        self.parts.models()
    }

    /// The newest `most` events, oldest first.
    pub fn timeline(&self, name: &str, most: usize) -> Result<Timeline, Refusal> {
        self.known().timeline(name, most)
    }

    /// The newest cache misses of a conversation, or the cache result of one request.
    pub fn misses(&self, name: &str, request: Option<u32>, most: usize) -> Result<Misses, Refusal> {
        self.known().misses(name, request, most)
    }

    /// A record as people see it; `None` if it cannot be read.
    pub fn event(&self, record: &Record) -> Option<Event> {
        self.parts.event(record)
    }

    /// The request as sent, and its answer.
    pub fn sent(&self, name: &str, request: u32) -> Result<SentView, Refusal> {
        self.known().sent(name, request)
    }

    /// The sent body of a request, byte for byte.
    pub fn sent_body(&self, name: &str, request: u32) -> Result<Vec<u8>, Refusal> {
        self.known().sent_body(name, request)
    }

    /// Removes one batch of old conversations, and old figures. Call it again while some remain.
    pub fn retain(&self, rules: &Retention) -> Result<RetentionBatch, Refusal> {
        self.known().retain(rules)
    }

    /// The usage and cost of requests.
    pub fn stats(&self, asked: &StatsScope) -> Result<Stats, Refusal> {
        self.known().stats(asked)
    }

    /// The same, to be added to those of other people.
    pub fn figures(&self, asked: &StatsScope) -> Result<Figures, Refusal> {
        self.known().figures(asked)
    }

    /// The state of the provider's own editing.
    pub fn provider_view(&self) -> ProviderView {
        self.parts.provider_view()
    }

    /// Applies operations, all or none.
    pub fn apply(&self, name: &str, edit: EditRequest) -> Result<EditResult, Refusal> {
        let known = self.known();
        known.confirmed(|| known.apply(name, edit.clone()))
    }

    /// Previews a plan, and applies it on request.
    pub fn plan(&self, name: &str, plan: Plan) -> Result<PlanView, Refusal> {
        let known = self.known();
        let mut view = known.on_newest(|| known.plan(name, plan.clone()))?;
        known.warn(&mut view.applied);
        Ok(view)
    }

    /// Moves through the history: undo, redo, revert, rollback, branches and tags.
    pub fn go(&self, name: &str, request: HistoryRequest) -> Result<EditResult, Refusal> {
        let known = self.known();
        known.confirmed(|| known.go(name, request.clone()))
    }

    /// The newest commits of the current branch.
    pub fn history(&self, name: &str, most: usize) -> Result<HistoryView, Refusal> {
        self.known().history(name, most)
    }

    /// The newest commits of all branches.
    pub fn whole_history(&self, name: &str, most: usize) -> Result<HistoryView, Refusal> {
        self.known().whole_history(name, most)
    }

    pub fn branches(&self, name: &str) -> Result<Branches, Refusal> {
        self.known().branches(name)
    }

    pub fn tags(&self, name: &str) -> Result<Tags, Refusal> {
        self.known().tags(name)
    }

    /// Compares the requests at two points of the history; `source` is the client's own view.
    pub fn diff(&self, name: &str, from: &str, to: &str) -> Result<Diff, Refusal> {
        self.known().diff(name, from, to)
    }

    /// The exact body that the provider would get if the newest request came again now, or as of a commit.
    pub fn compose(&self, name: &str, at: Option<&str>) -> Result<Vec<u8>, Refusal> {
        self.known().compose(name, at)
    }

    pub fn explain(&self, name: &str, at: Option<&str>) -> Result<CompositionView, Refusal> {
        self.known().explain(name, at)
    }

    /// Removes the block that the provider refuses, as an ordinary commit.
    pub fn heal(&self, name: &str, edit: EditRequest) -> Result<EditResult, Refusal> {
        let known = self.known();
        known.confirmed(|| known.heal(name, edit.clone()))
    }

    /// The block that the provider refuses, if it refused the newest request because of one.
    pub fn illness(&self, name: &str) -> Result<Illness, Refusal> {
        self.known().illness(name)
    }

    /// Adds the number of requests under way that left without the new commit.
    pub fn noting_uploads(&self, applied: EditResult) -> EditResult {
        self.known().noting_uploads(applied)
    }

    /// The pending changes of a conversation, and the outcome of earlier ones.
    pub fn waiting(&self, name: &str) -> Result<WaitingView, Refusal> {
        self.known().waiting(name)
    }

    /// Cancels a deferred edit, or dismisses one that failed.
    pub fn cancel(&self, name: &str, id: &str, author: &str) -> Result<WaitView, Refusal> {
        let known = self.known();
        let mut view = known.on_newest(|| known.cancel(name, id, author))?;
        view.remarks.extend(known.confirm_named(name));
        Ok(view)
    }

    /// Asks `authors` from now on who may edit. Only the first ones count.
    pub fn authorise(&self, authors: Arc<dyn Authors>) {
        let _ = self.parts.engine.authors.set(authors);
    }

    /// Withdraws the deferred edits of authors who may no longer edit a conversation. Returns their ids and authors.
    pub fn withdraw(&self, name: &str) -> Result<Vec<(String, String)>, Refusal> {
        let known = self.known();
        let withdrawn = known.on_newest(|| known.withdraw(name))?;
        if !withdrawn.is_empty() {
            let _told = known.confirm_named(name);
        }
        Ok(withdrawn)
    }

    /// Applies a deferred edit now, regardless of its moment.
    pub fn accept(&self, name: &str, id: &str, author: &str) -> Result<WaitView, Refusal> {
        let known = self.known();
        let mut view = known.on_newest(|| known.accept(name, id, author))?;
        view.remarks.extend(known.confirm_named(name));
        Ok(view)
    }

    /// Applies several pending changes, each as its own commit. `ids`: `w2`, `w2..w5` or `all`.
    pub fn accept_many(&self, name: &str, ids: &[String], author: &str, face: Face) -> Result<PendingOutcome, Refusal> {
        let mut outcome = self.known().accept_many(name, ids, author, face)?;
        outcome.remarks.extend(self.known().confirm(&outcome.conversation));
        Ok(outcome)
    }

    /// Cancels several pending changes, or dismisses failed ones.
    pub fn cancel_many(&self, name: &str, ids: &[String], author: &str, face: Face) -> Result<PendingOutcome, Refusal> {
        let mut outcome = self.known().cancel_many(name, ids, author, face)?;
        outcome.remarks.extend(self.known().confirm(&outcome.conversation));
        Ok(outcome)
    }

    /// Clears everything that the automatic editor could clear.
    pub fn clear_now(&self, name: &str, reason: &str) -> Result<EditResult, Refusal> {
        let known = self.known();
        known.confirmed(|| known.clear_now(name, reason))
    }

    pub fn phases(&self, name: &str) -> Result<PhasesView, Refusal> {
        self.known().phases(name)
    }

    /// Begins or ends a phase. It is stored, so a power cut does not lose it.
    pub fn phase(&self, name: &str, request: &PhaseRequest) -> Result<PhasesView, Refusal> {
        self.known().phase(name, request)
    }

    /// The edit that replaces an ended phase with a summary, which is still to be written. None if automatic editing
    /// leaves the phase alone, or little of it may go.
    pub fn phase_summary(&self, name: &str, summary: &PhaseSummary) -> Result<Option<EditRequest>, Refusal> {
        self.known().phase_summary(name, summary)
    }

    /// The summaries that wait for the account, and that it now allows.
    pub fn due_summaries(&self, name: &str) -> Result<Vec<PhaseSummary>, Refusal> {
        self.known().due_summaries(name)
    }

    /// Notes that a summary waits for the account, or does so no longer. It is stored before this returns. False if that
    /// was noted already, such as by another daemon.
    pub fn note_summary(&self, name: &str, summary: &PhaseSummary) -> Result<bool, Refusal> {
        let known = self.known();
        known.on_newest(|| known.note_summary(name, summary))
    }

    /// Whether the account of a conversation allows this price of a helper model.
    pub fn allows_help(&self, name: &str, used: &HelperUse) -> Result<bool, Refusal> {
        self.known().allows_help(name, used)
    }

    /// Adds the price of a helper model to the account. It is stored before this returns.
    pub fn helped(&self, name: &str, used: HelperUse) -> Result<(), Refusal> {
        self.known().helped(name, &used)
    }

    /// Records who may open a conversation, or opened it. It is stored before this returns.
    pub fn note_access(&self, name: &str, told: &AccessView) -> Result<(), Refusal> {
        self.known().note_access(name, told)
    }

    /// The texts that an edit request lacks. Errors in the request are reported before the helper is asked.
    pub fn questions(&self, name: &str, edit: EditRequest) -> Result<OpenQuestions, Refusal> {
        self.known().questions(name, edit)
    }

    /// The frames of a conversation that have grown beyond their opening words and need a title.
    pub fn grown(&self, id: &str) -> Result<Vec<StaleTitle>, Refusal> {
        self.known().grown(id)
    }

    /// Stores a title. The helper is not asked for it again.
    pub fn put_title(&self, id: &str, slot: SlotId, title: String) -> Result<(), Refusal> {
        self.known().put_title(id, slot, title)
    }

    /// Exports the conversation as a file; returns its id too.
    pub fn export(&self, name: &str) -> Result<(String, Vec<u8>), Refusal> {
        self.known().export(name)
    }

    /// Imports a conversation from a file, completely or not at all. `importer`: the person, in a team, who becomes the
    /// author of what others wrote.
    pub fn take_in(&self, file: &[u8], dry_run: bool, importer: Option<&str>) -> Result<ImportResult, Refusal> {
        self.known().take_in(file, dry_run, importer)
    }

    /// The stored conversations last active before `oldest`, including unlisted ones.
    pub fn inactive_since(&self, oldest: u64) -> Result<Vec<String>, StoreError> {
        Ok(self.known().inactive_since(oldest)?.into_iter().map(|inactive| inactive.conversation).collect())
    }

    /// Deletes conversations permanently. Work on them is finished first; a request that arrives meanwhile waits and
    /// then starts a new conversation. Other conversations continue.
    pub fn purge(&self, ids: &[String]) -> Result<PurgeReport, StoreError> {
        self.known().purge(ids)
    }
}
