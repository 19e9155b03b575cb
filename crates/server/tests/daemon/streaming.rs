//! Bytes flow as they arrive, in both directions, and stop when one side stops.

use std::time::Duration;

use crate::support::raw::{self, End, Peer, RawServer};
use crate::support::{Daemon, soon};
use ctx_server::watch::Ending;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A moment in which nothing should happen.
const MOMENT: Duration = Duration::from_millis(100);

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const MANY: usize = 40 * 1024 * 1024;

async fn pair() -> (RawServer, Daemon, Peer) {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let client = daemon.connect().await;
    (upstream, daemon, client)
}

/// Starts an exchange and responds with a chunked head and one event.
async fn streaming() -> (RawServer, Daemon, Peer, Peer) {
    let (upstream, daemon, mut client) = pair().await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    peer.send(CHUNKED).await;
    peer.send("5\r\nhello\r\n").await;
    assert_eq!(client.head().await, CHUNKED);
    assert_eq!(client.text_of(10).await, "5\r\nhello\r\n");
    (upstream, daemon, client, peer)
}

/// Bytes that encode their position.
fn pattern(count: usize) -> Vec<u8> {
    let mut bytes = (0..=250u8).collect::<Vec<u8>>().repeat(count / 251 + 1);
    bytes.truncate(count);
    bytes
}

#[tokio::test]
async fn each_event_arrives_before_the_next_is_sent() {
    let (_upstream, daemon, mut client, mut peer) = streaming().await;
    for number in 0..50 {
        let event = format!("event: ping {number:03}\n\n");
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        peer.send(&chunk).await;
        assert_eq!(client.text_of(chunk.len()).await, chunk);
    }
    peer.send("0\r\n\r\n").await;
    assert_eq!(client.text_of(5).await, "0\r\n\r\n");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Complete);
}

#[tokio::test]
async fn the_request_is_sent_on_while_it_arrives() {
    let (upstream, _daemon, mut client) = pair().await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 30\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    for part in ["first part", "secondpart", "third part"] {
        client.send(part).await;
        assert_eq!(peer.text_of(10).await, part);
    }
}

#[tokio::test]
async fn both_directions_may_stay_open_at_once() {
    let (upstream, daemon, mut client) = pair().await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    peer.send(CHUNKED).await;
    client.head().await;
    for word in ["a", "b", "c", "d"] {
        let chunk = format!("1\r\n{word}\r\n");
        client.send(&chunk).await;
        assert_eq!(peer.text_of(6).await, chunk);
        peer.send(&chunk).await;
        assert_eq!(client.text_of(6).await, chunk);
    }
    client.send("0\r\n\r\n").await;
    peer.exactly(5).await;
    peer.send("0\r\n\r\n").await;
    client.exactly(5).await;
    assert_eq!(daemon.recorder.ending(0).await, Ending::Complete);
    assert_eq!(daemon.recorder.seen()[0].request_complete, Some(true));
}

