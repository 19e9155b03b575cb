//! Clients of OpenAI's and Google's formats through the whole daemon: recorded, edited, and answered in their format.

mod elsewhere;
mod healing;
mod moving;
mod odd;
mod pending;
mod settings;
mod streams;
mod summaries;
mod vertex;

use std::sync::Arc;
use std::time::Duration;

use crate::support::body_of;
use crate::support::house::{Arrived, Router, answer};
use crate::support::raw::RawServer;
use ctx_server::Upstream;
use ctx_store::MemoryStore;
use serde_json::{Value, json};

const MOMENT: Duration = Duration::from_millis(150);

/// A daemon with two providers: Anthropic, which must not be reached here, and OpenAI.
async fn daemon() -> (RawServer, RawServer, Router) {
    daemon_on(Arc::new(MemoryStore::new())).await
}

/// The same on another one's store.
async fn daemon_on(store: Arc<MemoryStore>) -> (RawServer, RawServer, Router) {
    let (anthropic, openai) = (RawServer::open().await, RawServer::open().await);
    let url = format!("http://{}", openai.address);
    let router = Router::on(store, &format!("http://{}", anthropic.address), |config| {
        let upstream = || Upstream::new(url.parse().expect("an address"));
        let names = ["openai", "local", "gemini", "code-assist", "vertex", "bedrock"];
        config.upstreams = names.map(|name| (name.to_owned(), upstream())).to_vec();
    })
    .await;
    (anthropic, openai, router)
}

fn post(path: &str, session: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-secret-of-openai\r\nX-Session-Id: {session}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// One complete exchange; returns the request that the provider received.
async fn talk(router: &Router, provider: &RawServer, (path, session): (&str, &str), body: &str, said: &str) -> Arrived {
    let mut client = router.connect().await;
    client.send(post(path, session, body)).await;
    let mut arrived = Arrived::at(provider).await;
    arrived.peer.send(answer("200 OK", said)).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 "));
    client.rest().await;
    arrived
}

fn called(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"/a\"}"}})
}

/// The first frame has a tool call, the second is a tangent, the third is open.
fn chat(frames: usize) -> String {
    let mut messages = vec![
        json!({"role": "system", "content": "You are a coding agent."}),
        json!({"role": "user", "content": "read it"}),
        json!({"role": "assistant", "content": null, "tool_calls": [called("call_1")]}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": "long output"}),
        json!({"role": "assistant", "content": "read"}),
        json!({"role": "user", "content": "a tangent"}),
    ];
    if frames > 2 {
        messages.push(json!({"role": "assistant", "content": "off the way"}));
        messages.push(json!({"role": "user", "content": "go on"}));
    }
    let tool = json!({"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}});
    json!({"model": "gpt-4.1", "messages": messages, "tools": [tool]}).to_string()
}

const CHAT: &str = r#"{"id":"c1","object":"chat.completion","model":"gpt-4.1","choices":[{"index":0,"message":{"role":"assistant","content":"off the way"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":64}}}"#;

#[tokio::test]
async fn a_chat_is_seen_in_frames_and_leaves_edited() {
    let (anthropic, openai, router) = daemon().await;
    let at = ("/v1/chat/completions", "talk");
    let untouched = chat(2);
    let arrived = talk(&router, &openai, at, &untouched, CHAT).await;
    assert_eq!(arrived.text(), untouched, "untouched bytes");
    assert_eq!(arrived.header("authorization"), Some("Bearer sk-secret-of-openai"));

    let list = router.get("conversations/talk/frames?steps=true").await;
    let frames = list["frames"].as_array().expect("frames");
    let titles: Vec<&str> = frames.iter().filter_map(|frame| frame["title"].as_str()).collect();
    assert!(titles.contains(&"read it") && titles.contains(&"a tangent"), "{titles:?}");
    let shown = router.get("conversations/talk/frames/t1").await.to_string();
    assert!(shown.contains("long output") && shown.contains("/a"), "{shown}");

    router.edit("talk", json!([{"op": "delete", "ids": ["t2"]}, {"op": "drop-results", "ids": ["t1"]}])).await;
    let arrived = talk(&router, &openai, at, &chat(3), CHAT).await;
    let sent: Value = serde_json::from_slice(&arrived.body).expect("JSON");
    let messages = sent["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 6, "{sent}");
    assert_eq!(messages[3]["tool_call_id"], "call_1");
    assert!(!arrived.text().contains("long output") && !arrived.text().contains("tangent"), "{sent}");
    assert_eq!(messages[5], json!({"role": "user", "content": "go on"}));
    assert_eq!(arrived.text(), router.composed("talk").await, "what is shown is what is sent");
    assert!(anthropic.stays_alone(MOMENT).await, "no credential of one provider goes to another");
}

/// Two model steps with reasoning, and a second prompt.
fn responses(prompts: usize) -> String {
    let mut input = vec![
        json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "read it"}]}),
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}),
        json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "call_1", "output": "long output"}),
        json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "read"}]}),
    ];
    for number in 1..prompts {
        let text = format!("prompt {number}");
        input.push(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}));
    }
    json!({"model": "gpt-5.6-sol", "input": input, "store": false}).to_string()
}

