//! New content, new places, and the pairs that stay whole.

use super::*;
use crate::message::Block;

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
fn an_item_of_an_unknown_type_takes_no_other_content() {
    let unknown = Block { label: Some("teleport_call".into()), ..block(Kind::Other, 40) };
    let bench = Bench::new(Talk::default().human().push(Role::Other, vec![unknown], None).says().human());
    let raw = Operation::Edit {
        id: "t1#1.0".into(),
        text: None,
        raw: Some(json!({"type": "text", "text": "x"})),
        content: None,
        force: false,
    };
    for operation in [edit("t1#1", "x"), edit("t1#1.0", "x"), raw] {
        let refusal = bench.refused(operation);
        assert_eq!(refusal.code, ErrorCode::NotText);
        assert!(refusal.message.contains("`teleport_call`"), "{}", refusal.message);
    }
    assert_eq!(code(&bench, edit("t1#1,t1#2", "x")), ErrorCode::AmbiguousId);
    let mut bench = bench;
    bench.make(edit("t1", "all of it"));
    assert_eq!(bench.sent()[0], "t1 'all of it'");
}
