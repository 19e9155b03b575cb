//! People sign in on the page with their keys.

use serde_json::{Value, json};

use super::scene::Team;
use crate::support::body_of;

/// A signed-in browser.
pub struct Browser {
    pub cookie: String,
    pub page_key: String,
}

impl Browser {
    pub fn lines(&self) -> String {
        format!("Cookie: {}\r\nx-ctx-page-key: {}\r\n", self.cookie, self.page_key)
    }
}

/// A request of a browser on our own page, and the whole answer.
pub async fn browse(team: &Team, method: &str, path: &str, lines: &str, body: &str) -> String {
    let (address, length) = (team.house.address, body.len());
    let mut client = team.house.connect().await;
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n{lines}Content-Length: {length}\r\n");
    client.send(format!("{head}Connection: close\r\n\r\n{body}")).await;
    String::from_utf8_lossy(&client.rest().await).into_owned()
}

pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect(answer)
}

pub async fn sign_in(team: &Team, key: &str) -> String {
    let origin = format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", team.house.address);
    browse(team, "POST", "/ui/sign-in", &origin, &json!({"key": key}).to_string()).await
}

pub async fn signed_in(team: &Team, name: &str) -> Browser {
    signed_in_with(team, team.key(name)).await
}

pub async fn signed_in_with(team: &Team, key: &str) -> Browser {
    let answer = sign_in(team, key).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let cookies: Vec<&str> = answer.lines().filter_map(|line| line.strip_prefix("set-cookie: ")).collect();
    let attributes = |line: &&str| line.contains("; HttpOnly; SameSite=Strict") && line.contains("; Path=/");
    assert!(cookies.len() == 4 && cookies.iter().all(attributes), "{cookies:?}");
    assert!(!answer.contains("ctxk_"), "the key is not sent back");
    let cookie = cookies[0].split(';').next().expect("a cookie").to_owned();
    let body: Value = serde_json::from_str(body_of(&answer)).expect(&answer);
    Browser { cookie, page_key: body["page_key"].as_str().expect("a page key").to_owned() }
}

pub async fn ask(team: &Team, browser: &Browser, path: &str) -> (u16, Value) {
    let answer = browse(team, "GET", &format!("/control/v1/{path}"), &browser.lines(), "").await;
    (status(&answer), serde_json::from_str(body_of(&answer)).expect(&answer))
}

