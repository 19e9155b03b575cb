use super::super::history::CommitId;
use super::super::testing::block;
use super::*;
use crate::key::Key;

fn text(words: &str) -> Block {
    Block { label: Some(words.into()), ..block(Kind::Text, words.len() as u32) }
}

fn call(id: Option<&str>, file: &str) -> Block {
    let tool_use_id = id.map(Into::into);
    Block { tool: Some("read".into()), tool_use_id, label: Some(file.into()), ..block(Kind::ToolUse, 9) }
}

fn result(id: &str, chars: u32) -> Block {
    Block { tool_use_id: Some(id.into()), ..block(Kind::ToolResult, chars) }
}

fn message(number: u64, role: Role, blocks: Vec<Block>) -> (SlotId, Message) {
    let speaks = (role == Role::User && blocks.iter().any(|block| block.kind == Kind::Text)).then_some(0);
    let key = Key::of([number.to_le_bytes().as_slice()]);
    (SlotId(number), Message { role, key, anchors: Vec::new(), blocks, speaks, title: None })
}

/// Messages of several blocks, as on Chat: two frames, the first with two calls in one message.
fn chat() -> Vec<(SlotId, Message)> {
    use Role::{Assistant, User};
    vec![
        message(1, User, vec![text("look")]),
        message(2, Assistant, vec![text("I look."), call(Some("c1"), "a"), call(Some("c2"), "b")]),
        message(3, User, vec![result("c1", 10)]),
        message(4, User, vec![result("c2", 20)]),
        message(5, Assistant, vec![text("Seen.")]),
        message(6, User, vec![text("and now?")]),
    ]
}

/// The same as items, as on Responses, with reasoning and one more turn; `ids`: of the calls.
fn items(ids: [&str; 2]) -> Vec<(SlotId, Message)> {
    use Role::{Assistant, User};
    let call = |id: &str, file| call(Some(id), file);
    vec![
        message(101, User, vec![text("look")]),
        message(102, Assistant, vec![block(Kind::Thinking, 5)]),
        message(103, Assistant, vec![text("I look.")]),
        message(104, Assistant, vec![call(ids[0], "a")]),
        message(105, Assistant, vec![call(ids[1], "b")]),
        message(106, User, vec![result(ids[0], 10)]),
        message(107, User, vec![result(ids[1], 20)]),
        message(108, Assistant, vec![text("Seen.")]),
        message(109, User, vec![text("and now?")]),
        message(110, Assistant, vec![text("Yes.")]),
        message(111, User, vec![text("look")]),
    ]
}

fn refs(path: &[(SlotId, Message)]) -> Vec<(SlotId, &Message)> {
    path.iter().map(|(slot, message)| (*slot, message)).collect()
}

fn id(commit: u64, index: u32) -> EffectId {
    EffectId { commit: CommitId(commit), index }
}

fn carried(effects: Vec<Effect>, to: &[(SlotId, Message)]) -> CarryPlan {
    let (from, to) = (chat(), refs(to));
    let effects: Vec<_> = (0..).zip(effects).map(|(index, effect)| (id(1, index), effect)).collect();
    let target = Target { path: &to, wire: WireId::OpenaiResponses, first: id(9, 0), next_added: 4 };
    carry(&effects, &refs(&from), target)
}

fn cover(slot: u64) -> Cover {
    let from = chat();
    let (slot, message) = &from[slot as usize - 1];
    let named = (0..).zip(&message.blocks).map(|(at, block)| BlockRef::of(at, block)).collect();
    Cover::blocks(MessageRef::Slot(*slot), message.key, named)
}

fn covered(effect: &Effect) -> Vec<u64> {
    effect.slots().iter().map(|slot| slot.0).collect()
}

fn delete(slots: &[u64]) -> Effect {
    Effect::Replace { why: Why::Deleted, covers: slots.iter().map(|slot| cover(*slot)).collect(), by: Vec::new() }
}

#[test]
fn a_message_of_several_blocks_is_found_as_items_and_reasoning_goes_with_them() {
    let carried = carried(vec![delete(&[1, 2, 3, 4, 5])], &items(["c1", "c2"]));
    assert_eq!(covered(&carried.effects[0]), [101, 102, 103, 104, 105, 106, 107, 108]);
    assert_eq!(CarryPlan { effects: Vec::new(), ..carried }, CarryPlan::default(), "nothing stays behind");
}

