//! Stock Claude Code with `ctx mcp`: the model inspects and edits its own conversation.

use serde_json::{Value, json};

use crate::claude::Claude;
use crate::stage::Stage;

/// The client's configuration of the server, over stdio.
fn over_stdio(stage: &Stage) -> Value {
    let home = stage.path("ctx").display().to_string();
    json!({"mcpServers": {"ctx": {"command": env!("CARGO_BIN_EXE_ctx"), "args": ["mcp", "--home", home]}}})
}

fn over_http(stage: &Stage) -> Value {
    let notice = std::fs::read(stage.path("ctx").join("daemon.json")).expect("the daemon's notice");
    let notice: Value = serde_json::from_slice(&notice).expect("JSON");
    let token = std::fs::read_to_string(stage.path("ctx").join("token")).expect("a token");
    let url = format!("http://{}/control/v1/mcp", notice["listen"].as_str().expect("an address"));
    let headers = json!({"Authorization": format!("Bearer {}", token.trim())});
    json!({"mcpServers": {"ctx": {"type": "http", "url": url, "headers": headers}}})
}

/// The tool results, in order, as the model received them.
fn answers(body: &[u8]) -> Vec<Value> {
    let body: Value = serde_json::from_slice(body).expect("JSON");
    let messages = body["messages"].as_array().expect("messages").iter();
    let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results
        .filter_map(|block| block["content"].as_str().or(block["content"][0]["text"].as_str()))
        .filter_map(|text| serde_json::from_str(text).ok())
        .collect()
}

fn edits_its_own(settings: fn(&Stage) -> Value) {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let config = stage.file("mcp.json", &settings(&stage).to_string());
    let with = ["--mcp-config", config.as_str(), "--allowedTools", "mcp__ctx", "Read"];
    let notes = stage.file("notes.txt", &"the pelican lives in the notes\n".repeat(40));
    let session = claude.ask_well(&stage, &format!("USE_TOOL:Read:{notes} ;; THEN ;; SAY:read"), &with);
    // Another conversation has been active since, but is not selected.
    claude.ask_well(&stage, &format!("USE_TOOL:Read:{notes} ;; THEN ;; SAY:also read"), &[]);

    let operations = r#"[{"op":"drop-results","ids":["t1"]}]"#;
    let tidy = format!(
        r#"USE_TOOL:mcp__ctx__ctx_list:{{}} ;; THEN ;; USE_TOOL:mcp__ctx__ctx_preview:{{"operations":{operations}}} ;; THEN ;; USE_TOOL:mcp__ctx__ctx_apply:{{"operations":{operations},"expect":"none","note":"the notes are read"}} ;; THEN ;; SAY:tidied"#
    );
    claude.ask_well(&stage, &tidy, &[&["--resume", &session], &with[..]].concat());
    let sent = stage.received_bodies().pop().expect("a request");
    let words = String::from_utf8_lossy(&sent).into_owned();
    assert!(!words.contains("the pelican lives"), "the request after the edit leaves edited");
    let told = answers(&sent);
    assert_eq!(told.len(), 3, "{told:#?}");
    let own = stage.conversation(|conversation| conversation["session"] == *session);
    for answer in &told {
        assert_eq!(answer["conversation"], own["id"], "{answer}");
        assert_eq!(answer["found_by"], "call", "{answer}");
    }
    assert!(told[0]["rows"].as_array().is_some_and(|rows| rows.len() >= 4), "{}", told[0]);
    assert!(told[1]["tokens_after"].as_u64() < told[1]["tokens_before"].as_u64(), "{}", told[1]);
    let history = stage.json(&["history", "--conv", own["id"].as_str().expect("an id")]);
    assert_eq!(history["commits"][0]["id"], told[2]["commit"]);
    assert_eq!(
        (&history["commits"][0]["author"], &history["commits"][0]["note"]),
        (&json!("mcp"), &json!("the notes are read"))
    );

    claude.ask_well(&stage, "SAY:on we go", &[&["--resume", &session], &with[..]].concat());
    let sent = stage.received_bodies().pop().expect("a request");
    assert!(!String::from_utf8_lossy(&sent).contains("the pelican lives"), "and so do all that follow");
}

#[test]
fn stock_claude_code_drops_results_of_its_own_conversation() {
    edits_its_own(over_stdio);
}

#[test]
fn stock_claude_code_does_the_same_over_http() {
    edits_its_own(over_http);
}

#[test]
fn a_sub_agent_edits_its_own_conversation_and_not_its_parents() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let config = stage.file("mcp.json", &over_stdio(&stage).to_string());
    let prompt = r#"USE_TOOL:mcp__ctx__ctx_status:{}\nTHEN\nUSE_TOOL:mcp__ctx__ctx_apply:{\"operations\":[{\"op\":\"pin\",\"ids\":[\"t1\"]}],\"expect\":\"none\"}\nTHEN\nSAY:pinned"#;
    let start = format!(
        r#"USE_TOOL:Agent:{{"description":"d","prompt":"{prompt}","subagent_type":"general-purpose","run_in_background":false}} ;; THEN ;; SAY:done"#
    );
    let session = claude.ask_well(&stage, &start, &["--mcp-config", &config, "--allowedTools", "mcp__ctx", "Agent"]);
    let agent = stage.conversation(|one| one["session"] == *session && one["class"] == "subagent");
    let main = stage.conversation(|one| one["session"] == *session && one["class"] == "main");
    let head = |one: &Value| stage.json(&["history", "--conv", one["id"].as_str().expect("an id")])["head"].clone();
    assert!(head(&agent).is_string() && head(&main).is_null());
}
