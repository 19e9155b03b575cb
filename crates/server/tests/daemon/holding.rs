//! Requests of edited conversations: held until complete, composed, and framed correctly.

use std::io::Write;
use std::time::Duration;

use crate::support::house::{ANSWER, Arrived, Router, answer, conversation, head, request};
use crate::support::raw::{Peer, RawServer};
use crate::support::tls::{self, Authority};
use crate::support::{header_of, provider_error, soon};
use ctx_server::watch::{Observer, RequestHead, RequestWatch, ResponseHead, ResponseWatch, Watch};

const MOMENT: Duration = Duration::from_millis(150);

/// A daemon with the conversation `one`, whose second question is deleted.
async fn edited() -> (RawServer, Router) {
    let server = RawServer::open().await;
    let house = Router::before(&server).await;
    house.talk(&server, "one", &conversation("one", 3)).await;
    house.delete_second("one").await;
    (server, house)
}

#[tokio::test]
async fn a_request_of_an_edited_conversation_leaves_composed() {
    let (server, house) = edited().await;
    let body = conversation("one", 4);
    let arrived = house.talk(&server, "one", &body).await;
    assert_eq!(arrived.questions(), ["one question 1", "one question 3", "one question 4"]);
    assert_eq!(arrived.text(), house.composed("one").await, "what is shown is what is sent");
    let expected = request("one", &body)
        .split_once("\r\n\r\n")
        .expect("a head")
        .0
        .replace("Host: x", &format!("Host: {}", server.address))
        .replace(&format!("Content-Length: {}", body.len()), &format!("Content-Length: {}", arrived.body.len()))
        .replace("\r\nConnection: close", "");
    assert_eq!(arrived.head.trim_end(), expected, "everything else stays as it came");
}

#[tokio::test]
async fn nothing_leaves_before_the_last_byte_has_come() {
    let (server, house) = edited().await;
    let whole = request("one", &conversation("one", 4));
    let (first, last) = whole.split_at(whole.len() - 20);
    let mut client = house.connect().await;
    client.send(first).await;
    assert!(server.stays_alone(MOMENT).await);
    client.send(last).await;
    let mut arrived = Arrived::at(&server).await;
    assert_eq!(arrived.questions().len(), 3);
    arrived.peer.send(answer("200 OK", ANSWER)).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 OK"));
    assert_eq!(client.rest().await, ANSWER.as_bytes());
}

#[tokio::test]
async fn a_chunked_request_is_composed_and_stays_chunked() {
    let (server, house) = edited().await;
    let body = conversation("one", 4);
    let mut client = house.connect().await;
    client.send(head("one", "Transfer-Encoding: chunked\r\n")).await;
    for chunk in body.as_bytes().chunks(33) {
        client.send([format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat()).await;
    }
    client.send("0\r\n\r\n").await;
    let arrived = Arrived::at(&server).await;
    assert_eq!((arrived.header("transfer-encoding"), arrived.header("content-length")), (Some("chunked"), None));
    assert_eq!(arrived.questions(), ["one question 1", "one question 3", "one question 4"]);
}

fn gzip(body: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body.as_bytes()).expect("encoded");
    encoder.finish().expect("encoded")
}

#[tokio::test]
async fn an_encoded_request_leaves_plain_when_it_is_composed_and_encoded_when_not() {
    let (server, house) = edited().await;
    for (session, topic, is_composed) in [("one", "one", true), ("other", "other", false)] {
        let body = gzip(&conversation(topic, 4));
        let framing = format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n", body.len());
        let mut client = house.connect().await;
        client.send(head(session, &framing)).await;
        client.send(&body).await;
        let arrived = Arrived::at(&server).await;
        if is_composed {
            assert_eq!(arrived.header("content-encoding"), None);
            assert_eq!(arrived.questions(), ["one question 1", "one question 3", "one question 4"]);
        } else {
            assert_eq!((arrived.header("content-encoding"), arrived.body == body), (Some("gzip"), true));
        }
    }
}

