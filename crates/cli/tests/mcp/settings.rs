//! Flags and `ctx.toml` limit what an agent may do; the stricter one wins.

use serde_json::{Value, json};

use crate::scene::Scene;
use crate::speaker::Speaker;

const LOOKING: [&str; 7] =
    ["ctx_status", "ctx_list", "ctx_show", "ctx_sent", "ctx_search", "ctx_preview", "ctx_explain"];

fn apply(operation: &str) -> Value {
    json!({"operations": [{"op": operation, "ids": ["t1"]}], "expect": "none"})
}

#[test]
fn a_server_that_may_only_look_offers_and_does_nothing_else() {
    let scene = Scene::new();
    let mut agent = Speaker::start(scene.place.ctx(&["mcp", "--read-only"]));
    assert_eq!(agent.tool_names(), LOOKING);
    assert_eq!(agent.call("ctx_status", json!({}))["may"], "read only");
    agent.call("ctx_preview", json!({"operations": [{"op": "delete", "ids": ["t1"]}]}));
    agent.refuses("ctx_apply", apply("delete"), "read-only");
    agent.refuses("ctx_undo", json!({"expect": "none"}), "read-only");
    assert!(scene.json(&["history"])["head"].is_null());
}

#[test]
fn only_the_allowed_operations_are_done() {
    let scene = Scene::new();
    let mut agent = Speaker::start(scene.place.ctx(&["mcp", "--allow", "pin,drop-results"]));
    let tools = agent.tools();
    let allowed = |tool: &str, path: &str| {
        let tool = tools.iter().find(|one| one["name"] == tool).expect("the tool");
        tool["inputSchema"].pointer(path).expect("an enum").clone()
    };
    assert_eq!(allowed("ctx_apply", "/properties/operations/items/properties/op/enum"), json!(["drop-results", "pin"]));
    assert_eq!(allowed("ctx_undo", "/properties/action/enum"), json!(["undo", "redo"]));
    assert_eq!(agent.call("ctx_status", json!({}))["may"], json!(["drop-results", "pin"]));
    let told = agent.refuses("ctx_apply", apply("delete"), "not-allowed");
    assert!(told["message"].as_str().is_some_and(|words| words.contains("drop-results, pin")), "{told}");
    let mixed =
        json!({"operations": [{"op": "pin", "ids": ["t1"]}, {"op": "delete", "ids": ["t2"]}], "expect": "none"});
    agent.refuses("ctx_apply", mixed, "not-allowed");
    let head = agent.call("ctx_apply", apply("pin"))["head"].clone();
    agent.refuses("ctx_undo", json!({"action": "rollback", "target": head, "expect": head}), "not-allowed");
    agent.call("ctx_undo", json!({"expect": head}));
}

#[test]
fn the_file_forbids_what_the_flag_would_allow() {
    let scene = Scene::configured("[mcp]\nallow = [\"pin\", \"delete\"]\n");
    let mut agent = Speaker::start(scene.place.ctx(&["mcp", "--allow", "pin,edit"]));
    agent.refuses("ctx_apply", apply("delete"), "not-allowed");
    agent.call("ctx_apply", apply("pin"));
    let locked = Scene::configured("[mcp]\nread_only = true\n");
    assert_eq!(Speaker::start(locked.place.ctx(&["mcp"])).tool_names(), LOOKING);
}

#[test]
fn an_unknown_operation_in_the_allow_list_is_told_at_once() {
    let place = crate::place::Place::new();
    let ran = place.run(&["mcp", "--allow", "delte"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("no operation `delte`") && ran.err.contains("drop-results"), "{ran:?}");
}
