//! The service, as the other crates see it: every call in one line, by the room that answers it.

use crate::bodies::Newest;
use crate::edit::Folder;
use crate::parts::Parts;
use crate::provider::ProviderRules;
use crate::streams::Streams;
use crate::view::StatsScope;
use ctx_api::cache::Misses;
use ctx_api::context::{ContextView, WorthView};
use ctx_api::conversations::{Conversations, Imported};
use ctx_api::edit::{Applied, Wish};
use ctx_api::face::Face;
use ctx_api::frames::Frames;
use ctx_api::history::{Branches, Diff, HistoryView, Tags, Way};
use ctx_api::map::ContextMap;
use ctx_api::models::ModelsView;
use ctx_api::phases::{PhaseWish, PhasesView};
use ctx_api::plan::{Plan, PlanView};
use ctx_api::requests::{Explained, SentView};
use ctx_api::search::Found;
use ctx_api::show::Shown;
use ctx_api::stats::Stats;
use ctx_api::status::ProviderView;
use ctx_api::timeline::{Event, Timeline};
use ctx_api::waiting::{PendingOutcome, WaitView, WaitingView};
use ctx_core::SlotId;
use ctx_engine::attribution::SeenRequest;
use ctx_engine::compose::Ready;
use ctx_engine::edit::heal::Illness;
use ctx_engine::helper::questions::{Grown, Open};
use ctx_engine::ports::{About, Automatic};
use ctx_engine::request::Ticket;
use ctx_engine::response::Timing;
use ctx_engine::{Moments, Problem, Refusal};
use ctx_models::Models;
use ctx_store::{PurgeReport, Record, Store, StoreError};
use ctx_wire::answer::{Answer, Ending};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// All conversations, and everything that can be asked of them.
pub struct Service {
    pub(crate) parts: Parts,
}

impl Service {
    /// Opens the service on a store, with the conversations in it.
    pub fn open(store: Arc<dyn Store>) -> Result<Service, StoreError> {
        Ok(Service { parts: Parts::open(store)? })
    }

    /// Offloaded content goes there.
    pub fn offloading_to(mut self, folder: Folder) -> Service {
        self.parts.engine.offload_folder = Some(Arc::new(folder));
        self
    }

    /// Moments that wishes wait for are told by these.
    pub fn with_moments(mut self, moments: Moments) -> Service {
        self.parts.engine.moments = moments;
        self
    }

    /// With what somebody says of models.
    pub fn with_models(mut self, models: Models) -> Service {
        self.parts.engine.models = models;
        self
    }

    /// What the provider shall edit by itself. `upstream` says which provider that is.
    pub fn with_provider(mut self, source: Arc<dyn ProviderRules>, upstream: &str) -> Service {
        self.parts.ask_provider(source, upstream);
        self
    }

    /// From now on conversations are edited by `editor`, or by nobody. What was made stays.
    pub fn automate(&self, editor: Option<Arc<dyn Automatic>>) {
        self.parts.automatic.put(editor);
    }

    /// Whether a request must be held until it is composed: its conversation has operations or waits for some, or may;
    /// or all are looked at; or the provider may have to be asked for something beside it.
    pub fn holds(&self, hints: &ctx_clients::Hints) -> bool {
        self.parts.automatic.holds_all() || self.parts.held.holds(hints) || self.parts.provider.holds(hints)
    }

    /// Requests since the start that carried only what was new: the provider keeps their history.
    pub fn elsewhere(&self) -> u64 {
        self.parts.elsewhere.load(Ordering::Relaxed)
    }

    /// What bodies are compared with while they pass.
    pub fn newest(&self) -> &Newest {
        &self.parts.newest
    }

    /// The store that all of it is in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// Calls `listener` with every record that was stored, until it returns false.
    pub fn listen(&self, listener: impl Fn(&ctx_store::Record) -> bool + Send + 'static) {
        self.parts.writer.listen(Box::new(listener));
    }

    /// Replies while they grow.
    pub fn streams(&self) -> &Arc<Streams> {
        &self.parts.streams
    }

    /// Waits until all that was observed so far is stored, but no longer than `most`.
    pub fn settle(&self, most: Duration) {
        self.parts.settle(most);
    }

    /// How many conversations are edited, or may be.
    pub fn edited_count(&self) -> usize {
        self.parts.held.edited_count()
    }

    /// What could not be stored since the start.
    pub fn unsaved(&self) -> u64 {
        self.parts.writer.unsaved()
    }

    /// Whether the provider edits the requests of a conversation by itself.
    pub fn provider_edits(&self, about: &About<'_>) -> bool {
        self.parts.provider_edits(about)
    }

    /// Whether anything is asked of a provider at all.
    pub fn asks_provider(&self) -> bool {
        self.parts.asks_provider()
    }

    /// Takes note of a request. `None` when it belongs to no conversation.
    pub fn observe(&self, seen: SeenRequest) -> Result<Option<Ticket>, Problem> {
        self.parts.observe(seen)
    }

