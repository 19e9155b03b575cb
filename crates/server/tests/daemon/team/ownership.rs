//! Ownership of conversations.

use ctx_team::{Access, Actor, Grantee, Registry, Role};
use serde_json::{Value, json};

use super::scene::{SECRET, Team};
use crate::support::house::conversation;

#[tokio::test]
async fn two_people_with_the_same_session_have_two_conversations() {
    let team = Team::new().await;
    team.talk("anna", "same", &conversation("same", 3)).await;
    team.talk("bob", "same", &conversation("same", 3)).await;
    let delete = json!({"operations": [{"op": "delete", "ids": ["t2"]}], "author": "test"});
    team.post("anna", "conversations/same/operations", &delete).await;
    let annas = team.talk("anna", "same", &conversation("same", 3)).await;
    let bobs = team.talk("bob", "same", &conversation("same", 3)).await;
    assert_eq!(annas.questions(), ["same question 1", "same question 3"]);
    assert_eq!(bobs.text(), conversation("same", 3), "byte for byte");
    let history = team.get("bob", "conversations/same/history").await;
    assert_eq!(history["commits"], json!([]));
}

#[tokio::test]
async fn commits_are_signed_by_the_daemon_whatever_the_client_says() {
    let (team, id) = Team::sharing().await;
    let pin = |author: &str, id: &str| json!({"operations": [{"op": "pin", "ids": [id]}], "author": author});
    let path = format!("conversations/{id}/operations");
    team.post("anna", &path, &pin("policy", "t1")).await;
    team.post("carl", &path, &pin("anna", "t2")).await;
    team.post("anna", &path, &pin("mcp", "t3")).await;
    let history = team.get("anna", &format!("conversations/{id}/history")).await;
    let authors: Vec<&str> =
        history["commits"].as_array().expect("commits").iter().filter_map(|one| one["author"].as_str()).collect();
    assert_eq!(authors, ["anna (agent)", "carl", "anna"]);
}

#[tokio::test]
async fn a_shared_conversation_is_listed_read_and_edited_by_those_it_is_shared_with() {
    let (team, id) = Team::sharing().await;
    let named = format!("anna:{id}");
    for (name, count) in [("bob", 1), ("carl", 1), ("dora", 0), ("eve", 0), ("adam", 0)] {
        let list = team.get(name, "conversations").await;
        let list = list["conversations"].as_array().expect("a list");
        assert_eq!(list.len(), count, "{name}");
        assert!(list.iter().all(|one| one["id"] == *named && one["owner"] == "anna"), "{list:?}");
    }
    for name in [&named, &id] {
        let shown = team.get("bob", &format!("conversations/{name}/frames/t1")).await;
        assert!(shown.to_string().contains(SECRET));
    }
    let delete = json!({"operations": [{"op": "delete", "ids": ["t2"]}], "author": "x"});
    let (status, answer) = team.ask("bob", "POST", &format!("conversations/{id}/operations"), &delete).await;
    assert_eq!((status, &answer["error"]["code"]), (403, &json!("role-needed")), "{answer}");
    team.post("carl", &format!("conversations/{id}/operations"), &delete).await;
    let sent = team.talk("anna", "annas", &conversation(SECRET, 3)).await;
    assert_eq!(sent.questions().len(), 2, "the edit of a guest is in the owner's next request");
    team.post("anna", &format!("conversations/{id}/unshare"), &json!({"person": "carl"})).await;
    let (status, _) = team.ask("carl", "GET", &format!("conversations/{id}/frames"), &json!({})).await;
    assert_eq!(status, 404);
    let timeline = team.get("anna", &format!("conversations/{id}/timeline")).await;
    let told: Vec<_> =
        timeline["events"].as_array().expect("events").iter().filter(|one| one["kind"] == "access").collect();
    assert_eq!(told.len(), 3, "{timeline}");
}

#[tokio::test]
async fn a_guest_reads_one_conversation_and_no_other_of_its_owner() {
    let (team, id) = Team::sharing().await;
    team.talk("anna", "private", &conversation("private", 2)).await;
    for body in [
        json!({"operations": [{"op": "import", "from": "private", "ids": ["t1"]}], "author": "x"}),
        json!({"operations": [{"op": "import", "from": "private", "ids": [], "edits": true}], "author": "x"}),
    ] {
        for route in ["operations", "plan"] {
            let (status, answer) = team.ask("carl", "POST", &format!("conversations/{id}/{route}"), &body).await;
            assert_eq!((status, &answer["error"]["code"]), (404, &json!("unknown-conversation")), "{answer}");
        }
    }
    let (status, _) = team.ask("carl", "GET", "conversations/private/frames", &json!({})).await;
    assert_eq!(status, 404);
    let found = team.get("carl", &format!("search?q={SECRET}")).await;
    assert!(!found.to_string().contains("question"), "{found}");
}

