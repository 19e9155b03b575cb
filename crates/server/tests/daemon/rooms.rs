//! The control API and the page from outside: every kind of access and every refusal.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::support::raw::RawServer;
use crate::support::{Daemon, Plan, body_of, header_of};
use axum::Router;
use axum::routing::{get, post};
use bytes::Bytes;
use http_body::{Body, Frame};

/// A daemon with three handlers, whose requests must never reach the upstream.
async fn house() -> (RawServer, Daemon) {
    let control = Router::new()
        .route("/status", get(|| async { "all is well" }))
        .route("/purge", post(|body: String| async move { format!("purged {body}") }))
        .route("/broken", get(|| async { broken() }))
        .route("/events", get(|| async { axum::body::Body::new(Endless::default()) }));
    let upstream = RawServer::open().await;
    let daemon = Plan::new(&format!("http://{}", upstream.address)).control(control).start().await;
    (upstream, daemon)
}

fn broken() -> &'static str {
    panic!("a defect in a handler")
}

/// One event, and then endless silence.
#[derive(Default)]
struct Endless {
    said: bool,
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if std::mem::replace(&mut self.said, true) {
            return Poll::Pending;
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"data: first\n\n")))))
    }
}

fn bearer(daemon: &Daemon) -> String {
    format!("Authorization: Bearer {}\r\n", daemon.token)
}

/// Opens the link, and returns the browser's credentials: its cookie, and the page key.
async fn log_in(daemon: &Daemon) -> (String, String) {
    let answer = daemon.get(&format!("/ui/?token={}", daemon.token), "").await;
    let cookie = header_of(&answer, "set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    let key = header_of(&answer, "location").and_then(|to| to.strip_prefix("/ui/?key=")).expect("a key");
    (format!("Cookie: {cookie}\r\n"), format!("X-Ctx-Page-Key: {key}\r\n"))
}

async fn cookie(daemon: &Daemon) -> String {
    log_in(daemon).await.0
}

async fn session(daemon: &Daemon) -> String {
    let (cookie, key) = log_in(daemon).await;
    cookie + &key
}

/// Checks that a response is an error in the control API's format.
fn control_error(answer: &str, status: u16, code: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    let body: serde_json::Value = serde_json::from_str(body_of(answer)).expect(answer);
    assert_eq!(body["error"]["code"], code, "{answer}");
    assert!(!body["error"]["message"].as_str().expect("a message").is_empty());
    assert!(!body["error"]["hint"].as_str().expect("a hint").is_empty());
    assert!(!answer.to_lowercase().contains("access-control"), "no foreign page may read this: {answer}");
}

#[tokio::test]
async fn the_control_api_opens_for_the_token_and_for_a_session_of_the_page() {
    let (upstream, daemon) = house().await;
    for way in [bearer(&daemon), session(&daemon).await] {
        let answer = daemon.get("/control/v1/status", &way).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && body_of(&answer) == "all is well", "{answer}");
        assert_eq!(header_of(&answer, "cache-control"), Some("no-store"));
        assert_eq!(header_of(&answer, "x-content-type-options"), Some("nosniff"));
    }
    assert!(upstream.stays_alone(Duration::from_millis(50)).await);
}

#[tokio::test]
async fn without_the_token_every_control_path_is_shut_also_those_that_do_not_exist() {
    let (upstream, daemon) = house().await;
    for path in ["/control", "/control/", "/control/v1/status", "/control/v1/nothing", "/control/v2/status"] {
        control_error(&daemon.get(path, "").await, 401, "token-needed");
        control_error(&daemon.get(path, "Authorization: Bearer nope\r\n").await, 401, "token-wrong");
        control_error(&daemon.get(path, &cookie(&daemon).await).await, 401, "token-needed");
        let changed = session(&daemon).await.replace("Page-Key: ", "Page-Key: 0");
        control_error(&daemon.get(path, &changed).await, 401, "token-wrong");
        control_error(&daemon.get(&format!("{path}?token={}", daemon.token), "").await, 401, "token-needed");
    }
    assert!(upstream.stays_alone(Duration::from_millis(50)).await);
}

