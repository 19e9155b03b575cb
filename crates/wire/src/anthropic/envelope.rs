//! The envelope of a request: everything but `messages` (model, system prompt, tools, settings).

use crate::body::Spans;
use crate::envelope::{Envelope, Manner, Piece, digest};
use crate::json::{self, Span, key};
use ctx_core::title::line;
use ctx_core::{Key, Lexicon};

/// The start of the block that identifies the client.
const ATTRIBUTION: &str = "x-anthropic-billing-header";

/// Parses the envelope of a request; `lexicon` recognises the client's session and agents.
pub fn read(bytes: &[u8], request: &Spans, lexicon: &Lexicon) -> Envelope {
    let text = |name: &str| request.member(bytes, name).and_then(|(span, _)| json::string_value(bytes, span));
    let system = request.member(bytes, "system").map_or_else(Vec::new, |(span, _)| system(bytes, span));
    let says_subagent = system.first().is_some_and(|first| lexicon.says_subagent(&bytes[first.at.clone()]));
    let tools = request.member(bytes, "tools").map(|(span, _)| tools(bytes, span));
    let thread = request.member(bytes, "thread").filter(|(_, value)| *value != b"null").map(|(span, _)| span);
    Envelope {
        digest: digest(&system, tools.as_deref()),
        model: text("model").map(|model| model.as_ref().into()),
        says_subagent,
        system,
        tools,
        session: request
            .member(bytes, "metadata")
            .and_then(|(span, _)| lexicon.session_of_user(&string(bytes, span, "user_id")?)),
        wants_format: request
            .member(bytes, "output_config")
            .is_some_and(|(span, _)| member(bytes, span, "format").is_some()),
        threaded: thread.clone().is_some_and(|at| string(bytes, at, "type").as_deref() != Some("create")),
        continues: thread.and_then(|at| string(bytes, at, "previous_message_id")).map(|id| id.as_ref().into()),
        manner: manner(bytes, request),
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
        key: bare(bytes, at.clone()),
        at,
        chars: text.chars().count() as u32,
        label: line(text).into(),
        deferred: false,
        server: false,
        is_attribution: text.trim_start().starts_with(ATTRIBUTION),
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
        label: line(&string(bytes, at.clone(), "description").unwrap_or_default()).into(),
        deferred: member(bytes, at.clone(), "defer_loading").is_some_and(|value| &bytes[value] == b"true"),
        server: member(bytes, at.clone(), "input_schema").is_none() && member(bytes, at.clone(), "type").is_some(),
        is_attribution: false,
        key: bare(bytes, at.clone()),
        at,
    };
    json::elements(bytes, span.start).into_iter().flatten().flatten().map(tool).collect()
}

/// The key of a block or a tool, without its cache breakpoint.
fn bare(bytes: &[u8], at: Span) -> Key {
    match super::message::mark(bytes, at.start) {
        Some(cut) => Key::of([[&bytes[at.start..cut.start], &bytes[cut.end..at.end]].concat().as_slice()]),
        None => Key::of([&bytes[at]]),
    }
}

fn manner(bytes: &[u8], request: &Spans) -> Manner {
    let of = |span: &Span| Key::of([&bytes[span.clone()]]);
    let typed = |name: &str, default: &str| {
        let (span, _) = request.member(bytes, name)?;
        let count = json::members(bytes, span.start)?.count();
        let is_default = count == 1 && string(bytes, span.clone(), "type").is_some_and(|kind| kind == default);
        (!is_default).then(|| of(&span))
    };
    let effort = || {
        let (span, _) = request.member(bytes, "output_config")?;
        let effort = member(bytes, span, "effort")?;
        (&bytes[effort.clone()] != b"\"high\"").then(|| of(&effort))
    };
    let said = [
        ("tool_choice", typed("tool_choice", "auto")),
        ("thinking", typed("thinking", "disabled")),
        ("output_config.effort", effort()),
    ];
    Manner(said.into_iter().filter_map(|(member, key)| Some((member, key?))).collect())
}

