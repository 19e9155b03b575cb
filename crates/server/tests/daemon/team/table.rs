//! Every route and every MCP tool for every kind of caller, and for keys of every scope. A route or tool that is missing
//! here fails the test.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::scene::{SECRET, Team};

/// The callers, in the order of the columns: no key, a revoked key, a stranger, an auditor, an admin, a guest who may
/// look, a guest who may edit, the owner.
const CALLERS: [Option<&str>; 8] =
    [None, Some("fred"), Some("dora"), Some("eve"), Some("adam"), Some("bob"), Some("carl"), Some("anna")];

/// The outcome for each caller: `!` needs a key (401), `x` needs a role (403), `-` does not exist for them (404), `y` is
/// allowed.
type Row = (&'static str, &'static str, &'static str, &'static str);

const OWN: &str = "!!yyyyyy";
const LOOK: &str = "!!---yyy";
const EDIT: &str = "!!---xyy";
const OWNER: &str = "!!-----y";

/// Method, path, body, outcomes. Routes that take something away come last.
const ROUTES: &[Row] = &[
    ("get", "/status", "", OWN),
    ("get", "/openapi.json", "", OWN),
    ("get", "/metrics", "", "!!xyyxxx"),
    ("get", "/conversations", "", OWN),
    ("get", "/conversations/{conversation}/frames", "", LOOK),
    ("get", "/conversations/{conversation}/frames/{id}", "", LOOK),
    ("get", "/conversations/{conversation}/offloaded/{handle}", "", LOOK),
    ("get", "/conversations/{conversation}/compose", "", LOOK),
    ("get", "/conversations/{conversation}/requests/{request}", "", LOOK),
    ("get", "/conversations/{conversation}/requests/{request}/body", "", LOOK),
    ("get", "/conversations/{conversation}/explain", "", LOOK),
    ("get", "/conversations/{conversation}/diff", "", LOOK),
    ("get", "/conversations/{conversation}/history", "", LOOK),
    ("post", "/conversations/{conversation}/history", r#"{"action":"undo","author":"x"}"#, EDIT),
    ("get", "/conversations/{conversation}/branches", "", LOOK),
    ("get", "/conversations/{conversation}/tags", "", LOOK),
    (
        "post",
        "/conversations/{conversation}/operations",
        r#"{"operations":[{"op":"pin","ids":["t1"]}],"author":"x"}"#,
        EDIT,
    ),
    ("post", "/conversations/{conversation}/plan", r#"{"operations":[{"op":"pin","ids":["t1"]}]}"#, EDIT),
    ("get", "/conversations/{conversation}/waiting", "", LOOK),
    ("post", "/conversations/{conversation}/waiting/accept", r#"{"ids":["all"],"author":"x"}"#, EDIT),
    ("post", "/conversations/{conversation}/waiting/cancel", r#"{"ids":["all"],"author":"x"}"#, EDIT),
    ("post", "/conversations/{conversation}/waiting/{edit}/cancel", r#"{"author":"x"}"#, EDIT),
    ("post", "/conversations/{conversation}/waiting/{edit}/accept", r#"{"author":"x"}"#, EDIT),
    ("get", "/conversations/{conversation}/context", "", LOOK),
    ("get", "/conversations/{conversation}/worth", "", LOOK),
    ("post", "/conversations/{conversation}/clear", r#"{"author":"x"}"#, EDIT),
    ("get", "/conversations/{conversation}/phases", "", LOOK),
    ("post", "/conversations/{conversation}/phases", r#"{"action":"begin","name":"p","author":"x"}"#, EDIT),
    ("get", "/conversations/{conversation}/export", "", LOOK),
    (
        "post",
        "/conversations/{conversation}/helper",
        r#"{"operations":[{"op":"pin","ids":["t1"]}],"author":"x"}"#,
        OWNER,
    ),
    ("get", "/helper", "", OWN),
    ("post", "/helper/test", "{}", OWN),
    ("get", "/helper/jobs/{job}", "", OWN),
    ("post", "/helper/jobs/{job}/cancel", "{}", OWN),
    ("post", "/helper/jobs/{job}/retry", "{}", OWN),
    ("post", "/conversations/{conversation}/heal", r#"{"author":"x"}"#, EDIT),
    ("get", "/conversations/{conversation}/map", "", LOOK),
    ("get", "/conversations/{conversation}/timeline", "", LOOK),
    ("get", "/conversations/{conversation}/misses", "", LOOK),
    ("get", "/stats", "", OWN),
    ("get", "/models", "", OWN),
    ("get", "/explain", "", OWN),
    ("get", "/explain/{name}", "", OWN),
    ("get", "/search", "", OWN),
    ("get", "/events", "", OWN),
    ("post", "/import", "nothing", OWN),
    ("get", "/me", "", OWN),
    ("get", "/people", "", "!!xyyxxx"),
    ("post", "/people", r#"{"name":"{new}"}"#, "!!xxyxxx"),
    ("post", "/people/{person}", r#"{"groups":["core"]}"#, "!!xxyxxx"),
    ("get", "/people/{person}/conversations", "", "!!xyyxxx"),
    ("get", "/keys", "", OWN),
    ("post", "/keys", "{}", OWN),
    ("post", "/keys/{key}/revoke", "{}", "!!--y--y"),
    // No login has this code, and only the page decides.
    ("get", "/logins/{code}", "", OWN),
    ("post", "/logins/{code}/approve", "{}", "!!xxxxxx"),
    ("post", "/logins/{code}/refuse", "{}", "!!xxxxxx"),
    ("get", "/conversations/{conversation}/shares", "", OWNER),
    ("post", "/conversations/{conversation}/share", r#"{"person":"dora"}"#, OWNER),
    ("post", "/conversations/{conversation}/unshare", r#"{"person":"dora"}"#, OWNER),
    ("get", "/shares", "", OWN),
    ("get", "/notices", "", OWN),
    ("get", "/audit", "", "!!xyyxxx"),
    ("post", "/people/{person}/remove", "{}", "!!xxyxxx"),
    ("post", "/people/anna/conversations/{conversation}/open", r#"{"reason":"a good reason"}"#, "!!xyyxxx"),
    // Those who opened it may look now, and still not purge.
    ("post", "/purge", r#"{"conversations":["{conversation}"]}"#, OWNER),
];

/// Tool, arguments, outcomes. They come to the API with the same key.
const TOOLS: &[(&str, &str, &str)] = &[
    ("ctx_status", "{}", LOOK),
    ("ctx_list", "{}", LOOK),
    ("ctx_show", r#"{"id":"t1"}"#, LOOK),
    ("ctx_sent", r#"{"request":"r1"}"#, LOOK),
    ("ctx_search", r#"{"text":"question"}"#, OWNER),
    ("ctx_preview", r#"{"operations":[{"op":"pin","ids":["t1"]}]}"#, EDIT),
    ("ctx_explain", r#"{"name":"stale"}"#, OWN),
    ("ctx_apply", r#"{"operations":[{"op":"pin","ids":["t1"]}],"expect":"none"}"#, EDIT),
    ("ctx_undo", r#"{"expect":"none"}"#, EDIT),
    ("ctx_phase", r#"{"action":"begin","name":"q"}"#, EDIT),
];

/// The codes of answers that hide whether something exists.
const HIDDEN: [&str; 4] = ["unknown-conversation", "no-conversation", "unknown-person", "unknown-key"];

fn outcome(status: u16, code: &str) -> char {
    match status {
        401 => '!',
        403 => 'x',
        _ if HIDDEN.contains(&code) => '-',
        404 if code == "unknown-path" => '?',
        _ => 'y',
    }
}

struct Table {
    team: Team,
    conversation: String,
    made: usize,
}

impl Table {
    fn lines(&self, caller: Option<&str>) -> String {
        caller.map(|name| self.team.bearer(name)).unwrap_or_default()
    }

    /// Puts the names of existing things into a path or a body.
    async fn filled(&mut self, text: &str) -> String {
        let mut text =
            text.replace("{conversation}", &self.conversation).replace("{id}", "t1").replace("{request}", "r1");
        text = text
            .replace("{edit}", "w1")
            .replace("{job}", "h1")
            .replace("{name}", "stale")
            .replace("{code}", "BCDF-GHJK");
        text = text.replace("{handle}", "o-0123456789abcdef");
        self.made += 1;
        let new = format!("new{}", self.made);
        if text.contains("{person}") {
            self.team.house.post("people", &json!({"name": new})).await;
            text = text.replace("{person}", &new);
        }
        if text.contains("{key}") {
            let key = self.team.post("anna", "keys", &json!({})).await;
            text = text.replace("{key}", key["id"].as_str().expect("an id"));
        }
        text.replace("{new}", &new)
    }

    async fn send(&mut self, row: &Row, lines: &str) -> (char, String) {
        let (method, path, body, _) = row;
        let (path, body) = (self.filled(path).await, self.filled(body).await);
        let path = match path.as_str() {
            "/search" => format!("search?q={SECRET}"),
            path => path.trim_start_matches('/').to_owned(),
        };
        let (status, answer) = self.team.call(lines, &method.to_uppercase(), &path, &body).await;
        let json: Value = serde_json::from_str(&answer).unwrap_or_default();
        (outcome(status, json["error"]["code"].as_str().unwrap_or_default()), answer)
    }

    async fn use_tool(&mut self, tool: &str, arguments: &str, lines: &str) -> (char, String) {
        let mut arguments: Value = serde_json::from_str(arguments).expect("arguments");
        if tool != "ctx_explain" {
            arguments["conv"] = self.conversation.clone().into();
        }
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        let (status, answer) = self.team.call(lines, "POST", "mcp", &call.to_string()).await;
        let json: Value = serde_json::from_str(&answer).unwrap_or_default();
        let told = &json["result"]["structuredContent"];
        let code = told["code"].as_str().or(told["error"]["code"].as_str()).unwrap_or_default();
        let is_refused = json["result"]["isError"] == true;
        let found = match code {
            "role-needed" | "scope-needed" => 'x',
            code => outcome(status, code),
        };
        assert!(status == 401 || json["result"].is_object(), "{tool}: {answer}");
        assert!(found == 'y' || status == 401 || is_refused, "{tool}: {answer}");
        (found, answer)
    }
}

fn column(outcomes: &str, number: usize) -> char {
    outcomes.chars().nth(number).expect("a column for every caller")
}

#[tokio::test]
async fn every_route_is_open_to_exactly_those_who_may_use_it() {
    let (team, conversation) = Team::sharing().await;
    let document = team.get("anna", "openapi.json").await;
    let mut known = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        known.extend(methods.as_object().expect("methods").keys().map(|method| format!("{method} {path}")));
    }
    let listed = ROUTES
        .iter()
        .map(|(method, path, ..)| format!("{method} {}", path.replace("/people/anna/", "/people/{person}/")));
    assert_eq!(listed.collect::<BTreeSet<_>>(), known, "a route is missing in the table, or does not exist");
    let mut table = Table { team, conversation, made: 0 };
    let mut wrong = Vec::new();
    for row in ROUTES {
        for (number, caller) in CALLERS.into_iter().enumerate() {
            let wanted = column(row.3, number);
            let lines = table.lines(caller);
            let (found, answer) = table.send(row, &lines).await;
            if found != wanted {
                wrong.push(format!("{} {} by {caller:?}: {found} instead of {wanted}: {answer:.200}", row.0, row.1));
            }
            // Only the owner and the guests see its content.
            if number < 5 && answer.contains(SECRET) && row.1 != "/search" {
                wrong.push(format!("{} {} shows words to {caller:?}: {answer:.200}", row.0, row.1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn every_tool_is_open_to_exactly_those_who_may_use_it() {
    let (team, conversation) = Team::sharing().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let (_, answer) = team.call(&team.bearer("anna"), "POST", "mcp", &list.to_string()).await;
    let answer: Value = serde_json::from_str(&answer).expect(&answer);
    let tools = answer["result"]["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str());
    let listed: BTreeSet<&str> = TOOLS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(listed, tools.collect::<BTreeSet<_>>(), "a tool is missing in the table, or does not exist");
    let mut table = Table { team, conversation, made: 0 };
    let mut wrong = Vec::new();
    for (tool, arguments, outcomes) in TOOLS {
        for (number, caller) in CALLERS.into_iter().enumerate() {
            let wanted = column(outcomes, number);
            let lines = table.lines(caller);
            let (found, answer) = table.use_tool(tool, arguments, &lines).await;
            if found != wanted || (number < 5 && answer.contains(SECRET)) {
                wrong.push(format!("{tool} by {caller:?}: {found} instead of {wanted}: {answer:.300}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The scope that a route needs.
fn scope_of(method: &str, path: &str) -> Option<&'static str> {
    let manages =
        ["/people", "/keys", "/logins"].iter().any(|start| path.starts_with(start)) || path.ends_with("share");
    match (method, path) {
        ("get", "/status" | "/me" | "/openapi.json" | "/models" | "/explain" | "/explain/{name}") => None,
        ("get", _) => Some("look"),
        _ if manages => Some("admin"),
        _ => Some("edit"),
    }
}

/// The scopes of a key that was made for one.
fn included(scope: &str) -> &'static [&'static str] {
    match scope {
        "proxy" => &["proxy"],
        "look" => &["look"],
        "edit" => &["look", "edit"],
        _ => &["admin"],
    }
}

/// The header lines for keys of one scope each, of the owner and of the admin.
async fn keys_by_scope(team: &Team) -> Vec<(&'static str, String, String)> {
    let mut keys = Vec::new();
    for scope in ["proxy", "look", "edit", "admin"] {
        let mut lines = Vec::new();
        for person in ["anna", "adam"] {
            let made = team.house.post("keys", &json!({"person": person, "scopes": [scope]})).await;
            lines.push(format!("Authorization: Bearer {}\r\n", made["key"].as_str().expect("a key")));
        }
        let [owner, admin] = <[String; 2]>::try_from(lines).expect("two");
        keys.push((scope, owner, admin));
    }
    keys
}

#[tokio::test]
async fn every_route_is_open_to_exactly_the_keys_with_its_scope() {
    let (team, conversation) = Team::sharing().await;
    let keys = keys_by_scope(&team).await;
    let mut table = Table { team, conversation, made: 0 };
    let mut wrong = Vec::new();
    for row in ROUTES {
        let needed = scope_of(row.0, row.1);
        for (scope, owner, admin) in &keys {
            // A person whom the role does not refuse.
            let lines = if column(row.3, 7) == 'y' { owner } else { admin };
            let (found, answer) = table.send(row, lines).await;
            let is_open = needed.is_none_or(|needed| included(scope).contains(&needed));
            let names_it =
                row.1 == "/events" || (answer.contains("scope-needed") && answer.contains(needed.unwrap_or("-")));
            // A login is decided on the page only, and a key with the scope gets that far.
            let passed = found != 'x' || answer.contains("cross-site");
            if passed != is_open || (!is_open && !names_it) {
                wrong.push(format!("{} {} with {scope}: {found}: {answer:.200}", row.0, row.1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_key_of_any_role_and_scope_revokes_itself_and_the_audit_tells_it() {
    let (team, _) = Team::sharing().await;
    // Everyone whose own key counts.
    for person in CALLERS.into_iter().flatten().filter(|name| *name != "fred") {
        for scope in ["proxy", "look", "edit", "admin"] {
            let made = team.house.post("keys", &json!({"person": person, "scopes": [scope]})).await;
            let (key, id) = (made["key"].as_str().expect("a key"), made["id"].as_str().expect("an id"));
            let lines = format!("Authorization: Bearer {key}\r\n");
            let path = format!("keys/{id}/revoke");
            let (status, answer) = team.call(&lines, "POST", &path, "{}").await;
            assert_eq!(status, 200, "{person}, {scope}: {answer}");
            assert_eq!(team.call(&lines, "POST", &path, "{}").await.0, 401, "{person}, {scope}: it is over");
            let audit = team.get("adam", "audit").await;
            let entries = audit["entries"].as_array().expect("entries");
            let is_it = |entry: &&Value| {
                let told = entry.to_string();
                told.contains("key-revoked") && told.contains(id) && told.contains(&format!("\"{person}\""))
            };
            assert_eq!(entries.iter().filter(is_it).count(), 1, "{person}, {scope}: {audit}");
        }
    }
}

#[tokio::test]
async fn every_tool_is_open_to_exactly_the_keys_with_its_scope() {
    let (team, conversation) = Team::sharing().await;
    let keys = keys_by_scope(&team).await;
    let mut table = Table { team, conversation, made: 0 };
    for (tool, arguments, outcomes) in TOOLS {
        for (scope, owner, _) in &keys {
            let is_open = match *outcomes {
                OWN => true,
                EDIT => included(scope).contains(&"edit"),
                _ => included(scope).contains(&"look"),
            };
            let (found, answer) = table.use_tool(tool, arguments, owner).await;
            assert_eq!(found != 'x', is_open, "{tool} with {scope}: {answer:.300}");
        }
    }
}
