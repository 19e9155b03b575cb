//! Keys that are made for one use. The table of routes has the rest.

use serde_json::{Value, json};

use super::page::{ask, browse, sign_in, signed_in_with, status};
use super::scene::{SECRET, Team};
use crate::support::house::conversation;

/// A new key of a person, with these scopes.
async fn limited(team: &Team, person: &str, scopes: &[&str]) -> String {
    let made = team.house.post("keys", &json!({"person": person, "scopes": scopes})).await;
    made["key"].as_str().expect("a key").to_owned()
}

fn bearer(key: &str) -> String {
    format!("Authorization: Bearer {key}\r\n")
}

async fn post(team: &Team, key: &str, path: &str, body: &Value) -> (u16, Value) {
    let (status, answer) = team.call(&bearer(key), "POST", path, &body.to_string()).await;
    (status, serde_json::from_str(&answer).expect(&answer))
}

#[tokio::test]
async fn only_a_key_with_the_scope_proxy_sends_requests() {
    let (team, id) = Team::sharing().await;
    let (agent, reader) = (limited(&team, "anna", &["proxy"]).await, limited(&team, "anna", &["look", "admin"]).await);
    let lines = |key: &str| format!("x-ctx-key: {key}\r\nx-api-key: sk-own\r\n");
    assert_eq!(team.refused(&lines(&reader)).await, (403, "scope-needed".to_owned()));
    let body = conversation(SECRET, 4);
    assert_eq!(team.talk_with(&lines(&agent), "annas", &body).await.text(), body, "nothing of the refused one arrived");
    let (status, answer) = team.call(&bearer(&agent), "GET", &format!("conversations/{id}/frames"), "").await;
    assert!(status == 403 && answer.contains("scope look") && !answer.contains(SECRET), "{answer}");
}

#[tokio::test]
async fn a_scope_gives_no_more_than_the_role_and_the_shares() {
    let (team, id) = Team::sharing().await;
    let key = limited(&team, "dora", &["look", "edit", "admin"]).await;
    let (status, answer) = post(&team, &key, "people", &json!({"name": "new"})).await;
    assert_eq!((status, &answer["error"]["code"]), (403, &json!("role-needed")));
    let pin = json!({"operations": [{"op": "pin", "ids": ["t1"]}], "author": "x"});
    let (status, answer) = post(&team, &key, &format!("conversations/{id}/operations"), &pin).await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("unknown-conversation")));
}

#[tokio::test]
async fn a_key_makes_no_key_that_may_do_more_and_the_lists_show_the_scopes() {
    let (team, _) = Team::sharing().await;
    let maker = limited(&team, "anna", &["look", "admin"]).await;
    let (status, made) = post(&team, &maker, "keys", &json!({"scopes": ["look"], "label": "reader"})).await;
    assert_eq!((status, &made["scopes"]), (200, &json!(["look"])));
    let (_, made) = post(&team, &maker, "keys", &json!({})).await;
    assert_eq!(made["scopes"], json!(["look", "admin"]), "by default those of its maker");
    for wanted in [json!(["proxy"]), json!(["edit"]), json!(["proxy", "look", "edit", "admin"])] {
        let (status, answer) = post(&team, &maker, "keys", &json!({ "scopes": wanted })).await;
        assert_eq!((status, &answer["error"]["code"]), (403, &json!("scope-needed")), "{wanted}");
    }
    for wrong in [json!([]), json!(["everything"])] {
        assert_eq!(post(&team, &maker, "keys", &json!({ "scopes": wrong })).await.0, 400);
    }
    let keys = team.get("anna", "keys").await;
    let count =
        |scopes: Value| keys["keys"].as_array().expect("keys").iter().filter(|key| key["scopes"] == scopes).count();
    assert_eq!(count(json!(["proxy", "look", "edit", "admin"])), 1, "{keys}");
    assert_eq!((count(json!(["look", "admin"])), count(json!(["look"]))), (2, 1), "{keys}");
    let audit = team.get("adam", "audit").await.to_string();
    assert!(audit.contains("for anna, scopes look\"") && audit.contains("for anna, all scopes"), "{audit}");
    let me = team.call(&bearer(&maker), "GET", "me", "").await.1;
    assert_eq!(serde_json::from_str::<Value>(&me).expect("me")["scopes"], json!(["look", "admin"]));
}

#[tokio::test]
async fn any_key_may_end_itself_and_no_other() {
    let (team, _) = Team::sharing().await;
    for scopes in [&["proxy"] as &[&str], &["look"], &["look", "edit"]] {
        let made = team.house.post("keys", &json!({"person": "anna", "scopes": scopes})).await;
        let other = team.house.post("keys", &json!({"person": "anna", "scopes": scopes})).await;
        let (key, id) = (made["key"].as_str().expect("a key"), made["id"].as_str().expect("an id"));
        let of_other = format!("keys/{}/revoke", other["id"].as_str().expect("an id"));
        let (status, answer) = post(&team, key, &of_other, &json!({})).await;
        assert_eq!((status, &answer["error"]["code"]), (403, &json!("scope-needed")), "{scopes:?}");
        let (status, answer) = post(&team, key, &format!("keys/{id}/revoke"), &json!({})).await;
        assert_eq!(status, 200, "{scopes:?}: {answer}");
        let listed = answer["keys"].as_array().expect("a list").len();
        assert_eq!(listed > 0, scopes.contains(&"look"), "the list is for keys that may look: {answer}");
        assert_eq!(post(&team, key, &format!("keys/{id}/revoke"), &json!({})).await.0, 401, "it is over");
    }
}

#[tokio::test]
async fn a_session_of_the_page_has_the_scopes_of_its_key() {
    let (team, id) = Team::sharing().await;
    let reader = signed_in_with(&team, &limited(&team, "anna", &["look"]).await).await;
    assert_eq!(ask(&team, &reader, &format!("conversations/{id}/frames")).await.0, 200);
    let pin = json!({"operations": [{"op": "pin", "ids": ["t1"]}], "author": "x"}).to_string();
    let lines = reader.lines() + "Content-Type: application/json\r\n";
    let answer = browse(&team, "POST", &format!("/control/v1/conversations/{id}/operations"), &lines, &pin).await;
    assert!(status(&answer) == 403 && answer.contains("scope-needed"), "{answer}");
    let answer = sign_in(&team, &limited(&team, "anna", &["proxy"]).await).await;
    assert!(status(&answer) == 403 && answer.contains("scope look") && !answer.contains("set-cookie"), "{answer}");
}
