//! Upstreams over TLS: HTTP/1.1 and HTTP/2, private authorities, and untrusted certificates.

use std::time::Duration;

use crate::support::raw::{Peer, RawServer};
use crate::support::tls::{self, Authority};
use crate::support::{Daemon, Plan, provider_error, soon};
use bytes::Bytes;
use ctx_server::watch::Ending;
use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const H2: &[&[u8]] = &[b"h2", b"http/1.1"];
const GET: &str = "GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const OPEN_GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

struct Secured {
    authority: Authority,
    server: RawServer,
    acceptor: TlsAcceptor,
}

impl Secured {
    async fn open(protocols: &[&[u8]]) -> Self {
        let authority = Authority::new();
        let acceptor = authority.acceptor("localhost", protocols);
        Self { authority, server: RawServer::open().await, acceptor }
    }

    fn plan(&self) -> Plan {
        let file = self.authority.file();
        Plan::new(&format!("https://localhost:{}", self.server.address.port()))
            .upstream(|upstream| upstream.extra_ca.push(file))
    }

    async fn accept(&self) -> Peer {
        Peer::new(tls::accept(&self.acceptor, self.server.accept_tcp().await).await)
    }

    async fn accept_http2(&self) -> Http2 {
        let stream = tls::accept(&self.acceptor, self.server.accept_tcp().await).await;
        Http2(soon("a preface", server::handshake(stream)).await.expect("a handshake"))
    }
}

/// An HTTP/2 upstream under the test's control. Frames move only while the test awaits its next event.
struct Http2(server::Connection<TlsStream<TcpStream>, Bytes>);

impl Http2 {
    async fn request(&mut self) -> (Request<RecvStream>, SendResponse<Bytes>) {
        soon("a request", self.0.accept()).await.expect("a stream").expect("a request")
    }

    /// Lets the connection run by itself from here on.
    fn run(mut self) -> tokio::task::JoinHandle<()> {
        tokio::spawn(async move { while let Some(Ok(_)) = self.0.accept().await {} })
    }
}

fn ok() -> Response<()> {
    Response::builder().header("x-kept", "1").body(()).expect("a head")
}

#[tokio::test]
async fn http1_over_tls_with_an_authority_of_ones_own() {
    let secured = Secured::open(&[b"http/1.1"]).await;
    let daemon = secured.plan().start().await;
    let mut client = daemon.connect().await;
    client.send("GET /v1 HTTP/1.1\r\nHost: x\r\nX-Spelling: Kept\r\n\r\n").await;
    let mut peer = secured.accept().await;
    let host = format!("localhost:{}", secured.server.address.port());
    assert_eq!(peer.head().await, format!("GET /v1 HTTP/1.1\r\nHost: {host}\r\nX-Spelling: Kept\r\n\r\n"));
    let answer = "HTTP/1.1 200 OK\r\nX-Spelling: Kept\r\nContent-Length: 2\r\n\r\nok";
    peer.send(answer).await;
    assert_eq!(client.text_of(answer.len()).await, answer);
}

#[tokio::test]
async fn an_upstream_that_negotiates_nothing_speaks_http1() {
    let secured = Secured::open(&[]).await;
    let daemon = secured.plan().start().await;
    let mut client = daemon.connect().await;
    client.send(GET).await;
    assert!(secured.accept().await.head().await.starts_with("GET /v1/models HTTP/1.1\r\n"));
}

#[tokio::test]
async fn http2_can_be_switched_off() {
    let secured = Secured::open(H2).await;
    let daemon = secured.plan().upstream(|upstream| upstream.http2 = false).start().await;
    let mut client = daemon.connect().await;
    client.send(GET).await;
    assert!(secured.accept().await.head().await.starts_with("GET /v1/models HTTP/1.1\r\n"));
}

