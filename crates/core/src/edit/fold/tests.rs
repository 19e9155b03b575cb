mod random;

use super::*;
use crate::edit::effect::PENDING;
use crate::edit::superseded::superseded;
use crate::edit::testing::*;
use crate::message::{Block, Kind, Role};

#[test]
fn without_effects_all_is_sent_as_it_came() {
    let bench = Bench::new(talk());
    assert_eq!(
        bench.sent(),
        ["t1 0.0 1.0 2.0 2.1 3.0 4.0", "t2 5.0 6.0 7.0 7.1 7.2 8.0 8.1 9.0 9.1 10.0 11.0", "t3 12.0 13.0"]
    );
    assert!(bench.view(|_, view| view.is_untouched()));
    assert!(Bench::new(Talk::default()).sent().is_empty());
}

#[test]
fn what_is_covered_is_not_sent_and_what_arrives_is() {
    let mut bench = Bench::new(talk());
    bench.make(delete("t3"));
    assert_eq!((bench.sent()[2].as_str(), bench.chips("t3")), ("t3", vec!["deleted"]));
    bench.talk = bench.talk.calls(&["Bash"]).results().human().says();
    assert_eq!(bench.sent()[2..], ["t3 14.0 14.1 15.0", "t4 16.0 17.0"]);
    assert_eq!(bench.chips("t3"), ["trimmed"]);
}

#[test]
fn an_edit_of_an_edit_stands_alone_when_the_first_is_reverted() {
    let mut bench = Bench::new(talk());
    let first = bench.make(edit("t1", "one"));
    let before = bench.picture();
    bench.make(edit("t1", "two"));
    assert_eq!((bench.sent()[0].as_str(), bench.chips("t1")), ("t1 'two'", vec!["edited"]));
    bench.revert(first);
    assert_eq!(bench.sent()[0], "t1 'two'");
    bench.undo();
    bench.undo();
    assert_eq!(bench.picture(), before);
}

#[test]
fn of_many_edits_of_one_thing_only_the_last_decides_what_is_sent() {
    let mut bench = Bench::new(talk());
    let edits: Vec<_> = (1..=5).map(|number| bench.make(edit("t1", &format!("edit {number}")))).collect();
    let deleted = bench.make(delete("t2"));
    let deciding =
        |bench: &Bench| -> Vec<_> { bench.history.sent_effects().into_iter().map(|(id, _)| id.commit).collect() };
    assert_eq!(deciding(&bench), [edits[4], deleted]);
    let last = bench.revert(edits[4]);
    assert_eq!(deciding(&bench), [edits[3], deleted], "the one before counts again");
    assert_eq!(bench.sent()[0], "t1 'edit 4'");
    bench.revert(last);
    assert_eq!(deciding(&bench), [edits[4], deleted]);
    // A compaction of more than that supersedes the edits. Nothing depends on the deletion, which wrote nothing.
    let all = bench.make(compact("t1..t2", "all"));
    assert_eq!(deciding(&bench), [deleted, all]);
}

/// The sent content in order: each block with its new content, and replacements.
fn sent(source: &Source<'_>, view: &View<'_>) -> Vec<String> {
    let units = view.frames.iter().flat_map(|frame| view.units(frame, source.messages));
    let sent = units.filter(|laid| laid.covered.is_none());
    let sent = sent.map(|laid| format!("{:?} {:?}", laid.unit, view.new_result(&laid)));
    let around = view.system.iter().chain(&view.tools);
    sent.chain(around.map(|around| format!("{:?} {:?}", around.covered, around.by))).collect()
}

/// The view without superseded effects.
fn deciding<'a>(source: &Source<'_>, view: &View<'a>) -> View<'a> {
    let superseded = superseded(&view.effects().collect::<Vec<_>>());
    fold(source, view.effects().filter(|(id, _)| !superseded.contains(id)).collect())
}

