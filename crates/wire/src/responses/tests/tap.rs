//! Facts from answers.

use super::*;
use crate::answer::{Answer, Ending, Progress, Usage};

const MESSAGE: &str = r#"{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi you"}],"phase":"final_answer"}"#;

fn event(data: &str) -> String {
    let kind: Value = serde_json::from_str(data).unwrap();
    format!("event: {}\ndata: {data}\n\n", kind["type"].as_str().unwrap())
}

fn answer(events: &[&str]) -> Answer {
    let mut tap = Responses.tap(200, Some("text/event-stream"), None);
    events.iter().for_each(|data| tap.feed(event(data).as_bytes()));
    tap.finish(Ending::Complete)
}

fn done(index: u32, item: &str) -> String {
    format!(r#"{{"type":"response.output_item.done","output_index":{index},"item":{item}}}"#)
}

fn replied(answer: &Answer) -> Vec<&str> {
    answer.reply.iter().map(|item| std::str::from_utf8(item).unwrap()).collect()
}

const COMPLETED: &str = r#"{"type":"response.completed","response":{"id":"resp_1","model":"gpt-x","status":"completed","error":null,"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4}}}}"#;

#[test]
fn a_stream_tells_usage_end_and_a_lone_message() {
    let answer = answer(&[r#"{"type":"response.created","response":{"id":"resp_1"}}"#, &done(0, MESSAGE), COMPLETED]);
    assert_eq!(answer.message_id.as_deref(), Some("resp_1"));
    assert_eq!(answer.model.as_deref(), Some("gpt-x"));
    assert!(answer.whole_message);
    assert_eq!(answer.stop_reason.as_deref(), Some("completed"));
    let usage = Usage { input: 10, cache_read: 60, cache_write: 30, output: 9, thinking: Some(4), ..Usage::default() };
    assert_eq!(answer.usage, Some(usage));
    assert_eq!(replied(&answer), [MESSAGE]);
    assert_eq!((answer.unknown_events, answer.broken_events), (0, 0));
}

#[test]
fn an_output_of_several_items_is_a_reply_of_several_messages() {
    let (thought, asked) = (thinks("rs_1"), call("fc_1", "c"));
    let added = r#"{"type":"response.output_item.added","output_index":3,"item":{"type":"function_call","name":"f"}}"#;
    let events = [&done(0, &thought), &done(1, MESSAGE), &done(2, &asked), added];
    assert_eq!(replied(&answer(&events)), [&thought, MESSAGE, &asked], "an unfinished call is never sent back");
}

#[test]
fn a_failure_inside_a_good_answer_is_an_error() {
    let failed = r#"{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"context_length_exceeded","message":"too long"}}}"#;
    let answer = answer(&[failed]);
    let error = answer.error.unwrap();
    assert_eq!((error.code.as_deref(), error.message.as_str()), (Some("context_length_exceeded"), "too long"));
    assert!(!answer.whole_message);
}

#[test]
fn an_answer_that_is_cut_by_the_provider_says_why() {
    let cut = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#;
    assert_eq!(answer(&[cut]).stop_reason.as_deref(), Some("max_output_tokens"));
    let error = answer(&[r#"{"type":"error","code":"rate_limit_exceeded","message":"slow down"}"#]).error.unwrap();
    assert_eq!((error.kind, error.code.as_deref()), (None, Some("rate_limit_exceeded")));
}

#[test]
fn a_whole_body_says_the_same() {
    let mut tap = Responses.tap(200, Some("application/json"), None);
    let body = format!(
        r#"{{"id":"resp_1","status":"completed","output":[{MESSAGE}],"usage":{{"input_tokens":5,"output_tokens":1}}}}"#
    );
    tap.feed(body.as_bytes());
    let answer = tap.finish(Ending::Complete);
    assert!(answer.whole_message && replied(&answer) == [MESSAGE]);
    assert_eq!(answer.usage.map(|usage| (usage.input, usage.output)), Some((5, 1)));
    let mut tap = Responses.tap(400, Some("application/json"), None);
    tap.feed(br#"{"error":{"type":"invalid_request_error","message":"no","code":null}}"#);
    assert_eq!(tap.finish(Ending::Complete).error.unwrap().kind.as_deref(), Some("invalid_request_error"));
}

#[test]
fn texts_summaries_and_arguments_grow() {
    let mut tap = Responses.tap(200, Some("text/event-stream"), None);
    let mut told = Progress::default();
    let mut grown = |data: &str| {
        tap.feed(event(data).as_bytes());
        let grown = tap.grown(&mut told);
        grown.into_iter().map(|grown| (grown.block, grown.part, grown.tool, grown.text)).collect::<Vec<_>>()
    };
    let thought = r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"}"#;
    assert_eq!(grown(thought), [(0, "thinking", None, "hm".to_owned())]);
    let said = r#"{"type":"response.output_text.delta","output_index":1,"delta":"a\nb","obfuscation":"xx"}"#;
    assert_eq!(grown(said), [(1, "text", None, "a\nb".to_owned())]);
    let added =
        r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","name":"look"}}"#;
    assert!(grown(added).is_empty());
    let asked = r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"a\""}"#;
    assert_eq!(grown(asked), [(2, "tool", Some("look".to_owned()), "{\"a\"".to_owned())]);
}

#[test]
fn a_message_that_broke_off_is_kept() {
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}"#;
    let said = r#"{"type":"response.output_text.delta","output_index":0,"delta":"so \"far"}"#;
    let partial: Value = serde_json::from_slice(&answer(&[added, said]).reply[0]).unwrap();
    assert_eq!(partial["content"][0]["text"], "so \"far");
}
