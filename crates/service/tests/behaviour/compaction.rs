//! After the client's own compaction: names stay, and what it left behind is still in reach.

use crate::support::{House, sides};
use ctx_api::edit::EditRequest;
use ctx_api::frames::FrameView;
use ctx_api::frames::LeftReason;
use ctx_core::ErrorCode;
use ctx_core::edit::Operation;
use ctx_core::edit::operation::Where;
use serde_json::{Value, json};
use testkit::Session;

fn tool(path: &str) -> (&'static str, Value) {
    ("Read", json!({"file_path": path}))
}

/// Three frames, the second with a tool loop.
fn begun() -> Session {
    let mut session = Session::new(31).lean();
    session.user("fix the parser").assistant("It is fixed.");
    session.user("second task: the zebra").assistant_tools(&[tool("/zebra.rs")]).results(&["stripes"]);
    session.assistant("Done.").user("third task").assistant("That too.");
    session
}

fn compacted(session: &Session) -> Value {
    sides::compacted(&session.body_value(), 0, "go on")
}

fn make(house: &House, id: &str, operation: Operation) -> String {
    let edit = EditRequest { operations: vec![operation], author: "test".into(), ..EditRequest::default() };
    house.service.apply(id, edit).expect("made").commit.expect("a commit")
}

fn ids(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn import(from: &str, names: &[&str]) -> Operation {
    let to = Where { end: true, ..Where::default() };
    Operation::Import { from: from.into(), ids: ids(names), to, edits: false }
}

fn all(house: &House, id: &str) -> Vec<FrameView> {
    let frames = house.service.all_frames(id, true, None).expect("frames").frames;
    frames.into_iter().filter(|frame| frame.kind == "turn").collect()
}

fn names(frames: &[FrameView]) -> Vec<(&str, Option<LeftReason>)> {
    frames.iter().map(|frame| (frame.id.as_str(), frame.left)).collect()
}

fn title(house: &House, id: &str) -> String {
    let all = house.service.conversations().conversations;
    all.into_iter().find(|conversation| conversation.id == id).expect("listed").title
}

#[test]
fn frames_keep_their_ids_and_the_conversation_its_title() {
    let house = House::new();
    let session = begun();
    let id = house.send(&session).conversation;
    let before: Vec<String> = house.turns(&id).into_iter().map(|(id, _)| id).collect();
    assert_eq!(before, ["t1", "t2", "t3"]);
    house.send_value(&session.headers(), &compacted(&session));
    let after = |house: &House| -> Vec<(String, String)> { house.turns(&id) };
    let expected = [("t4", "Summary of the conversation so far"), ("t5", "go on")];
    assert_eq!(after(&house), expected.map(|(id, title)| (id.to_owned(), title.to_owned())));
    assert_eq!(title(&house, &id), "fix the parser");
    let house = house.restart();
    assert_eq!(after(&house), expected.map(|(id, title)| (id.to_owned(), title.to_owned())));
    assert_eq!(title(&house, &id), "fix the parser");
    // The client goes back to before it: the old names, and the new ones are left.
    house.send(&session);
    assert_eq!(house.turns(&id).into_iter().map(|(id, _)| id).collect::<Vec<_>>(), ["t1", "t2", "t3"]);
    assert_eq!(names(&all(&house, &id))[..2], [("t4", Some(LeftReason::Rewound)), ("t5", Some(LeftReason::Rewound))]);
}

#[test]
fn what_a_compaction_left_is_listed_shown_and_searched_but_neither_sent_nor_counted() {
    let house = House::new();
    let session = begun();
    let id = house.send(&session).conversation;
    let commit = make(
        &house,
        &id,
        Operation::Retitle { id: "t3".into(), title: Some("the third".into()), summary: None, auto: false },
    );
    house.send_value(&session.headers(), &compacted(&session));
    let house = house.restart();
    let left = Some(LeftReason::BeforeCompaction);
    let frames = all(&house, &id);
    assert_eq!(names(&frames), [("t1", left), ("t2", left), ("t3", left), ("t4", None), ("t5", None)]);
    assert!(frames[1].state.contains(&"before-compaction".to_owned()) && frames[1].steps == 2);
    assert_eq!((frames[2].title.as_str(), frames[2].by.as_slice()), ("the third", [commit].as_slice()));
    let at_source = house.service.all_frames(&id, false, Some("source")).expect("frames").frames;
    assert!(at_source.iter().any(|frame| frame.id == "t3" && frame.title == "third task"));

    let list = house.service.frames(&id, false, None).expect("frames");
    assert_eq!((list.left_frames, list.frames.iter().filter(|frame| frame.left.is_some()).count()), (3, 0));
    assert_eq!(house.service.all_frames(&id, false, None).expect("frames").tokens, list.tokens);

    let shown = house.service.show(&id, "t2", None).expect("shown");
    assert_eq!((shown.left, shown.title.as_str()), (left, "second task: the zebra"));
    assert_eq!(shown.messages[0].blocks[0].text, "second task: the zebra");
    assert!(house.service.show(&id, "t2/1", None).expect("a step").messages.iter().any(|message| message.step == 1));
    assert_eq!(house.service.show(&id, "t5", None).expect("shown").left, None);

    let found = house.service.search("zebra", None, 10).expect("found").conversations;
    let hit = &found[0].hits[0];
    assert_eq!((hit.frame.as_str(), hit.sent, hit.left), ("t2", false, left));

    let edit = EditRequest {
        operations: vec![Operation::Pin { ids: ids(&["t2"]) }],
        author: "test".into(),
        ..EditRequest::default()
    };
    let refusal = house.service.apply(&id, edit).expect_err("refused");
    assert!(refusal.code == ErrorCode::Left && refusal.message.contains("compacted"), "{refusal:?}");
    assert!(refusal.hint.to_string().contains(&format!("ctx import {id} t2")), "{refusal:?}");
}

#[test]
fn a_frame_from_before_a_compaction_is_imported_into_its_own_conversation_and_into_others() {
    let house = House::new();
    let session = begun();
    let id = house.send(&session).conversation;
    house.send_value(&session.headers(), &compacted(&session));
    make(&house, &id, import(&id, &["t2"]));
    let text = String::from_utf8(house.compose(&id)).expect("UTF-8");
    assert!(text.contains("second task: the zebra") && text.contains("stripes") && !text.contains("third task"));
    let edit = EditRequest { operations: vec![import(&id, &["t5"])], author: "test".into(), ..EditRequest::default() };
    assert_eq!(house.service.apply(&id, edit).expect_err("it is sent already").code, ErrorCode::SameConversation);

    let mut other = Session::new(32).lean();
    other.user("elsewhere");
    let elsewhere = house.send(&other).conversation;
    make(&house, &elsewhere, import(&id, &["t2", "t5"]));
    let text = String::from_utf8(house.compose(&elsewhere)).expect("UTF-8");
    assert!(text.contains("stripes") && text.contains("go on"), "{text}");

    // What was imported can be cut like anything else.
    let each = Operation::Split { id: "a1".into(), at: vec![], at_step: vec![], each_step: true };
    make(&house, &elsewhere, each);
    let parts: Vec<String> = house.turns(&elsewhere).into_iter().map(|(id, _)| id).collect();
    assert_eq!(parts, ["t1", "a1.1", "a1.2", "a1.3", "a2"]);
    let step = house.service.show(&elsewhere, "a1.2", None).expect("shown");
    let kinds: Vec<&str> = step.messages.iter().flat_map(|message| &message.blocks).map(|block| &*block.kind).collect();
    assert_eq!(kinds, ["tool_use", "tool_result"]);
    assert_eq!(
        String::from_utf8(house.compose(&elsewhere)).expect("UTF-8"),
        text,
        "a cut changes nothing that is sent"
    );
}

#[test]
fn a_summary_with_a_prompt_behind_it_is_called_by_the_prompt() {
    let house = House::new();
    let session = begun();
    let id = house.send(&session).conversation;
    let mut body = compacted(&session);
    let messages = body["messages"].as_array_mut().expect("messages");
    let question = messages.pop().expect("a question");
    messages[0]["content"].as_array_mut().expect("blocks").push(question["content"][0].clone());
    house.send_value(&session.headers(), &body);
    assert_eq!(house.last(&id).verdict, "compaction");
    assert_eq!(house.turns(&id), [("t4".to_owned(), "go on".to_owned())]);
    assert_eq!(title(&house, &id), "fix the parser");
}

#[test]
fn a_fork_of_a_compacted_conversation_keeps_its_title() {
    let house = House::new();
    let mut session = begun();
    let id = house.send(&session).conversation;
    house.send_value(&session.headers(), &compacted(&session));
    let mut fork = session.fork();
    fork.assistant("unused");
    let mut body = compacted(&session);
    let (old, new) = (session.session_id(), fork.session_id());
    let text = body.to_string().replace(old, new);
    body = serde_json::from_str(&text).expect("JSON");
    sides::unmarked(&mut body["messages"]);
    let messages = body["messages"].as_array_mut().expect("messages");
    messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": "Going on as you asked me to."}]}));
    let mark = json!({"type": "ephemeral"});
    messages.push(json!({"role": "user", "content": [{"type": "text", "text": "and now?", "cache_control": mark}]}));
    let forked = house.send_value(&fork.headers(), &body).conversation;
    assert_ne!(forked, id);
    assert_eq!(house.last(&forked).verdict, "fork");
    assert_eq!(title(&house, &forked), "fix the parser");
    let house = house.restart();
    house.send_value(&fork.headers(), &body);
    assert_eq!(title(&house, &forked), "fix the parser");
}

#[test]
fn other_words_after_a_rewind_get_a_number_of_their_own() {
    let house = House::new();
    let mut session = begun();
    let mut other = session.clone();
    session.user("fourth task");
    let id = house.send(&session).conversation;
    other.user("something else instead");
    house.send(&other);
    let turns = |house: &House| house.turns(&id).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(turns(&house), ["t1", "t2", "t3", "t5"]);
    assert_eq!(names(&all(&house, &id))[0], ("t4", Some(LeftReason::Rewound)));
    let house = house.restart();
    assert_eq!(turns(&house), ["t1", "t2", "t3", "t5"]);
    house.send(&session);
    assert_eq!(turns(&house), ["t1", "t2", "t3", "t4"], "it has come back");
}

#[test]
fn the_reply_that_the_client_summarised_before_it_sent_it_back_is_kept() {
    let house = House::new();
    let mut session = begun();
    session.user("fourth task");
    let ticket = house.send(&session);
    house.reply(&ticket, "the last words before the summary");
    let id = ticket.conversation;
    house.send_value(&session.headers(), &compacted(&session));
    let last = |house: &House| {
        let shown = house.service.show(&id, "t4", None).expect("shown");
        (shown.left, shown.messages.last().expect("a message").blocks[0].text.clone())
    };
    let expected = (Some(LeftReason::BeforeCompaction), "the last words before the summary".to_owned());
    assert_eq!(last(&house), expected);
    let house = house.restart();
    assert_eq!(last(&house), expected);
    assert!(house.judge(&session).verdict == "return", "the way back is known all the same");
    assert_eq!(house.compose(&id), session.body());
}

#[test]
fn a_rewound_frame_keeps_its_last_reply() {
    let house = House::new();
    let mut session = begun();
    let mut other = session.clone();
    session.user("fourth task");
    let ticket = house.send(&session);
    house.reply(&ticket, "the answer that was rewound");
    let id = ticket.conversation;
    other.user("something else instead");
    house.send(&other);
    assert_eq!(house.last(&id).verdict, "rewind");
    let last = |house: &House| {
        let shown = house.service.show(&id, "t4", None).expect("shown");
        (shown.left, shown.messages.last().expect("a message").blocks[0].text.clone())
    };
    let expected = (Some(LeftReason::Rewound), "the answer that was rewound".to_owned());
    assert_eq!(last(&house), expected);
    let found = house.service.search("answer that was rewound", None, 10).expect("found").conversations;
    assert_eq!((found[0].hits[0].frame.as_str(), found[0].hits[0].left), ("t4", Some(LeftReason::Rewound)));
    let house = house.restart();
    assert_eq!(last(&house), expected);
    // The client returns to it: the reply is the one that is known.
    session.assistant("the answer that was rewound").user("fifth task");
    let seen = house.judge(&session);
    assert_eq!((seen.verdict.as_str(), house.compose(&id)), ("return", session.body()));
}

#[test]
fn a_fork_tells_how_many_tokens_the_edits_it_inherits_remove() {
    let house = House::new();
    let mut session = begun();
    let id = house.send(&session).conversation;
    make(&house, &id, Operation::Delete { ids: ids(&["t2"]), select: Default::default(), force: false });
    let mut fork = session.fork();
    fork.user("go on elsewhere");
    let forked = house.hold(&fork).0.conversation;
    let history = house.service.history(&forked, 10).expect("a history");
    let inherited = &history.commits[0];
    assert_eq!(inherited.kind, "inherit");
    assert!(inherited.tokens_after < inherited.tokens_before && inherited.tokens_after > 0, "{inherited:?}");
}

#[test]
fn titles_follow_edits_and_a_summary_keeps_them() {
    let house = House::new();
    let mut session = begun();
    session.user("fourth task");
    let id = house.send(&session).conversation;
    let edit = |place: &str, text: &str| {
        let (id, text) = (place.into(), Some(text.into()));
        Operation::Edit { id, text, raw: None, content: None, force: false }
    };
    make(&house, &id, edit("t1#2", "I never said that"));
    make(&house, &id, edit("t3#0", "other words"));
    make(&house, &id, Operation::Compact { ids: ids(&["t2"]), select: Default::default(), text: Some("short".into()) });
    let frames = house.service.frames(&id, true, None).expect("frames").frames;
    let frame = |id: &str| frames.iter().find(|frame| frame.id == id).expect("a frame");
    let steps = frame("t1").step_list.as_deref().expect("steps");
    assert_eq!(steps[0].title, "I never said that");
    assert_eq!((frame("t3").title.as_str(), frame("t2").title.as_str()), ("other words", "second task: the zebra"));
}
