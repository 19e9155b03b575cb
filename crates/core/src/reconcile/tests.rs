//! One test per rule of the matcher. `ctx-wire` measures the rules together with a simulated client that renders real
//! requests.

use super::*;
use crate::key::Key;
use crate::lexicon::SUMMARY_TITLE;
use crate::message::{Anchor, Block, Kind, Role};
use std::time::{Duration, Instant};

/// Parses a message: `u:words`, `a:words`, `s:words`, `r:id` (results), `t:id` (reasoning), `c:words` (the client's
/// summary), `i:words` (injected). A word with `#` is an id; one with `!` makes the text long.
fn message(text: &str) -> Message {
    let (role, words) = text.split_once(':').unwrap();
    let ids = words.split(' ').filter(|word| word.starts_with('#'));
    let said: Vec<&str> = words.split(' ').filter(|word| !word.starts_with('#')).collect();
    let said = said.join(" ");
    let mut anchors: Vec<Anchor> = ids.map(|id| Anchor::Id(Key::of([role.as_bytes(), id.as_bytes()]))).collect();
    if said.contains('!') {
        anchors.push(Anchor::Text(Key::of([said.as_bytes()])));
    }
    let block = |kind: Kind| Block {
        kind,
        at: 0..0,
        chars: 0,
        fixed_tokens: 0,
        tool: None,
        role: Default::default(),
        tool_use_id: None,
        signature: None,
        words: None,
        sums_up: false,
        label: (role == "c").then(|| SUMMARY_TITLE.into()),
        touches: None,
    };
    let kind = match role {
        "r" => Some(Kind::ToolResult),
        "t" => Some(Kind::Thinking),
        "c" => Some(Kind::Text),
        _ => None,
    };
    Message {
        role: match role {
            "a" | "t" => Role::Assistant,
            "s" => Role::System,
            _ => Role::User,
        },
        key: Key::of([role.as_bytes(), said.as_bytes()]),
        anchors,
        blocks: kind.map(block).into_iter().collect(),
        speaks: matches!(role, "u" | "c").then_some(0),
        title: None,
    }
}

fn messages(texts: &str) -> Vec<Message> {
    texts.split(", ").map(message).collect()
}

/// Places a request and applies it. Returns the numbers of its slots, and the verdict.
fn send(tree: &mut Tree, texts: &str) -> (Vec<u64>, Verdict) {
    send_as(tree, texts, false)
}

fn send_as(tree: &mut Tree, texts: &str, compacted: bool) -> (Vec<u64>, Verdict) {
    let rest = messages(texts);
    let placed = reconcile(tree, &Sighting { same: 0, rest: &rest, compacted, unanswered: false });
    let mut slots: Vec<SlotId> = tree.path_to(placed.base).into_iter().map(|node| tree.slot_at(node).id).collect();
    for place in &placed.places {
        slots.push(match place {
            Place::Known(slot) => *slot,
            Place::New => tree.next_slot(0),
        });
        tree.reserve(slots[slots.len() - 1]);
    }
    slots.iter().zip(rest).for_each(|(slot, message)| tree.put(*slot, message));
    let tip = tree.extend(placed.base, &slots[placed.depth..]).unwrap();
    tree.set_current(tip);
    (slots.into_iter().map(|slot| slot.0).collect(), placed.verdict)
}

/// A conversation of one request; its slots are numbered from 0.
fn tree(texts: &str) -> Tree {
    let mut tree = Tree::new(0);
    assert_eq!(send(&mut tree, texts).1, Verdict::New);
    tree
}

#[test]
fn what_follows_the_known_history_is_new_even_if_it_was_said_before() {
    let mut tree = tree("u:go, a:done, u:!plan");
    assert_eq!(send(&mut tree, "u:go, a:done, u:!plan, a:done, u:!plan"), (vec![0, 1, 2, 3, 4], Verdict::Next));
    assert_eq!(send(&mut tree, "u:go, a:done, u:!plan, a:done, u:!plan"), (vec![0, 1, 2, 3, 4], Verdict::Retry));
}

