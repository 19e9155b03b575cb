//! The figures of a conversation: tokens, the map of its context, and its timeline.

use crate::frames::{eventful, show};
use crate::support::{House, answers};
use ctx_api::edit::EditRequest;
use ctx_api::map::{KindView, TurnView};
use ctx_core::ErrorCode;
use ctx_wire::answer::{Answer, Ending};
use serde_json::{Value, json};
use testkit::Session;

#[test]
fn tokens_sum_up_and_are_calibrated_by_the_provider() {
    let house = House::new();
    let mut session = eventful(11);
    let ticket = house.send(&session);
    let id = ticket.conversation.clone();
    let before = house.service.frames(&id, true, None).expect("frames");
    assert!(!before.calibrated, "nobody has confirmed the figures");
    let sum: u64 = before.frames.iter().map(|frame| frame.tokens).sum();
    assert!(before.tokens.abs_diff(sum) <= before.frames.len() as u64, "each is rounded: {} {sum}", before.tokens);
    let estimate = before.tokens;

    let reported = estimate * 5 / 4;
    house.answer(&ticket, answers::text("The docs are written.", reported));
    let after = house.service.frames(&id, true, None).expect("frames");
    assert!(after.calibrated);
    let pending = show(&house, &id, "t3#1").tokens;
    assert!(
        after.tokens.abs_diff(reported + pending) <= after.frames.len() as u64,
        "{} {reported} {pending}",
        after.tokens
    );

    // Parts sum up to what holds them, but for rounding.
    for frame in after.frames.iter().filter(|frame| frame.kind == "turn") {
        let shown = show(&house, &id, &frame.id);
        let parts: u64 = shown.messages.iter().map(|message| message.tokens).sum();
        let blocks: u64 = shown.messages.iter().flat_map(|message| &message.blocks).map(|block| block.tokens).sum();
        assert_eq!(shown.tokens, frame.tokens, "{}", frame.id);
        assert!(
            parts.abs_diff(frame.tokens) <= 9 && blocks.abs_diff(frame.tokens) <= 9,
            "{}: {parts} {blocks}",
            frame.id
        );
        let steps: u64 = frame.step_list.iter().flatten().map(|step| step.tokens).sum();
        assert!(steps <= frame.tokens + 2);
    }
    for around in ["system", "tools"] {
        let frame = after.frames.iter().find(|frame| frame.id == around).expect("a frame");
        assert!(show(&house, &id, around).tokens.abs_diff(frame.tokens) <= 12, "{around}");
    }
    let listed = house.service.conversations().conversations.remove(0);
    assert!(listed.calibrated && listed.tokens.abs_diff(after.tokens) <= after.frames.len() as u64);

    // The scale stays: after the next turn, and after a restart.
    session.assistant("The docs are written.").user("good");
    house.send(&session);
    let house = house.restart();
    let next = house.service.frames(&id, false, None).expect("frames");
    assert!(next.calibrated && next.tokens > after.tokens);
}

#[test]
fn figures_of_failed_answers_and_of_side_requests_calibrate_nothing() {
    let house = House::new();
    let session = eventful(12);
    let ticket = house.send(&session);
    house.fail(&ticket, None);
    let side = crate::support::sides::all(&session, false).remove(2);
    let aside = house.send_value(&side.headers, &side.body);
    house.answer(&aside, answers::text("maybe", 9000));
    let frames = house.service.frames(&ticket.conversation, false, None).expect("frames");
    assert!(!frames.calibrated && frames.frames.iter().all(|frame| !frame.pending));
}

#[test]
fn the_timeline_tells_what_arrived_and_what_was_answered() {
    let house = House::new();
    let mut session = eventful(13);
    let ticket = house.send(&session);
    house.reply(&ticket, "ok");
    session.assistant("ok").user("next");
    house.send(&session);
    let id = ticket.conversation;
    let events = house.events(&id);
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["kind"].as_str()).collect();
    assert_eq!(kinds, ["opened", "request", "answer", "request"]);
    let answer = &events[2];
    assert_eq!((answer["request"].as_u64(), answer["status"].as_u64()), (Some(1), Some(200)));
    assert_eq!(answer["stop_reason"], "end_turn");
    assert_eq!(answer["usage"], json!({"input": 3, "cache_read": 997, "cache_write": 0, "output": 9}));
    assert_eq!((answer["first_byte_ms"].as_u64(), answer["total_ms"].as_u64()), (Some(5), Some(20)));
    assert!(events.windows(2).all(|pair| pair[0]["seq"].as_u64() < pair[1]["seq"].as_u64()));
    let newest = house.service.timeline(&id, 1).expect("a timeline");
    assert_eq!(serde_json::to_value(newest.events).expect("JSON"), json!([events[3]]));
}

