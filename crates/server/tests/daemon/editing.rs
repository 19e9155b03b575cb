//! The control API for editing: every path, and its refusals.

use crate::support::house::{Arrived, Router, answer, conversation, request};
use crate::support::raw::RawServer;
use serde_json::{Value, json};

async fn known() -> (RawServer, Router) {
    let server = RawServer::open().await;
    let house = Router::before(&server).await;
    house.talk(&server, "one", &conversation("one", 4)).await;
    (server, house)
}

fn turn(action: &str, more: &Value) -> Value {
    let mut body = json!({"action": action, "author": "test"});
    more.as_object().into_iter().flatten().for_each(|(name, value)| body[name] = value.clone());
    body
}

#[tokio::test]
async fn operations_become_a_commit_that_every_view_shows() {
    let (_server, house) = known().await;
    let dry = json!({"operations": [{"op": "delete", "ids": ["t2"]}], "author": "cli", "note": null, "expect": "none", "dry_run": true});
    let preview = house.post("conversations/one/operations", &dry).await;
    assert_eq!((&preview["commit"], &preview["frames"]), (&Value::Null, &json!(["t2"])));
    assert!(preview["tokens_after"].as_u64() < preview["tokens_before"].as_u64(), "{preview}");
    assert_eq!(preview["preview"]["first_change"].as_str().map(|id| id.starts_with('t')), Some(true), "{preview}");
    assert_eq!(house.get("status").await["edited"], 0, "nothing was done");

    let applied = house.edit("one", json!([{"op": "delete", "ids": ["t2"]}, {"op": "pin", "ids": ["t1"]}])).await;
    let commit = applied["commit"].as_str().expect("a commit");
    assert_eq!(
        (&applied["branch"], &applied["problem"], &applied["files"]),
        (&json!("main"), &Value::Null, &json!([]))
    );
    assert_eq!(house.get("status").await["edited"], 1);

    let history = house.get("conversations/one/history").await;
    assert_eq!((&history["head"], &history["commits"][0]["id"]), (&json!(commit), &json!(commit)));
    assert_eq!(history["commits"][0]["operations"][0]["op"], "delete");
    let frame = |frames: &Value| {
        let frames = frames["frames"].as_array().expect("frames").clone();
        frames.into_iter().find(|frame| frame["id"] == "t2").expect("t2")
    };
    assert_eq!(frame(&house.get("conversations/one/frames?steps=true").await)["state"], json!(["deleted"]));
    assert_eq!(frame(&house.get("conversations/one/frames?at=source").await)["state"], json!([]));
    assert_eq!(house.get("conversations/one/frames/t1?at=source").await["id"], "t1");
    let diff = house.get("conversations/one/diff").await;
    assert_eq!(
        (&diff["from"], &diff["to"], &frame(&diff)["change"]),
        (&json!("source"), &json!("HEAD"), &json!("removed"))
    );
    let explained = house.get("conversations/one/explain").await;
    assert_eq!((&explained["untouched"], &explained["problem"]), (&json!(false), &Value::Null));
    assert_eq!(explained["commits"], json!([commit]));
    assert_eq!(house.get("conversations/one/explain?at=source").await["untouched"], true);
    assert!(!house.composed("one").await.contains("question 2"));
    let source = house.raw("GET", "conversations/one/compose?at=source", "").await;
    assert_eq!(crate::support::body_of(&source), conversation("one", 4));
}

#[tokio::test]
async fn a_hint_names_things_as_its_reader_does() {
    let (_server, house) = known().await;
    for (reader, words) in
        [("shell", "`ctx list` shows"), ("tools", "ctx_list shows"), ("other", "the list of frames shows")]
    {
        let error = house.read_by(reader, "conversations/one/frames/t77").await["error"].clone();
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains(words)), "{reader}: {error}");
        let error = house.read_by(reader, "conversations/nobody/frames").await["error"].clone();
        assert_eq!(error["about"], "nobody", "{error}");
    }
}

