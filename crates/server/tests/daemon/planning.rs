//! Plans, and conversations as files, over the control API.

use crate::support::body_of;
use crate::support::house::{Router, conversation};
use crate::support::raw::RawServer;
use serde_json::{Value, json};

async fn known() -> (RawServer, Router) {
    let server = RawServer::open().await;
    let house = Router::before(&server).await;
    house.talk(&server, "one", &conversation("one", 4)).await;
    (server, house)
}

async fn taken(house: &Router, path: &str, file: &str) -> Value {
    let (status, answer) = house.ask("POST", path, file).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

const PATH: &str = "conversations/one/plan";

#[tokio::test]
async fn a_plan_is_looked_at_and_made_when_that_is_said() {
    let (_server, house) = known().await;
    let operations = json!([
        {"op": "delete", "ids": ["t2"], "reason": "a dead end"},
        {"op": "pin", "ids": ["t1"]},
        {"op": "delete", "ids": ["t3"]},
    ]);
    let plan = house.post(PATH, &json!({"operations": operations})).await;
    assert_eq!((&plan["commit"], &plan["frames"]), (&Value::Null, &json!(["t1", "t2", "t3"])));
    assert_eq!(plan["operations"][0]["risks"][0]["what"], "removes the request in t2");
    assert_eq!((&plan["operations"][1]["risk"], &plan["operations"][1]["risks"]), (&json!("low"), &json!([])));
    assert_eq!(house.get("conversations/one/history").await["commits"], json!([]), "nothing was done");

    let made =
        json!({"operations": operations, "only": [1, 2], "apply": true, "author": "ui", "expect": "none", "note": "n"});
    let made = house.post(PATH, &made).await;
    assert!(made["commit"].is_string(), "{made}");
    let commit = house.get("conversations/one/history").await["commits"][0].clone();
    assert_eq!((&commit["id"], &commit["author"], &commit["note"]), (&made["commit"], &json!("ui"), &json!("n")));
    assert_eq!(commit["reasons"], json!(["a dead end", null]));
    assert_eq!(commit["operations"][0], json!({"op": "delete", "ids": ["t2"]}), "a reason is beside it, not in it");
    let event = house.get("conversations/one/timeline?limit=1").await["events"][0].clone();
    assert_eq!(event["reasons"], commit["reasons"], "{event}");
}

#[tokio::test]
async fn plans_that_cannot_be_are_refused() {
    let (_server, house) = known().await;
    let refuses = |body: Value, status: u16, code: &'static str| {
        let house = &house;
        async move { house.refuses("POST", PATH, &body.to_string(), status, code).await }
    };
    let delete = |id: &str| json!({"op": "delete", "ids": [id]});
    refuses(json!({"operations": [delete("t9")]}), 404, "unknown-id").await;
    refuses(json!({"operations": [delete("t9"), delete("t8")]}), 422, "does-not-fit").await;
    refuses(json!({"operations": []}), 422, "nothing-to-do").await;
    refuses(json!({"operations": [delete("t1")], "only": [0]}), 400, "bad-number").await;
    refuses(json!({"operations": [delete("t1")], "only": [2]}), 400, "bad-number").await;
    refuses(json!({"operations": [delete("t1")], "expect": "abcd"}), 409, "stale").await;
    let told = refuses(json!({"operations": [{"op": "none"}]}), 400, "bad-request").await;
    assert!(told.contains("expected one of `delete`"), "{told}");
    refuses(json!({"operations": [delete("t1")], "why": 1}), 400, "bad-request").await;
    refuses(json!({"operations": [{"op": "pin", "ids": ["t1"], "reason": 1}]}), 400, "bad-request").await;
    house.delete_second("one").await;
    let told = refuses(json!({"operations": [delete("t1..t3")], "expect": "none"}), 409, "stale").await;
    assert!(told.contains("[touches t1..t3 of operation 1]"), "{told}");
    house
        .refuses(
            "POST",
            "conversations/nobody/plan",
            &json!({"operations": [delete("t1")]}).to_string(),
            404,
            "unknown-conversation",
        )
        .await;
}

#[tokio::test]
async fn a_conversation_is_exported_and_taken_in() {
    let (_server, house) = known().await;
    house.delete_second("one").await;
    let exported = house.raw("GET", "conversations/one/export", "").await;
    assert!(exported.to_lowercase().contains("content-type: application/x-ndjson"), "{exported}");
    let file = body_of(&exported);
    let came = taken(&house, "import?dry_run=true", file).await;
    assert_eq!((&came["dry_run"], &came["commits"]), (&json!(true), &json!(1)));
    let there = RawServer::open().await;
    let other = Router::before(&there).await;
    let came = taken(&other, "import", file).await;
    assert_eq!((&came["session"], &came["frames"]), (&json!("one"), &json!(4)), "{came}");
    assert_eq!(other.composed("one").await, house.composed("one").await);
    // Its session continues, edited: the daemon knows it in time.
    let arrived = other.talk(&there, "one", &conversation("one", 5)).await;
    let sent = String::from_utf8_lossy(&arrived.body).into_owned();
    assert!(!sent.contains("question 2") && sent.contains("question 5"), "{sent}");
    for bad in ["", "{}", "x\n", &file[..file.len() / 2]] {
        other.refuses("POST", "import", bad, 400, "bad-file").await;
    }
    other.refuses("POST", "import?dry_run=maybe", file, 400, "bad-request").await;
    other.refuses("GET", "conversations/nobody/export", "", 404, "unknown-conversation").await;
}
