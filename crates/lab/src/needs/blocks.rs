//! The blocks of a message, and the text of each that a model could rely on.

use super::Place;
use ctx_core::content::{CallInput, Content, Origin};
use ctx_core::message::Role;
use ctx_wire::Wire;
use serde_json::Value;

pub(super) struct Block {
    pub(super) place: Place,
    pub(super) what: What,
    /// All its readable text; for a call, the texts of its input.
    pub(super) text: String,
}

pub(super) enum What {
    /// Text of the model.
    Said,
    Call {
        id: String,
        name: String,
        input: Value,
    },
    Result {
        id: String,
        is_error: bool,
    },
    Other,
}

/// None for a message that cannot be parsed.
pub(super) fn read(wire: &dyn Wire, json: &str, message: usize) -> Vec<Block> {
    let by_model = wire.glance(json.as_bytes()).0 == Role::Assistant;
    let contents = wire.contents(json.as_bytes()).into_iter().enumerate();
    contents.map(|(block, content)| read_block(content, Place { message, block }, by_model)).collect()
}

fn read_block(content: Content, place: Place, by_model: bool) -> Block {
    let mut text = String::new();
    words(&content, &mut text);
    let answers = content.answers().map(str::to_owned);
    let what = match content {
        Content::Text { .. } if by_model => What::Said,
        Content::Call { id, name, input } => What::Call { id: id.unwrap_or_default(), name, input: value_of(&input) },
        Content::Result { id, error, .. } => What::Result { id: id.unwrap_or_default(), is_error: error },
        _ => answers.map_or(What::Other, |id| What::Result { id, is_error: false }),
    };
    Block { place, what, text }
}

/// The input of a call.
pub(crate) fn value_of(CallInput::Json(input): &CallInput) -> Value {
    serde_json::from_str(input).unwrap_or_default()
}

/// All text of a content that a model could rely on. Reasoning is not sent permanently, and images have no text.
fn words(content: &Content, text: &mut String) {
    match content {
        Content::Text { text: said } => add(said, text),
        Content::Call { input, .. } => gather(&value_of(input), text),
        Content::Result { parts, .. } => parts.iter().for_each(|part| words(part, text)),
        Content::Document { from: Origin::Url(place) | Origin::File { id: place, .. }, title } => {
            add(place, text);
            title.iter().for_each(|title| add(title, text));
        }
        Content::Document { title, .. } => title.iter().for_each(|title| add(title, text)),
        Content::Raw { json, .. } => gather(&serde_json::from_str(json).unwrap_or_default(), text),
        Content::Image { .. } | Content::Reasoning { .. } => {}
    }
}

fn add(found: &str, text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(found);
}

/// All texts in a JSON text, each on its own lines.
pub(super) fn words_of(json: &str) -> String {
    let mut text = String::new();
    gather(&serde_json::from_str(json).unwrap_or_default(), &mut text);
    text
}

/// All texts in a value.
pub(crate) fn words_in(value: &Value) -> String {
    let mut text = String::new();
    gather(value, &mut text);
    text
}

fn gather(value: &Value, text: &mut String) {
    match value {
        Value::String(found) => add(found, text),
        Value::Array(values) => values.iter().for_each(|value| gather(value, text)),
        // Bytes of images and the like are not text.
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "base64" || kind == "image") => {}
        Value::Object(fields) => {
            fields.iter().filter(|(key, _)| *key != "type").for_each(|(_, value)| gather(value, text));
        }
        _ => {}
    }
}
