//! Converts content to this wire's JSON, and back. A call and a result are parts; a result names the tool of its call.

use super::part::{Data, Part, member};
use crate::compose::spell::spliced;
use crate::json::{self, Span};
use ctx_core::Key;
use ctx_core::content::{CallInput, Content, Origin, WireId};
use ctx_core::links;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Members of a response that hold all of it as one text.
const TEXTS: [&str; 2] = ["output", "error"];

/// The context for writing a part: the ids of the client's calls, and their tools.
pub(super) struct Spelling<'s> {
    /// The tool of the call with an id.
    pub tool: &'s dyn Fn(&str) -> Option<String>,
    /// Whether ids are written.
    pub has_ids: bool,
}

/// The content of a part as an edit writes it. A signature belongs to the model's own part and is omitted (G36).
pub(super) fn read(bytes: &[u8]) -> Option<Content> {
    let whole = json::value(bytes, 0).ok()?;
    let part = Part::read(bytes, &whole);
    neutral(bytes, &part).or_else(|| Some(raw(bytes, &part)))
}

fn raw(bytes: &[u8], part: &Part) -> Content {
    let bare = match part.signature_cut() {
        Some(cut) => [&bytes[..cut.start], &bytes[cut.end..]].concat(),
        None => bytes.to_vec(),
    };
    let json = String::from_utf8_lossy(&bare).into_owned();
    let answers = part.text(bytes, "id").filter(|_| part.data() == Some(Data::Response)).map(Cow::into_owned);
    Content::Raw { wire: WireId::Gemini, json, calls: None, answers }
}

/// The members of a response that a neutral result has. Without an id, only a neutral one can be linked with its call.
const NEUTRAL: [&str; 3] = ["id", "name", "response"];

fn neutral(bytes: &[u8], part: &Part) -> Option<Content> {
    let owned = |name: &str| part.text(bytes, name).map(Cow::into_owned);
    match part.data()? {
        Data::Text if part.is_plain(bytes) => {
            let text = json::string_value(bytes, part.value())?.into_owned();
            Some(if part.is_thought { Content::Reasoning { text, sealed: false } } else { Content::Text { text } })
        }
        Data::Call => {
            let args = part.member(bytes, "args").map_or("{}".into(), |args| String::from_utf8_lossy(&bytes[args]));
            let input = CallInput::Json(args.into_owned());
            Some(Content::Call { id: owned("id"), name: owned("name")?, input })
        }
        Data::Response if owned("id").is_none() || part.has_only(bytes, &NEUTRAL) => {
            let (parts, error) = response(bytes, part.member(bytes, "response"));
            Some(Content::Result { id: owned("id"), parts, error })
        }
        Data::Inline if part.is_plain(bytes) => {
            let media = owned("mimeType").or_else(|| owned("mime_type"))?;
            let from = Origin::Base64 { media: media.clone(), data: owned("data")? };
            let is_image = media.starts_with("image/");
            Some(if is_image { Content::Image { from } } else { Content::Document { from, title: None } })
        }
        _ => None,
    }
}

/// A result for display, with the images beside its response.
pub(super) fn displayed_result(bytes: &[u8]) -> Option<Content> {
    let part = Part::read(bytes, &(0..bytes.len()));
    part.data().filter(|data| *data == Data::Response)?;
    let (mut parts, error) = response(bytes, part.member(bytes, "response"));
    let images = part.member(bytes, "parts").and_then(|list| json::elements(bytes, list.start));
    parts.extend(images.into_iter().flatten().flatten().filter_map(|span| read(&bytes[span])));
    Some(Content::Result { id: part.text(bytes, "id").map(Cow::into_owned), parts, error })
}

/// The content of a response, and whether it is an error. An object with other members stays raw.
fn response(bytes: &[u8], span: Option<Span>) -> (Vec<Content>, bool) {
    let Some(span) = span else { return (Vec::new(), false) };
    let members: Vec<json::Member> = json::members(bytes, span.start).into_iter().flatten().flatten().collect();
    if let [only] = members.as_slice()
        && let Some(name) = TEXTS.iter().find(|name| json::key(bytes, only) == **name)
        && let Some(text) = json::string_value(bytes, only.value.clone())
    {
        return (vec![Content::text(text)], *name == "error");
    }
    let json = String::from_utf8_lossy(&bytes[span]).into_owned();
    (vec![Content::Raw { wire: WireId::Gemini, json, calls: None, answers: None }], false)
}

/// A part for display. The tool of a result is unknown here.
pub(super) fn write(content: &Content) -> Cow<'_, str> {
    part(content, &Spelling { tool: &|_| None, has_ids: true })
}

