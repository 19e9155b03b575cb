//! The protocol: tools, calls and their results.

use serde_json::json;

use crate::scene::Scene;
use crate::speaker::Speaker;

fn speaker(scene: &Scene) -> Speaker {
    let mut command = scene.place.ctx(&["mcp"]);
    command.env("CLAUDE_CODE_SESSION_ID", scene.session.session_id());
    Speaker::start(command)
}

#[test]
fn an_agent_is_greeted_shortly_and_offered_few_tools() {
    let scene = Scene::new();
    let (mut agent, greeting) = Speaker::named(scene.place.ctx(&["mcp"]), "a-test");
    assert_eq!(greeting["protocolVersion"], "2025-06-18");
    assert_eq!(greeting["serverInfo"]["name"], "ctx");
    let instructions = greeting["instructions"].as_str().expect("instructions");
    assert!(instructions.len() < 700, "{} characters", instructions.len());
    let tools = agent.tools();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "ctx_status",
            "ctx_list",
            "ctx_show",
            "ctx_sent",
            "ctx_search",
            "ctx_preview",
            "ctx_explain",
            "ctx_apply",
            "ctx_undo",
            "ctx_phase"
        ]
    );
    for tool in &tools {
        let looks = !["ctx_apply", "ctx_undo", "ctx_phase"].contains(&tool["name"].as_str().expect("a name"));
        assert_eq!(tool["annotations"]["readOnlyHint"], looks, "{tool}");
        assert!(tool["description"].as_str().is_some_and(|words| words.len() > 20), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object");
    }
    let size = json!(tools).to_string().len();
    assert!(size < 8_000, "the tools take {size} bytes");
    assert_eq!(agent.leave(), Some(0));
}

#[test]
fn an_agent_says_when_a_phase_of_its_work_begins_and_ends() {
    let scene = Scene::new();
    let mut agent = speaker(&scene);
    assert_eq!(agent.call("ctx_phase", json!({"action": "begin", "name": "testing"}))["open"], json!(["testing"]));
    assert_eq!(agent.refused("ctx_phase", json!({"action": "begin", "name": "testing"}))["code"], "open-already");
    assert_eq!(agent.call("ctx_phase", json!({"action": "end"}))["open"], json!([]));
    assert_eq!(agent.refused("ctx_phase", json!({"action": "end"}))["code"], "no-phase");
    assert_eq!(agent.leave(), Some(0));
}

#[test]
fn an_agent_looks_at_its_own_conversation() {
    let scene = Scene::new();
    let mut agent = speaker(&scene);
    let status = agent.call("ctx_status", json!({}));
    assert_eq!(status["found_by"], "session", "{status}");
    assert_eq!(status["session"], scene.session.session_id());
    assert_eq!(
        (&status["head"], &status["class"], &status["may"]),
        (&json!("none"), &json!("main"), &json!("all operations"))
    );
    assert!(status["tokens"].as_u64() > Some(100) && status["last_answer"]["uncached"].is_u64(), "{status}");

    let list = agent.call("ctx_list", json!({}));
    assert_eq!(list["columns"], json!(["id", "tokens", "steps", "title", "state"]));
    let rows = list["rows"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row[0] == "t2" && row[2] == 3 && row[3] == "Count the cows"), "{list}");
    let large = agent.call("ctx_list", json!({"larger_than": rows[2][1].as_u64().expect("tokens") - 1}));
    assert!(large["rows"].as_array().map(Vec::len) < Some(rows.len()) && large["count"] == list["count"]);
    let page = agent.call("ctx_list", json!({"limit": 2}));
    assert_eq!(page["next"], rows[2][0]);
    let rest = agent.call("ctx_list", json!({"from": page["next"]}));
    assert_eq!(rest["rows"].as_array().map(Vec::len), Some(rows.len() - 2));
    let steps = agent.call("ctx_list", json!({"steps_of": "t2"}));
    assert_eq!(steps["rows"].as_array().map(Vec::len), Some(3), "{steps}");
    assert_eq!(steps["rows"][0][0], "t2/1");

    let shown = agent.call("ctx_show", json!({"id": "t1"}));
    let text = shown["text"].as_str().expect("text");
    assert!(text.contains("Find the needle") && text.contains("straw and straw again"), "{text}");
    assert!(text.contains("[t1#") && text.contains("tool_result Read"), "{text}");
    let part = agent.call("ctx_show", json!({"id": "t1", "from": 10, "length": 30}));
    assert_eq!(part["text"].as_str(), text.get(10..40));
    assert_eq!(part["next_from"], 40);

    let found = agent.call("ctx_search", json!({"text": "SEVEN"}));
    assert_eq!(found["found"], 3, "{found}");
    assert!(found["rows"][0][2].as_str().is_some_and(|excerpt| excerpt.contains("seven cows")), "{found}");
    assert_eq!(agent.call("ctx_search", json!({"text": "no such words"}))["found"], 0);
}