#[tokio::test]
async fn a_share_ends_with_its_conversation() {
    let (team, id) = Team::sharing().await;
    let reason = json!({"reason": "incident 42: a leaked token"});
    team.post("eve", &format!("people/anna/conversations/{id}/open"), &reason).await;
    team.post("anna", "purge", &json!({"conversations": [id]})).await;
    team.talk("anna", "annas", &conversation("afterwards", 3)).await;
    let list = team.get("anna", "conversations").await;
    assert_eq!(list["conversations"][0]["id"], *id, "the session has the same id again");
    for name in ["bob", "carl", "eve"] {
        for path in ["frames", "export"] {
            let (status, _) =
                team.call(&team.bearer(name), "GET", &format!("conversations/anna:{id}/{path}"), "").await;
            assert_eq!(status, 404, "{name} {path}");
        }
        assert_eq!(team.get(name, "conversations").await["conversations"], json!([]), "{name}");
    }
    assert_eq!(team.get("anna", &format!("conversations/{id}/shares")).await["shares"], json!([]));
    let audit = team.get("adam", "audit").await["entries"].clone();
    let ended = audit.as_array().expect("entries").iter().find(|one| one["event"] == "access-ended").expect("an entry");
    assert_eq!((&ended["by"], &ended["what"]), (&json!("anna"), &json!(format!("{id} of anna, removed"))));
}

/// A share of a conversation that does not exist any more, as earlier versions left them.
#[tokio::test]
async fn a_share_finds_no_conversation_by_its_title() {
    let team = Team::new().await;
    let gone = "c3f9a1";
    team.talk("anna", "first", &conversation(&format!("look at {gone}"), 2)).await;
    {
        let registry = Registry::open(team.log.clone()).expect("a registry");
        let anna = registry.state().named("anna").expect("anna").id;
        let carl = registry.state().named("carl").expect("carl").id;
        let anna = Actor { id: anna, role: Role::Member, ..Actor::OPERATOR };
        let share =
            registry.change(&anna, |state| Ok((state.share(&anna, gone, Grantee::Person(carl), Access::Edit)?, ())));
        share.expect("shared");
    }
    // The daemon reads the log again, because its next entry is not the next.
    team.house.post("people/dora", &json!({"groups": ["core"]})).await;
    let shares = team.get("anna", "shares").await.to_string();
    assert!(shares.contains(gone), "{shares}");
    assert!(team.get("anna", &format!("conversations/{gone}/frames")).await["frames"].is_array(), "her title has it");
    let pin = json!({"operations": [{"op": "pin", "ids": ["t1"]}], "author": "x"});
    for (method, path, body) in [("GET", "frames", &json!({})), ("POST", "operations", &pin)] {
        let (status, answer) = team.ask("carl", method, &format!("conversations/anna:{gone}/{path}"), body).await;
        assert_eq!((status, &answer["error"]["code"]), (404, &json!("unknown-conversation")), "{answer}");
    }
    team.talk("anna", "second", &conversation(&format!("and at {gone}"), 2)).await;
    let (status, answer) = team.ask("carl", "GET", &format!("conversations/anna:{gone}/frames"), &json!({})).await;
    assert_eq!((status, answer.to_string().contains("look at")), (404, false), "{answer}");
}

/// The structured answer of a tool of the MCP server, without a session and without naming a conversation.
async fn use_tool(team: &Team, name: &str, tool: &str) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
    let (_, answer) = team.call(&team.bearer(name), "POST", "mcp", &call.to_string()).await;
    let answer: Value = serde_json::from_str(&answer).expect(&answer);
    answer["result"]["structuredContent"].clone()
}