#[test]
fn an_edit_that_gives_another_one_its_place_is_not_superseded() {
    let mut bench = Bench::new(talk());
    let first = bench.make(edit("t1#0", "first"));
    let first_off = bench.revert(first);
    let whole = bench.make(edit("t1", "whole"));
    let whole_off = bench.revert(whole);
    bench.revert(first_off);
    bench.make(edit("t1#0", "second"));
    bench.revert(whole_off);
    // The second one stands in place of the first, and the whole behind it.
    assert_eq!(bench.sent()[0], "t1 'second' 'whole'");
    bench.view(|source, view| assert_eq!(sent(source, view), sent(source, &deciding(source, view))));
}

#[test]
fn an_edit_whose_role_follows_from_an_earlier_one_does_not_supersede_it() {
    let mut bench = Bench::new(talk());
    let offloaded = bench.make(offload("t1#0"));
    let raw = serde_json::json!("edited");
    let edited = bench.make(crate::edit::Operation::Edit {
        id: "t1#0.0".into(),
        text: None,
        raw: Some(raw),
        content: None,
        force: false,
    });
    let deciding: Vec<_> = bench.history.sent_effects().into_iter().map(|(id, _)| id.commit).collect();
    assert_eq!(deciding, [offloaded, edited]);
}

#[test]
fn what_an_earlier_effect_puts_back_is_covered_by_the_later_one() {
    let mut bench = Bench::new(talk());
    let edited = bench.make(edit("t1/1", "one"));
    let off = bench.revert(edited);
    bench.make(delete("t1"));
    bench.revert(off);
    assert_eq!(bench.sent()[0], "t1", "as if the edit had never been off");
}

#[test]
fn compacting_what_was_edited_and_editing_what_was_compacted() {
    let mut bench = Bench::new(talk());
    bench.make(edit("t2/1", "did it"));
    bench.make(compact("t2/1..2", "all"));
    assert_eq!(bench.sent()[1], "t2 5.0 6.0 '∑all' 11.0");
    bench.make(edit("t2/1", "shorter"));
    assert_eq!(bench.sent()[1], "t2 5.0 6.0 'shorter' 11.0");
    bench.make(delete("t2/1"));
    assert_eq!(bench.sent()[1], "t2 5.0 6.0 11.0");
}

#[test]
fn offloaded_content_returns() {
    let mut bench = Bench::new(talk());
    let before = bench.picture();
    bench.make(offload("t2/1,t2/2"));
    assert_eq!(bench.sent()[1], "t2 5.0 6.0 '[offloaded]' '[offloaded]' 11.0");
    assert_eq!(bench.chips("t2"), ["offloaded"]);
    let back = bench.make(restore("t2/1"));
    assert_eq!(bench.sent()[1], "t2 5.0 6.0 7.0 7.1 7.2 8.0 8.1 '[offloaded]' 11.0");
    bench.make(restore("t2"));
    assert_eq!(bench.picture(), before);
    assert!(bench.view(|_, view| view.is_untouched()), "nothing differs any more");
    bench.make(offload("t2"));
    bench.revert(back);
    assert_eq!(bench.sent()[1], "t2 '[offloaded]'");
}

#[test]
fn results_keep_their_place_and_lose_their_content() {
    let mut bench = Bench::new(talk());
    bench.make(drop_results("t2", Default::default()));
    assert_eq!(bench.sent()[1], "t2 5.0 6.0 7.0 7.1 7.2 8.0=dropped 8.1=dropped 9.0 9.1 10.0=dropped 11.0");
    assert_eq!(bench.chips("t2"), ["results-dropped"]);
    bench.make(edit("t2#3.1", "short"));
    assert_eq!(bench.sent()[1], "t2 5.0 6.0 7.0 7.1 7.2 8.0=dropped 8.1=short 9.0 9.1 10.0=dropped 11.0");
    bench.make(delete("t2/2"));
    assert_eq!(bench.sent()[1], "t2 5.0 6.0 7.0 7.1 7.2 8.0=dropped 8.1=short 11.0");
}

