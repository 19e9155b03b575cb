//! The edits to request, with defaults filled in.

use super::member;
use crate::body::Body;
use crate::envelope::Envelope;
use crate::json;
use crate::provider_edits::{
    CLEAR_KEEP, CLEAR_PERCENT, CLEAR_TOKENS, COMPACT_PERCENT, COMPACT_TOKENS, Inputs, Keep, Kind, LEAST_COMPACT,
    ProviderSettings, Trigger, worth_clearing,
};
use ctx_core::Lexicon;
use ctx_models::Price;
use serde_json::json;

/// One edit to request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub kind: Kind,
    pub json: String,
}

/// Facts about a request and its model.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub envelope: &'a Envelope,
    /// Knows the tools.
    pub lexicon: &'a Lexicon,
    /// The request enables thinking: otherwise thinking may not be cleared (C7).
    pub thinks: bool,
    /// The tokens of the model's window.
    pub window: Option<u64>,
    pub price: Option<Price>,
    /// The lifetime of the cache, in seconds.
    pub lifetime: u64,
}

/// Whether a request enables thinking.
pub fn thinks(body: &Body) -> bool {
    let bytes = body.bytes();
    let Some((span, _)) = body.spans().member(bytes, "thinking") else { return false };
    let kind = member(bytes, span.start, "type").and_then(|span| json::string_value(bytes, span));
    matches!(kind.as_deref(), Some("adaptive" | "enabled"))
}

/// The edits for a setting, in the provider's order.
pub fn edits(settings: &ProviderSettings, facts: &Facts<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    if settings.clear_thinking.enabled.unwrap_or(true) && facts.thinks {
        let keep = match settings.clear_thinking.keep.unwrap_or(Keep::All) {
            Keep::All => r#""all""#.to_owned(),
            Keep::Turns(turns) => format!(r#"{{"type":"thinking_turns","value":{turns}}}"#),
        };
        edits.push(Edit::new(Kind::Thinking, &format!(r#","keep":{keep}"#)));
    }
    if settings.clear_tool_uses.enabled.unwrap_or(true) {
        edits.push(Edit::new(Kind::ToolUses, &tool_uses(settings, facts)));
    }
    if settings.compact.enabled.unwrap_or(false) {
        let trigger = settings.compact.trigger.unwrap_or(Trigger::Percent(COMPACT_PERCENT));
        let tokens = trigger.tokens(facts.window).unwrap_or(COMPACT_TOKENS).max(LEAST_COMPACT);
        let mut rest = format!(r#","trigger":{{"type":"input_tokens","value":{tokens}}}"#);
        // The client would have to end a pause that it did not ask for.
        if let Some(text) = &settings.compact.instructions {
            rest.push_str(&format!(r#","instructions":{}"#, json!(text)));
        }
        edits.push(Edit::new(Kind::Compact, &rest));
    }
    edits
}

impl Edit {
    fn new(kind: Kind, rest: &str) -> Edit {
        Edit { kind, json: format!(r#"{{"type":"{}"{rest}}}"#, kind.name()) }
    }
}

fn tool_uses(settings: &ProviderSettings, facts: &Facts<'_>) -> String {
    let tools = &settings.clear_tool_uses;
    let trigger = tools.trigger.unwrap_or(Trigger::Percent(CLEAR_PERCENT));
    let at = trigger.tokens(facts.window);
    let mut rest = match (trigger, at) {
        (Trigger::ToolUses(calls), _) => format!(r#","trigger":{{"type":"tool_uses","value":{calls}}}"#),
        (_, tokens) => {
            format!(r#","trigger":{{"type":"input_tokens","value":{}}}"#, tokens.unwrap_or(CLEAR_TOKENS))
        }
    };
    rest.push_str(&format!(r#","keep":{{"type":"tool_uses","value":{}}}"#, tools.keep.unwrap_or(CLEAR_KEEP)));
    let least = tools.clear_at_least.or_else(|| match trigger {
        Trigger::ToolUses(_) => None,
        _ => Some(worth_clearing(at.unwrap_or(CLEAR_TOKENS), facts.price, facts.lifetime)),
    });
    if let Some(least) = least.filter(|least| *least > 0) {
        rest.push_str(&format!(r#","clear_at_least":{{"type":"input_tokens","value":{least}}}"#));
    }
    let excluded = tools.exclude_tools.clone().unwrap_or_else(|| lasting(facts));
    if !excluded.is_empty() {
        rest.push_str(&format!(r#","exclude_tools":{}"#, json!(excluded)));
    }
    match &tools.clear_tool_inputs {
        None | Some(Inputs::Stay) => {}
        Some(Inputs::Go) => rest.push_str(r#","clear_tool_inputs":true"#),
        Some(Inputs::GoOf(names)) => rest.push_str(&format!(r#","clear_tool_inputs":{}"#, json!(names))),
    }
    rest
}

/// The tools of a request whose results stay relevant at any age: memory, skills, task lists.
fn lasting(facts: &Facts<'_>) -> Vec<String> {
    let names = facts.envelope.tools.iter().flatten().map(|tool| &*tool.name);
    names.filter(|name| facts.lexicon.is_lasting(name)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
