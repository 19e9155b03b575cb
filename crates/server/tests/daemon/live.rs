//! Live events: each has an id from which a stream can resume.

use std::sync::Arc;
use std::time::Duration;

use crate::support::house::{Arrived, Router, conversation, request};
use crate::support::raw::{Peer, RawServer};
use ctx_store::MemoryStore;
use serde_json::{Value, json};

/// One event of a stream.
#[derive(Debug, Default)]
struct Heard {
    name: String,
    id: String,
    data: Value,
}

impl Heard {
    fn number(&self) -> u64 {
        self.id.split('-').nth(1).expect("an epoch and a number").parse().expect("a number")
    }
}

struct Listener {
    peer: Peer,
    /// Parsed, but not consumed yet.
    told: String,
}

impl Listener {
    /// The next event; the first lines of a stream, with only an id, count too.
    async fn next(&mut self) -> Heard {
        let end = loop {
            match self.told.find("\n\n") {
                Some(end) => break end,
                None => {
                    let size = usize::from_str_radix(&self.peer.line().await, 16).expect("the size of a chunk");
                    self.told.push_str(&self.peer.text_of(size).await);
                    self.peer.line().await;
                }
            }
        };
        let mut heard = Heard::default();
        for line in self.told.drain(..end + 2).collect::<String>().lines() {
            match line.split_once(": ") {
                Some(("id", id)) => heard.id = id.to_owned(),
                Some(("event", name)) => heard.name = name.to_owned(),
                Some(("data", data)) => heard.data = serde_json::from_str(data).expect(data),
                _ => {}
            }
        }
        heard
    }
}

async fn listening(house: &Router, query: &str, lines: &str) -> (Listener, Heard) {
    let mut peer = house.listen_from(query, lines).await;
    let head = peer.head().await;
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("text/event-stream"), "{head}");
    let mut stream = Listener { peer, told: String::new() };
    let first = stream.next().await;
    (stream, first)
}

async fn pin(house: &Router, frame: &str) {
    house.edit("one", json!([{"op": "pin", "ids": [frame]}])).await;
}

async fn known() -> (RawServer, Router) {
    let server = RawServer::open().await;
    let house = Router::before(&server).await;
    house.talk(&server, "one", &conversation("one", 4)).await;
    // Waits until everything is stored.
    house.get("conversations/one/frames").await;
    (server, house)
}

#[tokio::test]
async fn a_reader_that_comes_back_hears_everything_it_missed_and_nothing_twice() {
    let (_server, house) = known().await;
    let (mut stream, first) = listening(&house, "", "").await;
    assert!(first.data.is_null(), "nothing has happened yet: {first:?}");
    pin(&house, "t1").await;
    let heard = stream.next().await;
    assert_eq!((heard.number(), &heard.data["kind"]), (first.number() + 1, &json!("commit")));
    assert_eq!((&heard.data["change"], &heard.data["seq"]), (&json!("edit"), &json!(heard.number())));
    drop(stream);

    pin(&house, "t2").await;
    pin(&house, "t3").await;
    let resumed = format!("Last-Event-ID: {}\r\n", heard.id);
    // If both are given, the header wins: a reconnecting browser repeats its first query.
    for (query, lines) in [
        ("", resumed.clone()),
        ("?after=0", resumed),
        (&*format!("?after={}", heard.id), String::new()),
        (&*format!("?after={}", heard.number()), String::new()),
    ] {
        let (mut stream, first) = listening(&house, query, &lines).await;
        assert_eq!((first.number(), first.data), (heard.number(), Value::Null), "{query} {lines}");
        for frame in ["t2", "t3"] {
            assert_eq!(stream.next().await.data["operations"][0]["ids"], json!([frame]), "{query} {lines}");
        }
    }

    // The first id also works for resuming.
    let (mut stream, _) = listening(&house, "", &format!("Last-Event-ID: {}\r\n", first.id)).await;
    assert_eq!(stream.next().await.id, heard.id);

    // From the beginning: requests before the first listener.
    let (mut stream, _) = listening(&house, "?after=0", "").await;
    assert_eq!(stream.next().await.data["kind"], "opened");
    assert_eq!(stream.next().await.data["kind"], "request");
}

