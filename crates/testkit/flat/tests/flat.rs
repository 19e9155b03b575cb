//! The made-up format itself: its answers, its provider, and JSON that people write. The engine's tests have the rest.

use ctx_core::WireId;
use ctx_core::content::Content;
use ctx_core::edit::resolve::{Draft, DraftScope};
use ctx_wire::Wire;
use ctx_wire::answer::Ending;
use serde_json::{Value, json};
use testkit_flat::Flat;
use testkit_flat::judge::refusal;

#[test]
fn an_answer_and_a_stream_tell_the_same() {
    let item = r#"{"kind":"model","text":"8080."}"#;
    let used = r#""used":{"in":9,"out":2}"#;
    let whole = ("application/json", format!(r#"{{"items":[{item}],{used}}}"#));
    let stream = ("text/event-stream", format!("data: {item}\n\ndata: {{{used}}}\n\n"));
    let answers = [whole, stream].map(|(kind, body)| {
        let mut tap = Flat.tap(200, Some(kind), None);
        tap.feed(body.as_bytes());
        let answer = tap.finish(Ending::Complete);
        (answer.reply, answer.usage.map(|usage| (usage.input, usage.output)), answer.whole_message)
    });
    assert_eq!(answers[0], (vec![item.as_bytes().to_vec()], Some((9, 2)), true));
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn an_error_is_told() {
    let mut tap = Flat.tap(400, Some("application/json"), None);
    tap.feed(br#"{"error":"no items"}"#);
    assert_eq!(tap.finish(Ending::Complete).error.map(|error| error.message).as_deref(), Some("no items"));
}

#[test]
fn it_accepts_a_loop_and_refuses_what_breaks_it() {
    let user = || json!({"kind": "user", "text": "q"});
    let model = || json!({"kind": "model", "text": "a"});
    let call = |tool: &str| json!({"kind": "call", "tool": tool, "input": {}});
    let result = |tool: &str| json!({"kind": "result", "tool": tool, "text": "r"});
    let judged = |items: Vec<Value>| refusal(&json!({"items": items}).to_string());
    for fine in [
        vec![user()],
        vec![user(), call("a"), call("b"), result("a"), result("b")],
        vec![user(), model(), call("a"), result("a"), call("a"), result("a"), model(), user()],
    ] {
        assert_eq!(judged(fine), None);
    }
    for (wrong, why) in [
        (vec![], "does not end with a question"),
        (vec![user(), model()], "does not end with a question"),
        (vec![user(), call("a")], "the last call has no result"),
        (vec![user(), call("a"), user()], "a call before has no result"),
        (vec![user(), call("a"), call("b"), result("b"), result("a")], "does not answer the next call"),
        (vec![user(), call("a"), call("b"), result("a"), model(), user()], "a call before has no result"),
        (vec![user(), result("a")], "does not answer the next call"),
        (vec![json!({"kind": "user", "text": ""})], "its members"),
        (vec![json!({"kind": "user", "text": "q", "id": "1"})], "its members"),
        (vec![json!({"kind": "image"})], "the kind is unknown"),
    ] {
        let found = judged(wrong).expect("a refusal");
        assert!(found.contains(why), "{found}");
    }
    assert!(refusal(r#"{"items":[{"kind":"user","text":"q"}],"tools":[]}"#).is_some());
}

#[test]
fn a_draft_without_ids_is_linked_and_a_wrong_one_is_refused() {
    let call = json!({"kind": "call", "tool": "a", "input": {"x": 1.50}});
    let result = json!({"kind": "result", "tool": "a", "text": "r"});
    let made = Flat.draft(&json!([call, result]), DraftScope::Messages).expect("messages");
    let [Content::Call { id: called, .. }, Content::Result { id: answered, .. }] =
        [&made[0].content[0], &made[1].content[0]]
    else {
        panic!("{made:?}")
    };
    assert!(called.is_some() && called == answered, "{made:?}");
    for wrong in
        [json!({"kind": "image"}), json!({"kind": "user", "text": " "}), json!({"kind": "user", "id": 1}), json!(1)]
    {
        assert!(Flat.draft(&wrong, DraftScope::Messages).is_err(), "{wrong}");
    }
    assert!(Flat.draft(&json!({}), DraftScope::Tool).is_err() && Flat.draft(&json!(1), DraftScope::System).is_err());
}

#[test]
fn a_program_finds_the_wire_by_name_and_path() {
    testkit_flat::add();
    testkit_flat::add();
    assert_eq!(ctx_wire::wire(WireId::Custom).id(), WireId::Custom);
    let routed = ctx_wire::route("POST", "/v1/flat/answer").map(|(wire, _)| wire.id());
    assert_eq!(routed, Some(WireId::Custom));
    assert_eq!(ctx_wire::of_body(br#"{"items":[]}"#).map(|wire| wire.id()), Some(WireId::Custom));
    assert_eq!(serde_json::to_value(WireId::Custom).expect("JSON"), json!("custom"));
}
