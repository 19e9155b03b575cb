//! Operations that choose among tool results.

use super::*;

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
fn a_setting_stays_when_its_frame_goes_until_it_is_named() {
    let bench = || Bench::new(Talk::default().human().compaction().calls(&["Read"]).results().says().human().says());
    let raw =
        Operation::Delete { ids: vec![], select: Select { older_than: Some(0), ..Select::default() }, force: false };
    for operation in [delete("t1"), delete("t1..t2"), delete("t1,t1/1"), raw] {
        let mut bench = bench();
        bench.make(operation.clone());
        assert_eq!(bench.sent()[0], "t1 1.0", "{operation:?}");
    }
    for operation in [compact("t1", "short"), edit("t1", "∑short"), compact("t1..t2", "short")] {
        let mut bench = bench();
        bench.make(operation);
        assert_eq!(bench.sent()[0], "t1 '∑short' 1.0");
    }
    let mut twice = bench();
    twice.make(delete("t1"));
    let refusal = twice.refused(delete("t1"));
    assert_eq!(refusal.code, ErrorCode::NothingToDo);
    assert!(refusal.message.contains("settings"), "{refusal:?}");
    twice.make(delete("t1#1"));
    assert_eq!(twice.sent()[0], "t1");
    let mut forced = bench();
    forced.make(Operation::Delete { ids: ids("t1"), select: Select::default(), force: true });
    assert_eq!(forced.sent()[0], "t1");
    let refusal = bench().refused(edit("t1#1", "my memory"));
    assert_eq!(refusal.code, ErrorCode::NotText);
    assert!(refusal.message.contains("`compaction`"), "{refusal:?}");
}

#[test]
fn a_setting_does_not_move_with_its_frame() {
    let mut bench = Bench::new(Talk::default().human().compaction().says().human().says().human().says());
    assert!(bench.effects(&combine("t1,t3")).is_ok(), "only the other frame moves");
    let refusal = bench.refused(shift("t1", end()));
    assert!(refusal.message.contains("`compaction`"), "{refusal:?}");
    bench.make(shift("t2", end()));
    let behind = Bench::new(Talk::default().human().says().human().says().human().compaction().says());
    assert_eq!(behind.refused(combine("t1,t3")).code, ErrorCode::Protected);
}

#[test]
fn nothing_passes_a_summary_of_the_provider_and_it_stays_when_its_frame_goes() {
    let talk = || Talk::default().human().says().human().says().human().says_summary().human().says().human().says();
    let mut bench = Bench::new(talk());
    assert!(bench.refused(shift("t3", end())).message.contains("`compaction`"));
    for operation in [shift("t1", end()), shift("t4", start()), combine("t1,t4"), shift("t1", after("t3"))] {
        let refusal = bench.refused(operation.clone());
        assert_eq!(refusal.code, ErrorCode::Protected, "{operation:?}");
        assert!(refusal.message.contains("`t3` contains the provider's summary"), "{refusal:?}");
    }
    bench.make(shift("t2", start()));
    bench.make(shift("t4", end()));
    bench.make(combine("t3,t4"));
    let mut bench = Bench::new(talk());
    bench.make(delete("t3"));
    assert_eq!(bench.sent()[2], "t3 5.0");
    bench.make(delete("t3#1.0"));
    bench.make(shift("t4", start()));
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
