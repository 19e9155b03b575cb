//! A request body as it stood at the last request of a conversation, and beside it what the provider reported for each
//! request: `conversations/<name>.json` and `usage/<name>.json`. Any Messages body is read; usage may be missing.

use super::{Recording, Turn, Usage, time};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// The conversation in a body, or why there is none.
pub(super) fn read(name: String, body: &[u8], usage: Option<&[u8]>) -> Result<Recording, String> {
    let recording = all(name, body, usage)?;
    match recording.turns.is_empty() {
        true => Err("no message in it is a model's answer".into()),
        false => Ok(recording),
    }
}

/// The same of one whose answer stands elsewhere.
pub(super) fn unanswered(name: String, body: &[u8]) -> Result<Recording, String> {
    all(name, body, None)
}

fn all(name: String, body: &[u8], usage: Option<&[u8]>) -> Result<Recording, String> {
    let Object(fields) = serde_json::from_slice(body).map_err(|error| format!("it is not a request body: {error}"))?;
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
    let Some(messages) = field("messages") else { return Err("it holds no list of messages".into()) };
    let messages: Vec<&RawValue> =
        serde_json::from_str(messages.get()).map_err(|_| "its `messages` is not a list".to_owned())?;
    let model = field("model").and_then(|model| serde_json::from_str(model.get()).ok()).unwrap_or_default();
    let reported = usage.map(reports).transpose()?.unwrap_or_default();

    let mut turns = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let Ok(Shape { role, content }) = serde_json::from_str(message.get()) else {
            return Err(format!("message {index} has no role or no content"));
        };
        if !content.get().starts_with(['"', '[']) {
            return Err(format!("the content of message {index} is neither a text nor a list"));
        }
        if role == "assistant" && index > 0 {
            let (at, usage) = reported.get(&index).copied().unwrap_or_default();
            turns.push(Turn { answer: index, at, usage, model: None });
        }
    }
    let messages = messages.into_iter().map(RawValue::to_owned).collect();
    Ok(Recording { name, model, head: head(&fields)?, messages, turns })
}

/// Where the usage of a conversation would lie.
pub(super) fn usage_of(conversation: &Path) -> Option<std::path::PathBuf> {
    Some(conversation.parent()?.parent()?.join("usage").join(conversation.file_name()?))
}

/// Whether this is a file that belongs to a corpus and holds no conversation: reports of usage, or the index.
pub(super) fn belongs(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Entry<'a> {
        msg: Option<u64>,
        #[serde(borrow)]
        file: Option<Cow<'a, str>>,
    }
    let entries: Result<Vec<Entry>, _> = serde_json::from_slice(bytes);
    entries.is_ok_and(|entries| entries.iter().all(|entry| entry.msg.is_some() || entry.file.is_some()))
}

fn head(fields: &[(String, &RawValue)]) -> Result<Box<RawValue>, String> {
    let mut head = String::from("{");
    for (key, value) in fields.iter().filter(|(key, _)| key != "messages") {
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
        msg: usize,
        #[serde(default)]
        input: u64,
        #[serde(default)]
        cache_creation: u64,
        #[serde(default)]
        cache_read: u64,
        #[serde(default)]
        output: u64,
        #[serde(borrow)]
        ts: Option<Cow<'a, str>>,
    }
    let entries: Vec<Entry> =
        serde_json::from_slice(bytes).map_err(|error| format!("the report of usage beside it is broken: {error}"))?;
    let report = |entry: Entry| {
        let usage = Usage {
            input: entry.input,
            cache_read: entry.cache_read,
            cache_written: entry.cache_creation,
            cache_written_1h: None,
            output: entry.output,
        };
        (entry.msg, (entry.ts.and_then(|moment| time::milliseconds(&moment)), Some(usage)))
    };
    Ok(entries.into_iter().map(report).collect())
}

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// The fields of an object in their order, with the bytes of their values.
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
