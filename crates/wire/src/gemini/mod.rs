//! The format of Gemini's `generateContent`: a history of contents with parts, the model in the address, and calls
//! without ids.

mod content;
mod contents;
mod dialect;
mod draft;
mod envelope;
mod message;
mod part;
mod recover;
pub mod rules;
mod tap;
mod turns;

use crate::answer::Tap;
use crate::body::{Body, Shape, Spans};
use crate::compose::{ComposedRequest, Input, continued, generic};
use crate::envelope::Envelope;
use crate::facts::Reading;
use crate::recorded::Opening;
use crate::wire::{Call, LocalError, Wire};
use ctx_core::Lexicon;
use ctx_core::content::{Content, WireId};
use ctx_core::edit::Refusal;
use ctx_core::edit::effect::NewMessage;
use ctx_core::edit::fold::View;
use ctx_core::edit::resolve::{Draft, DraftScope};
use ctx_core::message::Role;
use ctx_models::cache::CacheRules;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The Gemini API.
#[derive(Debug)]
pub struct Gemini;

/// The service behind a Google login wraps each request (G41), and a count of tokens may take a whole one (G44).
const WRAPPERS: &[&str] = &["request", "generateContentRequest", "generate_content_request"];

pub static SHAPE: Shape = Shape { list: "contents", wrapped_in: WRAPPERS, leads: |_| false, lone_text: false };

impl Draft for Gemini {
    fn draft(&self, raw: &Value, drafted: DraftScope) -> Result<Vec<NewMessage>, Refusal> {
        draft::draft(raw, drafted)
    }

    fn check(&self, content: &Content) -> Result<(), Refusal> {
        draft::check(content)
    }
}

impl Wire for Gemini {
    fn id(&self) -> WireId {
        WireId::Gemini
    }

    fn route(&self, method: &str, path: &str) -> Option<Call> {
        let asked = named(path).map(|(_, asked)| asked).or_else(|| wrapped(path)).filter(|_| method == "POST")?;
        match asked {
            "generateContent" | "streamGenerateContent" => Some(Call::Generate),
            "countTokens" => Some(Call::Count),
            _ => None,
        }
    }

    fn model<'p>(&self, path: &'p str) -> Option<&'p str> {
        named(path).map(|(model, _)| model)
    }

    fn shape(&self) -> &'static Shape {
        &SHAPE
    }

    fn envelope(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Envelope {
        envelope::read(bytes, spans, lexicon)
    }

    fn folder(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Option<String> {
        let mut parts = envelope::system_parts(bytes, spans);
        parts.extend(crate::folder::opening(bytes, &spans.lead, &spans.messages, &|content| self.glance(content).0));
        crate::folder::told(bytes, &parts, lexicon)
    }

    fn read(&self, message: &[u8], lexicon: &Lexicon) -> Reading {
        message::read(message, lexicon)
    }

    fn glance(&self, message: &[u8]) -> (Role, bool) {
        message::glance(message)
    }

    fn whole_history(&self) -> &'static str {
        "without `cachedContent`"
    }

    fn cache_rules(&self) -> CacheRules {
        ctx_models::cache::GEMINI
    }

    fn contents(&self, message: &[u8]) -> Vec<Content> {
        contents::contents(message)
    }

    fn content(&self, block: &str) -> Option<Content> {
        content::read(block.as_bytes())
    }

    fn result<'b>(&self, block: &'b [u8]) -> &'b [u8] {
        content::result(block)
    }

    fn described(&self, piece: &str) -> Option<String> {
        content::described(piece)
    }

    fn type_name(&self, json: &str) -> Option<String> {
        content::type_name(json)
    }

    fn write<'c>(&self, content: &'c Content) -> Cow<'c, str> {
        content::write(content)
    }

    fn written(&self, content: &[Content]) -> Vec<u8> {
        content::shown(content)
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
        generic::compose(&dialect::GeminiDialect::default(), input, view)
    }

    fn go_on<'v>(&self, input: &'v Input<'v>, view: &dyn Fn() -> &'v View<'v>) -> Option<ComposedRequest> {
        continued::go_on(&dialect::GeminiDialect::default(), input, view)
    }

    fn opening(&self, opening: &Opening<'_>) -> String {
        let mut head = opening.members();
        if opening.wants_tools(&head) {
            let tool = |name: &String| json!({"name": name, "parameters": {"type": "OBJECT"}});
            let declarations: Vec<Value> = opening.tools.iter().map(tool).collect();
            head["tools"] = json!([{"functionDeclarations": declarations}]);
        }
        if head["systemInstruction"].is_null() {
            let own = head["tools"].to_string().len();
            head["systemInstruction"] = json!({"parts": [{"text": opening.filler(own)}]});
        }
        opening.text(&head, SHAPE.list, opening.lead)
    }

    fn error_body(&self, status: u16, error: &LocalError<'_>) -> String {
        let info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": error.code, "domain": "context-composer",
        });
        let name = status_name(status);
        json!({"error": {"code": status, "message": error.message, "status": name, "details": [info]}}).to_string()
    }

    fn error_for(&self, target: &str, status: u16, error: &LocalError<'_>) -> String {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut body = self.error_body(status, error);
        if let Some(asked) = wrapped(path) {
            // The service behind a Google login lists its errors too (G42).
            let mut value: Value = serde_json::from_str(&body).unwrap_or_default();
            let reason = if status < 500 { "badRequest" } else { "backendError" };
            value["error"]["errors"] = json!([{"message": error.message, "domain": "global", "reason": reason}]);
            body = value.to_string();
            return if streams_list(asked, query) { format!("[{body}]") } else { body };
        }
        match named(path) {
            Some((_, asked)) if streams_list(asked, query) => format!("[{body}]"),
            _ => body,
        }
    }

    fn tap(&self, status: u16, content_type: Option<&str>, content_encoding: Option<&str>) -> Box<dyn Tap> {
        Box::new(tap::Tap::new(status, content_type, content_encoding))
    }

    fn is_unbound(&self, status: u16, body: &[u8]) -> bool {
        recover::is_unbound(status, body)
    }

    fn without_reasoning(&self, body: &Body) -> Option<Vec<u8>> {
        recover::without_reasoning(body)
    }
}

/// The model and the method in a path: `…/models/MODEL:generateContent`.
fn named(path: &str) -> Option<(&str, &str)> {
    let (_, last) = path.rsplit_once("/models/")?;
    last.split_once(':').filter(|(model, _)| !model.is_empty() && !model.contains('/'))
}

/// The method in a path of the service behind a Google login, which wraps each request: `/v1internal:generateContent`.
fn wrapped(path: &str) -> Option<&str> {
    let (_, last) = path.rsplit_once('/')?;
    last.split_once(':').filter(|(version, _)| *version == "v1internal").map(|(_, asked)| asked)
}

/// Whether the answer is a list of objects, errors included (G40).
fn streams_list(asked: &str, query: &str) -> bool {
    asked == "streamGenerateContent" && !query.split('&').any(|member| member == "alt=sse")
}

/// The provider's name for a status.
fn status_name(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        408 | 504 => "DEADLINE_EXCEEDED",
        429 => "RESOURCE_EXHAUSTED",
        400..=499 => "INVALID_ARGUMENT",
        500 => "INTERNAL",
        _ => "UNAVAILABLE",
    }
}

#[cfg(test)]
mod tests;