#[test]
fn calls_with_other_ids_are_found_by_their_words_and_results_by_their_calls() {
    let of = MessageRef::Slot(SlotId(4));
    let new = NewResult { of, block: BlockRef::of(0, &chat()[3].1.blocks[0]), text: "[cleared]".into() };
    let cleared = Effect::Results { results: vec![new], summarized: false };
    let carried = carried(vec![cleared, delete(&[3])], &items(["x", "y"]));
    assert_eq!(covered(&carried.effects[0]), [107]);
    assert_eq!(covered(&carried.effects[1]), [106]);
}

#[test]
fn a_text_that_was_said_again_later_is_not_taken_for_the_first_one() {
    let mut short = items(["c1", "c2"]);
    short.drain(..2);
    let carried = carried(vec![delete(&[1]), delete(&[5])], &short);
    assert_eq!(carried.effects.iter().map(covered).collect::<Vec<_>>(), [[108]]);
    assert_eq!((carried.gone, carried.missing), (1, 1));
}

#[test]
fn effects_keep_their_order_and_name_each_other_anew() {
    let frame = |slot| FrameRef { key: FrameKey::Opened(SlotId(slot)), until: Some((MessageRef::Slot(SlotId(5)), 0)) };
    let insert = Effect::Insert {
        number: 1,
        messages: vec![NewMessage::text(Some(Role::User), "ours")],
        to: Place::After(frame(1)),
        title: None,
    };
    let made = Cover::Made(NewMessageId { effect: id(1, 1), message: 0 });
    let edit =
        Effect::Replace { why: Why::Edited, covers: vec![made.clone()], by: vec![NewMessage::text(None, "better")] };
    let system = Cover::System { at: 0, key: Key([0; 16]) };
    let on_system = Effect::Replace { why: Why::Deleted, covers: vec![system], by: Vec::new() };
    let carried = carried(vec![on_system, insert, edit], &items(["c1", "c2"]));
    assert_eq!((carried.on_system, carried.effects.len()), (1, 2));
    let Effect::Insert { number: 4, to: Place::After(after), .. } = &carried.effects[0] else { panic!("{carried:?}") };
    assert_eq!(after.key, FrameKey::Opened(SlotId(101)));
    assert_eq!(after.until, Some((MessageRef::Slot(SlotId(108)), 0)));
    let Effect::Replace { covers, .. } = &carried.effects[1] else { panic!("{carried:?}") };
    assert_eq!(covers, &[Cover::Made(NewMessageId { effect: id(9, 0), message: 0 })]);
}

#[test]
fn content_that_only_the_other_wire_can_send_stays_behind() {
    let raw = Content::Raw { wire: WireId::OpenaiChat, json: "{}".into(), calls: None, answers: None };
    let edit = |content| Effect::Replace {
        why: Why::Edited,
        covers: vec![cover(5)],
        by: vec![NewMessage { role: None, content }],
    };
    let carried = carried(vec![edit(vec![raw.clone()]), edit(vec![raw, Content::text("ours")])], &items(["c1", "c2"]));
    assert_eq!((carried.foreign, carried.effects.len()), (1, 1));
    assert_eq!(carried.effects[0].made(), [NewMessage::text(None, "ours")]);
}

#[test]
fn an_id_that_several_calls_have_identifies_none_of_them() {
    use Role::{Assistant, User};
    let path = |first: u64, ids: [&str; 2]| {
        vec![
            message(first, User, vec![text("look")]),
            message(first + 1, Assistant, vec![call(Some(ids[0]), "a")]),
            message(first + 2, User, vec![result(ids[0], 10)]),
            message(first + 3, Assistant, vec![call(Some(ids[1]), "b")]),
            message(first + 4, User, vec![result(ids[1], 10)]),
        ]
    };
    let (from, to) = (path(1, ["x", "~4.=x"]), path(11, ["x", "~14.=x"]));
    let pairs = pairs(&refs(&from), &refs(&to));
    assert_eq!(
        (0..5).map(|at| pairs.get(&(at, 0)).copied()).collect::<Vec<_>>(),
        (0..5).map(|at| Some((at, 0))).collect::<Vec<_>>()
    );
}