#[test]
fn split_parts_have_names_and_combine_again() {
    let mut bench = Bench::new(talk());
    bench.make(shift("t2", start()));
    bench.make(edit("t2/1", "new"));
    bench.make(split("t2", &[4, 6]));
    assert_eq!(
        bench.sent(),
        ["t2.1 5.0 6.0 'new'", "t2.2 9.0 9.1 10.0", "t2.3 11.0", "t1 0.0 1.0 2.0 2.1 3.0 4.0", "t3 12.0 13.0"]
    );
    assert_eq!(bench.chips("t2.1"), ["edited", "moved", "split"]);
    bench.make(split("t2.1", &[2]));
    assert_eq!(bench.sent()[..2], ["t2.1.1 5.0 6.0", "t2.1.2 'new'"]);
    bench.undo();
    bench.make(combine("t2.1,t2.2,t2.3"));
    assert_eq!(bench.sent()[0], "t2.1 5.0 6.0 'new' 9.0 9.1 10.0 11.0");
    bench.make(combine("t2,t3"));
    assert_eq!(bench.sent(), ["t2.1 5.0 6.0 'new' 9.0 9.1 10.0 11.0 12.0 13.0", "t1 0.0 1.0 2.0 2.1 3.0 4.0"]);
}

#[test]
fn frames_that_lie_apart_come_together() {
    let mut bench = Bench::new(talk());
    bench.make(combine("t1,t3"));
    assert_eq!(bench.sent()[0], "t1 0.0 1.0 2.0 2.1 3.0 4.0 12.0 13.0");
    assert!(!bench.view(|_, view| view.is_untouched()));
    assert_eq!(bench.chips("t1"), ["combined"]);
    bench.undo();
    bench.make(combine("t1,t2"));
    assert!(bench.view(|_, view| view.is_untouched()), "side by side they are sent as before");
}

#[test]
fn combined_frames_come_together_also_when_what_brought_them_together_is_reverted() {
    let mut bench = Bench::new(talk());
    let moved = bench.make(shift("t3", after("t1")));
    bench.make(combine("t1,t3"));
    bench.revert(moved);
    assert_eq!(bench.sent()[0], "t1 0.0 1.0 2.0 2.1 3.0 4.0 12.0 13.0");
    assert!(!bench.view(|_, view| view.is_untouched()));
    let sent = |(_, effect): (EffectId, &Effect)| effect.is_sent();
    assert!(bench.history.effects(bench.history.head()).into_iter().any(sent));
}

#[test]
fn the_open_frame_moves_and_what_arrives_stays_behind() {
    let mut bench = Bench::new(talk());
    bench.make(shift("t3", start()));
    bench.make(add("note", end()));
    let before = ["t3 12.0 13.0", "t1 0.0 1.0 2.0 2.1 3.0 4.0"];
    assert_eq!(bench.sent()[..2], before);
    bench.talk = bench.talk.calls(&["Bash"]).results().says();
    assert_eq!(bench.sent()[..2], before);
    assert_eq!(bench.sent()[3..], ["a1 'note'", "t3.0 14.0 14.1 15.0 16.0"]);
    bench.make(edit("t3", "first"));
    bench.make(delete("t3.0/1"));
    assert_eq!((bench.sent()[0].as_str(), bench.sent()[4].as_str()), ("t3 'first'", "t3.0 16.0"));
}

#[test]
fn parts_keep_their_names_when_an_open_frame_grows() {
    let mut bench = Bench::new(talk());
    bench.make(add("note", end()));
    bench.make(split("t3", &[1]));
    let before = bench.sent();
    assert_eq!(before[2..], ["t3.1 12.0", "t3.2 13.0", "a1 'note'"]);
    bench.talk = bench.talk.calls(&["Bash"]).results();
    assert_eq!(bench.sent()[..5], before);
    assert_eq!(bench.sent()[5], "t3.0 14.0 14.1 15.0");
    bench.make(add("more", end()));
    bench.talk = bench.talk.says();
    assert_eq!(bench.sent()[5..], ["t3.0 14.0 14.1 15.0", "a2 'more'", "t3.0.0 16.0"]);
}

