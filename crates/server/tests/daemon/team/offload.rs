//! Offloaded content of a team stays in the store, and is read back by its handle.

use ctx_engine::edit::handle::Handles;
use serde_json::{Value, json};

use super::scene::{SECRET, Team};
use crate::support::house::conversation;

/// The name of our tool at a usual client.
const TOOL: &str = "mcp__ctx__ctx_show";

/// A request of an agent that has our tools, or has none.
fn request(questions: usize, has_tool: bool) -> String {
    request_with(questions, if has_tool { &[TOOL] } else { &[] })
}

/// A request of an agent with these tools.
fn request_with(questions: usize, tools: &[&str]) -> String {
    let mut body: Value = serde_json::from_str(&conversation(SECRET, questions)).expect("JSON");
    // The title of the frame has the first words, so the others come later.
    let words = "many words ".repeat(40);
    body["messages"][0]["content"] = format!("{SECRET} question 1 {words}\nsecond line\nthird line").into();
    if !tools.is_empty() {
        let tool = |name: &&str| json!({"name": name, "description": "d", "input_schema": {"type": "object"}});
        body["tools"] = tools.iter().map(tool).collect();
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
    stub_in(team.talk("anna", "annas", &request(3, has_tool)).await.text())
}

fn stub_in(sent: &str) -> (String, String) {
    let sent: Value = serde_json::from_str(sent).expect("JSON");
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
    let path = format!("conversations/{id}/operations");
    let (status, answer) = team.ask("anna", "POST", &path, &offload()).await;
    assert_eq!((status, &answer["error"]["code"]), (422, &json!("cannot-read-back")), "it runs no commands: {answer}");
    let body = request_with(3, &["Bash"]);
    team.talk("anna", "annas", &body).await;
    team.post("anna", &path, &offload()).await;
    let (stub, handle) = stub_in(team.talk("anna", "annas", &body).await.text());
    assert!(stub.contains(&format!("Read it with `ctx cat {handle} --conv {id}`.")), "{stub}");
    let read = team.get("anna", &format!("conversations/{id}/offloaded/{handle}")).await;
    assert!(read["text"].as_str().is_some_and(|text| text.contains("second line")), "{read}");
}

/// Another conversation of anna, with these tools; returns its id.
async fn another(team: &Team, first: &str, body: &str) -> String {
    team.talk("anna", "annas-other", body).await;
    let list = team.get("anna", "conversations").await;
    let ids = list["conversations"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str());
    ids.filter(|id| *id != first).map(str::to_owned).next().expect("another conversation")
}

/// A conversation that begins otherwise.
fn other_request(questions: usize, tools: &[&str]) -> String {
    request_with(questions, tools).replace(SECRET, "giraffe")
}

fn import(from: &str, ids: &[&str]) -> Value {
    let what = match ids.is_empty() {
        true => json!({"op": "import", "from": from, "edits": true}),
        false => json!({"op": "import", "from": from, "ids": ids, "to": {"start": true}}),
    };
    json!({"operations": [what], "author": "x"})
}

#[tokio::test]
async fn an_imported_stub_is_readable_where_it_came_to_even_without_its_source() {
    let (team, id) = talking(true, Handles::default()).await;
    team.post("anna", &format!("conversations/{id}/operations"), &offload()).await;
    let (_, handle) = stub(&team, true).await;
    let body = other_request(3, &["ctx_show"]);
    let other = another(&team, &id, &body).await;
    let path = format!("conversations/{other}/offloaded/{handle}");
    assert_eq!(team.ask("anna", "GET", &path, &json!({})).await.0, 404, "nothing of it is here yet");
    team.post("anna", &format!("conversations/{other}/operations"), &import(&id, &["t1"])).await;
    let next = other_request(4, &["ctx_show"]);
    let sent = team.talk("anna", "annas-other", &next).await.text().to_owned();
    assert!(sent.contains(&format!("Read it with the tool ctx_show, id {handle}.")), "{sent}");
    assert!(!sent.contains(TOOL), "{sent}");
    team.post("anna", "purge", &json!({"conversations": [id]})).await;
    let read = team.get("anna", &path).await;
    let is_whole = |text: &str| text.contains("second line\nthird line") && text.contains(SECRET);
    assert!(read["text"].as_str().is_some_and(is_whole), "{read}");
    let (status, _) = team.ask("bob", "GET", &path, &json!({})).await;
    assert_eq!(status, 404, "bob might look at the source, and not at this");
}

#[tokio::test]
async fn carried_edits_take_their_offloaded_content_along() {
    let (team, id) = talking(true, Handles { by_command: true }).await;
    team.post("anna", &format!("conversations/{id}/operations"), &offload()).await;
    let (_, handle) = stub(&team, true).await;
    // The same history under another session, as after a switch of the agent.
    let body = request_with(3, &["Bash"]);
    let wire: Value = serde_json::from_str(&body).expect("JSON");
    let messages: Vec<Value> = wire["messages"].as_array().expect("messages").clone();
    let chat = json!({"model": "gpt-5.5", "messages": messages, "tools": [
        {"type": "function", "function": {"name": "Bash", "parameters": {"type": "object"}}}]});
    let chat = chat.to_string();
    let (path, session) = ("/to/anthropic/v1/chat/completions", "annas-other");
    assert_eq!(team.talk_at(path, "anna", session, &chat).await.text(), chat);
    let list = team.get("anna", "conversations").await;
    let ids = list["conversations"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str());
    let other = ids.filter(|one| *one != id).map(str::to_owned).next().expect("another conversation");
    team.post("anna", &format!("conversations/{other}/operations"), &import(&id, &[])).await;
    let sent = team.talk_at(path, "anna", session, &chat).await.text().to_owned();
    assert!(sent.contains(&format!("Read it with `ctx cat {handle} --conv {other}`.")), "{sent}");
    team.post("anna", "purge", &json!({"conversations": [id]})).await;
    let read = team.get("anna", &format!("conversations/{other}/offloaded/{handle}")).await;
    assert!(read["text"].as_str().is_some_and(|text| text.contains("second line\nthird line")), "{read}");
}

#[tokio::test]
async fn a_stub_is_not_imported_where_its_agent_could_not_read_it_back() {
    let (team, id) = talking(true, Handles::default()).await;
    team.post("anna", &format!("conversations/{id}/operations"), &offload()).await;
    let body = other_request(3, &["Bash"]);
    let other = another(&team, &id, &body).await;
    let path = format!("conversations/{other}/operations");
    let (status, answer) = team.ask("anna", "POST", &path, &import(&id, &["t1"])).await;
    assert_eq!((status, &answer["error"]["code"]), (422, &json!("cannot-read-back")), "{answer}");
    let told = answer["error"]["message"].as_str().expect("a message");
    assert!(told.starts_with("Nothing is imported: it has stubs of offloaded content, and its agent"), "{told}");
    assert!(answer["error"]["hint"].as_str().is_some_and(|hint| hint.contains("restore")), "{answer}");
    assert_eq!(team.talk("anna", "annas-other", &body).await.text(), body, "nothing changed");
    team.post("anna", &path, &import(&id, &["t2"])).await;
}

#[tokio::test]
async fn nobody_imports_stubs_from_the_conversations_of_others() {
    let (team, id) = talking(true, Handles::default()).await;
    team.post("anna", &format!("conversations/{id}/operations"), &offload()).await;
    let (_, handle) = stub(&team, true).await;
    for name in ["bob", "carl"] {
        team.talk(name, "own", &other_request(3, &[TOOL])).await;
    }
    let import = |from: &str| import(from, &["t1"]);
    // Bob may look at the source; carl may not know that it exists.
    let (status, answer) =
        team.ask("bob", "POST", "conversations/own/operations", &import(&format!("anna:{id}"))).await;
    assert_eq!((status, &answer["error"]["code"]), (403, &json!("role-needed")), "{answer}");
    let told = answer["error"]["message"].as_str().expect("a message");
    assert!(told.contains("belongs to anna: you can import only from conversations of your own"), "{told}");
    assert!(answer["error"]["hint"].as_str().is_some_and(|hint| hint.contains("Read it there")), "{answer}");
    let (status, answer) =
        team.ask("carl", "POST", "conversations/own/operations", &import(&format!("anna:{id}"))).await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("unknown-conversation")), "{answer}");
    for name in ["bob", "carl"] {
        let path = format!("conversations/own/offloaded/{handle}");
        assert_eq!(team.ask(name, "GET", &path, &json!({})).await.0, 404, "{name}");
    }
}
