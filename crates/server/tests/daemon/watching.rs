//! Observers see everything that passes, no secrets, and always an end.

use std::sync::atomic::Ordering;

use crate::support::Daemon;
use crate::support::raw::RawServer;
use ctx_server::watch::Ending;

#[tokio::test]
async fn the_observer_sees_both_bodies_whole_and_no_credential() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client
        .send(
            "POST /v1/messages?beta=true&key=hush-query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer hush-bearer\r\n\
             X-Api-Key: hush-key\r\nCookie: a=hush-cookie\r\nProxy-Authorization: hush-proxy\r\n\
             X-Amz-Security-Token: hush-token\r\nX-Claude-Code-Session-Id: session-1\r\nContent-Length: 11\r\n\r\nhello ",
        )
        .await;
    let mut peer = upstream.accept().await;
    let head = peer.head().await;
    for kept in ["hush-query", "hush-bearer", "hush-key", "hush-cookie", "hush-token"] {
        assert!(head.contains(kept), "the upstream gets {kept}");
    }
    client.send("world").await;
    peer.exactly(11).await;
    peer.send("HTTP/1.1 200 OK\r\nset-cookie: hush-answer\r\nrequest-id: req_1\r\ncontent-length: 4\r\n\r\nfine").await;
    client.head().await;
    assert_eq!(client.text_of(4).await, "fine");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Complete);

    let seen = &daemon.recorder.seen()[0];
    assert_eq!((seen.request.as_slice(), seen.request_complete), (b"hello world".as_slice(), Some(true)));
    assert_eq!((seen.response.as_slice(), seen.status), (b"fine".as_slice(), 200));
    assert!(seen.head.contains("session-1") && seen.head.contains("beta=true"), "{}", seen.head);
    assert!(seen.response_head.as_ref().expect("a head").contains("req_1"));
    let everything = format!("{seen:?}");
    assert!(!everything.contains("hush"), "{everything}");
}

#[tokio::test]
async fn an_exchange_without_bodies_ends_too() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    for (number, (method, answer)) in [
        ("HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n"),
        ("GET", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut client = daemon.connect().await;
        client.send(format!("{method} / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
        let mut peer = upstream.accept().await;
        peer.head().await;
        peer.send(answer.replacen("\r\n", "\r\nconnection: close\r\n", 1)).await;
        client.rest().await;
        assert_eq!(daemon.recorder.ending(number).await, Ending::Complete, "{answer}");
        assert_eq!(daemon.recorder.seen()[number].request_complete, Some(true));
    }
}

#[tokio::test]
async fn an_upstream_that_cannot_be_reached_ends_the_exchange() {
    let daemon = Daemon::before(crate::support::raw::nobody().await).await;
    daemon.ask("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi").await;
    assert_eq!(daemon.recorder.ending(0).await, Ending::Unreachable);
    assert_eq!(daemon.recorder.seen()[0].request_complete, Some(false));
    assert_eq!(daemon.recorder.seen()[0].response_head, None);
}

#[tokio::test]
async fn an_observer_that_looks_away_leaves_a_plain_pipe() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    daemon.recorder.blind.store(true, Ordering::Relaxed);
    let mut client = daemon.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    assert_eq!(peer.text_of(2).await, "hi");
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    client.head().await;
    assert_eq!(client.text_of(2).await, "ok");
    assert!(daemon.recorder.seen().is_empty());
}
