//! The same server at `/control/v1/mcp`, with the access checks of the control API.

use serde_json::{Value, json};
use testkit::Client;

use crate::place::Place;
use crate::scene::{Scene, four_turns};

/// One exchange with the daemon, with the token and its own host name unless other headers are given.
pub fn ask(place: &Place, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
    let listen = place.notice().expect("a daemon")["listen"].as_str().expect("an address").to_owned();
    let token = std::fs::read_to_string(place.home().join("token")).expect("a token");
    let mut all: Vec<(String, String)> = [
        ("Host", listen.clone()),
        ("Authorization", format!("Bearer {}", token.trim())),
        ("Content-Type", "application/json".to_owned()),
        ("Accept", "application/json, text/event-stream".to_owned()),
    ]
    .into_iter()
    .filter(|(name, _)| !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)))
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    all.extend(
        headers.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| ((*name).into(), (*value).into())),
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let response = runtime.block_on(async {
        let mut client = Client::connect(&format!("http://{listen}")).await.expect("connected");
        client.send(method, target, &all, body.as_bytes()).await.expect("an answer")
    });
    (response.status, response.json().unwrap_or(Value::Null))
}

const MCP: &str = "/control/v1/mcp";

fn rpc(place: &Place, headers: &[(&str, &str)], method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
    let (status, answer) = ask(place, "POST", MCP, headers, &body);
    assert_eq!((status, &answer["id"]), (200, &json!(7)), "{method}: {answer}");
    answer
}

#[test]
fn the_doors_of_the_control_api_are_the_doors_of_the_server() {
    let scene = Scene::new();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    for (headers, status, code) in [
        (("Authorization", ""), 401, "token-needed"),
        (("Authorization", "Bearer wrong"), 401, "token-wrong"),
        (("Host", "evil.example"), 403, "foreign-host"),
        (("Origin", "http://evil.example"), 403, "cross-site"),
        (("Sec-Fetch-Site", "cross-site"), 403, "cross-site"),
    ] {
        let (given, answer) = ask(&scene.place, "POST", MCP, &[headers], &body);
        assert_eq!((given, &answer["error"]["code"]), (status, &json!(code)), "{headers:?}: {answer}");
    }
    assert_eq!(ask(&scene.place, "POST", MCP, &[], &body).0, 200);
    assert_eq!(ask(&scene.place, "GET", MCP, &[], "").0, 405, "there is nothing to listen to");
}

#[test]
fn an_agent_works_over_http_and_its_session_is_in_a_header() {
    let scene = Scene::new();
    let place = &scene.place;
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    assert_eq!(rpc(place, &[], "initialize", hello)["result"]["serverInfo"]["name"], "ctx");
    let notified = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    assert_eq!(ask(place, "POST", MCP, &[], &notified).0, 202);
    assert_eq!(rpc(place, &[], "tools/list", json!({}))["result"]["tools"].as_array().map(Vec::len), Some(10));

    let session = [("X-Claude-Code-Session-Id", scene.session.session_id())];
    let call = |headers: &[(&str, &str)], tool: &str, arguments: Value| {
        rpc(place, headers, "tools/call", json!({"name": tool, "arguments": arguments}))["result"]["structuredContent"]
            .clone()
    };
    let list = call(&session, "ctx_list", json!({}));
    assert_eq!((&list["found_by"], &list["head"]), (&json!("session"), &json!("none")), "{list}");
    assert_eq!(call(&[], "ctx_list", json!({}))["found_by"], "newest");
    assert_eq!(call(&[], "ctx_list", json!({"conv": list["conversation"]}))["found_by"], "argument");
    let operations = json!([{"op": "drop-results", "ids": ["t1"]}]);
    let applied = call(&session, "ctx_apply", json!({"operations": operations, "expect": "none"}));
    assert!(applied["commit"].is_string(), "{applied}");
    assert!(!String::from_utf8_lossy(&scene.send()).contains("straw and straw"));
    let pin = json!({"operations": [{"op": "pin", "ids": ["t1"]}], "expect": applied["head"]});
    assert_eq!(call(&[], "ctx_apply", pin)["conversation"], list["conversation"], "there is no other");
    scene.send_other(&four_turns(2));
    let pin = json!({"operations": [{"op": "pin", "ids": ["t2"]}], "expect": "none"});
    assert_eq!(call(&[], "ctx_list", json!({}))["found_by"], "newest");
    assert_eq!(call(&[], "ctx_apply", pin)["error"]["code"], "ambiguous-conversation");
    let unknown = [("X-Claude-Code-Session-Id", "somebody-else")];
    assert_eq!(call(&unknown, "ctx_list", json!({}))["error"]["code"], "not-through-ctx");
    let found = rpc(place, &session, "resources/list", json!({}))["result"]["resources"].clone();
    assert!(found.as_array().is_some_and(|all| all.len() > 4), "{found}");
}

#[test]
fn the_daemons_file_decides_what_may_be_done_over_http() {
    let scene = Scene::configured("[mcp]\nread_only = true\n");
    let names = rpc(&scene.place, &[], "tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(names.as_array().map(Vec::len), Some(7), "{names}");
    let apply =
        json!({"name": "ctx_apply", "arguments": {"operations": [{"op": "pin", "ids": ["t1"]}], "expect": "none"}});
    let refused = rpc(&scene.place, &[], "tools/call", apply);
    assert_eq!(refused["result"]["structuredContent"]["error"]["code"], "read-only", "{refused}");
}