const RESPONSE: &str = r#"{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.6-sol","output":[{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}]}],"usage":{"input_tokens":50,"output_tokens":3,"input_tokens_details":{"cached_tokens":0}}}"#;

#[tokio::test]
async fn responses_are_edited_with_their_steps() {
    let (anthropic, openai, router) = daemon().await;
    let at = ("/v1/responses", "thread");
    let untouched = responses(2);
    assert_eq!(talk(&router, &openai, at, &untouched, RESPONSE).await.text(), untouched);
    router.edit("thread", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    let arrived = talk(&router, &openai, at, &responses(3), RESPONSE).await;
    let sent: Value = serde_json::from_slice(&arrived.body).expect("JSON");
    assert!(!arrived.text().contains("long output"), "{sent}");
    assert_eq!(sent["input"][4]["call_id"], "call_1");
    assert_eq!(sent["input"][2]["encrypted_content"], "gAAA", "sealed reasoning is carried");
    assert_eq!(arrived.text(), router.composed("thread").await);

    // A compaction, a count, and what only looks like the opening of a socket get the edited history too.
    for (path, also) in [("/compact", ""), ("/input_tokens", ""), ("", "Connection: upgrade\r\nUpgrade: websocket\r\n")]
    {
        let mut client = router.connect().await;
        let request = post(&format!("/v1/responses{path}"), "thread", &responses(3));
        client.send(request.replacen("Connection: close\r\n", &format!("{also}Connection: close\r\n"), 1)).await;
        let aside = Arrived::at(&openai).await;
        assert!(!aside.text().contains("long output"), "{path}: {}", aside.text());
    }
    assert!(openai.stays_alone(MOMENT).await && anthropic.stays_alone(MOMENT).await);
}

#[tokio::test]
async fn reasoning_that_the_provider_cannot_open_is_left_out_once() {
    let (_, openai, router) = daemon().await;
    let at = ("/v1/responses", "sealed");
    talk(&router, &openai, at, &responses(2), RESPONSE).await;
    router.edit("sealed", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    let mut client = router.connect().await;
    client.send(post(at.0, at.1, &responses(3))).await;
    let mut first = Arrived::at(&openai).await;
    let refusal = r#"{"error":{"message":"The encrypted content could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}"#;
    first.peer.send(answer("400 Bad Request", refusal)).await;
    let mut second = Arrived::at(&openai).await;
    let sent: Value = serde_json::from_slice(&second.body).expect("JSON");
    assert!(!second.text().contains("gAAA") && !second.text().contains("fc_1"), "{sent}");
    assert!(!second.text().contains("long output"), "the edits hold: {sent}");
    second.peer.send(answer("200 OK", RESPONSE)).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_path_names_its_upstream_and_errors_have_the_providers_shape() {
    let (anthropic, openai, router) = daemon().await;
    let arrived = talk(&router, &openai, ("/to/local/api/v1/chat/completions", "other"), &chat(2), CHAT).await;
    assert!(arrived.head.starts_with("POST /api/v1/chat/completions HTTP/1.1"), "{}", arrived.head);

    let mut client = router.connect().await;
    client.send(post("/to/nowhere/v1/chat/completions", "lost", "{}")).await;
    let said = String::from_utf8(client.rest().await).expect("text");
    assert!(said.starts_with("HTTP/1.1 404 "), "{said}");
    let body: Value = serde_json::from_str(body_of(&said)).expect("JSON");
    assert_eq!(body["error"]["code"], "no-such-upstream");
    assert_eq!(body["error"]["type"], "invalid_request_error");
    assert!(
        body["error"]["message"]
            .as_str()
            .is_some_and(|words| words.contains("anthropic, openai, local, gemini, code-assist, vertex, bedrock"))
    );
    assert!(body.get("type").is_none(), "Anthropic's shape is not this client's");
    assert!(anthropic.stays_alone(MOMENT).await);
}

#[tokio::test]
async fn a_format_that_is_not_read_passes_and_is_counted() {
    let (_, openai, router) = daemon().await;
    let body = r#"{"model":"text-embedding-3-small","input":["a"]}"#;
    let arrived = talk(&router, &openai, ("/v1/embeddings", "e"), body, "{}").await;
    assert_eq!(arrived.text(), body);
    assert_eq!(router.get("status").await["requests"]["unread"], 1);
}

#[tokio::test]
async fn a_call_of_bedrock_goes_to_its_own_upstream_in_its_own_bytes() {
    let (anthropic, bedrock, router) = daemon().await;
    let path = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/invoke-with-response-stream";
    let body =
        r#"{"anthropic_version":"bedrock-2023-05-31","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}"#;
    let said = "\0\0\0 a frame of its own";
    let arrived = talk(&router, &bedrock, (path, "b"), body, said).await;
    assert!(arrived.head.starts_with(&format!("POST {path} HTTP/1.1")), "{}", arrived.head);
    assert_eq!(arrived.text(), body);
    assert!(anthropic.stays_alone(MOMENT).await, "its credential goes to no other provider");
    assert_eq!(router.get("status").await["requests"]["unread"], 1);
}

/// A conversation whose calls have no ids: two at once in the first frame, a tangent, and an open third frame.
fn contents(frames: usize) -> String {
    let call = |path: &str| json!({"functionCall": {"name": "read", "args": {"path": path}}});
    let found = |text: &str| json!({"functionResponse": {"name": "read", "response": {"output": text}}});
    let mut first = call("/a");
    first["thoughtSignature"] = "sealed-one".into();
    let mut contents = vec![
        json!({"role": "user", "parts": [{"text": "read both"}]}),
        json!({"role": "model", "parts": [first, call("/b")]}),
        json!({"role": "user", "parts": [found("long output of a"), found("long output of b")]}),
        json!({"role": "model", "parts": [{"text": "read"}]}),
        json!({"role": "user", "parts": [{"text": "a tangent"}]}),
    ];
    if frames > 2 {
        contents.push(json!({"role": "model", "parts": [{"text": "off the way"}]}));
        contents.push(json!({"role": "user", "parts": [{"text": "go on"}]}));
    }
    let system = json!({"parts": [{"text": "You are a coding agent."}]});
    let tools = json!([{"functionDeclarations": [{"name": "read"}]}]);
    json!({"contents": contents, "systemInstruction": system, "tools": tools}).to_string()
}

const CONTENT: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"off the way"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":5},"modelVersion":"gemini-3-pro"}"#;

const GENERATE: &str = "/v1beta/models/gemini-3-pro-preview:generateContent?key=AIza-secret-of-google";

#[tokio::test]
async fn calls_without_ids_are_edited_in_their_pairs() {
    let (anthropic, gemini, router) = daemon().await;
    let at = (GENERATE, "gem");
    let untouched = contents(2);
    let arrived = talk(&router, &gemini, at, &untouched, CONTENT).await;
    assert_eq!(arrived.text(), untouched, "untouched bytes");
    assert!(arrived.head.starts_with(&format!("POST {GENERATE} HTTP/1.1")), "{}", arrived.head);

    let list = router.get("conversations/gem/frames?steps=true").await;
    assert_eq!(list["model"], "gemini-3-pro-preview", "{list}");
    let titles: Vec<&str> =
        list["frames"].as_array().expect("frames").iter().filter_map(|frame| frame["title"].as_str()).collect();
    assert!(titles.contains(&"read both") && titles.contains(&"a tangent"), "{titles:?}");
    let shown = router.get("conversations/gem/frames/t1").await.to_string();
    assert!(shown.contains("long output of b") && !shown.contains("AIza-secret"), "{shown}");

    let select = json!({"tool": "read"});
    router.edit("gem", json!([{"op": "delete", "ids": ["t1/1"], "select": select, "force": true}])).await;
    let arrived = talk(&router, &gemini, at, &contents(3), CONTENT).await;
    assert!(!arrived.text().contains("long output"), "{}", arrived.text());
    assert!(!arrived.text().contains("functionCall") && arrived.text().contains("go on"), "{}", arrived.text());
    assert_eq!(arrived.text(), router.composed("gem").await, "what is shown is what is sent");
    router.post("conversations/gem/history", &json!({"action": "undo", "author": "test"})).await;

    let cut = json!({"operations": [{"op": "split", "id": "t1", "at": [2]}], "author": "test"}).to_string();
    router.refuses("POST", "conversations/gem/operations", &cut, 422, "cuts-a-pair").await;

    // The result of the second call goes, together with the call.
    router.edit("gem", json!([{"op": "delete", "ids": ["t1#2.1"]}, {"op": "delete", "ids": ["t2"]}])).await;
    let arrived = talk(&router, &gemini, at, &contents(3), CONTENT).await;
    let sent: Value = serde_json::from_slice(&arrived.body).expect("JSON");
    let history = sent["contents"].as_array().expect("contents");
    assert_eq!(history[1]["parts"].as_array().map(Vec::len), Some(1), "{sent}");
    assert_eq!(history[1]["parts"][0]["thoughtSignature"], "sealed-one", "{sent}");
    assert_eq!(history[2]["parts"][0]["functionResponse"]["response"]["output"], "long output of a", "{sent}");
    assert!(!arrived.text().contains("long output of b") && !arrived.text().contains("tangent"), "{sent}");
    assert_eq!(arrived.text(), router.composed("gem").await, "what is shown is what is sent");
    router.edit("gem", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    let arrived = talk(&router, &gemini, at, &contents(3), CONTENT).await;
    assert!(!arrived.text().contains("long output"), "{}", arrived.text());
    assert!(anthropic.stays_alone(MOMENT).await);
}

#[tokio::test]
async fn a_signature_that_is_refused_is_left_out_once() {
    let (_, gemini, router) = daemon().await;
    talk(&router, &gemini, (GENERATE, "signed"), &contents(2), CONTENT).await;
    router.edit("signed", json!([{"op": "delete", "ids": ["t2"]}])).await;
    let mut client = router.connect().await;
    client.send(post(GENERATE, "signed", &contents(3))).await;
    let mut first = Arrived::at(&gemini).await;
    assert!(first.text().contains("sealed-one"));
    let refusal = r#"{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}"#;
    first.peer.send(answer("400 Bad Request", refusal)).await;
    let mut second = Arrived::at(&gemini).await;
    assert!(!second.text().contains("sealed-one") && !second.text().contains("tangent"), "{}", second.text());
    second.peer.send(answer("200 OK", CONTENT)).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_wrapped_request_of_a_google_login_is_edited_in_its_envelope() {
    let (_, provider, router) = daemon().await;
    let path = "/v1internal:generateContent";
    let wrapped = |frames: usize| format!(r#"{{"model":"gemini-3-pro","project":"p","request":{}}}"#, contents(frames));
    let said = format!(r#"{{"response":{CONTENT},"traceId":"t"}}"#);
    assert_eq!(talk(&router, &provider, (path, "assist"), &wrapped(2), &said).await.text(), wrapped(2));
    let list = router.get("conversations/assist/frames").await;
    assert_eq!((&list["model"], &list["cache"]["read"]), (&json!("gemini-3-pro"), &json!(60)), "{list}");
    router.edit("assist", json!([{"op": "delete", "ids": ["t2"]}])).await;
    let arrived = talk(&router, &provider, (path, "assist"), &wrapped(3), &said).await;
    let sent = arrived.text();
    assert!(sent.starts_with(r#"{"model":"gemini-3-pro","project":"p","request":{"contents":["#), "{sent}");
    assert!(!sent.contains("a tangent") && sent.contains("go on"), "{sent}");
    let sent: Value = serde_json::from_str(sent).expect("JSON");
    assert_eq!(sent["request"]["systemInstruction"]["parts"][0]["text"], "You are a coding agent.");
    assert_eq!(router.get("status").await["requests"]["unread"], 0);
}

#[tokio::test]
async fn tokens_are_counted_for_the_edited_request() {
    let (_, gemini, router) = daemon().await;
    talk(&router, &gemini, (GENERATE, "counted"), &contents(2), CONTENT).await;
    router.edit("counted", json!([{"op": "delete", "ids": ["t2"]}])).await;
    let count = "/v1beta/models/gemini-3-pro-preview:countTokens";
    let whole = format!(r#"{{"generateContentRequest":{}}}"#, contents(3));
    for body in [whole, contents(3)] {
        let arrived = talk(&router, &gemini, (count, "counted"), &body, r#"{"totalTokens":7}"#).await;
        assert!(!arrived.text().contains("tangent") && arrived.text().contains("go on"), "{}", arrived.text());
        assert_eq!(arrived.text().contains("generateContentRequest"), body.contains("generateContentRequest"));
    }
}

#[tokio::test]
async fn calls_without_ids_have_the_same_links_after_a_restart() {
    let store = Arc::new(MemoryStore::new());
    let (_, gemini, router) = daemon_on(store.clone()).await;
    talk(&router, &gemini, (GENERATE, "kept"), &contents(2), CONTENT).await;
    router.edit("kept", json!([{"op": "delete", "ids": ["t1#2.0"]}])).await;
    talk(&router, &gemini, (GENERATE, "kept"), &contents(3), CONTENT).await;
    let before = router.composed("kept").await;
    assert!(!before.contains("long output of a") && before.contains("skip_thought_signature_validator"), "{before}");
    drop(router);

    let (_, gemini, router) = daemon_on(store).await;
    assert_eq!(router.composed("kept").await, before);
    assert_eq!(router.get("conversations/kept/frames").await["model"], "gemini-3-pro-preview");
    let arrived = talk(&router, &gemini, (GENERATE, "kept"), &contents(3), CONTENT).await;
    assert_eq!(arrived.text(), before);
}
