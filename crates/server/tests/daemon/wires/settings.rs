//! Items of a Responses history that everything behind them depends on: compactions and late tools.

use super::*;

/// The window that Codex sends after a remote compaction: the newest prompt, the compaction behind it, and its steps.
fn window(prompts: usize) -> String {
    let user =
        |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let tool = json!({"type": "custom", "name": "late"});
    let mut input = vec![
        user("an earlier prompt"),
        user("the newest prompt"),
        json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed-memory"}),
        json!({"type": "additional_tools", "role": "developer", "tools": [tool]}),
        json!({"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "call_1", "output": "long output"}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "read"}]}),
    ];
    input.extend((1..prompts).map(|number| user(&format!("prompt {number}"))));
    json!({"model": "gpt-5.6-sol", "input": input, "store": false}).to_string()
}

const AT: &str = "/v1/responses";

#[tokio::test]
async fn the_memory_of_a_compaction_stays_when_its_frame_is_removed() {
    for operation in [
        json!({"op": "delete", "ids": ["t2"]}),
        json!({"op": "compact", "ids": ["t2"], "text": "short"}),
        json!({"op": "edit", "id": "t2", "text": "another prompt"}),
    ] {
        // In one daemon, the next session would be a fork with these edits.
        let (_, openai, router) = daemon().await;
        let at = (AT, "compacted");
        talk(&router, &openai, at, &window(2), RESPONSE).await;
        let done = router.edit("compacted", json!([operation])).await;
        let remarks = done["remarks"].to_string();
        assert!(remarks.contains("keeps `additional_tools` and `compaction`"), "{done}");
        assert!(remarks.contains("t2#1.0, t2#2.0") && remarks.contains("earlier content"), "{done}");
        assert!(done["warnings"].as_array().is_none_or(Vec::is_empty), "{done}");
        let arrived = talk(&router, &openai, at, &window(3), RESPONSE).await;
        assert!(arrived.text().contains("sealed-memory") && arrived.text().contains("late"), "{}", arrived.text());
        assert!(!arrived.text().contains("long output"), "{}", arrived.text());
    }
    let (_, openai, router) = daemon().await;
    let moved = json!({"operations": [{"op": "move", "ids": ["t2"], "to": {"end": true}}], "author": "test"});
    talk(&router, &openai, (AT, "moved"), &window(2), RESPONSE).await;
    router.refuses("POST", "conversations/moved/operations", &moved.to_string(), 422, "protected").await;
}

#[tokio::test]
async fn a_compaction_goes_when_it_is_named_and_the_loss_is_told() {
    let (_, openai, router) = daemon().await;
    talk(&router, &openai, (AT, "named"), &window(2), RESPONSE).await;
    let done = router.edit("named", json!([{"op": "delete", "ids": ["t2#1"]}])).await;
    let warnings = done["warnings"].to_string();
    assert!(warnings.contains("removes `compaction`") && warnings.contains("t2#1.0"), "{done}");
    let arrived = talk(&router, &openai, (AT, "named"), &window(3), RESPONSE).await;
    assert!(!arrived.text().contains("sealed-memory"), "{}", arrived.text());
    assert!(arrived.text().contains("late") && arrived.text().contains("long output"), "{}", arrived.text());
}
