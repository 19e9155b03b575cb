//! Turns an edit request into a commit, with its effects, its price and its checks.

use super::stays;
use super::summary::summary;
use crate::compose::compare::{Overview, overview, thinking_left_out};
use crate::compose::ground::ATTRIBUTION;
use crate::compose::{Ground, Weights};
use crate::conversation::Conversation;
use crate::edit::files::Files;
use crate::edit::imports::Imports;
use crate::{Engine, Refusal};
use ctx_api::edit::{EditRequest, EditResult, RepairView, When};
use ctx_core::edit::effect::{Effect, EffectId, NewMessage, NewMessageId, Why};
use ctx_core::edit::fold::{Unit, View};
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, CommitId, Operation};
use ctx_core::hint::{Argument, Command};
use ctx_core::message::Kind;
use ctx_core::{ErrorCode, hint};
use ctx_wire::rules;
use std::collections::HashSet;

pub struct Outcome {
    pub applied: EditResult,
    /// Whether anything would differ.
    changes: bool,
    /// New messages that the rules would remove completely.
    unsent: HashSet<NewMessageId>,
    /// The sizes of the client's request and of the edited one in bytes, if known.
    size: Option<(usize, usize)>,
}

impl Outcome {
    /// Checks that it changes something, that its new content is sent, and that the request is not too large.
    pub fn check(&self, operations: &[Operation], id: CommitId, effects: &[Effect]) -> Result<(), Refusal> {
        let repairs = &self.applied.preview.repairs;
        if !self.changes {
            return Err(super::nothing::nothing(operations, repairs).into());
        }
        is_sent_at_all(operations, id, effects, &self.unsent, repairs)?;
        fits(self.size)
    }
}

impl Engine {
    /// The commit for an edit request, and its preview. `price`: also computes its cost at that moment.
    pub fn prepared(
        &self,
        conversation: &Conversation,
        edit: EditRequest,
        reasons: Vec<Option<String>>,
        (at, price): (u64, Option<When>),
        files: &mut Files,
    ) -> Result<(Commit, EditResult), Refusal> {
        let id = self.commit_id(conversation, at);
        let effects = self.resolve_all(conversation, id, &edit, files)?;
        few_images(conversation, id, &effects)?;
        let after = on_top(conversation, id, &effects);
        let before = conversation.effects(conversation.history.head());
        let outcome = self.weigh_up(conversation, before, after, price.map(|when| (when, at)))?;
        outcome.check(&edit.operations, id, &effects)?;
        let mut applied = outcome.applied;
        applied.summary = summary(&edit.operations, &applied.frames, (applied.tokens_before, applied.tokens_after));
        applied.files.clone_from(&files.paths);
        applied.remarks.clone_from(&files.remarks);
        let commit = Commit {
            id,
            parent: conversation.history.head(),
            at,
            author: edit.author,
            note: edit.note,
            reasons,
            change: Change::Edit { operations: edit.operations, effects },
            summary: applied.summary.clone(),
            tokens_before: applied.tokens_before,
            tokens_after: applied.tokens_after,
            unattended: false,
            exception: false,
            kept: std::mem::take(&mut files.kept),
        };
        Ok((commit, applied))
    }

    /// Resolves the operations, each on top of the previous ones.
    fn resolve_all(
        &self,
        conversation: &Conversation,
        id: CommitId,
        edit: &EditRequest,
        files: &mut Files,
    ) -> Result<Vec<Effect>, Refusal> {
        let ground = Ground::of(conversation, true);
        let mut effects: Vec<Effect> = Vec::new();
        let mut nothing = None;
        for (number, operation) in (1..).zip(&edit.operations) {
            let resolved = self.resolved(conversation, &ground, (id, &effects), operation, edit.dry_run, files);
            let resolved = resolved.map_err(|refusal| is_left(conversation, operation, refusal));
            match resolved.map_err(|refusal| within(refusal, number, edit.operations.len(), operation)) {
                // Accepted beside operations that change something.
                Err(refusal) if refusal.code == ErrorCode::NothingToDo => drop(nothing.get_or_insert(refusal)),
                resolved => effects.extend(resolved?),
            }
        }
        match nothing {
            Some(refusal) if effects.is_empty() => Err(refusal),
            _ => Ok(effects),
        }
    }

