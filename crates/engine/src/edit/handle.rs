//! Offloaded content that stays in the store, for agents on other machines. Its stub has a handle made of its hash, and
//! the agent reads it back with our tool or with `ctx cat`. Whether it can is known before: otherwise nothing is
//! offloaded.

use crate::Refusal;
use crate::conversation::Conversation;
pub use crate::ports::handles::{Handles, ReadsBack, TOOL, UNREADABLE, is_handle, is_ours, of};
use crate::tool_text::result::ResultText;
use ctx_core::content::{CallInput, Content};
use ctx_core::edit::effect::Effect;
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_wire::Wire;

/// How the agent of a conversation reads offloaded content; refused if it cannot.
pub fn reader(handles: Handles, conversation: &Conversation) -> Result<ReadsBack<'_>, Refusal> {
    let tools = conversation.newest.envelope.tools.as_deref();
    handles.reader(conversation.id(), tools).ok_or_else(|| {
        Refusal::new(
            ErrorCode::CannotReadBack,
            format!("Nothing is offloaded: {UNREADABLE}."),
            hint![
                "Connect the agent to the MCP server of ctx. If it runs commands where ctx is installed, set `reads_back = \
                 \"cli\"` under [team]. ",
                Command::DropResults,
                " needs neither."
            ],
        )
    })
}

/// Whether an effect's stub names a handle.
pub fn names(effect: &Effect, handle: &str) -> bool {
    match effect {
        Effect::Results { results, .. } => results.iter().any(|result| result.text.contains(handle)),
        effect => {
            let contents = effect.made().iter().flat_map(|made| &made.content);
            contents.filter_map(Content::as_text).any(|text| text.contains(handle))
        }
    }
}

/// The content that a commit of this conversation keeps.
pub fn in_history(conversation: &Conversation, handle: &str) -> Option<String> {
    let mut kept = conversation.history.all().flat_map(|commit| &commit.kept);
    kept.find(|kept| kept.handle == handle).map(|kept| kept.text.clone())
}

/// The result or input with this handle in a message, as the automatic editor clears it.
pub fn in_message(wire: &dyn Wire, message: &[u8], handle: &str) -> Option<String> {
    let (contents, facts) = (wire.contents(message), wire.read(message, ctx_clients::lexicon()).facts);
    contents.into_iter().zip(&facts.blocks).find_map(|(content, block)| {
        let text = match &content {
            Content::Result { .. } => {
                let bytes = message.get(block.at.start as usize..block.at.end as usize)?;
                ResultText::of(wire, &content, bytes)?.file().0.to_owned()
            }
            Content::Call { input: CallInput::Json(input), .. } => input.clone(),
            _ => return None,
        };
        (of(&text) == handle).then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_wire::anthropic::Anthropic;

    #[test]
    fn a_handle_leads_to_the_result_or_input_that_it_was_made_of() {
        let message = br#"{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"t","content":"a\nb"}]}"#;
        let handle = of("a\nb");
        assert!(is_handle(&handle) && !is_handle("o-1") && !is_handle("t3"), "{handle}");
        assert_eq!(in_message(&Anthropic, message, &handle).as_deref(), Some("a\nb"));
        assert_eq!(in_message(&Anthropic, message, &of("x")), None, "words of people are never cleared");
        let call =
            br#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}"#;
        assert_eq!(in_message(&Anthropic, call, &of(r#"{"command":"ls"}"#)).as_deref(), Some(r#"{"command":"ls"}"#));
        assert_eq!(in_message(&Anthropic, b"nonsense", &handle), None);
    }
}
