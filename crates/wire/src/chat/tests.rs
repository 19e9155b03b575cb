//! Facts from answers, as the servers spell them.

use super::*;
use crate::answer::{Answer, Ending, Growth, Progress, Usage};

fn fed(events: &[&str]) -> Box<dyn Tap> {
    let mut tap = Chat.tap(200, Some("text/event-stream"), None);
    events.iter().for_each(|data| tap.feed(format!("data: {data}\n\n").as_bytes()));
    tap
}

fn answer(events: &[&str]) -> Answer {
    fed(events).finish(Ending::Complete)
}

fn whole(status: u16, body: &str) -> Answer {
    let mut tap = Chat.tap(status, Some("application/json"), None);
    tap.feed(body.as_bytes());
    tap.finish(Ending::Complete)
}

fn delta(delta: &str) -> String {
    format!(r#"{{"id":"c1","model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}],"usage":null}}"#)
}

fn finish(reason: &str) -> String {
    format!(r#"{{"id":"c1","model":"m","choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

fn reply(answer: &Answer) -> Value {
    let [message] = answer.reply.as_slice() else { panic!("{} messages", answer.reply.len()) };
    serde_json::from_slice(message).expect("JSON")
}

fn usage(usage: &str) -> Usage {
    let body = format!(
        r#"{{"id":"c","choices":[{{"message":{{"role":"assistant","content":"a"}},"finish_reason":"stop"}}],"usage":{usage}}}"#
    );
    whole(200, &body).usage.expect("usage")
}

#[test]
fn a_streamed_text_is_one_message() {
    let parts = [delta(r#"{"role":"assistant","content":""}"#), delta(r#"{"content":"Hi \"you\""}"#)];
    let answer = answer(&[&parts[0], &parts[1], &delta(r#"{"content":" there\n"}"#), &finish("stop"), "[DONE]"]);
    assert_eq!(reply(&answer), json!({"role": "assistant", "content": "Hi \"you\" there\n"}));
    assert_eq!((answer.message_id.as_deref(), answer.model.as_deref()), (Some("c1"), Some("m")));
    assert_eq!((answer.stop_reason.as_deref(), answer.whole_message), (Some("stop"), true));
    assert_eq!((answer.unknown_events, answer.broken_events), (0, 0));
}

#[test]
fn calls_are_put_together_by_their_index() {
    let answer = answer(&[
        &delta(
            r#"{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c_a","type":"function","function":{"name":"read","arguments":""}}]}"#,
        ),
        &delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}"#),
        &delta(
            r#"{"tool_calls":[{"index":1,"id":"c_b","type":"function","function":{"name":"list","arguments":"{}"}}]}"#,
        ),
        &delta(r#"{"tool_calls":[{"index":0,"id":"c_a","function":{"name":"read","arguments":"\"/a\"}"}}]}"#),
        &finish("tool_calls"),
    ]);
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let calls = [call("c_a", "read", r#"{"path":"/a"}"#), call("c_b", "list", "{}")];
    assert_eq!(reply(&answer), json!({"role": "assistant", "content": null, "tool_calls": calls}));
    assert_eq!(answer.stop_reason.as_deref(), Some("tool_calls"));
}

#[test]
fn reasoning_is_kept_under_either_name() {
    for name in ["reasoning_content", "reasoning"] {
        let thought = [format!(r#"{{"{name}":"I "}}"#), format!(r#"{{"{name}":"think"}}"#)].map(|part| delta(&part));
        let answer = answer(&[&thought[0], &thought[1], &delta(r#"{"content":"so"}"#), &finish("stop")]);
        let expected = json!({"role": "assistant", "content": "so", "reasoning_content": "I think"});
        assert_eq!(reply(&answer), expected, "{name}");
    }
    let both = delta(r#"{"reasoning_content":"once","reasoning":"once"}"#);
    assert_eq!(reply(&answer(&[&both]))["reasoning_content"], "once");
}

#[test]
fn only_the_first_choice_is_the_reply() {
    let second = r#"{"choices":[{"index":1,"delta":{"content":"other"},"finish_reason":"length"}]}"#;
    let answer = answer(&[&delta(r#"{"content":"one"}"#), second, &finish("stop")]);
    assert_eq!(reply(&answer)["content"], "one");
    assert_eq!(answer.stop_reason.as_deref(), Some("stop"));
}

#[test]
fn usage_comes_in_the_last_chunk_if_the_client_asked() {
    let (text, end) = (delta(r#"{"content":"a"}"#), finish("stop"));
    assert_eq!(answer(&[&text, &end, "[DONE]"]).usage, None, "nothing is invented (C41)");
    let last = r#"{"id":"c1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":3}}}"#;
    let answer = answer(&[&text, &end, last, "[DONE]"]);
    let expected = Usage { input: 36, cache_read: 64, output: 7, thinking: Some(3), ..Usage::default() };
    assert_eq!((answer.usage, answer.stop_reason.as_deref()), (Some(expected), Some("stop")));
    assert_eq!(reply(&answer)["content"], "a", "the chunk without choices adds nothing");
}

#[test]
fn each_server_names_its_usage_in_its_own_way() {
    let expected =
        |input, cache_read, cache_write| Usage { input, cache_read, cache_write, output: 5, ..Usage::default() };
    let deepseek =
        r#"{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}"#;
    assert_eq!(usage(deepseek), expected(36, 64, 0));
    assert_eq!(usage(r#"{"prompt_tokens":100,"completion_tokens":5,"cached_tokens":40}"#), expected(60, 40, 0), "Kimi");
    let qwen = r#"{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":20,"cache_creation_input_tokens":70}}"#;
    assert_eq!(usage(qwen), expected(10, 20, 70));
    let openrouter = r#"{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":20,"cache_write_tokens":30}}"#;
    assert_eq!(usage(openrouter), expected(50, 20, 30));
    let litellm = r#"{"prompt_tokens":100,"completion_tokens":5,"cache_read_input_tokens":20,"cache_creation_input_tokens":30,"prompt_tokens_details":{"cached_tokens":20}}"#;
    assert_eq!(usage(litellm), expected(50, 20, 30));
    let too_much = r#"{"prompt_tokens":10,"completion_tokens":5,"cached_tokens":400,"cache_creation_input_tokens":9}"#;
    assert_eq!(usage(too_much), expected(0, 10, 0), "a part is never more than the whole");
}

#[test]
fn groq_puts_its_usage_beside_the_chunk() {
    let last = r#"{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":12,"completion_tokens":3}}}"#;
    let expected = Usage { input: 12, output: 3, ..Usage::default() };
    assert_eq!(answer(&[&delta(r#"{"content":"a"}"#), last]).usage, Some(expected));
}

#[test]
fn an_error_inside_the_stream_is_an_error() {
    let error = r#"{"error":{"message":"overloaded","type":"server_error","code":503,"param":null}}"#;
    let broken = answer(&[&delta(r#"{"content":"a"}"#), error]);
    let told = broken.error.as_ref().expect("an error");
    assert_eq!((told.message.as_str(), told.kind.as_deref()), ("overloaded", Some("server_error")));
    assert_eq!((told.code.as_deref(), broken.whole_message), (Some("503"), false));
    assert_eq!(reply(&broken)["content"], "a");

    let ended = answer(&[&delta(r#"{"content":"a"}"#), &finish("error")]);
    assert!(!ended.whole_message && ended.error.is_some(), "{ended:?}");
}

#[test]
fn refusals_are_read_in_every_envelope() {
    let error = |body: &str| whole(400, body).error.expect("an error");
    let openai = error(r#"{"error":{"message":"no","type":"t","param":"messages.[4].role","code":null}}"#);
    assert_eq!((openai.message.as_str(), openai.param.as_deref()), ("no", Some("messages.[4].role")));
    let mistral = error(
        r#"{"object":"error","message":"Unexpected role","type":"invalid_request_message_order","param":null,"code":"3230"}"#,
    );
    assert_eq!((mistral.message.as_str(), mistral.code.as_deref()), ("Unexpected role", Some("3230")));
    assert_eq!(mistral.kind.as_deref(), Some("invalid_request_message_order"));
    let router = error(
        r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"messages.3: bad","provider_name":"x"}}}"#,
    );
    assert_eq!(router.message, "Provider returned error: messages.3: bad");
    assert_eq!(error(r#"{"error":"plain"}"#).message, "plain");
    assert_eq!(error("<html>").message, "<html>");
}

#[test]
fn comments_and_unreadable_chunks_do_no_harm() {
    let mut tap = Chat.tap(200, Some("text/event-stream"), None);
    tap.feed(b": OPENROUTER PROCESSING\n\n");
    tap.feed(b"data: {not json}\n\n");
    tap.feed(format!("data: {}\n\n", delta(r#"{"content":"a"}"#)).as_bytes());
    let answer = tap.finish(Ending::Cut);
    assert_eq!((answer.broken_events, answer.whole_message), (1, false));
    assert_eq!(reply(&answer)["content"], "a", "the part that came is kept");
}

#[test]
fn the_message_grows_part_by_part() {
    let mut tap = fed(&[&delta(r#"{"reasoning_content":"hm"}"#), &delta(r#"{"content":"a\u00e9"}"#)]);
    let mut told = Progress::default();
    let grown = |block, part, tool: Option<&str>, text: &str| Growth {
        block,
        part,
        tool: tool.map(str::to_owned),
        text: text.to_owned(),
    };
    assert_eq!(tap.grown(&mut told), [grown(0, "thinking", None, "hm"), grown(1, "text", None, "aé")]);
    assert_eq!(tap.grown(&mut told), []);
    let call = r#"{"content":"b","tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":"{\"p\""}}]}"#;
    tap.feed(format!("data: {}\n\n", delta(call)).as_bytes());
    assert_eq!(tap.grown(&mut told), [grown(1, "text", None, "b"), grown(2, "tool", Some("read"), "{\"p\"")]);
}

#[test]
fn a_whole_answer_is_read_like_a_stream() {
    let answer = whole(
        200,
        r#"{"id":"c9","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning_details":[{"type":"x"}]},"finish_reason":"length"}]}"#,
    );
    assert_eq!(reply(&answer)["reasoning_details"], json!([{"type": "x"}]), "unknown members are kept");
    assert_eq!((answer.stop_reason.as_deref(), answer.whole_message), (Some("length"), true));
    assert_eq!(answer.message_id.as_deref(), Some("c9"));
}
