//! The Responses format of OpenAI: every call, every result and all reasoning are items of their own, and the engine
//! treats each item as one message.

pub(crate) mod cache;
mod content;
mod contents;
mod dialect;
mod draft;
mod envelope;
mod families;
mod ids;
mod item;
mod recover;
mod refusals;
mod rewrite;
pub mod rules;
mod socket;
mod tap;
mod ties;

use crate::answer::{FirstEvent, Tap};
use crate::body::{Body, Shape, Spans};
use crate::compose::{ComposedRequest, Input, continued, generic};
use crate::envelope::Envelope;
use crate::facts::Reading;
use crate::json::Span;
use crate::openai;
use crate::recorded::Opening;
use crate::refused::{Refused, RefusedPart};
use crate::socket::Socket;
use crate::wire::{Call, LocalError, Wire};
use ctx_core::Lexicon;
use ctx_core::content::{Content, WireId};
use ctx_core::edit::Refusal;
use ctx_core::edit::effect::NewMessage;
use ctx_core::edit::fold::View;
use ctx_core::edit::resolve::{Draft, DraftScope};
use ctx_core::message::Role;
use ctx_models::cache::{Breakpoints, CacheRules};
use serde_json::{Value, json};
use std::borrow::Cow;

/// The Responses API.
#[derive(Debug)]
pub struct Responses;

pub static SHAPE: Shape = Shape { list: "input", wrapped_in: &[], leads: item::leads, lone_text: true };

impl Draft for Responses {
    fn draft(&self, raw: &Value, drafted: DraftScope) -> Result<Vec<NewMessage>, Refusal> {
        draft::draft(raw, drafted)
    }

    fn check(&self, content: &Content) -> Result<(), Refusal> {
        draft::check(content)
    }
}

impl Wire for Responses {
    fn id(&self) -> WireId {
        WireId::OpenaiResponses
    }

    fn route(&self, method: &str, path: &str) -> Option<Call> {
        match method {
            "POST" if path.ends_with("/responses") => Some(Call::Generate),
            "POST" if ["/responses/compact", "/responses/input_tokens"].iter().any(|end| path.ends_with(end)) => {
                Some(Call::Count)
            }
            _ => None,
        }
    }

    fn shape(&self) -> &'static Shape {
        &SHAPE
    }

    fn envelope(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Envelope {
        envelope::read(bytes, spans, lexicon)
    }

    fn folder(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Option<String> {
        let instructions = spans.member(bytes, "instructions").map(|(span, _)| span);
        let opening = crate::folder::opening(bytes, &spans.lead, &spans.messages, &|item| self.glance(item).0);
        let parts: Vec<Span> = instructions.into_iter().chain(opening).collect();
        crate::folder::told(bytes, &parts, lexicon)
    }

    fn read(&self, message: &[u8], lexicon: &Lexicon) -> Reading {
        item::read(message, lexicon)
    }

    fn glance(&self, message: &[u8]) -> (Role, bool) {
        item::glance(message)
    }

    fn breakpoints(&self, body: &Body, envelope: &Envelope) -> Breakpoints {
        cache::breakpoints(body, envelope)
    }

    fn marks_envelope(&self, body: &Body, envelope: &Envelope) -> bool {
        crate::marks::is_head_marked(body, envelope, cache::BREAKPOINT)
    }

    fn is_cache_explicit(&self, body: &Body) -> bool {
        cache::is_explicit(body)
    }

    fn cache_lifetime(&self, bytes: &[u8], spans: &Spans) -> Option<u64> {
        cache::lifetime(bytes, spans)
    }

    fn asked_lifetime(&self, bytes: &[u8], spans: &Spans) -> Option<u64> {
        cache::lifetime(bytes, spans)
    }

    fn whole_history(&self) -> &'static str {
        "without `previous_response_id` and `conversation`, as with `store: false`"
    }

    fn cache_rules(&self) -> CacheRules {
        ctx_models::cache::OPENAI_BREAKPOINTS
    }

    fn secrets(&self, bytes: &[u8], spans: &Spans) -> Vec<Span> {
        envelope::secrets(bytes, spans)
    }

    fn contents(&self, message: &[u8]) -> Vec<Content> {
        contents::contents(message)
    }

    fn content(&self, block: &str) -> Option<Content> {
        contents::content(block)
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
        generic::compose(&dialect::ResponsesDialect, input, view)
    }

    fn go_on<'v>(&self, input: &'v Input<'v>, view: &dyn Fn() -> &'v View<'v>) -> Option<ComposedRequest> {
        continued::go_on(&dialect::ResponsesDialect, input, view)
    }

    fn opening(&self, opening: &Opening<'_>) -> String {
        let mut head = opening.members();
        if opening.wants_tools(&head) {
            let tool = |name: &String| json!({"type": "function", "name": name, "parameters": {"type": "object"}});
            head["tools"] = opening.tools.iter().map(tool).collect();
        }
        let told = head["instructions"].as_str().unwrap_or_default().to_owned();
        let lead = opening.lead.iter().map(|message| message.len()).sum::<usize>();
        let filler = opening.filler(told.len() + lead + head["tools"].to_string().len());
        head["instructions"] = format!("{told}{filler}").into();
        opening.text(&head, SHAPE.list, opening.lead)
    }

    fn answers_in_items(&self) -> bool {
        true
    }

    fn error_body(&self, status: u16, error: &LocalError<'_>) -> String {
        openai::error_body(status, error)
    }

    fn tap(&self, status: u16, content_type: Option<&str>, content_encoding: Option<&str>) -> Box<dyn Tap> {
        Box::new(tap::Tap::new(status, content_type, content_encoding))
    }

    fn refused(&self, sent: &Body, refused: &Refused<'_>) -> Option<RefusedPart> {
        refusals::part(sent, refused)
    }

    fn socket(&self) -> Option<&dyn Socket> {
        Some(&Responses)
    }

    fn is_unbound(&self, status: u16, body: &[u8]) -> bool {
        recover::is_unbound(status, body)
    }

    fn first_event(&self, data: &str) -> FirstEvent {
        recover::first_event(data)
    }

    fn has_sealed(&self, bytes: &[u8]) -> bool {
        memchr::memmem::find(bytes, b"\"encrypted_content\"").is_some()
    }

    fn without_reasoning(&self, body: &Body) -> Option<Vec<u8>> {
        recover::without_reasoning(body)
    }
}

#[cfg(test)]
mod tests;