#[tokio::test]
async fn bodies_beyond_every_limit_pass_in_both_directions() {
    let (upstream, daemon, mut client) = pair().await;
    daemon.recorder.blind.store(true, std::sync::atomic::Ordering::Relaxed);
    let body = pattern(MANY);
    let expected = body.clone();
    let server = tokio::spawn(async move {
        let mut peer = upstream.accept().await;
        peer.head().await;
        assert!(peer.exactly(MANY).await == expected, "the request changed on its way");
        peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {MANY}\r\n\r\n")).await;
        peer.send(&expected).await;
    });
    client.send(format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {MANY}\r\n\r\n")).await;
    client.send(&body).await;
    client.head().await;
    assert!(client.exactly(MANY).await == body, "the answer changed on its way");
    server.await.expect("no panic");
}

#[tokio::test]
async fn who_does_not_read_stops_who_writes() {
    let (upstream, _daemon, mut client) = pair().await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    let most = 512 * 1024 * 1024;
    peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {most}\r\n\r\n")).await;
    let sent = peer.send_until_stuck(most, Duration::from_millis(500)).await;
    assert!(sent < 48 * 1024 * 1024, "{sent} bytes went somewhere, and nobody read them");
    // Nothing was lost, and reading resumes everything.
    client.head().await;
    client.exactly(sent).await;
    assert!(peer.send_until_stuck(1024 * 1024, Duration::from_millis(500)).await >= 1024 * 1024);
}

#[tokio::test]
async fn an_upstream_that_does_not_read_stops_the_client() {
    let (upstream, _daemon, mut client) = pair().await;
    let most = 512 * 1024 * 1024;
    client.send(format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {most}\r\n\r\n")).await;
    let mut peer = upstream.accept().await;
    let sent = client.send_until_stuck(most, Duration::from_millis(500)).await;
    assert!(sent < 48 * 1024 * 1024, "{sent} bytes went somewhere, and nobody read them");
    peer.head().await;
    peer.exactly(sent).await;
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_takes_its_request_along() {
    let (upstream, daemon, mut client) = pair().await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    peer.exactly(2).await;
    assert!(peer.is_quiet(MOMENT).await);
    drop(client);
    assert_eq!(peer.rest().await, b"");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Cancelled);
}

#[tokio::test]
async fn a_client_that_leaves_during_the_answer_stops_the_upstream() {
    let (_upstream, daemon, client, mut peer) = streaming().await;
    drop(client);
    assert_eq!(peer.rest().await, b"");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Cancelled);
    assert_eq!(daemon.recorder.seen()[0].response, b"hello");
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_of_its_request_cuts_it_upstream() {
    for head in [
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ] {
        let (upstream, daemon, mut client) = pair().await;
        client.send(head).await;
        let mut peer = upstream.accept().await;
        peer.head().await;
        let got = if head.contains("chunked") { "5\r\nhello\r\n" } else { "hello" };
        assert_eq!(peer.text_of(got.len()).await, got);
        drop(client);
        assert_eq!(peer.rest().await, b"", "no clean end of the body");
        assert_eq!(daemon.recorder.ending(0).await, Ending::Cancelled);
        assert_eq!(daemon.recorder.seen()[0].request_complete, Some(false));
    }
}

#[tokio::test]
async fn a_chunked_answer_that_is_cut_stays_cut() {
    let (_upstream, daemon, mut client, peer) = streaming().await;
    drop(peer);
    assert_eq!(client.rest().await, b"", "no last chunk was invented");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Cut);
}

#[tokio::test]
async fn what_was_sent_right_before_a_cut_still_arrives() {
    let large = "x".repeat(100_000);
    for body in ["5\r\nhello\r\n".to_owned(), format!("{:x}\r\n{large}\r\n", large.len())] {
        let (upstream, daemon, mut client) = pair().await;
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let mut peer = upstream.accept().await;
        peer.head().await;
        peer.send(format!("{CHUNKED}{body}")).await;
        drop(peer);
        assert_eq!(client.head().await, CHUNKED);
        let rest = client.rest().await;
        assert!(!rest.ends_with(b"0\r\n\r\n"), "no last chunk was invented");
        // A large chunk may be forwarded in several.
        let letters = |bytes: &[u8]| bytes.iter().filter(|byte| b"hlox".contains(byte)).count();
        assert_eq!(letters(&rest), letters(body.as_bytes()), "{} bytes arrived", rest.len());
        assert_eq!(daemon.recorder.ending(0).await, Ending::Cut);
    }
}

#[tokio::test]
async fn an_answer_with_a_length_that_is_cut_stays_cut() {
    let (upstream, daemon, mut client) = pair().await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello").await;
    client.head().await;
    drop(peer);
    assert_eq!(client.rest().await, b"hello");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Cut);
}

#[tokio::test]
async fn an_answer_without_a_length_whose_connection_is_reset_does_not_end_cleanly() {
    let (upstream, daemon, mut client) = pair().await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut socket = upstream.accept_tcp().await;
    raw::head_of(&mut socket).await;
    socket.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").await.expect("sent");
    client.head().await;
    assert_eq!(client.text_of(10).await, "5\r\nhello\r\n");
    socket.set_zero_linger().expect("linger");
    drop(socket);
    assert_eq!(client.rest().await, b"", "no last chunk was invented");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Cut);
}

