//! Reads the log for the map of the context.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::map::ContextMap;
use ctx_engine::Refusal;
use ctx_engine::compose::Ground;
use ctx_engine::view::map::{kinds, turns};

impl Parts {
    pub(crate) fn map(&self, name: &str, at: Option<&str>) -> Result<ContextMap, Refusal> {
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let ground = Ground::of(&conversation, true);
        let (view, _) = self.engine.lay_at(&conversation, &ground, at.unwrap_or("HEAD"))?;
        let records = self.store.records(conversation.id(), 0)?.records;
        let kinds = kinds(&conversation, &ground, &view);
        Ok(ContextMap {
            conversation: conversation.id().to_owned(),
            model: conversation.newest.envelope.model.as_deref().map(str::to_owned),
            calibrated: conversation.usage.calibration.is_calibrated(),
            tokens: kinds.iter().map(|kind| kind.tokens).sum(),
            kinds,
            turns: turns(&self.engine.models, &conversation, &ground, &view, &records),
        })
    }
}