#[tokio::test]
async fn a_reader_is_told_when_the_stream_cannot_go_on() {
    let (_server, house) = known().await;
    let (_, newest) = listening(&house, "", "").await;
    for (lines, reason) in [
        (format!("Last-Event-ID: 1-{}\r\n", newest.number()), "restarted"),
        (format!("Last-Event-ID: {}0\r\n", newest.id), "unknown-id"),
        ("Last-Event-ID: what?\r\n".to_owned(), "unknown-id"),
    ] {
        let (_, reset) = listening(&house, "", &lines).await;
        assert_eq!((reset.name.as_str(), &reset.data["reason"]), ("reset", &json!(reason)), "{lines}");
        assert_eq!((&reset.id, &reset.data["seq"]), (&newest.id, &json!(newest.number())));
    }
    // It continues nevertheless.
    let (mut stream, _) = listening(&house, "", "Last-Event-ID: 1-1\r\n").await;
    pin(&house, "t1").await;
    assert_eq!(stream.next().await.data["kind"], "commit");
    house.refuses("GET", "events?after=soon", "", 400, "bad-request").await;
}

#[tokio::test]
async fn a_reader_is_told_that_the_daemon_was_started_again() {
    let server = RawServer::open().await;
    let upstream = format!("http://{}", server.address);
    let store = Arc::new(MemoryStore::new());
    let house = Router::on(store.clone(), &upstream, |_| {}).await;
    house.talk(&server, "one", &conversation("one", 2)).await;
    house.get("conversations/one/frames").await;
    let (_, before) = listening(&house, "", "").await;
    drop(house);
    tokio::time::sleep(Duration::from_millis(5)).await;

    let house = Router::on(store, &upstream, |_| {}).await;
    let (mut stream, reset) = listening(&house, "", &format!("Last-Event-ID: {}\r\n", before.id)).await;
    assert_eq!((reset.name.as_str(), &reset.data["reason"]), ("reset", &json!("restarted")));
    assert_ne!(reset.id, before.id);
    pin(&house, "t1").await;
    assert_eq!(stream.next().await.data["kind"], "commit");
    // Numbers continue: a bare one is valid in every epoch.
    let (mut stream, _) = listening(&house, &format!("?after={}", before.number()), "").await;
    assert_eq!(stream.next().await.data["kind"], "commit");
}

/// An event of the provider's stream.
fn said(data: Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().expect("a type"))
}

