//! Turns recorded conversations into requests and answers; each wire supplies what a recording lacks.

use crate::answer::{Answer, Usage};
use serde_json::{Value, json};

/// Filler for a system prompt and tools that were not recorded.
const FILLER: &str = "what the agent was told before the conversation began; ";

/// A request made from a recording, up to its first message.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The request without its messages, as an object.
    pub head: &'a str,
    pub model: &'a str,
    /// The messages at its beginning that belong to the system prompt.
    pub lead: &'a [&'a str],
    /// The tools to list if the head lists none.
    pub tools: &'a [String],
    /// The number of characters that head and lead should have together; filler adds the rest.
    pub chars: usize,
    /// The lifetime of a cache breakpoint, in seconds.
    pub lifetime: u64,
}

impl Opening<'_> {
    /// The members of the request, with its model.
    pub(crate) fn members(&self) -> Value {
        let mut head = serde_json::from_str(self.head).ok().filter(Value::is_object).unwrap_or_else(|| json!({}));
        head["model"] = self.model.into();
        head
    }

    /// Whether the recording lacks the tools.
    pub(crate) fn wants_tools(&self, head: &Value) -> bool {
        head["tools"].as_array().is_none_or(Vec::is_empty) && !self.tools.is_empty()
    }

    /// Filler up to the missing number of characters.
    pub(crate) fn filler(&self, own: usize) -> String {
        FILLER.chars().cycle().take(self.chars.saturating_sub(own).max(1)).collect()
    }

    /// The text of a request whose list of messages is the last member, up to its first message.
    pub(crate) fn text(&self, head: &Value, list: &str, lead: &[&str]) -> String {
        let mut text = head.to_string();
        text.pop();
        text.push_str(&format!(",\"{list}\":["));
        lead.iter().for_each(|message| text.extend([message, ","]));
        text
    }
}

/// A recorded answer, as a tap would have read it.
pub(crate) fn answer(messages: &[&str], model: &str, usage: Usage) -> Answer {
    let reply = messages.iter().map(|message| message.as_bytes().to_vec()).collect();
    let model = Some(model.to_owned());
    Answer { whole_message: true, model, usage: Some(usage), reply, ..Answer::new(200) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body;
    use crate::registry::WIRES;

    #[test]
    fn an_opening_has_the_size_that_is_asked_for_on_every_wire() {
        let tools = ["read".to_owned()];
        for wire in WIRES {
            let opening = |chars| {
                let opening = Opening { head: "{\"a\":1}", model: "m", lead: &[], tools: &tools, chars, lifetime: 300 };
                wire.opening(&opening)
            };
            let message = String::from_utf8(wire.written(&[ctx_core::content::Content::text("hi")])).expect("text");
            let body = format!("{}{message}]}}", opening(5_000));
            let spans = body::parse(body.as_bytes(), wire.shape()).expect("a body");
            assert_eq!(spans.messages.len(), 1, "{body}");
            let envelope = wire.envelope(body.as_bytes(), &spans, &ctx_core::Lexicon(&[]));
            assert_eq!(envelope.model.as_deref(), Some("m"));
            assert_eq!(envelope.tools.map(|tools| tools.len()), Some(1), "{body}");
            let more = opening(6_000).len() - opening(5_000).len();
            assert_eq!(more, 1_000, "{:?}", wire.id());
        }
    }
}