#[test]
fn a_rewind_makes_a_branch_and_a_return_finds_the_old_one() {
    let mut tree = tree("u:one, a:x, u:two, a:y, u:three");
    assert_eq!(send(&mut tree, "u:one, a:x, u:other"), (vec![0, 1, 5], Verdict::Rewind));
    assert_eq!(send(&mut tree, "u:one, a:x, u:two, a:y, u:three"), (vec![0, 1, 2, 3, 4], Verdict::Return));
}

#[test]
fn a_long_prompt_that_is_said_again_at_another_place_is_new() {
    let mut tree = tree("u:one, a:x, u:two, a:x, u:!plan, a:y, u:three");
    assert_eq!(send(&mut tree, "u:one, a:x, u:!plan").0, [0, 1, 7]);
    assert_eq!(send(&mut tree, "u:!plan"), (vec![8], Verdict::Unrelated));
}

#[test]
fn a_question_and_an_answer_that_come_again_after_a_summary_are_new() {
    let mut tree = tree("u:one, a:!alpha, u:!plan");
    send_as(&mut tree, "u:summary, u:go", true);
    assert_eq!(send(&mut tree, "u:summary, u:go, a:!alpha, u:!plan"), (vec![3, 4, 5, 6], Verdict::Next));
}

#[test]
fn the_same_words_with_another_signature_are_another_answer() {
    let mut tree = tree("u:one, a:done #1, u:two");
    assert_eq!(send(&mut tree, "u:one, a:done #2, u:two").0, [0, 3, 4]);
    assert_eq!(send(&mut tree, "u:one, a:done, u:two").0, [0, 3, 4], "thinking was stripped: the current one is meant");
}

