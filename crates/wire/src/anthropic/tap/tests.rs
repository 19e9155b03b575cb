use super::Tap;
use crate::answer::{Answer, Ending, Tap as _, Usage};

const STREAM: Option<&str> = Some("text/event-stream; charset=utf-8");
const JSON: Option<&str> = Some("application/json");

/// One unnamed event per JSON text: only the type inside counts.
fn events(data: &[&str]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

fn read(status: u16, content_type: Option<&str>, body: impl AsRef<[u8]>) -> Answer {
    let mut tap = Tap::new(status, content_type, None);
    tap.feed(body.as_ref());
    Box::new(tap).finish(Ending::Complete)
}

fn read_events(data: &[&str]) -> Answer {
    read(200, STREAM, events(data))
}

/// The content of the reply to a stream of these events inside one message.
fn content(data: &[&str]) -> String {
    let mut all = vec![r#"{"type":"message_start","message":{}}"#];
    all.extend(data);
    content_of(&read_events(&all))
}

fn content_of(answer: &Answer) -> String {
    let reply = String::from_utf8(answer.reply[0].clone()).unwrap();
    let content = reply.strip_prefix(r#"{"role":"assistant","content":"#).and_then(|reply| reply.strip_suffix('}'));
    content.expect("an assistant message").to_owned()
}

#[test]
fn usage_is_merged_and_the_later_value_that_is_not_null_wins() {
    let answer = read_events(&[
        r#"{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":100,
            "cache_creation_input_tokens":20,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":0},
            "output_tokens":1}}}"#
            .replace('\n', " ")
            .as_str(),
        r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":7,"input_tokens":null}}"#,
        r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":9,"cache_read_input_tokens":101,
            "output_tokens_details":{"thinking_tokens":4}}}"#
            .replace('\n', " ")
            .as_str(),
    ]);
    assert_eq!(
        answer.usage,
        Some(Usage {
            input: 3,
            cache_read: 101,
            cache_write: 20,
            cache_write_5m: Some(20),
            cache_write_1h: Some(0),
            output: 9,
            thinking: Some(4),
        })
    );
}

#[test]
fn a_field_of_the_wrong_type_does_not_lose_the_rest() {
    let answer = read_events(&[
        r#"{"type":"message_start","message":{"id":7,"model":["x"],"usage":{"input_tokens":"many","output_tokens":2.0,"cache_read_input_tokens":6},"input_transformations":{}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":5},"usage":{"cache_read_input_tokens":-1,"output_tokens":true}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":5},"usage":17,"context_management":{"applied_edits":[3,{"type":null,"cleared_tool_uses":"x"},{"type":"e","cleared_input_tokens":8}]}}"#,
    ]);
    assert_eq!(answer.message_id, None);
    assert_eq!(answer.usage, Some(Usage { output: 2, cache_read: 6, ..Usage::default() }));
    assert_eq!(answer.stop_reason, None);
    let edits: Vec<_> = answer.applied_edits.iter().map(|e| (e.kind.as_str(), e.cleared_input_tokens)).collect();
    assert_eq!(edits, [("", None), ("e", Some(8))]);
    assert_eq!(answer.broken_events, 0);
}

