//! Offloaded content of a team stays in the store, and is read back by its handle.

use ctx_engine::edit::handle::Handles;
use serde_json::{Value, json};

use super::scene::{SECRET, Team};
use crate::support::house::conversation;

/// A request of an agent that has our tools, or has none.
fn request(questions: usize, has_tool: bool) -> String {
    let mut body: Value = serde_json::from_str(&conversation(SECRET, questions)).expect("JSON");
    // The title of the frame has the first words, so the others come later.
    let words = "many words ".repeat(40);
    body["messages"][0]["content"] = format!("{SECRET} question 1 {words}\nsecond line\nthird line").into();
    if has_tool {
        body["tools"] = json!([{"name": "mcp__ctx__ctx_show", "description": "d", "input_schema": {"type": "object"}}]);
    }
    body.to_string()
}

/// With a conversation of anna that bob may look at; returns its id.
async fn talking(has_tool: bool, handles: Handles) -> (Team, String) {
    let team = Team::keeping(handles).await;
    team.talk("anna", "annas", &request(3, has_tool)).await;
    let list = team.get("anna", "conversations").await;
    let id = list["conversations"][0]["id"].as_str().expect("an id").to_owned();
    team.post("anna", &format!("conversations/{id}/share"), &json!({"person": "bob"})).await;
    (team, id)
}

fn offload() -> Value {
    json!({"operations": [{"op": "offload", "ids": ["t1"]}], "author": "x"})
}

/// The first message of the next request, and the handle in it.
async fn stub(team: &Team, has_tool: bool) -> (String, String) {
    let sent: Value =
        serde_json::from_str(team.talk("anna", "annas", &request(3, has_tool)).await.text()).expect("JSON");
    let first = sent["messages"][0]["content"].to_string();
    let at = first.find("o-").unwrap_or_else(|| panic!("a handle in {first}"));
    (first.clone(), first[at..at + 18].to_owned())
}

#[tokio::test]
async fn offloaded_content_is_read_back_by_its_handle_and_only_by_those_who_may_look() {
    let (team, id) = talking(true, Handles::default()).await;
    let made = team.post("anna", &format!("conversations/{id}/operations"), &offload()).await;
    assert_eq!(made["files"], json!([]), "{made}");
    let (stub, handle) = stub(&team, true).await;
    assert!(stub.contains("[Offloaded to save context:") && !stub.contains("second line"), "{stub}");
    assert!(stub.contains(&format!("Read it with the tool mcp__ctx__ctx_show, id {handle}.")), "{stub}");
    let path = format!("conversations/{id}/offloaded/{handle}");
    for name in ["anna", "bob"] {
        let read = team.get(name, &path).await;
        let text = read["text"].as_str().expect("a text");
        assert!(text.contains("second line\nthird line") && text.contains(SECRET), "{read}");
        let found = team.get(name, &format!("{path}?grep=THIRD")).await;
        assert!(found["text"].as_str().is_some_and(|text| text.ends_with(": third line")), "{found}");
    }
    for name in ["dora", "eve", "adam"] {
        let (status, answer) = team.ask(name, "GET", &path, &json!({})).await;
        assert_eq!((status, &answer["error"]["code"]), (404, &json!("unknown-conversation")));
    }
    let (status, answer) = team.ask("anna", "GET", &format!("{path}?lines=3-2"), &json!({})).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("bad-range")));
    let unknown = format!("conversations/{id}/offloaded/o-0123456789abcdef");
    assert_eq!(team.ask("anna", "GET", &unknown, &json!({})).await.0, 404);
    let arguments = json!({"id": handle, "conv": id, "lines": "1-100", "grep": "third"});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ctx_show", "arguments": arguments}});
    let (_, answer) = team.call(&team.bearer("anna"), "POST", "mcp", &call.to_string()).await;
    assert!(answer.contains("third line") && !answer.contains("second line"), "{answer}");
    team.post(
        "anna",
        &format!("conversations/{id}/operations"),
        &json!({"operations": [{"op": "restore", "ids": ["t1"]}], "author": "x"}),
    )
    .await;
    assert_eq!(team.talk("anna", "annas", &request(3, true)).await.text(), request(3, true), "it is back");
}

#[tokio::test]
async fn nothing_is_offloaded_that_its_agent_could_not_read_back() {
    let (team, id) = talking(false, Handles::default()).await;
    let path = format!("conversations/{id}/operations");
    let (status, answer) = team.ask("anna", "POST", &path, &offload()).await;
    assert_eq!((status, &answer["error"]["code"]), (422, &json!("cannot-read-back")), "{answer}");
    assert!(
        answer["error"]["message"].as_str().is_some_and(|told| told.contains("offer no tool `ctx_show`")),
        "{answer}"
    );
    assert_eq!(team.talk("anna", "annas", &request(3, false)).await.text(), request(3, false), "nothing changed");
}

#[tokio::test]
async fn an_agent_that_can_run_ctx_gets_the_command() {
    let (team, id) = talking(false, Handles { by_command: true }).await;
    team.post("anna", &format!("conversations/{id}/operations"), &offload()).await;
    let (stub, handle) = stub(&team, false).await;
    assert!(stub.contains(&format!("Read it with `ctx cat {handle} --conv {id}`.")), "{stub}");
    let read = team.get("anna", &format!("conversations/{id}/offloaded/{handle}")).await;
    assert!(read["text"].as_str().is_some_and(|text| text.contains("second line")), "{read}");
}