    /// Takes note of a request that is held. How it leaves is said before the rest is done; if nothing is said, it
    /// leaves as it came. On an error nothing is noted, and an edited conversation must not leave.
    pub fn hold(&self, seen: SeenRequest, ready: Ready<'_>) -> Result<Option<Ticket>, Problem> {
        self.parts.hold(seen, ready)
    }

    /// Takes note of an answer. Without an `ending` the provider could not be reached.
    pub fn answered(
        &self,
        ticket: &Ticket,
        ending: Option<Ending>,
        answer: Option<Answer>,
        timing: Timing,
    ) -> Result<(), Problem> {
        self.parts.answered(ticket, ending, answer, timing)
    }

    /// The id that somebody means by `name`: an id or a session, the beginning of one, or `active`. A whole session
    /// is its main conversation, the newest if it moved to another format: an agent that names its own session means
    /// itself, not those that it started.
    pub fn resolve(&self, name: &str) -> Result<String, Refusal> {
        self.parts.resolve(name)
    }

    /// All conversations, the newest activity first.
    pub fn conversations(&self) -> Conversations {
        self.parts.conversations()
    }

    pub fn conversation_count(&self) -> usize {
        self.parts.conversation_count()
    }

    pub fn frames(&self, name: &str, with_steps: bool, at: Option<&str>) -> Result<Frames, Refusal> {
        self.parts.frames(name, with_steps, at)
    }

    /// The same, with the frames that the client has left behind before those on the path.
    pub fn all_frames(&self, name: &str, with_steps: bool, at: Option<&str>) -> Result<Frames, Refusal> {
        self.parts.all_frames(name, with_steps, at)
    }

    /// What a conversation is made of as it is sent, and what its turns took.
    pub fn map(&self, name: &str, at: Option<&str>) -> Result<ContextMap, Refusal> {
        self.parts.map(name, at)
    }

    /// Shows what `id` names in a conversation, now or as of a commit.
    pub fn show(&self, name: &str, id: &str, at: Option<&str>) -> Result<Shown, Refusal> {
        self.parts.show(name, id, at)
    }

    /// Finds blocks that hold all of these words, in any order and whatever their case, in what was said, called and
    /// answered; `"in quotes"` they are a phrase. The system prompt and the tools are left out: they are the same
    /// everywhere.
    pub fn search(&self, query: &str, name: Option<&str>, most: usize) -> Result<Found, Refusal> {
        self.parts.search(query, name, most)
    }

    pub fn context(&self, name: &str) -> Result<ContextView, Refusal> {
        self.parts.context(name)
    }

    /// What of a conversation is worth removing.
    pub fn worth(&self, name: &str) -> Result<WorthView, Refusal> {
        self.parts.worth(name)
    }

    pub fn models(&self) -> ModelsView {
        self.parts.models()
    }

    /// The newest `most` events, oldest first.
    pub fn timeline(&self, name: &str, most: usize) -> Result<Timeline, Refusal> {
        self.parts.timeline(name, most)
    }

    /// The newest misses of a conversation, or what became of one request.
    pub fn misses(&self, name: &str, request: Option<u32>, most: usize) -> Result<Misses, Refusal> {
        self.parts.misses(name, request, most)
    }

    /// A record as people see it; `None` when it cannot be read.
    pub fn event(&self, record: &Record) -> Option<Event> {
        self.parts.event(record)
    }

    /// What left for a request, and what came back.
    pub fn sent(&self, name: &str, request: u32) -> Result<SentView, Refusal> {
        self.parts.sent(name, request)
    }

    /// The body that left for a request, byte for byte.
    pub fn sent_body(&self, name: &str, request: u32) -> Result<Vec<u8>, Refusal> {
        self.parts.sent_body(name, request)
    }

    /// What requests took and cost.
    pub fn stats(&self, asked: &StatsScope) -> Result<Stats, Refusal> {
        self.parts.stats(asked)
    }

    /// How the provider's own editing goes.
    pub fn provider_view(&self) -> ProviderView {
        self.parts.provider_view()
    }

    /// Makes operations, all or none.
    pub fn apply(&self, name: &str, wish: Wish) -> Result<Applied, Refusal> {
        self.parts.apply(name, wish)
    }

    /// Tells what a plan would do, and does it if that is wanted.
    pub fn plan(&self, name: &str, plan: Plan) -> Result<PlanView, Refusal> {
        self.parts.plan(name, plan)
    }

    /// Goes a way through the history.
    pub fn go(&self, name: &str, way: Way) -> Result<Applied, Refusal> {
        self.parts.go(name, way)
    }

    /// The newest commits of the branch that is looked at.
    pub fn history(&self, name: &str, most: usize) -> Result<HistoryView, Refusal> {
        self.parts.history(name, most)
    }

