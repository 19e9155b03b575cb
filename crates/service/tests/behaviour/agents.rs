//! Agents beside Claude Code: what they send on the side, and whose their requests are.

use crate::support::{Headers, House, hints, with};
use ctx_api::edit::EditRequest;
use ctx_engine::attribution::SeenRequest;
use ctx_engine::conversation::sent_parts::Part;
use ctx_wire::rope::Arriving;
use serde_json::{Value, json};

fn sender(name: &str) -> Headers {
    with(Vec::new(), "user-agent", name)
}

fn opencode(session: &str) -> Headers {
    with(sender("opencode/1.18.33"), "x-session-affinity", session)
}

fn qwen() -> Headers {
    with(sender("claude-cli/0.24.4 (external, cli)"), "x-app", "cli")
}

/// A body with a system prompt, tools by their names, and messages of user and assistant in turns.
fn body(system: &str, tools: &[&str], said: &[&str]) -> Value {
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    let messages = said.iter().enumerate().map(|(at, text)| json!({"role": role(at), "content": text}));
    let mut body = json!({"model": "claude-opus-5-5", "max_tokens": 100, "system": system});
    if !tools.is_empty() {
        let tool = |name: &&str| json!({"name": name, "input_schema": {"type": "object"}});
        body["tools"] = tools.iter().map(tool).collect();
    }
    body["messages"] = messages.collect();
    body
}

const PROMPT: &str = "You are an agent. Be kind.";
const TOOLS: &[&str] = &["read", "bash"];

/// The bytes with which a held request leaves; `None` where it leaves as it came.
fn held(house: &House, headers: &Headers, body: &Value) -> Option<String> {
    let bytes = body.to_string().into_bytes();
    let mut arriving = Arriving::alone();
    arriving.push(&bytes);
    let (hints, pieces) = (hints(headers), arriving.finish());
    let seen = SeenRequest { wire: &ctx_wire::anthropic::Anthropic, hints, pieces, at: house.now(), counting: false };
    let mut leaves = None;
    house.service.hold(seen, &mut |outgoing| leaves = outgoing).expect("readable");
    let parts = leaves?.parts.into_iter().map(|part| match part {
        Part::Source(range) => bytes[range].to_vec(),
        Part::Made(made) => made,
    });
    Some(String::from_utf8(parts.flatten().collect()).expect("text"))
}

#[test]
fn a_title_under_the_session_opens_nothing_and_leaves_the_turn_as_it_is() {
    let house = House::new();
    let title = body("You are a title generator.", &[], &["Generate a title for this conversation:\n"]);
    assert!(!house.send_value(&opencode("ses_1"), &title).turn);
    assert!(house.ids().is_empty());
    let turn = house.send_value(&opencode("ses_1"), &body(PROMPT, TOOLS, &["fix it"]));
    assert!(house.last(&turn.conversation).is("new", [0, 1, 0]));
    house.reply(&turn, "done");
    let summary = body("You are a context summarization agent.", &[], &["<conversation>\n[User]: fix it"]);
    assert!(!house.send_value(&opencode("ses_1"), &summary).turn);
    assert_eq!(house.last(&turn.conversation).class, "compaction");
    assert_eq!(house.titles(&turn.conversation), ["fix it"]);
}

#[test]
fn in_a_known_conversation_a_request_without_tools_is_side_traffic() {
    let house = House::new();
    let other = with(sender("agent/1"), "x-session-id", "s");
    let first = house.send_value(&other, &body(PROMPT, TOOLS, &["fix it"]));
    house.reply(&first, "done");
    let side = house.send_value(&other, &body(PROMPT, &[], &["fix it", "done", "Suggest a next step"]));
    assert_eq!((side.turn, &side.conversation), (false, &first.conversation));
    assert_eq!(house.last(&first.conversation).class, "auxiliary");
    house.send_value(&other, &body(PROMPT, TOOLS, &["fix it", "done", "thanks"]));
    assert!(house.last(&first.conversation).is("next", [1, 2, 0]), "{:?}", house.last(&first.conversation));
}

#[test]
fn another_prompt_with_other_tools_is_believed_when_the_client_goes_on_with_it() {
    let house = House::new();
    let other = with(sender("agent/1"), "x-session-id", "s");
    let first = house.send_value(&other, &body(PROMPT, TOOLS, &["fix it"]));
    house.reply(&first, "done");
    let id = &first.conversation;
    let switched = "You are another model.";
    let said = ["fix it", "done", "go on", "gone on", "thanks"];
    assert!(!house.send_value(&other, &body(switched, &["apply_patch"], &said[..3])).turn);
    assert!(house.send_value(&other, &body(switched, &["apply_patch"], &said)).turn);
    assert_eq!(house.titles(id), ["fix it", "go on", "thanks"]);
}

