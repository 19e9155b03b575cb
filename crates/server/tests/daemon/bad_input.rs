//! Malformed, endless or late input gets an error in the provider's format or is cut off, and blocks nothing.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::house::Router;
use crate::support::raw::RawServer;
use crate::support::{Daemon, Plan, provider_error};
use ctx_server::watch::Ending;

const MOMENT: Duration = Duration::from_millis(100);

/// Sends bytes to a daemon, which must not forward them; returns the response.
async fn answer_to(bytes: impl AsRef<[u8]>) -> String {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    // The daemon may respond and close before everything is sent.
    let _ = client.try_send(bytes).await;
    let answer = String::from_utf8_lossy(&client.rest().await).into_owned();
    assert!(upstream.stays_alone(Duration::from_millis(20)).await);
    answer
}

#[tokio::test]
async fn what_is_not_http_is_answered_in_the_providers_shape() {
    for bytes in [
        "hello\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\n: no name\r\n\r\n",
        "GET / HTTP/1.1\r\nbad name: x\r\n\r\n",
        "GET / HTTP/1.1\r\nA: \u{1}\r\n\r\n",
        "GET /a b HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        // A client that uses https.
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}",
    ] {
        let answer = answer_to(bytes).await;
        let message = provider_error(&answer, 400, "invalid_request_error", "malformed-request");
        assert!(message.contains("not well-formed"), "{bytes:?}: {message}");
    }
}

#[tokio::test]
async fn a_header_flood_is_refused_in_the_providers_shape() {
    let lines = |count: usize| (0..count).map(|number| format!("x-{number}: 1\r\n")).collect::<String>();
    let too_many = format!("GET / HTTP/1.1\r\n{}\r\n", lines(1001));
    let too_long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(300 * 1024));
    let endless = format!("GET / HTTP/1.1\r\n{}", lines(200_000));
    for flood in [too_many, too_long, endless] {
        let answer = answer_to(flood).await;
        provider_error(&answer, 431, "request_too_large", "headers-too-large");
    }
}

#[tokio::test]
async fn many_and_long_headers_pass() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    let value = "y".repeat(200);
    let lines: String = (0..990).map(|number| format!("X-{number}: {value}\r\n")).collect();
    client.send(format!("GET / HTTP/1.1\r\nHost: x\r\n{lines}\r\n")).await;
    let mut peer = upstream.accept().await;
    assert!(peer.head().await.ends_with(&format!("{lines}\r\n")));
    let head = format!("HTTP/1.1 200 OK\r\n{lines}content-length: 0\r\n\r\n");
    peer.send(&head).await;
    assert_eq!(client.head().await, head);
}

#[tokio::test]
async fn an_address_that_is_too_long_is_refused_in_the_providers_shape() {
    let answer = answer_to(format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(70_000))).await;
    provider_error(&answer, 414, "request_too_large", "address-too-long");
}

#[tokio::test]
async fn a_request_for_a_tunnel_is_explained() {
    let answer = answer_to("CONNECT api.anthropic.com:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    let message = provider_error(&answer, 405, "invalid_request_error", "no-tunnels");
    assert!(message.contains("base URL"), "{message}");
}

#[tokio::test]
async fn a_web_page_of_another_site_is_refused_in_the_providers_shape() {
    for header in ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"] {
        let request = format!("POST /v1/messages HTTP/1.1\r\nHost: x\r\n{header}\r\nContent-Length: 2\r\n\r\n{{}}");
        let upstream = RawServer::open().await;
        let daemon = Daemon::before(upstream.address).await;
        let mut client = daemon.connect().await;
        client.send(request).await;
        let head = client.head().await;
        assert!(!head.to_lowercase().contains("access-control"), "{head}");
        let length: usize =
            crate::support::header_of(&head, "content-length").expect("a length").parse().expect("a number");
        let answer = head + &client.text_of(length).await;
        provider_error(&answer, 403, "permission_error", "cross-site");
        assert!(upstream.stays_alone(MOMENT).await);
        assert!(daemon.recorder.seen().is_empty(), "and nobody looked at it");
    }
}

