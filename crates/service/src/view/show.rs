//! Shows one frame, step, message or block.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::show::ContentView;
use ctx_core::ErrorCode;
use ctx_core::edit::frame_id::FrameId;
use ctx_engine::Refusal;
use ctx_engine::compose::{Ground, RepairReport};
use ctx_engine::conversation::left;
use ctx_engine::point::at_point;

impl Parts {
    pub(crate) fn show(&self, name: &str, id: &str, at: Option<&str>) -> Result<ContentView, Refusal> {
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let ground = Ground::of(&conversation, true);
        let at = at.unwrap_or("HEAD");
        let (view, repaired) = self.engine.lay_at(&conversation, &ground, at)?;
        let refusal = match self.engine.show_in(&conversation, &ground, (&view, &repaired), id) {
            Err(refusal) if refusal.code == ErrorCode::UnknownId && !conversation.messages.left.is_empty() => refusal,
            shown => return shown,
        };
        let left = conversation.left_frames();
        let ground = Ground::with_left(&conversation, &left);
        let all = ground.lay(at_point(&conversation, at)?);
        let mut shown =
            self.engine.show_in(&conversation, &ground, (&all, &RepairReport::default()), id).map_err(|_| refusal)?;
        let frame = shown.messages.first().and_then(|message| message.id.split_once('#')?.0.parse().ok());
        shown.left = frame.and_then(|id: FrameId| left.of(&id, &left::names(&view)));
        shown.state.extend(shown.left.map(|left| left.state().to_owned()));
        Ok(shown)
    }
}
