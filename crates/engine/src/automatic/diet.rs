//! The diet: defers the tools that the agent has not called lately, before anything of the conversation is cached, or
//! when nothing of it is cached any more. It is decided once. Then the tools stay as they are, so the cache never pays.

use super::run::{Moment, about};
use crate::compose::Ground;
use crate::conversation::Conversation;
use crate::conversation::policy::{AUTHOR, ToolUse};
use crate::edit::{Files, handle, notes, on_top, summary};
use crate::log::AnswerRecord;
use crate::ports::Automatic;
use crate::{Engine, Refusal, log, record};
use ctx_core::edit::effect::Effect;
use ctx_core::edit::history::{Change, How};
use ctx_core::edit::layout::layout;
use ctx_core::edit::operation::Select;
use ctx_core::edit::{Commit, CommitId, Operation};
use ctx_core::message::Role;
use ctx_core::pattern;
use ctx_core::policy::diet::{OfferedTool, Portion, SparedTool, shortened, spared};
use ctx_core::policy::{Diet, DietMode, ToolFigures};
use ctx_core::tokens;
use ctx_store::Step;
use std::collections::HashSet;

/// The figures of the tools that earlier conversations of the same agent were offered. Asked only if they are needed.
pub type FiguresFor<'f> = &'f dyn Fn(&Conversation, u32) -> ToolFigures;

impl Engine {
    /// Puts a conversation on a diet, if this is the moment for it; stored with the request.
    pub fn slim(
        &self,
        conversation: &mut Conversation,
        editor: &dyn Automatic,
        figures: FiguresFor<'_>,
        moment: &Moment<'_>,
        step: &mut Step,
    ) {
        if !is_free(conversation, moment) || is_decided(conversation) {
            return;
        }
        let settings = editor.settings(&about(conversation, moment.at), &[]);
        let mode = settings.diet.under(settings.mode);
        if mode == DietMode::Off {
            return;
        }
        let figures = figures(conversation, settings.diet.after_conversations);
        let stays: fn(&str) -> bool = if self.handles.is_some() { handle::is_ours } else { |_| false };
        let operations = operations(conversation, &settings.diet, &figures, stays);
        if operations.0.is_empty() {
            return;
        }
        let commit = match self.slimmed(conversation, operations, moment.at) {
            Ok(commit) => commit,
            Err(refusal) => {
                tracing::warn!(conversation = %conversation.id(), message = %refusal.message, "a diet is refused");
                return;
            }
        };
        if mode == DietMode::Observe {
            return self.only_note(conversation, &commit, step);
        }
        editor.done(&about(conversation, moment.at), Ok(&commit));
        step.records.push(record(conversation.id(), commit.at, log::COMMIT, &commit, Vec::new()));
        conversation.progress.asked = Some(commit.id);
        conversation.history.push(commit);
        conversation.composing.weight = None;
        step.notes.extend(notes(conversation));
        step.durable = true;
    }

    /// Reverts a diet that the provider refuses, so that the client's next attempt leaves with all its tools. Returns
    /// the tools of the conversation, with the refusal.
    pub fn end_diet(
        &self,
        conversation: &mut Conversation,
        answered: &AnswerRecord,
        at: u64,
        step: &mut Step,
    ) -> Option<ToolUse> {
        let message = &answered.error.as_ref()?.message;
        if !conversation.wire().refuses_deferred(answered.status, message) {
            return None;
        }
        let active = conversation.history.active(conversation.history.head());
        let diet = active.into_iter().rfind(|commit| commit.author == AUTHOR && is_about_tools(commit))?;
        let commit = Commit {
            id: self.commit_id(conversation, at),
            parent: conversation.history.head(),
            at,
            author: AUTHOR.to_owned(),
            note: Some("the provider refuses deferred tools".to_owned()),
            reasons: Vec::new(),
            summary: format!("revert {}", diet.id),
            change: Change::Revert { commits: vec![diet.id], how: How::Revert },
            tokens_before: diet.tokens_after,
            tokens_after: diet.tokens_before,
            unattended: true,
            exception: false,
            kept: Vec::new(),
        };
        tracing::warn!(conversation = %conversation.id(), %message, "the provider refuses a diet");
        step.records.push(record(conversation.id(), at, log::COMMIT, &commit, Vec::new()));
        conversation.history.push(commit);
        conversation.composing.weight = None;
        conversation.policy.tool_use.refused = true;
        let tools = conversation.policy.tool_use.clone();
        step.notes.push(tools.note(conversation.id()));
        step.notes.extend(notes(conversation));
        step.durable = true;
        Some(tools)
    }

