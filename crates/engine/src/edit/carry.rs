//! Carries over the edits of a conversation that its client continued over another wire.

use crate::compose::Ground;
use crate::conversation::Conversation;
use crate::edit::files::Files;
use crate::edit::imports::{EditsOf, ImportSource};
use crate::edit::stubs;
use crate::{Engine, Refusal};
use ctx_core::edit::CommitId;
use ctx_core::edit::carry::{CarryPlan, Target, carry};
use ctx_core::edit::effect::{Effect, EffectId};
use ctx_core::edit::resolve::Desk;
use ctx_core::hint::Command;
use ctx_core::message::Message;
use ctx_core::{ErrorCode, SlotId, hint};

impl Engine {
    /// Copies the active edits of a conversation.
    pub(super) fn edits_of(&self, conversation: &Conversation) -> Result<EditsOf, Refusal> {
        let effects = conversation.effects(conversation.history.head());
        let ground = Ground::of(conversation, true);
        let texts = effects.iter().flat_map(|(_, effect)| stubs::texts(effect));
        Ok(EditsOf {
            stubs: self.stub_texts(conversation, texts)?,
            effects: effects.into_iter().map(|(id, effect)| (id, effect.clone())).collect(),
            path: ground.slots.iter().copied().zip(ground.messages.iter().map(|message| (*message).clone())).collect(),
        })
    }

    /// Carries over the edits of another conversation. `(commit, index)`: the name of the first effect.
    pub fn carry(
        &self,
        into: &Conversation,
        desk: &Desk<'_>,
        from: &str,
        (commit, index): (CommitId, usize),
        files: &mut Files,
    ) -> Result<Vec<Effect>, Refusal> {
        let ImportSource::Edits(edits) = files.imports.find(from, None)? else {
            return Err(Refusal::new(
                ErrorCode::SameConversation,
                format!("`{from}` is this conversation."),
                hint!["Name the conversation that it continues: ", Command::Conversations, " lists them."],
            ));
        };
        let ground = Ground::of(into, false);
        let path: Vec<(SlotId, &Message)> = ground.slots.iter().copied().zip(ground.messages.iter().copied()).collect();
        let theirs: Vec<(SlotId, &Message)> = edits.path.iter().map(|(slot, message)| (*slot, message)).collect();
        let first = EffectId { commit, index: index as u32 };
        let target = Target { path: &path, wire: into.wire().id(), first, next_added: desk.next_added };
        let mut carried = carry(&edits.effects, &theirs, target);
        if carried.effects.is_empty() {
            let why = left_behind(&carried).unwrap_or_else(|| "it has no edits".to_owned());
            return Err(Refusal::new(
                ErrorCode::NothingToDo,
                format!("No edit of `{from}` can be carried over: {why}."),
                hint![Command::History, " lists its edits."],
            ));
        }
        let stubs = edits.stubs.clone();
        self.adopt(into, (from, &stubs), &mut carried.effects, files)?;
        files.remarks.extend(left_behind(&carried).map(|words| format!("not carried over: {words}")));
        Ok(carried.effects)
    }
}

/// Describes the edits that are not carried over.
fn left_behind(carried: &CarryPlan) -> Option<String> {
    let count = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        more => Some(format!("{more} {many}")),
    };
    let all = [
        count(carried.on_system, "edit of the system prompt", "edits of the system prompt"),
        count(carried.gone, "edit of content that is not here", "edits of content that is not here"),
        count(carried.foreign, "edit in the other provider's format", "edits in the other provider's format"),
        count(carried.missing, "block that is not here", "blocks that are not here"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", "))
}