#[tokio::test]
async fn a_held_request_that_nothing_touches_leaves_byte_for_byte() {
    let (server, house) = edited().await;
    // An unknown session may be a fork of an edited one, so it is held.
    let odd = conversation("new", 2).replace(':', " : ");
    let mut client = house.connect().await;
    let whole = request("new", &odd);
    let (first, last) = whole.split_at(whole.len() - 1);
    client.send(first).await;
    assert!(server.stays_alone(MOMENT).await, "it is held");
    client.send(last).await;
    let arrived = Arrived::at(&server).await;
    assert_eq!(arrived.text(), odd);
    let expected = whole.split_once("\r\n\r\n").expect("a head").0;
    let expected =
        expected.replace("Host: x", &format!("Host: {}", server.address)).replace("\r\nConnection: close", "");
    assert_eq!(arrived.head.trim_end(), expected);

    let mut client = house.connect().await;
    client.send(head("newer", "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n")).await;
    client.send("3\r\n{} \r\n0\r\nX-Sum: 7\r\n\r\n").await;
    let mut peer = server.accept().await;
    let head = peer.head().await;
    assert_eq!((header_of(&head, "transfer-encoding"), header_of(&head, "content-length")), (Some("chunked"), None));
    let (body, trailers) = peer.chunked().await;
    assert_eq!((body.as_slice(), trailers.to_lowercase().as_str()), (b"{} ".as_slice(), "x-sum: 7\n"));
}

#[tokio::test]
async fn a_held_request_without_a_body_passes_too() {
    let (server, house) = edited().await;
    for framing in ["", "Content-Length: 0\r\n"] {
        let mut client = house.connect().await;
        client.send(head("one", framing)).await;
        let mut peer = server.accept().await;
        peer.head().await;
        peer.send(answer("400 Bad Request", "{}")).await;
        assert!(client.head().await.starts_with("HTTP/1.1 400 "));
        assert_eq!(client.rest().await, b"{}");
    }
}

#[tokio::test]
async fn a_client_that_waits_for_leave_to_send_gets_it_also_when_it_is_held() {
    let (server, house) = edited().await;
    let body = conversation("one", 4);
    let mut client = house.connect().await;
    client.send(head("one", &format!("Expect: 100-continue\r\nContent-Length: {}\r\n", body.len()))).await;
    assert!(client.head().await.starts_with("HTTP/1.1 100 "));
    client.send(&body).await;
    assert_eq!(Arrived::at(&server).await.questions().len(), 3);
}

#[tokio::test]
async fn requests_sent_ahead_on_one_connection_are_composed_in_order() {
    let (server, house) = edited().await;
    let mut client = house.connect().await;
    let open = |questions| request("one", &conversation("one", questions)).replace("Connection: close\r\n", "");
    client.send(open(4) + &open(5)).await;
    for questions in [3, 4] {
        let mut arrived = Arrived::at(&server).await;
        assert_eq!(arrived.questions().len(), questions);
        arrived.peer.send(answer("200 OK", ANSWER)).await;
        client.head().await;
        assert_eq!(client.text_of(ANSWER.len()).await, ANSWER);
    }
}

#[tokio::test]
async fn large_requests_are_held_whole() {
    let (server, house) = edited().await;
    // There is no limit of ours: the provider decides about the size.
    let body = conversation("one", 4).replace("question 4", &"x".repeat(9_000_000));
    let arrived = house.talk(&server, "one", &body).await;
    assert_eq!(arrived.questions()[2].len(), 9_000_000 + 4);
    assert_eq!(arrived.questions()[1], "one question 3");
    let again = house.talk(&server, "one", &body).await;
    assert!(again.body == arrived.body);
}

#[tokio::test]
async fn a_conversation_that_is_not_edited_streams_while_another_is_held() {
    let server = RawServer::open().await;
    let house = Router::before(&server).await;
    house.talk(&server, "one", &conversation("one", 3)).await;
    house.talk(&server, "two", &conversation("two", 3)).await;
    house.delete_second("one").await;
    let body = conversation("two", 4);
    let whole = request("two", &body);
    let (first, last) = whole.split_at(whole.len() - 20);
    let mut client = house.connect().await;
    client.send(first).await;
    let mut peer = server.accept().await;
    peer.head().await;
    assert_eq!(peer.text_of(body.len() - 20).await, body[..body.len() - 20]);
    client.send(last).await;
    assert_eq!(peer.text_of(20).await, body[body.len() - 20..]);
    assert_eq!(house.talk(&server, "one", &conversation("one", 4)).await.questions().len(), 3);
}

