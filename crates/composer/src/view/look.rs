//! How a conversation looks to a policy.

use super::Refusal;
use crate::Composer;
use crate::directory::lock;
use crate::edit::{Ground, Weights};
use ctx_core::message::Role;
use ctx_core::policy::{Look, Rates};
use ctx_wire::anthropic::price::Price;

impl Composer {
    /// As it would be sent at `now`, if nothing were done.
    pub fn policy_look(&self, name: &str, now: u64) -> Result<Look, Refusal> {
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        let ground = Ground::of(&conversation, true);
        let (view, _) = self.lay_at(&conversation, &ground, "HEAD")?;
        let source = ground.source();
        let weights = Weights::of(&conversation);
        let scale = |estimate: f64| conversation.calibration.tokens(estimate);
        let desk = conversation.desk(&view, &source, &weights, &scale, 0);
        let sent = |covers: &[ctx_core::edit::fold::Around], weights: &[f64]| -> f64 {
            covers.iter().zip(weights).filter(|(around, _)| around.covered.is_none()).map(|(_, weight)| weight).sum()
        };
        let (items, tokens) = desk.items(sent(&view.system, &weights.system) + sent(&view.tools, &weights.tools));
        let lives = conversation.lifetime() * 1000;
        let price = conversation.envelope.model.as_deref().and_then(|model| Price::of(model, tokens));
        let write = |price: &Price| if lives > 300_000 { price.write_1h } else { price.write_5m };
        Ok(Look {
            items,
            tokens,
            window: 0,
            steps: source.messages.iter().filter(|message| message.role == Role::Assistant).count(),
            cold: conversation.cached.as_ref().is_some_and(|cached| cached.at + lives < now),
            rates: price.map_or_else(Rates::default, |price| Rates {
                read: price.read / price.input,
                write: write(&price) / price.input,
            }),
        })
    }
}
