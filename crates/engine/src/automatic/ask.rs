//! Proposals and notes of the automatic editor, in place of a commit.

use super::diet::tools_of;
use super::ledger_line;
use super::run::about;
use crate::automatic::By;
use crate::compose::Ground;
use crate::conversation::Conversation;
use crate::conversation::policy::calls::calls;
use crate::conversation::policy::{AUTHOR, noted};
use crate::conversation::waiting::{PendingEdit, State};
use crate::edit::{notes, summary};
use crate::log::{self, Automatic, DeferredEdit, Wait};
use crate::ports::Automatic as Editing;
use crate::{Engine, Refusal, record};
use ctx_api::edit::When;
use ctx_core::edit::fold::Unit;
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, Operation};
use ctx_core::message::Kind;
use ctx_core::policy::{Look, Mode};
use ctx_core::{ErrorCode, tokens};
use ctx_store::{NewRecord, Step};
use std::borrow::Cow;
use std::collections::HashSet;

impl Conversation {
    /// The pending proposal of the automatic editor on this branch. There is at most one: it grows.
    fn proposal(&self) -> Option<&PendingEdit> {
        self.waiting.iter().find(|waiting| {
            let DeferredEdit { author, when, branch, .. } = &waiting.edit;
            let is_proposal = author == AUTHOR && *when == When::Accepted;
            is_proposal && waiting.state == State::Waiting && branch == self.history.current()
        })
    }

    /// The tool of a call, and the tokens of its result.
    fn result_of(&self, call: &str) -> (&str, u64) {
        let of = |kind: Kind| {
            let mut blocks = self.messages.tree.path().flat_map(|slot| &slot.message.blocks);
            blocks.find(|block| block.kind == kind && block.tool_use_id.as_deref() == Some(call))
        };
        let tool = of(Kind::ToolUse).and_then(|block| block.tool.as_deref()).unwrap_or("a result");
        (tool, self.tokens(of(Kind::ToolResult).map_or(0.0, tokens::of_block)))
    }

    /// Treats noted or proposed edits as made, so that they are not repeated. `Mode::On` does not wait for an answer.
    pub fn assume_made(&self, look: &mut Look<'_>, mode: Mode) {
        // A proposal is accepted as a whole, so its content counts as done for later additions.
        let asked = self.proposal().into_iter();
        let waiting: HashSet<Cow<'_, str>> =
            asked.flat_map(|waiting| calls(self.wire(), &waiting.edit.operations)).collect();
        // Thinking goes along with an edit that is made; notes and proposals leave it alone.
        look.thinking.retain(|_| mode == Mode::On);
        for item in &mut look.items {
            match mode {
                Mode::On | Mode::Off => continue,
                // Only clearing results is worth a question.
                Mode::Ask => (item.fresh, item.input) = (false, None),
                Mode::Observe => look.tokens = look.tokens.saturating_sub(self.policy.noted.assume_made(item)),
            }
            if waiting.contains(&*item.call) && !item.cleared {
                item.cleared = true;
                look.tokens = look.tokens.saturating_sub(item.tokens.saturating_sub(item.left));
            }
        }
    }
}

impl Engine {
    /// Notes the edits that would have been made.
    pub fn only_note(&self, conversation: &mut Conversation, commit: &Commit, step: &mut Step) {
        let Change::Edit { operations, effects } = &commit.change else { return };
        let scale = |estimate: f64| conversation.tokens(estimate);
        let (calls, trimmed, inputs) = noted::read(conversation.wire(), operations, effects, scale);
        let noted = Automatic::Noted {
            request: conversation.progress.requests,
            calls,
            trimmed,
            inputs,
            tools: tools_of(operations).map(str::to_owned).collect(),
            summary: commit.summary.clone(),
            note: commit.note.clone().unwrap_or_default(),
            tokens_before: commit.tokens_before,
            tokens_after: commit.tokens_after,
        };
        step.records.push(record(conversation.id(), commit.at, log::AUTOMATIC, &noted, Vec::new()));
        conversation.automatic(&noted);
    }

