//! Credentials that an upstream repeats in its response reach only the client.

use std::sync::Arc;

use crate::support::house::{Arrived, Router, conversation};
use crate::support::raw::RawServer;
use ctx_store::{MemoryStore, Reader};

const KEY: &str = "MARKKEY1abcdefghijkl";
const BEARER: &str = "eyJhbGciOiJub25lIn0.eyJNQVJLIjoiMiJ9.TUFSSzM";
const QUERY: &str = "MARK4%2Bparameter";

/// Every spelling of them that could be stored.
const MARKS: [&str; 7] =
    [KEY, "abcdefghijkl", BEARER, "eyJNQVJLIjoiMiJ9", "MARK4+parameter", "MARK5cookie", "MARK6password"];

async fn refused_with(content_type: &str, body: &str) -> (Router, Arc<MemoryStore>) {
    let server = RawServer::open().await;
    let store = Arc::new(MemoryStore::new());
    let house = Router::on(store.clone(), &format!("http://{}", server.address), |_| {}).await;
    house.talk(&server, "one", &conversation("one", 1)).await;
    let mut client = house.connect().await;
    let sent = conversation("one", 2);
    // "someone:MARK6password" in base64.
    let credentials = format!(
        "x-api-key: {KEY}\r\nAuthorization: Bearer {BEARER}\r\nCookie: sid=MARK5cookie\r\n\
         x-auth-token: Basic c29tZW9uZTpNQVJLNnBhc3N3b3Jk\r\n"
    );
    client
        .send(format!(
            "POST /v1/messages?key={QUERY} HTTP/1.1\r\nHost: x\r\nX-Session-Id: one\r\n{credentials}\
             Content-Length: {}\r\nConnection: close\r\n\r\n{sent}",
            sent.len()
        ))
        .await;
    let mut arrived = Arrived::at(&server).await;
    let length = body.len();
    let head = format!("content-type: {content_type}\r\ncontent-length: {length}\r\nconnection: close\r\n");
    arrived.peer.send(format!("HTTP/1.1 401 Unauthorized\r\n{head}\r\n{body}")).await;
    let answer = String::from_utf8(client.rest().await).expect("text");
    assert!(answer.ends_with(body), "the client gets every byte: {answer}");
    (house, store)
}

#[tokio::test]
async fn an_error_that_repeats_credentials_is_stored_and_shown_without_them() {
    let words = format!(
        "No: x-api-key:{KEY}, {{Bearer {BEARER}}} https://someone:MARK6password@host/?key=MARK4+parameter \
         sid=MARK5cookie, ends with abcdefghijkl"
    );
    let as_json = serde_json::json!({"type": "error", "error": {"type": KEY, "message": words}}).to_string();
    for (content_type, body) in [("application/json", as_json.as_str()), ("text/plain", words.as_str())] {
        let (house, store) = refused_with(content_type, body).await;
        let timeline = house.raw("GET", "conversations/one/timeline", "").await;
        assert!(timeline.contains("[credential]"), "{timeline}");
        let export = house.raw("GET", "conversations/one/export", "").await;
        assert!(export.starts_with("HTTP/1.1 200 "), "{export}");
        let stored = store.log(0, usize::MAX).expect("the log").records;
        let stored: String = stored.iter().map(|record| String::from_utf8_lossy(&record.body).into_owned()).collect();
        assert!(stored.contains("[credential]"), "{stored}");
        for mark in MARKS {
            for shown in [&timeline, &export, &stored] {
                assert!(!shown.contains(mark), "{mark} in {shown}");
            }
        }
    }
}