/// A part of this wire.
pub(super) fn part<'c>(content: &'c Content, spelling: &Spelling<'_>) -> Cow<'c, str> {
    let id = |id: &Option<String>| match id.as_deref().filter(|_| spelling.has_ids).and_then(links::sent_id) {
        Some(id) => format!(r#""id":{},"#, Value::from(id)),
        None => String::new(),
    };
    Cow::Owned(match content {
        Content::Text { text } => json!({ "text": text }).to_string(),
        Content::Call { id: of, name, input: CallInput::Json(input) } => {
            format!(r#"{{"functionCall":{{{}"name":{},"args":{input}}}}}"#, id(of), Value::from(name.as_str()))
        }
        Content::Result { id: of, parts, error } => {
            let tool = of.as_deref().and_then(spelling.tool).unwrap_or_default();
            let response = written_response(parts, *error);
            format!(r#"{{"functionResponse":{{{}"name":{},"response":{response}}}}}"#, id(of), Value::from(tool))
        }
        Content::Image { from } | Content::Document { from, .. } => match from {
            Origin::Base64 { media, data } => json!({"inlineData": {"mimeType": media, "data": data}}).to_string(),
            Origin::Url(uri) | Origin::File { id: uri, .. } => json!({"fileData": {"fileUri": uri}}).to_string(),
        },
        Content::Reasoning { text, .. } => json!({"text": text, "thought": true}).to_string(),
        Content::Raw { json, .. } => return Cow::Borrowed(json),
    })
}

/// A response is an object (G8).
fn written_response(parts: &[Content], error: bool) -> String {
    if let [Content::Raw { wire: WireId::Gemini, json, .. }] = parts
        && json.starts_with('{')
    {
        return json.clone();
    }
    let text = |part: &Content| match part {
        Content::Text { text } => text.clone(),
        Content::Image { .. } => "[image]".to_owned(),
        Content::Document { .. } => "[document]".to_owned(),
        other => write(other).into_owned(),
    };
    replaced_response(&parts.iter().map(text).collect::<Vec<_>>().join("\n"), error)
}

/// A response that is one text.
pub(super) fn replaced_response(text: &str, error: bool) -> String {
    let name = if error { "error" } else { "output" };
    json!({ name: text }).to_string()
}

/// Content as one message with one block each. Displayed, never sent.
pub(super) fn shown(content: &[Content]) -> Vec<u8> {
    let parts: Vec<Cow<'_, str>> = content.iter().map(write).collect();
    format!(r#"{{"role":"user","parts":[{}]}}"#, parts.join(",")).into_bytes()
}

/// A tool call with another input, the text of an object.
pub(super) fn with_input(call: &str, input: &str) -> Content {
    match read(call.as_bytes()) {
        Some(Content::Call { id, name, .. }) => Content::Call { id, name, input: CallInput::Json(input.to_owned()) },
        other => other.unwrap_or_else(|| Content::text(call)),
    }
}

/// Content for another place of a request: with new ids derived from `salt`.
pub(super) fn copied(content: Content, salt: &str) -> Content {
    let renamed = |id: Option<String>| id.map(|id| Key::of([salt.as_bytes(), id.as_bytes()]).to_string());
    match content {
        Content::Call { id, name, input } => Content::Call { id: renamed(id), name, input },
        Content::Result { id, parts, error } => Content::Result { id: renamed(id), parts, error },
        Content::Raw { wire, json, calls, answers: Some(own) } => {
            let answers = renamed(Some(own));
            let part = Part::read(json.as_bytes(), &(0..json.len()));
            let id = part.member(json.as_bytes(), "id").zip(answers.as_deref());
            let edits = id.map(|(at, id)| (at, Value::from(id).to_string().into_bytes())).into_iter().collect();
            let json = String::from_utf8_lossy(&spliced(json.as_bytes(), edits)).into_owned();
            Content::Raw { wire, json, calls, answers }
        }
        other => other,
    }
}

/// The text of raw JSON, or the tool that it calls.
pub(super) fn title(block: &str) -> Option<String> {
    let bytes = block.as_bytes();
    let part = Part::read(bytes, &(0..bytes.len()));
    let text = json::string_value(bytes, part.value()).or_else(|| part.text(bytes, "name"));
    text.map(Cow::into_owned).or_else(|| type_name(block))
}

/// The kind of raw JSON, by the name of its member.
pub(super) fn type_name(json: &str) -> Option<String> {
    let part = Part::read(json.as_bytes(), &(0..json.len()));
    part.data().map(|_| part.name(json.as_bytes()).into_owned())
}

/// Whether it contains an image or a document.
pub(super) fn is_pictured(content: &Content) -> bool {
    match content {
        Content::Image { .. } | Content::Document { .. } => true,
        Content::Raw { json, .. } => {
            let data = Part::read(json.as_bytes(), &(0..json.len())).data();
            matches!(data, Some(Data::Inline | Data::File))
        }
        Content::Text { .. } | Content::Call { .. } | Content::Result { .. } | Content::Reasoning { .. } => false,
    }
}

/// The value of a result block: the JSON of an object; with images, that of the object around both.
pub(super) fn result(block: &[u8]) -> &[u8] {
    let part = Part::read(block, &(0..block.len()));
    let whole = part.member(block, "parts").map(|_| part.value());
    whole.or_else(|| part.member(block, "response")).and_then(|at| block.get(at)).unwrap_or_default()
}

/// The text of a system part, or the description of a tool.
pub(super) fn described(piece: &str) -> Option<String> {
    let bytes = piece.as_bytes();
    let whole = 0..bytes.len();
    let text = member(bytes, &whole, "text").or_else(|| member(bytes, &whole, "description"));
    json::string_value(bytes, text?).map(Cow::into_owned)
}