#[test]
fn without_numbers_there_is_no_usage() {
    let answer = read_events(&[r#"{"type":"message_start","message":{"usage":{"service_tier":"standard"}}}"#]);
    assert_eq!(answer.usage, None);
}

#[test]
fn the_event_name_stands_in_for_a_missing_type() {
    let answer = read(200, STREAM, "event: message_start\ndata: {\"message\":{\"id\":\"msg_1\"}}\n\n");
    assert_eq!(answer.message_id.as_deref(), Some("msg_1"));
}

#[test]
fn unknown_and_broken_events_are_counted_and_the_rest_is_read() {
    let answer = read_events(&[
        r#"{"type":"message_start","message":{"id":"msg_1"}}"#,
        r#"{"type":"brand_new"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"no start"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":"not an object"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"brand_new_delta"}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"no index"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":5}}"#,
        r#"{"type":"content_block_delta","index":0,"#,
        r#"[DONE]"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    assert_eq!(answer.events, 12);
    assert_eq!(answer.unknown_events, 6);
    assert_eq!(answer.broken_events, 2);
    assert_eq!(content_of(&answer), r#"[{"type":"text","text":"hi"}]"#);
    assert!(answer.whole_message);
}

#[test]
fn text_is_joined_with_its_escapes_untouched() {
    assert_eq!(
        content(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\n\"é\u00e9"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud83e"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\udd80"}}"#,
        ]),
        r#"[{"type":"text","text":"a\n\"é\u00e9\ud83e\udd80"}]"#
    );
}

#[test]
fn blocks_stand_in_the_order_of_their_index() {
    assert_eq!(
        content(&[
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"c"}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"C"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A"}}"#,
        ]),
        r#"[{"type":"text","text":"aA"},{"type":"text","text":"cC"}]"#
    );
}

#[test]
fn thinking_carries_its_signature_and_redacted_thinking_its_data() {
    let answer = read_events(&[
        r#"{"type":"message_start","message":{}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S+1\/="}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"R"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"signature_delta","signature":"S2"}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"x","signature":"no"}}"#,
    ]);
    assert_eq!(answer.signatures, ["S+1/=", "R", "S2"]);
    assert_eq!(
        content_of(&answer),
        concat!(
            r#"[{"type":"thinking","thinking":"hm","signature":"S+1\/="},"#,
            r#"{"type":"redacted_thinking","data":"R"},"#,
            r#"{"type":"thinking","thinking":"","signature":"S2"},"#,
            r#"{"type":"text","text":"x","signature":"no"}]"#
        )
    );
}

#[test]
fn tool_input_keeps_its_own_spelling() {
    assert_eq!(
        content(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{},"caller":{"type":"direct"}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\": 1.50, \"p\":\"a\\"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"u00e9\"}"}}"#,
        ]),
        r#"[{"type":"tool_use","id":"toolu_1","name":"Read","input":{"n": 1.50, "p":"a\u00e9"},"caller":{"type":"direct"}}]"#
    );
}

#[test]
fn tool_input_that_broke_off_becomes_an_empty_object() {
    assert_eq!(
        content(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"Read"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"/et"}}"#,
        ]),
        r#"[{"type":"tool_use","name":"Read","input":{}}]"#
    );
}

#[test]
fn tool_input_that_came_whole_stays() {
    assert_eq!(
        content(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","input":{"a":1}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        ]),
        r#"[{"type":"tool_use","input":{"a":1}}]"#
    );
}

#[test]
fn citations_are_added_to_those_of_the_start() {
    let citation = r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"n":2}}}"#;
    for (start, expected) in [
        (
            r#"{"type":"text","text":"","citations":[{"n":1}]}"#,
            r#"[{"type":"text","text":"","citations":[{"n":1},{"n":2},{"n":2}]}]"#,
        ),
        (
            r#"{"type":"text","citations":null,"text":""}"#,
            r#"[{"type":"text","citations":[{"n":2},{"n":2}],"text":""}]"#,
        ),
        (r#"{}"#, r#"[{"citations":[{"n":2},{"n":2}]}]"#),
    ] {
        let start = format!(r#"{{"type":"content_block_start","index":0,"content_block":{start}}}"#);
        assert_eq!(content(&[&start, citation, citation]), expected);
    }
}

#[test]
fn a_compaction_delta_fills_its_block() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null}}"#;
    assert_eq!(
        content(&[
            start,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"all","encrypted_content":"E="}}"#,
        ]),
        r#"[{"type":"compaction","content":"all","encrypted_content":"E="}]"#
    );
    // A failed compaction is null, and nothing is added to it.
    assert_eq!(
        content(&[
            start,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":null,"encrypted_content":null}}"#,
        ]),
        r#"[{"type":"compaction","content":null}]"#
    );
}

#[test]
fn unknown_blocks_and_server_results_are_carried_as_they_came() {
    let blocks = [
        r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"encrypted_content":"Eo8=","n":12345678901234567890123}]}"#,
        r#"{ "type" : "brand_new", "x" : [ 1e3, "\u0041" ] }"#,
    ];
    let starts: Vec<String> = (0..)
        .zip(blocks)
        .map(|(index, block)| format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#))
        .collect();
    assert_eq!(content(&[&starts[0], &starts[1]]), format!("[{}]", blocks.join(",")));
}

#[test]
fn a_repeated_member_is_filled_wherever_it_stands() {
    assert_eq!(
        content(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"text":"a","text":"b"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"!"}}"#,
        ]),
        r#"[{"text":"b!","text":"b!"}]"#
    );
}