#[test]
fn a_prompt_that_changes_under_the_same_tools_is_a_turn() {
    let house = House::new();
    let other = with(sender("agent/1"), "x-session-id", "s");
    let first = house.send_value(&other, &body("Today is Monday.", TOOLS, &["fix it"]));
    house.reply(&first, "done");
    assert!(house.send_value(&other, &body("Today is Tuesday.", TOOLS, &["fix it", "done", "thanks"])).turn);
}

#[test]
fn a_conversation_that_never_had_tools_goes_on_without() {
    let house = House::new();
    let other = with(sender("agent/1"), "x-session-id", "s");
    let first = house.send_value(&other, &body(PROMPT, &[], &["hello"]));
    house.reply(&first, "hi");
    assert!(house.send_value(&other, &body(PROMPT, &[], &["hello", "hi", "bye"])).turn);
}

#[test]
fn a_sub_agent_with_a_session_of_its_own_has_its_parent() {
    let house = House::new();
    let parent = house.send_value(&opencode("ses_1"), &body(PROMPT, TOOLS, &["fix it"]));
    let agent = with(opencode("ses_2"), "x-parent-session-id", "ses_1");
    let child = house.send_value(&agent, &body(PROMPT, TOOLS, &["look for it"]));
    assert_ne!(child.conversation, parent.conversation);
    house.service.settle(crate::support::LONG);
    let listed = house.service.conversations().conversations;
    let child = listed.iter().find(|one| one.id == child.conversation).expect("listed");
    assert_eq!((child.class.as_str(), child.parent.as_ref()), ("subagent", Some(&parent.conversation)));
}

#[test]
fn qwen_is_seen_under_the_name_that_it_borrows() {
    let house = House::new();
    let first = house.send_value(&qwen(), &body(PROMPT, TOOLS, &["fix it"]));
    house.reply(&first, "done");
    let next = house.send_value(&qwen(), &body(PROMPT, TOOLS, &["fix it", "done", "thanks"]));
    assert_eq!(next.conversation, first.conversation);
    house.service.settle(crate::support::LONG);
    let listed = house.service.conversations().conversations;
    assert_eq!(listed[0].client.as_deref(), Some("QwenCode/0.24.4"));
}

#[test]
fn edits_hold_in_side_requests_that_carry_the_history_of_a_client_without_ids() {
    let mut house = House::new();
    let said = ["a secret", "noted", "fix it", "done"];
    let first = house.send_value(&qwen(), &body(PROMPT, TOOLS, &said[..3]));
    house.reply(&first, "done");
    let operations = serde_json::from_value(json!([{"op": "delete", "ids": ["t1"]}])).expect("an operation");
    let edit = EditRequest { operations, author: "test".into(), ..EditRequest::default() };
    house.service.apply(&first.conversation, edit).expect("applied");
    let system = "You are now acting as the managed memory extraction subagent.";
    let memory = body(system, &["read_file"], &[&said[..], &["Managed memory has TWO directories"]].concat());
    for _ in 0..2 {
        let sent = held(&house, &qwen(), &memory).expect("composed");
        assert!(!sent.contains("a secret") && sent.contains("fix it") && sent.contains("TWO directories"), "{sent}");
        assert_eq!(house.last(&first.conversation).class, "auxiliary");
        assert_eq!(house.titles(&first.conversation).len(), 2, "it adds no frame");
        house = house.restart();
    }
}

#[test]
fn a_summary_request_without_an_id_opens_no_conversation() {
    let house = House::new();
    let summary = body("You are a context summarization assistant.", &[], &["<conversation>\n[User]: fix it"]);
    let seen = house.pass(&sender("pi (linux 6.1; x64)"), summary.to_string().as_bytes());
    assert!(seen.expect("readable").is_none() && house.ids().is_empty());
}

