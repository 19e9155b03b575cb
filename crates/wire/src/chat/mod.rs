//! The Chat Completions format of OpenAI and of the many servers that speak it: calls stand beside the content of a
//! message, results are messages of their own, the system prompt begins the history.

mod content;
mod contents;
mod dialect;
mod draft;
mod envelope;
mod message;
pub mod rules;
mod tap;

use crate::answer::Tap;
use crate::body::{Body, Shape, Spans};
use crate::compose::{Composed, Input, generic};
use crate::envelope::Envelope;
use crate::json::Span;
use crate::wire::{Call, Insertion, LocalError, Reading, Wire};
use ctx_core::content::{Content, WireId};
use ctx_core::edit::Refusal;
use ctx_core::edit::effect::Made;
use ctx_core::edit::fold::View;
use ctx_core::edit::resolve::{Draft, DraftScope};
use ctx_core::message::{Message, Role};
use ctx_core::{Key, Lexicon};
use ctx_models::cache::{Breakpoints, CacheRules};
use serde_json::Value;
use std::borrow::Cow;

/// The Chat Completions API.
#[derive(Debug)]
pub struct Chat;

pub static SHAPE: Shape = Shape { list: "messages", leads: message::leads };

impl Draft for Chat {
    fn draft(&self, raw: &Value, drafted: DraftScope) -> Result<Vec<Made>, Refusal> {
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

    fn folder(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Option<String> {
        crate::folder::told(bytes, &crate::folder::opening(bytes, spans, &|message| self.glance(message).0), lexicon)
    }

    fn read(&self, message: &[u8], lexicon: &Lexicon) -> Reading {
        message::read(message, lexicon)
    }

    fn glance(&self, message: &[u8]) -> (Role, bool) {
        message::glance(message)
    }

    fn breakpoints(&self, _: &Body, _: &Envelope) -> Breakpoints {
        Breakpoints::default()
    }

    fn marks_envelope(&self, _: &Body, _: &Envelope) -> bool {
        false
    }

    fn cache_lifetime(&self, _: &[u8]) -> Option<u64> {
        None
    }

    fn cache_rules(&self) -> CacheRules {
        ctx_models::cache::PREFIX
    }

    fn secrets(&self, _: &[u8], _: &Spans) -> Vec<Span> {
        Vec::new()
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

    fn compose(&self, input: &Input<'_>, view: &View<'_>) -> Composed {
        generic::compose(&dialect::ChatDialect, input, view)
    }

    fn go_on(&self, _: &Input<'_>) -> Option<Composed> {
        None
    }

    fn is_paused(&self, _: &Message) -> bool {
        false
    }

    fn edits_context(&self) -> bool {
        false
    }

    fn drop_unbound(&self, _: &Body) -> Option<Insertion> {
        None
    }

    fn error_body(&self, status: u16, error: &LocalError<'_>) -> String {
        let kind = if status >= 500 { "server_error" } else { "invalid_request_error" };
        let error = serde_json::json!({ "message": error.message, "type": kind, "param": null, "code": error.code });
        serde_json::json!({ "error": error }).to_string()
    }

    fn tap(&self, status: u16, content_type: Option<&str>, content_encoding: Option<&str>) -> Box<dyn Tap> {
        Box::new(tap::Tap::new(status, content_type, content_encoding))
    }

    fn signature(&self, text: &str) -> Key {
        Key::of([b"signature".as_slice(), text.as_bytes()])
    }

    fn is_unbound(&self, _: u16, _: &[u8]) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