#[test]
fn what_the_provider_counts_is_held_against_what_it_was_sent() {
    use ctx_api::edit::EditRequest;
    use ctx_api::history::{Action, HistoryRequest};
    let house = House::new();
    let mut session = Session::new(70);
    session.user("a long question").assistant(&"a long answer, again and again. ".repeat(400));
    session.user("a short one").assistant("a short answer").user("and now?");
    let id = house.send(&session).conversation;
    let tokens = |house: &House| house.service.frames(&id, false, None).expect("frames").tokens;
    let before = tokens(&house);
    let edit = |operation: serde_json::Value| EditRequest {
        operations: vec![serde_json::from_value(operation).expect("an operation")],
        author: "api".into(),
        ..EditRequest::default()
    };
    let applied = house.service.apply(&id, edit(serde_json::json!({"op": "delete", "ids": ["t1"]}))).expect("applied");
    assert!(applied.tokens_after < applied.tokens_before, "{applied:?}");
    // The provider counts about what we expect of the edited request: our scale stays what it was.
    session.assistant("well").user("go on");
    let (ticket, outgoing) = house.hold(&session);
    assert!(outgoing.is_some());
    house.answer(&ticket, answers::text("well", applied.tokens_after));
    let request = HistoryRequest {
        action: Action::Undo,
        target: None,
        name: None,
        cascade: false,
        author: "api".into(),
        note: None,
        expect: None,
        dry_run: false,
        when: Default::default(),
    };
    let undone = house.service.go(&id, request).expect("undone");
    let off = undone.tokens_after.abs_diff(before) as f64 / before as f64;
    assert!(off < 0.1, "{before} tokens became {}: {applied:?} {undone:?}", undone.tokens_after);
}

#[test]
fn an_edit_does_not_bring_a_conversation_over_the_line_of_many_images() {
    let house = House::new();
    let mut session = Session::new(71).lean();
    session.user("look");
    let id = house.send(&session).conversation;
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let edit = |count: usize| ctx_api::edit::EditRequest {
        operations: vec![
            serde_json::from_value(json!({
                "op": "edit", "id": "t1", "raw": {"role": "user", "content": vec![image.clone(); count]},
            }))
            .expect("an operation"),
        ],
        author: "api".into(),
        dry_run: true,
        ..Default::default()
    };
    assert!(house.service.apply(&id, edit(20)).is_ok());
    let refusal = house.service.apply(&id, edit(21)).expect_err("too many");
    assert_eq!(refusal.code, ErrorCode::ManyImages);
    assert!(refusal.message.contains("A82"));
}

