//! Reasoning, its followers and their ids.

use super::*;

/// A step with reasoning, words and two calls, then another step.
fn case() -> Case {
    Case::of(&[
        &user("go"),
        &thinks("rs_1"),
        &says("msg_1", "I look"),
        &call("fc_1", "c1"),
        &call("fc_2", "c2"),
        &output("c1"),
        &output("c2"),
        &thinks("rs_2"),
        &says("msg_2", "done"),
        &user("more"),
    ])
}

#[test]
fn untouched_steps_keep_their_bytes() {
    let done = case().delete_items(&[1, 2, 3, 4, 5, 6]).compose();
    assert_eq!(done.items, [user("go"), thinks("rs_2"), says("msg_2", "done"), user("more")]);
    assert!(done.rules.is_empty(), "{:?}", done.rules);
}

#[test]
fn a_step_that_lost_a_call_loses_its_ids_and_nothing_else() {
    let done = case().delete_items(&[4]).compose();
    let first =
        [user("go"), thinks("rs_1").replace(r#""id":"rs_1","#, ""), says("", "I look"), call("", "c1"), output("c1")];
    let second = [thinks("rs_2"), says("msg_2", "done"), user("more")];
    assert_eq!(done.items, [&first[..], &second[..]].concat());
    assert_eq!(done.rules, ["X1", "R27"]);
}

#[test]
fn reasoning_goes_when_its_follower_is_gone() {
    let done = case().delete_items(&[2]).compose();
    assert_eq!(done.items[..3], [user("go"), call("", "c1"), call("", "c2")]);
    assert_eq!((done.rules, done.dropped), (vec!["R20", "R27"], 1));
}

#[test]
fn a_run_of_reasoning_stays_or_goes_together() {
    let items = [user("go"), thinks("rs_1"), thinks("rs_2"), says("msg_1", "done"), user("more")];
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let done = Case::of(&items).delete_items(&[3]).compose();
    assert_eq!((done.items, done.dropped), (vec![user("go"), user("more")], 2));
    // One of them is removed: the other still leads to the words.
    let done = Case::of(&items).delete_items(&[2]).compose();
    let first = thinks("rs_1").replace(r#""id":"rs_1","#, "");
    assert_eq!(done.items, [user("go"), first, says("", "done"), user("more")]);
}

#[test]
fn something_of_ours_inside_a_step_loosens_it() {
    let text = Content::text("I looked");
    let done = case().replace((2, 0), None, vec![text]).compose();
    let words = says("", "I looked");
    assert_eq!(done.items[1..3], [thinks("rs_1").replace(r#""id":"rs_1","#, ""), words]);
    assert_eq!(done.items[7..9], [thinks("rs_2"), says("msg_2", "done")]);
    assert_eq!(done.rules, ["R27"]);
}

#[test]
fn a_new_result_text_loosens_its_step() {
    let done = case().result(5, "[dropped]").compose();
    assert_eq!(done.items[5], r#"{"type":"function_call_output","call_id":"c1","output":"[dropped]"}"#);
    assert_eq!(done.items[3], call("", "c1"));
    assert_eq!(done.items[7], thinks("rs_2"));
}

#[test]
fn reasoning_without_a_follower_is_the_clients_business() {
    let items = [user("go"), thinks("rs_1"), user("more"), says("msg_1", "done"), user("last")];
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let done = Case::of(&items).delete_items(&[3]).compose();
    assert_eq!(done.items[1], thinks("rs_1"));
}

#[test]
fn items_without_ids_stay_as_they_are() {
    let items =
        [user("go"), thinks(""), says("", "I look"), call("", "c1"), call("", "c2"), output("c1"), output("c2")];
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let done = Case::of(&items).delete_items(&[4]).compose();
    assert_eq!(done.items, [items[0], items[1], items[2], items[3], items[5]]);
    assert_eq!(done.rules, ["X1"]);
}

#[test]
fn a_refusal_of_sealed_reasoning_is_known_and_the_request_goes_without_it() {
    let refused = br#"{"error":{"message":"The encrypted content for item rs_1 could not be verified.","code":"invalid_encrypted_content"}}"#;
    assert!(Responses.is_unbound(400, refused));
    assert!(Responses.is_unbound(400, b"The encrypted content gAAA could not be verified. Reason: x"));
    assert!(!Responses.is_unbound(500, refused));
    assert!(!Responses.is_unbound(400, br#"{"error":{"message":"No tool output found"}}"#));
    let text = String::from_utf8(Responses.without_reasoning(&case().body).unwrap()).unwrap();
    assert_eq!(
        text,
        format!(
            r#"{{"model":"m","input":[{},{},{},{},{},{},{},{}]}}"#,
            user("go"),
            says("", "I look"),
            call("", "c1"),
            call("", "c2"),
            output("c1"),
            output("c2"),
            says("", "done"),
            user("more")
        )
    );
    assert_eq!(Responses.without_reasoning(&Case::of(&[&user("go")]).body), None);
}

#[test]
fn an_id_that_is_too_long_is_shortened_in_the_call_and_in_its_result() {
    let long = "call_".to_owned() + &"x".repeat(64);
    let items = [
        user("go"),
        thinks("rs_1"),
        call("fc_1", &long),
        output(&long),
        says("msg_1", "done"),
        user("more"),
        thinks("rs_2"),
        call("fc_2", "c2"),
        output("c2"),
        user("last"),
    ];
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let case = Case::of(&items);
    let untouched = case.compose();
    assert!(untouched.rules.contains(&"R25"), "{:?}", untouched.rules);
    let done = Case::of(&items).result(8, "[dropped]").compose();
    let id = |item: &str| serde_json::from_str::<Value>(item).unwrap()["call_id"].as_str().unwrap().to_owned();
    assert_eq!(id(&done.items[2]), id(&done.items[3]));
    assert!(id(&done.items[2]).len() <= 64);
    for gone in [format!("\"call_id\":\"{long}"), "\"id\":\"rs_1\"".to_owned()] {
        assert!(!done.text.contains(&gone), "the step loses its ids: {}", done.text);
    }
    assert_eq!(done.items[7], call("", "c2"));
    let gone = Case::of(&items).delete_items(&[2]).compose();
    assert!(!gone.text.contains("\"call_id\":\"call_"), "the pair goes together: {}", gone.text);
}

#[test]
fn a_refusal_of_sealed_reasoning_is_known_at_the_beginning_of_a_stream() {
    let first = |data: &str| Responses.first_event(data);
    for kind in ["response.created", "response.queued", "response.in_progress"] {
        assert_eq!(first(&format!(r#"{{"type":"{kind}","response":{{"id":"r"}}}}"#)), FirstEvent::Announcement);
    }
    let failed = |code: &str| {
        format!(
            r#"{{"type":"response.failed","response":{{"status":"failed","error":{{"code":"{code}","message":"x"}}}}}}"#
        )
    };
    assert_eq!(first(&failed("invalid_encrypted_content")), FirstEvent::Unbound);
    assert_eq!(first(&failed("rate_limit_exceeded")), FirstEvent::Answer);
    let error = r#"{"type":"error","code":"invalid_encrypted_content","message":"x"}"#;
    assert_eq!(first(error), FirstEvent::Unbound);
    let text = r#"{"type":"response.output_text.delta","delta":"invalid_encrypted_content"}"#;
    assert_eq!(first(text), FirstEvent::Answer);
    assert!(Responses.has_sealed(thinks("rs_1").as_bytes()) && !Responses.has_sealed(user("go").as_bytes()));
}
