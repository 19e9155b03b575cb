//! The provider through a socket. `parity.rs` compares its answers with the reference; these tests cover what only
//! shows on the wire or in the records.

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::Read;
use std::time::{Duration, Instant};
use testkit::fake_provider::{FakeProvider, Options, Outcome, QueuedAnswer};
use testkit::http1::Ending;
use testkit::{Client, client::ClientError};

fn start(options: Options) -> FakeProvider {
    FakeProvider::start(options).expect("a free port")
}

fn ask(prompt: &str, stream: bool) -> Vec<u8> {
    let body = json!({
        "model": "m", "max_tokens": 10, "stream": stream,
        "messages": [{"role": "user", "content": prompt}],
    });
    body.to_string().into_bytes()
}

async fn connect(provider: &FakeProvider) -> Client {
    Client::connect(&provider.url()).await.expect("listening")
}

fn names(stream: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stream);
    let names = text.lines().filter_map(|line| line.strip_prefix("event: "));
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_record_holds_exactly_what_came() {
    let provider = start(Options::default());
    let mut client = connect(&provider).await;
    let body = b" {\"messages\" :[{\"role\":\"user\",\"content\":\"\\u0053AY:x\"}]}\n";
    let headers = [
        ("X-First".to_owned(), "1".to_owned()),
        ("x-SECOND".to_owned(), "caf\u{e9}".to_owned()),
        ("X-First".to_owned(), "again".to_owned()),
    ];
    let response = client.send("POST", "/v1/messages?beta=true", &headers, body);
    assert_eq!(response.await.expect("an answer").status, 200);
    let record = provider.requests().pop().expect("one request");
    assert_eq!(&record.body[..], body);
    assert_eq!(record.headers[..3], headers);
    assert_eq!(record.target, "/v1/messages?beta=true");
    assert_eq!((record.connection, record.nth_on_connection), (1, 1));
    assert_eq!(record.outcome, Some(Outcome::Complete));
}

#[tokio::test]
async fn a_cut_stream_is_cut_for_the_client_and_whole_at_the_second_attempt() {
    let provider = start(Options::default());
    let mut client = connect(&provider).await;
    let body = ask("SAY:hello;;CUT", true);
    let cut = client.post("/v1/messages", &body).await.expect("an answer");
    assert_eq!(cut.ending, Ending::Cut);
    let started = ["message_start", "ping", "content_block_start", "content_block_delta"];
    assert_eq!(names(&cut.body), started);
    assert_eq!(provider.requests()[0].outcome, Some(Outcome::Cut));

    let mut client = connect(&provider).await;
    let whole = client.post("/v1/messages", &body).await.expect("an answer");
    assert_eq!(whole.ending, Ending::Complete);
    assert_eq!(names(&whole.body).last().map(String::as_str), Some("message_stop"));
}

#[tokio::test]
async fn a_client_that_leaves_during_a_silence_is_noticed() {
    let provider = start(Options::default());
    let mut client = connect(&provider).await;
    let body = ask("SAY:hello;;HANG:600", true);
    client.start("POST", "/v1/messages", &[], &body).await.expect("a head");
    drop(client);
    let left = provider.wait_until(|records| {
        let record = records.first();
        record.is_some_and(|record| record.outcome == Some(Outcome::ClientGone))
    });
    left.await.expect("the provider notices");
}

#[tokio::test]
async fn events_of_a_slow_stream_arrive_one_by_one() {
    let provider = start(Options::default());
    let mut client = connect(&provider).await;
    let body = ask("SAY:hello;;SLOW:0.03", true);
    client.start("POST", "/v1/messages", &[], &body).await.expect("a head");
    let began = Instant::now();
    let mut pieces = 0;
    while client.piece().await.expect("no cut").is_some() {
        pieces += 1;
    }
    assert_eq!(pieces, 7);
    assert!(began.elapsed() > Duration::from_millis(100));
}

#[tokio::test]
async fn a_dropped_provider_cuts_its_streams_and_closes_its_port() {
    let provider = start(Options::default());
    let url = provider.url();
    let mut client = connect(&provider).await;
    let body = ask("SAY:hello;;HANG:600", true);
    client.start("POST", "/v1/messages", &[], &body).await.expect("a head");
    drop(provider);
    let ending = loop {
        match client.piece().await {
            Ok(Some(_)) => {}
            other => break other,
        }
    };
    assert!(matches!(ending, Err(ClientError::Cut)));
    assert!(Client::connect(&url).await.is_err());
}