#[tokio::test]
async fn a_request_and_its_answer_cross_http2() {
    let secured = Secured::open(H2).await;
    let daemon = secured.plan().start().await;
    let mut client = daemon.connect().await;
    client
        .send(
            "POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nX-Api-Key: k\r\n\
             TE: trailers\r\nContent-Length: 5\r\n\r\nhello",
        )
        .await;
    let mut upstream = secured.accept_http2().await;
    let (request, mut respond) = upstream.request().await;
    let running = upstream.run();
    let (head, mut body) = request.into_parts();
    let authority = format!("localhost:{}", secured.server.address.port());
    assert_eq!(head.uri.to_string(), format!("https://{authority}/v1/messages?beta=true"));
    let names: Vec<&str> = head.headers.keys().map(http::HeaderName::as_str).collect();
    assert_eq!(names, ["x-api-key", "te", "content-length"]);
    assert_eq!(soon("the body", body.data()).await.expect("data").expect("data"), "hello");

    let mut stream = respond.send_response(ok(), false).expect("sent");
    for part in ["one", "two"] {
        stream.send_data(Bytes::from(part), false).expect("sent");
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("x-end", "7".parse().expect("a value"));
    stream.send_trailers(trailers).expect("sent");
    assert_eq!(client.head().await, "HTTP/1.1 200 OK\r\nx-kept: 1\r\ntransfer-encoding: chunked\r\n\r\n");
    assert_eq!(client.chunked().await.0, b"onetwo");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Complete);
    running.abort();
}

#[tokio::test]
async fn exchanges_share_one_http2_connection() {
    let secured = Secured::open(H2).await;
    let mut plan = secured.plan();
    plan.config.workers = 1;
    let daemon = plan.start().await;
    let mut client = daemon.connect().await;
    client.send(OPEN_GET).await;
    let mut upstream = secured.accept_http2().await;
    let (_, mut first) = upstream.request().await;
    let mut held = first.send_response(ok(), false).expect("sent");
    let mut second_client = daemon.connect().await;
    second_client.send(OPEN_GET).await;
    let (_, mut second) = upstream.request().await;
    let running = upstream.run();
    second.send_response(ok(), true).expect("sent");
    assert_eq!(second_client.head().await, "HTTP/1.1 200 OK\r\nx-kept: 1\r\ncontent-length: 0\r\n\r\n");
    held.send_data(Bytes::from_static(b"late"), true).expect("sent");
    client.head().await;
    assert_eq!(client.chunked().await.0, b"late");
    running.abort();
}

#[tokio::test]
async fn a_status_without_words_gets_none_invented() {
    let secured = Secured::open(H2).await;
    let daemon = secured.plan().start().await;
    let mut client = daemon.connect().await;
    client.send(OPEN_GET).await;
    let mut upstream = secured.accept_http2().await;
    let (_, mut respond) = upstream.request().await;
    let running = upstream.run();
    let head = Response::builder().status(529).header("content-length", "0").body(()).expect("a head");
    respond.send_response(head, true).expect("sent");
    assert_eq!(client.head().await, "HTTP/1.1 529 \r\ncontent-length: 0\r\n\r\n");
    running.abort();
}

/// Responds over HTTP/2 with one chunk and then resets the stream for the given reason.
async fn reset_in_the_middle(reason: Reason, with_length: bool) -> (Vec<u8>, Ending) {
    let secured = Secured::open(H2).await;
    let daemon = secured.plan().start().await;
    let mut client = daemon.connect().await;
    client.send(OPEN_GET).await;
    let mut upstream = secured.accept_http2().await;
    let (_, mut respond) = upstream.request().await;
    let running = upstream.run();
    let mut head = ok();
    if with_length {
        head.headers_mut().insert("content-length", "100".parse().expect("a value"));
    }
    let mut stream = respond.send_response(head, false).expect("sent");
    stream.send_data(Bytes::from_static(b"hello"), false).expect("sent");
    client.head().await;
    let read = if with_length { client.exactly(5).await } else { client.exactly(10).await };
    assert!(String::from_utf8_lossy(&read).contains("hello"));
    stream.send_reset(reason);
    let rest = client.rest().await;
    running.abort();
    (rest, daemon.recorder.ending(0).await)
}

#[tokio::test]
async fn a_stream_that_is_reset_is_a_cut_also_when_the_reset_is_polite() {
    for reason in [Reason::INTERNAL_ERROR, Reason::CANCEL, Reason::NO_ERROR] {
        for with_length in [false, true] {
            let ended = reset_in_the_middle(reason, with_length).await;
            assert_eq!(ended, (Vec::new(), Ending::Cut), "{reason:?}, length {with_length}");
        }
    }
}