#[test]
fn what_was_removed_is_cut_out_of_a_summary_request_that_names_no_session() {
    let mut house = House::new();
    let pi = sender("pi (linux 6.1; x64)");
    let named = with(pi.clone(), "session_id", "s-1");
    let (secret, answer) = ("a secret of more than a few words", "an answer of more than a few words");
    let first =
        house.send_value(&named, &body(PROMPT, TOOLS, &["fix it", answer, secret, "noted, as one does", "go on"]));
    house.reply(&first, "done");
    let operations = serde_json::from_value(json!([{"op": "delete", "ids": ["t2"]}])).expect("an operation");
    let edit = EditRequest { operations, author: "test".into(), ..EditRequest::default() };
    house.service.apply(&first.conversation, edit).expect("applied");
    let history = format!("<conversation>\n[User]: fix it\n[Assistant]: {answer}\n[User]: {secret}");
    let summary = body("You are a context summarization assistant.", &[], &[&history]);
    for _ in 0..2 {
        let sent = held(&house, &pi, &summary).expect("composed");
        assert!(!sent.contains(secret) && sent.contains(answer), "{sent}");
        assert_eq!(house.last(&first.conversation).class, "compaction");
        house = house.restart();
    }
}

#[test]
fn an_edited_reply_stays_edited_when_a_system_message_moves_behind_it() {
    let house = House::new();
    let headers = opencode("ses_1");
    let request = |said: &[&str]| {
        let mut body = body(PROMPT, TOOLS, said);
        let messages = body["messages"].as_array_mut().expect("messages");
        messages.push(json!({"role": "system", "content": "Rules about every answer."}));
        body
    };
    let first = house.send_value(&headers, &request(&["fix it", "done", "and a cow"]));
    house.reply(&first, "a cow, as asked");
    let operations = serde_json::from_value(json!([{"op": "delete", "ids": ["t2"]}])).expect("an operation");
    let edit = EditRequest { operations, author: "test".into(), ..EditRequest::default() };
    house.service.apply(&first.conversation, edit).expect("applied");
    let next = request(&["fix it", "done", "and a cow", "a cow, as asked", "go on"]);
    let sent = held(&house, &headers, &next).expect("composed");
    assert!(!sent.contains("cow") && sent.contains("go on"), "{sent}");
}

#[test]
fn a_client_that_does_not_name_itself_is_known_by_its_prompt() {
    let house = House::new();
    house.send_value(&sender("node-fetch"), &body("You are an agent in the Continue CLI.", TOOLS, &["fix it"]));
    house.service.settle(crate::support::LONG);
    assert_eq!(house.service.conversations().conversations[0].client.as_deref(), Some("continue"));
}

#[test]
fn a_moving_notice_does_not_make_another_message() {
    let house = House::new();
    let goose = with(Vec::new(), "agent-session-id", "20261115_1");
    let notice = "<info-msg>\nIt is noon\n</info-msg>";
    let mut first = body(PROMPT, TOOLS, &["fix it"]);
    first["messages"][0]["content"] = json!([{"type": "text", "text": notice}, {"type": "text", "text": "fix it"}]);
    let ticket = house.send_value(&goose, &first);
    house.reply(&ticket, "done");
    let mut second = body(PROMPT, TOOLS, &["fix it", "done", "thanks"]);
    second["messages"][2]["content"] = json!([{"type": "text", "text": notice}, {"type": "text", "text": "thanks"}]);
    house.send_value(&goose, &second);
    assert_eq!(house.last(&ticket.conversation).verdict, "next");
    assert_eq!(house.titles(&ticket.conversation), ["fix it", "thanks"]);
}

#[test]
fn a_conversation_keeps_its_title_when_its_client_compacts_it() {
    let goose = with(Vec::new(), "agent-session-id", "20261115_1");
    let receipt = "Your context was compacted. The previous message contains a summary of the conversation so far.";
    let kept = ["They fixed the parser, and then the lexer.", receipt, "thanks"];
    let pi = "The conversation history before this point was compacted into the following summary:\n\n<summary>";
    let asked = ["What did we do so far?", "Fixed the parser.", "thanks"];
    let compacted =
        [(goose, kept), (opencode("ses_1"), asked), (with(sender("pi"), "session_id", "s"), [pi, "Ok.", "thanks"])];
    for (headers, after) in compacted {
        let house = House::new();
        let first = house.send_value(&headers, &body(PROMPT, TOOLS, &["fix it", "done", "and the lexer"]));
        house.reply(&first, "done too");
        house.send_value(&headers, &body(PROMPT, TOOLS, &after));
        assert_eq!(house.last(&first.conversation).verdict, "compaction", "{after:?}");
        house.service.settle(crate::support::LONG);
        assert_eq!(house.service.conversations().conversations[0].title, "fix it", "{after:?}");
    }
}
