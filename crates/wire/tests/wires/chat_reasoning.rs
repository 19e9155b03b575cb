//! Reasoning of servers that speak Chat Completions: kept in the client's form, or dropped.

use crate::chat::{called, case, messages_of, sent};
use crate::effects;
use ctx_core::content::Content;
use serde_json::json;

#[test]
fn typed_reasoning_stays_with_its_text_and_goes_when_that_changes() {
    let details = json!([{"type": "reasoning.encrypted", "data": "sealed", "id": "rs_1", "index": 0}]);
    let answer =
        |text: &str| json!({"role": "assistant", "content": text, "reasoning": "hm", "reasoning_details": details});
    let messages = json!([
        {"role": "user", "content": "look"}, answer("first"), {"role": "user", "content": "more"}, answer("second"),
        {"role": "user", "content": "and now?"},
    ]);
    // Blocks of the message: two members of reasoning, the text.
    let mut case = case(messages);
    case.effects.push(effects::replace(&case, &[(1, 2)], None, vec![Content::text("changed")]));
    let changed = sent(&case);
    assert_eq!(changed["messages"][1], json!({"role": "assistant", "content": "changed"}), "C34");
    assert_eq!(changed["messages"][3], answer("second"), "in order and unmodified");
    let mut case = crate::chat::case(messages_of(&case));
    case.effects.push(effects::delete(&case, &[(1, 0), (1, 1), (1, 2)]));
    assert_eq!(sent(&case).to_string().matches("sealed").count(), 1, "the whole message goes with them");
}

#[test]
fn reasoning_of_every_name_stays_with_the_calls_that_stay() {
    let details = json!([{"type": "reasoning.encrypted", "data": "sealed", "id": "rs_1", "index": 0}]);
    let talk = || {
        crate::chat::case_of(
            "deepseek/deepseek-v4-flash",
            json!([
                {"role": "user", "content": "look"},
                {"role": "assistant", "content": "I look", "reasoning": "hm", "reasoning_details": details,
                    "tool_calls": [called("c1"), called("c2")]},
                {"role": "tool", "tool_call_id": "c1", "content": "one"},
                {"role": "tool", "tool_call_id": "c2", "content": "two"},
                {"role": "user", "content": "and now?"},
            ]),
        )
    };
    let mut case = talk();
    let mut expected = messages_of(&case)[1].clone();
    expected["tool_calls"] = json!([called("c1")]);
    case.effects.push(effects::delete(&case, &[(3, 0)]));
    assert_eq!(sent(&case)["messages"][1], expected);

    // Blocks of the message: two members of reasoning, the text, two calls.
    let mut case = talk();
    case.effects.push(effects::delete(&case, &[(1, 3), (1, 4)]));
    expected.as_object_mut().expect("a message").remove("tool_calls");
    assert_eq!(sent(&case)["messages"][1], expected, "the words are the same");

    let mut case = talk();
    case.effects.push(effects::replace(&case, &[(1, 2)], None, vec![Content::text("I see")]));
    let message = &sent(&case)["messages"][1];
    assert_eq!((&message["content"], &message["reasoning"]), (&json!("I see"), &json!("hm")), "the calls need it");
    assert_eq!(message.get("reasoning_details"), None, "C34");
}

#[test]
fn a_signature_beside_a_call_stays_with_it() {
    let mut signed = called("call_1__thought__c2lnbmVk");
    signed["extra_content"] = json!({"google": {"thought_signature": "c2lnbmVk"}});
    let mut other = called("c2");
    other["provider_specific_fields"] = json!({"thought_signature": "b3RoZXI="});
    let mut case = case(json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "I look.", "tool_calls": [signed, other]},
        {"role": "tool", "tool_call_id": "call_1__thought__c2lnbmVk", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {"role": "user", "content": "and now?"},
    ]));
    case.effects.push(effects::delete(&case, &[(1, 2)]));
    case.effects.push(effects::replace(&case, &[(1, 0)], None, vec![Content::text("I see.")]));
    case.effects.push(effects::replace_result(&case, 2, "[cleared]"));
    let sent = sent(&case);
    assert_eq!(sent["messages"][1]["tool_calls"], json!([signed]), "C35");
    assert_eq!(sent["messages"][2]["tool_call_id"], "call_1__thought__c2lnbmVk");
    assert!(!sent.to_string().contains("b3RoZXI="), "{sent}");
}