#[test]
fn effects_sleep_when_the_client_goes_back_and_wake_when_it_returns() {
    let mut bench = Bench::new(talk());
    let edited = bench.make(edit("t3", "short"));
    let moved = bench.make(shift("t3", start()));
    let added = bench.make(add("note", after("t2")));
    let all = bench.picture();
    let talk = bench.talk.clone();
    let awake = |bench: &Bench, commit| bench.view(|_, view| view.status(EffectId { commit, index: 0 }).awake);
    assert!([edited, moved, added].iter().all(|&commit| awake(&bench, commit)));
    bench.talk = talk.clone().rewind(9);
    assert_eq!(bench.sent(), ["t1 0.0 1.0 2.0 2.1 3.0 4.0", "t2 5.0 6.0 7.0 7.1 7.2 8.0 8.1"]);
    assert!([edited, moved, added].iter().all(|&commit| !awake(&bench, commit)));
    assert!(bench.view(|_, view| view.is_untouched()));
    bench.talk = bench.talk.says().human().says();
    assert_eq!(bench.sent()[2], "t3 10.0 11.0", "another message, another frame");
    bench.talk = talk;
    assert_eq!(bench.picture(), all);
}

#[test]
fn a_fork_takes_over_what_lies_on_the_shared_beginning() {
    let mut bench = Bench::new(talk());
    bench.make(edit("t1", "short"));
    bench.make(add("note", after("t1")));
    bench.make(delete("t3"));
    let mut fork = bench.fork(bench.talk.clone().rewind(12));
    assert_eq!(fork.sent()[..2], ["t1 'short'", "a1 'note'"]);
    fork.talk = fork.talk.human().says();
    assert_eq!(fork.sent()[3], "t3 12.0 13.0", "another frame");
    fork.make(delete("a1"));
    fork.make(edit("t1", "shorter"));
    assert_eq!(fork.sent()[..2], ["t1 'shorter'", "a1"]);
    assert_eq!(bench.sent()[..2], ["t1 'short'", "a1 'note'"], "each has its own history");
    let inherited = fork.history.all().next().map(|commit| commit.id).expect("a commit");
    assert_eq!(fork.history.revert(inherited, true).map(|commits| commits.len()), Ok(2), "the deleted note goes along");
    fork.revert(inherited);
    assert_eq!(fork.sent()[..1], ["t1 'shorter'"]);
}

#[test]
fn going_back_into_a_combined_and_moved_frame_leaves_what_grows_at_the_end() {
    let mut bench = Bench::new(talk());
    bench.make(shift("t1", end()));
    bench.make(combine("t3,t1"));
    bench.make(shift("t3", start()));
    assert_eq!(bench.sent()[0], "t3 12.0 13.0 0.0 1.0 2.0 2.1 3.0 4.0");
    bench.talk = bench.talk.rewind(13).calls(&["Bash"]).results();
    assert_eq!(bench.sent()[2], "t3 12.0 13.0 13.1 14.0");
}

#[test]
fn going_back_into_a_moved_frame_leaves_what_grows_at_the_end() {
    let mut bench = Bench::new(talk());
    bench.make(shift("t3", start()));
    bench.make(add("note", end()));
    bench.talk = bench.talk.rewind(13).calls(&["Bash"]).results();
    assert_eq!(bench.sent()[2..], ["a1 'note'", "t3 12.0 13.0 13.1 14.0"]);
}

