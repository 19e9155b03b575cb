//! The class of a request, derived from its body by the rules of its client.

use crate::conversation::Conversation;
use ctx_clients::{ClientId, Glance, Hints, ToolsListed};
use ctx_core::message::Message;
use ctx_core::reconcile::{Place, Sighting, reconcile};
use ctx_core::{Class, Kind, Role};
use ctx_wire::body::Body;
use ctx_wire::envelope::{Envelope, Piece};
use std::collections::BTreeSet;

/// The class of a request, without its conversation.
pub fn class(hints: &Hints, envelope: &Envelope, body: &Body) -> Class {
    ctx_clients::class(hints, &tail(body, of_envelope(envelope)))
}

/// The class of a request within its conversation. A request without tools or with another system prompt is side
/// traffic, unless it continues an unseen answer: then the client has changed its tools and its prompt.
pub fn class_within(conversation: &Conversation, hints: &Hints, request: &RequestSigns<'_>) -> Class {
    let class = class(hints, request.envelope, request.body);
    let tells = ctx_clients::sender(hints, introduced(request.envelope)).tells_side_requests;
    let is_suspect = class.is_turn()
        && hints.class.is_none()
        && !tells
        && !conversation.messages.tree.is_empty()
        && looks_foreign(&conversation.newest.envelope, request.envelope);
    if is_suspect && adds_no_answer(conversation, request) { Class::Auxiliary } else { class }
}

/// A request, compared with its possible conversation.
pub struct RequestSigns<'r> {
    pub body: &'r Body,
    pub envelope: &'r Envelope,
    /// The number of leading messages with the bytes of the current path.
    pub same: usize,
}

/// The client that the system prompt names.
pub fn introduced(envelope: &Envelope) -> Option<ClientId> {
    envelope.system.iter().find_map(|piece| ctx_clients::introduced(&piece.label)).map(|client| client.id)
}

/// Whether a request lacks the conversation's tools, or differs in both prompt and tools. Only the first words of a
/// prompt are compared: dates and folders in it change.
fn looks_foreign(known: &Envelope, request: &Envelope) -> bool {
    let names = |envelope: &Envelope| -> BTreeSet<Box<str>> {
        envelope.tools.iter().flatten().map(|tool| tool.name.clone()).collect()
    };
    let opening = |envelope: &Envelope| -> Option<Box<str>> {
        envelope.system.iter().find(|piece| !piece.is_attribution).map(|piece| piece.label.clone())
    };
    let (known_names, request_names) = (names(known), names(request));
    if known_names.is_empty() || known_names == request_names {
        return false;
    }
    request_names.is_empty() || opening(known) != opening(request)
}

/// Whether a request ends with text, and contains no answer except the pending one.
fn adds_no_answer(conversation: &Conversation, request: &RequestSigns<'_>) -> bool {
    let same = request.same.min(conversation.messages.tree.current().len());
    let count = request.body.spans().messages.len();
    let rest: Vec<Message> =
        (same..count).map(|at| request.body.read_message(at, ctx_clients::lexicon()).facts).collect();
    let has_result = |message: &Message| message.blocks.iter().any(|block| block.kind == Kind::ToolResult);
    if rest.last().is_none_or(has_result) {
        return false;
    }
    let placed =
        reconcile(&conversation.messages.tree, &Sighting { same, rest: &rest, compacted: false, unanswered: false });
    let unplaced = rest.get(placed.depth.saturating_sub(same)..).unwrap_or_default();
    let is_awaited = |message: &Message| conversation.newest.pending.iter().any(|reply| reply.is(message));
    let mut new = unplaced.iter().zip(&placed.places).filter(|(_, place)| matches!(place, Place::New));
    !new.any(|(message, _)| message.role == Role::Assistant && !is_awaited(message))
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
        said: envelope.system.iter().find_map(|piece| ctx_clients::lexicon().class_of_system(&piece.label)),
        introduced: introduced(envelope),
        wants_format: envelope.wants_format,
        history_elsewhere: envelope.threaded,
        ..Glance::default()
    }
}

