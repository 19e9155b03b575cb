use super::*;
use crate::edit::effect::*;
use crate::edit::testing::*;
use crate::edit::{CommitId, Effect};
use crate::message::Kind;
use crate::tree::SlotId;
use serde_json::json;

fn survives<T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let json = serde_json::to_string(value).expect("can be written");
    assert_eq!(&serde_json::from_str::<T>(&json).unwrap_or_else(|error| panic!("{json}: {error}")), value);
    let value_again = serde_json::to_value(value).and_then(serde_json::from_value::<T>);
    assert_eq!(&value_again.expect("as a value"), value);
}

fn operations() -> Vec<Operation> {
    let select = Select {
        tool: Some("Read".into()),
        larger_than: Some(u64::MAX),
        older_than: Some(5),
        superseded: true,
        calls: vec!["toolu_1".into()],
    };
    vec![
        delete("t1,t2"),
        Operation::Delete { ids: vec![], select: select.clone(), force: true },
        edit("t1", "a \"text\"\n\u{1f600}"),
        raw("t1", json!([{ "role": "user", "content": [{ "type": "text", "text": "x", "n": 1.5 }] }])),
        compact("t1", "x"),
        Operation::Offload { ids: ids("t1"), select: select.clone(), summary: Some("x".into()) },
        restore("t1"),
        shift("t1", after("t2")),
        shift("t1", start()),
        Operation::Add { text: "x".into(), role: Role::Assistant, to: end(), title: Some("y".into()) },
        Operation::Combine { ids: ids("t1..t3"), after: Some("t4".into()) },
        Operation::Split { id: "t1".into(), at: vec![1, 2], at_step: vec![3], each_step: true },
        Operation::DropResults { ids: vec![], select: select.clone(), result: Some("toolu_1".into()) },
        Operation::SummarizeResults { ids: ids("t1"), select, result: None, text: Some("x".into()) },
        Operation::Retitle { id: "t1".into(), title: Some("x".into()), summary: Some("y".into()), auto: false },
        Operation::Retitle { id: "t1".into(), title: None, summary: None, auto: true },
        pin("t1"),
        Operation::Unpin { ids: ids("t1") },
        Operation::Import { from: "other".into(), ids: ids("t1"), to: end(), edits: false },
    ]
}

#[test]
fn every_operation_survives_json_under_its_name() {
    for operation in operations() {
        survives(&operation);
        assert_eq!(serde_json::to_value(&operation).expect("JSON")["op"], operation.name());
    }
}

#[test]
fn every_effect_survives_json() {
    let effect = EffectId { commit: CommitId(0xff_ffff_ffff), index: u32::MAX };
    let slot = MessageRef::Slot(SlotId(u64::MAX - 1));
    let reply = MessageRef::Reply { after: SlotId(3), nth: 0, key: key("a reply") };
    let cut = NewMessageId { effect, message: 2 };
    let named =
        BlockRef { at: 3, kind: Kind::ToolResult, chars: 7, id: Some("toolu_1".into()), words: None, beside: None };
    let opened = FrameRef { key: FrameKey::Opened(SlotId(9)), until: Some((reply, 2)) };
    let part = FrameRef { key: FrameKey::Made { effect, part: 1 << 17 }, until: None };
    let made = vec![NewMessage::text(None, "new"), NewMessage { role: Some(Role::System), content: vec![] }];
    let covers = vec![
        Cover::blocks(slot, key("x"), vec![named.clone(), BlockRef { id: None, ..named.clone() }]),
        Cover::blocks(reply, key("y"), vec![]),
        Cover::Made(NewMessageId { effect, message: 4 }),
        Cover::System { at: 1, key: key("z") },
        Cover::Tool { name: "Bash".into() },
    ];
    for why in [Why::Deleted, Why::Edited, Why::Compacted, Why::Offloaded] {
        survives(&Effect::Replace { why, covers: covers.clone(), by: made.clone() });
    }
    for effect in [
        Effect::Results { results: vec![NewResult { of: slot, block: named, text: "x".into() }], summarized: true },
        Effect::Restore { effects: vec![effect] },
        Effect::Insert { number: 1, messages: made, to: Place::After(opened), title: Some("x".into()) },
        Effect::Insert { number: 1, messages: vec![], to: Place::Start, title: None },
        Effect::Move { frames: vec![opened, part], to: Place::After(part) },
        Effect::Combine { frames: vec![opened, part] },
        Effect::Split {
            frame: opened.key,
            before: vec![CutPoint::Block(slot, 0), CutPoint::Block(reply, 3), CutPoint::Made(cut)],
        },
        Effect::Title { frame: part.key, title: None, summary: Some("x".into()) },
        Effect::Pin { frames: vec![part.key, opened.key], pinned: false },
    ] {
        survives(&effect);
    }
}

#[test]
fn what_is_left_away_has_its_usual_value() {
    let read = |value| serde_json::from_value::<Operation>(value).expect("an operation");
    assert_eq!(read(json!({ "op": "delete", "ids": ["t1"] })), delete("t1"));
    assert_eq!(read(json!({ "op": "add", "text": "x", "to": { "end": true } })), add("x", end()));
    assert_eq!(read(json!({ "op": "drop-results", "select": { "larger_than": 5 } })), {
        drop_results("", Select { larger_than: Some(5), ..Select::default() })
    });
}

#[test]
fn a_misspelt_field_is_refused_by_its_name() {
    for (value, word) in [
        (json!({ "op": "delete", "id": ["t1"] }), "`id`"),
        (json!({ "op": "delete", "ids": ["t1"], "forse": true }), "`forse`"),
        (json!({ "op": "delete", "select": { "larger_then": 5 } }), "`larger_then`"),
        (json!({ "op": "move", "ids": ["t1"], "to": { "before": "t1" } }), "`before`"),
        (json!({ "op": "pin", "ids": ["t1"], "select": {} }), "`select`"),
        (json!({ "op": "retitle", "title": "x" }), "`id`"),
        (json!({ "op": "remove", "ids": ["t1"] }), "`remove`"),
        (json!({ "ids": ["t1"] }), "`op`"),
        (json!({ "op": "add", "text": "x", "to": { "end": true }, "role": "tool" }), "`tool`"),
    ] {
        let text = value.to_string();
        let error = serde_json::from_str::<Operation>(&text).expect_err(&text).to_string();
        assert!(error.contains(word), "{text}: {error}");
        let error = serde_json::from_value::<Operation>(value).expect_err(&text).to_string();
        assert!(error.contains(word), "{text}: {error}");
    }
}

#[test]
fn fields_have_names_everywhere() {
    for wrong in [
        r#"{"op": "drop-results", "ids": ["t1"], "select": [null, null]}"#,
        r#"{"op": "move", "ids": ["t1"], "to": ["t2"]}"#,
    ] {
        assert!(serde_json::from_str::<Operation>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn shortened_it_keeps_what_a_list_shows() {
    let long = "ä".repeat(1000);
    let cut = format!("{}…", "ä".repeat(200));
    let short = |mut operation: Operation| {
        operation.shorten();
        operation
    };
    assert_eq!(short(edit("t1", &long)), edit("t1", &cut));
    assert_eq!(short(compact("t1", &long)), compact("t1", &cut));
    assert_eq!(short(edit("t1", "a few words")), edit("t1", "a few words"));
    let Operation::Edit { raw: None, text: None, id, .. } = short(raw("t1", json!({ "role": "user" }))) else {
        panic!("raw JSON is no words")
    };
    assert_eq!(id, "t1");
    assert_eq!(short(delete("t1,t2")), delete("t1,t2"));
}
