//! The names that operations use, and the refusal of those that name nothing.

mod content;
mod results;

use super::*;
use crate::ErrorCode;
use crate::edit::operation::Where;
use crate::edit::testing::*;
use crate::message::{How, Touch};
use serde_json::json;

fn code(bench: &Bench, operation: Operation) -> ErrorCode {
    bench.refused(operation).code
}

#[test]
fn unknown_ids_are_refused_with_the_nearest() {
    let bench = Bench::new(talk());
    for id in ["t4", "a1", "t1.1", "tools/bash", "system#9", "nonsense", "t1/9", "t1#9", "t1#0.4", "t0", "t1/0"] {
        assert_eq!(code(&bench, delete(id)), ErrorCode::UnknownId, "{id}");
    }
    assert_eq!(bench.refused(delete("t99")).hint.to_string(), "The last frames are t2, t3; `ctx list` shows the ids.");
    assert!(bench.refused(delete("tools/bash")).hint.to_string().contains("tools/Bash"));
    assert_eq!(bench.refused(delete("t1/9")).hint.to_string(), "It has 2 steps; `ctx list --steps` shows them.");
    assert_eq!(bench.refused(delete("t1#9")).hint.to_string(), "It has 5 messages, counted from 0.");
    assert_eq!(code(&bench, delete("t1,t9")), ErrorCode::UnknownId, "one that is wrong is enough");
    assert_eq!(code(&bench, shift("t1", after("t9"))), ErrorCode::UnknownId);
    assert_eq!(code(&bench, delete("t9..t1")), ErrorCode::UnknownId);
}

#[test]
fn a_frame_that_was_taken_in_is_answered_with_where_it_is() {
    let mut bench = Bench::new(talk());
    let first = bench.make(combine("t2,t3"));
    let told = |bench: &Bench, id: &str| {
        let refusal = bench.refused(delete(id));
        assert_eq!(refusal.code, ErrorCode::Combined);
        refusal.message
    };
    assert_eq!(told(&bench, "t3"), format!("`t3` is now part of `t2`: commit {first} combined them."));
    assert_eq!(told(&bench, "t3/1"), told(&bench, "t3"));
    assert_eq!(told(&bench, "t1..t3"), told(&bench, "t3"));
    let second = bench.make(combine("t1,t2"));
    assert_eq!(told(&bench, "t3"), format!("`t3` is now part of `t1`: commit {first} combined them."));
    assert_eq!(told(&bench, "t2"), format!("`t2` is now part of `t1`: commit {second} combined them."));
    bench.make(split("t1", &[5]));
    assert_eq!(told(&bench, "t3"), format!("`t3` is now part of `t1.1`, `t1.2`: commit {first} combined them."));
    bench.make(shift("t1.2", start()));
    assert!(bench.effects(&delete("t1.2")).is_ok(), "what was moved has its name");
    bench.revert(first);
    assert!(bench.effects(&delete("t3")).is_ok());
}

#[test]
fn a_frame_that_was_cut_is_named_by_its_parts() {
    let mut bench = Bench::new(talk());
    let cut = bench.make(split("t2", &[4]));
    for id in ["t2/1", "t2#0", "t2#0.0"] {
        let refusal = bench.refused(delete(id));
        assert_eq!(refusal.code, ErrorCode::AmbiguousId);
        assert_eq!(refusal.message, format!("`t2` is now t2.1, t2.2: commit {cut} split it."));
        assert_eq!(refusal.hint.to_string(), "Name one of them, such as `t2.1`.");
    }
    assert_eq!(code(&bench, edit("t2", "one text for both")), ErrorCode::AmbiguousId);
    assert_eq!(code(&bench, split("t2", &[1])), ErrorCode::AmbiguousId);
    assert_eq!(bench.names("t2.1/1"), ["7.0", "7.1", "7.2", "8.0", "8.1"]);
    assert_eq!(bench.names("t2.2/2"), ["11.0"]);
    assert_eq!(bench.names("t2.2#0.1"), ["9.1"]);
    assert_eq!(bench.names("t2").len(), 11, "all parts");
    bench.make(delete("t2.1"));
    assert_eq!(bench.names("t2").len(), 4, "the part that is left");
    bench.make(delete("t2"));
    assert_eq!(bench.refused(delete("t2")).code, ErrorCode::NothingToDo);
}

#[test]
fn ranges_run_forwards() {
    let mut bench = Bench::new(talk());
    assert_eq!(code(&bench, delete("t3..t1")), ErrorCode::BadRange);
    let refusal = bench.refused(delete("t2/3..1"));
    assert_eq!((refusal.code, refusal.hint.to_string().as_str()), (ErrorCode::BadRange, "Use `t2/1..3`."));
    assert_eq!(bench.names("t1..t3").len(), 6 + 11 + 2);
    bench.make(delete("t2"));
    bench.make(delete("t1..t3"));
    assert!(bench.sent().iter().all(|line| !line.contains(' ')));
    assert_eq!(code(&bench, delete("t1..t3")), ErrorCode::NothingToDo);
}

#[test]
fn what_is_gone_is_gone_for_all() {
    let mut bench = Bench::new(talk());
    bench.make(delete("t1,t2/1,t2#4.1"));
    for id in ["t1", "t1/1", "t1#0", "t1#2.1", "t2/1", "t2#2", "t2#3.0", "t2#4.1"] {
        assert_eq!(code(&bench, delete(id)), ErrorCode::NothingToDo, "{id}");
        assert_eq!(code(&bench, edit(id, "x")), ErrorCode::Gone, "{id}");
        assert_eq!(code(&bench, compact(id, "x")), ErrorCode::Gone, "{id}");
    }
    for operation in [shift("t1", end()), pin("t1"), retitle("t1", "x"), add("x", after("t1")), combine("t1,t2")] {
        assert_eq!(code(&bench, operation), ErrorCode::Gone);
    }
    assert!(bench.refused(delete("t1")).hint.to_string().contains("ctx revert"));
    assert!(bench.effects(&delete("t1,t3")).is_ok(), "of two that are named one is there");
    assert!(bench.desk(|desk| desk.named(&ids("t1")).is_ok()), "one can still look at it");
    assert_eq!(code(&bench, restore("t2")), ErrorCode::NotOffloaded);
}