#[tokio::test]
async fn answers_are_compressed_for_those_who_accept_it_event_by_event() {
    let provider = start(Options { gzip: true, ..Options::default() });
    let mut client = connect(&provider).await;
    let accept = [("accept-encoding".to_owned(), "br, gzip".to_owned())];
    for stream in [false, true] {
        let body = ask("SAY:hello", stream);
        let sent = client.send("POST", "/v1/messages", &accept, &body);
        let response = sent.await.expect("an answer");
        assert_eq!(response.header("content-encoding"), Some("gzip"));
        let mut plain = String::new();
        GzDecoder::new(&response.body[..]).read_to_string(&mut plain).expect("gzip to the end");
        assert!(plain.contains("hello"));
    }

    let body = ask("SAY:hello;;HANG:600", true);
    client.start("POST", "/v1/messages", &accept, &body).await.expect("a head");
    let mut compressed = Vec::new();
    let mut plain = Vec::new();
    while !String::from_utf8_lossy(&plain).contains("content_block_delta") {
        let piece = client.piece().await.expect("no cut").expect("no end");
        compressed.extend_from_slice(&piece);
        plain.clear();
        // The stream has not ended; flushed data must be readable nevertheless.
        let _ = GzDecoder::new(&compressed[..]).read_to_end(&mut plain);
    }

    let plain = client_without_gzip(&provider).await;
    assert_eq!(plain, None);
}

async fn client_without_gzip(provider: &FakeProvider) -> Option<String> {
    let mut client = connect(provider).await;
    let response = client.post("/v1/messages", &ask("hello", false)).await;
    let response = response.expect("an answer");
    response.header("content-encoding").map(str::to_owned)
}

#[tokio::test]
async fn compressed_and_chunked_requests_are_understood() {
    use std::io::Write;
    let provider = start(Options::default());
    let mut client = connect(&provider).await;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&ask("SAY:hello", false)).expect("memory");
    let body = encoder.finish().expect("memory");
    let (one, two) = body.split_at(10);
    let mut chunked = Vec::new();
    for part in [one, two, b""] {
        chunked.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        chunked.extend_from_slice(part);
        chunked.extend_from_slice(b"\r\n");
    }
    let headers =
        [("content-encoding".to_owned(), "gzip".to_owned()), ("transfer-encoding".to_owned(), "chunked".to_owned())];
    let sent = client.send("POST", "/v1/messages", &headers, &chunked);
    let answer = sent.await.expect("an answer").json().expect("JSON");
    assert_eq!(answer["content"][0]["text"], "hello");
    let record = provider.requests().pop().expect("one request");
    assert_eq!(&record.body[..], body);
    assert_eq!(record.json().expect("JSON")["model"], "m");
}

#[tokio::test]
async fn enqueued_answers_go_to_the_request_they_match() {
    let provider = start(Options::default());
    provider.enqueue(QueuedAnswer {
        status: Some(529),
        message: "busy".to_owned(),
        matching: "second".to_owned(),
        ..QueuedAnswer::default()
    });
    let mut client = connect(&provider).await;
    let first = client.post("/v1/messages", &ask("first", false)).await;
    assert_eq!(first.expect("an answer").status, 200);
    let second = client.post("/v1/messages", &ask("second", false)).await;
    let second = second.expect("an answer");
    assert_eq!(second.status, 529);
    assert_eq!(second.json().expect("JSON")["error"]["message"], "busy");
    let third = client.post("/v1/messages", &ask("second", false)).await;
    assert_eq!(third.expect("an answer").status, 200);
}

#[tokio::test]
async fn a_reset_forgets_everything_but_the_numbering() {
    let provider = start(Options::default());
    let mut client = connect(&provider).await;
    let first = client.post("/v1/messages", &ask("SAY:x;;FAIL:500", false)).await;
    assert_eq!(first.expect("an answer").status, 500);
    provider.reset();
    assert!(provider.requests().is_empty());
    let again = client.post("/v1/messages", &ask("SAY:x;;FAIL:500", false)).await;
    assert_eq!(again.expect("an answer").status, 500);
    assert_eq!(provider.requests()[0].number, 2);
}

