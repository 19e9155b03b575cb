//! Requests and responses cross the proxy byte for byte.

use std::time::Duration;

use crate::support::raw::RawServer;
use crate::support::{Daemon, Plan};

/// A moment in which nothing should happen.
const MOMENT: Duration = Duration::from_millis(100);

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const GET: &str = "GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// Sends a request through a new daemon and returns the head that the upstream received.
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

/// Sends a request through a new daemon, responds, and compares the client's bytes.
async fn comes_back(request: &str, answer: &str, expected: &str) {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client.send(request).await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    peer.send(answer).await;
    drop(peer);
    assert_eq!(client.text_of(expected.len()).await, expected);
    assert!(client.is_quiet(MOMENT).await, "and nothing more");
}

const PLAIN: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

#[tokio::test]
async fn header_names_keep_their_spelling_and_their_order() {
    let request = "POST /v1/messages?beta=true HTTP/1.1\r\n\
         Accept: application/json\r\n\
         X-Claude-Code-Session-Id: 123\r\n\
         anthropic-VERSION: 2023-06-01\r\n\
         anthropic-beta: a\r\n\
         Anthropic-Beta: b\r\n\
         x-api-key: sk-test\r\n\
         Host: localhost:8788\r\n\
         Accept-Encoding: gzip, deflate, br, zstd\r\n\
         Content-Length: 0\r\n\
         X-Empty:\r\n\
         x-last: \u{fc}\r\n\r\n";
    let head = head_upstream(request).await;
    assert_eq!(head, request.replace("localhost:8788", "UPSTREAM"));
}

#[tokio::test]
async fn nothing_is_added_to_a_bare_request_but_the_host() {
    let head = head_upstream("GET / HTTP/1.1\r\n\r\n").await;
    assert_eq!(head, "GET / HTTP/1.1\r\nhost: UPSTREAM\r\n\r\n");
}

#[tokio::test]
async fn headers_of_the_connection_stay_on_the_connection() {
    let request = "GET / HTTP/1.1\r\nA: 1\r\nConnection: keep-alive, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\n\
         Upgrade: websocket\r\nProxy-Connection: x\r\nProxy-Authorization: Basic eA==\r\nB: 2\r\nHost: x\r\n\r\n";
    assert_eq!(head_upstream(request).await, "GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nHost: UPSTREAM\r\n\r\n");
}

