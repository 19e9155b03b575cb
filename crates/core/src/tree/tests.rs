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
