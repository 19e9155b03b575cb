//! The class of a request: what its body shows, judged by its client.

use ctx_clients::{Glance, Hints, ToolsListed};
use ctx_core::{Class, Role};
use ctx_wire::body::Body;
use ctx_wire::envelope::{Envelope, Piece};

pub fn class(hints: &Hints, envelope: &Envelope, body: &Body) -> Class {
    ctx_clients::class(hints, &tail(body, of_envelope(envelope)))
}

fn of_envelope(envelope: &Envelope) -> Glance {
    let is_server = |tool: &Piece| tool.server;
    Glance {
        has_system: !envelope.system.is_empty(),
        tools: match &envelope.tools {
            None => ToolsListed::Absent,
            Some(tools) if !tools.is_empty() && tools.iter().all(is_server) => ToolsListed::OnlyServer,
            Some(_) => ToolsListed::Own,
        },
        says_subagent: envelope.says_subagent,
        wants_format: envelope.wants_format,
        history_elsewhere: envelope.threaded,
        ..Glance::default()
    }
}

/// What the end of the body shows.
fn tail(body: &Body, mut glance: Glance) -> Glance {
    const LOOK_BACK: usize = 6;
    let count = body.spans().messages.len();
    let mut last = None;
    for at in (count.saturating_sub(LOOK_BACK)..count).rev() {
        let (role, marked) = body.wire().glance(body.message(at));
        match last {
            None if marked => return glance,
            // The answer goes back to be continued: a side request ends with the user's words.
            None if role == Role::Assistant => return glance,
            None if role != Role::System => last = Some(at),
            None => {}
            Some(_) if marked => {
                glance.mark_before_last = true;
                break;
            }
            Some(_) => {}
        }
    }
    glance.asks_for_summary = last.is_some_and(|at| ctx_clients::lexicon().asks_for_summary(body.message(at)));
    glance
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: &str = r#""system":[{"type":"text","text":"s"}],"tools":[{"name":"Read","input_schema":{}}]"#;
    /// The mark stands before the last message: the request shares a conversation's history.
    const FORK: &str =
        r#"{"role":"user","content":[{"type":"text","text":"a","cache_control":{}}]},{"role":"user","content":"b"}"#;
    const SUMMARY: &str = r#"{"role":"user","content":"in <analysis> and <summary> tags"}"#;

    fn judge(headers: &[(&str, &str)], rest: &str, messages: &str) -> Class {
        let get = |name: &str| headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value);
        let text = format!("{{\"messages\":[{messages}]{}{rest}}}", if rest.is_empty() { "" } else { "," });
        let body = Body::parse(text.into_bytes(), ctx_wire::wire(ctx_wire::WireId::Anthropic)).expect("a body");
        let envelope = body.envelope(ctx_clients::lexicon());
        class(&Hints::read(get), &envelope, &body)
    }

    #[test]
    fn shape_tells_the_class_where_no_hint_does() {
        let cli = [("X-Claude-Code-Session-Id", "s"), ("anthropic-beta", "claude-code-20250219,x")];
        assert_eq!(judge(&cli, SYSTEM, ""), Class::Main);
        assert_eq!(judge(&cli, SYSTEM, FORK), Class::Auxiliary);
        assert_eq!(judge(&cli, SYSTEM, &format!("{FORK},{SUMMARY}")), Class::Compaction);
        assert_eq!(judge(&cli, "\"tools\":[]", ""), Class::Auxiliary);
        assert_eq!(judge(&cli, "\"system\":\"s\"", ""), Class::Auxiliary);
        assert_eq!(judge(&cli[..1], SYSTEM, ""), Class::Auxiliary);
        assert_eq!(judge(&cli, &format!("{SYSTEM},\"output_config\":{{\"format\":{{}}}}"), ""), Class::Auxiliary);
        assert_eq!(judge(&[cli[0], cli[1], ("x-claude-code-agent-id", "a1")], SYSTEM, ""), Class::Subagent);
        assert_eq!(
            judge(&cli, r#""system":[{"type":"text","text":"x; cc_is_subagent=true;"}],"tools":[]"#, ""),
            Class::Subagent
        );
        assert_eq!(
            judge(&cli, r#""system":"s","tools":[{"type":"web_search_20250305","name":"web_search"}]"#, ""),
            Class::Auxiliary
        );
    }

    #[test]
    fn a_hint_wins_over_the_shape() {
        let hinted = |class| [("x-claude-code-session-id", "s"), ("x-claude-code-request-class", class)];
        assert_eq!(judge(&hinted("auxiliary"), SYSTEM, ""), Class::Auxiliary);
        assert_eq!(judge(&hinted("main"), "", ""), Class::Main);
        assert_eq!(judge(&hinted("compaction"), "", ""), Class::Compaction);
        assert_eq!(judge(&hinted("something-new"), "", ""), Class::Auxiliary);
    }

    #[test]
    fn a_plain_script_speaks_for_itself() {
        assert_eq!(judge(&[("user-agent", "Anthropic/Python 2.8.0")], "", ""), Class::Main);
    }
}