/// Adds the signs at the end of the body.
fn tail(body: &Body, mut glance: Glance) -> Glance {
    const LOOK_BACK: usize = 6;
    let count = body.spans().messages.len();
    glance.messages = count;
    glance.said = glance.said.or_else(|| said_last(body));
    let mut last = None;
    for at in (count.saturating_sub(LOOK_BACK)..count).rev() {
        let (role, marked) = body.wire().glance(body.message(at));
        match last {
            None if marked => return glance,
            // The answer is sent back to be continued; a side request ends with the user's words.
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

/// The class that the last text of a request names. Parsed only if the bytes contain such words.
fn said_last(body: &Body) -> Option<Class> {
    let lexicon = ctx_clients::lexicon();
    let last = body.spans().messages.len().checked_sub(1)?;
    if !lexicon.may_be_side_request(body.message(last)) {
        return None;
    }
    let facts = body.read_message(last, lexicon).facts;
    let text = facts.blocks.iter().rev().find(|block| block.kind == Kind::Text)?;
    lexicon.class_of_request(text.label.as_deref()?)
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

    const ASKED: &str = r#"{"role":"user","content":"fix it"}"#;

    #[test]
    fn qwen_under_claude_codes_name_is_not_dropped() {
        let qwen = [("user-agent", "claude-cli/0.24.4 (external, cli)"), ("x-app", "cli")];
        assert_eq!(judge(&qwen, SYSTEM, ASKED), Class::Main);
        let memory = SYSTEM.replace("\"s\"", "\"You are now acting as the managed memory extraction subagent.\"");
        assert_eq!(judge(&qwen, &memory, ASKED), Class::Auxiliary);
        let compress = r#"{"role":"user","content":"You are the component that summarizes a conversation when its"}"#;
        assert_eq!(judge(&qwen, SYSTEM, &format!("{ASKED},{compress}")), Class::Compaction);
        let suggest = r#"{"role":"user","content":[{"type":"text","text":"[SUGGESTION MODE: what next]"}]}"#;
        assert_eq!(judge(&qwen, SYSTEM, &format!("{ASKED},{suggest}")), Class::Auxiliary);
    }

    #[test]
    fn words_of_a_side_request_count_only_at_its_end() {
        let quoted = r#"{"role":"user","content":"why does it say [SUGGESTION MODE: what next]?"}"#;
        assert_eq!(judge(&[("user-agent", "pi (linux)")], SYSTEM, quoted), Class::Main);
    }

    #[test]
    fn titles_and_summaries_of_other_agents_are_side_traffic() {
        let opencode = [("user-agent", "opencode/1.18.33"), ("x-session-affinity", "ses_1")];
        assert_eq!(judge(&opencode, SYSTEM, ASKED), Class::Main);
        assert_eq!(judge(&opencode, r#""system":"You are a title generator.""#, ASKED), Class::Auxiliary);
        assert_eq!(judge(&opencode, r#""system":"You are a context summarization agent.""#, ASKED), Class::Compaction);
        let goose = [("agent-session-id", "20261115_1")];
        assert_eq!(judge(&goose, r#""system":"Generate a short title for""#, ASKED), Class::Auxiliary);
        let pi = [("user-agent", "pi (linux 6.1; x64)")];
        assert_eq!(judge(&pi, r#""system":"You are a context summarization assistant.""#, ASKED), Class::Compaction);
        assert_eq!(judge(&pi, r#""system":"s""#, ASKED), Class::Auxiliary, "no tools and one message");
        assert_eq!(judge(&pi, SYSTEM, ASKED), Class::Main);
    }

    #[test]
    fn a_client_without_a_name_is_known_by_its_system_prompt() {
        let node = [("user-agent", "node-fetch")];
        let system = r#""system":"You are an agent in the Continue CLI. Given the user's prompt""#;
        assert_eq!(judge(&node, system, ASKED), Class::Auxiliary, "no tools and one message");
        assert_eq!(judge(&node, r#""system":"You are kind""#, ASKED), Class::Main);
    }
}