    /// The effects of operations that are not committed.
    pub fn would_be(
        &self,
        conversation: &Conversation,
        id: CommitId,
        operations: &[Operation],
        imports: &Imports,
    ) -> Result<Vec<Effect>, Refusal> {
        let edit = EditRequest { operations: operations.to_vec(), dry_run: true, ..EditRequest::default() };
        self.resolve_all(conversation, id, &edit, &mut Files::importing(imports.clone()))
    }

    /// Resolves one operation on top of others. A dry run writes no files.
    pub fn resolved(
        &self,
        conversation: &Conversation,
        ground: &Ground<'_>,
        (id, before): (CommitId, &[Effect]),
        operation: &Operation,
        dry_run: bool,
        files: &mut Files,
    ) -> Result<Vec<Effect>, Refusal> {
        let source = ground.source();
        let weights = Weights::of(conversation);
        let scale = |estimate: f64| conversation.tokens(estimate);
        let view = ground.lay(on_top(conversation, id, before));
        let added = before.iter().filter_map(|effect| match effect {
            Effect::Insert { number, .. } => Some(*number),
            _ => None,
        });
        let desk = conversation.desk(&view, &source, &weights, &scale, added.max().unwrap_or(0));
        files.remarks.extend(stays::kept(conversation, &desk, operation));
        match operation {
            Operation::Offload { ids, select, summary } => {
                self.offload(conversation, &desk, (ids, select), summary.as_deref(), dry_run, files)
            }
            Operation::Import { from, edits: true, .. } => {
                self.carry(conversation, &desk, from, (id, before.len()), files)
            }
            Operation::Import { from, ids, to, .. } => {
                self.import(conversation, &desk, (from, ids), to, (id, before.len()), files)
            }
            Operation::Edit { id, force, .. } => {
                let effects = desk.effects(operation)?;
                files.remarks.extend(staying(std::slice::from_ref(id), *force, &weights));
                match self.reads_so(conversation, &desk, id, &effects)? {
                    true => Err(super::nothing::nothing(std::slice::from_ref(operation), &[]).into()),
                    false => Ok(effects),
                }
            }
            open if open.is_open() => {
                let operations = self.resolve_open(conversation, (id, before), open)?;
                let effects = operations.iter().map(|operation| desk.effects(operation));
                Ok(effects.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
            }
            Operation::Delete { ids, force, .. } => {
                let effects = desk.effects(operation)?;
                files.remarks.extend(staying(ids, *force, &weights));
                Ok(effects)
            }
            other => Ok(desk.effects(other)?),
        }
    }

    /// The changes from one set of effects to another.
    pub fn difference(
        &self,
        conversation: &Conversation,
        before: Vec<(EffectId, &Effect)>,
        after: Vec<(EffectId, &Effect)>,
        at: u64,
    ) -> Result<EditResult, Refusal> {
        self.weigh_up(conversation, before, after, Some((When::Now, at))).map(|outcome| outcome.applied)
    }

    /// The same with the checks. `price`: also computes its cost at that moment.
    pub fn weigh_up(
        &self,
        conversation: &Conversation,
        before: Vec<(EffectId, &Effect)>,
        after: Vec<(EffectId, &Effect)>,
        price: Option<(When, u64)>,
    ) -> Result<Outcome, Refusal> {
        let ground = Ground::of(conversation, true);
        let ((old_view, was), (new_view, is)) =
            (self.lay(conversation, &ground, before), self.lay(conversation, &ground, after));
        let (unsent, size) = (new_view.unsent(), is.size);
        let (old, new) = (overview(conversation, &ground, &old_view), overview(conversation, &ground, &new_view));
        let mut preview = Overview::preview(conversation, &old, &new);
        preview.thinking_dropped = is.thinking_dropped.saturating_sub(was.thinking_dropped);
        let thinking = |view: &View<'_>| conversation.tokens(thinking_left_out(&ground, view));
        preview.thinking_tokens = thinking(&new_view).saturating_sub(thinking(&old_view));
        // Thinking is counted above.
        let is_new = |repair: &&RepairView| !was.repairs.contains(repair) && repair.rule != "A65";
        preview.repairs = is.repairs.iter().filter(is_new).cloned().collect();
        let changes = !Overview::is_same(&old, &new);
        if !changes && preview.repairs.len() > 1 {
            // The first one is given as the reason: one that the client's own request needs says nothing of the edit.
            let own = self.own_repairs(conversation);
            preview.repairs.sort_by_key(|repair| own.contains(repair));
        }
        let mut applied = EditResult {
            conversation: conversation.id().to_owned(),
            commit: None,
            waiting: None,
            branch: conversation.history.current().to_owned(),
            frames: Overview::changed(&old, &new),
            tokens_before: conversation.tokens(old.weight),
            tokens_after: conversation.tokens(new.weight),
            summary: String::new(),
            preview,
            problem: None,
            files: Vec::new(),
            remarks: Vec::new(),
            on_their_way: 0,
            warnings: stays::removed(conversation, &ground, (&old_view, &new_view)),
            written: Vec::new(),
        };
        if let Some(price) = price {
            self.priced(conversation, &ground, ((&old_view, &was), (&new_view, &is)), &mut applied, price);
        }
        Ok(Outcome { applied, changes, unsent, size })
    }

    pub fn commit_id(&self, conversation: &Conversation, at: u64) -> CommitId {
        let parent = conversation.history.head().map(|id| id.to_string()).unwrap_or_default();
        let (at, nonce) = (at.to_le_bytes(), self.nonce().to_le_bytes());
        let number = conversation.history.all().count().to_le_bytes();
        let parts = [conversation.id().as_bytes(), parent.as_bytes(), &at, &nonce, &number];
        (0u8..=255)
            .map(|salt| CommitId::of(parts.into_iter().chain([[salt].as_slice()])))
            .find(|id| conversation.history.get(*id).is_none())
            .unwrap_or(CommitId(0))
    }
}

/// Blocks of the system prompt that stay although all of it was named.
fn staying(ids: &[String], force: bool, weights: &Weights) -> Option<String> {
    let names_all = ids.iter().flat_map(|ids| ids.split(',')).any(|id| id.trim() == "system");
    if force || !names_all {
        return None;
    }
    let kept = weights.protected.iter().enumerate().filter_map(|(at, why)| Some((at, (*why)?)));
    let told: Vec<String> = kept
        .map(|(at, why)| match why {
            ATTRIBUTION => format!("`system#{at}` stays: {why}"),
            _ => format!("`system#{at}` stays: {why}; `--force` removes it too"),
        })
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// Refuses an edit whose new content a rule would remove completely.
fn is_sent_at_all(
    operations: &[Operation],
    id: CommitId,
    effects: &[Effect],
    unsent: &HashSet<NewMessageId>,
    repairs: &[RepairView],
) -> Result<(), Refusal> {
    let is_given = |operation: &&Operation| {
        matches!(operation, Operation::Edit { raw: Some(_), .. } | Operation::Edit { content: Some(_), .. })
    };
    let Some(operation) = operations.iter().find(is_given) else { return Ok(()) };
    let is_lost = |(index, effect): (u32, &Effect)| {
        let effect_id = EffectId { commit: id, index };
        let count = effect.made().len() as u32;
        matches!(effect, Effect::Replace { why: Why::Edited, .. })
            && count > 0
            && (0..count).all(|message| unsent.contains(&NewMessageId { effect: effect_id, message }))
    };
    if !(0..).zip(effects).any(is_lost) {
        return Ok(());
    }
    let rules: Vec<String> = repairs.iter().map(crate::compose::repaired::sentence).collect();
    let name = operation.ids().join(", ");
    Err(Refusal::new(
        ErrorCode::BadContent,
        match rules.is_empty() {
            true => format!("The provider would accept nothing of the new content of `{name}`."),
            false => format!("The provider would accept nothing of the new content of `{name}`: {}.", rules.join("; ")),
        },
        hint![Command::Show.with("ID --raw"), " shows the expected form; ", Command::Delete, " removes it."],
    ))
}

/// The largest request that the provider accepts (A81).
const LARGEST: usize = 32 * 1024 * 1024;

/// An edit must not make a request too large that the client kept within the limit.
fn fits(size: Option<(usize, usize)>) -> Result<(), Refusal> {
    match size {
        Some((own, new)) if own <= LARGEST && new > LARGEST => Err(Refusal::new(
            ErrorCode::TooLarge,
            format!(
                "The request would have {new} bytes; the provider accepts at most {LARGEST}: rule {}. The agent's \
                 own request has {own}.",
                rules::named("A81")
            ),
            "Write less, or delete or offload content in the same batch.",
        )),
        _ => Ok(()),
    }
}

/// With more than twenty images or documents the provider accepts only small ones (A82), including old ones: an edit
/// must not exceed that number.
pub fn few_images(conversation: &Conversation, id: CommitId, effects: &[Effect]) -> Result<(), Refusal> {
    const MANY: usize = 20;
    let pictured =
        |made: &NewMessage| made.content.iter().filter(|content| conversation.wire().is_pictured(content)).count();
    let new: usize = effects.iter().flat_map(Effect::made).map(pictured).sum();
    if new == 0 {
        return Ok(());
    }
    let ground = Ground::of(conversation, true);
    let view = ground.lay(on_top(conversation, id, effects));
    let sent = view.frames.iter().flat_map(|frame| view.units(frame, &ground.messages));
    let count: usize = sent
        .filter(|laid| laid.covered.is_none())
        .map(|laid| match laid.unit {
            Unit::Made(made) => view.made(made).map_or(0, pictured),
            Unit::Source { message, block } => {
                let kind = block.and_then(|at| Some(ground.messages[message].blocks.get(at)?.kind));
                usize::from(matches!(kind, Some(Kind::Image | Kind::Document)))
            }
        })
        .sum();
    if count <= MANY {
        return Ok(());
    }
    Err(Refusal::new(
        ErrorCode::ManyImages,
        format!(
            "The request would contain {count} images and documents; above {MANY}, the provider refuses large \
             ones: rule {}.",
            rules::named("A82")
        ),
        "Delete some first, or add only the text.",
    ))
}

/// Refuses edits while the provider keeps the history: it already has the content.
pub fn is_whole(conversation: &Conversation) -> Result<(), Refusal> {
    match conversation.elsewhere_in_words() {
        Some(_) => Err(Refusal::new(
            ErrorCode::HistoryElsewhere,
            "The provider keeps the history of this conversation, so an edit here would have no effect.",
            format!("Have the agent send the whole history: {}.", conversation.wire().whole_history()),
        )),
        None => Ok(()),
    }
}

pub fn push(conversation: &mut Conversation, commit: Commit) {
    conversation.history.push(commit);
    conversation.composing.weight = None;
}

/// The active effects, with those of a future commit on top.
pub fn on_top<'a>(conversation: &'a Conversation, id: CommitId, effects: &'a [Effect]) -> Vec<(EffectId, &'a Effect)> {
    let mut all = conversation.effects(conversation.history.head());
    all.extend((0..).zip(effects).map(|(index, effect)| (EffectId { commit: id, index }, effect)));
    all
}

/// Refuses if another commit has been made since.
pub fn expected(conversation: &Conversation, expect: Option<&str>) -> Result<(), Refusal> {
    let Some(expect) = expect else { return Ok(()) };
    let head = conversation.history.head();
    let is_head = match head {
        None => expect == "none",
        Some(head) => conversation.history.find(expect) == Ok(head),
    };
    if is_head {
        return Ok(());
    }
    let head = head.map_or_else(|| "none".to_owned(), |head| head.to_string());
    Err(Refusal::new(
        ErrorCode::Stale,
        format!("Another commit was made in the meantime: the head is {head}, not {expect}."),
        hint!["Check ", Command::History, ", then retry with ", Argument::new("expect").with(head.to_string()), "."],
    ))
}

/// Explains a refusal if the operation names a frame that the client has left.
fn is_left(conversation: &Conversation, operation: &Operation, refusal: Refusal) -> Refusal {
    if refusal.code != ErrorCode::UnknownId || matches!(operation, Operation::Import { .. }) {
        return refusal;
    }
    conversation.left_frames().refusal(conversation.id(), operation.ids()).unwrap_or(refusal)
}

pub fn within(refusal: Refusal, number: usize, all: usize, operation: &Operation) -> Refusal {
    if all == 1 {
        return refusal;
    }
    let message = format!("Operation {number} (`{}`): {}", operation.name(), refusal.message);
    Refusal { message, hint: refusal.hint.with_fields(), ..refusal }
}