#[test]
fn a_changed_source_is_flagged() {
    let mut bench = Bench::new(talk());
    let deleted = bench.make(delete("t2#3.0"));
    let dropped = bench.make(edit("t2#3.1", "short"));
    let status = |bench: &Bench, commit| bench.view(|_, view| view.status(EffectId { commit, index: 0 }));
    assert_eq!(status(&bench, deleted), Status { awake: true, source_changed: false, reply: None });
    let message = &mut bench.talk.messages[8];
    message.key = key("cleared");
    message.blocks.iter_mut().for_each(|block| block.chars = 5);
    message.blocks.insert(0, block(Kind::Reminder, 3));
    assert_eq!(status(&bench, deleted), Status { awake: true, source_changed: true, reply: None });
    assert_eq!(status(&bench, dropped), Status { awake: true, source_changed: true, reply: None });
    assert!(bench.sent()[1].contains(" 8.0 8.2=short 9.0"), "{:?}", bench.sent()[1]);
    assert_eq!(bench.chips("t2"), ["trimmed", "source-changed", "results-summarized"]);
    bench.talk.messages[8].blocks.remove(1);
    assert_eq!(status(&bench, deleted), Status { awake: false, source_changed: true, reply: None });
}

#[test]
fn what_stands_behind_a_message_stays_behind_it_when_it_is_rewritten() {
    let rewrite = |bench: &mut Bench, at: usize| {
        bench.talk.messages[at].key = key("another");
        bench.talk.messages[at].blocks.insert(0, block(Kind::Reminder, 3));
        if let Some(speaks) = bench.talk.messages[at].speaks.as_mut().filter(|speaks| **speaks > 0) {
            *speaks += 1;
        }
    };
    let mut bench = Bench::new(talk());
    bench.make(add("note", end()));
    rewrite(&mut bench, 13);
    assert_eq!(bench.sent()[2..], ["t3 12.0 13.0 13.1", "a1 'note'"]);
    bench.talk = bench.talk.calls(&["Bash"]);
    assert_eq!(bench.sent()[2..], ["t3 12.0 13.0 13.1", "a1 'note'", "t3.0 14.0 14.1"]);

    let mut bench = Bench::new(Talk::default().human().calls(&["Bash"]).results_and_text().says().human());
    bench.make(combine("t1,t2"));
    bench.make(split("t1", &[2]));
    bench.make(add("note", after("t1.1")));
    let parts = |first: &str| ["t1.1 0.0 1.0 1.1 ".to_owned() + first, "a1 'note'".into()];
    assert_eq!(bench.sent()[..2], parts("2.0"));
    rewrite(&mut bench, 2);
    assert_eq!(bench.sent()[..2], parts("2.0 2.1"));
    assert_eq!(bench.sent()[2..], ["t1.2 2.2 3.0", "t3 4.0"]);
    bench.talk.messages[2].blocks.truncate(2);
    bench.talk.messages[2].speaks = None;
    assert_eq!(bench.sent(), ["t1 0.0 1.0 1.1 2.0 2.1", "a1 'note'", "t1.0 3.0", "t2 4.0"]);
}

#[test]
fn a_reply_is_found_again_once_the_client_sends_it_back() {
    let mut bench = Bench::new(talk().human().calls(&["Read", "Bash"]).pending());
    assert_eq!(bench.talk.slots.last(), Some(&PENDING));
    bench.make(delete("t4#1.1"));
    bench.make(edit("t4#1.2", "x").clone_raw());
    bench.make(shift("t4", start()));
    bench.make(add("note", end()));
    let pending = bench.picture();
    bench.talk = bench.talk.arrived();
    assert_eq!(bench.picture(), pending);
    let mut rewritten = bench.clone();
    rewritten.talk.messages[15].key = key("without its thinking");
    rewritten.talk.messages[15].blocks.remove(0);
    assert_eq!(rewritten.sent()[4], "t4 14.0 'x'", "the ids of its calls tell which it is");
    bench.talk = bench.talk.results().says();
    let sent = bench.sent();
    assert_eq!(sent[0], "t4 14.0 15.0 'x'");
    assert_eq!(sent[4..], ["a1 'note'", "t4.0 16.0 16.1 17.0"]);
    // Another reply took its place.
    bench.talk = bench.talk.rewind(15).says().arrived();
    assert_eq!(bench.sent()[4..], ["t4 14.0 15.0"]);
}

