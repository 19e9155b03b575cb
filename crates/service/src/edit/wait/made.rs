//! Applies pending changes when the alarm rings.

use crate::clock::now;
use crate::observe::Posture;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::edit::When;
use ctx_engine::edit::wait::made::AGAIN;
use ctx_store::Step;

impl Parts {
    /// Handles the alarm of a conversation.
    pub(crate) fn wake(&self, id: &str) {
        let _one_at_a_time = self.editing.lock(id);
        if self.stored(id).is_err() {
            return;
        }
        // It may have been unloaded while its records were awaited.
        let Ok(Some(shared)) = self.get(id) else { return };
        let imports = self.gather_pending(&shared);
        let mut conversation = lock(&shared);
        let situation = self.engine.situation(&conversation, now());
        let mut step = Step { durable: true, ..Step::default() };
        // Otherwise a commit is being stored and will take effect in a moment.
        if !self.storing.is_locked(id) {
            let was = Posture::of(&conversation);
            self.engine.make_due(&mut conversation, &situation, None, &imports, &mut step);
            self.follow(&was, &conversation);
        }
        self.set_alarm(&conversation);
        if !step.records.is_empty() {
            lock(&self.directory).put(ctx_engine::card::of(&conversation));
            self.write_for(&conversation, step);
        } else if situation.has(When::Cold) {
            self.alarm.at_most(id, now() + AGAIN);
        }
    }
}
