//! Where the provider is asked to edit by itself: what it is sent, what happens when it refuses, and what is told of it.

mod support;

use std::sync::Arc;
use std::time::Duration;

use ctx_store::MemoryStore;
use ctx_wire::anthropic::context_management::{Compact, Rules, Wish};
use serde_json::{Value, json};
use support::house::{ANSWER, Arrived, House, answer, conversation, request};
use support::raw::RawServer;

const MOMENT: Duration = Duration::from_millis(150);
const BETA: &str = "context-management-2025-06-27";
const REFUSED: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"context_management: Extra inputs are not permitted"},"request_id":"req_1"}"#;

fn on() -> Wish {
    Wish { enabled: Some(true), ..Wish::default() }
}

fn rules(wish: Wish) -> Rules {
    let mut rules = Rules::default();
    rules.add(None, wish);
    rules
}

async fn house(server: &RawServer, store: Arc<MemoryStore>, wish: Wish) -> House {
    House::asking(store, &format!("http://{}", server.address), |_| {}, rules(wish)).await
}

async fn stage() -> (RawServer, House) {
    let server = RawServer::open().await;
    let house = house(&server, Arc::default(), on()).await;
    (server, house)
}

/// So many questions to a model that can do it.
fn asked(questions: usize) -> String {
    conversation("one", questions).replace(r#""model":"m""#, r#""model":"claude-opus-5-5""#)
}

/// The client asks for thinking to stay, as Claude Code does.
fn as_claude_code(questions: usize) -> String {
    let own = r#""context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"max_tokens""#;
    asked(questions).replace(r#""max_tokens""#, own)
}

fn edits(arrived: &Arrived) -> Vec<String> {
    let body: Value = serde_json::from_slice(&arrived.body).expect("JSON");
    let edits = body["context_management"]["edits"].as_array().cloned().unwrap_or_default();
    edits.iter().map(|edit| edit["type"].as_str().expect("a type").to_owned()).collect()
}

async fn events(house: &House, kind: &str) -> Vec<Value> {
    let timeline = house.get("conversations/one/timeline").await;
    let events = timeline["events"].as_array().expect("events").iter();
    events.filter(|event| event["kind"] == kind).cloned().collect()
}

#[tokio::test]
async fn with_nothing_switched_on_every_byte_stays() {
    let server = RawServer::open().await;
    for wish in [Wish::default(), Wish { models: Some(vec!["claude-haiku-*".into()]), ..on() }] {
        let house = house(&server, Arc::default(), wish).await;
        for body in [asked(1), as_claude_code(2)] {
            let arrived = house.talk(&server, "one", &body).await;
            assert_eq!(arrived.text(), body);
            assert_eq!(arrived.header("anthropic-beta"), None);
        }
    }
}

#[tokio::test]
async fn with_it_on_only_the_range_of_the_edits_differs() {
    let (server, house) = stage().await;
    for body in [asked(2), as_claude_code(3)] {
        let mut client = house.connect().await;
        client.send(request("one", &body).replace("X-Last", "Anthropic-Beta: a-1\r\nX-Last")).await;
        let mut arrived = Arrived::at(&server).await;
        assert_eq!(edits(&arrived), ["clear_thinking_20251015", "clear_tool_uses_20250919"]);
        assert_eq!(arrived.header("anthropic-beta"), Some(format!("a-1,{BETA}").as_str()));
        // One piece was put in, and nothing else is different.
        let sent = arrived.text().to_owned();
        let same = body.bytes().zip(sent.bytes()).take_while(|(one, other)| one == other).count();
        let behind = body.bytes().rev().zip(sent.bytes().rev()).take_while(|(one, other)| one == other).count();
        assert!(same + behind >= body.len(), "{sent}");
        arrived.peer.send(answer("200 OK", ANSWER)).await;
        assert!(client.head().await.starts_with("HTTP/1.1 200 "));
        assert_eq!(client.rest().await, ANSWER.as_bytes());
    }
    let named = events(&house, "request").await.pop().expect("a request");
    assert_eq!(named["asks"], json!(["clear_tool_uses_20250919"]));
    assert_eq!(house.get("status").await["provider"]["asked"], 2);
    // What is dumped is what is sent, and a beta that is named is not named again.
    let dumped = house.composed("one").await;
    let mut client = house.connect().await;
    let named = format!("Anthropic-Beta: {BETA}\r\nX-Last");
    client.send(request("one", &as_claude_code(3)).replace("X-Last", &named)).await;
    let arrived = Arrived::at(&server).await;
    assert_eq!((arrived.text(), arrived.header("anthropic-beta")), (dumped.as_str(), Some(BETA)));
}

#[tokio::test]
async fn a_refusal_of_ours_is_tried_once_without_and_remembered() {
    let server = RawServer::open().await;
    let store: Arc<MemoryStore> = Arc::default();
    let first = house(&server, store.clone(), on()).await;
    let body = asked(2);
    let mut client = first.connect().await;
    client.send(request("one", &body)).await;
    let mut arrived = Arrived::at(&server).await;
    assert_eq!(edits(&arrived).len(), 2);
    arrived.peer.send(answer("400 Bad Request", REFUSED)).await;
    let mut again = Arrived::at(&server).await;
    assert_eq!((again.text(), again.header("anthropic-beta")), (body.as_str(), None), "as it came");
    again.peer.send(answer("200 OK", ANSWER)).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 "));
    assert_eq!(client.rest().await, ANSWER.as_bytes());

    let refused = events(&first, "refused").await;
    assert_eq!(refused.len(), 1);
    assert_eq!((&refused[0]["model"], &refused[0]["request"]), (&json!("claude-opus-5-5"), &json!(1)));
    assert_eq!(refused[0]["words"], "context_management: Extra inputs are not permitted");
    let statuses: Vec<Value> = events(&first, "answer").await.iter().map(|answer| answer["status"].clone()).collect();
    assert_eq!(statuses, [200], "what is noted is what the client got");
    let listed = first.get("status").await["provider"]["refused"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");

    // It is not asked again, nor by the next daemon; another model is.
    assert_eq!(first.talk(&server, "one", &asked(3)).await.text(), asked(3));
    drop(first);
    let second = house(&server, store, on()).await;
    assert_eq!(second.talk(&server, "one", &asked(4)).await.text(), asked(4));
    let other = asked(4).replace("claude-opus-5-5", "claude-sonnet-5-5");
    assert_eq!(edits(&second.talk(&server, "two", &other).await).len(), 2);
}

#[tokio::test]
async fn what_is_refused_without_ours_too_was_not_ours() {
    let (server, house) = stage().await;
    for questions in [2, 3] {
        let mut client = house.connect().await;
        client.send(request("one", &as_claude_code(questions))).await;
        let mut arrived = Arrived::at(&server).await;
        assert_eq!(edits(&arrived).len(), 2, "nothing was remembered");
        arrived.peer.send(answer("400 Bad Request", REFUSED)).await;
        let mut again = Arrived::at(&server).await;
        assert_eq!(again.text(), as_claude_code(questions));
        again.peer.send(answer("400 Bad Request", REFUSED)).await;
        assert!(client.head().await.starts_with("HTTP/1.1 400 "));
        assert_eq!(client.rest().await, REFUSED.as_bytes());
        assert!(server.stays_alone(MOMENT).await);
    }
    assert!(events(&house, "refused").await.is_empty());
}

#[tokio::test]
async fn every_other_refusal_is_handed_back_as_it_came() {
    let (server, house) = stage().await;
    let large =
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.2: image is too large"}}"#;
    let unbound = r#"{"type":"error","error":{"message":"The block is bound to a different conversation."}}"#;
    for (status, body) in [("400 Bad Request", large), ("429 Too Many", REFUSED), ("400 Bad Request", unbound)] {
        let mut client = house.connect().await;
        client.send(request("one", &asked(2))).await;
        Arrived::at(&server).await.peer.send(answer(status, body)).await;
        assert!(client.head().await.starts_with(&format!("HTTP/1.1 {status}")));
        assert_eq!(client.rest().await, body.as_bytes());
        assert!(server.stays_alone(Duration::from_millis(30)).await);
    }
}

#[tokio::test]
async fn an_edited_conversation_is_asked_too_and_falls_back_to_its_edits() {
    let (server, house) = stage().await;
    house.talk(&server, "one", &asked(3)).await;
    house.delete_second("one").await;
    let mut client = house.connect().await;
    client.send(request("one", &asked(4))).await;
    let mut first = Arrived::at(&server).await;
    assert_eq!((edits(&first).len(), first.questions().len()), (2, 3));
    first.peer.send(answer("400 Bad Request", REFUSED)).await;
    let mut second = Arrived::at(&server).await;
    assert_eq!((edits(&second).len(), second.questions()), (0, first.questions()));
    // What is left may still be refused for its thinking, and that has a way out of its own.
    let unbound = r#"{"type":"error","error":{"message":"The block is bound to a different conversation."}}"#;
    second.peer.send(answer("400 Bad Request", unbound)).await;
    let mut third = Arrived::at(&server).await;
    assert!(third.text().contains("drop_block") && edits(&third).is_empty());
    third.peer.send(answer("200 OK", ANSWER)).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 "));
}

/// Half of a body is at the upstream before the rest has come, or is not.
async fn passes_at_once(house: &House, server: &RawServer, session: &str, body: &str) -> bool {
    let mut client = house.connect().await;
    let whole = request(session, body).into_bytes();
    let (now, later) = whole.split_at(whole.len() - 20);
    client.send(now).await;
    let first = tokio::time::timeout(MOMENT, server.accept()).await.ok();
    let is_at_once = first.is_some();
    client.send(later).await;
    let mut arrived = match first {
        Some(peer) => Arrived::from(peer).await,
        None => Arrived::at(server).await,
    };
    arrived.peer.send(answer("200 OK", ANSWER)).await;
    client.rest().await;
    is_at_once
}

#[tokio::test]
async fn a_conversation_that_is_not_meant_stays_on_the_fast_path() {
    let server = RawServer::open().await;
    let wish = Wish { models: Some(vec!["claude-opus-*".into()]), ..on() };
    let house = house(&server, Arc::default(), wish).await;
    let other = |questions| asked(questions).replace("claude-opus-5-5", "claude-sonnet-5-5");
    house.talk(&server, "one", &other(2)).await;
    house.get("conversations/one/timeline").await;
    assert!(passes_at_once(&house, &server, "one", &other(3)).await);
    house.talk(&server, "two", &asked(2)).await;
    house.get("conversations/two/timeline").await;
    assert!(!passes_at_once(&house, &server, "two", &asked(3)).await);
}

#[tokio::test]
async fn what_the_provider_says_of_its_models_counts() {
    let (server, house) = stage().await;
    let list = r#"{"data":[{"id":"claude-opus-5-5","max_input_tokens":400000,"capabilities":{"context_management":{"supported":true,"clear_tool_uses_20250919":{"supported":true},"clear_thinking_20251015":{"supported":false}}}}]}"#;
    let mut client = house.connect().await;
    client.send("GET /v1/models?limit=1000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    let mut asking = server.accept().await;
    asking.head().await;
    asking.send(answer("200 OK", list)).await;
    client.head().await;
    assert_eq!(client.rest().await, list.as_bytes());
    let arrived = house.talk(&server, "one", &asked(2)).await;
    assert_eq!(edits(&arrived), ["clear_tool_uses_20250919"]);
    assert!(arrived.text().contains(r#""trigger":{"type":"input_tokens","value":240000}"#), "{}", arrived.text());
}

fn with_results(count: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": "look"})];
    for number in 0..count {
        let (id, tool) = (format!("toolu_{number}"), if number == 0 { "TodoWrite" } else { "Read" });
        messages
            .push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": {}}]}));
        messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "x".repeat(400)}]}));
    }
    let tools = json!([{"name": "TodoWrite", "input_schema": {}}, {"name": "Read", "input_schema": {}}]);
    json!({"model": "claude-opus-5-5", "max_tokens": 9, "tools": tools, "messages": messages}).to_string()
}

#[tokio::test]
async fn what_the_provider_cleared_is_told_with_its_place_and_spoils_no_figure() {
    let (server, house) = stage().await;
    let said = |usage: u64, cleared: &str| {
        ANSWER.replace(r#""input_tokens":10"#, &format!(r#""input_tokens":{usage}"#)).replace(
            r#""id":"msg_1""#,
            &format!(r#""context_management":{{"applied_edits":[{cleared}]}},"id":"msg_1""#),
        )
    };
    let tell = async |body: String, said: String| {
        let mut client = house.connect().await;
        client.send(request("one", &body)).await;
        Arrived::at(&server).await.peer.send(answer("200 OK", &said)).await;
        client.rest().await;
        house.get("conversations/one/timeline").await;
        house.get("conversations/one/frames").await["frames"]
            .as_array()
            .expect("frames")
            .iter()
            .filter_map(|frame| frame["tokens"].as_u64())
            .sum::<u64>()
    };
    let before = tell(with_results(8), said(2_000, "")).await;
    let edit = r#"{"type":"clear_tool_uses_20250919","cleared_tool_uses":3,"cleared_input_tokens":1500}"#;
    let after = tell(with_results(8), said(500, edit)).await;
    assert!(after.abs_diff(before) <= 10, "what is cleared still is the client's: {before} and {after}");
    let told = events(&house, "answer").await.pop().expect("an answer")["applied_edits"][0].clone();
    // The list of what is to be done is not cleared, so the first one is the second call.
    assert_eq!((&told["first"], &told["last"]), (&json!("t1/2"), &json!("t1/4")), "{told}");
    let status = house.get("status").await["provider"].clone();
    let count = |name: &str| status[name].as_u64();
    assert_eq!(
        (count("clearings"), count("cleared_tool_uses"), count("cleared_tokens")),
        (Some(1), Some(3), Some(1500))
    );
    let stats = house.get("stats").await["total"].clone();
    assert_eq!((&stats["cleared"], &stats["clearings"]), (&json!(1500), &json!(1)));
}

#[tokio::test]
async fn a_summary_of_the_providers_comes_back_where_the_client_left_it_out() {
    let server = RawServer::open().await;
    let store: Arc<MemoryStore> = Arc::default();
    let wish = Wish { compact: Compact { enabled: Some(true), ..Compact::default() }, ..on() };
    let house = self::house(&server, store.clone(), wish.clone()).await;
    let block = r#"{"type":"compaction","content":"so far","encrypted_content":"eA=="}"#;
    let said = ANSWER
        .replace(r#""content":["#, &format!(r#""content":[{block},"#))
        .replace(r#""text":"ok""#, r#""text":"one answer 2""#);
    let mut client = house.connect().await;
    client.send(request("one", &asked(2))).await;
    let mut arrived = Arrived::at(&server).await;
    assert_eq!(edits(&arrived).last().map(String::as_str), Some("compact_20260112"));
    assert_eq!(arrived.header("anthropic-beta"), Some(format!("{BETA},compact-2026-01-12").as_str()));
    arrived.peer.send(answer("200 OK", &said)).await;
    client.rest().await;
    let told = events(&house, "answer").await.pop().expect("an answer");
    assert_eq!((&told["compacted"], &house.get("status").await["provider"]["summaries"]), (&json!(true), &json!(1)));

    // The client forgets it, on this turn and on later ones, and so does the next daemon's client.
    let expected = format!(r#""content":[{block},{{"type":"text","text":"one answer 2"}}]"#);
    let sent = house.talk(&server, "one", &asked(3)).await;
    assert!(sent.text().contains(&expected), "{}", sent.text());
    assert!(house.talk(&server, "one", &asked(4)).await.text().contains(&expected));
    drop(house);
    let house = self::house(&server, store.clone(), wish).await;
    assert!(house.talk(&server, "one", &asked(5)).await.text().contains(&expected));
    // A client that sends it back is left alone, and so is a history that does not hold that answer any more.
    let own = asked(5).replace(
        r#""content":"one answer 2""#,
        &format!(r#""content":[{block},{{"type":"text","text":"one answer 2"}}]"#),
    );
    assert_eq!(house.talk(&server, "one", &own).await.text().matches(block).count(), 1);
    let other = asked(5).replace("one answer 2", "something else");
    assert_eq!(house.talk(&server, "one", &other).await.text().matches(block).count(), 0);
    drop(house);
    // Switched off, it is not sent; one that the client has from us is taken out, for nobody would take it.
    let house = self::house(&server, store, Wish::default()).await;
    assert_eq!(house.talk(&server, "one", &asked(5)).await.text(), asked(5));
    let taken_out = own.replace(&format!("{block},"), "");
    let arrived = house.talk(&server, "one", &own).await;
    assert_eq!((arrived.text(), arrived.header("anthropic-beta")), (taken_out.as_str(), None));
    assert_eq!(house.composed("one").await, taken_out);
    house.talk(&server, "other", &asked(5)).await;
}