#[test]
fn an_edit_of_a_reply_holds_when_the_message_before_it_leaves_the_path() {
    let mut bench = Bench::new(talk().human().calls(&["Read"]).results().calls(&["Bash"]).pending());
    bench.make(delete("t4/2"));
    bench.talk = bench.talk.arrived().results();
    assert_eq!(bench.sent()[3], "t4 14.0 15.0 15.1 16.0 18.0");
    bench.talk = bench.talk.compacted(2);
    assert_eq!(bench.sent(), ["t1 0.0 2.0"]);
    bench.talk.replies = Default::default();
    assert_eq!(bench.sent(), ["t1 0.0 2.0"], "the ids of its calls tell which it is");
    // So does a reply without calls.
    let mut bench = Bench::new(talk().human().says().pending());
    bench.make(delete("t4#1"));
    bench.talk = bench.talk.arrived().human().compacted(2);
    assert_eq!(bench.sent(), ["t1 0.0", "t2 2.0"]);
    // But not another one with the same words.
    let mut bench = Bench::new(Talk::default().human().says().human().says().pending());
    bench.talk.messages[1].key = bench.talk.messages[3].key;
    bench.make(delete("t2#1"));
    bench.talk = bench.talk.rewind(2).human();
    assert_eq!(bench.sent(), ["t1 0.0 1.0", "t2 2.0"]);
}

#[test]
fn an_edit_holds_when_the_clients_own_note_before_it_has_gone() {
    let mut bench = Bench::new(Talk::default().human().says());
    let text = bench.talk.messages[0].blocks[0].clone();
    bench.talk.messages[0].blocks = vec![block(Kind::Reminder, 80), text];
    bench.make(delete("t1#0.1"));
    assert_eq!(bench.sent(), ["t1 0.0 1.0"]);
    // Its key stays: it does not depend on notes.
    bench.talk.messages[0].blocks.remove(0);
    assert_eq!(bench.sent(), ["t1 1.0"]);
}

#[test]
fn each_message_of_a_reply_is_found_again() {
    let mut bench = Bench::new(talk().human().says().calls(&["Read", "Bash"]));
    let slots = bench.talk.slots.clone();
    let reply = slots.len() - 2;
    bench.talk.slots[reply..].fill(PENDING);
    bench.make(delete("t4#1"));
    bench.make(delete("t4#2.1"));
    let pending = bench.picture();
    assert_eq!(bench.sent()[3], "t4 14.0 16.0 16.2");
    bench.talk.slots = slots;
    assert_eq!(bench.picture(), pending);
    // The client leaves the first message out.
    bench.talk.slots.remove(reply);
    bench.talk.messages.remove(reply);
    assert_eq!(bench.sent()[3], "t4 14.0 15.0 15.2");
}

trait Raw {
    fn clone_raw(self) -> crate::edit::Operation;
}

impl Raw for crate::edit::Operation {
    /// The same as a block of raw JSON.
    fn clone_raw(self) -> crate::edit::Operation {
        match self {
            crate::edit::Operation::Edit { id, text, .. } => raw(&id, serde_json::json!(text)),
            other => other,
        }
    }
}

#[test]
fn messages_without_blocks_are_units_too() {
    let talk = Talk::default().human().empty(Role::Assistant).empty(Role::User).says();
    let mut bench = Bench::new(talk);
    assert_eq!(bench.sent(), ["t1 0.0 1 2 3.0"]);
    bench.make(delete("t1#1"));
    assert_eq!(bench.sent(), ["t1 0.0 2 3.0"]);
    bench.make(edit("t1#2", "words"));
    assert_eq!(bench.sent(), ["t1 0.0 'words' 3.0"]);
    bench.talk.messages[2].blocks.push(block(Kind::Text, 4));
    bench.talk.messages[2].key = key("now it has one");
    assert_eq!(bench.sent(), ["t1 0.0 2.0 3.0"], "what was not there when it was named is sent");
}