#[tokio::test]
async fn an_agent_is_never_in_a_conversation_that_others_share() {
    let team = Team::new().await;
    let calling = json!([{"type": "tool_use", "id": "toolu_1", "name": "mcp__ctx__ctx_status", "input": {}}]);
    let said = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": calling,
        "stop_reason": "tool_use", "usage": {"input_tokens": 10, "output_tokens": 2}});
    let said = said.to_string();
    let newest = async |name: &str| {
        let list = team.get(name, "conversations").await["conversations"].clone();
        list[0]["id"].as_str().expect("an id").to_owned()
    };
    team.talk_saying("bob", "bobs", &conversation("bob's", 2), &said).await;
    let bobs = newest("bob").await;
    team.post("bob", &format!("conversations/{bobs}/share"), &json!({"person": "anna", "edit": true})).await;
    let answer = use_tool(&team, "anna", "ctx_status").await;
    assert_eq!(answer["error"]["code"], "no-conversation", "{answer}");
    team.talk_saying("anna", "annas", &conversation("anna's", 2), &said).await;
    let annas = newest("anna").await;
    // Copies are newer, and no agent is in them either.
    let (_, file) = team.call(&team.bearer("bob"), "GET", &format!("conversations/{bobs}/export"), "").await;
    let lines = format!("{}Content-Type: application/x-ndjson\r\n", team.bearer("anna"));
    for _ in 0..6 {
        assert_eq!(team.call(&lines, "POST", "import", &file).await.0, 200);
    }
    let answer = use_tool(&team, "anna", "ctx_status").await;
    assert_eq!((&answer["conversation"], &answer["found_by"]), (&json!(annas), &json!("reply")), "{answer}");
}

#[tokio::test]
async fn an_auditor_opens_a_conversation_for_a_reason_and_its_owner_is_told() {
    let (team, id) = Team::sharing().await;
    let figures = team.get("eve", "people/anna/conversations").await;
    assert_eq!(figures["conversations"][0]["id"], *id);
    assert!(!figures.to_string().contains(SECRET), "figures, and no words");
    let path = format!("people/anna/conversations/{id}/open");
    let (status, _) = team.ask("eve", "POST", &path, &json!({"reason": " "})).await;
    assert_eq!(status, 400);
    let opened = team.post("eve", &path, &json!({"reason": "incident 42: a leaked token"})).await;
    let name = opened["conversation"].as_str().expect("a name");
    assert!(team.get("eve", &format!("conversations/{name}/frames/t1")).await.to_string().contains(SECRET));
    let edit = json!({"operations": [{"op": "pin", "ids": ["t1"]}], "author": "x"});
    assert_eq!(team.ask("eve", "POST", &format!("conversations/{name}/operations"), &edit).await.0, 403);
    let notices = team.get("anna", "notices").await;
    assert_eq!(notices["notices"][0]["by"], "eve");
    assert_eq!(notices["notices"][0]["reason"], "incident 42: a leaked token");
    let timeline = team.get("anna", &format!("conversations/{id}/timeline")).await;
    assert!(timeline.to_string().contains("incident 42"), "{timeline}");
    let audit = team.get("adam", "audit").await;
    assert_eq!((&audit["entries"][0]["event"], &audit["entries"][0]["by"]), (&json!("opened"), &json!("eve")));
    let doras = team.get("dora", "notices").await["notices"].clone();
    let is_key = |notice: &serde_json::Value| notice["key"].is_string() && notice["conversation"] == "";
    assert!(doras.as_array().expect("notices").iter().all(is_key), "{doras}");
}

#[tokio::test]
async fn an_export_is_entered_under_the_name_of_the_person_who_made_it() {
    let (team, id) = Team::sharing().await;
    let reason = json!({"reason": "incident 42: a leaked token"});
    team.post("eve", &format!("people/anna/conversations/{id}/open"), &reason).await;
    for (name, conversation) in [("anna", id.clone()), ("bob", format!("anna:{id}")), ("eve", format!("anna:{id}"))] {
        let path = format!("conversations/{conversation}/export");
        let (status, file) = team.call(&team.bearer(name), "GET", &path, "").await;
        assert_eq!(status, 200, "{name}: {file}");
    }
    let mut by = Vec::new();
    // Exports are entered behind the answer.
    for _ in 0..100 {
        let audit = team.get("adam", "audit").await;
        let entries = audit["entries"].as_array().expect("entries").iter().filter(|one| one["event"] == "taken");
        by = entries.map(|one| (one["by"].to_string(), one["what"].to_string())).collect();
        if by.len() == 3 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    by.sort();
    let exported = |by: &str| (format!("\"{by}\""), "\"exported 1 of anna\"".to_owned());
    assert_eq!(by, ["anna", "bob", "eve"].map(exported));
}

/// The deferred edits of a conversation by their authors, with their states.
async fn deferred(team: &Team, id: &str) -> Vec<(String, String)> {
    let waiting = team.get("anna", &format!("conversations/{id}/waiting")).await;
    let mut all: Vec<_> = waiting["wishes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| {
            (one["author"].as_str().expect("an author").to_owned(), one["state"].as_str().unwrap_or("").to_owned())
        })
        .collect();
    all.sort();
    all
}

