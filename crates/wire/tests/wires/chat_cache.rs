//! Cache breakpoints of clients that speak Chat Completions.

use crate::case::Case;
use crate::chat::{called, case_of, sent};
use crate::effects;
use ctx_wire::{WireId, wire};
use serde_json::json;

/// The talk of a client that sets cache breakpoints; `marks`: whether it does so in this request.
fn marked(marks: bool) -> Case {
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    let mut result = json!({"type": "text", "text": "one"});
    let mut asked = json!([{"type": "text", "text": "and now?", "cache_control": {"type": "ephemeral"}}]);
    match marks {
        true => result["cache_control"] = mark,
        // Without a breakpoint, it writes a string.
        false => asked = "and now?".into(),
    }
    case_of(
        "anthropic/claude-sonnet-4.5",
        json!([
            {"role": "system", "content": "You are kind."},
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": null, "tool_calls": [called("c1")]},
            {"role": "tool", "tool_call_id": "c1", "content": [result]},
            {"role": "assistant", "content": "Seen."},
            {"role": "user", "content": asked},
        ]),
    )
}

#[test]
fn breakpoints_are_read_where_the_client_sets_them() {
    let case = marked(true);
    let (wire, envelope) = (case.body.wire(), case.body.envelope(ctx_clients::lexicon()));
    let found = wire.breakpoints(&case.body, &envelope);
    assert_eq!((found.messages, found.head), (vec![2, 4], false));
    assert_eq!(wire.cache_lifetime(case.body.bytes(), case.body.spans()), Some(300), "that of the last one");
    assert!(!wire.marks_envelope(&case.body, &envelope));
    let plain = marked(false);
    assert_eq!(wire.cache_lifetime(plain.body.bytes(), plain.body.spans()), None);
    assert_eq!(case.digests, plain.digests, "a moved breakpoint is no change");
    let keys = |case: &Case| case.facts.iter().map(|facts| facts.key).collect::<Vec<_>>();
    assert_eq!(keys(&case), keys(&plain));
    let system = json!([{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]);
    let head = case_of("m", json!([{"role": "system", "content": system}, {"role": "user", "content": "hi"}]));
    assert!(wire.marks_envelope(&head.body, &head.body.envelope(ctx_clients::lexicon())));
}

#[test]
fn a_result_with_another_text_keeps_its_breakpoint() {
    let compose = |marks: bool| {
        let mut case = marked(marks);
        case.effects.push(effects::replace_result(&case, 2, "[cleared]"));
        (sent(&case), case.compose().1)
    };
    let (sent, composed) = compose(true);
    let part = json!({"type": "text", "text": "[cleared]", "cache_control": {"type": "ephemeral", "ttl": "1h"}});
    assert_eq!(sent["messages"][3]["content"], json!([part]));
    assert_eq!(composed.marks, [composed.after[2], composed.after[4]]);
    let (_, plain) = compose(false);
    assert_eq!(composed.after, plain.after, "the next request finds the entry");
    assert_eq!(plain.marks, []);
}

#[test]
fn the_breakpoint_of_a_removed_message_goes_to_the_one_before() {
    let mut case = marked(true);
    case.effects.push(effects::delete(&case, &[(1, 0), (2, 0)]));
    let sent = sent(&case);
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    assert_eq!(sent["messages"][1]["content"], json!([{"type": "text", "text": "look", "cache_control": mark}]));
    assert_eq!(sent.to_string().matches("cache_control").count(), 2, "{sent}");
    let composed = case.compose().1;
    assert_eq!(composed.marks, [composed.after[0], composed.after[2]]);
}

#[test]
fn a_string_stays_a_string_where_a_list_may_be_lost() {
    let body = json!({"model": "glm-5.3", "messages": [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "I looked."},
        {"role": "user", "content": [{"type": "text", "text": "again", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": "Again."},
        {"role": "user", "content": "and now?"},
    ]});
    let mut case = Case::of(body.to_string().as_bytes(), wire(WireId::OpenaiChat));
    case.effects.push(effects::delete(&case, &[(2, 0), (3, 0)]));
    let sent = sent(&case);
    assert_eq!(sent["messages"][0]["content"], "look", "without tools, lists are dropped silently (C24)");
    assert!(!sent.to_string().contains("cache_control"));
}
