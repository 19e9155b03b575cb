//! The Anthropic Messages format: requests, recognition and responses. No code here knows where the bytes come from or
//! go to.

pub(crate) mod cache;
pub mod compose;
pub mod content;
mod contents;
mod context_management;
mod draft;
pub mod envelope;
mod image;
pub mod message;
mod pdf;
mod question;
mod recorded;
mod recover;
pub mod rules;
mod tap;

use crate::answer::{Answer, Tap, Usage};
use crate::body::{Body, Shape, Spans};
use crate::envelope::Envelope;
use crate::facts::Reading;
use crate::json::Span;
use crate::provider_edits::ProviderEdits;
use crate::question::Questions;
use crate::recorded::Opening;
use crate::wire::{Call, Insertion, LocalError, Wire};
use compose::{ComposedRequest, Input};
use context_management::ContextManagement;
use ctx_core::Lexicon;
use ctx_core::content::{Content, WireId};
use ctx_core::edit::Refusal;
use ctx_core::edit::effect::NewMessage;
use ctx_core::edit::fold::View;
use ctx_core::edit::resolve::{Draft, DraftScope};
use ctx_core::message::{Message, Role};
use ctx_models::cache::{Breakpoints, CacheRules};
use question::MessageQuestions;
use serde_json::Value;
use std::borrow::Cow;

/// The Anthropic Messages API.
#[derive(Debug)]
pub struct Anthropic;

pub static SHAPE: Shape = Shape { list: "messages", wrapped_in: &[], leads: |_| false, lone_text: false };

impl Draft for Anthropic {
    fn draft(&self, raw: &Value, drafted: DraftScope) -> Result<Vec<NewMessage>, Refusal> {
        draft::draft(raw, drafted)
    }

    fn check(&self, content: &Content) -> Result<(), Refusal> {
        draft::check(content)
    }
}

/// The model in a path of Vertex AI: `…/publishers/anthropic/models/MODEL:streamRawPredict`.
fn vertex(path: &str) -> Option<&str> {
    let (_, last) = path.rsplit_once("/publishers/anthropic/models/")?;
    let (model, call) = last.split_once(':')?;
    matches!(call, "rawPredict" | "streamRawPredict").then_some(model)
}

impl Wire for Anthropic {
    fn id(&self) -> WireId {
        WireId::Anthropic
    }

    fn route(&self, method: &str, path: &str) -> Option<Call> {
        match method {
            "POST" if path.ends_with("/v1/messages") => Some(Call::Generate),
            "POST" if path.ends_with("/v1/messages/count_tokens") => Some(Call::Count),
            "POST" => vertex(path).map(|model| if model == "count-tokens" { Call::Count } else { Call::Generate }),
            "GET" if path.ends_with("/v1/models") || path.contains("/v1/models/") => Some(Call::Models),
            _ => None,
        }
    }

