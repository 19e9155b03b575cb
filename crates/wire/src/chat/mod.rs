//! The Chat Completions format of OpenAI and of the many servers that speak it: calls stand beside the content of a
//! message, results are messages of their own, the system prompt begins the history.

mod content;
mod contents;
mod dialect;
mod draft;
mod envelope;
mod message;
mod profiles;
mod question;
mod refusals;
pub mod rules;
mod tap;

use crate::answer::Tap;
use crate::anthropic::cache;
use crate::body::{Body, Shape, Spans};
use crate::compose::{ComposedRequest, Input, continued, generic};
use crate::envelope::Envelope;
use crate::facts::Reading;
use crate::openai;
use crate::question::Questions;
use crate::recorded::Opening;
use crate::refused::{Refused, RefusedPart};
use crate::wire::{Call, LocalError, Wire};
use ctx_core::Lexicon;
use ctx_core::content::{Content, WireId};
use ctx_core::edit::Refusal;
use ctx_core::edit::effect::NewMessage;
use ctx_core::edit::fold::View;
use ctx_core::edit::resolve::{Draft, DraftScope};
use ctx_core::message::Role;
use ctx_models::cache::{Breakpoints, CacheRules};
use question::ChatQuestions;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The Chat Completions API.
#[derive(Debug)]
pub struct Chat;

pub static SHAPE: Shape = Shape { list: "messages", wrapped_in: &[], leads: message::leads, lone_text: false };

impl Draft for Chat {
    fn draft(&self, raw: &Value, drafted: DraftScope) -> Result<Vec<NewMessage>, Refusal> {
        draft::draft(raw, drafted)
    }

    fn check(&self, content: &Content) -> Result<(), Refusal> {
        draft::check(content)
    }
}

impl Wire for Chat {
    fn id(&self) -> WireId {
        WireId::OpenaiChat
    }

    fn route(&self, method: &str, path: &str) -> Option<Call> {
        (method == "POST" && path.ends_with("/chat/completions")).then_some(Call::Generate)
    }

    fn shape(&self) -> &'static Shape {
        &SHAPE
    }

    fn envelope(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Envelope {
        envelope::read(bytes, spans, lexicon)
    }

    fn read(&self, message: &[u8], lexicon: &Lexicon) -> Reading {
        message::read(message, lexicon)
    }

    fn glance(&self, message: &[u8]) -> (Role, bool) {
        message::glance(message)
    }

    fn breakpoints(&self, body: &Body, envelope: &Envelope) -> Breakpoints {
        crate::marks::breakpoints(body, envelope, cache::NAME)
    }

    fn marks_envelope(&self, body: &Body, envelope: &Envelope) -> bool {
        crate::marks::is_head_marked(body, envelope, cache::NAME)
    }

    fn cache_lifetime(&self, bytes: &[u8], _: &Spans) -> Option<u64> {
        cache::lifetime(bytes)
    }

    fn asked_lifetime(&self, bytes: &[u8], spans: &Spans) -> Option<u64> {
        crate::responses::cache::lifetime(bytes, spans)
    }

    fn cache_rules(&self) -> CacheRules {
        ctx_models::cache::PREFIX
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
        generic::compose(&dialect::ChatDialect::of(input.envelope.model.as_deref()), input, view)
    }

    fn go_on<'v>(&self, input: &'v Input<'v>, view: &dyn Fn() -> &'v View<'v>) -> Option<ComposedRequest> {
        continued::go_on(&dialect::ChatDialect::of(input.envelope.model.as_deref()), input, view)
    }

    fn opening(&self, opening: &Opening<'_>) -> String {
        let mut head = opening.members();
        if opening.wants_tools(&head) {
            let tool = |name: &String| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
            head["tools"] = opening.tools.iter().map(tool).collect();
        }
        let own = opening.lead.iter().map(|message| message.len()).sum::<usize>() + head["tools"].to_string().len();
        let system = json!({"role": "system", "content": opening.filler(own)}).to_string();
        let lead: Vec<&str> = [system.as_str()].into_iter().chain(opening.lead.iter().copied()).collect();
        opening.text(&head, SHAPE.list, &lead)
    }

    fn questions(&self) -> Option<&'static dyn Questions> {
        Some(&ChatQuestions)
    }

    fn error_body(&self, status: u16, error: &LocalError<'_>) -> String {
        openai::error_body(status, error)
    }

    fn refused(&self, sent: &Body, refused: &Refused<'_>) -> Option<RefusedPart> {
        refusals::part(sent, refused)
    }

    fn tap(&self, status: u16, content_type: Option<&str>, content_encoding: Option<&str>) -> Box<dyn Tap> {
        Box::new(tap::Tap::new(status, content_type, content_encoding))
    }
}

#[cfg(test)]
mod tests;
