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
fn nothing_named_and_nothing_written() {
    let bench = Bench::new(talk());
    let nothing = Operation::Delete { ids: vec![], select: Select::default(), force: false };
    assert_eq!(code(&bench, nothing), ErrorCode::NothingNamed);
    assert_eq!(code(&bench, drop_results("", Select::default())), ErrorCode::NothingNamed);
    for text in ["", " \n\t"] {
        assert_eq!(code(&bench, edit("t1", text)), ErrorCode::Empty);
        assert_eq!(code(&bench, compact("t1", text)), ErrorCode::Empty);
        assert_eq!(code(&bench, add(text, end())), ErrorCode::Empty);
        let summarize = Operation::SummarizeResults {
            ids: ids("t1"),
            select: Select::default(),
            result: None,
            text: Some(text.into()),
        };
        assert_eq!(code(&bench, summarize), ErrorCode::Empty);
    }
    let both =
        Operation::Edit { id: "t1".into(), text: Some("x".into()), raw: Some(json!({})), content: None, force: false };
    let none = Operation::Edit { id: "t1".into(), text: None, raw: None, content: None, force: false };
    assert_eq!((code(&bench, both), code(&bench, none)), (ErrorCode::NoContent, ErrorCode::NoContent));
    let untitled = Operation::Retitle { id: "t1".into(), title: None, summary: None, auto: false };
    assert_eq!(code(&bench, untitled), ErrorCode::NoContent);
    assert_eq!(code(&bench, edit("t1,t2", "x")), ErrorCode::AmbiguousId);
}

#[test]
fn content_takes_the_place_of_a_block_and_of_nothing_else() {
    let mut bench = Bench::new(talk());
    let given = |id: &str, content: Vec<Content>| Operation::Edit {
        id: id.into(),
        text: None,
        raw: None,
        content: Some(content),
        force: false,
    };
    let thought = Content::Reasoning { text: "hm".into(), sealed: false };
    assert_eq!(code(&bench, given("t1#0.0", vec![Content::text("x"), thought])), ErrorCode::Thinking);
    assert_eq!(code(&bench, given("t1#0.0", vec![Content::text(" ")])), ErrorCode::Empty);
    assert_eq!(code(&bench, given("t1#0.0", Vec::new())), ErrorCode::BadContent);
    for id in ["t1", "t1#0", "system", "tools/Bash"] {
        assert_eq!(code(&bench, given(id, vec![Content::text("x")])), ErrorCode::BadContent, "{id}");
    }
    bench.make(given("t1#0.0", vec![Content::text("x")]));
    assert!(bench.sent()[0].starts_with("t1 'x'"), "{:?}", bench.sent());
}

