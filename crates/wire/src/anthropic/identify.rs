//! Who is speaking: the ids a client sends along, and what kind of request it is.

use super::envelope::Envelope;
use ctx_core::class::Class;

/// What the headers of a request tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hints {
    pub session: Option<Box<str>>,
    pub agent: Option<Box<str>>,
    pub parent_agent: Option<Box<str>>,
    /// The class, where the client names it.
    pub class: Option<Class>,
    /// The client says that it has just summarised its history.
    pub compacted: bool,
    /// The product and version of the client.
    pub client: Option<Box<str>>,
    pub claude_code: bool,
    /// The beta that marks Claude Code's conversation requests.
    claude_code_beta: bool,
}

/// Headers that name a session, by client.
const SESSION_HEADERS: [&str; 6] =
    ["x-claude-code-session-id", "x-session-affinity", "x-session-id", "agent-session-id", "session_id", "session-id"];

impl Hints {
    /// Reads the hints; `get` looks a header up by its lower-case name.
    pub fn read<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Hints {
        let text = |name: &str| -> Option<Box<str>> {
            let value = get(name)?.trim();
            (!value.is_empty() && value.len() <= 200).then(|| value.into())
        };
        let client = text("user-agent").map(|agent| agent.split(' ').next().unwrap_or_default().into());
        let claude_code = get("x-claude-code-session-id").is_some()
            || client.as_deref().is_some_and(|client: &str| client.starts_with("claude-cli/"));
        Hints {
            session: SESSION_HEADERS.iter().find_map(|name| text(name)),
            agent: text("x-claude-code-agent-id"),
            parent_agent: text("x-claude-code-parent-agent-id"),
            class: text("x-claude-code-request-class").and_then(|class| match &*class {
                "main" => Some(Class::Main),
                "subagent" | "workflow" => Some(Class::Subagent),
                "compaction" => Some(Class::Compaction),
                "auxiliary" => Some(Class::Auxiliary),
                _ => None,
            }),
            compacted: get("x-claude-code-context-compacted").is_some(),
            client,
            claude_code,
            claude_code_beta: get("anthropic-beta").is_some_and(|betas| betas.contains("claude-code-")),
        }
    }
}

/// What the end of the history shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tail {
    /// The last cache mark lies before the last message that is not a system message: the request
    /// shares a conversation's history but is not its next turn.
    pub mark_before_last: bool,
    /// The last message asks for a summary in `<analysis>` and `<summary>` tags.
    pub asks_for_summary: bool,
}

/// The class of a request: by the client's own word, else by its shape.
pub fn class(hints: &Hints, envelope: &Envelope, tail: Tail) -> Class {
    if let Some(class) = hints.class {
        return class;
    }
    if hints.agent.is_some() || envelope.says_subagent {
        return Class::Subagent;
    }
    if envelope.wants_format || envelope.threaded {
        return Class::Auxiliary;
    }
    if !hints.claude_code {
        return Class::Main;
    }
    let only_server_tools =
        envelope.tools.as_ref().is_some_and(|tools| !tools.is_empty() && tools.iter().all(|tool| tool.server));
    if !hints.claude_code_beta || envelope.system.is_empty() || envelope.tools.is_none() || only_server_tools {
        return Class::Auxiliary;
    }
    match (tail.mark_before_last, tail.asks_for_summary) {
        (_, true) => Class::Compaction,
        (true, false) => Class::Auxiliary,
        (false, false) => Class::Main,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{envelope, request};
    use super::*;

    const SYSTEM: &str = r#""system":[{"type":"text","text":"s"}],"tools":[{"name":"Read","input_schema":{}}]"#;

    fn judge(headers: &[(&str, &str)], rest: &str, tail: Tail) -> Class {
        let get = |name: &str| headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value);
        let text = format!("{{\"messages\":[]{}{rest}}}", if rest.is_empty() { "" } else { "," });
        let body = request::parse(text.as_bytes()).unwrap();
        class(&Hints::read(get), &envelope::read(text.as_bytes(), &body), tail)
    }

    #[test]
    fn shape_tells_the_class_where_no_hint_does() {
        let cli = [("X-Claude-Code-Session-Id", "s"), ("anthropic-beta", "claude-code-20250219,x")];
        let plain = Tail::default();
        let fork = Tail { mark_before_last: true, ..plain };
        assert_eq!(judge(&cli, SYSTEM, plain), Class::Main);
        assert_eq!(judge(&cli, SYSTEM, fork), Class::Auxiliary);
        assert_eq!(judge(&cli, SYSTEM, Tail { asks_for_summary: true, ..fork }), Class::Compaction);
        assert_eq!(judge(&cli, "\"tools\":[]", plain), Class::Auxiliary);
        assert_eq!(judge(&cli, "\"system\":\"s\"", plain), Class::Auxiliary);
        assert_eq!(judge(&cli[..1], SYSTEM, plain), Class::Auxiliary);
        assert_eq!(judge(&cli, &format!("{SYSTEM},\"output_config\":{{\"format\":{{}}}}"), plain), Class::Auxiliary);
        assert_eq!(judge(&[cli[0], cli[1], ("x-claude-code-agent-id", "a1")], SYSTEM, plain), Class::Subagent);
        assert_eq!(
            judge(&cli, r#""system":[{"type":"text","text":"x; cc_is_subagent=true;"}],"tools":[]"#, plain),
            Class::Subagent
        );
        assert_eq!(
            judge(&cli, r#""system":"s","tools":[{"type":"web_search_20250305","name":"web_search"}]"#, plain),
            Class::Auxiliary
        );
    }

    #[test]
    fn a_hint_wins_over_the_shape() {
        let hinted = |class| [("x-claude-code-session-id", "s"), ("x-claude-code-request-class", class)];
        assert_eq!(judge(&hinted("auxiliary"), SYSTEM, Tail::default()), Class::Auxiliary);
        assert_eq!(judge(&hinted("main"), "", Tail::default()), Class::Main);
        assert_eq!(judge(&hinted("compaction"), "", Tail::default()), Class::Compaction);
        assert_eq!(judge(&hinted("something-new"), "", Tail::default()), Class::Auxiliary);
    }

    #[test]
    fn a_plain_script_speaks_for_itself() {
        assert_eq!(judge(&[("user-agent", "Anthropic/Python 2.8.0")], "", Tail::default()), Class::Main);
    }
}
