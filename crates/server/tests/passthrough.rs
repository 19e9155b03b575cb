//! What goes in comes out: requests and answers cross the proxy byte for byte.

mod support;

use std::time::Duration;

use support::raw::{End, Peer, RawServer};
use support::{Daemon, Plan, body_of, soon};

/// A moment in which nothing is expected to happen.
const MOMENT: Duration = Duration::from_millis(100);

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Sends a request through a fresh daemon and returns the head that the upstream got.
async fn head_upstream(request: &str) -> String {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client.send(request).await;
    let mut peer = upstream.accept().await;
    let head = peer.head().await;
    peer.send(OK).await;
    client.head().await;
    head.replace(&upstream.address.to_string(), "UPSTREAM")
}

/// Sends a request through a fresh daemon, answers it, and returns everything that the client got.
async fn answer_back(request: &str, answer: impl AsRef<[u8]>) -> String {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client.send(request).await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    peer.send(answer).await;
    drop(peer);
    String::from_utf8_lossy(&client.rest().await).into_owned()
}

#[tokio::test]
async fn header_names_keep_their_spelling_and_their_order() {
    let request = "POST /v1/messages?beta=true HTTP/1.1\r\n\
         Accept: application/json\r\n\
         X-Claude-Code-Session-Id: 123\r\n\
         anthropic-VERSION: 2023-06-01\r\n\
         x-api-key: sk-test\r\n\
         Host: localhost:8788\r\n\
         Accept-Encoding: gzip, deflate, br, zstd\r\n\
         Content-Length: 0\r\n\
         X-Empty:\r\n\
         x-last: \u{fc}\r\n\r\n";
    let head = head_upstream(request).await;
    assert_eq!(head, request.replace("localhost:8788", "UPSTREAM").replace("X-Empty:", "X-Empty: "));
}

#[tokio::test]
async fn nothing_is_added_to_a_bare_request_but_the_host() {
    assert_eq!(head_upstream("GET / HTTP/1.1\r\n\r\n").await, "GET / HTTP/1.1\r\nhost: UPSTREAM\r\n\r\n");
}