fn delta(block: u64, delta: Value) -> String {
    said(json!({"type": "content_block_delta", "index": block, "delta": delta}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_is_told_while_it_grows_to_those_who_want_it() {
    let (server, house) = known().await;
    let (mut plain, _) = listening(&house, "", "").await;
    let (mut stream, _) = listening(&house, "?streaming=true", "").await;
    // A reader that never reads.
    let (_slow, _) = listening(&house, "?streaming=true", "").await;
    let mut client = house.connect().await;
    client.send(request("one", &conversation("one", 5))).await;
    let mut provider = Arrived::at(&server).await.peer;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let usage = json!({"input_tokens": 9, "output_tokens": 1});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage});
    let start =
        |block: Value| said(json!({"type": "content_block_start", "index": block["n"], "content_block": block}));
    provider.send(head).await;
    let mut pieces = vec![
        said(json!({"type": "message_start", "message": message})),
        start(json!({"n": 0, "type": "thinking", "thinking": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "let me see"})),
        start(json!({"n": 1, "type": "text", "text": ""})),
    ];
    pieces.extend((0..12).map(|number| delta(1, json!({"type": "text_delta", "text": format!("word {number} ")}))));
    pieces.push(start(json!({"n": 2, "type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}})));
    pieces.push(delta(2, json!({"type": "input_json_delta", "partial_json": "{\"file_path\":"})));
    pieces.push(said(json!({"type": "ping"})));
    for piece in &pieces {
        provider.send(format!("{:x}\r\n{piece}\r\n", piece.len())).await;
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    // While the reply is still streaming.
    let (mut told, mut count) = (std::collections::BTreeMap::<String, String>::new(), 0);
    while told.get("text").is_none_or(|text| !text.contains("word 5")) {
        let heard = stream.next().await;
        if heard.data["kind"] != "streaming" {
            continue;
        }
        assert_eq!((heard.id.as_str(), &heard.data["piece"]), ("", &json!(count)), "{heard:?}");
        assert_eq!((&heard.data["request"], heard.data["tool"].is_null()), (&json!(2), heard.data["part"] != "tool"));
        count += 1;
        let part = heard.data["part"].as_str().expect("a part").to_owned();
        told.entry(part).or_default().push_str(heard.data["text"].as_str().expect("a text"));
    }
    assert_eq!(told["thinking"], "let me see");
    assert!(told["text"].starts_with("word 0 word 1 word 2 "), "{told:?}");
    assert!(count < 10, "{count} of {} are too many", pieces.len());
    provider.send("0\r\n\r\n").await;

    // The client received every byte; other listeners received nothing of it.
    client.head().await;
    assert_eq!(String::from_utf8(client.chunked().await.0).expect("text"), pieces.concat());
    for kind in ["request", "answer"] {
        assert_eq!(plain.next().await.data["kind"], kind);
    }
}

#[tokio::test]
async fn a_deferred_edit_and_its_outcome_are_announced() {
    let (server, house) = known().await;
    let (mut stream, _) = listening(&house, "", "").await;
    let edit =
        |ids: Value| json!({"author": "api", "when": "near-limit", "operations": [{"op": "delete", "ids": ids}]});
    let taken = house.post("conversations/one/operations", &edit(json!(["t1"]))).await;
    assert_eq!((&taken["waiting"], &taken["commit"]), (&json!("w1"), &Value::Null));
    let heard = stream.next().await.data;
    assert_eq!(
        [&heard["kind"], &heard["state"], &heard["when"]],
        ["waiting", "waiting", "near-limit"].map(|w| json!(w)).each_ref()
    );
    house.post("conversations/one/operations", &edit(json!(["t1", "t2"]))).await;
    stream.next().await;

    // A request near the limit triggers the deferred edit and leaves without the deleted content.
    let mut body: Value = serde_json::from_str(&conversation("one", 4)).expect("JSON");
    let messages = body["messages"].as_array_mut().expect("messages");
    messages.push(json!({"role": "assistant", "content": "an answer"}));
    messages.push(json!({"role": "user", "content": "a long story, told at length. ".repeat(30_000)}));
    let arrived = house.talk(&server, "one", &body.to_string()).await;
    let last = arrived.text().len();
    assert!(last < body.to_string().len(), "something is gone");
    let mut told = Vec::new();
    while told.len() < 2 {
        let heard = stream.next().await.data;
        if heard["kind"] == "waiting" {
            told.push((
                heard["id"].clone(),
                heard["state"].clone(),
                heard["commit"].is_string(),
                heard["failure"].is_object(),
            ));
        }
    }
    assert_eq!(told[0], (json!("w1"), json!("made"), true, false));
    assert_eq!(told[1].0, "w2");
    let list = house.get("conversations/one/waiting").await;
    assert_eq!(list["wishes"][1]["state"], "made", "{list}");
    house.refuses("POST", "conversations/one/waiting/w1/cancel", r#"{"author":"api"}"#, 422, "not-waiting").await;
    house.refuses("POST", "conversations/one/waiting/w9/cancel", r#"{"author":"api"}"#, 404, "unknown-wish").await;
    house
        .refuses(
            "POST",
            "conversations/one/history",
            r#"{"author":"api","action":"undo","when":"someday"}"#,
            400,
            "bad-request",
        )
        .await;
}
