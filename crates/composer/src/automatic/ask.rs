//! What is done instead of clearing: it is noted what would have been, or somebody is asked; and clearing by hand.

use super::act::{By, Moment, about};
use super::back::calls;
use super::{AUTHOR, keep, noted};
use crate::conversation::Conversation;
use crate::directory::lock;
use crate::edit::wait::{State, Waiting};
use crate::edit::{Applied, When, notes};
use crate::log::{self, Automatic, Wait, Wished};
use crate::{Composer, Refusal, now, record};
use ctx_core::automatic::{Mode, Settings};
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, Operation};
use ctx_core::message::Kind;
use ctx_core::policy::Look;
use ctx_core::quick::QuickSet;
use ctx_store::{NewRecord, Step};
use std::collections::HashSet;

impl Conversation {
    /// What was only noted or asked for counts as if it were done, so that it is not said again. Who may act does not wait
    /// for an answer.
    pub(super) fn imagine(&self, look: &mut Look<'_>, mode: Mode) {
        let is_asked = |waiting: &&Waiting| waiting.wished.author == AUTHOR && waiting.state == State::Waiting;
        let asked = self.waiting.iter().filter(is_asked);
        let waiting: HashSet<&str> = asked.flat_map(|waiting| calls(&waiting.wished.operations)).collect();
        for item in &mut look.items {
            match mode {
                Mode::On | Mode::Off => continue,
                // Only what clears results is worth a question.
                Mode::Ask => (item.fresh, item.input) = (false, None),
                Mode::Observe => look.tokens = look.tokens.saturating_sub(self.noted.imagine(item)),
            }
            if waiting.contains(&*item.call) && !item.cleared {
                item.cleared = true;
                look.tokens = look.tokens.saturating_sub(item.tokens.saturating_sub(item.left));
            }
        }
    }
}

impl Composer {
    /// Notes what would have been done.
    pub(super) fn only_note(&self, conversation: &mut Conversation, commit: &Commit, step: &mut Step) {
        let Change::Edit { operations, effects } = &commit.change else { return };
        let scale = |estimate: f64| conversation.calibration.tokens(estimate);
        let (calls, trimmed, inputs) = noted::read(operations, effects, scale);
        let noted = Automatic::Noted {
            request: conversation.requests,
            calls,
            trimmed,
            inputs,
            summary: commit.summary.clone(),
            note: commit.note.clone().unwrap_or_default(),
            tokens_before: commit.tokens_before,
            tokens_after: commit.tokens_after,
        };
        step.records.push(record(&conversation.id, commit.at, log::AUTOMATIC, &noted, Vec::new()));
        conversation.automatic(&noted);
    }

    /// Proposes it: a wish that waits for your approval.
    pub(super) fn ask_for(&self, conversation: &mut Conversation, commit: Commit, step: &mut Step) {
        let at = commit.at;
        let Change::Edit { operations, .. } = commit.change else { return };
        let wished = Wished {
            id: format!("w{}", conversation.waiting.len() + 1),
            when: When::Accepted,
            branch: conversation.history.current().to_owned(),
            operations,
            reasons: commit.reasons,
            author: AUTHOR.to_owned(),
            note: commit.note,
            slots: Vec::new(),
            numbered: true,
            summary: commit.summary,
            tokens_before: commit.tokens_before,
            tokens_after: commit.tokens_after,
        };
        let wait = Wait::Wished(Box::new(wished));
        step.records.push(record(&conversation.id, at, log::WAIT, &wait, Vec::new()));
        conversation.wait(&wait, at);
        step.notes.extend(notes(conversation));
        self.heed(conversation);
    }

    /// Notes in the ledger what somebody accepted; without that nothing is cleared. Gives what is told of it.
    pub(crate) fn note_accepted(
        &self,
        conversation: &Conversation,
        wished: &Wished,
        commit: &Commit,
    ) -> Result<Vec<NewRecord>, Refusal> {
        let editor = self.automatic.get().filter(|_| wished.author == AUTHOR);
        let Some(editor) = editor else { return Ok(Vec::new()) };
        let about = about(conversation, now());
        let settings = editor.settings(&about, &conversation.memory.skills());
        let mut before = None;
        for (operation, reason) in wished.operations.iter().zip(&wished.reasons) {
            let Operation::SummarizeResults { select, text: Some(text), .. } = operation else { continue };
            // What was only trimmed lost nothing.
            let Some((call, file)) = select.calls.first().zip(keep::file_in(text)) else { continue };
            let (path, command) = conversation.memory.call(call);
            let asked = path.or(command).unwrap_or_default();
            let mut blocks = conversation.tree.path().flat_map(|slot| &slot.message.blocks);
            let called = blocks.find(|block| block.kind == Kind::ToolUse && block.tool_use_id.as_deref() == Some(call));
            let tool = called.and_then(|block| block.tool.as_deref()).unwrap_or("a result");
            let reason = Some(reason.as_deref().unwrap_or("accepted"));
            let line = keep::line(&about, (tool, asked), reason.filter(|_| reason != before), file);
            before = reason;
            editor.note(&about, &settings, &line).map_err(|why| {
                Refusal::new("not-written", format!("Nothing was changed: {why}."), "Then accept it again.")
            })?;
        }
        let mut step = Step::default();
        self.tell_done(conversation, commit, &By { editor: &*editor, settings: &settings, by_hand: None }, &mut step);
        Ok(step.records)
    }

    /// Clears by hand what the automatic editor would clear: all that may go.
    pub fn clear_now(&self, name: &str, reason: &str) -> Result<Applied, Refusal> {
        let Some(editor) = self.automatic.get() else {
            return Err(Refusal::new(
                "no-editor",
                "There is no automatic editor here.",
                "Run the daemon with `ctx up`.",
            ));
        };
        let name = &self.meant(name)?;
        let _one_at_a_time = self.editing.lock(name);
        let shared = self.stored(name)?;
        let mut conversation = lock(&shared);
        conversation.remember();
        let at = now();
        let about_it = about(&conversation, at);
        let settings = editor.settings(&about_it, &conversation.memory.skills());
        // Whatever the mode is: somebody has asked for it.
        let settings = Settings { mode: Mode::On, ..(*settings).clone() };
        let by = By { editor: &*editor, settings: &settings, by_hand: Some(reason) };
        let new = QuickSet::default();
        let moment = Moment { at, warm_until: conversation.warm_until(), new: &new };
        let (_, made) = self.would_make(&conversation, &by, &moment);
        let Some((mut commit, _)) = made? else {
            return Err(Refusal::new(
                "nothing-to-clear",
                "There is nothing that may go: all results are recent, pinned, preserved or short.",
                "`ctx status` shows what is preserved; `ctx config check` shows the rules.",
            ));
        };
        let reasons = commit.note.take().unwrap_or_default();
        commit.note = Some(format!("{reason}; {reasons}"));
        let mut step = Step::default();
        self.tell_done(&conversation, &commit, &by, &mut step);
        let effects = match &commit.change {
            Change::Edit { effects, .. } => effects.clone(),
            _ => Vec::new(),
        };
        let before = conversation.effects(conversation.history.head());
        let after = crate::edit::on_top(&conversation, commit.id, &effects);
        let mut applied = self.difference(&conversation, before, after)?;
        applied.summary.clone_from(&commit.summary);
        applied.commit = Some(commit.id.to_string());
        let mut next = conversation.history.clone();
        next.push(commit.clone());
        let mut records = vec![record(&conversation.id, at, log::COMMIT, &commit, Vec::new())];
        records.extend(step.records);
        self.store_now(conversation, records, next).map(|_| applied)
    }
}