#[tokio::test]
async fn a_rebound_name_and_a_browsers_navigation_never_reach_the_provider() {
    for (lines, code) in [
        ("Host: evil.example:8788\r\n", "foreign-host"),
        ("Host: x\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n", "navigation"),
        ("Host: x\r\nUpgrade-Insecure-Requests: 1\r\n", "navigation"),
    ] {
        let upstream = RawServer::open().await;
        let daemon = Daemon::before(upstream.address).await;
        let answer = daemon.ask(&format!("GET /v1/models HTTP/1.1\r\n{lines}Connection: close\r\n\r\n")).await;
        provider_error(&answer, 403, "permission_error", code);
        assert!(upstream.stays_alone(MOMENT).await);
        assert!(daemon.recorder.seen().is_empty(), "and nobody looked at it");
    }
}

#[tokio::test]
async fn garbage_after_a_request_does_not_spoil_its_answer() {
    // One byte more than announced: it belongs to the next request, which is invalid.
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi!\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    assert_eq!(peer.text_of(2).await, "hi");
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    peer.send(answer).await;
    assert_eq!(client.text_of(answer.len()).await, answer);
    let refusal = String::from_utf8(client.rest().await).expect("text");
    provider_error(&refusal, 400, "invalid_request_error", "malformed-request");
}

#[tokio::test]
async fn a_body_that_is_not_well_chunked_is_cut_upstream_and_answered() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nnot a size\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    assert_eq!(peer.rest().await, b"2\r\nhi\r\n");
    let answer = String::from_utf8(client.rest().await).expect("text");
    provider_error(&answer, 400, "invalid_request_error", "request-broken");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Cancelled);
}

