//! Servers of Chat Completions that differ from OpenAI's.

use crate::chat::{called, case_of, messages_of, request, talk};
use crate::effects::{self, any};
use ctx_core::content::Content;
use ctx_core::message::Role;
use serde_json::{Value, json};
use testkit::judges::chat::{judge, judge_order};
use testkit::{Random, is_long};

#[test]
fn a_short_message_stands_where_an_edit_made_neighbours_that_mistral_refuses() {
    let messages = json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": null, "tool_calls": [called("c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "assistant", "content": "Seen."},
        {"role": "user", "content": "and now?"},
    ]);
    for (model, bridges) in [("mistral-large-2512", 1), ("gpt-5.5", 0)] {
        let mut case = case_of(model, messages.clone());
        assert_eq!(case.compose().0.as_bytes(), case.body.bytes(), "untouched");
        case.effects.push(effects::replace(&case, &[(3, 0)], None, Vec::new()));
        let (text, composed) = case.compose();
        judge(&text).expect("accepted");
        let sent: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(sent["messages"].as_array().map(Vec::len), Some(4 + bridges), "{text}");
        assert_eq!(composed.repairs.iter().filter(|repair| repair.rule == "C21").count(), bridges);
        assert_eq!(judge_order(&text).is_ok(), bridges == 1, "{text}");
    }
}

#[test]
fn a_call_of_ours_brings_reasoning_back_where_the_server_wants_it() {
    let call = |id: &str| Content::Call {
        id: Some(id.to_owned()),
        name: "read".into(),
        input: ctx_core::content::CallInput::Json("{}".into()),
    };
    let result = |id: &str| Content::Result { id: Some(id.to_owned()), parts: vec![Content::text("r")], error: false };
    for (model, theirs, expected) in [
        ("deepseek-v4-flash", None, true),
        ("kimi-k3", Some(json!("hm")), true),
        ("deepseek-v4-flash", Some(Value::Null), false),
        ("gpt-5.5", None, false),
        ("gpt-5.5", Some(json!("hm")), true),
        ("mistral-large-2512", Some(json!("hm")), false),
    ] {
        let mut messages =
            vec![json!({"role": "user", "content": "look"}), json!({"role": "assistant", "content": "Seen."})];
        if let Some(theirs) = &theirs {
            let mut message = json!({"role": "assistant", "content": null, "tool_calls": [called("c1")]});
            if theirs.is_string() {
                message["reasoning_content"] = theirs.clone();
            }
            messages.extend([json!({"role": "user", "content": "more"}), message]);
            messages.push(json!({"role": "tool", "tool_call_id": "c1", "content": "one"}));
            messages.push(json!({"role": "assistant", "content": "Yes."}));
        }
        messages.push(json!({"role": "user", "content": "and now?"}));
        let mut case = case_of(model, Value::Array(messages));
        case.effects.push(effects::replace(&case, &[(0, 0)], Some(Role::Assistant), vec![call("ours12345")]));
        case.effects.push(effects::replace(&case, &[(1, 0)], Some(Role::User), vec![result("ours12345")]));
        let (text, _) = case.compose();
        judge(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let sent: Value = serde_json::from_str(&text).expect("JSON");
        let ours = sent["messages"]
            .as_array()
            .expect("messages")
            .iter()
            .find(|message| message["tool_calls"][0]["id"] == "ours12345");
        let ours = ours.unwrap_or_else(|| panic!("{text}"));
        assert_eq!(ours.get("reasoning_content").is_some(), expected, "{model}, {theirs:?}: {text}");
    }
}

#[test]
fn ids_of_ours_have_the_form_that_the_server_takes_and_the_clients_stay() {
    let input = ctx_core::content::CallInput::Json("{}".into());
    for (model, long) in [("mistral-large-2512", "toolu_1"), ("gpt-5.5", &"x".repeat(60))] {
        let id = || Some(long.to_owned());
        let call = Content::Call { id: id(), name: "read".into(), input: input.clone() };
        let result = Content::Result { id: id(), parts: vec![Content::text("r")], error: false };
        let mut case = case_of(model, messages_of(&talk()));
        case.effects.push(effects::replace(&case, &[(0, 0)], Some(Role::Assistant), vec![call]));
        case.effects.push(effects::replace(&case, &[(4, 0)], Some(Role::User), vec![result]));
        let (text, _) = case.compose();
        judge(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let sent: Value = serde_json::from_str(&text).expect("JSON");
        let ids: Vec<&str> = sent["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|message| message["tool_calls"].as_array().into_iter().flatten())
            .filter_map(|call| call["id"].as_str())
            .collect();
        assert_eq!(ids.len(), 3, "{text}");
        assert!(ids.contains(&"c1") && ids.contains(&"c2") && !text.contains(long), "{text}");
        assert!(ids.iter().any(|id| id.len() == 9), "{ids:?}");
    }
}

#[test]
fn reasoning_that_a_server_refuses_goes_without_a_trace() {
    for (model, left) in [("mistral-large-2512", None), ("gpt-5.5", Some(" "))] {
        let mut case = case_of(model, messages_of(&talk()));
        case.effects.push(effects::delete(&case, &[(1, 0)]));
        let (text, _) = case.compose();
        let sent: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(sent["messages"][2].get("reasoning_content").and_then(Value::as_str), left, "{text}");
    }
}

#[test]
fn whatever_is_done_servers_of_every_profile_take_it() {
    let rounds = if is_long() { 10_000 } else { 1_000 };
    for model in ["mistral-large-2512", "gemma-3-27b", "deepseek-v4-flash", "kimi-k3"] {
        let alternates = model.starts_with("mistral") || model.starts_with("gemma");
        for seed in 0..rounds {
            let mut random = Random::new(seed);
            let mut case = request(&mut random, model, if alternates { 100 } else { 70 });
            for _ in 0..random.between(1, 6) {
                let effect = any(&mut random, &case);
                case.effects.push(effect);
            }
            let (text, composed) = case.compose();
            let order = if alternates { judge_order(&text) } else { Ok(()) };
            judge(&text).and(order).unwrap_or_else(|error| {
                let from = String::from_utf8_lossy(case.body.bytes()).into_owned();
                panic!("{model}, seed {seed}: {error}\n{from}\n{text}\n{:#?}\n{:?}", case.effects, composed.repairs)
            });
        }
    }
}