    /// Proposes a commit. A pending proposal grows by it: one question, however many results it covers.
    pub fn ask_for(&self, conversation: &mut Conversation, commit: Commit, step: &mut Step) {
        let at = commit.at;
        let Change::Edit { operations: new, .. } = commit.change else { return };
        let known = conversation.proposal().map(|waiting| waiting.edit.clone());
        let (id, mut operations, mut reasons, saved) = match known {
            Some(DeferredEdit { id, operations, reasons, tokens_before, tokens_after, .. }) => {
                (id, operations, reasons, tokens_before.saturating_sub(tokens_after))
            }
            None => (conversation.waiting.next_id(), Vec::new(), Vec::new(), 0),
        };
        operations.extend(new);
        let lasting = |reason: &Option<String>| reason.as_deref().map(|reason| lasting(reason).to_owned());
        reasons.extend(commit.reasons.iter().map(lasting));
        reasons.resize(operations.len(), None);
        // The figures of the addition exclude the content proposed before.
        let tokens = (commit.tokens_before + saved, commit.tokens_after);
        let mut told: Vec<&str> = reasons.iter().flatten().map(String::as_str).collect();
        told.sort_unstable();
        told.dedup();
        let deferred = DeferredEdit {
            id,
            when: When::Accepted,
            branch: conversation.history.current().to_owned(),
            author: AUTHOR.to_owned(),
            note: Some(told.join("; ")),
            slots: Vec::new(),
            numbered: true,
            summary: summary(&operations, &frames_of(conversation, &operations), tokens),
            tokens_before: tokens.0,
            tokens_after: tokens.1,
            operations,
            reasons,
            reverts: None,
        };
        let wait = Wait::Deferred(Box::new(deferred));
        step.records.push(record(conversation.id(), at, log::WAIT, &wait, Vec::new()));
        conversation.wait(&wait, at);
        step.notes.extend(notes(conversation));
    }

    /// Writes accepted edits to the ledger; if that fails, nothing is cleared. Returns the records about it.
    pub fn note_accepted(
        &self,
        conversation: &Conversation,
        deferred: &DeferredEdit,
        commit: &Commit,
        editor: Option<&dyn Editing>,
    ) -> Result<Vec<NewRecord>, Refusal> {
        let editor = editor.filter(|_| deferred.author == AUTHOR);
        let Some(editor) = editor else { return Ok(Vec::new()) };
        let mut about = about(conversation, commit.at);
        let settings = editor.settings(&about, &conversation.policy.text_index.skills());
        let mut cleared = Vec::new();
        for (operation, reason) in deferred.operations.iter().zip(&deferred.reasons) {
            let Operation::SummarizeResults { select, text: Some(text), .. } = operation else { continue };
            // Trimming lost nothing.
            let Some((call, file)) = select.calls.first().zip(ledger_line::file_in(text)) else { continue };
            let (tool, tokens) = conversation.result_of(call);
            about.batch.add(tokens);
            cleared.push((call, (tool, tokens), reason.as_deref().unwrap_or("accepted"), file));
        }
        let mut before = None;
        for (call, (tool, tokens), reason, file) in cleared {
            let (path, command) = conversation.policy.text_index.call(call);
            let asked = path.or(command).unwrap_or_default();
            let named = ledger_line::named_as(tool, tokens);
            let why = (Some(reason).filter(|reason| before != Some(*reason)), before.is_none());
            let line = ledger_line::line(&about, (&named, asked), why, file);
            before = Some(reason);
            editor.note(&about, &settings, &line).map_err(|why| {
                Refusal::new(
                    ErrorCode::NotWritten,
                    format!("Nothing was changed: {why}."),
                    "Fix this, then accept it again.",
                )
            })?;
        }
        let mut step = Step::default();
        self.tell_done(conversation, commit, &By { editor, settings: &settings, by_hand: None }, &mut step);
        Ok(step.records)
    }
}

/// A reason without the forecast of one batch: a proposal grows, and its figures with it.
fn lasting(reason: &str) -> &str {
    let kind = reason.split_once(": ").map_or(reason, |(kind, _)| kind);
    let kind = kind.split_once(", pays off").map_or(kind, |(kind, _)| kind);
    kind.strip_suffix(", at no cost").unwrap_or(kind)
}

/// The frames with the results of the calls that operations name.
fn frames_of(conversation: &Conversation, operations: &[Operation]) -> Vec<String> {
    let wanted: HashSet<Cow<'_, str>> = calls(conversation.wire(), operations).collect();
    let ground = Ground::of(conversation, false);
    let view = ground.lay(conversation.effects(conversation.history.head()));
    let holds = |frame: &&ctx_core::edit::fold::Frame| {
        view.units(frame, &ground.messages).iter().any(|laid| match laid.unit {
            Unit::Source { message, block: Some(block) } => {
                let block = ground.messages.get(message).and_then(|message| message.blocks.get(block));
                block.and_then(|block| block.tool_use_id.as_deref()).is_some_and(|call| wanted.contains(call))
            }
            _ => false,
        })
    };
    view.frames.iter().filter(holds).map(|frame| frame.id.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::lasting;

    #[test]
    fn a_reason_lasts_without_the_figures_of_one_batch() {
        assert_eq!(lasting("old results: 5,009 tokens less in total, pays off after 14 requests"), "old results");
        assert_eq!(lasting("completed_phase_details (of a phase), at no cost"), "completed_phase_details (of a phase)");
        assert_eq!(lasting("stale_tool_results (an old result)"), "stale_tool_results (an old result)");
    }
}