    fn slimmed(
        &self,
        conversation: &Conversation,
        (operations, reasons): (Vec<Operation>, Vec<String>),
        at: u64,
    ) -> Result<Commit, Refusal> {
        let ground = Ground::of(conversation, false);
        let id = self.commit_id(conversation, at);
        let mut effects: Vec<Effect> = Vec::new();
        for operation in &operations {
            let mut files = Files::default();
            effects.extend(self.resolved(conversation, &ground, (id, &effects), operation, false, &mut files)?);
        }
        let tokens = self.tokens_around(conversation, &ground, id, &effects);
        let note = note(&operations, &reasons);
        Ok(Commit {
            id,
            parent: conversation.history.head(),
            at,
            author: AUTHOR.to_owned(),
            note: Some(note),
            summary: summary(&operations, &["tools".to_owned()], tokens),
            reasons: reasons.into_iter().map(Some).collect(),
            change: Change::Edit { operations, effects },
            tokens_before: tokens.0,
            tokens_after: tokens.1,
            unattended: false,
            exception: false,
            kept: Vec::new(),
        })
    }

    /// The tokens of the request before and after these effects.
    fn tokens_around(
        &self,
        conversation: &Conversation,
        ground: &Ground<'_>,
        id: CommitId,
        effects: &[Effect],
    ) -> (u64, u64) {
        let weigh = |effects: &[Effect]| {
            let view = ground.lay(on_top(conversation, id, effects));
            conversation.tokens(ground.weigh(&view, &conversation.newest.envelope))
        };
        (weigh(&[]), weigh(effects))
    }
}