#[test]
fn messages_that_are_given_in_json_take_the_place_of_a_frame() {
    let mut bench = Bench::new(talk());
    assert_eq!(code(&bench, edit("tools/Bash", "x")), ErrorCode::NotText);
    bench.make(raw("t1", json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" }])));
    assert_eq!(bench.sent()[0], "t1 'a' 'b'");
    bench.make(compact("t2..t3", "both"));
    assert_eq!(bench.sent().concat().matches("both").count(), 1, "one summary for all of them");
    assert_eq!(bench.chips("t3"), ["compacted"]);
}

#[test]
fn a_tool_pair_is_never_cut() {
    let mut bench = Bench::new(talk());
    let refusal = bench.refused(split("t2", &[3]));
    assert_eq!(refusal.code, ErrorCode::CutsAPair);
    assert!(refusal.message.contains("`t2#3`") && refusal.message.contains("rule A38"));
    assert_eq!(refusal.hint.to_string(), "`t2` can be split before message 2, 4, 6.");
    for at in [0, 1, 7] {
        assert_eq!(code(&bench, split("t2", &[at])), ErrorCode::BadCut, "{at}");
    }
    assert_eq!(code(&bench, split("t2", &[])), ErrorCode::NoCut);
    let steps = |at_step: &[usize], each_step| Operation::Split {
        id: "t2".into(),
        at: vec![],
        at_step: at_step.to_vec(),
        each_step,
    };
    assert_eq!(code(&bench, steps(&[4], false)), ErrorCode::BadCut);
    assert_eq!(code(&bench, split("t2/1", &[1])), ErrorCode::NotAFrame);
    bench.make(steps(&[], true));
    assert_eq!(bench.sent()[1..5], ["t2.1 5.0 6.0", "t2.2 7.0 7.1 7.2 8.0 8.1", "t2.3 9.0 9.1 10.0", "t2.4 11.0"]);
    assert_eq!(code(&bench, split("t2.2", &[1])), ErrorCode::CutsAPair);
    assert_eq!(
        bench.refused(split("t2.2", &[1])).hint.to_string(),
        "`t2.2` cannot be split: every split would separate a tool call from its result: rule A38."
    );
    bench.make(add("x", after("t1")));
    let alone = bench.refused(split("a1", &[0]));
    assert_eq!(alone.code, ErrorCode::BadCut);
    assert_eq!(alone.hint.to_string(), "`a1` is a single message; frames are split between messages.");
}

#[test]
fn a_combined_frame_is_cut_where_an_added_message_or_a_human_speaks_again() {
    let mut bench = Bench::new(Talk::default().human().says().human().says());
    bench.make(add("x", after("t1")));
    bench.make(combine("t1,a1"));
    bench.make(split("t1", &[2]));
    assert_eq!(bench.sent(), ["t1.1 0.0 1.0", "t1.2 'x'", "t2 2.0 3.0"]);
    bench.make(combine("t1.1,t1.2,t2"));
    bench.make(Operation::Split { id: "t1.1".into(), at: vec![], at_step: vec![], each_step: true });
    assert_eq!(bench.sent(), ["t1.1.1 0.0", "t1.1.2 1.0", "t1.1.3 'x' 2.0", "t1.1.4 3.0"]);
}

#[test]
fn a_pair_with_something_in_between_is_not_cut_either() {
    let bench = Bench::new(Talk::default().human().calls(&["Bash"]).reminder().results().says());
    assert_eq!(
        (code(&bench, split("t1", &[2])), code(&bench, split("t1", &[3]))),
        (ErrorCode::CutsAPair, ErrorCode::CutsAPair)
    );
    assert!(bench.effects(&split("t1", &[4])).is_ok());
}

#[test]
fn a_conversation_begins_with_a_user() {
    let mut bench = Bench::new(talk());
    bench.make(split("t2", &[2, 6]));
    let refusal = bench.refused(shift("t2.2", start()));
    assert_eq!(refusal.code, ErrorCode::NotFirst);
    assert!(refusal.message.contains("`t2.2`") && refusal.message.contains("rule A3."));
    bench.make(shift("t2.1,t2.2", start()));
    let speaks = |role, to| Operation::Add { text: "x".into(), role, to, title: None };
    assert_eq!(code(&bench, speaks(Role::Assistant, start())), ErrorCode::NotFirst);
    assert_eq!(code(&bench, speaks(Role::System, end())), ErrorCode::BadRole);
    bench.make(speaks(Role::Assistant, end()));
    assert_eq!(code(&bench, shift("a1", start())), ErrorCode::NotFirst);
    bench.make(delete("t1#1"));
    bench.make(delete("t1#0"));
    assert_eq!(code(&bench, shift("t1", start())), ErrorCode::NotFirst, "its user message is gone");
}

#[test]
fn places_are_said_exactly() {
    let bench = Bench::new(talk());
    assert_eq!(code(&bench, shift("t1", Where::default())), ErrorCode::NoPlace);
    assert_eq!(code(&bench, shift("t1", Where { end: true, ..start() })), ErrorCode::NoPlace);
    assert_eq!(code(&bench, shift("t1", after("t1"))), ErrorCode::Nowhere);
    assert_eq!(code(&bench, shift("t3", after("t3"))), ErrorCode::Nowhere);
    for (ids, to) in [("t3", end()), ("t2,t3", end()), ("t1", start()), ("t2", after("t1")), ("t2,t3", after("t1"))] {
        assert_eq!(code(&bench, shift(ids, to)), ErrorCode::NothingToDo, "{ids}");
    }
    assert!(bench.effects(&shift("t3,t2", end())).is_ok(), "in another order");
    let there = Operation::Combine { ids: ids("t2,t3"), after: Some("t1".into()) };
    assert!(bench.effects(&there).is_ok_and(|effects| effects.len() == 1), "combined where they stand");
    assert_eq!(code(&bench, shift("t1/1", end())), ErrorCode::NotAFrame);
    assert_eq!(code(&bench, add("x", after("t1#1"))), ErrorCode::NotAFrame);
    for id in ["system", "tools", "tools/Bash", "system#2"] {
        assert_eq!(code(&bench, shift(id, end())), ErrorCode::NotATurn, "{id}");
        assert_eq!(code(&bench, compact(id, "x")), ErrorCode::NotATurn, "{id}");
        assert_eq!(code(&bench, add("x", after(id))), ErrorCode::NotATurn, "{id}");
        assert_eq!(code(&bench, pin(id)), ErrorCode::NotATurn, "{id}");
    }
    assert_eq!(code(&bench, combine("t1")), ErrorCode::TooFew);
    assert_eq!(code(&bench, combine("t1,t1")), ErrorCode::TooFew);
    let mut bench = bench;
    bench.make(shift("t3,t1", end()));
    assert_eq!(bench.sent()[2], "t1 0.0 1.0 2.0 2.1 3.0 4.0");
    bench.undo();
    bench.make(shift("t3,t2,t1", end()));
    assert_eq!(bench.sent()[..2], ["t3 12.0 13.0", "t2 5.0 6.0 7.0 7.1 7.2 8.0 8.1 9.0 9.1 10.0 11.0"]);
    bench.undo();
    bench.make(Operation::Combine { ids: ids("t1,t2"), after: Some("t3".into()) });
    assert_eq!(bench.sent()[0], "t3 12.0 13.0");
}

#[test]
fn thinking_is_never_written() {
    let mut bench = Bench::new(talk());
    assert_eq!(code(&bench, edit("t1#2.0", "I think")), ErrorCode::Thinking);
    assert_eq!(code(&bench, raw("t1#2.0", json!("x"))), ErrorCode::Thinking);
    bench.make(edit("t1#2", "said"));
    assert_eq!(bench.sent()[0], "t1 0.0 1.0 2.0 'said' 3.0 4.0", "it stays before what is said instead");
    bench.make(delete("t1#2.0"));
    assert_eq!(bench.sent()[0], "t1 0.0 1.0 'said' 3.0 4.0");
    let only = Bench::new(Talk::default().human().push(Role::Assistant, vec![block(Kind::Thinking, 9)], None));
    assert_eq!(code(&only, edit("t1#1", "said")), ErrorCode::Thinking);
    assert_eq!(code(&only, edit("t1#1.0", "said")), ErrorCode::Thinking);
}

#[test]
fn protected_blocks_stay_unless_forced() {
    let mut bench = Bench::new(talk());
    let refusal = bench.refused(delete("system#0"));
    assert_eq!((refusal.code, refusal.message.as_str()), (ErrorCode::Protected, "`system#0` is protected: it bills."));
    assert!(refusal.hint.to_string().contains("--force"));
    assert_eq!(code(&bench, edit("system#1", "x")), ErrorCode::Protected);
    assert_eq!(code(&bench, delete("system#0,t1")), ErrorCode::Protected, "also among others");
    let forced = |id: &str| Operation::Delete { ids: ids(id), select: Select::default(), force: true };
    let covered =
        |bench: &Bench| -> Vec<bool> { bench.picture().system.iter().map(|here| here.covered.is_some()).collect() };
    bench.make(delete("system"));
    assert_eq!(covered(&bench), [false, false, true, true, true]);
    assert_eq!(code(&bench, delete("system#2")), ErrorCode::NothingToDo);
    assert_eq!(code(&bench, delete("system")), ErrorCode::Protected);
    bench.make(forced("system#0"));
    assert_eq!(covered(&bench), [true, false, true, true, true]);
    bench.make(forced("system"));
    assert_eq!((covered(&bench), code(&bench, forced("system"))), (vec![true; 5], ErrorCode::NothingToDo));
    bench.make(delete("tools/Bash"));
    assert_eq!(code(&bench, delete("tools/Bash")), ErrorCode::NothingToDo);
    bench.make(delete("tools"));
    assert_eq!(code(&bench, edit("tools", "x")), ErrorCode::Gone);
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
fn filters_choose() {
    let bench = Bench::new(talk());
    let tool = |name: &str| Select { tool: Some(name.into()), ..Select::default() };
    let larger = |tokens| Select { larger_than: Some(tokens), ..Select::default() };
    let older = |frames| Select { older_than: Some(frames), ..Select::default() };
    let sent = |operation: Operation| {
        let mut bench = bench.clone();
        bench.make(operation);
        bench.sent()
    };
    let drop_in = |select: Select| sent(drop_results("", select));
    let of = |ids: Vec<String>, select| Operation::Delete { ids, select, force: false };

    let lines = sent(of(vec![], tool("Read")));
    assert_eq!(lines[0], "t1 0.0 1.0 2.0 4.0");
    assert_eq!(lines[1], "t2 5.0 6.0 7.0 7.2 8.1 9.0 9.1 10.0 11.0");
    assert_eq!(sent(of(ids("t2"), tool("Read")))[0], "t1 0.0 1.0 2.0 2.1 3.0 4.0");
    assert_eq!(code(&bench, of(ids("t3"), tool("Read"))), ErrorCode::NoMatch);
    assert_eq!(code(&bench, of(vec![], tool("Nope"))), ErrorCode::NoMatch);

    assert_eq!(sent(of(vec![], larger(2000)))[1], "t2");
    assert_eq!(sent(of(vec![], older(1)))[..2], ["t1", "t2"]);
    assert_eq!(sent(of(vec![], older(2)))[0], "t1");
    assert_eq!(code(&bench, of(vec![], older(3))), ErrorCode::NoMatch);
    assert_eq!(code(&bench, of(ids("t3"), older(1))), ErrorCode::NoMatch);
    assert!(bench.effects(&of(ids("tools"), larger(500))).is_ok());
    assert_eq!(code(&bench, of(ids("tools"), larger(600))), ErrorCode::NoMatch);

    assert!(drop_in(larger(2000))[1].contains("8.0=dropped 8.1=dropped 9.0 9.1 10.0 11.0"));
    assert!(drop_in(tool("Bash"))[1].contains("8.0 8.1=dropped 9.0 9.1 10.0=dropped"));
    assert!(drop_in(older(2))[0].contains("3.0=dropped"));
    assert_eq!(code(&bench, drop_results("t3", Select::default())), ErrorCode::NoResults);
    let id = bench.talk.messages[8].blocks[1].tool_use_id.as_deref().map(str::to_owned);
    let by_id = Operation::DropResults { ids: vec![], select: Select::default(), result: id };
    assert!(sent(by_id)[1].contains("8.0 8.1=dropped 9.0"));
}

#[test]
fn what_was_dropped_is_small_and_not_dropped_again() {
    let mut bench = Bench::new(talk());
    let large = || drop_results("", Select { larger_than: Some(2000), ..Select::default() });
    bench.make(large());
    assert_eq!(code(&bench, large()), ErrorCode::NoResults, "a rule that runs again finds nothing");
    bench.make(drop_results("t2", Select::default()));
    let again = bench.refused(drop_results("t2", Select::default()));
    assert_eq!(
        (again.code, again.message.as_str()),
        (ErrorCode::NothingToDo, "All matching tool results in `t2` are dropped already.")
    );
    assert_eq!(code(&bench, drop_results("t3", Select::default())), ErrorCode::NoResults);
}

#[test]
fn rules_leave_alone_what_is_pinned() {
    let mut bench = Bench::new(talk());
    bench.make(pin("t2"));
    let all = Select { older_than: Some(0), ..Select::default() };
    bench.make(drop_results("", all.clone()));
    assert!(bench.sent()[0].contains("dropped") && !bench.sent()[1].contains("dropped"));
    bench.make(Operation::Delete { ids: vec![], select: all, force: false });
    assert_eq!((bench.sent()[0].as_str(), bench.sent()[2].as_str()), ("t1", "t3"));
    assert!(bench.sent()[1].len() > 10);
    bench.make(delete("t2"));
    assert_eq!(bench.sent()[1], "t2", "whoever names it means it");
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
fn the_clients_own_notes_stay_when_their_frame_goes() {
    let bench = || Bench::new(Talk::default().human_behind_notes().system().says().human().says());
    for operation in [delete("t1"), delete("t1#0"), delete("t1..t2")] {
        let mut bench = bench();
        bench.make(operation.clone());
        assert!(bench.sent()[0].starts_with("t1 0.0 0.1") && !bench.sent()[0].contains("0.2"), "{operation:?}");
    }
    for operation in [compact("t1", "short"), edit("t1", "∑short")] {
        let mut bench = bench();
        bench.make(operation);
        assert!(bench.sent()[0].starts_with("t1 0.0 0.1 '∑short'"), "{:?}", bench.sent());
    }
}

#[test]
fn the_clients_own_notes_go_when_they_are_named() {
    let bench = || Bench::new(Talk::default().human_behind_notes().says().human().says());
    let sent = |operation| {
        let mut bench = bench();
        bench.make(operation);
        bench.sent()[0].clone()
    };
    assert_eq!(sent(delete("t1#0.0")), "t1 0.1 0.2 1.0");
    assert_eq!(sent(delete("t1,t1#0.0")), "t1 0.1");
    assert_eq!(sent(compact("t1,t1#0.0,t1#0.1", "short")), "t1 '∑short'");
    assert_eq!(sent(Operation::Delete { ids: ids("t1"), select: Select::default(), force: true }), "t1");
    let mut twice = bench();
    twice.make(delete("t1"));
    let refusal = twice.refused(delete("t1"));
    assert_eq!(refusal.code, ErrorCode::NothingToDo);
    assert!(refusal.message.contains("own notes") && refusal.hint.to_string().contains("name those"), "{refusal:?}");
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
fn texts_take_the_place_that_fits() {
    let mut bench = Bench::new(talk());
    assert_eq!(code(&bench, edit("t2#3", "x")), ErrorCode::ManyResults);
    assert_eq!(code(&bench, edit("t2#2.1", "x")), ErrorCode::NotText);
    bench.make(edit("t1#3", "result"));
    assert!(bench.sent()[0].contains("3.0=result"));
    let role = |bench: &Bench| {
        bench.desk(|desk| desk.view.effects().last().and_then(|(_, effect)| effect.made().first()?.role))
    };
    bench.make(edit("t1/2", "the step"));
    assert_eq!(role(&bench), Some(Role::Assistant));
    bench.make(edit("t1", "the frame"));
    assert_eq!(role(&bench), Some(Role::User));
    bench.make(edit("t3#1.0", "inside"));
    assert_eq!(role(&bench), None);
    bench.make(edit("t3#1.0", "inside again"));
    assert_eq!(role(&bench), None);
    bench.make(edit("t3#1", "still inside"));
    assert_eq!(role(&bench), None);
    bench.make(add("x", end()));
    bench.make(edit("a1", "y"));
    assert_eq!((role(&bench), bench.sent()[3].as_str()), (Some(Role::User), "a1 'y'"));
    bench.make(edit("a1#0", "z"));
    assert_eq!((role(&bench), bench.sent()[3].as_str()), (Some(Role::User), "a1 'z'"));
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

/// Calls with their effects on files.
fn touching(calls: &[(&str, How)]) -> Talk {
    let mut talk = Talk::default().human();
    for (file, how) in calls {
        talk = talk.calls(&[if *how == How::Change { "Edit" } else { "Read" }]).results();
        let at = talk.messages.len() - 2;
        let call = talk.messages[at].blocks.last_mut().expect("a call");
        call.touches = Some(Box::new(Touch { file: key(file), how: *how }));
    }
    talk.says().human()
}

#[test]
fn what_was_read_is_superseded_when_its_file_is_read_again_or_changed() {
    let part = |name: &str| How::Read(Some(key(name)));
    let all = How::Read(None);
    let found = |calls: &[(&str, How)]| {
        let bench = Bench::new(touching(calls));
        let select = Select { superseded: true, ..Select::default() };
        let operation = Operation::DropResults { ids: vec![], select, result: None };
        match bench.effects(&operation) {
            Ok(effects) => match effects.as_slice() {
                [Effect::Results { results, .. }] => results.len(),
                other => panic!("{other:?}"),
            },
            Err(refusal) => {
                assert_eq!(refusal.code, ErrorCode::NoResults);
                0
            }
        }
    };
    assert_eq!(found(&[("a", all), ("b", all), ("c", How::Change)]), 0);
    assert_eq!(found(&[("a", all), ("b", all), ("a", all)]), 1);
    assert_eq!(found(&[("a", all), ("a", How::Change), ("a", all), ("a", How::Change)]), 2);
    assert_eq!(found(&[("a", How::Change), ("a", all)]), 0, "what was changed before is not newer");
    assert_eq!(found(&[("a", part("1")), ("a", part("2"))]), 0, "another part");
    assert_eq!(found(&[("a", all), ("a", part("2"))]), 0, "a part does not stand for the whole");
    assert_eq!(found(&[("a", part("1")), ("a", part("2")), ("a", part("1")), ("a", all)]), 3);
    assert_eq!(found(&[("a", part("1")), ("a", How::Change)]), 1);
}

#[test]
fn superseded_reads_are_chosen_like_everything_else() {
    let all = How::Read(None);
    let mut bench = Bench::new(touching(&[("a", all), ("b", all), ("a", all), ("b", How::Change)]));
    let select = || Select { superseded: true, ..Select::default() };
    let drop = |ids: &[&str], select| Operation::DropResults {
        ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        select,
        result: None,
    };
    assert_eq!(bench.effects(&drop(&["t1/2"], select())).map(|effects| effects.len()), Ok(1));
    assert_eq!(code(&bench, drop(&["t1/3"], select())), ErrorCode::NoResults);
    let tool = Select { tool: Some("Bash".into()), ..select() };
    assert_eq!(code(&bench, drop(&[], tool)), ErrorCode::NoResults);
    // A read whose content is gone stands for nothing any more.
    bench.make(drop(&["t1/3"], Select::default()));
    assert_eq!(code(&bench, drop(&["t1/1"], select())), ErrorCode::NoResults);
    bench.make(Operation::Delete { ids: vec![], select: select(), force: false });
    assert_eq!(code(&bench, drop(&["t1/2"], Select::default())), ErrorCode::NoResults, "it was the only one");
    assert!(bench.effects(&drop(&["t1/1"], Select::default())).is_ok());
}

#[test]
fn calls_are_chosen_by_their_ids() {
    let all = How::Read(None);
    let bench = Bench::new(touching(&[("a", all), ("b", all), ("c", all)]));
    let id = |at: usize| {
        let call = bench.talk.messages[at].blocks.last().expect("a call");
        call.tool_use_id.as_deref().expect("an id").to_owned()
    };
    let select = |calls: Vec<String>| Select { calls, ..Select::default() };
    let drop = |calls| Operation::DropResults { ids: vec![], select: select(calls), result: None };
    let results = |operation: &Operation| match bench.effects(operation).expect("applied").as_slice() {
        [Effect::Results { results, .. }] => results.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(results(&drop(vec![id(1)])), 1);
    assert_eq!(results(&drop(vec![id(1), id(5), "unknown".into()])), 2);
    assert_eq!(code(&bench, drop(vec!["unknown".into()])), ErrorCode::NoResults);
    let delete = Operation::Delete { ids: vec![], select: select(vec![id(3)]), force: false };
    assert!(
        matches!(bench.effects(&delete).expect("applied").as_slice(), [Effect::Replace { covers, .. }] if covers.len() == 2)
    );
}

#[test]
fn one_text_stands_for_one_result_only() {
    let mut bench = Bench::new(talk());
    let summarize = |id: &str, select: Select, result: Option<&str>| Operation::SummarizeResults {
        ids: ids(id),
        select,
        result: result.map(str::to_owned),
        text: Some("short".into()),
    };
    let large = Select { larger_than: Some(0), ..Select::default() };
    for refused in [
        summarize("t2", Select::default(), None),
        summarize("t2/1", Select::default(), None),
        summarize("t2#3", Select::default(), None),
        summarize("t1,t2", Select::default(), None),
        summarize("t2", large.clone(), None),
        Operation::SummarizeResults { ids: vec![], select: large, result: None, text: Some("short".into()) },
    ] {
        assert_eq!(code(&bench, refused.clone()), ErrorCode::ManyResults, "{refused:?}");
    }
    bench.make(summarize("t1", Select::default(), None));
    assert!(bench.sent()[0].contains("=short"), "{:?}", bench.sent());
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