/// The client's working directory, if stated: in the system prompt, or before the model's first words.
pub fn folder(bytes: &[u8], request: &Spans, lexicon: &Lexicon) -> Option<String> {
    let system = request.member(bytes, "system").map(|(span, _)| span);
    let is_answer = |message: &&Span| string(bytes, (*message).clone(), "role").is_some_and(|role| role == "assistant");
    let told = request.messages.iter().take_while(|message| !is_answer(message)).cloned();
    let parts: Vec<Span> = system.into_iter().chain(told).collect();
    crate::folder::told(bytes, &parts, lexicon)
}

/// The credentials for servers that the provider calls.
pub fn secrets(bytes: &[u8], request: &Spans) -> Vec<Span> {
    let is_named = |member: &json::Member, name: &str| json::key_is(&bytes[member.key.clone()], name);
    let lists = request.members.iter().filter(|member| is_named(member, "mcp_servers"));
    let servers = lists.flat_map(|list| json::elements(bytes, list.value.start).into_iter().flatten().flatten());
    let members = servers.flat_map(|server| json::members(bytes, server.start).into_iter().flatten().flatten());
    members.filter(|member| is_named(member, "authorization_token")).map(|member| member.value).collect()
}

#[cfg(test)]
mod tests {
    use super::super::SHAPE;
    use super::*;
    use crate::body;

    fn envelope(text: &str) -> Envelope {
        read(text.as_bytes(), &body::parse(text.as_bytes(), &SHAPE).unwrap(), ctx_clients::lexicon())
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
    fn the_digest_ignores_marks_the_attribution_and_what_is_not_loaded() {
        let digest = |system: &str, tools: &str| {
            envelope(&format!(r#"{{"messages":[],"system":[{system}],"tools":[{tools}]}}"#)).digest
        };
        let plain = digest(r#"{"type":"text","text":"a"}"#, r#"{"name":"T"}"#);
        let marked = r#"{"type":"text","text":"x-anthropic-billing-header: 1"},{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}"#;
        assert_eq!(digest(marked, r#"{"name":"T"},{"name":"L","defer_loading":true}"#), plain);
        assert_ne!(digest(r#"{"type":"text","text":"b"}"#, r#"{"name":"T"}"#), plain);
        assert_ne!(digest(r#"{"type":"text","text":"a"}"#, r#"{"name":"U"}"#), plain);
    }

    #[test]
    fn the_folder_is_where_the_client_says_that_it_works() {
        let folder = |text: &str| {
            folder(text.as_bytes(), &body::parse(text.as_bytes(), &SHAPE).unwrap(), ctx_clients::lexicon())
        };
        let told = |text: &str| folder(&format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#));
        assert_eq!(
            told(r"# Environment\n - Primary working directory: /home/me/a b\n - more"),
            Some("/home/me/a b".into())
        );
        assert_eq!(told(r"Working directory: C:\\work\\x"), Some(r"C:\work\x".into()));
        assert_eq!(told(r"<env>Working directory: /x</env>"), Some("/x".into()));
        assert_eq!(told("the working directory: it is where you are"), None);
        assert_eq!(told(r"<cwd>\n/home/me/pi\n</cwd>"), Some("/home/me/pi".into()));
        assert_eq!(told(r"<environment_context>\n  <cwd>/home/me/codex</cwd>"), Some("/home/me/codex".into()));
        assert_eq!(told(r"3. Shell: bash\n4. Working Directory: /home/me/cline\n"), Some("/home/me/cline".into()));
        assert_eq!(told(r"I'm currently working in the directory: /home/me/qwen\n"), Some("/home/me/qwen".into()));
        assert_eq!(told(r"a working directory: of sorts. <cwd>/p</cwd>"), Some("/p".into()), "the one with a path");
        let system = r#"{"system":[{"type":"text","text":"Working directory: /s\n"}],"messages":[]}"#;
        assert_eq!(folder(system), Some("/s".into()));
        // The model's words do not count.
        assert_eq!(folder(r#"{"messages":[{"role":"assistant","content":"Working directory: /x"}]}"#), None);
    }

    #[test]
    fn wrong_types_are_nothing() {
        let read = envelope(r#"{"messages":[],"system":3,"tools":"x","metadata":[],"model":{},"output_config":null}"#);
        assert_eq!(read, Envelope { tools: Some(vec![]), digest: digest(&[], None), ..Envelope::default() });
    }
}