/// Describes the diet: its extent, then each reason once.
fn note(operations: &[Operation], reasons: &[String]) -> String {
    let count = |is_such: fn(&Operation) -> bool| operations.iter().filter(|one| is_such(one)).count();
    let parts = [
        (count(|one| matches!(one, Operation::Edit { raw: Some(_), .. })), "tools deferred (tool search finds them)"),
        (count(|one| matches!(one, Operation::Delete { .. })), "tools left out"),
        (count(|one| matches!(one, Operation::Edit { text: Some(_), .. })), "texts shortened that list their uses"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let mut told: Vec<&str> = reasons.iter().map(String::as_str).filter(|reason| *reason != LISTED).collect();
    told.sort_unstable();
    told.dedup();
    format!("{}: {}", parts.collect::<Vec<_>>().join(", "), told.join(", "))
}

/// The reason to shorten a text.
const LISTED: &str = "it lists the uses of deferred tools";

/// Whether a change of the tools costs nothing: nothing was sent yet, or nothing is cached any more.
fn is_free(conversation: &Conversation, moment: &Moment<'_>) -> bool {
    let is_answered = conversation.messages.tree.path().any(|slot| slot.message.role == Role::Assistant);
    match &conversation.cache.answer {
        None => !is_answered,
        Some(_) => moment.at >= moment.warm_until,
    }
}

/// Whether the tools were edited before, by the diet or by a person, or the diet was noted.
fn is_decided(conversation: &Conversation) -> bool {
    conversation.policy.diet_noted || conversation.history.all().any(is_about_tools)
}

fn is_about_tools(commit: &Commit) -> bool {
    match &commit.change {
        Change::Edit { operations, .. } => tools_of(operations).next().is_some(),
        Change::Inherit { .. } => true,
        Change::Revert { .. } => false,
    }
}

/// The tools that operations name.
pub fn tools_of(operations: &[Operation]) -> impl Iterator<Item = &str> {
    operations.iter().flat_map(Operation::ids).filter_map(|id| id.strip_prefix("tools/"))
}

/// The operations of the diet, with their reasons. Empty if all tools stay.
fn operations(
    conversation: &Conversation,
    diet: &Diet,
    figures: &ToolFigures,
    stays: fn(&str) -> bool,
) -> (Vec<Operation>, Vec<String>) {
    let offered: Vec<_> = offered(conversation).into_iter().filter(|tool| !stays(tool.name)).collect();
    let spared = spared(diet, &offered, figures);
    let lists = if diet.shorten_lists { lists(conversation, &spared) } else { Vec::new() };
    let operation = |tool: &SparedTool<'_>| {
        let id = format!("tools/{}", tool.name);
        match tool.portion {
            Portion::LeftOut => Some(Operation::Delete { ids: vec![id], select: Select::default(), force: false }),
            Portion::Deferred => {
                let raw = Some(conversation.wire().deferred(tool.name)?);
                Some(Operation::Edit { id, text: None, raw, content: None, force: false })
            }
        }
    };
    let tools = spared.iter().filter_map(|tool| Some((operation(tool)?, tool.reason.clone())));
    tools.chain(lists).unzip()
}

/// The edits that shorten the client's lists for deferred tools, with their reasons.
fn lists(conversation: &Conversation, spared: &[SparedTool<'_>]) -> Vec<(Operation, String)> {
    let client = conversation.opened().client.as_deref().and_then(ctx_clients::of_product);
    let lists = client.map(|client| client.vocabulary.lists).unwrap_or_default();
    let is_deferred = |name: &str| spared.iter().any(|tool| tool.name == name && tool.portion == Portion::Deferred);
    let Some(body) = conversation.newest.last.body.as_ref().filter(|_| lists.iter().any(|list| is_deferred(list.tool)))
    else {
        return Vec::new();
    };
    let ground = Ground::of(conversation, false);
    let view = conversation.next_view(&ground);
    let mut edits = Vec::new();
    for frame in view.frames.iter().filter(|frame| !frame.pinned) {
        let layout = layout(&view, frame, &ground.messages);
        for group in layout.groups.iter().filter(|group| group.role != Role::Assistant) {
            let Some(message) = group.source.filter(|at| *at < body.spans().messages.len()) else { continue };
            for (block, content) in conversation.wire().contents(body.message(message)).iter().enumerate() {
                let short = content.as_text().and_then(|text| shortened(text, lists, is_deferred));
                edits.extend(short.map(|text| {
                    let id = format!("{}#{}.{block}", frame.id, group.number);
                    let edit = Operation::Edit { id, text: Some(text), raw: None, content: None, force: false };
                    (edit, LISTED.to_owned())
                }));
            }
        }
    }
    edits
}

/// The tools that the diet may touch: this conversation has not called them, and it does not defer them itself.
fn offered(conversation: &Conversation) -> Vec<OfferedTool<'_>> {
    let Some(body) = &conversation.newest.last.body else { return Vec::new() };
    let client = conversation.opened().client.as_deref().and_then(ctx_clients::of_product);
    let undeferred = client.and_then(|client| client.undeferred);
    let deferrable: HashSet<usize> = match undeferred {
        Some(_) => conversation.wire().deferrable(body, &conversation.newest.envelope).into_iter().collect(),
        None => HashSet::new(),
    };
    let is_kept = |name: &str| undeferred.into_iter().flatten().any(|kept| pattern::matches(kept, name));
    let called: HashSet<&str> = conversation.called_tools().collect();
    let tools = conversation.newest.envelope.tools.iter().flatten().enumerate();
    let tools = tools.filter(|(_, tool)| !tool.deferred && !called.contains(&*tool.name));
    let offered = tools.map(|(at, tool)| OfferedTool {
        name: &tool.name,
        tokens: conversation.tokens(tokens::estimate(tool.chars, 0)),
        deferrable: deferrable.contains(&at) && !is_kept(&tool.name),
    });
    offered.collect()
}
