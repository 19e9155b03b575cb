//! Servers that restart the ids of their calls with each answer: an edit of one step changes that step.

use crate::support::{Headers, House, hints};
use ctx_api::edit::EditRequest;
use ctx_engine::attribution::SeenRequest;
use ctx_wire::rope::Arriving;
use ctx_wire::{WireId, wire};
use serde_json::{Value, json};

const CALL: &str = "call:0";

fn headers() -> Headers {
    vec![("x-session-id".to_owned(), "restarting".to_owned())]
}

fn step(tool: &str, found: &str) -> [Value; 2] {
    let function = json!({"name": tool, "arguments": format!("{{\"path\":\"{found}\"}}")});
    let call = json!({"id": CALL, "type": "function", "function": function});
    [
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": CALL, "content": format!("text of {found}")}),
    ]
}

/// The request behind so many steps.
fn body(steps: usize) -> Value {
    let steps = [step("list", "a"), step("read", "b"), step("list", "c")].into_iter().take(steps).flatten();
    let messages: Vec<Value> = std::iter::once(json!({"role": "user", "content": "go"})).chain(steps).collect();
    json!({"model": "kimi-k2", "messages": messages})
}

/// Sends a request as it is, with the history that is known.
fn send(house: &House, body: &Value) -> String {
    let mut arriving = Arriving::alone();
    arriving.push(body.to_string().as_bytes());
    let (hints, pieces) = (hints(&headers()), arriving.finish());
    let seen = SeenRequest { wire: wire(WireId::OpenaiChat), hints, pieces, at: house.now(), counting: false };
    house.service.observe(seen).expect("readable").expect("a conversation").conversation
}

fn edit(house: &House, conversation: &str, operation: Value) {
    let operations = vec![serde_json::from_value(operation).expect("an operation")];
    house.service.apply(conversation, EditRequest { operations, ..EditRequest::default() }).expect("applied");
}

fn sent(house: &House, conversation: &str) -> Value {
    serde_json::from_slice(&house.compose(conversation)).expect("JSON")
}

#[test]
fn an_edit_of_one_step_leaves_the_others() {
    let house = House::new();
    send(&house, &body(1));
    let id = send(&house, &body(2));
    let shown = house.service.show(&id, "t1/2", None).expect("a step");
    let blocks: Vec<_> = shown.messages.iter().flat_map(|message| &message.blocks).collect();
    let told: Vec<_> = blocks.iter().map(|block| (block.tool.as_deref(), block.tool_use_id.as_deref())).collect();
    assert_eq!(told, [(Some("read"), Some(CALL)); 2]);

    edit(&house, &id, json!({"op": "drop-results", "ids": ["t1/2"]}));
    let dropped = sent(&house, &id);
    let own = body(2);
    assert_eq!(dropped["messages"].as_array().map(Vec::len), Some(5));
    assert_ne!(dropped["messages"][4]["content"], own["messages"][4]["content"]);
    let mut expected = own.clone();
    expected["messages"][4]["content"] = dropped["messages"][4]["content"].clone();
    assert_eq!(dropped, expected);

    // It holds for a longer request, after a restart, and until it is reverted.
    assert_eq!(send(&house, &body(3)), id);
    let house = house.restart();
    let mut expected = body(3);
    expected["messages"][4]["content"] = dropped["messages"][4]["content"].clone();
    assert_eq!(sent(&house, &id), expected);
    let undo = serde_json::from_value(json!({"action": "undo", "author": "me"})).expect("a request");
    house.service.go(&id, undo).expect("undone");
    assert_eq!(house.compose(&id), body(3).to_string().into_bytes());
}

#[test]
fn a_call_that_a_person_writes_with_its_id_takes_the_place_of_the_one_that_was_named() {
    let house = House::new();
    let id = send(&house, &body(3));
    let mut call = body(3)["messages"][3]["tool_calls"][0].clone();
    for path in ["z", "y"] {
        call["function"]["arguments"] = format!("{{\"path\":\"{path}\"}}").into();
        let shown = house.service.show(&id, "t1/2", None).expect("a step");
        let mut blocks = shown.messages.iter().flat_map(|message| &message.blocks);
        let place = blocks.rfind(|block| block.kind == "tool_use" && block.covered.is_none()).expect("a call");
        edit(&house, &id, json!({"op": "edit", "id": place.id, "raw": call}));
        let mut expected = body(3);
        expected["messages"][3]["tool_calls"][0] = call.clone();
        assert_eq!(sent(&house, &id), expected);
    }
    // A whole message too.
    let mut message = body(3)["messages"][5].clone();
    message["content"] = "I list.".into();
    edit(&house, &id, json!({"op": "edit", "id": "t1#5", "raw": message}));
    assert_eq!(sent(&house, &id)["messages"][5], message);
    assert_eq!(sent(&house, &id)["messages"][6], body(3)["messages"][6]);
}