#[tokio::test]
async fn the_deferred_edits_of_a_guest_end_with_the_share() {
    let (team, id) = Team::sharing().await;
    let path = format!("conversations/{id}");
    team.post("anna", &format!("{path}/share"), &json!({"person": "dora", "edit": true})).await;
    let delete =
        |target: &str| json!({"operations": [{"op": "delete", "ids": [target]}], "author": "x", "when": "near-limit"});
    for (name, target) in [("anna", "t1"), ("carl", "t2"), ("dora", "t3")] {
        let applied = team.post(name, &format!("{path}/operations"), &delete(target)).await;
        assert!(applied["waiting"].is_string(), "{applied}");
    }
    let states = |anna: &str, carl: &str, dora: &str| {
        [("anna", anna), ("carl", carl), ("dora", dora)]
            .map(|(name, state)| (name.to_owned(), state.to_owned()))
            .to_vec()
    };
    assert_eq!(deferred(&team, &id).await, states("waiting", "waiting", "waiting"));
    let ended = team.post("anna", &format!("{path}/unshare"), &json!({"person": "carl"})).await;
    let warning = ended["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("w2 of carl") && warning.contains("withdrawn"), "{warning}");
    assert_eq!(deferred(&team, &id).await, states("waiting", "failed", "waiting"));
    let timeline = team.get("anna", &format!("{path}/timeline")).await.to_string();
    assert!(timeline.contains("carl may no longer edit this conversation"), "{timeline}");
    // To look is less than to edit.
    team.post("anna", &format!("{path}/share"), &json!({"person": "dora"})).await;
    assert_eq!(deferred(&team, &id).await, states("waiting", "failed", "failed"));
}

#[tokio::test]
async fn the_deferred_edits_of_a_removed_guest_are_withdrawn() {
    let (team, id) = Team::sharing().await;
    let delete = json!({"operations": [{"op": "delete", "ids": ["t2"]}], "author": "mcp", "when": "near-limit"});
    team.post("carl", &format!("conversations/{id}/operations"), &delete).await;
    let removed = team.post("adam", "people/carl/remove", &json!({})).await;
    assert!(removed["warnings"].to_string().contains("of carl (agent) in anna:"), "{removed}");
    assert_eq!(deferred(&team, &id).await, [("carl (agent)".to_owned(), "failed".to_owned())]);
}

#[tokio::test]
async fn an_imported_history_speaks_for_no_one_but_its_importer() {
    let (team, id) = Team::sharing().await;
    let path = format!("conversations/{id}");
    let pin = |target: &str| json!({"operations": [{"op": "pin", "ids": [target]}], "author": "x", "note": "mine"});
    team.post("anna", &format!("{path}/operations"), &pin("t1")).await;
    team.post("carl", &format!("{path}/operations"), &pin("t2")).await;
    let reason = json!({"reason": "incident 42: a leaked token"});
    team.post("eve", &format!("people/anna/{path}/open"), &reason).await;
    let (_, file) = team.call(&team.bearer("anna"), "GET", &format!("{path}/export"), "").await;
    assert!(file.contains("incident 42"));
    let lines = format!("{}Content-Type: application/x-ndjson\r\n", team.bearer("dora"));
    let (status, answer) = team.call(&lines, "POST", "import", &file).await;
    assert_eq!(status, 200, "{answer}");
    let imported: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    let path = format!("conversations/{}", imported["conversation"].as_str().expect("an id"));
    let history = team.get("dora", &format!("{path}/history")).await;
    let commits = history["commits"].as_array().expect("commits").iter();
    let told: Vec<_> = commits.map(|one| (one["author"].as_str(), one["note"].as_str())).collect();
    let by = |name: &str| format!("imported, written by {name}; mine");
    assert_eq!(told, [(Some("dora"), Some(&*by("carl"))), (Some("dora"), Some(&*by("anna")))]);
    let timeline = team.get("dora", &format!("{path}/timeline")).await.to_string();
    assert!(!timeline.contains("incident 42") && !timeline.contains(r#""eve""#), "{timeline}");
}

#[tokio::test]
async fn a_body_of_very_many_values_is_refused_before_it_is_parsed() {
    let team = Team::new().await;
    let post = async |raw: String| {
        let body = format!(r#"{{"operations": [{{"op": "edit", "id": "t1", "raw": {raw}}}], "author": "x"}}"#);
        let (status, answer) = team.call(&team.bearer("anna"), "POST", "conversations/c1/operations", &body).await;
        let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        (status, answer["error"]["code"].as_str().expect("a code").to_owned())
    };
    let refused = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(post(format!("[{}0]", "0,".repeat(2_000_000))).await, refused(413, "too-large"));
    // A long text is one value.
    let text = format!("\"{}\"", "0,".repeat(2_000_000));
    assert_eq!(post(text).await, refused(404, "unknown-conversation"));
}