#[tokio::test]
async fn the_health_is_told_without_a_token_and_never_to_a_foreign_page() {
    let (upstream, daemon) = house().await;
    let answer = daemon.get("/control/health", "").await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && body_of(&answer) == "{\"healthy\":true}", "{answer}");
    for lines in ["Origin: https://evil.example\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        control_error(&daemon.get("/control/health", lines).await, 403, "cross-site");
    }
    assert!(upstream.stays_alone(Duration::from_millis(50)).await);
}

#[tokio::test]
async fn a_foreign_name_or_page_is_shut_out_with_the_token_too() {
    let (_upstream, daemon) = house().await;
    for way in [bearer(&daemon), session(&daemon).await] {
        for lines in ["Origin: https://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
            let answer = daemon.get("/control/v1/status", &format!("{way}{lines}")).await;
            control_error(&answer, 403, "cross-site");
        }
        let port = daemon.address.port();
        for host in [format!("evil.example:{port}"), "127.0.0.1".to_owned(), String::new()] {
            let request = format!("GET /control/v1/status HTTP/1.1\r\nHost: {host}\r\n{way}Connection: close\r\n\r\n");
            control_error(&daemon.ask(&request).await, 403, "foreign-host");
        }
    }
}

#[tokio::test]
async fn a_change_is_accepted_from_our_own_page_and_from_programs_only() {
    let (_upstream, daemon) = house().await;
    let host = daemon.address;
    let purge = |lines: String| {
        format!(
            "POST /control/v1/purge HTTP/1.1\r\nHost: {host}\r\n{lines}Connection: close\r\nContent-Length: 3\r\n\r\nall"
        )
    };
    let (bearer, session) = (bearer(&daemon), session(&daemon).await);
    for lines in [bearer.clone(), format!("{session}Origin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n")] {
        assert_eq!(body_of(&daemon.ask(&purge(lines)).await), "purged all");
    }
    let foreign = format!("{session}Origin: http://localhost:3000\r\nSec-Fetch-Site: same-site\r\n");
    control_error(&daemon.ask(&purge(foreign)).await, 403, "cross-site");
    control_error(&daemon.ask(&purge(String::new())).await, 401, "token-needed");
}

#[tokio::test]
async fn unknown_paths_and_methods_are_told_in_the_control_apis_shape() {
    let (_upstream, daemon) = house().await;
    let token = bearer(&daemon);
    control_error(&daemon.get("/control/v1/nothing", &token).await, 404, "unknown-path");
    control_error(&daemon.get("/control/v2/status", &token).await, 404, "unknown-path");
    control_error(&daemon.get("/control", &token).await, 404, "unknown-path");
    control_error(&daemon.get("/control/v1/purge", &token).await, 405, "wrong-method");
}

#[tokio::test]
async fn a_handler_that_breaks_breaks_nothing_else() {
    let (_upstream, daemon) = house().await;
    let token = bearer(&daemon);
    control_error(&daemon.get("/control/v1/broken", &token).await, 500, "internal");
    assert_eq!(body_of(&daemon.get("/control/v1/status", &token).await), "all is well");
}

#[tokio::test]
async fn live_events_stream_and_end_with_the_daemon() {
    let (_upstream, mut daemon) = house().await;
    let mut client = daemon.connect().await;
    let host = daemon.address;
    client.send(format!("GET /control/v1/events HTTP/1.1\r\nHost: {host}\r\n{}\r\n", bearer(&daemon))).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(client.line().await, "D");
    assert_eq!(client.text_of(15).await, "data: first\n\n\r\n");
    daemon.begin_shutdown();
    assert_eq!(client.chunked().await.0, b"", "a clean end");
    daemon.ended().await;
}