#[tokio::test]
async fn every_method_path_and_query_goes_through_as_written() {
    for line in [
        "GET /",
        "HEAD /api/hello",
        "POST /v1/messages?beta=true",
        "PUT /a/b%2Fc/%7e/..//./d",
        "DELETE /v1/files/file_1",
        "PATCH /x",
        "OPTIONS *",
        "BREW /pot",
        "GET /?",
        "GET /v1/{json}/\"quoted\"?a=%20&b=%zz&&=c&{json}",
        "GET /\u{fc}ber?\u{fc}",
        "GET //double//slash",
        "GET /uix/not-the-page",
        "TRACE /trace",
    ] {
        let head = head_upstream(&format!("{line} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        assert_eq!(head.lines().next(), Some(format!("{line} HTTP/1.1").as_str()));
    }
}

#[tokio::test]
async fn an_absolute_address_is_forwarded_by_its_path() {
    let head = head_upstream("GET http://localhost:8788/v1/models?limit=1 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert_eq!(head, "GET /v1/models?limit=1 HTTP/1.1\r\nHost: UPSTREAM\r\n\r\n");
}

#[tokio::test]
async fn the_upstreams_base_path_comes_first() {
    let upstream = RawServer::open().await;
    let daemon = Plan::new(&format!("http://{}/team/a/", upstream.address)).start().await;
    let mut client = daemon.connect().await;
    client.send("GET /v1/models?x=1 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let head = upstream.accept().await.head().await;
    assert!(head.starts_with("GET /team/a/v1/models?x=1 HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn our_own_cookie_does_not_reach_the_provider() {
    let head = head_upstream("GET / HTTP/1.1\r\nHost: x\r\nCookie: a=1; ctx_token=hush; b=2\r\n\r\n").await;
    assert_eq!(head, "GET / HTTP/1.1\r\nHost: UPSTREAM\r\nCookie: a=1; b=2\r\n\r\n");
}

#[tokio::test]
async fn a_body_with_a_length_stays_one_and_a_chunked_body_stays_chunked() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;

    client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello").await;
    let mut peer = upstream.accept().await;
    let head = peer.head().await;
    assert!(head.contains("\r\nContent-Length: 5\r\n") && !head.to_lowercase().contains("transfer"), "{head}");
    assert_eq!(peer.text_of(5).await, "hello");
    peer.send(OK).await;
    client.head().await;
    client.exactly(2).await;

    client.send("POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nX-After: 1\r\n\r\n").await;
    client.send("5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\n\r\n").await;
    let head = peer.head().await;
    assert!(head.contains("\r\nTransfer-Encoding: chunked\r\nX-After: 1\r\n"), "{head}");
    assert!(!head.to_lowercase().contains("content-length"), "{head}");
    assert_eq!(peer.chunked().await.0, b"hello world");
}

#[tokio::test]
async fn bodies_of_no_bytes_are_told_apart_from_no_body() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    let mut peer = None;
    for (request, length, chunked) in [
        ("POST / HTTP/1.1\r\nHost: x\r\n\r\n", false, false),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", true, false),
        ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, true),
    ] {
        client.send(request).await;
        if peer.is_none() {
            peer = Some(upstream.accept().await);
        }
        let peer = peer.as_mut().expect("a connection");
        let head = peer.head().await.to_lowercase();
        assert_eq!(head.contains("content-length: 0"), length, "{head}");
        assert_eq!(head.contains("transfer-encoding: chunked"), chunked, "{head}");
        if chunked {
            assert_eq!(peer.chunked().await.0, b"");
        }
        peer.send(OK).await;
        client.head().await;
        client.exactly(2).await;
    }
}

#[tokio::test]
async fn a_get_with_a_chunked_body_keeps_its_body() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    assert_eq!(peer.chunked().await.0, b"hi");
}

#[tokio::test]
async fn any_bytes_cross_unchanged_in_both_directions() {
    // Compressed or not, text or not: the proxy does not care.
    let bytes: Vec<u8> = (0..=255u8).cycle().take(100_000).collect();
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 100000\r\n\r\n";
    client.send([head.as_bytes(), &bytes].concat()).await;
    let mut peer = upstream.accept().await;
    assert!(peer.head().await.contains("\r\nContent-Encoding: gzip\r\n"));
    assert_eq!(peer.exactly(bytes.len()).await, bytes);
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 100000\r\n\r\n";
    peer.send([head.as_bytes(), &bytes].concat()).await;
    assert_eq!(client.head().await, head);
    assert_eq!(client.exactly(bytes.len()).await, bytes);
}

#[tokio::test]
async fn an_answer_comes_back_with_its_status_words_headers_and_body() {
    let answer = "HTTP/1.1 529 Quite Overloaded\r\n\
         Content-TYPE: application/json\r\n\
         Set-Cookie: a=1\r\n\
         set-cookie: b=2\r\n\
         retry-after: 3\r\n\
         X-Should-Retry: true\r\n\
         Content-Length: 2\r\n\
         request-id: req_1\r\n\r\n{}";
    comes_back(PLAIN, answer, answer).await;
}

#[tokio::test]
async fn an_answer_without_words_gets_none_invented() {
    let answer = "HTTP/1.1 529 \r\nContent-Length: 2\r\n\r\n{}";
    comes_back(PLAIN, answer, answer).await;
}

#[tokio::test]
async fn an_empty_answer_keeps_its_length_where_it_stood() {
    let answer = "HTTP/1.1 200 OK\r\nA: 1\r\nContent-Length: 0\r\nB: 2\r\n\r\n";
    comes_back(PLAIN, answer, answer).await;
}

#[tokio::test]
async fn a_chunked_answer_stays_chunked_and_loses_only_its_connection_headers() {
    let answer = "HTTP/1.1 200 OK\r\nA: 1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nB: 2\r\n\r\n\
         5\r\nhello\r\n0\r\n\r\n";
    comes_back(PLAIN, answer, &answer.replace("Connection: close\r\n", "")).await;
}

#[tokio::test]
async fn an_answer_that_ends_with_its_connection_becomes_a_chunked_one() {
    let expected = "HTTP/1.1 200 Fine\r\nA: 1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    comes_back(PLAIN, "HTTP/1.0 200 Fine\r\nA: 1\r\n\r\nhello", expected).await;
}

#[tokio::test]
async fn an_old_client_gets_an_answer_it_understands() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    comes_back("GET / HTTP/1.0\r\nHost: x\r\n\r\n", answer, "HTTP/1.0 200 OK\r\n\r\nhello").await;
}

#[tokio::test]
async fn answers_without_a_body_keep_the_length_they_speak_of() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    let mut peer = None;
    for (request, answer) in [
        ("HEAD", "HTTP/1.1 404 Not Found\r\nA: 1\r\nContent-Length: 1234\r\nB: 2\r\n\r\n"),
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nB: 2\r\n\r\n"),
        ("HEAD", "HTTP/1.1 200 OK\r\nB: 2\r\n\r\n"),
        ("GET", "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 1234\r\nB: 2\r\n\r\n"),
        ("GET", "HTTP/1.1 304 Not Modified\r\nB: 2\r\n\r\n"),
        ("GET", "HTTP/1.1 204 No Content\r\nB: 2\r\n\r\n"),
        ("DELETE", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nB: 2\r\n\r\n"),
    ] {
        // All on one connection: a wrong end of a response would break the next one.
        client.send(format!("{request} / HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        if peer.is_none() {
            peer = Some(upstream.accept().await);
        }
        let peer = peer.as_mut().expect("a connection");
        peer.head().await;
        peer.send(answer).await;
        assert_eq!(client.head().await, answer);
    }
    assert!(client.is_quiet(MOMENT).await);
}

#[tokio::test]
async fn answers_before_the_answer_do_not_disturb_it() {
    let answers = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    comes_back(PLAIN, answers, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
}

#[tokio::test]
async fn a_client_that_waits_for_leave_to_send_gets_it() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n").await;
    assert_eq!(client.head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("hello").await;
    let mut peer = upstream.accept().await;
    assert!(peer.head().await.contains("\r\nExpect: 100-continue\r\n"));
    peer.send("HTTP/1.1 100 Continue\r\n\r\n").await;
    assert_eq!(peer.text_of(5).await, "hello");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    assert_eq!(client.head().await, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
}

#[tokio::test]
async fn trailers_cross_in_both_directions_when_they_are_announced() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client
        .send(
            "POST / HTTP/1.1\r\nHost: x\r\nTE: trailers\r\nConnection: TE\r\nTrailer: X-Sum\r\n\
             Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n",
        )
        .await;
    let mut peer = upstream.accept().await;
    let head = peer.head().await;
    assert!(head.contains("\r\nTE: trailers\r\nConnection: TE\r\nTrailer: X-Sum\r\n"), "{head}");
    let (body, trailers) = peer.chunked().await;
    assert_eq!((body.as_slice(), trailers.to_lowercase().as_str()), (b"hi".as_slice(), "x-sum: 1\n"));
    peer.send(
        "HTTP/1.1 200 OK\r\nTrailer: X-End\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-End: 7\r\n\r\n",
    )
    .await;
    assert!(client.head().await.contains("\r\nTrailer: X-End\r\n"));
    let (body, trailers) = client.chunked().await;
    assert_eq!((body.as_slice(), trailers.to_lowercase().as_str()), (b"ok".as_slice(), "x-end: 7\n"));
}

#[tokio::test]
async fn connections_are_used_again_on_both_sides() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client.send("GET /0 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    for number in 0..20 {
        assert!(peer.head().await.starts_with(&format!("GET /{number} ")));
        // All three framings must leave the connection ready for the next request.
        match number % 3 {
            0 => peer.send(OK).await,
            1 => peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n").await,
            _ => peer.send("HTTP/1.1 204 No Content\r\n\r\n").await,
        }
        client.head().await;
        match number % 3 {
            0 => assert_eq!(client.text_of(2).await, "ok"),
            1 => assert_eq!(client.chunked().await.0, b"ok"),
            _ => {}
        }
        client.send(format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", number + 1)).await;
    }
    assert!(upstream.stays_alone(MOMENT).await, "one upstream connection was enough");
}

#[tokio::test]
async fn a_resting_upstream_connection_is_dropped_after_a_while() {
    let upstream = RawServer::open().await;
    let plan = Plan::new(&format!("http://{}", upstream.address));
    let daemon = plan.limits(|limits| limits.pool_idle_timeout = Duration::from_millis(50)).start().await;
    let mut client = daemon.connect().await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    peer.send(OK).await;
    client.head().await;
    assert_eq!(peer.rest().await, b"", "the upstream sees the connection end");
}

#[tokio::test]
async fn a_connection_that_died_while_resting_costs_the_client_nothing() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    for _ in 0..5 {
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi").await;
        let mut peer = upstream.accept().await;
        peer.head().await;
        peer.exactly(2).await;
        peer.send(OK).await;
        assert!(client.head().await.starts_with("HTTP/1.1 200 OK\r\n"));
        client.exactly(2).await;
        drop(peer);
        // Once the worker notices, it opens a new connection by itself.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn requests_sent_ahead_are_answered_in_order() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    for number in 1..=2 {
        assert!(peer.head().await.starts_with(&format!("GET /{number} ")));
        peer.send(format!("HTTP/1.1 200 OK\r\nx-number: {number}\r\ncontent-length: 0\r\n\r\n")).await;
        assert!(client.head().await.contains(&format!("x-number: {number}\r\n")));
    }
}

#[tokio::test]
async fn an_unreachable_upstream_is_explained_in_the_providers_shape() {
    let nobody = crate::support::raw::nobody().await;
    let daemon = Daemon::before(nobody).await;
    let answer =
        daemon.ask("POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi").await;
    let message = crate::support::provider_error(&answer, 502, "api_error", "upstream-unreachable");
    assert!(message.contains(&format!("http://{nobody}")), "{message}");
    assert!(message.contains("refused") && message.contains("Check that the upstream is running"), "{message}");
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_explained() {
    let daemon = Plan::new("http://no-such-host.invalid:9").start().await;
    let answer = daemon.ask(GET).await;
    let message = crate::support::provider_error(&answer, 502, "api_error", "upstream-unreachable");
    assert!(message.contains("cannot be resolved"), "{message}");
}

#[tokio::test]
async fn an_upstream_that_closes_without_an_answer_is_explained() {
    let upstream = RawServer::open().await;
    let daemon = Daemon::before(upstream.address).await;
    let mut client = daemon.connect().await;
    client.send(GET).await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    drop(peer);
    let answer = String::from_utf8(client.rest().await).expect("text");
    crate::support::provider_error(&answer, 502, "api_error", "upstream-closed");
}