/// An answer that the provider's cache had a part in.
fn billed(read: u64, written: u64) -> Answer {
    let stream = answers::stream(&[json!({"type": "text", "text": "done"})], 1000, "end_turn");
    let stream = String::from_utf8(stream).expect("text");
    let stream = stream.replace(r#""cache_read_input_tokens":997"#, &format!(r#""cache_read_input_tokens":{read}"#));
    let stream =
        stream.replace(r#""cache_creation_input_tokens":0"#, &format!(r#""cache_creation_input_tokens":{written}"#));
    answers::read(stream.as_bytes(), Ending::Complete)
}

#[test]
fn the_map_tells_what_the_context_is_made_of_and_what_each_turn_took() {
    let house = House::new();
    let mut session = eventful(10);
    let first = house.send(&session);
    let id = first.conversation.clone();
    house.answer(&first, billed(0, 1000));
    session.assistant("done").user("and another thing");
    let second = house.send(&session);
    house.answer(&second, billed(1000, 500));
    let map = house.service.map(&id, None).expect("a map");
    let total = house.service.frames(&id, false, None).expect("frames").tokens;
    assert!(map.tokens.abs_diff(total) <= 20, "{} and {total}", map.tokens);
    let kind = |kind: &str, tool: Option<&str>| {
        map.kinds.iter().find(|view| view.kind == kind && view.tool.as_deref() == tool).expect(kind).clone()
    };
    let places = |view: &KindView| view.frames.iter().map(|share| share.id.clone()).collect::<Vec<_>>();
    assert_eq!(places(&kind("system", None)), ["system"]);
    assert_eq!(places(&kind("tools", Some("Bash"))), ["tools"]);
    assert_eq!(places(&kind("results", Some("Read"))), ["t1"]);
    assert_eq!(places(&kind("calls", Some("Edit"))), ["t2"]);
    let user = kind("user", None);
    assert_eq!((places(&user), user.count), (vec!["t1".into(), "t2".into(), "t3".into(), "t4".into()], 4));
    assert!(map.kinds.iter().all(|kind| kind.tokens == kind.frames.iter().map(|share| share.tokens).sum::<u64>()));
    assert!(map.kinds.is_sorted_by_key(|kind| std::cmp::Reverse(kind.tokens)));

    let turn = |turn: &TurnView| (turn.request, turn.frame.clone(), turn.cache_read, turn.cache_write, turn.context);
    assert_eq!(turn(&map.turns[0]), (1, Some("t3".into()), 0, 1000, 1003));
    assert_eq!(turn(&map.turns[1]), (2, Some("t4".into()), 1000, 500, 1503));
    // 3 × $4 + 1000 × $5 + 9 × $20 for a million.
    assert!((map.turns[0].money.expect("a price") - 0.005192).abs() < 1e-9, "{:?}", map.turns[0]);

    let operations = json!([{"op": "compact", "ids": ["t1"], "text": "they looked"}]);
    let operations = serde_json::from_value(operations).expect("an operation");
    let edit = EditRequest { operations, author: "test".into(), ..EditRequest::default() };
    house.service.apply(&id, edit).expect("applied");
    let map = house.service.map(&id, None).expect("a map");
    assert!(!map.kinds.iter().any(|kind| kind.tool.as_deref() == Some("Read") && kind.kind == "results"));
    assert_eq!(map.kinds.iter().find(|kind| kind.kind == "edits").map(places), Some(vec!["t1".into()]));
}

#[test]
fn the_timeline_tells_what_an_answer_cost_and_why_the_cache_missed() {
    let house = House::new();
    let mut session = eventful(11);
    let first = house.send(&session);
    house.answer(&first, billed(0, 1000));
    session.assistant("done").user("next");
    house.answer(&house.send(&session), billed(1000, 500));
    let operations = serde_json::from_value(json!([{"op": "delete", "ids": ["t2"]}])).expect("an operation");
    let edit = EditRequest { operations, author: "test".into(), ..EditRequest::default() };
    house.service.apply(&first.conversation, edit).expect("applied");
    session.assistant("done").user("and next");
    house.answer(&house.hold(&session).0, billed(600, 500));
    let events = house.events(&first.conversation);
    let answers: Vec<&Value> = events.iter().filter(|event| event["kind"] == "answer").collect();
    let misses: Vec<&Value> = answers.iter().map(|answer| &answer["cache_miss"]).collect();
    let told = |miss: &Value| ["cause", "by", "place", "tokens"].map(|name| miss[name].clone());
    assert_eq!(told(misses[0]), [json!("first-request"), json!("client"), Value::Null, json!(1003)]);
    assert_eq!(misses[1], &Value::Null);
    assert_eq!(
        told(misses[2]),
        [json!("edited"), json!("user"), json!("t2"), json!(503)],
        "no more than was read anew"
    );
    assert!(answers.iter().all(|answer| answer["money"].as_f64().is_some_and(|dollars| dollars > 0.0)), "{answers:?}");
}

#[test]
fn a_timeline_tells_in_which_frame_each_request_ends() {
    let house = House::new();
    let mut session = Session::new(13).lean();
    session.user("fix the parser").assistant_tools(&[("Read", json!({"file_path": "/a"}))]).results(&["fn parse() {}"]);
    let id = house.send(&session).conversation;
    house.send(&session);
    session.assistant("done").user("and the tests");
    house.send(&session);
    let asked = |house: &House| -> Vec<Value> {
        let events = house.events(&id);
        events.iter().filter(|event| event["kind"] == "request").map(|event| event["frame"].clone()).collect()
    };
    assert_eq!(asked(&house), ["t1", "t1", "t2"], "a retry ends where the first try did");
    let operations = serde_json::from_value(json!([{"op": "delete", "ids": ["t1"]}])).expect("an operation");
    let edit = EditRequest { operations, author: "test".into(), ..EditRequest::default() };
    house.service.apply(&id, edit).expect("applied");
    assert_eq!(asked(&house), ["t1", "t1", "t2"], "also of what is not sent any more");
}
