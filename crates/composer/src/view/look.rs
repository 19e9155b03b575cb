//! How a conversation looks to a policy.

use super::Refusal;
use crate::Composer;
use crate::automatic::Candidates;
use crate::directory::lock;
use crate::edit::{Ground, Weights};
use ctx_core::fast_map::FastSet;
use ctx_core::policy::{Look, Texts};

impl Composer {
    /// As it would be sent at `now`, if nothing were done. Without texts.
    pub fn policy_look(&self, name: &str, now: u64) -> Result<Look<'static>, Refusal> {
        let shared = self.conversation(name)?;
        let mut conversation = lock(&shared);
        conversation.remember();
        let ground = Ground::of(&conversation, true);
        let (view, _) = self.engine.lay_at(&conversation, &ground, "HEAD")?;
        let source = ground.source();
        let weights = Weights::of(&conversation);
        let scale = |estimate: f64| conversation.calibration.tokens(estimate);
        let desk = conversation.desk(&view, &source, &weights, &scale, 0);
        let seen = Candidates::of(&conversation, &desk, &FastSet::default());
        let cold = conversation.cache.answer.is_some() && now >= conversation.warm_until();
        Ok(self.engine.look_of(&conversation, &seen, (Texts(None), cold)))
    }
}