    fn model<'p>(&self, path: &'p str) -> Option<&'p str> {
        vertex(path).filter(|model| *model != "count-tokens")
    }

    fn shape(&self) -> &'static Shape {
        &SHAPE
    }

    fn envelope(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Envelope {
        envelope::read(bytes, spans, lexicon)
    }

    fn folder(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Option<String> {
        envelope::folder(bytes, spans, lexicon)
    }

    fn read(&self, message: &[u8], lexicon: &Lexicon) -> Reading {
        message::read(message, lexicon)
    }

    fn glance(&self, message: &[u8]) -> (Role, bool) {
        message::glance(message)
    }

    fn breakpoints(&self, body: &Body, envelope: &Envelope) -> Breakpoints {
        cache::marks(body, envelope)
    }

    fn deferrable(&self, body: &Body, envelope: &Envelope) -> Vec<usize> {
        compose::deferrable(body, envelope)
    }

    fn deferred(&self, name: &str) -> Option<serde_json::Value> {
        Some(serde_json::json!({"name": name, "defer_loading": true}))
    }

    fn marks_envelope(&self, body: &Body, envelope: &Envelope) -> bool {
        cache::marks_around(body, envelope)
    }

    fn cache_lifetime(&self, bytes: &[u8], _: &Spans) -> Option<u64> {
        cache::lifetime(bytes)
    }

    fn whole_history(&self) -> &'static str {
        "without `thread` (`thread=False` in Anthropic's SDKs)"
    }

    fn cache_rules(&self) -> CacheRules {
        ctx_models::cache::ANTHROPIC
    }

    fn secrets(&self, bytes: &[u8], spans: &Spans) -> Vec<Span> {
        envelope::secrets(bytes, spans)
    }

    fn contents(&self, message: &[u8]) -> Vec<Content> {
        contents::contents(message)
    }

    fn content(&self, block: &str) -> Option<Content> {
        content::of(block)
    }

    fn result<'b>(&self, block: &'b [u8]) -> &'b [u8] {
        contents::result(block)
    }

    fn described(&self, piece: &str) -> Option<String> {
        contents::described(piece)
    }

    fn type_name(&self, json: &str) -> Option<String> {
        contents::type_name(json)
    }

    fn write<'c>(&self, content: &'c Content) -> Cow<'c, str> {
        content::write(content)
    }

    fn written(&self, content: &[Content]) -> Vec<u8> {
        let blocks: Vec<Cow<'_, str>> = content.iter().map(content::write).collect();
        format!(r#"{{"role":"user","content":[{}]}}"#, blocks.join(",")).into_bytes()
    }

    fn copied(&self, content: Content, salt: &str) -> Content {
        content::copied(content, salt)
    }

    fn with_input(&self, call: &str, input: &str) -> Content {
        content::with_input(call, input)
    }

    fn title(&self, block: &str) -> Option<String> {
        content::title(block)
    }

    fn is_pictured(&self, content: &Content) -> bool {
        content::is_pictured(content)
    }

    fn compose(&self, input: &Input<'_>, view: &View<'_>) -> ComposedRequest {
        compose::compose(input, view)
    }

    fn go_on<'v>(&self, input: &'v Input<'v>, view: &dyn Fn() -> &'v View<'v>) -> Option<ComposedRequest> {
        compose::go_on(input, view)
    }

    fn is_paused(&self, last: &Message) -> bool {
        compose::is_paused(last)
    }

    fn provider_edits(&self) -> Option<&'static dyn ProviderEdits> {
        Some(&ContextManagement)
    }

    fn questions(&self) -> Option<&'static dyn Questions> {
        Some(&MessageQuestions)
    }

    fn binds_reasoning(&self) -> bool {
        true
    }

    fn drop_unbound(&self, body: &Body) -> Option<Insertion> {
        recover::drop_block(body)
    }

    fn error_body(&self, _: u16, error: &LocalError<'_>) -> String {
        let error = serde_json::json!({ "type": error.kind, "message": error.message });
        serde_json::json!({ "type": "error", "error": error, "request_id": null }).to_string()
    }

    fn tap(&self, status: u16, content_type: Option<&str>, content_encoding: Option<&str>) -> Box<dyn Tap> {
        Box::new(tap::Tap::new(status, content_type, content_encoding))
    }

    fn opening(&self, opening: &Opening<'_>) -> String {
        recorded::opening(opening)
    }

    fn replayed(&self, message: &str) -> String {
        recorded::replayed(message)
    }

    fn marked(&self, message: &str, lifetime: u64) -> String {
        recorded::marked(message, lifetime)
    }

    fn recorded_answer(&self, messages: &[&str], model: &str, usage: Usage) -> Answer {
        recorded::answer(messages, model, usage)
    }

    fn refuses_deferred(&self, status: u16, message: &str) -> bool {
        status == 400 && ["tool_search_tool", "defer_loading"].iter().any(|word| message.contains(word))
    }

    fn is_unbound(&self, status: u16, body: &[u8]) -> bool {
        recover::is_unbound(status, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_names_the_call_and_on_vertex_the_model() {
        let at = |model: &str| format!("/v1/projects/p/locations/l/publishers/anthropic/models/{model}");
        for (path, call, model) in [
            ("/v1/messages".to_owned(), Some(Call::Generate), None),
            ("/v1/messages/count_tokens".to_owned(), Some(Call::Count), None),
            (at("claude-x@20260901:streamRawPredict"), Some(Call::Generate), Some("claude-x@20260901")),
            (at("claude-x:rawPredict"), Some(Call::Generate), Some("claude-x")),
            (at("count-tokens:rawPredict"), Some(Call::Count), None),
            (at("claude-x:predict"), None, None),
            ("/v1/complete".to_owned(), None, None),
        ] {
            assert_eq!((Anthropic.route("POST", &path), Anthropic.model(&path)), (call, model), "{path}");
        }
    }
}