#[tokio::test]
async fn once_the_operations_are_taken_back_nothing_is_held_any_more() {
    let (server, house) = edited().await;
    house.post("conversations/one/history", &serde_json::json!({"action": "undo", "author": "test"})).await;
    let body = conversation("one", 4);
    let whole = request("one", &body);
    let mut client = house.connect().await;
    client.send(&whole[..whole.len() - 20]).await;
    let mut peer = server.accept().await;
    peer.head().await;
    client.send(&whole[whole.len() - 20..]).await;
    assert_eq!(peer.text_of(body.len()).await, body);
}

#[tokio::test]
async fn a_client_that_leaves_while_it_is_held_leaves_nothing_behind() {
    let (server, house) = edited().await;
    let whole = request("one", &conversation("one", 4));
    let mut client = house.connect().await;
    client.send(&whole[..whole.len() - 20]).await;
    assert!(server.stays_alone(MOMENT).await);
    drop(client);
    assert!(server.stays_alone(MOMENT).await, "half a request never leaves");
    settled(&house).await;
    assert_eq!(house.get("conversations/one/frames").await["frames"].as_array().expect("frames").len(), 3);
    assert_eq!(house.talk(&server, "one", &conversation("one", 4)).await.questions().len(), 3);
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_takes_its_held_request_along() {
    let (server, house) = edited().await;
    let mut client = house.connect().await;
    client.send(request("one", &conversation("one", 4))).await;
    let mut arrived = Arrived::at(&server).await;
    drop(client);
    arrived.peer.end().await;
    settled(&house).await;
}

/// No request is running.
async fn settled(house: &Router) {
    soon("no request in flight", async {
        while house.get("status").await["requests"]["in_flight"] != 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_held_body_that_stops_in_the_middle_is_given_up() {
    let server = RawServer::open().await;
    let quick = |config: &mut ctx_server::ServerConfig| config.limits.body_idle_timeout = Duration::from_millis(200);
    let house = Router::with(&format!("http://{}", server.address), quick).await;
    house.talk(&server, "one", &conversation("one", 3)).await;
    house.delete_second("one").await;
    let whole = request("one", &conversation("one", 4));
    let mut client = house.connect().await;
    client.send(&whole[..whole.len() - 20]).await;
    let answer = String::from_utf8(client.rest().await).expect("text");
    provider_error(&answer, 408, "invalid_request_error", "request-stalled");
    let mut client = house.connect().await;
    client.send(head("one", "Transfer-Encoding: chunked\r\n") + "no number\r\n").await;
    let answer = String::from_utf8(client.rest().await).expect("text");
    provider_error(&answer, 400, "invalid_request_error", "request-broken");
    assert!(server.stays_alone(MOMENT).await);
    settled(&house).await;
}

#[tokio::test]
async fn a_request_without_end_is_not_held() {
    let (server, house) = edited().await;
    let mut client = house.connect().await;
    client.send(head("one", "Content-Length: 300000000\r\n")).await;
    let answer = String::from_utf8(client.rest().await).expect("text");
    provider_error(&answer, 400, "invalid_request_error", "unreadable-request");
    assert!(server.stays_alone(MOMENT).await);
    settled(&house).await;
}

#[tokio::test]
async fn an_upstream_that_cannot_be_reached_is_told_for_a_held_request_too() {
    let (server, house) = edited().await;
    drop(server);
    let mut client = house.connect().await;
    client.send(request("one", &conversation("one", 4))).await;
    let answer = String::from_utf8(client.rest().await).expect("text");
    provider_error(&answer, 502, "api_error", "upstream-unreachable");
    settled(&house).await;
}

#[tokio::test]
async fn a_slow_refusal_of_a_held_request_passes_as_it_comes() {
    for status in ["400 Bad Request", "422 Unprocessable Content"] {
        let (server, house) = edited().await;
        let mut client = house.connect().await;
        client.send(request("one", &conversation("one", 4))).await;
        let mut arrived = Arrived::at(&server).await;
        let words = r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#;
        let whole = answer(status, words);
        let (first, last) = whole.split_at(whole.len() - 20);
        arrived.peer.send(first).await;
        let head = soon("the head, while the upstream keeps the rest", client.head()).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{head}");
        assert_eq!(client.text_of(words.len() - 20).await, words[..words.len() - 20]);
        arrived.peer.send(last).await;
        assert_eq!(client.rest().await, &words.as_bytes()[words.len() - 20..]);
    }
}

#[tokio::test]
async fn an_upstream_that_hangs_up_on_a_held_request_is_told_and_it_is_not_repeated() {
    let (server, house) = edited().await;
    let mut client = house.connect().await;
    client.send(request("one", &conversation("one", 4))).await;
    drop(Arrived::at(&server).await);
    let answer = String::from_utf8(client.rest().await).expect("text");
    provider_error(&answer, 502, "api_error", "upstream-closed");
    assert!(server.stays_alone(MOMENT).await);
}

/// Token counts have their own path.
fn count(session: &str, body: &str) -> String {
    request(session, body).replacen("/v1/messages", "/v1/messages/count_tokens", 1)
}

#[tokio::test]
async fn what_is_counted_is_what_would_be_sent_and_nothing_is_recorded() {
    let (server, house) = edited().await;
    let before = house.get("conversations/one/timeline").await;
    let mut client = house.connect().await;
    client.send(count("one", &conversation("one", 3))).await;
    let mut arrived = Arrived::at(&server).await;
    assert_eq!(arrived.questions(), ["one question 1", "one question 3"]);
    arrived.peer.send(answer("200 OK", r#"{"input_tokens":7}"#)).await;
    client.head().await;
    assert_eq!(client.rest().await, br#"{"input_tokens":7}"#);
    settled(&house).await;
    assert_eq!(house.get("conversations/one/timeline").await["events"], before["events"]);
}

#[tokio::test]
async fn a_count_for_a_conversation_that_is_not_edited_stays_a_plain_pipe() {
    let server = RawServer::open().await;
    let house = Router::before(&server).await;
    house.talk(&server, "one", &conversation("one", 3)).await;
    let whole = count("one", &conversation("one", 3));
    let mut client = house.connect().await;
    client.send(&whole[..whole.len() - 20]).await;
    let mut peer = server.accept().await;
    peer.head().await;
    assert_eq!(house.get("status").await["requests"]["in_flight"], 0, "nobody looks");
}

#[tokio::test]
async fn an_open_stream_delays_neither_a_commit_nor_a_held_request() {
    let server = RawServer::open().await;
    let house = Router::before(&server).await;
    house.talk(&server, "one", &conversation("one", 3)).await;
    house.talk(&server, "two", &conversation("two", 3)).await;
    // An endless stream on each of the two.
    let mut open = Vec::new();
    for session in ["one", "two"] {
        let mut client = house.connect().await;
        client.send(request(session, &conversation(session, 4))).await;
        let mut arrived = Arrived::at(&server).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        arrived.peer.send(format!("{head}a\r\nevent: x\n\n\r\n")).await;
        client.head().await;
        open.push((client, arrived));
    }
    let started = std::time::Instant::now();
    house.delete_second("one").await;
    assert_eq!(house.talk(&server, "one", &conversation("one", 5)).await.questions().len(), 4);
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    for (client, arrived) in &mut open {
        arrived.peer.send("a\r\nevent: y\n\n\r\n0\r\n\r\n").await;
        assert_eq!(client.chunked().await.0, b"event: x\n\nevent: y\n\n");
    }
}

#[tokio::test]
async fn held_requests_cross_http2() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("localhost", &[b"h2"]);
    let server = RawServer::open().await;
    let file = authority.file();
    let url = format!("https://localhost:{}", server.address.port());
    let house = Router::with(&url, |config| config.upstream.extra_ca.push(file)).await;
    let (send, mut received) = tokio::sync::mpsc::unbounded_channel();
    let upstream = tokio::spawn(async move {
        // Each worker has its own connection.
        loop {
            let stream = tls::accept(&acceptor, server.accept_tcp().await).await;
            let send = send.clone();
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.expect("a handshake");
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let send = send.clone();
                    tokio::spawn(async move {
                        let (head, mut incoming) = request.into_parts();
                        let mut body = Vec::new();
                        while let Some(Ok(chunk)) = incoming.data().await {
                            let _ = incoming.flow_control().release_capacity(chunk.len());
                            body.extend_from_slice(&chunk);
                        }
                        let head_of_answer = http::Response::builder().header("content-type", "application/json");
                        let mut answer =
                            respond.send_response(head_of_answer.body(()).expect("a head"), false).expect("sent");
                        answer.send_data(ANSWER.into(), true).expect("sent");
                        send.send((head.headers, body)).expect("received");
                    });
                }
            });
        }
    });
    let mut talk = async |framing: &str, body: &str, wire: &str| {
        let mut client = house.connect().await;
        client.send(head("one", framing) + wire).await;
        assert!(client.head().await.starts_with("HTTP/1.1 200 "));
        client.rest().await;
        let (headers, sent): (http::HeaderMap, Vec<u8>) = soon("a request", received.recv()).await.expect("one");
        let length = headers.get("content-length").map(|length| length.to_str().expect("text").to_owned());
        (String::from_utf8(sent).expect("text"), length, body.len())
    };
    let body = conversation("one", 3);
    talk(&format!("Content-Length: {}\r\n", body.len()), &body, &body).await;
    house.delete_second("one").await;
    let body = conversation("one", 4);
    let (sent, length, _) = talk(&format!("Content-Length: {}\r\n", body.len()), &body, &body).await;
    assert_eq!(length, Some(sent.len().to_string()));
    assert_eq!(sent, house.composed("one").await);
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let (sent, length, _) = talk("Transfer-Encoding: chunked\r\n", &body, &chunked).await;
    assert_eq!(length, None);
    assert_eq!(sent, house.composed("one").await);
    let large = conversation("one", 4).replace("question 4", &"y".repeat(3_000_000));
    let (sent, length, came) = talk(&format!("Content-Length: {}\r\n", large.len()), &large, &large).await;
    assert!(sent.len() < came && length == Some(sent.len().to_string()));
    upstream.abort();
}

/// Holds everything and composes nothing, like a bug.
struct Broken;

impl Observer for Broken {
    fn begin(&self, _head: &RequestHead<'_>) -> Option<Watch> {
        Some(Watch { request: Box::new(Broken), response: Box::new(Broken) })
    }
}

impl RequestWatch for Broken {
    fn is_held(&self) -> bool {
        true
    }
    fn chunk(&mut self, _chunk: &bytes::Bytes) {}
    fn end(&mut self, _complete: bool) {}
}

impl ResponseWatch for Broken {
    fn head(&mut self, _head: &ResponseHead<'_>) {}
    fn chunk(&mut self, _chunk: &bytes::Bytes) {}
    fn end(&mut self, _ending: ctx_server::watch::Ending) {}
}

#[tokio::test]
async fn what_could_not_be_composed_does_not_leave() {
    let server = RawServer::open().await;
    let config = crate::support::Plan::new(&format!("http://{}", server.address)).config;
    let observer = std::sync::Arc::new(Broken);
    let bound = ctx_server::Server::bind(config, observer, axum::Router::new()).await.expect("an open port");
    let mut client = Peer::connect(bound.local_addr()).await;
    let running = tokio::spawn(bound.run(std::future::pending()));
    client.send(request("one", "{}")).await;
    let answer = String::from_utf8(client.rest().await).expect("text");
    let message = provider_error(&answer, 503, "api_error", "not-composed");
    assert!(message.contains("not sent") && message.contains("ctx undo"), "{message}");
    assert_eq!(header_of(&answer, "x-should-retry"), None, "it may be tried again");
    assert!(server.stays_alone(MOMENT).await);
    running.abort();
}
