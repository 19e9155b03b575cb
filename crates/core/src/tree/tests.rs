//! Growing the tree from a log, which may be damaged.

use super::*;
use crate::key::Key;
use crate::message::Role;

fn message(text: &str) -> Message {
    Message {
        role: Role::User,
        key: Key::of([text.as_bytes()]),
        anchors: vec![Anchor::Id(Key::of([text.as_bytes()]))],
        blocks: Vec::new(),
        speaks: Some(0),
        title: None,
    }
}

fn tree() -> Tree {
    let mut tree = Tree::new(7);
    for number in 0..4 {
        let slot = tree.next_slot(0);
        tree.put(slot, message(&number.to_string()));
    }
    tree
}

fn slot(number: u64) -> SlotId {
    SlotId(7 << 24 | number)
}

#[test]
fn paths_that_share_a_beginning_share_their_nodes() {
    let mut tree = tree();
    let first = tree.extend(None, &[slot(0), slot(1), slot(2)]).unwrap();
    let second = tree.extend(None, &[slot(0), slot(1), slot(3)]).unwrap();
    assert_eq!((first, second, tree.node_count()), (Some(2), Some(3), 4));
    tree.set_current(first);
    tree.set_current(second);
    assert_eq!(tree.path().map(|slot| slot.id).collect::<Vec<_>>(), [slot(0), slot(1), slot(3)]);
    assert_eq!(tree.current(), tree.path_to(second));
}

#[test]
fn a_record_that_names_the_unknown_changes_nothing() {
    let mut tree = tree();
    assert_eq!(tree.extend(None, &[slot(0), slot(9)]), None);
    assert_eq!(tree.extend(Some(3), &[slot(0)]), None);
    assert!(tree.is_empty());
}

#[test]
fn a_new_version_keeps_the_ids_of_the_old_one() {
    let mut tree = tree();
    tree.put(slot(0), Message { anchors: Vec::new(), ..message("0 cleared") });
    let known = tree.slot(slot(0)).unwrap();
    assert_eq!(known.version, 1);
    assert!(!tree.contradicts(known, &message("0")) && tree.contradicts(known, &message("1")));
    assert_eq!(tree.anchored(message("0").anchors[0]).unwrap().id, slot(0));
}

#[test]
fn an_id_that_two_slots_carry_leads_nowhere() {
    let mut tree = tree();
    tree.put(slot(1), message("0"));
    assert!(tree.anchored(message("0").anchors[0]).is_none());
}

fn block(kind: Kind, id: &str) -> crate::message::Block {
    crate::message::Block { tool_use_id: Some(id.into()), ..crate::edit::testing::block(kind, 4) }
}

fn called(id: &str) -> Message {
    let anchors = vec![Anchor::of_call(id)];
    Message { role: Role::Assistant, anchors, blocks: vec![block(Kind::ToolUse, id)], ..message("called") }
}

fn answered(id: &str) -> Message {
    Message { anchors: Vec::new(), blocks: vec![block(Kind::ToolResult, id)], ..message("answered") }
}

/// A tree with these messages in slots of their numbers.
fn tree_of(messages: &[Message]) -> Tree {
    let mut tree = Tree::new(0);
    messages.iter().zip(0..).for_each(|(message, number)| tree.put(SlotId(number), message.clone()));
    tree
}

fn id(tree: &Tree, slot: u64) -> &str {
    tree.slot(SlotId(slot)).and_then(|slot| slot.message.blocks[0].tool_use_id.as_deref()).unwrap_or_default()
}

#[test]
fn a_call_with_the_id_of_an_earlier_one_gets_its_own_and_so_does_its_result() {
    let mut tree = tree_of(&[called("x"), answered("x"), called("x"), answered("x")]);
    let path: Vec<SlotId> = (0..4).map(SlotId).collect();
    tree.extend(None, &path);
    assert_eq!([0, 1, 2, 3].map(|slot| id(&tree, slot)), ["x", "x", "~2.=x", "~2.=x"]);
    // New versions keep them.
    tree.put(SlotId(3), Message { title: Some("cleared".into()), ..answered("x") });
    tree.put(SlotId(2), called("x"));
    tree.put(SlotId(0), called("x"));
    assert_eq!([0, 1, 2, 3].map(|slot| id(&tree, slot)), ["x", "x", "~2.=x", "~2.=x"]);
    let mut pending = called("x");
    tree.set_current(Some(3));
    assert!(tree.name_pending(&mut pending, SlotId(9)));
    assert_eq!(pending.blocks[0].tool_use_id.as_deref(), Some("~9.=x"));
}

#[test]
fn an_id_on_another_branch_is_not_taken() {
    let mut tree = tree_of(&[message("root"), called("x"), answered("x"), called("x"), answered("x")]);
    tree.extend(None, &[0, 1, 2].map(SlotId));
    tree.extend(None, &[0, 3, 4].map(SlotId));
    assert_eq!([1, 2, 3, 4].map(|slot| id(&tree, slot)), ["x"; 4]);
    // A call that comes behind another one later is still linked with its result on its first path.
    tree.extend(None, &[0, 1, 2, 3].map(SlotId));
    assert_eq!([1, 2, 3, 4].map(|slot| id(&tree, slot)), ["x", "x", "~3.=x", "~3.=x"]);
}
