//! Stores the titles by a helper model.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::helper::Kind;
use ctx_core::SlotId;
use ctx_core::edit::effect::FrameKey;
use ctx_engine::Refusal;
use ctx_engine::compose::{Ground, Weights};
use ctx_engine::conversation::Conversation;
use ctx_engine::conversation::titles::{GROWN, TITLES};
use ctx_engine::helper::Question;
use ctx_engine::helper::questions::StaleTitle;
use ctx_store::{Note, Step};

impl Parts {
    pub(crate) fn grown(&self, id: &str) -> Result<Vec<StaleTitle>, Refusal> {
        let shared = self.stored(id)?;
        let conversation = lock(&shared);
        let conversation: &Conversation = &conversation;
        let ground = Ground::of(conversation, true);
        let source = ground.source();
        let view = ground.lay(conversation.effects(conversation.history.head()));
        let weights = Weights::of(conversation);
        let scale = |estimate: f64| conversation.tokens(estimate);
        let desk = conversation.desk(&view, &source, &weights, &scale, 0);
        let mut grown = Vec::new();
        for frame in view.frames.iter().filter(|frame| frame.title.is_none()) {
            let FrameKey::Opened(slot) = frame.key else { continue };
            let Ok(targets) = desk.named(&[frame.id.to_string()]) else { continue };
            if scale(targets.iter().map(|target| target.weight).sum()) >= GROWN {
                let material = self.engine.material(conversation, &desk, &targets)?;
                grown.push(StaleTitle { slot, question: Question::new(Kind::Title, material) });
            }
        }
        Ok(grown)
    }

    pub(crate) fn put_title(&self, id: &str, slot: SlotId, title: String) -> Result<(), Refusal> {
        let id = self.resolve(id)?;
        let titles = {
            let mut all = lock(&self.titles);
            let titles = all.entry(id.clone()).or_default();
            titles.insert(slot.0, title);
            titles.clone()
        };
        let body = serde_json::to_vec(&titles).ok();
        self.write(Step {
            notes: vec![Note { conversation: id.clone(), name: TITLES.into(), body }],
            ..Step::default()
        });
        if let Some(shared) = self.get(&id)? {
            lock(&shared).messages.titles = titles;
        }
        Ok(())
    }
}
