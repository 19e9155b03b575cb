//! An agent switches to a model of another provider in the middle of a session.

use super::*;

/// The history of [`chat`] with a third frame, as items.
fn as_items() -> String {
    let said = |role: &str, text: &str| {
        let kind = if role == "assistant" { "output_text" } else { "input_text" };
        json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
    };
    let input = json!([
        said("developer", "You are another coding agent."),
        said("user", "read it"),
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{\"path\":\"/a\"}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "long output"},
        said("assistant", "read"),
        said("user", "a tangent"),
        said("assistant", "off the way"),
        said("user", "go on"),
    ]);
    json!({"model": "gpt-5.6-sol", "input": input, "store": false}).to_string()
}

const EDITS: [&str; 2] = ["a tangent", "long output"];

fn has(text: &str, words: [&str; 2]) -> [bool; 2] {
    words.map(|words| text.contains(words))
}

#[tokio::test]
async fn edits_are_offered_and_carried_over_when_a_session_moves_to_another_format() {
    let store = Arc::new(MemoryStore::new());
    let (_, openai, router) = daemon_on(store.clone()).await;
    let (here, there) = (("/v1/chat/completions", "mover"), ("/v1/responses", "mover"));
    talk(&router, &openai, here, &chat(2), CHAT).await;
    let first = router.get("conversations/mover/frames").await["conversation"].as_str().expect("an id").to_owned();
    router.edit("mover", json!([{"op": "delete", "ids": ["t2"]}, {"op": "drop-results", "ids": ["t1"]}])).await;
    router.edit("mover", json!([{"op": "edit", "id": "system#0", "text": "Be brief."}])).await;

    let arrived = talk(&router, &openai, there, &as_items(), RESPONSE).await;
    assert_eq!(arrived.text(), as_items(), "nothing is carried over unasked");
    let list = router.get("conversations/mover/frames").await;
    let second = list["conversation"].as_str().expect("an id").to_owned();
    assert_ne!(second, first, "a conversation has one format");
    assert_eq!(list["moved_from"], json!({"conversation": first, "format": "openai-chat", "edits": 2}));
    let all = router.get("conversations").await;
    let linked = all["conversations"].as_array().into_iter().flatten().find(|one| one["id"] == second.as_str());
    assert_eq!(linked.expect("listed")["forked_from"], first.as_str());

    let told = router.edit(&second, json!([{"op": "import", "from": first, "edits": true}])).await;
    assert_eq!(told["remarks"], json!(["not carried over: 1 edit of the system prompt"]), "{told}");
    assert_eq!(router.get(&format!("conversations/{second}/frames")).await["moved_from"], Value::Null);
    let arrived = talk(&router, &openai, there, &as_items(), RESPONSE).await;
    assert_eq!(has(arrived.text(), EDITS), [false, false], "{}", arrived.text());
    assert!(arrived.text().contains("another coding agent") && arrived.text().contains("go on"));

    // Back again: both conversations keep their edits, even after a restart.
    let back = talk(&router, &openai, here, &chat(3), CHAT).await;
    assert_eq!(has(back.text(), EDITS), [false, false], "{}", back.text());
    drop(router);
    let (_, openai, router) = daemon_on(store).await;
    for (at, body) in [(there, as_items()), (here, chat(3)), (there, as_items())] {
        let arrived = talk(&router, &openai, at, &body, if at == here { CHAT } else { RESPONSE }).await;
        assert_eq!(has(arrived.text(), EDITS), [false, false], "{}", arrived.text());
    }
    let all = router.get("conversations").await;
    assert_eq!(all["conversations"].as_array().map(Vec::len), Some(2), "{all}");
}

#[tokio::test]
async fn a_client_without_a_session_is_linked_by_what_its_user_said() {
    let (_, openai, router) = daemon().await;
    let nameless = |path: &str, body: &str| post(path, "x", body).replace("X-Session-Id: x\r\n", "");
    for (path, body, said) in [("/v1/chat/completions", chat(2), CHAT), ("/v1/responses", as_items(), RESPONSE)] {
        let mut client = router.connect().await;
        client.send(nameless(path, &body)).await;
        let mut arrived = Arrived::at(&openai).await;
        assert_eq!(arrived.text(), body);
        arrived.peer.send(answer("200 OK", said)).await;
        client.rest().await;
        router.get("conversations").await;
    }
    let all = router.get("conversations").await;
    let all = all["conversations"].as_array().expect("conversations");
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[0]["forked_from"], all[1]["id"], "{all:?}");
    let text =
        json!({"operations": [{"op": "import", "from": all[1]["id"], "edits": true}], "author": "test"}).to_string();
    let path = format!("conversations/{}/operations", all[0]["id"].as_str().expect("an id"));
    router.refuses("POST", &path, &text, 422, "nothing-to-do").await;
}