#[test]
fn named_twice_is_done_once() {
    let mut bench = Bench::new(talk());
    bench.make(compact("t1,t1,t1/1", "short"));
    assert_eq!(bench.sent()[0], "t1 '∑short'");
    bench.make(compact("t2/1,t2/1..2", "short"));
    assert_eq!(bench.sent()[1], "t2 5.0 6.0 '∑short' 11.0");
}

#[test]
fn messages_and_steps_keep_their_numbers() {
    let plain = Bench::new(talk());
    let numbers = ["t2#0", "t2#2", "t2#3", "t2#4", "t2#6", "t2/1", "t2/2", "t2/3", "t2#3.1", "t2#4.1"];
    let sources = |bench: &Bench, id: &str| -> Vec<String> {
        let names = bench.desk(|desk| desk.named(&ids(id))).unwrap_or_else(|refusal| panic!("{id}: {refusal}"));
        let source = |laid: &crate::edit::fold::ViewUnit| match laid.unit {
            Unit::Source { message, block } => Some(format!("{message}.{block:?}")),
            Unit::Made(_) => None,
        };
        names.iter().flat_map(|target| target.units.iter().filter_map(source)).collect()
    };
    for operation in [
        delete("t2#0"),
        edit("t2#0", "x"),
        delete("t2/1"),
        edit("t2/1", "x"),
        compact("t2/1..2", "x"),
        edit("t2#3.0", "x"),
        raw("t2#2.1", json!(["x", "y"])),
        raw("t2#2", json!([{ "role": "user", "content": "x" }, { "role": "assistant", "content": "y" }])),
        edit("t2", "x"),
        shift("t2", start()),
        combine("t2,t3"),
        add("x", after("t1")),
        drop_results("t2", Select::default()),
    ] {
        let mut bench = plain.clone();
        bench.make(operation.clone());
        for id in numbers {
            assert_eq!(sources(&bench, id), sources(&plain, id), "{id} after {operation:?}");
        }
    }
}

#[test]
fn a_block_is_named_without_what_stands_for_its_neighbour() {
    let mut bench = Bench::new(talk());
    let new = |text: &str| json!(text);
    bench.make(raw("t2#2.1", new("for 1")));
    assert_eq!(bench.names("t2#2.2"), ["7.2"]);
    assert_eq!(bench.names("t2#2.1"), ["ours", "7.1"]);
    bench.make(raw("t2#2.2", new("for 2")));
    bench.make(edit("t2#2.1", "again"));
    assert_eq!(bench.sent()[1], "t2 5.0 6.0 7.0 'again' 'for 2' 8.0 8.1 9.0 9.1 10.0 11.0");
    let inside =
        bench.desk(|desk| desk.view.effects().all(|(_, effect)| effect.made().iter().all(|made| made.role.is_none())));
    assert!(inside, "what replaces a block stays in its message");
    bench.make(edit("t2#2", "all"));
    assert_eq!(bench.sent()[1], "t2 5.0 6.0 7.0 'all' 8.0 8.1 9.0 9.1 10.0 11.0");
}

#[test]
fn a_step_of_an_added_frame_is_named_also_when_it_was_edited() {
    let mut bench = Bench::new(talk());
    let speak = Operation::Add { text: "x".into(), role: Role::Assistant, to: end(), title: None };
    bench.make(speak);
    bench.make(edit("a1/1", "y"));
    assert_eq!(bench.sent()[3], "a1 'y'");
    bench.make(edit("a1/1", "z"));
    assert_eq!(bench.sent()[3], "a1 'z'");
    bench.make(delete("a1/1"));
    assert_eq!(bench.sent()[3], "a1");
}

#[test]
fn what_is_almost_an_id_gets_a_hint_that_fits() {
    let bench = Bench::new(talk());
    let hint = |id: &str| {
        let refusal = bench.refused(delete(id));
        assert_eq!(refusal.code, ErrorCode::UnknownId, "{id}");
        refusal.hint.to_string()
    };
    assert_eq!(hint("*"), "For all frames, use `t1..t3`; `ctx list` shows the ids.");
    assert_eq!(hint("t2.."), "Did you mean `t2..t3`? `ctx list` shows the ids.");
    assert_eq!(hint("..t2"), "Did you mean `t1..t2`? `ctx list` shows the ids.");
    assert!(hint("t1/1..").starts_with("Did you mean `t1/1.."), "{}", hint("t1/1.."));
    assert_eq!(hint("t1,,t2"), "Write `t3,t7`.");
}

#[test]
fn a_frame_that_is_gone_can_be_unpinned() {
    let mut bench = Bench::new(talk());
    bench.make(Operation::Pin { ids: vec!["t2".into()] });
    bench.make(delete("t2"));
    bench.make(Operation::Unpin { ids: vec!["t2".into()] });
    assert!(bench.desk(|desk| desk.view.frames.iter().all(|frame| !frame.pinned)));
    assert_eq!(code(&bench, Operation::Unpin { ids: vec!["t2/1".into()] }), ErrorCode::NotAFrame);
    assert_eq!(code(&bench, Operation::Unpin { ids: vec![] }), ErrorCode::NothingNamed);
}
