//! The tokens of thinking that comes back without its text.

use crate::frames::show;
use crate::support::{House, answers};
use ctx_api::edit::EditRequest;
use serde_json::{Value, json};
use testkit::Session;

/// A turn whose thinking comes back without its text. Returns the tokens shown of the thinking, and of the long result.
fn hidden_thinking(house: &House, counted_thinking: u64) -> (u64, u64) {
    const RESULT: u64 = 4_000;
    let result = "some words of a long result. ".repeat(400);
    let thought = json!({"type": "thinking", "thinking": "", "signature": "c2lnbmVk"});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}});
    let mut session = Session::new(3).lean();
    session.user("fix it");
    let body = |messages: Value| {
        let mut body: Value = serde_json::from_slice(&session.body()).expect("JSON");
        body["messages"] = messages;
        body
    };
    let asked = json!({"role": "user", "content": "fix the parser ".repeat(2_000)});
    let headers = session.headers();
    let first = house.send_value(&headers, &body(json!([asked])));
    let before = house.service.frames(&first.conversation, false, None).expect("frames").tokens;
    let mut answer = answers::blocks(&[thought.clone(), call.clone()], before);
    answer.usage.iter_mut().for_each(|usage| usage.output = 6_000);
    house.answer(&first, answer);
    let said = json!({"role": "assistant", "content": [thought, call]});
    let back =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": result}]});
    let second = house.send_value(&headers, &body(json!([asked, said, back])));
    house.answer(&second, answers::text("done", before + counted_thinking + 80 + RESULT));
    let tokens = |part: &str| show(house, &second.conversation, part).tokens;
    (tokens("t1#1.0"), tokens("t1#2.0"))
}

#[test]
fn thinking_without_text_has_the_tokens_that_were_counted_and_results_do_not_get_them() {
    let house = House::new();
    let (thinking, result) = hidden_thinking(&house, 5_900);
    assert!((5_300..6_300).contains(&thinking) && (3_700..4_300).contains(&result), "{thinking} {result}");
    let id = house.service.conversations().conversations.remove(0).id;
    let house = house.restart();
    let again = |part: &str| show(&house, &id, part).tokens;
    assert_eq!((again("t1#1.0"), again("t1#2.0")), (thinking, result), "derived from the log");
}

#[test]
fn thinking_that_the_provider_does_not_count_has_no_tokens() {
    let (thinking, result) = hidden_thinking(&House::new(), 0);
    assert!(thinking < 300 && (3_500..4_300).contains(&result), "{thinking} {result}");
}

#[test]
fn thinking_that_a_persons_edit_drops_is_not_saved_by_the_automatic_editor() {
    let house = House::new();
    hidden_thinking(&house, 5_900);
    let id = house.service.conversations().conversations.remove(0).id;
    let operations = serde_json::from_value(json!([{"op": "edit", "id": "t1#0", "text": "Fix the parser."}]));
    let request = EditRequest { operations: operations.expect("operations"), ..EditRequest::default() };
    house.service.apply(&id, request).expect("a commit");
    let view = house.service.context(&id).expect("a view");
    assert!(view.saved > 5_000, "{view:?}");
    assert_eq!(view.saved_automatically, 0, "{view:?}");
}