#[test]
fn blocks_of_the_system_prompt_and_tools_are_covered_by_themselves() {
    let mut bench = Bench::new(talk());
    bench.make(delete("system#4"));
    bench.make(edit("system#2", "be brief"));
    bench.make(delete("tools/Read"));
    let covered: Vec<bool> = bench.view(|_, view| view.system.iter().map(|here| here.covered.is_some()).collect());
    assert_eq!(covered, [false, false, true, false, true], "of two that are the same the one that was named");
    bench.view(|_, view| {
        assert_eq!(view.system[2].by.len(), 1);
        assert!(view.tools[1].covered.is_some() && view.tools[0].covered.is_none());
        assert!(!view.is_untouched());
    });
}

#[test]
fn text_typed_while_a_tool_ran_belongs_to_the_next_frame() {
    let mut bench = Bench::new(Talk::default().human().calls(&["Bash"]).results_and_text().says());
    assert_eq!(bench.sent(), ["t1 0.0 1.0 1.1 2.0", "t2 2.1 3.0"]);
    bench.make(delete("t2"));
    assert_eq!(bench.sent(), ["t1 0.0 1.0 1.1 2.0", "t2"]);
    bench.undo();
    bench.make(shift("t2", start()));
    assert_eq!(bench.sent(), ["t2 2.1 3.0", "t1 0.0 1.0 1.1 2.0"]);
    bench.make(combine("t2,t1"));
    assert_eq!(bench.names("t2#1"), ["3.0"]);
    assert_eq!(bench.sent(), ["t2 2.1 3.0 0.0 1.0 1.1 2.0"]);
    bench.undo();
    bench.undo();
    bench.make(combine("t1,t2"));
    assert_eq!(bench.names("t1/1"), ["1.0", "1.1", "2.0"], "what the human says is no part of a step");
    assert_eq!(bench.names("t1/2"), ["3.0"]);
    assert_eq!(bench.names("t1#2"), ["2.0", "2.1"]);
    bench.make(split("t1", &[2]));
    assert_eq!(bench.sent(), ["t1.1 0.0 1.0 1.1 2.0", "t1.2 2.1 3.0"]);
}

#[test]
fn titles_and_pins_change_nothing_that_is_sent() {
    let mut bench = Bench::new(talk());
    bench.make(retitle("t1", "the start"));
    bench.make(pin("t1,t2"));
    let seen = bench.picture().frames;
    assert_eq!((seen[0].title.as_deref(), seen[0].pinned, seen[1].pinned), (Some("the start"), true, true));
    assert!(bench.view(|_, view| view.is_untouched()));
    bench.make(crate::edit::Operation::Unpin { ids: ids("t1") });
    assert!(!bench.picture().frames[0].pinned);
}

#[test]
fn a_block_is_found_again_by_its_id_its_kind_and_its_size() {
    use crate::edit::effect::{BlockRef, find};
    let with_id = |id: &str, chars| Block { tool_use_id: Some(id.into()), ..block(Kind::ToolResult, chars) };
    let mut message = talk().messages.remove(0);
    message.blocks = vec![block(Kind::Reminder, 3), with_id("a", 50), with_id("b", 60), block(Kind::Text, 7)];
    let named = |at: u32, block: Block| BlockRef::of(at, &block);
    let b = || named(1, with_id("b", 999));
    assert_eq!(find(&[b()], &message, false), [2]);
    assert_eq!(find(&[named(0, with_id("c", 50))], &message, false), [0; 0]);
    assert_eq!(find(&[named(0, block(Kind::Text, 7)), b()], &message, false), [2, 3]);
    assert_eq!(find(&[named(0, block(Kind::Reminder, 4))], &message, false), [0], "same place, same kind");
    assert_eq!(find(&[named(1, block(Kind::Text, 8))], &message, false), [0; 0]);
    assert_eq!(find(&[named(9, block(Kind::Text, 7))], &message, true), [3], "notes before it have gone");
    assert_eq!(find(&[named(9, block(Kind::Text, 8))], &message, true), [0; 0]);
}