#[tokio::test]
async fn a_first_commit_says_which_requests_left_before_it() {
    let (server, house) = known().await;
    let whole = request("one", &conversation("one", 5));
    let (first, last) = whole.split_at(whole.len() - 20);
    let mut client = house.connect().await;
    client.send(first).await;
    let mut peer = server.accept().await;
    assert!(peer.head().await.contains("X-Session-Id: one"), "it streams");

    let dry = json!({"operations": [{"op": "delete", "ids": ["t2"]}], "author": "cli", "dry_run": true});
    assert_eq!(house.post("conversations/one/operations", &dry).await.get("on_their_way"), None);
    let applied = house.edit("one", json!([{"op": "delete", "ids": ["t2"]}])).await;
    assert_eq!(applied["on_their_way"], 1, "{applied}");
    let remark = "1 request was already sent without this edit; the next one includes it";
    assert!(applied["remarks"].as_array().is_some_and(|remarks| remarks.contains(&json!(remark))), "{applied}");

    client.send(last).await;
    let body = conversation("one", 5);
    assert_eq!(peer.exactly(body.len()).await, body.as_bytes(), "it left as it began");
    peer.send(answer("200 OK", crate::support::house::ANSWER)).await;
    client.rest().await;
    let applied = house.edit("one", json!([{"op": "delete", "ids": ["t3"]}])).await;
    assert_eq!(applied.get("on_their_way"), None, "{applied}");
}

#[tokio::test]
async fn accepting_says_which_requests_left_before_it() {
    let (server, house) = known().await;
    let whole = request("one", &conversation("one", 5));
    let (first, last) = whole.split_at(whole.len() - 20);
    let mut client = house.connect().await;
    client.send(first).await;
    let mut peer = server.accept().await;
    assert!(peer.head().await.contains("X-Session-Id: one"), "it streams");
    for id in ["t1", "t2", "t3"] {
        let deferred = json!({"operations": [{"op": "delete", "ids": [id]}], "author": "cli", "when": "near-limit"});
        house.post("conversations/one/operations", &deferred).await;
    }

    let remarks = json!(["1 request was already sent without this edit; the next one includes it"]);
    let accepted = house.post("conversations/one/waiting/w1/accept", &json!({"author": "cli"})).await;
    assert_eq!((&accepted["state"], &accepted["remarks"]), (&json!("made"), &remarks), "{accepted}");
    let many = house.post("conversations/one/waiting/accept", &json!({"ids": ["w2"], "author": "cli"})).await;
    assert_eq!((&many["remarks"], many["done"][0].get("remarks")), (&remarks, None), "told once: {many}");
    let plan = json!({"operations": [{"op": "pin", "ids": ["t4"]}], "author": "cli", "apply": true});
    let planned = house.post("conversations/one/plan", &plan).await;
    assert_eq!(
        (&planned["on_their_way"], &planned["remarks"]),
        (&json!(1), &remarks),
        "a plan tells it too: {planned}"
    );

    client.send(last).await;
    peer.exactly(conversation("one", 5).len()).await;
    peer.send(answer("200 OK", crate::support::house::ANSWER)).await;
    client.rest().await;
    let accepted = house.post("conversations/one/waiting/w3/accept", &json!({"author": "cli"})).await;
    assert_eq!((&accepted["state"], accepted.get("remarks")), (&json!("made"), None), "{accepted}");
}

#[tokio::test]
async fn every_way_through_the_history_can_be_gone() {
    let (_server, house) = known().await;
    let path = "conversations/one/history";
    let first = house.edit("one", json!([{"op": "delete", "ids": ["t2"]}])).await["commit"].clone();
    house.post(path, &turn("tag", &json!({"name": "early"}))).await;
    let second = house.edit("one", json!([{"op": "delete", "ids": ["t3"]}])).await["commit"].clone();
    let is_sent = async |words: &str| house.composed("one").await.contains(words);
    assert!(!is_sent("question 2").await && !is_sent("question 3").await);
    house.post(path, &turn("undo", &json!({}))).await;
    assert!(!is_sent("question 2").await && is_sent("question 3").await);
    house.post(path, &turn("redo", &json!({}))).await;
    assert!(!is_sent("question 3").await);
    house.post(path, &turn("revert", &json!({"target": first, "note": "why", "dry_run": true}))).await;
    assert!(!is_sent("question 2").await);
    house.post(path, &turn("revert", &json!({"target": first, "note": "why"}))).await;
    assert!(is_sent("question 2").await && !is_sent("question 3").await);
    house.post(path, &turn("branch", &json!({"name": "other", "target": "early"}))).await;
    assert!(!is_sent("question 2").await && is_sent("question 3").await);
    house.post(path, &turn("checkout", &json!({"name": "main"}))).await;
    house.post(path, &turn("rollback", &json!({"target": second}))).await;
    assert!(!is_sent("question 2").await && !is_sent("question 3").await);
    let history = house.get("conversations/one/history?limit=2").await;
    assert_eq!((history["commits"].as_array().map(Vec::len), &history["branch"]), (Some(2), &json!("main")));
    assert_eq!(history["branches"].as_array().map(Vec::len), Some(2));
    assert_eq!((&history["tags"][0]["name"], &history["tags"][0]["commit"]), (&json!("early"), &first));
    house.post(path, &turn("rollback", &json!({"target": "source"}))).await;
    assert!(is_sent("question 2").await && is_sent("question 3").await);
}