    /// The same of all branches.
    pub fn whole_history(&self, name: &str, most: usize) -> Result<HistoryView, Refusal> {
        self.parts.whole_history(name, most)
    }

    pub fn branches(&self, name: &str) -> Result<Branches, Refusal> {
        self.parts.branches(name)
    }

    pub fn tags(&self, name: &str) -> Result<Tags, Refusal> {
        self.parts.tags(name)
    }

    /// Compares what would be sent at two points of the history; `source` is what the agent believes.
    pub fn diff(&self, name: &str, from: &str, to: &str) -> Result<Diff, Refusal> {
        self.parts.diff(name, from, to)
    }

    /// Exactly the body that the provider would get if the newest request came again now, or as of a commit.
    pub fn compose(&self, name: &str, at: Option<&str>) -> Result<Vec<u8>, Refusal> {
        self.parts.compose(name, at)
    }

    pub fn explain(&self, name: &str, at: Option<&str>) -> Result<Explained, Refusal> {
        self.parts.explain(name, at)
    }

    /// Does what heals the conversation, as an ordinary commit.
    pub fn heal(&self, name: &str, wish: Wish) -> Result<Applied, Refusal> {
        self.parts.heal(name, wish)
    }

    /// What the provider refuses, if it refuses the newest request because of a block.
    pub fn illness(&self, name: &str) -> Result<Illness, Refusal> {
        self.parts.illness(name)
    }

    /// Adds how many requests of the conversation are on their way without the commit that was just made.
    pub fn noting_uploads(&self, applied: Applied) -> Applied {
        self.parts.noting_uploads(applied)
    }

    /// The wishes of a conversation that wait, and what became of others.
    pub fn waiting(&self, name: &str) -> Result<WaitingView, Refusal> {
        self.parts.waiting(name)
    }

    /// Cancels a deferred edit, or dismisses one that failed.
    pub fn cancel(&self, name: &str, id: &str, author: &str) -> Result<WaitView, Refusal> {
        self.parts.cancel(name, id, author)
    }

    /// Makes a deferred edit now, whatever it waits for.
    pub fn accept(&self, name: &str, id: &str, author: &str) -> Result<WaitView, Refusal> {
        self.parts.accept(name, id, author)
    }

    /// Makes several pending changes, each as a commit of its own. `ids`: `w2`, `w2..w5` or `all`.
    pub fn accept_many(&self, name: &str, ids: &[String], author: &str, face: Face) -> Result<PendingOutcome, Refusal> {
        self.parts.accept_many(name, ids, author, face)
    }

    /// Takes back several pending changes, or puts away those that failed.
    pub fn cancel_many(&self, name: &str, ids: &[String], author: &str, face: Face) -> Result<PendingOutcome, Refusal> {
        self.parts.cancel_many(name, ids, author, face)
    }

    /// Clears by hand what the automatic editor would clear: all that may go.
    pub fn clear_now(&self, name: &str, reason: &str) -> Result<Applied, Refusal> {
        self.parts.clear_now(name, reason)
    }

    pub fn phases(&self, name: &str) -> Result<PhasesView, Refusal> {
        self.parts.phases(name)
    }

    /// Begins or ends a phase; it is stored so that a power cut does not lose it.
    pub fn phase(&self, name: &str, wish: &PhaseWish) -> Result<PhasesView, Refusal> {
        self.parts.phase(name, wish)
    }

    /// The words that a wish lacks. Whatever is wrong with it is told before anybody is asked.
    pub fn questions(&self, name: &str, wish: Wish) -> Result<Open, Refusal> {
        self.parts.questions(name, wish)
    }

    /// The frames of a conversation that have grown much and still go by the words that opened them.
    pub fn grown(&self, id: &str) -> Result<Vec<Grown>, Refusal> {
        self.parts.grown(id)
    }

    /// Takes note of a title. Nobody is asked for it again.
    pub fn put_title(&self, id: &str, slot: SlotId, title: String) -> Result<(), Refusal> {
        self.parts.put_title(id, slot, title)
    }

    /// The conversation as a file, and its id.
    pub fn export(&self, name: &str) -> Result<(String, Vec<u8>), Refusal> {
        self.parts.export(name)
    }

    /// Takes in a conversation from a file: all of it, or nothing.
    pub fn take_in(&self, file: &[u8], dry_run: bool) -> Result<Imported, Refusal> {
        self.parts.take_in(file, dry_run)
    }

    /// The stored conversations that were active last before `oldest`, also those that no listing shows.
    pub fn inactive_since(&self, oldest: u64) -> Result<Vec<String>, StoreError> {
        self.parts.inactive_since(oldest)
    }

    /// Forgets conversations for good. Whoever works on one of them is waited for; a request of one of them that comes
    /// meanwhile waits, and then begins anew. Other conversations go on.
    pub fn purge(&self, ids: &[String]) -> Result<PurgeReport, StoreError> {
        self.parts.purge(ids)
    }
}