#[test]
fn other_words_at_the_same_place_are_new() {
    use crate::edit::effect::{BlockRef, find};
    let said = |chars: u32, words: &str| Block { words: Some(key(words)), ..block(Kind::Text, chars) };
    let mut message = talk().messages.remove(0);
    let mut found = |named: &Block, now: Block| {
        message.blocks = vec![now];
        find(&[BlockRef::of(0, named)], &message, false)
    };
    let named = said(7, "try it");
    assert_eq!(found(&named, said(7, "try it")), [0]);
    assert_eq!(found(&named, said(9, "try it")), [0], "with a reminder");
    assert_eq!(found(&named, said(7, "no not")), [0; 0], "of the same length");
    assert_eq!(found(&named, said(9, "leave it")), [0; 0]);
    let unnamed = block(Kind::Text, 7);
    assert_eq!(found(&unnamed, said(9, "anything")), [0], "an older log does not tell the words");
}

#[test]
fn blocks_of_the_same_size_are_told_apart_by_what_they_say() {
    use crate::edit::effect::{BlockRef, find};
    let said = |kind: Kind, words: &str| Block { words: Some(key(words)), ..block(kind, 0) };
    let (one, other) = (said(Kind::Image, "one"), said(Kind::Image, "other"));
    let mut message = talk().messages.remove(0);
    message.blocks = vec![block(Kind::Reminder, 3), block(Kind::Reminder, 4), one.clone(), other.clone()];
    for same in [true, false] {
        assert_eq!(find(&[BlockRef::of(2, &other)], &message, same), [3], "a reminder came before them");
        assert_eq!(find(&[BlockRef::of(1, &one)], &message, same), [2]);
        let both = [BlockRef::of(1, &other), BlockRef::of(2, &one)];
        assert_eq!(find(&both, &message, same), [2, 3]);
        assert_eq!(find(&[BlockRef::of(2, &said(Kind::Image, "third"))], &message, same), [0; 0]);
    }
    let texts = [said(Kind::Text, "yes"), said(Kind::Text, "no!")];
    message.blocks = [&[block(Kind::Reminder, 3)][..], &texts].concat();
    assert_eq!(find(&[BlockRef::of(1, &texts[1])], &message, true), [2]);
    // The client has joined its reminder and the words.
    message.blocks = vec![Block { chars: 30, ..texts[1].clone() }];
    assert_eq!(find(&[BlockRef::of(1, &texts[1])], &message, true), [0]);
}

#[test]
fn a_lone_image_that_is_spelled_otherwise_is_the_same_one() {
    use crate::edit::effect::{BlockRef, find};
    let image = |words: &str| Block { words: Some(key(words)), ..block(Kind::Image, 0) };
    let mut message = talk().messages.remove(0);
    message.blocks = vec![block(Kind::Text, 7), image("respelled")];
    assert_eq!(find(&[BlockRef::of(1, &image("as it was"))], &message, false), [1]);
    assert_eq!(find(&[BlockRef::of(0, &image("as it was"))], &message, false), [0; 0]);
}

#[test]
fn a_text_that_a_result_has_swallowed_takes_the_result_with_it() {
    let talk = || Talk::default().human().calls(&["Bash"]).results_and_text().says();
    let mut bench = Bench::new(talk());
    bench.make(delete("t2"));
    let swallow = |bench: &mut Bench, chars: u32| {
        let message = &mut bench.talk.messages[2];
        (message.key, message.speaks) = (key("rewritten"), None);
        message.blocks.truncate(1);
        message.blocks[0].chars = chars;
    };
    swallow(&mut bench, 112);
    assert_eq!(bench.sent(), ["t1 0.0 1.0 1.1 2.0=dropped"]);
    assert!(bench.view(|_, view| view.status(view.effects().next().expect("an effect").0).source_changed));
    swallow(&mut bench, 100);
    assert_eq!(bench.sent(), ["t1 0.0 1.0 1.1 2.0"], "the client has left the text out");
    let mut bench = Bench::new(talk());
    bench.make(edit("t2#0", "instead"));
    swallow(&mut bench, 112);
    assert!(bench.sent()[0].contains("'instead'"), "{:?}", bench.sent());
}