#[test]
fn system_messages_that_come_and_go_do_not_part_what_stood_together() {
    let mut tree = tree("u:one, s:env, a:x, u:two, s:note, a:y, u:three");
    assert_eq!(send(&mut tree, "u:one, a:x, u:two, a:y, u:three"), (vec![0, 2, 3, 5, 6], Verdict::Rerender));
    assert_eq!(send(&mut tree, "u:one, s:env, a:x, u:two, s:note, a:y, u:three").0, [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn what_stands_between_the_same_neighbours_is_the_same_rewritten() {
    let mut tree = tree("u:one, s:env, a:x, i:file, u:two, a:y, u:three");
    let changed = "u:one, s:other env, a:x, i:other file, u:two, a:y, u:three";
    assert_eq!(send(&mut tree, changed), (vec![0, 1, 2, 3, 4, 5, 6], Verdict::Rerender));
    assert_eq!(send(&mut tree, "u:one, s:env, a:x, u:two, a:y, u:three").0, [0, 1, 2, 4, 5, 6]);
}

#[test]
fn a_system_message_at_the_end_may_change_but_a_prompt_there_is_new() {
    let mut tree = tree("u:one, s:env");
    assert_eq!(send(&mut tree, "u:one, s:other env"), (vec![0, 1], Verdict::Rerender));
    assert_eq!(send(&mut tree, "u:one, s:third env, a:x, u:two").0, [0, 1, 2, 3]);
    assert_eq!(send(&mut tree, "u:one, s:third env, a:x, u:other"), (vec![0, 1, 2, 4], Verdict::Rewind));
}

#[test]
fn other_files_attached_to_the_same_last_words_are_new() {
    let mut tree = tree("u:one, a:x, i:file, u:two");
    assert_eq!(send(&mut tree, "u:one, a:x, i:other, u:two").0, [0, 1, 4, 3]);
}

#[test]
fn a_file_attached_again_does_not_hide_that_the_dialogue_was_cut_back() {
    let mut tree = tree("u:one, a:x #1, i:file, u:two");
    assert_eq!(send_as(&mut tree, "u:summary, a:x #1, u:three", true).0, [4, 1, 5]);
    assert_eq!(send(&mut tree, "u:summary, a:x #1, i:file, u:four"), (vec![4, 1, 2, 6], Verdict::Rewind));
}

#[test]
fn results_are_known_by_their_ids_whatever_became_of_the_rest() {
    let mut tree = tree("u:one, s:env, a:call #1, r:result #1, a:x");
    assert_eq!(send(&mut tree, "u:one, a:call #1, r:and a word #1, a:x"), (vec![0, 2, 3, 4], Verdict::Rerender));
}

#[test]
fn results_of_a_new_call_are_new_even_under_an_old_id() {
    let mut tree = tree("u:one, a:call #1 #signature, r:result #1, a:x, u:two");
    assert_eq!(send(&mut tree, "u:one, a:other #1 #another, r:result #1").0, [0, 5, 6]);
}

#[test]
fn a_compaction_keeps_the_tail_by_ids_and_what_stood_beside_them() {
    let mut tree = tree("u:one, a:x, u:yes, a:call #1, r:result #1, a:done, u:yes");
    let (slots, verdict) =
        send_as(&mut tree, "u:summary, u:yes, a:call #1, r:result #1, a:done, u:yes, a:z, u:new", true);
    assert_eq!((slots, verdict), (vec![7, 2, 3, 4, 5, 6, 8, 9], Verdict::Compaction));
}

#[test]
fn a_kept_end_of_short_words_is_known_by_the_reply_behind_it() {
    let mut tree = tree("u:one, a:done, u:yes, a:done, u:yes");
    assert_eq!(send(&mut tree, "u:summary, a:done, u:yes, a:ok, u:new"), (vec![5, 3, 4, 6, 7], Verdict::Compaction));
}

#[test]
fn a_kept_end_must_explain_all_but_the_front() {
    let mut tree = tree("u:one, a:done, u:yes");
    let (slots, _) = send_as(&mut tree, "u:summary, a:said elsewhere, u:yes, a:ok, u:new", true);
    assert_eq!(slots, [3, 4, 5, 6, 7], "turns that were not seen");
}

#[test]
fn ids_of_two_slots_in_one_message_name_neither() {
    let mut tree = tree("u:one, a:call #1, r:result #1, a:call #2, r:result #2");
    assert_eq!(send(&mut tree, "u:other, a:calls #1 #2, r:results #1 #2").0, [5, 6, 7]);
}

#[test]
fn reasoning_that_is_left_out_does_not_part_what_stood_together() {
    let mut tree = tree("u:one, t:#1, a:done, u:two, t:#2, a:done, u:three");
    assert_eq!(send(&mut tree, "u:one, a:done, u:two, a:done, u:three"), (vec![0, 2, 3, 5, 6], Verdict::Rerender));
    assert_eq!(send(&mut tree, "u:one, t:#1, a:done, u:two, t:#3, a:done").0, [0, 1, 2, 3, 7, 8], "a new answer");
}

#[test]
fn cleared_results_without_ids_are_known_between_what_stood_around_them() {
    let mut tree = tree("u:one, a:call, r:found, a:done, u:two");
    assert_eq!(send(&mut tree, "u:one, a:call, r:cleared, a:done, u:two").0, [0, 1, 2, 3, 4]);
    assert_eq!(send(&mut tree, "u:one, a:call, r:other, a:else").0, [0, 1, 5, 6], "the call was made again");
}

#[test]
fn a_receipt_behind_the_summary_does_not_hide_the_kept_end() {
    let mut tree = tree("u:one, a:x, u:two");
    let (slots, verdict) = send_as(&mut tree, "c:summary, a:got it, u:two, a:y, u:three", true);
    assert_eq!((slots, verdict), (vec![3, 4, 2, 5, 6], Verdict::Compaction));
}

#[test]
fn words_before_a_known_call_are_known_with_it() {
    let mut tree = tree("u:one, t:#0, a:look #0, a:call #1, r:result #1, u:two");
    let (slots, _) = send_as(&mut tree, "u:summary, a:look, a:call #1, r:result #1, u:three", true);
    assert_eq!(slots, [6, 2, 3, 4, 7]);
    assert_eq!(send(&mut tree, "u:summary, a:other, a:call #1, r:result #1").0, [6, 8, 9, 10], "ids from zero again");
}

#[test]
fn the_humans_words_before_a_summary_are_known_in_their_order() {
    let mut tree = tree("s:rules, u:long, a:x, u:fix, a:y, u:fix, a:z");
    let (slots, verdict) = send_as(&mut tree, "u:lo, u:fix, s:rules, u:fix, c:summary", true);
    assert_eq!((slots, verdict), (vec![7, 3, 8, 5, 9], Verdict::Compaction), "the first one is cut");
    let (slots, verdict) = send_as(&mut tree, "u:lo, u:fix, s:rules, u:fix, c:summary, a:w, u:fix", true);
    assert_eq!((slots, verdict), (vec![7, 3, 8, 5, 9, 10, 11], Verdict::Next));
}

#[test]
fn the_prompt_that_the_client_summarised_for_is_new_before_the_summary() {
    let mut tree = tree("s:rules, u:one, a:x, u:fix, a:y, u:more, a:z, r:found");
    let (slots, verdict) = send_as(&mut tree, "u:one, u:fix, u:more, u:new, c:summary", true);
    assert_eq!((slots, verdict), (vec![1, 3, 5, 8, 9], Verdict::Compaction));
}

#[test]
fn words_before_a_summary_that_were_said_elsewhere_are_new() {
    let mut tree = tree("u:one, a:x, u:two, a:y");
    let (slots, verdict) = send_as(&mut tree, "u:zero, u:one, u:three, c:summary", true);
    assert_eq!((slots, verdict), (vec![4, 5, 6, 7], Verdict::Compaction));
}

#[test]
fn short_words_behind_a_summary_are_new() {
    let mut short = tree("u:one, a:done, u:yes");
    assert_eq!(send_as(&mut short, "u:summary, u:yes", true), (vec![3, 4], Verdict::Compaction));
    let mut kept = tree("u:one, a:done, u:yes");
    assert_eq!(send_as(&mut kept, "u:summary, a:done, u:yes", true).0, [3, 4, 5], "a reply and an answer to it?");
}

#[test]
fn long_texts_beside_each_other_are_known_behind_another_front() {
    let mut tree = tree("u:one, a:!alpha, u:two, a:!beta, u:three, a:z, u:gone");
    let (slots, verdict) = send(&mut tree, "u:front, a:!alpha, u:two, a:!beta, u:three, a:new, u:other, a:w, u:last");
    assert_eq!((slots, verdict), (vec![7, 1, 2, 3, 4, 8, 9, 10, 11], Verdict::Compaction));
}

#[test]
fn a_slot_stands_once_on_a_path() {
    let mut tree = tree("u:one, a:call #1, r:result #1");
    assert_eq!(send(&mut tree, "u:other, a:call #1, r:result #1, a:call #1, r:result #1").0, [3, 1, 2, 4, 5]);
}

/// Times a plain next turn at `turns` turns; returns the fastest round.
fn next_turn(turns: usize) -> Duration {
    let history: Vec<String> =
        (0..turns).map(|turn| format!("u:do {turn}, a:call #{turn}, r:result #{turn}, a:done")).collect();
    let mut tree = tree(&format!("{}, u:next", history.join(", ")));
    let rest = messages("u:next, a:call #new, r:result #new");
    let same = turns * 4;
    let sighting = Sighting { same, rest: &rest, compacted: false, unanswered: false };
    let round = |tree: &mut Tree| {
        let start = Instant::now();
        for _ in 0..100 {
            let placed = reconcile(tree, &sighting);
            assert_eq!((placed.depth, placed.places.len(), placed.verdict), (same + 1, 2, Verdict::Next));
            tree.set_current(placed.base);
        }
        start.elapsed()
    };
    (0..20).map(|_| round(&mut tree)).min().unwrap()
}

#[test]
fn a_next_turn_costs_what_is_new_not_what_is_known() {
    let (short, long) = (next_turn(100), next_turn(5_000));
    assert!(long < short * 8, "100 turns: {short:?}; 5,000 turns: {long:?}");
}