#[tokio::test]
async fn a_person_signs_in_with_their_key_and_sees_their_own_and_shared_conversations() {
    let (team, id) = Team::sharing().await;
    for (name, listed) in [("anna", vec![id.clone()]), ("bob", vec![format!("anna:{id}")]), ("dora", vec![])] {
        let browser = signed_in(&team, name).await;
        let (_, status) = ask(&team, &browser, "status").await;
        assert_eq!((&status["me"]["name"], &status["me"]["role"]), (&json!(name), &json!("member")));
        let (_, list) = ask(&team, &browser, "conversations").await;
        let ids: Vec<&str> =
            list["conversations"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str()).collect();
        assert_eq!(ids, listed, "{name}");
    }
    // Sign-ins are entered behind the answer.
    for _ in 0..100 {
        let audit = team.get("adam", "audit").await;
        let entries = audit["entries"].as_array().expect("entries");
        if entries.iter().filter(|one| one["event"] == "signed-in").count() == 3 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the audit log does not have the sign-ins");
}

#[tokio::test]
async fn a_session_opens_nothing_by_half_and_nothing_of_another_person() {
    let (team, id) = Team::sharing().await;
    let (anna, dora) = (signed_in(&team, "anna").await, signed_in(&team, "dora").await);
    assert_eq!(ask(&team, &anna, &format!("conversations/{id}/frames")).await.0, 200);
    assert_eq!(ask(&team, &dora, &format!("conversations/{id}/frames")).await.0, 404);
    assert_eq!(ask(&team, &dora, "people").await.0, 403);
    let mixed = Browser { cookie: anna.cookie.clone(), page_key: dora.page_key.clone() };
    let (status, answer) = ask(&team, &mixed, "me").await;
    assert_eq!((status, &answer["error"]["code"]), (401, &json!("key-needed")));
    let half = format!("Cookie: {}\r\n", anna.cookie);
    let answer = browse(&team, "GET", "/control/v1/me", &half, "").await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

#[tokio::test]
async fn a_session_ends_with_its_key_and_when_its_person_signs_out() {
    let (team, _) = Team::sharing().await;
    let (anna, bob, other) =
        (signed_in(&team, "anna").await, signed_in(&team, "bob").await, signed_in(&team, "bob").await);
    let answer = browse(&team, "POST", "/ui/sign-out", &bob.lines(), "").await;
    assert_eq!(status(&answer), 200, "{answer}");
    let cleared = answer.lines().filter(|line| line.starts_with("set-cookie: ") && line.contains("Max-Age=0"));
    assert_eq!(cleared.count(), 4, "{answer}");
    assert_eq!(ask(&team, &bob, "me").await.0, 401, "a copy of the cookie is worthless");
    assert_eq!(ask(&team, &other, "me").await.0, 200, "another browser stays signed in");
    let keys = team.get("anna", "keys").await;
    team.house.post(&format!("keys/{}/revoke", keys["keys"][0]["id"].as_str().expect("an id")), &json!({})).await;
    assert_eq!(ask(&team, &anna, "me").await.0, 401);
    team.house.post("people/bob/remove", &json!({})).await;
    assert_eq!(ask(&team, &other, "me").await.0, 401);
}

#[tokio::test]
async fn nobody_is_signed_in_with_a_wrong_key_or_from_another_page() {
    let (team, _) = Team::sharing().await;
    for key in ["ctxk_unknown", team.key("fred"), ""] {
        let answer = sign_in(&team, key).await;
        assert!(status(&answer) == 401 && !answer.contains("set-cookie"), "{answer}");
        assert!(answer.contains("key-wrong"), "{answer}");
    }
    let body = json!({"key": team.key("anna")}).to_string();
    for lines in ["", "Origin: null\r\n", "Origin: https://evil.example\r\n"] {
        let answer = browse(&team, "POST", "/ui/sign-in", lines, &body).await;
        assert!(status(&answer) == 403 && !answer.contains("set-cookie"), "{lines}: {answer}");
    }
    let origin = format!("Origin: http://{}\r\n", team.house.address);
    let long = json!({"key": "k".repeat(10_000)}).to_string();
    assert_eq!(status(&browse(&team, "POST", "/ui/sign-in", &origin, &long).await), 400);
    assert_eq!(status(&browse(&team, "POST", "/ui/sign-in", &origin, "no JSON").await), 400);
    // The files of the page are not secret, and a person without a session needs them.
    let page = browse(&team, "GET", "/ui/", "Sec-Fetch-Site: cross-site\r\n", "").await;
    assert_eq!(status(&page), 200, "{page}");
}

#[tokio::test]
async fn a_link_from_elsewhere_does_not_bring_its_session_along() {
    let (team, _) = Team::sharing().await;
    let dora = signed_in(&team, "dora").await;
    let path = format!("/ui/c/1?a=2&key={}", dora.page_key);
    let lines = |site: &str| format!("Cookie: {}\r\nSec-Fetch-Site: {site}\r\n", dora.cookie);
    for site in ["cross-site", "same-site", "none"] {
        let answer = browse(&team, "GET", &path, &lines(site), "").await;
        assert!(status(&answer) == 303 && answer.contains("\r\nlocation: /ui/c/1?a=2\r\n"), "{site}: {answer}");
        assert!(answer.contains("content-security-policy"), "{answer}");
    }
    assert_eq!(status(&browse(&team, "GET", &path, &lines("same-origin"), "").await), 200);
}

#[tokio::test]
async fn signing_in_again_and_again_is_limited_and_leaves_one_entry_a_minute() {
    let (team, id) = Team::sharing().await;
    for _ in 0..20 {
        assert_eq!(status(&sign_in(&team, team.key("dora")).await), 200);
    }
    for _ in 0..5 {
        let answer = sign_in(&team, team.key("dora")).await;
        assert!(status(&answer) == 429 && answer.contains("too-often") && !answer.contains("set-cookie"), "{answer}");
    }
    assert_eq!(status(&sign_in(&team, team.key("anna")).await), 200, "others are not concerned");
    for _ in 0..10 {
        team.call(&team.bearer("anna"), "GET", &format!("conversations/{id}/export"), "").await;
    }
    // Entered behind the answers, in any order.
    for _ in 0..100 {
        let audit = team.get("adam", "audit").await.to_string();
        if audit.contains("dora with key") && audit.contains("anna with key") && audit.contains("exported 1 of anna") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let audit = team.get("adam", "audit").await.to_string();
    for what in ["dora with key", "anna with key", "exported 1 of anna"] {
        assert_eq!(audit.matches(what).count(), 1, "{what}: {audit}");
    }
}
