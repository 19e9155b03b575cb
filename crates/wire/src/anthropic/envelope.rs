//! All of a request that is not `messages`: model, system prompt, tools, settings.

use super::message::key;
use super::request::Request;
use super::words;
use crate::json::{self, Span};

/// A block of the system prompt, or a tool definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// A tool's name; empty for system blocks.
    pub name: Box<str>,
    /// Where it stands in the body.
    pub at: Span,
    pub chars: u32,
    /// The first words of it.
    pub label: Box<str>,
    /// A tool that is listed but not loaded: the model does not read it.
    pub deferred: bool,
    /// A tool that the provider runs itself.
    pub server: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Envelope {
    pub model: Option<Box<str>>,
    pub system: Vec<Piece>,
    /// `None` when the request has no `tools` at all.
    pub tools: Option<Vec<Piece>>,
    /// The session that `metadata.user_id` names.
    pub session: Option<Box<str>>,
    /// The client says in its system prompt that this is a sub-agent.
    pub says_subagent: bool,
    /// A JSON answer is asked for (`output_config.format`).
    pub wants_format: bool,
    /// The history lives with the provider; this request carries only a delta.
    pub threaded: bool,
    pub streams: bool,
}

/// Reads the envelope of a request.
pub fn read(bytes: &[u8], request: &Request) -> Envelope {
    let text = |name: &str| request.member(bytes, name).and_then(|(span, _)| json::string_value(bytes, span));
    let system = request.member(bytes, "system").map_or_else(Vec::new, |(span, _)| system(bytes, span));
    let says_subagent = system
        .first()
        .is_some_and(|first| memchr::memmem::find(&bytes[first.at.clone()], b"cc_is_subagent=true").is_some());
    Envelope {
        model: text("model").map(|model| model.as_ref().into()),
        says_subagent,
        system,
        tools: request.member(bytes, "tools").map(|(span, _)| tools(bytes, span)),
        session: request.member(bytes, "metadata").and_then(|(span, _)| session(bytes, span)),
        wants_format: request
            .member(bytes, "output_config")
            .is_some_and(|(span, _)| member(bytes, span, "format").is_some()),
        threaded: request.member(bytes, "thread").is_some(),
        streams: request.member(bytes, "stream").is_some_and(|(_, value)| value == b"true"),
    }
}

fn member(bytes: &[u8], object: Span, name: &str) -> Option<Span> {
    json::members(bytes, object.start)?.flatten().find(|member| key(bytes, member) == name).map(|member| member.value)
}

fn string<'a>(bytes: &'a [u8], object: Span, name: &str) -> Option<std::borrow::Cow<'a, str>> {
    json::string_value(bytes, member(bytes, object, name)?)
}

fn system(bytes: &[u8], span: Span) -> Vec<Piece> {
    let piece = |at: Span, text: &str| Piece {
        name: "".into(),
        at,
        chars: text.chars().count() as u32,
        label: words::line(text).into(),
        deferred: false,
        server: false,
    };
    match json::elements(bytes, span.start) {
        Some(blocks) => {
            blocks.flatten().map(|at| piece(at.clone(), &string(bytes, at, "text").unwrap_or_default())).collect()
        }
        None => json::string_value(bytes, span.clone()).map(|text| piece(span, &text)).into_iter().collect(),
    }
}

fn tools(bytes: &[u8], span: Span) -> Vec<Piece> {
    let tool = |at: Span| Piece {
        name: string(bytes, at.clone(), "name").unwrap_or_default().as_ref().into(),
        chars: at.len() as u32,
        label: words::line(&string(bytes, at.clone(), "description").unwrap_or_default()).into(),
        deferred: member(bytes, at.clone(), "defer_loading").is_some_and(|value| &bytes[value] == b"true"),
        server: member(bytes, at.clone(), "input_schema").is_none() && member(bytes, at.clone(), "type").is_some(),
        at,
    };
    json::elements(bytes, span.start).into_iter().flatten().flatten().map(tool).collect()
}

/// The session id inside `metadata.user_id`: a JSON text of its own, or the older `…_session_<id>`.
fn session(bytes: &[u8], metadata: Span) -> Option<Box<str>> {
    let user = string(bytes, metadata, "user_id")?;
    let inner = user.as_bytes();
    let named = string(inner, 0..inner.len(), "session_id");
    let older = || user.rsplit_once("_session_").map(|(_, id)| id.to_owned());
    named.map(|id| id.into_owned()).or_else(older).filter(|id| !id.is_empty()).map(String::into_boxed_str)
}

#[cfg(test)]
mod tests {
    use super::super::request;
    use super::*;

    fn envelope(text: &str) -> Envelope {
        read(text.as_bytes(), &request::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn reads_what_tells_requests_apart() {
        let read = envelope(
            r#"{"model":"claude-x","messages":[],"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1; cc_is_subagent=true;"},{"type":"text","text":"You are"}],
            "tools":[{"name":"Read","description":"Reads a file","input_schema":{}},{"type":"web_search_1","name":"web_search"},{"name":"Later","input_schema":{},"defer_loading":true}],
            "metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"s-1\"}"},"output_config":{"effort":"low","format":{}},"stream":true}"#,
        );
        assert_eq!(read.model.as_deref(), Some("claude-x"));
        assert_eq!(read.session.as_deref(), Some("s-1"));
        assert!(read.says_subagent && read.wants_format && read.streams && !read.threaded);
        let tools = read.tools.unwrap();
        assert_eq!(
            tools.iter().map(|t| (&*t.name, t.server, t.deferred)).collect::<Vec<_>>(),
            [("Read", false, false), ("web_search", true, false), ("Later", false, true)]
        );
        assert_eq!(&*tools[0].label, "Reads a file");
    }

    #[test]
    fn older_user_ids_name_the_session_too() {
        assert_eq!(
            envelope(r#"{"messages":[],"metadata":{"user_id":"user_a_account__session_abc-1"}}"#).session.as_deref(),
            Some("abc-1")
        );
        assert_eq!(envelope(r#"{"messages":[],"metadata":{"user_id":"me"}}"#).session, None);
        assert_eq!(envelope(r#"{"messages":[],"system":"be kind"}"#).system.len(), 1);
    }

    #[test]
    fn wrong_types_are_nothing() {
        let read = envelope(r#"{"messages":[],"system":3,"tools":"x","metadata":[],"model":{},"output_config":null}"#);
        assert_eq!(read, Envelope { tools: Some(vec![]), ..Envelope::default() });
    }
}
