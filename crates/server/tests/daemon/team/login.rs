//! Machines sign in: they ask, a person decides on the page, and the key is taken once.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::page::{Browser, ask as look, browse, signed_in, status};
use super::scene::Team;
use crate::support::body_of;

/// A request of a machine without credentials.
async fn machine(team: &Team, path: &str, lines: &str, body: &Value) -> (u16, Value) {
    let answer = browse(team, "POST", &format!("/control/login{path}"), lines, &body.to_string()).await;
    (status(&answer), serde_json::from_str(body_of(&answer)).expect(&answer))
}

/// The code and the secret of a new login.
async fn begin(team: &Team, name: &str) -> Value {
    let (status, start) = machine(team, "", "", &json!({"machine": name})).await;
    assert_eq!(status, 200, "{start}");
    start
}

/// Asks about a login, not too soon after the last time.
async fn poll(team: &Team, start: &Value) -> (u16, Value) {
    tokio::time::sleep(std::time::Duration::from_millis(1600)).await;
    machine(team, "/key", "", &json!({"code": start["code"], "secret": start["secret"]})).await
}

async fn decide(team: &Team, browser: &Browser, code: &str, action: &str) -> (u16, Value) {
    let lines = format!("{}Origin: http://{}\r\n", browser.lines(), team.house.address);
    let path = format!("/control/v1/logins/{code}/{action}");
    let answer = browse(team, "POST", &path, &lines, "").await;
    (status(&answer), serde_json::from_str(body_of(&answer)).expect(&answer))
}

fn code(start: &Value) -> &str {
    start["code"].as_str().expect("a code")
}

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let team = Team::limited(|limits| {
        limits.head_timeout = Duration::from_millis(500);
        limits.body_idle_timeout = Duration::from_millis(500);
        limits.linger = Duration::from_millis(100);
    })
    .await;
    let begin = async |path: &str, lines: &str| {
        let lines = format!("Host: {}\r\n{lines}Content-Type: application/json\r\n", team.house.address);
        let mut client = team.house.connect().await;
        client.send(format!("POST {path} HTTP/1.1\r\n{lines}Content-Length: 4000\r\n\r\n")).await;
        client
    };
    let origin = format!("Origin: http://{}\r\n", team.house.address);
    for (path, lines) in [("/control/login", ""), ("/control/login/key", ""), ("/ui/sign-in", &origin)] {
        let answer = String::from_utf8(begin(path, lines).await.rest().await).expect("text");
        assert_eq!(status(&answer), 408, "{path}: {answer}");
        assert!(answer.contains("request-stalled") && answer.contains("all at once"), "{path}: {answer}");
        // Sending one byte at a time does not help.
        let (mut client, begun) = (begin(path, lines).await, Instant::now());
        while client.try_send([b' ']).await.is_ok() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{path}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    // With a key, only a pause is too long.
    let answer = begin("/control/v1/keys", &team.bearer("anna")).await.rest().await;
    let answer = String::from_utf8(answer).expect("text");
    assert!(status(&answer) == 408 && answer.contains("request-stalled"), "{answer}");
}

#[tokio::test]
async fn a_machine_gets_a_key_of_the_person_who_approves_it_once() {
    let team = Team::new().await;
    let start = begin(&team, "annas <b>laptop</b>").await;
    assert_eq!((start["expires_in"].as_u64(), code(&start).len()), (Some(600), 9));
    assert_eq!(
        poll(&team, &start).await,
        (200, json!({"interval": 2, "key": null, "id": null, "person": null, "expires_at": null}))
    );
    let anna = signed_in(&team, "anna").await;
    let (_, shown) = look(&team, &anna, &format!("logins/{}", code(&start).to_lowercase())).await;
    assert_eq!((&shown["machine"], &shown["code"]), (&json!("annas blaptopb"), &start["code"]));
    assert_eq!(decide(&team, &anna, code(&start), "approve").await.0, 200);
    let stranger = json!({"code": start["code"], "secret": "0".repeat(64)});
    assert_eq!(poll(&team, &stranger).await.1["error"]["code"], "unknown-login");
    let (status, made) = poll(&team, &start).await;
    assert_eq!((status, &made["person"]), (200, &json!("anna")), "{made}");
    let key = made["key"].as_str().expect("a key");
    let bearer = format!("Authorization: Bearer {key}\r\n");
    let (status, me) = team.call(&bearer, "GET", "me", "").await;
    assert!(status == 200 && me.contains("anna"), "{me}");
    assert_eq!(poll(&team, &start).await.1["error"]["code"], "unknown-login", "it is taken once");
    assert_eq!(decide(&team, &anna, code(&start), "approve").await.1["error"]["code"], "unknown-login");
    let keys = team.get("anna", "keys").await;
    let made = keys["keys"].as_array().expect("keys").iter().find(|one| one["id"] == made["id"]).expect("the key");
    assert!(made["label"] == "annas blaptopb" && made["expires_at"].is_u64(), "{made}");
    let audit = team.get("adam", "audit").await.to_string();
    assert!(audit.contains("login-approved") && audit.contains("annas blaptopb as anna"), "{audit}");
    let stored = team.stored();
    for word in [&key[12..], code(&start), start["secret"].as_str().expect("a secret")] {
        assert!(!stored.contains(word), "{word} is stored");
    }
}