#[test]
fn an_agent_previews_applies_and_undoes_and_the_next_request_leaves_edited() {
    let scene = Scene::new();
    let mut agent = speaker(&scene);
    let operations = json!([{"op": "drop-results", "ids": ["t1"]}, {"op": "retitle", "id": "t2", "title": "Cows"}]);
    let preview = agent.call("ctx_preview", json!({"operations": operations}));
    assert_eq!((&preview["head"], &preview["commit"]), (&json!("none"), &json!(null)), "{preview}");
    let tokens = |name: &str| preview[name].as_u64().unwrap_or_else(|| panic!("{name}: {preview}"));
    assert!(tokens("tokens_after") < tokens("tokens_before"));
    assert!(preview["preview"]["tokens_reread"].is_u64() && preview["preview"]["repairs"].is_array(), "{preview}");
    assert!(String::from_utf8_lossy(&scene.send()).contains("straw and straw"), "nothing was done yet");

    let applied = agent.call("ctx_apply", json!({"operations": operations, "expect": "none", "note": "tidy"}));
    let commit = applied["commit"].as_str().expect("a commit");
    assert_eq!(applied["head"], commit);
    assert!(!String::from_utf8_lossy(&scene.send()).contains("straw and straw"));
    let history = scene.json(&["history"]);
    assert_eq!(history["commits"][0]["author"], "mcp");
    assert_eq!(history["commits"][0]["note"], "tidy");
    assert_eq!(history["commits"][0]["operations"], operations, "the operations are those of the log");

    let undone = agent.call("ctx_undo", json!({"expect": commit}));
    assert!(undone["commit"].is_string());
    assert!(String::from_utf8_lossy(&scene.send()).contains("straw and straw"));
    let redone = agent.call("ctx_undo", json!({"action": "redo", "expect": undone["commit"]}));
    agent.call("ctx_undo", json!({"action": "tag", "name": "tidied", "expect": redone["head"]}));
    assert_eq!(scene.json(&["history"])["tags"][0]["name"], "tidied");
}

#[test]
fn an_agent_is_told_what_is_at_risk_and_its_reasons_are_kept() {
    let scene = Scene::new();
    let mut agent = speaker(&scene);
    scene.json(&["pin", "t1"]);
    let delete = json!({"op": "delete", "ids": ["t1"], "reason": "a dead end"});
    let operations = json!([delete, {"op": "retitle", "id": "t2", "title": "Cows"}, {"op": "pin", "ids": ["t4"]}]);
    let preview = agent.call("ctx_preview", json!({"operations": operations}));
    let risks = preview["risks"].as_array().unwrap_or_else(|| panic!("{preview}"));
    assert_eq!(risks.len(), 1, "what is safe is not told: {preview}");
    assert_eq!((&risks[0]["operation"], &risks[0]["risk"]), (&json!(1), &json!("high")), "{preview}");
    assert_eq!(risks[0]["what"][0], "t1 is pinned");
    let operations = json!([{"op": "pin", "ids": ["t1"]}, delete]);
    let preview = agent.call("ctx_preview", json!({"operations": operations}));
    assert!(preview["risks"][0]["nothing"].is_string(), "it changes nothing: {preview}");
    agent.call("ctx_apply", json!({"operations": operations, "expect": preview["head"]}));
    assert_eq!(scene.json(&["history"])["commits"][0]["reasons"], json!([null, "a dead end"]));
}

#[test]
fn a_person_and_an_agent_do_not_overwrite_each_other_unseen() {
    let scene = Scene::new();
    let mut agent = speaker(&scene);
    let seen = agent.call("ctx_list", json!({}))["head"].clone();
    scene.json(&["delete", "t3", "--note", "mine"]);
    let operations = json!([{"op": "delete", "ids": ["t1"]}]);
    let stale = agent.refuses("ctx_apply", json!({"operations": operations, "expect": seen}), "stale");
    assert!(stale["message"].as_str().is_some_and(|told| told.contains(" by cli: ")), "{stale}");
    assert!(stale["since"].is_null(), "once is enough: {stale}");
    agent.refuses("ctx_undo", json!({"expect": seen}), "stale");
    let unsaid = agent.refuses("ctx_apply", json!({"operations": operations}), "expect-needed");
    let head = scene.json(&["history"])["head"].clone();
    assert!(unsaid["hint"].as_str().is_some_and(|hint| hint.contains(head.as_str().expect("a head"))), "{unsaid}");
    agent.refuses("ctx_undo", json!({}), "expect-needed");
    assert_eq!(scene.json(&["history"])["head"], head, "nothing was done");
    agent.call("ctx_apply", json!({"operations": operations, "expect": head}));
}