#[tokio::test]
async fn the_link_is_exchanged_for_a_session_and_the_token_leaves_the_address() {
    let (_upstream, daemon) = house().await;
    let answer = daemon.get(&format!("/ui/?token={}", daemon.token), "Sec-Fetch-Site: cross-site\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
    assert!(!answer.contains(&daemon.token), "neither cookie nor address is the token: {answer}");
    let name = format!("ctx_session_{}=", daemon.address.port());
    let cookies: Vec<&str> = answer.lines().filter(|line| line.starts_with("set-cookie:")).collect();
    assert_eq!(cookies.iter().filter(|cookie| cookie.contains(&name)).count(), 2, "{answer}");
    for cookie in cookies {
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    }
    // The cookie shows the page; the control API also needs the page key.
    let (cookie, key) = log_in(&daemon).await;
    assert!(daemon.get("/ui/", &cookie).await.starts_with("HTTP/1.1 200 "));
    control_error(&daemon.get("/control/v1/status", &cookie).await, 401, "token-needed");
    assert!(daemon.get("/control/v1/status", &(cookie + &key)).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn without_the_link_nothing_of_the_page_is_shown() {
    let (upstream, daemon) = house().await;
    for path in ["/ui", "/ui/", "/ui/index.html", "/ui/assets/app.js", "/ui/?token=nope", "/ui/?token="] {
        let answer = daemon.get(path, "").await;
        assert!(answer.starts_with("HTTP/1.1 401 "), "{path}: {answer}");
        assert!(answer.contains("ctx ui") && !answer.contains("set-cookie"), "{answer}");
    }
    let port = daemon.address.port();
    let rebound =
        format!("GET /ui/?token={} HTTP/1.1\r\nHost: evil.example:{port}\r\nConnection: close\r\n\r\n", daemon.token);
    assert!(daemon.ask(&rebound).await.starts_with("HTTP/1.1 403 "));
    assert!(upstream.stays_alone(Duration::from_millis(50)).await);
}

#[tokio::test]
async fn every_answer_of_the_page_carries_its_security_headers() {
    let (_upstream, daemon) = house().await;
    for (path, lines) in [
        ("/ui/".to_owned(), cookie(&daemon).await),
        ("/ui/gone.js".to_owned(), cookie(&daemon).await),
        ("/ui/".to_owned(), String::new()),
        (format!("/ui/?token={}", daemon.token), String::new()),
    ] {
        let answer = daemon.get(&path, &lines).await;
        let policy = header_of(&answer, "content-security-policy").expect("a policy");
        assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(header_of(&answer, "x-content-type-options"), Some("nosniff"));
        assert_eq!(header_of(&answer, "referrer-policy"), Some("no-referrer"));
        assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
    }
}

#[tokio::test]
async fn the_page_is_shown_or_its_absence_explained() {
    let (_upstream, daemon) = house().await;
    let answer = daemon.get("/ui/", &cookie(&daemon).await).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert_eq!(header_of(&answer, "content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(body_of(&answer).contains("cargo xtask install"), !ctx_server::page_is_embedded(), "{answer}");
    let moved = daemon.get("/ui", &cookie(&daemon).await).await;
    assert!(moved.starts_with("HTTP/1.1 303 ") && header_of(&moved, "location") == Some("/ui/"), "{moved}");
    assert!(daemon.get("/ui/gone.js", &cookie(&daemon).await).await.starts_with("HTTP/1.1 404 "));
}

#[tokio::test]
async fn the_page_can_only_be_read() {
    let (_upstream, daemon) = house().await;
    let host = daemon.address;
    let cookie = cookie(&daemon).await;
    let head = daemon.ask(&format!("HEAD /ui/ HTTP/1.1\r\nHost: {host}\r\n{cookie}Connection: close\r\n\r\n")).await;
    assert!(head.starts_with("HTTP/1.1 200 ") && body_of(&head).is_empty(), "{head}");
    let post = format!("POST /ui/ HTTP/1.1\r\nHost: {host}\r\n{cookie}Connection: close\r\nContent-Length: 0\r\n\r\n");
    let answer = daemon.ask(&post).await;
    assert!(answer.starts_with("HTTP/1.1 405 ") && header_of(&answer, "allow") == Some("GET, HEAD"), "{answer}");
}