#[tokio::test]
async fn branches_and_tags_are_listed_and_removed() {
    let (_server, house) = known().await;
    let path = "conversations/one/history";
    let first = house.edit("one", json!([{"op": "delete", "ids": ["t2"]}])).await["commit"].clone();
    house.post(path, &turn("tag", &json!({"name": "early"}))).await;
    house.post(path, &turn("branch", &json!({"name": "other/one", "target": "source"}))).await;
    let branches = house.get("conversations/one/branches").await;
    assert_eq!(branches["branch"], "other/one");
    assert_eq!(
        branches["branches"],
        json!([{"name": "main", "head": first, "current": false, "commits": 1},
            {"name": "other/one", "head": null, "current": true, "commits": 0}])
    );
    let tags = house.get("conversations/one/tags").await;
    let tag = tags["tags"][0].clone();
    assert_eq!((&tag["name"], &tag["commit"]), (&json!("early"), &first));
    assert!(tag["summary"].as_str().expect("words").starts_with("delete t2"), "{tag}");
    let refused = async |action: &str, name: &str, status: u16, code: &str| {
        house.refuses("POST", path, &turn(action, &json!({"name": name})).to_string(), status, code).await
    };
    refused("remove_branch", "other/one", 422, "current-branch").await;
    refused("remove_branch", "early", 404, "unknown-branch").await;
    refused("remove_tag", "main", 404, "unknown-tag").await;
    refused("tag", "main", 409, "taken").await;
    refused("branch", "early", 409, "taken").await;
    house.post(path, &turn("remove_tag", &json!({"name": "early"}))).await;
    house.post(path, &turn("remove_branch", &json!({"name": "main"}))).await;
    assert_eq!(house.get("conversations/one/tags").await["tags"], json!([]));
    assert_eq!(house.get("conversations/one/branches").await["branches"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn offloaded_content_lies_in_the_daemons_home() {
    let (_server, house) = known().await;
    let applied = house.edit("one", json!([{"op": "offload", "ids": ["t2"]}])).await;
    let file = std::path::Path::new(applied["files"][0].as_str().expect("a file"));
    let home = house.home.path().canonicalize().expect("a home");
    assert!(file.starts_with(home.join("offload")), "{}", file.display());
    assert!(std::fs::read_to_string(file).expect("a text").contains("question 2"));
}

#[tokio::test]
async fn a_refused_request_names_its_problem_and_is_healed() {
    let (server, house) = known().await;
    let heal = json!({"author": "cli", "note": null, "expect": null, "dry_run": false}).to_string();
    house.refuses("POST", "conversations/one/heal", &heal, 422, "healthy").await;
    let mut client = house.connect().await;
    client.send(request("one", &conversation("one", 4))).await;
    let refusal =
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0: cannot be read"}}"#;
    Arrived::at(&server).await.peer.send(answer("400 Bad Request", refusal)).await;
    client.rest().await;
    let problem = house.get("conversations/one/explain").await["problem"].as_str().expect("a problem").to_owned();
    assert!(problem.contains("cannot be read") && problem.contains("t2"), "{problem}");
    let healed = house.post("conversations/one/heal", &serde_json::from_str(&heal).expect("JSON")).await;
    assert_eq!(healed["problem"], json!(problem));
    assert_eq!(house.get("conversations/one/history").await["commits"][0]["note"], json!(problem));
    assert!(!house.composed("one").await.contains("question 2"));
}

#[tokio::test]
async fn refusals_tell_what_kind_they_are_by_their_status() {
    let (_server, house) = known().await;
    let edit = |operations: Value| json!({"operations": operations, "author": "test"}).to_string();
    let delete = edit(json!([{"op": "delete", "ids": ["t2"]}]));
    let path = "conversations/one/operations";
    house.refuses("POST", "conversations/nobody/operations", &delete, 404, "unknown-conversation").await;
    let unknown = edit(json!([{"op": "delete", "ids": ["t77"]}]));
    assert!(house.refuses("POST", path, &unknown, 404, "unknown-id").await.contains("t77"));
    house.refuses("POST", path, &edit(json!([])), 422, "nothing-to-do").await;
    let stale = json!({"operations": [{"op": "delete", "ids": ["t2"]}], "author": "a", "expect": "0123456789"});
    house.refuses("POST", path, &stale.to_string(), 409, "stale").await;
    let undo = turn("undo", &json!({})).to_string();
    house.refuses("POST", "conversations/one/history", &undo, 422, "nothing-to-do").await;
    let checkout = turn("checkout", &json!({"name": "nowhere"})).to_string();
    house.refuses("POST", "conversations/one/history", &checkout, 404, "unknown-branch").await;
    for question in ["frames", "frames/t1", "compose", "explain"] {
        let path = format!("conversations/one/{question}?at=abcdef");
        house.refuses("GET", &path, "", 404, "unknown-commit").await;
    }
    house.refuses("GET", "conversations/one/diff?to=abcdef", "", 404, "unknown-commit").await;
    house.refuses("GET", "conversations/one/history?limit=many", "", 400, "bad-request").await;
    assert_eq!(house.get("status").await["edited"], 0, "a refusal changes nothing");
}

#[tokio::test]
async fn a_body_that_is_not_understood_is_told_where_and_why() {
    let (_server, house) = known().await;
    let path = "conversations/one/operations";
    for (body, told) in [
        ("", "the JSON is incomplete"),
        ("{\"operations\": [", "line 1 column 16"),
        (r#"{"author":"a"}"#, "operations"),
        (r#"{"operations":[],"author":"a","wish":1}"#, "unknown field `wish`"),
        (r#"{"operations":[{"op":"vanish"}],"author":"a"}"#, "unknown value `vanish`"),
        (r#"{"operations":[{"op":"delete","ids":["t1"]},{"op":"delete","ids":7}],"author":"a"}"#, "operations[1]"),
        (r#"{"operations":[{"op":"delete","idz":[]}],"author":"a"}"#, "unknown field `idz`"),
    ] {
        let message = house.refuses("POST", path, body, 400, "bad-request").await;
        assert!(message.contains(told), "{body}: {message}");
    }
    let message = house
        .refuses("POST", "conversations/one/history", r#"{"action":"jump","author":"a"}"#, 400, "bad-request")
        .await;
    assert!(message.contains("unknown value `jump`") && message.contains("rollback"), "{message}");
    house.refuses("POST", "conversations/one/heal", r#"{"who":"a"}"#, 400, "bad-request").await;
}

#[tokio::test]
async fn long_texts_are_taken() {
    let (_server, house) = known().await;
    let text = "long ".repeat(1_000_000);
    house.edit("one", json!([{"op": "edit", "id": "t2", "text": text}])).await;
    assert!(house.composed("one").await.len() > 5_000_000);
}

#[tokio::test]
async fn listeners_hear_of_commits() {
    let (_server, house) = known().await;
    let mut listener = house.listen().await;
    listener.head().await;
    let commit = house.edit("one", json!([{"op": "delete", "ids": ["t2"]}])).await["commit"].clone();
    house.post("conversations/one/history", &turn("tag", &json!({"name": "early"}))).await;
    let mut heard = String::new();
    while !heard.contains(r#""kind":"line""#) {
        heard.push_str(&listener.line().await);
    }
    assert!(heard.contains(r#""kind":"commit""#) && heard.contains(commit.as_str().expect("a commit")), "{heard}");
}