#[tokio::test]
async fn a_head_that_comes_too_slowly_is_given_up() {
    let upstream = RawServer::open().await;
    let plan = Plan::new(&format!("http://{}", upstream.address));
    let daemon = plan.limits(|limits| limits.head_timeout = Duration::from_millis(150)).start().await;
    for beginning in ["", "GET / HTTP/1.1\r\nHost: x\r\n"] {
        let mut client = daemon.connect().await;
        client.send(beginning).await;
        assert_eq!(client.rest().await, b"");
    }
    // Sending one byte at a time does not help.
    let mut client = daemon.connect().await;
    for byte in "GET / HTTP/1.1\r\nHost: x".bytes().cycle() {
        if client.try_send([byte]).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_connection_may_rest_longer_than_a_head_may_take() {
    let upstream = RawServer::open().await;
    let plan = Plan::new(&format!("http://{}", upstream.address));
    let daemon = plan
        .limits(|limits| {
            limits.head_timeout = Duration::from_millis(50);
            limits.client_idle_timeout = Duration::from_millis(600);
        })
        .start()
        .await;
    let mut client = daemon.connect().await;
    let mut peer = None;
    for _ in 0..2 {
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
        if peer.is_none() {
            peer = Some(upstream.accept().await);
        }
        let peer = peer.as_mut().expect("a connection");
        peer.head().await;
        // Neither the wait for the response nor the idle time after it counts as slowness.
        tokio::time::sleep(Duration::from_millis(200)).await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
        client.head().await;
        assert_eq!(client.text_of(2).await, "ok");
        assert!(client.is_quiet(Duration::from_millis(200)).await);
    }
    assert_eq!(client.rest().await, b"", "but not for ever");
}

#[tokio::test]
async fn a_slow_second_head_is_given_up_like_a_slow_first_one() {
    let upstream = RawServer::open().await;
    let plan = Plan::new(&format!("http://{}", upstream.address));
    let daemon = plan.limits(|limits| limits.head_timeout = Duration::from_millis(150)).start().await;
    let mut client = daemon.connect().await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    client.head().await;
    client.exactly(2).await;
    client.send("GET / HT").await;
    assert_eq!(client.rest().await, b"");
}

#[tokio::test]
async fn a_body_that_stops_in_the_middle_is_given_up() {
    let upstream = RawServer::open().await;
    let plan = Plan::new(&format!("http://{}", upstream.address));
    let daemon = plan.limits(|limits| limits.body_idle_timeout = Duration::from_millis(150)).start().await;
    let mut client = daemon.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    assert_eq!(peer.rest().await, b"hello", "the upstream sees a cut, not an end");
    let answer = String::from_utf8(client.rest().await).expect("text");
    provider_error(&answer, 408, "invalid_request_error", "request-stalled");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Cancelled);
}

/// More answers than all buffers hold.
const MANY: usize = 80;

/// Asks for the description of the API many times, without reading.
async fn ask_much(house: &Router) -> TcpStream {
    let (host, token) = (house.address, house.token());
    let mut stream = TcpStream::connect(host).await.expect("connected");
    for number in 1..=MANY {
        let end = if number == MANY { "Connection: close\r\n\r\n" } else { "\r\n" };
        let head = format!("Host: {host}\r\nAuthorization: Bearer {token}\r\n{end}");
        stream.write_all(format!("GET /control/v1/openapi.json HTTP/1.1\r\n{head}").as_bytes()).await.expect("sent");
    }
    stream
}

#[tokio::test]
async fn a_client_that_does_not_read_our_own_answer_is_given_up() {
    let limit = Duration::from_millis(600);
    let house = Router::with("http://127.0.0.1:9", |config| config.limits.body_idle_timeout = limit).await;
    let mut slow = ask_much(&house).await;
    let (mut whole, begun) = (Vec::new(), Instant::now());
    loop {
        // Much at once: the system tells the other side only of much room.
        whole.reserve(2 << 20);
        if slow.read_buf(&mut whole).await.expect("more") == 0 {
            break;
        }
        if begun.elapsed() < limit * 2 {
            tokio::time::sleep(MOMENT).await;
        }
    }
    let answers = whole.windows(13).filter(|bytes| bytes == b"HTTP/1.1 200 ").count();
    assert_eq!(answers, MANY, "slow is fast enough: {} bytes", whole.len());
    let mut client = ask_much(&house).await;
    tokio::time::sleep(limit * 3).await;
    let mut part = Vec::new();
    let _ = client.read_to_end(&mut part).await;
    assert!(part.len() < whole.len(), "all {} bytes came", part.len());
}

#[tokio::test]
async fn a_body_that_comes_slowly_but_steadily_is_not_given_up() {
    let upstream = RawServer::open().await;
    let plan = Plan::new(&format!("http://{}", upstream.address));
    let daemon = plan.limits(|limits| limits.body_idle_timeout = Duration::from_millis(400)).start().await;
    let mut client = daemon.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    for _ in 0..10 {
        client.send("x").await;
        assert_eq!(peer.text_of(1).await, "x");
        tokio::time::sleep(MOMENT).await;
    }
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn answers_that_make_no_sense_are_answered_for() {
    for nonsense in [
        "hello\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ] {
        let upstream = RawServer::open().await;
        let daemon = Daemon::before(upstream.address).await;
        let mut client = daemon.connect().await;
        client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        let mut peer = upstream.accept().await;
        peer.head().await;
        peer.send(nonsense).await;
        let answer = String::from_utf8(client.rest().await).expect("text");
        provider_error(&answer, 502, "api_error", "upstream-closed");
        assert_eq!(daemon.recorder.ending(0).await, Ending::Unreachable, "{nonsense:?}");
    }
}

#[tokio::test]
async fn an_answer_longer_than_announced_does_not_leak_into_the_next_one() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil").await;
    client.head().await;
    assert_eq!(client.text_of(2).await, "ok");
    client.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut fresh = upstream.accept().await;
    assert!(fresh.head().await.starts_with("GET /2 "));
    fresh.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood").await;
    client.head().await;
    assert_eq!(client.text_of(4).await, "good");
}

#[tokio::test]
async fn a_connection_that_says_nothing_at_all_does_no_harm() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    for _ in 0..50 {
        drop(daemon.connect().await);
        let mut client = daemon.connect().await;
        client.send("G").await;
    }
    let mut client = daemon.connect().await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    upstream.accept().await.head().await;
}
