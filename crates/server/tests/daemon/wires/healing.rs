//! `heal` after refusals of the other providers.

use super::*;

async fn refused(router: &Router, provider: &RawServer, (path, session): (&str, &str), body: &str, error: &Value) {
    let mut client = router.connect().await;
    client.send(post(path, session, body)).await;
    let mut arrived = Arrived::at(provider).await;
    let error = json!({"error": error}).to_string();
    arrived.peer.send(answer("400 Bad Request", &error)).await;
    assert!(client.head().await.starts_with("HTTP/1.1 400 "));
    client.rest().await;
}

async fn healed(router: &Router, session: &str) -> Value {
    router.post(&format!("conversations/{session}/heal"), &json!({"author": "test"})).await
}

#[tokio::test]
async fn a_refused_item_is_found_behind_an_edit() {
    let (_, openai, router) = daemon().await;
    let at = ("/v1/responses", "ill");
    talk(&router, &openai, at, &responses(3), RESPONSE).await;
    router.edit("ill", json!([{"op": "delete", "ids": ["t2"]}])).await;
    // `input[6]` is the prompt behind the deleted one.
    let error =
        json!({"message": "Invalid value: 'input_text'.", "param": "input[6].content[0]", "code": "invalid_value"});
    refused(&router, &openai, at, &responses(4), &error).await;
    let done = healed(&router, "ill").await;
    assert!(done["problem"].as_str().is_some_and(|told| told.contains("t3#0.0")), "{done}");
    let arrived = talk(&router, &openai, at, &responses(4), RESPONSE).await;
    assert!(!arrived.text().contains("prompt 2") && arrived.text().contains("prompt 3"), "{}", arrived.text());
}

#[tokio::test]
async fn an_item_that_is_named_by_its_id_is_removed_with_its_pair() {
    let (_, openai, router) = daemon().await;
    let at = ("/v1/responses", "ids");
    let error =
        json!({"message": "No tool call found for function call output with call_id call_1.", "param": "input"});
    refused(&router, &openai, at, &responses(2), &error).await;
    let done = healed(&router, "ids").await;
    assert!(done["problem"].as_str().is_some_and(|told| told.contains("t1#3")), "{done}");
    let arrived = talk(&router, &openai, at, &responses(2), RESPONSE).await;
    assert!(!arrived.text().contains("call_1"), "{}", arrived.text());
}

#[tokio::test]
async fn a_response_that_failed_inside_its_stream_is_healed() {
    let (_, openai, router) = daemon().await;
    let at = ("/v1/responses", "failed");
    let failed = json!({"type": "response.failed", "response": {"id": "r", "status": "failed", "error": {
        "code": "invalid_prompt", "message": "Invalid 'input[1].content[0]': not allowed."}}});
    let said = format!("event: response.failed\ndata: {failed}\n\n");
    talk(&router, &openai, at, &responses(2), &said).await;
    let done = healed(&router, "failed").await;
    assert!(done["problem"].as_str().is_some_and(|told| told.contains("t1#0.0")), "{done}");

    let busy = failed.to_string().replace("Invalid 'input[1].content[0]': not allowed.", "Slow down.");
    talk(&router, &openai, at, &responses(2), &format!("event: response.failed\ndata: {busy}\n\n")).await;
    let asked = json!({"author": "test"}).to_string();
    router.refuses("POST", "conversations/failed/heal", &asked, 422, "healthy").await;
}

#[tokio::test]
async fn messages_of_a_chat_and_parts_of_gemini_are_healed() {
    let (_, provider, router) = daemon().await;
    let at = ("/v1/chat/completions", "chatty");
    let error = json!({"message": "Invalid 'messages[4].content': too long.", "param": "messages[4].content"});
    refused(&router, &provider, at, &chat(3), &error).await;
    let done = healed(&router, "chatty").await;
    let arrived = talk(&router, &provider, at, &chat(3), CHAT).await;
    let sent: Value = serde_json::from_slice(&arrived.body).expect("JSON");
    assert!(!arrived.text().contains(r#""content":"read""#), "{done} {sent}");
    assert!(arrived.text().contains("long output") && arrived.text().contains("off the way"), "{sent}");

    let at = (GENERATE, "parts");
    let error = json!({"code": 400, "status": "INVALID_ARGUMENT",
        "message": "* GenerateContentRequest.contents[2].parts[1].function_response.response: bad"});
    refused(&router, &provider, at, &contents(3), &error).await;
    healed(&router, "parts").await;
    let arrived = talk(&router, &provider, at, &contents(3), CONTENT).await;
    assert!(!arrived.text().contains("long output of b"), "{}", arrived.text());
    assert!(arrived.text().contains("long output of a"), "{}", arrived.text());
    let asked = json!({"author": "test"}).to_string();
    router.refuses("POST", "conversations/parts/heal", &asked, 422, "healthy").await;
}
