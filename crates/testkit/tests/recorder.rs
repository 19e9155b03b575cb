//! The recorder between a client and a provider: nothing is altered, everything is recorded.

use serde_json::json;
use std::time::Duration;
use testkit::fake_provider::{FakeProvider, Options, Outcome};
use testkit::http1::Ending;
use testkit::{Client, Recorder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn provider_and_recorder(options: Options) -> (FakeProvider, Recorder) {
    let provider = FakeProvider::start(options).expect("a free port");
    let recorder = Recorder::start(provider.address()).expect("a free port");
    (provider, recorder)
}

fn ask(prompt: &str) -> Vec<u8> {
    let messages = json!([{"role": "user", "content": prompt}]);
    let body = json!({"model": "m", "max_tokens": 10, "stream": true, "messages": messages});
    body.to_string().into_bytes()
}

#[tokio::test]
async fn what_the_client_sent_is_what_the_provider_got_and_what_was_recorded() {
    let (provider, recorder) = provider_and_recorder(Options::default());
    let mut client = Client::connect(&recorder.url()).await.expect("listening");
    let headers = [("X-Camel-Case".to_owned(), "1".to_owned()), ("x-lower".to_owned(), "caf\u{e9}".to_owned())];
    for prompt in ["SAY:one", "SAY:two", &"SAY:big ".repeat(100_000)] {
        let body = ask(prompt);
        let sent = client.send("POST", "/v1/messages?beta=true", &headers, &body);
        let response = sent.await.expect("an answer");
        let exchange = recorder.exchanges().pop().expect("an exchange");
        let got = provider.requests().pop().expect("a request");
        assert_eq!(exchange.request_body, body);
        assert_eq!(&got.body[..], body);
        assert_eq!(exchange.request_headers, got.headers);
        assert_eq!(exchange.request_ending, Some(Ending::Complete));
        assert_eq!(exchange.target, "/v1/messages?beta=true");
        let recorded = exchange.response.expect("a response");
        assert_eq!(recorded.status, 200);
        assert_eq!(recorded.body, response.body);
        assert_eq!(recorded.headers, response.headers);
        assert_eq!(recorded.ending, Some(Ending::Complete));
    }
    let connections = recorder.exchanges().into_iter();
    assert!(connections.map(|exchange| exchange.connection).eq([1, 1, 1]));
}

#[tokio::test]
async fn heads_without_bodies_do_not_confuse_what_follows() {
    let (_provider, recorder) = provider_and_recorder(Options::default());
    let mut client = Client::connect(&recorder.url()).await.expect("listening");
    for method in ["HEAD", "GET", "HEAD", "GET"] {
        let response = client.send(method, "/api/hello", &[], b"").await;
        assert_eq!(response.expect("an answer").ending, Ending::Complete);
    }
    let bodies = recorder.exchanges().into_iter().map(|exchange| {
        let response = exchange.response.expect("a response");
        assert_eq!(response.ending, Some(Ending::Complete));
        response.body.len()
    });
    assert!(bodies.eq([0, 2, 0, 2]));
}

#[tokio::test]
async fn a_cut_is_copied_as_a_cut() {
    let (_provider, recorder) = provider_and_recorder(Options::default());
    let mut client = Client::connect(&recorder.url()).await.expect("listening");
    let response = client.post("/v1/messages", &ask("SAY:x;;CUT")).await;
    let response = response.expect("an answer");
    assert_eq!(response.ending, Ending::Cut);
    let exchange = recorder.exchanges().pop().expect("an exchange");
    let recorded = exchange.response.expect("a response");
    assert_eq!(recorded.ending, Some(Ending::Cut));
    assert_eq!(recorded.body, response.body);
}

#[tokio::test]
async fn a_reset_is_copied_as_a_reset() {
    const START: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc";
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let recorder = Recorder::start(listener.local_addr().expect("bound")).expect("a free port");
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = [0; 1024];
        let read = stream.read(&mut request).await.expect("a request");
        assert!(read > 0);
        stream.write_all(START).await.expect("room");
        // The bytes must be read before the reset, which may overtake them.
        let mut more = [0; 1];
        stream.read_exact(&mut more).await.expect("the go-ahead");
        stream.set_zero_linger().expect("a socket");
    });
    let mut client = tokio::net::TcpStream::connect(recorder.address()).await.expect("listening");
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("room");
    let mut answer = vec![0; START.len()];
    client.read_exact(&mut answer).await.expect("the start");
    assert_eq!(answer, START);
    client.write_all(b"x").await.expect("room");
    let error = client.read(&mut answer).await.expect_err("a reset");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    server.await.expect("no panic");
    let over = recorder.wait_until(|exchanges| exchanges.iter().all(|one| one.is_over()));
    let exchange = over.await.expect("recorded").remove(0);
    let response = exchange.response.expect("a response");
    assert_eq!((&response.body[..], response.ending), (&b"abc"[..], Some(Ending::Cut)));
}

#[tokio::test]
async fn a_client_that_leaves_is_gone_for_the_provider_too() {
    let (provider, recorder) = provider_and_recorder(Options::default());
    let mut client = Client::connect(&recorder.url()).await.expect("listening");
    let body = ask("SAY:x;;HANG:600");
    client.start("POST", "/v1/messages", &[], &body).await.expect("a head");
    drop(client);
    let gone = provider.wait_until(|records| {
        let outcome = records.first().and_then(|record| record.outcome);
        outcome == Some(Outcome::ClientGone)
    });
    gone.await.expect("the provider notices");
    let over = recorder.wait_until(|exchanges| exchanges.iter().all(|one| one.is_over()));
    let exchange = over.await.expect("recorded").remove(0);
    let ending = exchange.response.and_then(|response| response.ending);
    assert_eq!(ending, Some(Ending::Cut));
}

#[tokio::test]
async fn bytes_pass_while_the_answer_is_still_being_made() {
    let (_provider, recorder) = provider_and_recorder(Options::default());
    let mut client = Client::connect(&recorder.url()).await.expect("listening");
    let body = ask("SAY:x;;HANG:600");
    client.start("POST", "/v1/messages", &[], &body).await.expect("a head");
    let mut stream = Vec::new();
    while !String::from_utf8_lossy(&stream).contains("content_block_delta") {
        let piece = tokio::time::timeout(Duration::from_secs(20), client.piece());
        let piece = piece.await.expect("in time").expect("no cut");
        stream.extend_from_slice(&piece.expect("no end"));
    }
    assert!(!recorder.exchanges().remove(0).is_over());
}

#[tokio::test]
async fn a_target_that_is_not_there_hangs_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let recorder = Recorder::start(address).expect("a free port");
    let mut client = Client::connect(&recorder.url()).await.expect("listening");
    assert!(client.get("/").await.is_err());
}
