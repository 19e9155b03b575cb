//! Clears on demand, and shows what the automatic editor would do.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::edit::EditResult;
use ctx_core::edit::history::Change;
use ctx_core::fast_map::FastSet;
use ctx_core::hint::Command;
use ctx_core::policy::{Mode, Settings};
use ctx_core::{ErrorCode, hint};
use ctx_engine::automatic::run::about;
use ctx_engine::automatic::{By, Moment};
use ctx_engine::{Refusal, log, record};
use ctx_store::Step;

impl Parts {
    pub(crate) fn clear_now(&self, name: &str, reason: &str) -> Result<EditResult, Refusal> {
        let Some(editor) = self.automatic.get() else {
            return Err(Refusal::new(
                ErrorCode::NoEditor,
                "This daemon has no automatic editor.",
                hint!["Run the daemon with ", Command::Up, "."],
            ));
        };
        let name = &self.meant(name)?;
        let _one_at_a_time = self.editing.lock(name);
        let shared = self.stored(name)?;
        let mut conversation = lock(&shared);
        conversation.remember();
        let at = now();
        let about_it = about(&conversation, at);
        let settings = editor.settings(&about_it, &conversation.policy.text_index.skills());
        // In every mode: the user asked for it.
        let settings = Settings { mode: Mode::On, ..(*settings).clone() };
        let by = By { editor: &*editor, settings: &settings, by_hand: Some(reason) };
        let new = FastSet::default();
        let moment = Moment { at, warm_until: conversation.warm_until(), new: &new };
        let (_, made) = self.engine.would_make(&conversation, &by, &moment);
        let Some((mut commit, _)) = made? else {
            return Err(Refusal::new(
                ErrorCode::NothingToClear,
                "Nothing to clear: all results are recent, pinned, preserved or short.",
                hint![Command::Status, " shows the preserved content; ", Command::Config, " shows the rules."],
            ));
        };
        let reasons = commit.note.take().unwrap_or_default();
        commit.note = Some(format!("{reason}; {reasons}"));
        let mut step = Step::default();
        self.engine.tell_done(&conversation, &commit, &by, &mut step);
        let effects = match &commit.change {
            Change::Edit { effects, .. } => effects.clone(),
            _ => Vec::new(),
        };
        let before = conversation.effects(conversation.history.head());
        let after = ctx_engine::edit::on_top(&conversation, commit.id, &effects);
        let mut applied = self.engine.difference(&conversation, before, after, at)?;
        applied.summary.clone_from(&commit.summary);
        applied.commit = Some(commit.id.to_string());
        let mut next = conversation.history.clone();
        next.push(commit.clone());
        let mut records = vec![record(conversation.id(), at, log::COMMIT, &commit, Vec::new())];
        records.extend(step.records);
        self.store_now(conversation, (records, &[]), next).map(|_| applied)
    }
}
