//! Lists frames, including those that the client has left.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::frames::{FrameView, Frames, MovedFrom};
use ctx_core::content::WireId;
use ctx_engine::Refusal;
use ctx_engine::compose::Ground;
use ctx_engine::conversation::{Conversation, left};
use ctx_engine::point::at_point;
use ctx_engine::view::frames::{moved_from, of};
use std::collections::HashSet;

impl Parts {
    pub(crate) fn frames(&self, name: &str, with_steps: bool, at: Option<&str>) -> Result<Frames, Refusal> {
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        let ground = Ground::of(&conversation, true);
        let (view, repaired) = self.engine.lay_at(&conversation, &ground, at.unwrap_or("HEAD"))?;
        let cache = self.engine.cached(&conversation, &ground, (&view, &repaired), now());
        let window = conversation.newest.envelope.model.as_deref().and_then(|model| self.engine.window(model));
        let incomplete = lock(&self.directory).is_incomplete(conversation.id());
        let list = Frames { cache, window, incomplete, ..of(&self.engine, &conversation, &ground, &view, with_steps) };
        let from = moved_from(&conversation);
        drop((view, ground));
        drop(conversation);
        Ok(Frames { moved_from: from.and_then(|(from, wire)| self.edits_elsewhere(from, wire)), ..list })
    }

    /// The edits of a conversation that another one continues in the format `wire`.
    fn edits_elsewhere(&self, from: String, wire: WireId) -> Option<MovedFrom> {
        let shared = self.get(&from).ok().flatten()?;
        let other = lock(&shared);
        let effects = other.effects(other.history.head());
        let commits: HashSet<_> = effects.iter().map(|(id, _)| id.commit).collect();
        let moved = MovedFrom { conversation: from, format: other.wire().id().name().to_owned(), edits: commits.len() };
        (other.wire().id() != wire && moved.edits > 0).then_some(moved)
    }

    pub(crate) fn all_frames(&self, name: &str, with_steps: bool, at: Option<&str>) -> Result<Frames, Refusal> {
        let mut list = self.frames(name, with_steps, at)?;
        let shared = self.conversation(&list.conversation)?;
        let conversation = lock(&shared);
        let left = conversation.left_frames();
        let ground = Ground::with_left(&conversation, &left);
        let effects = at_point(&conversation, at.unwrap_or("HEAD"))?;
        let current = Ground::of(&conversation, true).lay(effects.clone());
        let names = left::names(&current);
        let all = of(&self.engine, &conversation, &ground, &ground.lay(effects), with_steps).frames;
        let earlier = all.into_iter().filter_map(|frame| {
            let left = left.of(&frame.id.parse().ok()?, &names)?;
            let state = frame.state.into_iter().chain([left.state().to_owned()]).collect();
            Some(FrameView { left: Some(left), state, ..frame })
        });
        let turns = list.frames.iter().position(|frame| frame.kind == "turn").unwrap_or(list.frames.len());
        list.frames.splice(turns..turns, earlier.collect::<Vec<_>>());
        Ok(list)
    }

    /// The tokens of the whole conversation as it is sent now.
    pub(super) fn weigh(&self, conversation: &Conversation) -> Result<u64, Refusal> {
        let ground = Ground::of(conversation, true);
        let (view, _) = self.engine.lay_at(conversation, &ground, "HEAD")?;
        Ok(of(&self.engine, conversation, &ground, &view, false).tokens)
    }
}
