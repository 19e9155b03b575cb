//! The request body of the last request of a conversation, and the provider's report for each request:
//! `conversations/<name>.json` and `usage/<name>.json`. Bodies of any wire are read; the usage may be missing.

use super::{Labels, Recording, Turn, Usage, time};
use ctx_core::message::Role;
use ctx_wire::body::parse;
use ctx_wire::json::Span;
use ctx_wire::{WireId, of_body};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// The conversation in a body, or the reason why there is none.
pub(super) fn read(name: String, body: &[u8], usage: Option<&[u8]>) -> Result<Recording, String> {
    let recording = all(name, body, usage)?;
    match recording.turns.is_empty() {
        true => Err("no message in it is a model's answer".into()),
        false => Ok(recording),
    }
}

/// The same for a body whose response is elsewhere.
pub(super) fn unanswered(name: String, body: &[u8]) -> Result<Recording, String> {
    all(name, body, None)
}

fn all(name: String, body: &[u8], usage: Option<&[u8]>) -> Result<Recording, String> {
    let Object(fields) = serde_json::from_slice(body).map_err(|error| format!("it is not a request body: {error}"))?;
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
    let wire = of_body(body).ok_or_else(|| match field("messages") {
        Some(_) => "its `messages` is not a list".to_owned(),
        None => "it holds no list of messages".to_owned(),
    })?;
    let spans = parse(body, wire.shape()).map_err(|error| error.to_string())?;
    let raw =
        |span: &Span| serde_json::from_slice(body.get(span.clone()).unwrap_or_default()).map_err(|_| "it is no JSON");
    let lead: Vec<Box<RawValue>> = spans.lead.iter().map(raw).collect::<Result<_, _>>()?;
    let messages: Vec<Box<RawValue>> = spans.messages.iter().map(raw).collect::<Result<_, _>>()?;
    let model = field("model").and_then(|model| serde_json::from_str(model.get()).ok()).unwrap_or_default();
    let reported = usage.map(reports).transpose()?.unwrap_or_default();
    let mut turns = Vec::new();
    let mut follows_answer = false;
    for (index, message) in messages.iter().enumerate() {
        check(wire.id(), index, message)?;
        let is_answer = wire.glance(message.get().as_bytes()).0 == Role::Assistant;
        if is_answer && index > 0 && !(follows_answer && wire.answers_in_items()) {
            let (at, usage) = reported.get(&(index + lead.len())).copied().unwrap_or_default();
            turns.push(Turn { answer: index, at, usage, model: None });
        }
        follows_answer = is_answer;
    }
    let (wire, head, labels) = (wire.id(), head(&fields, wire.shape().list)?, Labels::default());
    Ok(Recording { name, wire, model, head, lead, messages, turns, labels })
}

/// Refuses a message that cannot be replayed.
fn check(wire: WireId, index: usize, message: &RawValue) -> Result<(), String> {
    if wire != WireId::Anthropic {
        return Ok(());
    }
    let Ok(Shape { content, .. }) = serde_json::from_str(message.get()) else {
        return Err(format!("message {index} has no role or no content"));
    };
    match content.get().starts_with(['"', '[']) {
        true => Ok(()),
        false => Err(format!("the content of message {index} is neither a text nor a list")),
    }
}

/// The path of the usage of a conversation.
pub(super) fn usage_of(conversation: &Path) -> Option<std::path::PathBuf> {
    Some(conversation.parent()?.parent()?.join("usage").join(conversation.file_name()?))
}

/// Whether a file belongs to a corpus but contains no conversation: usage reports, or the index.
pub(super) fn belongs(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Entry<'a> {
        #[serde(alias = "items", alias = "messages", alias = "contents")]
        msg: Option<u64>,
        #[serde(borrow, alias = "raw")]
        file: Option<Cow<'a, str>>,
    }
    let entries: Result<Vec<Entry>, _> = serde_json::from_slice(bytes);
    entries.is_ok_and(|entries| entries.iter().all(|entry| entry.msg.is_some() || entry.file.is_some()))
}

fn head(fields: &[(String, &RawValue)], list: &str) -> Result<Box<RawValue>, String> {
    let mut head = String::from("{");
    for (key, value) in fields.iter().filter(|(key, _)| key != list) {
        let comma = if head.len() > 1 { "," } else { "" };
        let key = serde_json::to_string(key).map_err(|error| error.to_string())?;
        head.push_str(&format!("{comma}{key}:{}", value.get()));
    }
    head.push('}');
    RawValue::from_string(head).map_err(|error| error.to_string())
}

type Report = (Option<i64>, Option<Usage>);

fn reports(bytes: &[u8]) -> Result<HashMap<usize, Report>, String> {
    #[derive(Deserialize)]
    struct Entry<'a> {
        /// The number of messages of the request.
        #[serde(alias = "items", alias = "messages", alias = "contents")]
        msg: usize,
        #[serde(default)]
        input: u64,
        #[serde(default)]
        cache_creation: u64,
        #[serde(default)]
        cache_read: u64,
        /// The part of `input` that was read from the cache.
        #[serde(default)]
        cached: u64,
        #[serde(default)]
        output: u64,
        #[serde(borrow)]
        ts: Option<Moment<'a>>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Moment<'a> {
        Milliseconds(i64),
        #[serde(borrow)]
        Text(Cow<'a, str>),
    }
    let entries: Vec<Entry> =
        serde_json::from_slice(bytes).map_err(|error| format!("the report of usage beside it is broken: {error}"))?;
    let report = |entry: Entry| {
        let usage = Usage {
            input: entry.input.saturating_sub(entry.cached),
            cache_read: entry.cache_read + entry.cached,
            cache_written: entry.cache_creation,
            cache_written_1h: None,
            output: entry.output,
        };
        let at = entry.ts.and_then(|moment| match moment {
            Moment::Milliseconds(at) => Some(at),
            Moment::Text(text) => time::milliseconds(&text),
        });
        (entry.msg, (at, Some(usage)))
    };
    Ok(entries.into_iter().map(report).collect())
}

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow, rename = "role")]
    _role: Cow<'a, str>,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// The fields of an object in order, with the bytes of their values.
struct Object<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry::<String, &RawValue>()? {
                    fields.push(field);
                }
                Ok(Object(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}
