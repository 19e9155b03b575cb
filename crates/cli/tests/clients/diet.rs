//! Stock Claude Code on a diet: a strict provider accepts every request, a deferred tool is found and called, edits and
//! their reversal work, and the prefix is much smaller, alone and with MCP servers.

use serde_json::{Value, json};
use testkit::Options;

use crate::claude::Claude;
use crate::stage::{Stage, needed, until};

const TOML: &str = "[context_editing]\nmode = \"on\"\n[context_editing.diet]\nafter_conversations = 2\n";

fn stage() -> Stage {
    Stage::configured(Options { tool_search: true, ..Options::strict() }, TOML)
}

fn parsed(bodies: Vec<Vec<u8>>) -> Vec<Value> {
    bodies.iter().map(|body| serde_json::from_slice(body).expect("JSON")).collect()
}

/// The newest request, as the client sent it and as the provider received it.
fn newest(stage: &Stage) -> (Value, Value) {
    let last = |bodies: Vec<Vec<u8>>| parsed(bodies).pop().expect("a request");
    (last(stage.sent_bodies()), last(stage.received_bodies()))
}

fn is_deferred(body: &Value, name: &str) -> bool {
    let tools = body["tools"].as_array().expect("tools");
    tools.iter().find(|tool| tool["name"] == name).expect("the tool is there")["defer_loading"] == true
}

/// Conversations after which the diet knows the tools that this agent calls.
fn get_used(claude: &Claude, stage: &Stage, arguments: &[&str]) {
    for _ in 0..2 {
        let arguments = [arguments, &["--allowedTools", "Bash"]].concat();
        claude.ask_well(stage, "USE_TOOL:Bash:echo hello ;; THEN ;; SAY:done", &arguments);
    }
}

#[test]
fn a_deferred_tool_is_found_and_called_and_edits_and_undo_work() {
    let Some(claude) = Claude::find() else { return };
    let stage = stage();
    get_used(&claude, &stage, &[]);
    let prompt = "THINK:who ;; FIND_TOOL:\"ListAgents\" ;; USE_TOOL:ListAgents:{} ;; THEN ;; THINK:well ;; SAY:found";
    let result = claude.ask(&stage, prompt, &[]);
    assert_eq!((&result["is_error"], &result["result"]), (&json!(false), &json!("found")), "{result:#}");
    let session = result["session_id"].as_str().expect("a session");
    let (sent, received) = newest(&stage);
    assert!(is_deferred(&received, "ListAgents") && !is_deferred(&sent, "ListAgents"));
    let notes = |body: &Value| body["messages"][1].to_string();
    let skills = |body: &Value| notes(body).matches("\\n- ").count();
    assert!(notes(&received).len() < notes(&sent).len() / 2, "{}", notes(&received));
    assert_eq!(skills(&received), skills(&sent), "every skill and agent is still named");
    assert!(!is_deferred(&received, "Bash"), "it was called before");
    let said = received["messages"].to_string();
    assert!(said.contains("tool_search_tool_result") && said.contains("No reachable agents"), "{said}");

    let found = stage.conversation(|conversation| conversation["session"] == *session);
    let id = found["id"].as_str().expect("an id");
    let commit = until("the commit is told", || {
        let commits = stage.json(&["history", "--conv", id])["commits"].as_array().cloned()?;
        commits.into_iter().find(|commit| commit["author"] == "policy")
    });
    assert!(commit["note"].as_str().is_some_and(|note| note.contains("not called in 2 conversations")), "{commit:#}");

    let goes_on = |prompt: &str| {
        let result = claude.ask(&stage, prompt, &["--resume", session]);
        assert_eq!(result["is_error"], false, "{result:#}");
        newest(&stage).1
    };
    let change = |arguments: &[&str]| {
        let output = stage.ctx(&[arguments, &["--conv", id]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    assert!(is_deferred(&goes_on("USE_TOOL:ListAgents:{} ;; THEN ;; SAY:again"), "ListAgents"), "it stays loaded");
    change(&["drop-results", "t1"]);
    let results = |body: Value| body.to_string().matches("No reachable agents").count();
    assert_eq!(results(goes_on("SAY:less")), 1);
    change(&["undo"]);
    assert_eq!(results(goes_on("SAY:all")), 2);
    change(&["revert", commit["id"].as_str().expect("an id")]);
    let received = goes_on("USE_TOOL:ListAgents:{} ;; THEN ;; SAY:loaded");
    assert_eq!(notes(&received), notes(&newest(&stage).0));
    assert!(!is_deferred(&received, "ListAgents") && !received["tools"].to_string().contains("tool_search_tool_regex"));
    let answers = stage.front.exchanges();
    let statuses: Vec<u16> = answers.iter().filter_map(|exchange| Some(exchange.response.as_ref()?.status)).collect();
    assert!(statuses.iter().all(|status| *status == 200), "the provider takes every request: {statuses:?}");
}

/// The characters that the model reads before the first typed words, by part.
fn prefix(body: &Value) -> Vec<(String, usize)> {
    let tools = body["tools"].as_array().expect("tools").iter().filter(|tool| tool["defer_loading"] != true);
    let mut parts: Vec<(String, usize)> = tools
        .map(|tool| (format!("tool {}", tool["name"].as_str().unwrap_or_default()), tool.to_string().len()))
        .collect();
    parts.push(("system prompt".to_owned(), body["system"].to_string().len()));
    let messages = body["messages"].as_array().expect("messages").iter();
    parts.extend(messages.map(|message| (format!("{} message", message["role"]), message.to_string().len())));
    parts
}

#[test]
fn the_prefix_shrinks_by_half_alone_and_with_mcp_servers() {
    let (Some(claude), Some(servers)) = (Claude::find(), needed("CTX_TEST_MCP_SERVERS")) else { return };
    for names in [&[][..], &["filesystem", "memory", "github"]] {
        let stage = stage();
        let server = |name: &&str| {
            let program = servers.join(format!("server-{name}/dist/index.js"));
            ((*name).to_owned(), json!({"command": "node", "args": [program, stage.path("work")]}))
        };
        let servers: serde_json::Map<String, Value> = names.iter().map(server).collect();
        let file = stage.file("mcp.json", &json!({"mcpServers": servers}).to_string());
        let arguments = ["--mcp-config", &file, "--strict-mcp-config"];
        get_used(&claude, &stage, &arguments);
        claude.ask_well(&stage, "SAY:hello", &arguments);
        let (sent, received) = newest(&stage);
        let mentions = |name: &&&str| sent.to_string().contains(&format!("mcp__{name}__"));
        assert_eq!(names.iter().filter(mentions).count(), names.len(), "every server answers");
        let total = |body: &Value| prefix(body).iter().map(|(_, size)| size).sum::<usize>();
        let (before, after) = (total(&sent), total(&received));
        println!("{} servers: {before} characters, {after} on a diet", names.len());
        prefix(&sent).iter().for_each(|(part, size)| println!("  {size:>6} {part}"));
        assert!(after * 2 <= before, "{before} to {after}");
        let listed = |body: &Value| body["tools"].as_array().map_or(0, Vec::len);
        assert_eq!(listed(&received), listed(&sent) + 1, "no tool is missing, and a search is there");
    }
}
