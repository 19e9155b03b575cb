//! Edit requests that would change nothing. They are refused: an empty commit only hides the others.

use crate::compose::repaired::sentence;
use crate::conversation::Conversation;
use crate::view::show;
use crate::{Engine, Refusal};
use ctx_api::edit::RepairView;
use ctx_api::show::BlockView;
use ctx_core::Content;
use ctx_core::edit::effect::Effect;
use ctx_core::edit::resolve::{Desk, Scope};
use ctx_core::edit::{Operation, Refusal as Refused};
use ctx_core::message::Role;

/// The refusal: the content is already in the requested state, or a rule keeps it unchanged.
pub fn nothing(operations: &[Operation], repairs: &[RepairView]) -> Refused {
    Refused::nothing(match (operations, repairs) {
        ([one], [first, ..]) => format!("`{}` has no effect: {}.", one.name(), sentence(first)),
        ([one], []) => {
            let ids: Vec<String> = one.ids().iter().map(|id| format!("`{id}`")).collect();
            let names = if ids.is_empty() { "everything".to_owned() } else { ids.join(", ") };
            format!(
                "`{}` has no effect: {names} {} already in that state.",
                one.name(),
                if ids.len() > 1 { "are" } else { "is" }
            )
        }
        _ => "Together, the operations have no effect.".to_owned(),
    })
}

impl Engine {
    /// Whether the text that an edit writes is already there.
    pub fn reads_so(
        &self,
        conversation: &Conversation,
        desk: &Desk<'_>,
        id: &str,
        effects: &[Effect],
    ) -> Result<bool, Refusal> {
        let [effect] = effects else { return Ok(false) };
        let targets = desk.named(&[id.to_owned()])?;
        let [target] = targets.as_slice() else { return Ok(false) };
        let texts = self.texts(conversation, desk.source.slots, show::messages_of(&target.units))?;
        let shown = show::message_views(conversation, desk.view, desk.source, target, &texts);
        let blocks = || shown.iter().flat_map(|message| &message.blocks).filter(|block| block.covered.is_none());
        match effect {
            Effect::Results { results, .. } => {
                let old: Vec<&str> =
                    blocks().filter(|block| block.kind == "tool_result").map(|block| block.text.as_str()).collect();
                Ok(old.iter().copied().eq(results.iter().map(|result| result.text.as_str())))
            }
            // The new content of a result is stored beside its JSON, not in it.
            Effect::Replace { .. } if blocks().any(|block| block.replaced.is_some()) => Ok(false),
            Effect::Replace { by, .. } => {
                // Blocks without a role belong to the message whose blocks they replace.
                let own = shown.first().map(|message| message.role.as_str());
                let new: Vec<(Option<&str>, Vec<Option<Content>>)> = by
                    .iter()
                    .map(|made| (made.role.map(Role::name).or(own), made.content.iter().cloned().map(Some).collect()))
                    .collect();
                let is_named = |block: &&BlockView| {
                    block.covered.is_none() && !(target.scope == Scope::Message && block.kind == "thinking")
                };
                let raw = |block: &BlockView| conversation.wire().content(block.raw.as_ref()?.get());
                let old: Vec<(Option<&str>, Vec<Option<Content>>)> = shown
                    .iter()
                    .map(|message| {
                        (Some(message.role.as_str()), message.blocks.iter().filter(is_named).map(raw).collect())
                    })
                    .filter(|(_, blocks): &(_, Vec<Option<Content>>)| !blocks.is_empty())
                    .collect();
                Ok(!new.is_empty() && old == new)
            }
            _ => Ok(false),
        }
    }
}