#[tokio::test]
async fn only_a_click_on_the_page_decides() {
    let team = Team::new().await;
    let (start, anna) = (begin(&team, "laptop").await, signed_in(&team, "anna").await);
    let path = format!("/control/v1/logins/{}/approve", code(&start));
    let own = format!("Origin: http://{}\r\n", team.house.address);
    let cookie = format!("Cookie: {}\r\n", anna.cookie);
    let bearer = team.bearer("anna");
    for (lines, wanted) in [
        (String::new(), 401),
        (own.clone(), 401),
        // A link, or a form of another page: the browser sends the cookie at most.
        (cookie.clone(), 401),
        (format!("{cookie}{own}"), 401),
        (format!("{}Origin: https://evil.example\r\n", anna.lines()), 403),
        (format!("{}{own}Sec-Fetch-Site: cross-site\r\n", anna.lines()), 403),
        (anna.lines(), 403),
        (bearer.clone(), 403),
        (format!("{bearer}{own}"), 403),
        (format!("{}{own}{bearer}", anna.lines()), 403),
    ] {
        let answer = browse(&team, "POST", &path, &lines, "").await;
        assert_eq!(status(&answer), wanted, "{lines}: {answer}");
    }
    let link = browse(&team, "GET", &path, &anna.lines(), "").await;
    assert_eq!(status(&link), 405, "{link}");
    assert_eq!(poll(&team, &start).await.1["key"], json!(null), "nobody has decided");
    assert_eq!(decide(&team, &anna, code(&start), "refuse").await.0, 200);
    assert_eq!(poll(&team, &start).await.1["error"]["code"], "login-refused");
}

#[tokio::test]
async fn asking_is_limited_and_no_page_can_ask() {
    let team = Team::new().await;
    let origin = format!("Origin: http://{}\r\n", team.house.address);
    for lines in [origin.as_str(), "Origin: https://evil.example\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        let (status, answer) = machine(&team, "", lines, &json!({"machine": "x"})).await;
        assert_eq!((status, &answer["error"]["code"]), (403, &json!("cross-site")), "{lines}");
    }
    let start = begin(&team, "laptop").await;
    assert_eq!(poll(&team, &start).await.0, 200);
    let again = json!({"code": start["code"], "secret": start["secret"]});
    assert_eq!(machine(&team, "/key", "", &again).await.1["error"]["code"], "too-often");
    let dora = signed_in(&team, "dora").await;
    let mut codes = Vec::new();
    for _ in 0..11 {
        codes.push(look(&team, &dora, "logins/BCDF-GHJK").await.1["error"]["code"].clone());
    }
    assert_eq!((&codes[9], &codes[10]), (&json!("unknown-login"), &json!("too-often")));
    let anna = signed_in(&team, "anna").await;
    assert_eq!(look(&team, &anna, &format!("logins/{}", code(&start))).await.0, 200, "others are not concerned");
    let mut status = 200;
    for _ in 0..40 {
        status = machine(&team, "", "", &json!({"machine": "x"})).await.0;
    }
    assert_eq!(status, 429);
    let (status, answer) = machine(&team, "", "", &json!({"machine": "x".repeat(5000)})).await;
    assert!(status == 400 || status == 429, "{answer}");
}