#[tokio::test]
async fn an_http2_connection_that_breaks_cuts_its_streams() {
    let secured = Secured::open(H2).await;
    let daemon = secured.plan().start().await;
    let mut client = daemon.connect().await;
    client.send(OPEN_GET).await;
    let mut upstream = secured.accept_http2().await;
    let (_, mut respond) = upstream.request().await;
    let running = upstream.run();
    let mut stream = respond.send_response(ok(), false).expect("sent");
    stream.send_data(Bytes::from_static(b"hello"), false).expect("sent");
    client.head().await;
    client.exactly(10).await;
    running.abort();
    drop((stream, respond));
    assert_eq!(client.rest().await, b"", "no last chunk was invented");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Cut);
}

#[tokio::test]
async fn an_http1_connection_that_breaks_inside_tls_cuts_its_answer() {
    let secured = Secured::open(&[b"http/1.1"]).await;
    let daemon = secured.plan().start().await;
    let mut client = daemon.connect().await;
    client.send(OPEN_GET).await;
    let mut peer = secured.accept().await;
    peer.head().await;
    // Without a length, only the missing close message of TLS tells a cut from an end.
    peer.send("HTTP/1.1 200 OK\r\n\r\nhello").await;
    client.head().await;
    client.exactly(10).await;
    drop(peer);
    assert_eq!(client.rest().await, b"", "no last chunk was invented");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Cut);
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_http2_stream_only() {
    let secured = Secured::open(H2).await;
    let mut plan = secured.plan();
    plan.config.workers = 1;
    let daemon = plan.start().await;
    let mut staying = daemon.connect().await;
    staying.send(OPEN_GET).await;
    let mut upstream = secured.accept_http2().await;
    let (_, mut stays) = upstream.request().await;

    for has_answered in [false, true] {
        let mut leaving = daemon.connect().await;
        leaving.send(OPEN_GET).await;
        let (_, mut left) = upstream.request().await;
        let mut stream = None;
        if has_answered {
            stream = Some(left.send_response(ok(), false).expect("sent"));
            let head = leaving.head();
            tokio::select! { _ = head => {}, _ = upstream.0.accept() => panic!("no other request") }
        }
        drop(leaving);
        let reset = async {
            match &mut stream {
                Some(stream) => std::future::poll_fn(|context| stream.poll_reset(context)).await,
                None => std::future::poll_fn(|context| left.poll_reset(context)).await,
            }
        };
        let reason = tokio::select! {
            reason = soon("a reset", reset) => reason.expect("a reason"),
            _ = upstream.0.accept() => panic!("no other request"),
        };
        assert_eq!(reason, Reason::CANCEL);
    }

    let running = upstream.run();
    stays.send_response(ok(), true).expect("sent");
    assert!(staying.head().await.starts_with("HTTP/1.1 200 OK\r\n"));
    running.abort();
}

#[tokio::test]
async fn an_early_answer_over_http2_reaches_the_client_whole() {
    let secured = Secured::open(H2).await;
    let daemon = secured.plan().start().await;
    let mut client = daemon.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nsome").await;
    let mut upstream = secured.accept_http2().await;
    let (request, mut respond) = upstream.request().await;
    let head = Response::builder().status(413).body(()).expect("a head");
    let mut stream = respond.send_response(head, false).expect("sent");
    tokio::select! {
        head = client.head() => assert!(head.starts_with("HTTP/1.1 413 "), "{head}"),
        _ = upstream.0.accept() => panic!("no other request"),
    }
    // Dropping a stream like this resets it gracefully, after its remaining data. Both arrive at once, so the reset is
    // known before the last data have been forwarded.
    stream.send_data(Bytes::from_static(b"too large"), true).expect("sent");
    drop((stream, respond, request));
    let running = upstream.run();
    assert_eq!(client.chunked().await.0, b"too large");
    assert_eq!(daemon.recorder.ending(0).await, Ending::Complete);
    running.abort();
}