#[tokio::test]
async fn bodies_are_forgotten_on_request() {
    let provider = start(Options { forget_bodies: true, ..Options::default() });
    let mut client = connect(&provider).await;
    let body = ask("hello", false);
    client.post("/v1/messages", &body).await.expect("an answer");
    let record = provider.requests().pop().expect("one request");
    assert!(record.body.is_empty());
    assert_eq!(record.body_bytes, body.len());
}

#[tokio::test]
async fn a_directive_that_cannot_be_obeyed_is_answered_with_the_reason() {
    let provider = start(Options::default());
    let mut client = connect(&provider).await;
    for prompt in ["USE_TOOL:Agent:{broken", "BIG:many", "FAIL:often"] {
        let response = client.post("/v1/messages", &ask(prompt, false)).await;
        let answer = response.expect("an answer").json().expect("JSON");
        let text = answer["content"][0]["text"].as_str().expect("a text");
        assert!(text.starts_with("bad directive: "), "{text}");
    }
}

#[tokio::test]
async fn nonsense_never_kills_the_provider() {
    let provider = start(Options::strict());
    for body in [
        "",
        "nul",
        "[]",
        "1",
        "{}",
        r#"{"messages":5}"#,
        r#"{"messages":[]}"#,
        r#"{"model":1,"max_tokens":"x","messages":[5]}"#,
        r#"{"model":1,"max_tokens":"x","messages":[{"role":5,"content":5}]}"#,
        r#"{"model":1,"max_tokens":"x","messages":[{"role":"user","content":[5]}]}"#,
        r#"{"model":1,"max_tokens":1,"tools":5,"messages":[{"role":"user","content":"x"}]}"#,
        r#"{"model":1,"max_tokens":1,"tools":[5],"messages":[{"role":"user","content":"x"}]}"#,
        r#"{"model":1,"max_tokens":1,"system":{"a":1},"messages":[{"role":"user","content":"x"}]}"#,
        r#"{"model":1,"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":5}]}]}"#,
        r#"{"model":1,"max_tokens":1,"messages":[{"role":"user","content":"\ud800"}]}"#,
        r#"{"model":1,"max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","input":{}}]}]}"#,
    ] {
        let mut client = connect(&provider).await;
        let response = client.post("/v1/messages", body.as_bytes()).await;
        let response = response.expect("an answer");
        assert_eq!(response.status, 400, "{body}");
        let error: Value = response.json().expect("JSON");
        assert_eq!(error["error"]["type"], "invalid_request_error");
    }
}

#[tokio::test]
async fn the_command_line_serves_records_and_tells_its_port() {
    let folder = tempfile::tempdir().expect("a folder");
    let port_file = folder.path().join("port");
    let record = folder.path().join("rec");
    let mut process = tokio::process::Command::new(env!("CARGO_BIN_EXE_testkit"))
        .args(["fake-provider", "--port", "0", "--strict", "--record-raw"])
        .args(["--header", "x-extra: yes", "--retry-after", "7", "--port-file"])
        .arg(&port_file)
        .arg("--record")
        .arg(&record)
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("the binary runs");
    let deadline = Instant::now() + Duration::from_secs(20);
    let port = loop {
        if let Ok(port) = std::fs::read_to_string(&port_file) {
            break port;
        }
        assert!(Instant::now() < deadline, "no port file");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let url = format!("http://127.0.0.1:{port}");
    let mut client = Client::connect(&url).await.expect("listening");
    let body = ask("SAY:x;;FAIL:429", false);
    let response = client.post("/v1/messages?beta=true", &body).await;
    let response = response.expect("an answer");
    assert_eq!(response.status, 429);
    assert_eq!(response.header("x-extra"), Some("yes"));
    assert_eq!(response.header("retry-after"), Some("7"));
    let read = |name: &str| std::fs::read(record.join(name)).expect("a file");
    assert_eq!(read("0001_POST_v1_messages.raw"), body);
    let whole: Value = serde_json::from_slice(&read("0001_POST_v1_messages.json")).expect("JSON");
    assert_eq!(whole["body"]["model"], "m");
    let answer: Value = serde_json::from_slice(&read("0001_answer.json")).expect("JSON");
    assert_eq!(answer, json!({"status": 429}));
    process.kill().await.expect("it was running");
}
