//! The tutorial for a wire: a made-up format with flat items and calls without ids, written with the public interface
//! of `ctx-wire` alone. It passes the engine's tests with the real ones (`crates/engine/tests/formats`).
//!
//! ```json
//! {"model": "flat-1", "system": "Be brief.", "tools": [{"name": "read", "about": "Reads a file."}], "items": [
//!   {"kind": "user", "text": "Which port?"},
//!   {"kind": "call", "tool": "read", "input": {"path": "/port"}},
//!   {"kind": "result", "tool": "read", "text": "8080"},
//!   {"kind": "model", "text": "8080."}]}
//! ```
//!
//! Read in this order: [`item`] (one message), `envelope` (everything around the messages), `dialect` (composing),
//! `draft` (JSON that people write), `tap` (answers); [`judge`] is the provider. Every item is a message with one
//! block. Defaults of [`Wire`] cover what the format lacks: cache breakpoints, bound reasoning, sockets.

mod dialect;
mod draft;
mod envelope;
pub mod item;
pub mod judge;
mod tap;

use ctx_core::Lexicon;
use ctx_core::content::{CallInput, Content, WireId};
use ctx_core::edit::Refusal;
use ctx_core::edit::effect::NewMessage;
use ctx_core::edit::fold::View;
use ctx_core::edit::resolve::{Draft, DraftScope};
use ctx_core::key::Key;
use ctx_core::message::Role;
use ctx_models::cache::CacheRules;
use ctx_wire::answer::Tap;
use ctx_wire::body::{Shape, Spans};
use ctx_wire::compose::{self, ComposedRequest, Input};
use ctx_wire::envelope::Envelope;
use ctx_wire::{Call, LocalError, Reading, Wire};
use dialect::FlatDialect;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The made-up API.
#[derive(Debug)]
pub struct Flat;

/// Makes the wire known to the process, under `WireId::Custom`.
pub fn add() {
    // A second call finds it there.
    ctx_wire::add_custom(&Flat);
}

static SHAPE: Shape = Shape { list: "items", wrapped_in: &[], leads: |_| false, lone_text: false };

impl Draft for Flat {
    fn draft(&self, raw: &Value, drafted: DraftScope) -> Result<Vec<NewMessage>, Refusal> {
        draft::draft(raw, drafted)
    }

    fn check(&self, content: &Content) -> Result<(), Refusal> {
        draft::check(content)
    }
}

impl Wire for Flat {
    fn id(&self) -> WireId {
        WireId::Custom
    }

    fn route(&self, method: &str, path: &str) -> Option<Call> {
        (method == "POST" && path.ends_with("/flat/answer")).then_some(Call::Generate)
    }

    fn shape(&self) -> &'static Shape {
        &SHAPE
    }

    fn envelope(&self, bytes: &[u8], spans: &Spans, lexicon: &Lexicon) -> Envelope {
        envelope::read(bytes, spans, lexicon)
    }

    fn read(&self, message: &[u8], lexicon: &Lexicon) -> Reading {
        item::read(message, lexicon)
    }

    fn glance(&self, message: &[u8]) -> (Role, bool) {
        (item::role(message), false)
    }

    fn cache_rules(&self) -> CacheRules {
        ctx_models::cache::PREFIX
    }

    fn contents(&self, message: &[u8]) -> Vec<Content> {
        item::contents(message)
    }

    fn content(&self, block: &str) -> Option<Content> {
        item::content(block)
    }

    fn result<'b>(&self, block: &'b [u8]) -> &'b [u8] {
        item::member(block, "text").and_then(|at| block.get(at)).unwrap_or_default()
    }

    fn described(&self, piece: &str) -> Option<String> {
        let value: Value = serde_json::from_str(piece).ok()?;
        value.as_str().or(value["about"].as_str()).map(str::to_owned)
    }

    fn type_name(&self, json: &str) -> Option<String> {
        item::text(json, "kind")
    }

    fn write<'c>(&self, content: &'c Content) -> Cow<'c, str> {
        Cow::Owned(item::written(content, Role::User, &|_| None))
    }

    /// A list of items. It is displayed, never sent.
    fn written(&self, content: &[Content]) -> Vec<u8> {
        let items: Vec<String> = content.iter().map(|each| item::written(each, Role::User, &|_| None)).collect();
        format!("[{}]", items.join(",")).into_bytes()
    }

    fn copied(&self, content: Content, salt: &str) -> Content {
        let renamed = |id: Option<String>| id.map(|id| Key::of([salt.as_bytes(), id.as_bytes()]).to_string());
        match content {
            Content::Call { id, name, input } => Content::Call { id: renamed(id), name, input },
            Content::Result { id, parts, error } => Content::Result { id: renamed(id), parts, error },
            other => other,
        }
    }

    fn with_input(&self, call: &str, input: &str) -> Content {
        match item::content(call) {
            Some(Content::Call { id, name, .. }) => {
                Content::Call { id, name, input: CallInput::Json(input.to_owned()) }
            }
            other => other.unwrap_or_else(|| Content::text(call)),
        }
    }

    fn title(&self, block: &str) -> Option<String> {
        item::text(block, "text").or_else(|| item::text(block, "tool"))
    }

    fn is_pictured(&self, _: &Content) -> bool {
        false
    }

    fn compose(&self, input: &Input<'_>, view: &View<'_>) -> ComposedRequest {
        compose::compose(&FlatDialect::default(), input, view)
    }

    fn go_on<'v>(&self, input: &'v Input<'v>, view: &dyn Fn() -> &'v View<'v>) -> Option<ComposedRequest> {
        compose::go_on(&FlatDialect::default(), input, view)
    }

    fn error_body(&self, _: u16, error: &LocalError<'_>) -> String {
        json!({"error": error.message, "code": error.code}).to_string()
    }

    fn tap(&self, status: u16, content_type: Option<&str>, content_encoding: Option<&str>) -> Box<dyn Tap> {
        Box::new(ctx_wire::tap::Tap::<tap::Reader>::new(status, content_type, content_encoding))
    }

    fn answers_in_items(&self) -> bool {
        true
    }
}