#[test]
fn a_reply_is_json_to_the_letter_or_absent() {
    let answer = read_events(&[
        r#"{"type":"message_start","message":{}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"\q"}}"#,
    ]);
    assert!(answer.reply.is_empty());
}

#[test]
fn a_second_message_start_begins_the_reply_anew() {
    let answer = read_events(&[
        r#"{"type":"message_start","message":{"id":"msg_1"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"old"}}"#,
        r#"{"type":"message_start","message":{"id":"msg_2"}}"#,
    ]);
    assert_eq!(answer.message_id.as_deref(), Some("msg_2"));
    assert_eq!(content_of(&answer), "[]");
}

#[test]
fn the_message_delta_tells_stop_edits_and_details() {
    let answer = read_events(&[
        r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"x"}},"usage":{"output_tokens":1},"context_management":{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":8,"cleared_input_tokens":50000},{"type":"clear_thinking_20251015","cleared_thinking_turns":2,"cleared_input_tokens":900}]}}"#,
    ]);
    assert_eq!(answer.stop_reason.as_deref(), Some("refusal"));
    assert_eq!(answer.stop_details.as_deref(), Some(r#"{"type":"refusal","category":"x"}"#));
    let [tools, thinking] = &answer.applied_edits[..] else { panic!("{:?}", answer.applied_edits) };
    assert_eq!((tools.cleared_tool_uses, tools.cleared_thinking_turns), (Some(8), None));
    assert_eq!((thinking.cleared_thinking_turns, thinking.cleared_input_tokens), (Some(2), Some(900)));
}

#[test]
fn transformations_and_the_cache_miss_reason_are_read() {
    let start = |diagnostics: &str| {
        format!(
            r#"{{"type":"message_start","message":{{"input_transformations":[{{"type":"thinking_dropped","path":"messages.1.content.0","reason":"prefix_binding_mismatch"}},7],"diagnostics":{diagnostics}}}}}"#
        )
    };
    let answer =
        read_events(&[&start(r#"{"cache_miss_reason":{"type":"tools_changed","cache_missed_input_tokens":9}}"#)]);
    assert_eq!(answer.cache_miss_reason.as_deref(), Some("tools_changed"));
    let [dropped] = &answer.transformations[..] else { panic!("{:?}", answer.transformations) };
    assert_eq!(dropped.kind, "thinking_dropped");
    assert_eq!(dropped.path.as_deref(), Some("messages.1.content.0"));
    assert_eq!(dropped.reason.as_deref(), Some("prefix_binding_mismatch"));
    for (diagnostics, expected) in [(r#"{"cache_miss_reason":"model_changed"}"#, Some("model_changed")), ("null", None)]
    {
        assert_eq!(read_events(&[&start(diagnostics)]).cache_miss_reason.as_deref(), expected);
    }
}

#[test]
fn an_error_inside_a_stream_is_kept_with_what_came_before() {
    let answer = read_events(&[
        r#"{"type":"message_start","message":{"usage":{"input_tokens":5}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"so "}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"far"}}"#,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    ]);
    let error = answer.error.as_ref().unwrap();
    assert_eq!((error.kind.as_deref(), error.message.as_str()), (Some("overloaded_error"), "Overloaded"));
    assert_eq!(content_of(&answer), r#"[{"type":"text","text":"so far"}]"#);
    assert_eq!(answer.usage.unwrap().input, 5);
    assert!(!answer.whole_message);
}

#[test]
fn a_json_answer_gives_its_content_byte_for_byte() {
    let content = r#"[ {"type":"thinking","thinking":"","signature":"S"}, {"type":"text","text":"\u0041 1.0"} ]"#;
    let body = format!(
        r#" {{"id":"msg_1","type":"message","role":"assistant","model":"m","content":{content},"stop_reason":"end_turn","usage":{{"input_tokens":4,"output_tokens":2}},"context_management":{{"applied_edits":[]}}}}"#
    );
    let answer = read(200, JSON, body);
    assert_eq!(content_of(&answer), content);
    assert_eq!(answer.signatures, ["S"]);
    assert_eq!(answer.stop_reason.as_deref(), Some("end_turn"));
    assert_eq!(answer.usage.map(|usage| (usage.input, usage.output)), Some((4, 2)));
    assert!(answer.whole_message);
    assert_eq!(answer.events, 0);
}

#[test]
fn an_error_body_gives_kind_message_and_code() {
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"no \"x\"","details":{"error_code":"tool_name_conflict"}},"request_id":"req_1"}"#;
    for content_type in [JSON, None, STREAM, Some("text/plain")] {
        let error = read(400, content_type, body).error.unwrap();
        assert_eq!(error.kind.as_deref(), Some("invalid_request_error"));
        assert_eq!(error.message, "no \"x\"");
        assert_eq!(error.code.as_deref(), Some("tool_name_conflict"));
    }
}

#[test]
fn an_error_in_other_words_gives_its_beginning() {
    let page = format!("<html>413 Request Entity Too Large{}", "é".repeat(100_000));
    for content_type in [Some("text/html"), None] {
        let answer = read(413, content_type, &page);
        let error = answer.error.unwrap();
        assert_eq!(error.kind, None);
        assert!(error.message.starts_with("<html>413 Request"), "{}", error.message);
        assert_eq!(error.message.chars().count(), 300);
        assert_eq!(answer.undecodable, None);
    }
    assert_eq!(read(404, JSON, r#"{"detail":"nothing here"}"#).error.unwrap().message, r#"{"detail":"nothing here"}"#);
}

#[test]
fn an_unlabelled_answer_is_known_by_its_first_character() {
    assert!(read(200, None, "\n {\"content\":[]}").whole_message);
    assert!(read(200, Some(" "), "\n: hello\n\ndata: {\"type\":\"message_stop\"}\n\n").whole_message);
}

#[test]
fn a_json_answer_that_broke_off_says_so() {
    let mut tap = Tap::new(200, JSON, None);
    tap.feed(b"{\"id\":\"msg_1\",\"conte");
    let answer = Box::new(tap).finish(Ending::Cut);
    assert_eq!(answer.ending, Ending::Cut);
    assert_eq!(answer.undecodable.as_deref(), Some("the body is not one whole JSON object"));
    assert_eq!(answer.message_id, None);
}

#[test]
fn other_kinds_of_answers_are_counted_and_ignored() {
    let answer = read(200, Some("image/png"), vec![0; 5000]);
    assert_eq!(answer.bytes, 5000);
    assert_eq!((answer.reply, answer.error, answer.undecodable, answer.events), (Vec::new(), None, None, 0));
}

#[test]
fn an_empty_answer_says_nothing() {
    for content_type in [STREAM, JSON, None] {
        let answer = read(200, content_type, "");
        assert_eq!((answer.reply, answer.undecodable, answer.whole_message), (Vec::new(), None, false));
    }
}

#[test]
fn an_unknown_content_encoding_is_reported() {
    let mut tap = Tap::new(200, STREAM, Some("pigz"));
    tap.feed(b"\x01\x02");
    let answer = Box::new(tap).finish(Ending::Complete);
    assert!(answer.undecodable.unwrap().contains("`pigz`"));
    assert_eq!(answer.bytes, 2);
}

#[test]
fn a_body_that_is_not_in_its_encoding_is_reported() {
    let mut tap = Tap::new(200, STREAM, Some("gzip"));
    tap.feed(b"data: plain\n\n");
    tap.feed(b"data: plain\n\n");
    let answer = Box::new(tap).finish(Ending::Complete);
    assert!(answer.undecodable.unwrap().contains("gzip"));
    assert_eq!((answer.bytes, answer.events), (26, 0));
}

#[test]
fn a_reply_that_grows_too_large_is_dropped_while_the_counts_go_on() {
    let mut tap = Tap::new(200, STREAM, None);
    tap.feed(
        events(&[
            r#"{"type":"message_start","message":{"usage":{"input_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        ])
        .as_bytes(),
    );
    let text = "x".repeat(1024 * 1024);
    let delta = events(&[&format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
    )]);
    for _ in 0..65 {
        tap.feed(delta.as_bytes());
    }
    tap.feed(
        events(&[r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":8}}"#])
            .as_bytes(),
    );
    let answer = Box::new(tap).finish(Ending::Complete);
    assert!(answer.reply.is_empty());
    assert_eq!(answer.usage.map(|usage| (usage.input, usage.output)), Some((1, 8)));
    assert_eq!(answer.unknown_events, 0);
}

#[test]
fn a_waiting_tap_is_small_and_can_be_handed_to_another_thread() {
    fn assert_send<T: Send>() {}
    assert_send::<Tap>();
    assert!(size_of::<Tap>() + size_of::<super::Reader>() < 2048);
}
