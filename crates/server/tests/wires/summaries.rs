//! Clients that request a summary of the history as one text.

use super::*;

const TANGENT: &str = "a long tangent about \"cows\",\nwhich nobody wants to read again";

fn long_output() -> String {
    (0..400).map(|line| format!("line {line} of the output\n")).collect()
}

fn talk_of(frames: usize) -> String {
    let mut messages = vec![
        json!({"role": "user", "content": "read it"}),
        json!({"role": "assistant", "content": null, "tool_calls": [called("call_1")]}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": long_output()}),
        json!({"role": "assistant", "content": "It is read now, and there is nothing in it."}),
        json!({"role": "user", "content": TANGENT}),
    ];
    if frames > 2 {
        messages.push(json!({"role": "assistant", "content": "off the way"}));
        messages.push(json!({"role": "user", "content": "go on with the work that we began"}));
    }
    let tool = json!({"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}});
    json!({"model": "gpt-4.1", "messages": messages, "tools": [tool]}).to_string()
}

#[tokio::test]
async fn what_was_removed_is_cut_out_of_a_summary_request_where_it_stands_word_for_word() {
    let (_, openai, router) = daemon().await;
    let at = ("/v1/chat/completions", "summed");
    talk(&router, &openai, at, &talk_of(3), CHAT).await;
    let output: String = long_output().chars().take(2_000).collect();
    let history = format!(
        "Here is the conversation so far:\n\n<conversation>\n[User]: read it\n\n[Tool result]: {output}… [truncated]\n\n\
         [User]: {TANGENT}\n\n[User]: go on with the work that we began\n</conversation>"
    );
    let asks = json!({"model": "gpt-4.1-mini", "messages": [
        {"role": "system", "content": "You are a context summarization agent. Summarize."},
        {"role": "user", "content": history},
    ]})
    .to_string();
    assert_eq!(talk(&router, &openai, at, &asks, CHAT).await.text(), asks, "nothing is edited yet");

    let operations = json!([{"op": "delete", "ids": ["t2"]}, {"op": "drop-results", "ids": ["t1"]}]);
    router.edit("summed", operations).await;
    let arrived = talk(&router, &openai, at, &asks, CHAT).await;
    let sent: Value = serde_json::from_slice(&arrived.body).expect("JSON");
    let text = sent["messages"][1]["content"].as_str().expect("a text");
    assert!(!text.contains("cows") && !text.contains("of the output"), "{text}");
    assert!(
        text.contains("[User]: [removed]\n\n[User]: go on with the work") && text.contains("[truncated]"),
        "{text}"
    );
    let events = router.get("conversations/summed/timeline").await.to_string();
    assert!(events.contains("removed texts were cut out of it"), "{events}");
}