#[tokio::test]
async fn a_cancelled_exchange_leaves_no_used_connection_behind() {
    let (upstream, daemon, client, mut peer) = streaming().await;
    drop(client);
    peer.rest().await;
    let mut client = daemon.connect().await;
    client.send("GET /next HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    assert!(peer.head().await.starts_with("GET /next "));
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn a_refusal_that_comes_before_the_body_is_through_reaches_the_client() {
    let (upstream, daemon, mut client) = pair().await;
    client.send(format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {MANY}\r\n\r\n")).await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    let sender = tokio::spawn(async move {
        // The client keeps sending, like one that does not read the response.
        client.send_until_stuck(MANY, Duration::from_millis(300)).await;
        client
    });
    // More than the client's socket buffers: closing while the client still sends would lose the rest.
    let words = "too large, ".repeat(100_000);
    let head = format!("HTTP/1.1 413 Payload Too Large\r\ncontent-length: {}\r\n\r\n", words.len());
    peer.send(format!("{head}{words}")).await;
    peer.close_sending().await;
    let mut client = soon("the client", sender).await.expect("no panic");
    assert_eq!(client.head().await, head);
    assert!(client.text_of(words.len()).await == words);
    assert_eq!(daemon.recorder.ending(0).await, Ending::Complete);
    assert_eq!(daemon.recorder.seen()[0].status, 413);
}

#[tokio::test]
async fn a_client_that_reads_only_after_sending_gets_a_large_early_answer() {
    let (upstream, daemon, client) = pair().await;
    daemon.recorder.blind.store(true, std::sync::atomic::Ordering::Relaxed);
    let server = tokio::spawn(async move {
        let mut socket = upstream.accept_tcp().await;
        raw::head_of(&mut socket).await;
        let (mut reading, mut writing) = socket.into_split();
        let drain = tokio::spawn(async move {
            // Everything is read, regardless of the response.
            let mut buffer = vec![0; 256 * 1024];
            let mut total = 0;
            while total < MANY {
                match reading.read(&mut buffer).await {
                    Ok(0) | Err(_) => break,
                    Ok(count) => total += count,
                }
            }
            total
        });
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {MANY}\r\n\r\n");
        writing.write_all(head.as_bytes()).await.expect("sent");
        writing.write_all(&pattern(MANY)).await.expect("sent");
        drain.await.expect("no panic")
    });
    let mut client = client;
    client.send(format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {MANY}\r\n\r\n")).await;
    client.send(&pattern(MANY)).await;
    client.head().await;
    assert!(client.exactly(MANY).await == pattern(MANY));
    assert!(soon("the upstream", server).await.expect("no panic") >= MANY);
}

#[tokio::test]
async fn nobody_waits_for_a_client_that_does_not_read() {
    let (upstream, daemon, _) = pair().await;
    daemon.recorder.blind.store(true, std::sync::atomic::Ordering::Relaxed);
    // As many stalled streams as workers, and a few more.
    let mut stuck = Vec::new();
    for _ in 0..6 {
        let mut client = daemon.connect().await;
        client.send("GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let mut peer = upstream.accept().await;
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n").await;
        peer.send_until_stuck(100_000_000, Duration::from_millis(50)).await;
        stuck.push((client, peer));
    }
    for _ in 0..10 {
        let mut client = daemon.connect().await;
        client.send("GET /quick HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        let mut peer = upstream.accept().await;
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok").await;
        client.head().await;
        assert_eq!(client.text_of(2).await, "ok");
    }
}

#[tokio::test]
async fn many_slow_streams_run_side_by_side() {
    let (upstream, daemon, _) = pair().await;
    let mut streams = Vec::new();
    for _ in 0..200 {
        let mut client = daemon.connect().await;
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let mut peer = upstream.accept().await;
        peer.head().await;
        peer.send(CHUNKED).await;
        streams.push((client, peer));
    }
    for (client, peer) in &mut streams {
        client.head().await;
        peer.send("5\r\nhello\r\n0\r\n\r\n").await;
    }
    for (client, _) in &mut streams {
        assert_eq!(client.chunked().await.0, b"hello");
    }
}

#[tokio::test]
async fn a_client_that_only_stops_sending_counts_as_gone() {
    // A closed sending side looks like a closed connection; every client of the provider keeps both open.
    let (_upstream, daemon, mut client, mut peer) = streaming().await;
    client.close_sending().await;
    assert_eq!(peer.end().await, (Vec::new(), End::Closed));
    assert_eq!(daemon.recorder.ending(0).await, Ending::Cancelled);
}