#[test]
fn what_cannot_be_done_is_refused_with_reason_and_the_server_goes_on() {
    let scene = Scene::new();
    let mut agent = speaker(&scene);
    let before = scene.json(&["history"]);
    agent.refuses("ctx_show", json!({}), "bad-arguments");
    agent.refuses("ctx_list", json!({"size": 3}), "bad-arguments");
    agent.refuses("ctx_show", json!({"id": "t99"}), "unknown-id");
    agent.refuses("ctx_list", json!({"steps_of": "t99"}), "unknown-id");
    agent.refuses("ctx_list", json!({"conv": "zzz"}), "unknown-conversation");
    agent.refuses("ctx_search", json!({"text": " "}), "nothing-named");
    let apply = |operations| json!({"operations": operations, "expect": "none"});
    agent.refuses("ctx_apply", apply(json!([{"op": "delte"}])), "bad-operation");
    agent.refuses("ctx_apply", apply(json!("tidy up")), "bad-operation");
    let told = agent.refuses("ctx_apply", apply(json!([{"op": "delete", "id": "t1"}])), "bad-request");
    assert!(told["message"].as_str().is_some_and(|words| words.contains("unknown field `id`")), "{told}");
    agent.refuses(
        "ctx_apply",
        apply(json!([{"op": "delete", "ids": ["t1"]}, {"op": "delete", "ids": ["t99"]}])),
        "unknown-id",
    );
    agent.refuses("ctx_undo", json!({"expect": "none"}), "nothing-to-do");
    agent.refuses("ctx_undo", json!({"action": "purge", "expect": "none"}), "bad-action");
    assert_eq!(agent.ask("tools/call", json!({"name": "ctx_purge"}))["error"]["code"], -32602);
    assert_eq!(agent.ask("prompts/delete", json!({}))["error"]["code"], -32601);
    agent.write("{nonsense");
    agent.write("[]");
    assert_eq!(agent.call("ctx_list", json!({}))["head"], "none");
    assert_eq!(scene.json(&["history"]), before);
}

#[test]
fn frames_are_resources() {
    let scene = Scene::new();
    let mut agent = speaker(&scene);
    let listed = agent.ask("resources/list", json!({}))["result"].clone();
    let resources = listed["resources"].as_array().expect("resources");
    let third = resources.iter().find(|resource| resource["name"] == "t3").expect("t3");
    assert_eq!(third["title"], "Paint the barn");
    let uri = third["uri"].as_str().expect("a uri");
    assert!(uri.starts_with("ctx://conversation/c") && uri.ends_with("/frame/t3"), "{uri}");
    let mut read = |uri: &str| agent.ask("resources/read", json!({"uri": uri}));
    let text = read(uri)["result"]["contents"][0]["text"].clone();
    assert!(text.as_str().is_some_and(|text| text.contains("it is red now")), "{text}");
    for uri in ["ctx://conversation/own/frame/t3", "ctx://conversation/active/frame/t3"] {
        assert_eq!(read(uri)["result"]["contents"][0]["text"], text, "{uri}");
    }
    let step = read("ctx://conversation/own/frame/t2/1");
    assert!(step["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.contains("seven cows")), "{step}");
    for uri in ["ctx://conversation/own/frame/t99", "ctx://conversation/none/frame/t1", "file:///etc/passwd"] {
        assert_eq!(read(uri)["error"]["code"], -32002, "{uri}");
    }
    let templates = agent.ask("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "ctx://conversation/{conversation}/frame/{frame}");
}

#[test]
fn an_agent_lets_a_change_wait_and_takes_it_back() {
    let scene = Scene::new();
    scene.settle();
    let mut agent = speaker(&scene);
    let edit = json!({"operations": [{"op": "delete", "ids": ["t1"]}], "expect": "none", "when": "cold"});
    let told = agent.call("ctx_apply", edit);
    assert_eq!((&told["waiting"], &told["head"]), (&json!("w1"), &json!("none")), "{told}");
    let status = agent.call("ctx_status", json!({}));
    assert_eq!(
        (&status["waiting"][0]["id"], &status["waiting"][0]["when"]),
        (&json!("w1"), &json!("cold")),
        "{status}"
    );
    let cancelled = agent.call("ctx_undo", json!({"cancel": "w1", "expect": "none"}));
    assert_eq!(cancelled["state"], "cancelled", "{cancelled}");
    assert!(agent.call("ctx_status", json!({}))["waiting"].is_null());
}