#[tokio::test]
async fn an_http2_upstream_that_does_not_read_stops_the_client_and_loses_nothing() {
    let secured = Secured::open(H2).await;
    let daemon = secured.plan().start().await;
    daemon.recorder.blind.store(true, std::sync::atomic::Ordering::Relaxed);
    let size = 64 * 1024 * 1024;
    let mut client = daemon.connect().await;
    client.send(format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n")).await;
    let mut upstream = secured.accept_http2().await;
    let (request, _respond) = upstream.request().await;
    let running = upstream.run();
    let sent = client.send_until_stuck(size, Duration::from_millis(300)).await;
    assert!(sent < 32 * 1024 * 1024, "{sent} bytes went somewhere, and nobody read them");

    let mut body = request.into_body();
    let mut got = 0;
    while got < sent {
        let data = soon("data", body.data()).await.expect("data").expect("data");
        assert!(data.iter().all(|byte| *byte == b'x'));
        got += data.len();
        body.flow_control().release_capacity(data.len()).expect("released");
    }
    assert_eq!(got, sent);
    running.abort();
}

#[tokio::test]
async fn a_certificate_nobody_vouches_for_is_explained_and_not_tried_again() {
    let secured = Secured::open(&[b"http/1.1"]).await;
    let stranger = Authority::new();
    let daemon = Plan::new(&format!("https://localhost:{}", secured.server.address.port()))
        .upstream(|upstream| upstream.extra_ca.push(stranger.file()))
        .start()
        .await;
    let mut client = daemon.connect().await;
    client.send(GET).await;
    let socket = secured.server.accept_tcp().await;
    assert!(secured.acceptor.accept(socket).await.is_err());
    let answer = String::from_utf8(client.rest().await).expect("text");
    let message = provider_error(&answer, 502, "api_error", "upstream-unreachable");
    assert!(message.contains("certificate is not trusted") && message.contains("ca_files"), "{message}");
    assert_eq!(crate::support::header_of(&answer, "x-should-retry"), Some("false"));
}

#[tokio::test]
async fn a_certificate_for_another_name_is_explained() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("elsewhere.example", &[b"http/1.1"]);
    let server = RawServer::open().await;
    let daemon = Plan::new(&format!("https://localhost:{}", server.address.port()))
        .upstream(|upstream| upstream.extra_ca.push(authority.file()))
        .start()
        .await;
    let mut client = daemon.connect().await;
    client.send(GET).await;
    assert!(acceptor.accept(server.accept_tcp().await).await.is_err());
    let answer = String::from_utf8(client.rest().await).expect("text");
    let message = provider_error(&answer, 502, "api_error", "upstream-unreachable");
    assert!(message.contains("certificate is not trusted"), "{message}");
}

#[tokio::test]
async fn an_upstream_that_does_not_speak_tls_is_explained() {
    let server = RawServer::open().await;
    let daemon = Plan::new(&format!("https://localhost:{}", server.address.port())).start().await;
    let mut client = daemon.connect().await;
    client.send(GET).await;
    let mut peer = server.accept().await;
    peer.send("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let answer = String::from_utf8(client.rest().await).expect("text");
    let message = provider_error(&answer, 502, "api_error", "upstream-unreachable");
    assert!(message.contains("TLS handshake failed") && message.contains("really https"), "{message}");
}

#[tokio::test]
async fn an_upstream_that_accepts_but_never_shakes_hands_times_out() {
    let server = RawServer::open().await;
    let daemon = Plan::new(&format!("https://localhost:{}", server.address.port()))
        .limits(|limits| limits.connect_timeout = Duration::from_millis(100))
        .start()
        .await;
    let answer = daemon.ask(GET).await;
    let message = provider_error(&answer, 502, "api_error", "upstream-unreachable");
    assert!(message.contains("no connection within 0.1 s"), "{message}");
}

#[tokio::test]
async fn a_missing_certificate_file_is_found_before_the_port_is_opened() {
    let mut plan = Plan::new("https://localhost:1");
    plan.config.upstream.extra_ca.push("/no/such/file.pem".into());
    let refused = ctx_server::Server::bind(plan.config, plan.recorder, plan.control).await;
    let error = refused.err().expect("refused").to_string();
    assert!(error.contains("/no/such/file.pem"), "{error}");
}

#[tokio::test]
async fn the_daemon_answers_while_its_upstream_is_being_looked_for() {
    // A hanging connection attempt must not block others.
    let server = RawServer::open().await;
    let daemon: Daemon = Plan::new(&format!("https://localhost:{}", server.address.port())).start().await;
    let mut hanging = daemon.connect().await;
    hanging.send(GET).await;
    let _held = server.accept_tcp().await;
    for _ in 0..4 {
        assert!(daemon.get("/control/v1/status", "").await.starts_with("HTTP/1.1 401 "));
    }
}
