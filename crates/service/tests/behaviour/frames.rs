//! Frames and their steps, the pending reply, and ids of parts.

use crate::support::{House, answers};
use ctx_api::call::of_session;
use ctx_api::edit::EditRequest;
use ctx_api::frames::FrameView;
use ctx_api::show::ContentView;
use ctx_core::ErrorCode;
use ctx_wire::answer::Ending;
use serde_json::{Value, json};
use testkit::{Family, Session};

fn read(path: &str) -> (&'static str, Value) {
    ("Read", json!({"file_path": path}))
}

/// Two questions; during the first something is typed while a tool runs.
pub fn eventful(seed: u64) -> Session {
    let mut session = Session::new(seed).lean();
    session
        .user("fix the parser")
        .assistant_tools(&[read("/src/parser.rs"), ("Bash", json!({"command": "cargo test"}))])
        .interject("and be quick about it")
        .results(&["fn parse() {}", "1 failed"])
        .assistant_tools(&[("Edit", json!({"file_path": "/src/parser.rs", "old_string": "a", "new_string": "b"}))])
        .results(&["done"])
        .assistant("It is fixed.")
        .user("thanks, now the docs");
    session
}

fn frames(house: &House, id: &str) -> Vec<FrameView> {
    house.service.frames(id, true, None).expect("frames").frames
}

pub fn show(house: &House, id: &str, part: &str) -> ContentView {
    house.service.show(id, part, None).unwrap_or_else(|refusal| panic!("{part}: {refusal} {}", refusal.hint))
}

#[test]
fn frames_are_system_tools_and_a_turn_for_each_time_the_human_speaks() {
    let house = House::new();
    let session = eventful(1);
    let id = house.send(&session).conversation;
    let frames = frames(&house, &id);
    let row =
        |frame: &FrameView| (frame.id.clone(), frame.kind.clone(), frame.title.clone(), frame.messages, frame.steps);
    let turn =
        |id: &str, title: &str, messages, steps| (id.to_owned(), "turn".to_owned(), title.to_owned(), messages, steps);
    assert_eq!((frames[0].id.as_str(), frames[0].title.as_str()), ("system", "System prompt, 3 blocks"));
    assert_eq!((frames[1].id.as_str(), frames[1].title.as_str()), ("tools", "12 tools: Agent, Bash, Edit, Glob, …"));
    assert_eq!(row(&frames[2]), turn("t1", "fix the parser", 4, 1), "prompt, environment, call, results");
    assert_eq!(
        row(&frames[3]),
        turn("t2", "and be quick about it", 4, 2),
        "the border lies inside the results' message"
    );
    assert_eq!(row(&frames[4]), turn("t3", "thanks, now the docs", 1, 0));
    assert_eq!(frames.len(), 5);
    for frame in &frames {
        assert_eq!((frame.tokens, frame.state.len(), frame.pinned), (frame.source_tokens, 0, false));
    }
}

#[test]
fn steps_are_the_models_moves_with_their_results() {
    let house = House::new();
    let id = house.send(&eventful(2)).conversation;
    let frames = frames(&house, &id);
    let steps = |at: usize| -> Vec<(String, String, usize, Vec<String>)> {
        let list: &FrameView = &frames[at];
        let steps = list.step_list.clone().expect("steps");
        steps.into_iter().map(|step| (step.id, step.title, step.messages, step.tools)).collect()
    };
    let step = |id: &str, title: &str, messages, tools: &[&str]| {
        (id.to_owned(), title.to_owned(), messages, tools.iter().map(|tool| (*tool).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(steps(2), [step("t1/1", "Read /src/parser.rs (+1)", 2, &["Read", "Bash"])]);
    assert_eq!(steps(3), [step("t2/1", "Edit /src/parser.rs", 2, &["Edit"]), step("t2/2", "It is fixed.", 1, &[])]);
    assert!(steps(4).is_empty());
    let without = house.service.frames(&id, false, None).expect("frames");
    assert!(without.frames.iter().all(|frame| frame.step_list.is_none()));
}

#[test]
fn titles_are_the_humans_words() {
    let house = House::new();
    let texts = [
        "<system-reminder>\nnotes\n</system-reminder>\n\nfix   the\nparser",
        "<bash-input>cargo test</bash-input>",
        "<command-name>/review</command-name><command-args>src</command-args>",
        "[Request interrupted by user]\n",
    ];
    let messages: Vec<Value> = texts
        .iter()
        .flat_map(|text| {
            let answer = json!({"role": "assistant", "content": [{"type": "text", "text": "ok"}]});
            [json!({"role": "user", "content": text}), answer]
        })
        .collect();
    let body = json!({"model": "m", "messages": messages});
    let id = house.send_value(&crate::support::nameless(), &body).conversation;
    assert_eq!(house.titles(&id), ["fix the parser", "! cargo test", "/review src"]);
    assert_eq!(house.service.conversations().conversations[0].title, "fix the parser");
}

#[test]
fn family_b_shows_the_same_turns() {
    let house = House::new();
    let mut session = Session::new(3).lean().family(Family::B);
    session
        .user("first")
        .assistant_tools(&[read("/a")])
        .event("a file changed")
        .results(&["x"])
        .assistant("ok")
        .user("second");
    let id = house.send(&session).conversation;
    assert_eq!(house.titles(&id), ["first", "second"]);
    assert_eq!(frames(&house, &id)[2].steps, 2);
}

#[test]
fn the_reply_is_shown_while_it_is_only_in_the_stream() {
    let house = House::new();
    let mut session = Session::new(4).lean();
    session.user("fix the parser");
    let ticket = house.send(&session);
    let id = ticket.conversation.clone();
    assert!(frames(&house, &id).iter().all(|frame| !frame.pending));

    session.assistant_tools(&[read("/src/parser.rs")]);
    let reply = answers::last_blocks(&session.body_value());
    let reply: Vec<Value> = reply
        .into_iter()
        .map(|mut block| {
            block.as_object_mut().map(|block| block.remove("cache_control"));
            block
        })
        .collect();
    house.answer(&ticket, answers::blocks(&reply, 5000));
    let check = |house: &House| {
        let turn = frames(house, &id).remove(2);
        assert_eq!((turn.pending, turn.messages, turn.steps), (true, 3, 1));
        assert_eq!(turn.step_list.expect("steps")[0].title, "Read /src/parser.rs");
        let shown = show(house, &id, "t1#2");
        assert_eq!((shown.messages[0].pending, shown.messages[0].role.as_str()), (true, "assistant"));
        let call = shown.messages[0].blocks.iter().find(|block| block.kind == "tool_use").expect("a call");
        assert_eq!((call.tool.as_deref(), call.text.as_str()), (Some("Read"), r#"{"file_path":"/src/parser.rs"}"#));
        assert_eq!(house.compose(&id), {
            let mut asked = Session::new(4).lean();
            asked.user("fix the parser");
            asked.body()
        });
    };
    check(&house);
    let house = house.restart();
    check(&house);

    // The client sends it back: it is the same frame, no longer pending.
    let pending_tokens = frames(&house, &id)[2].tokens;
    session.results(&["fn parse() {}"]);
    house.send(&session);
    assert!(house.last(&id).is("next", [2, 2, 0]));
    let turn = frames(&house, &id).remove(2);
    assert_eq!((turn.pending, turn.messages, turn.steps), (false, 4, 1));
    assert!(turn.tokens > pending_tokens);
    let house = house.restart();
    assert!(frames(&house, &id).iter().all(|frame| !frame.pending));
    assert!(!show(&house, &id, "t1#2").messages[0].pending);
}

#[test]
fn an_answer_that_comes_too_late_is_not_shown_as_pending() {
    let house = House::new();
    let mut session = Session::new(5).lean();
    session.user("first");
    let late = house.send(&session);
    session.assistant("one").user("second");
    let ticket = house.send(&session);
    house.reply(&late, "one");
    assert!(frames(&house, &ticket.conversation).iter().all(|frame| !frame.pending));
    house.reply(&ticket, "two");
    let last = frames(&house, &ticket.conversation).pop().expect("a frame");
    assert!(last.pending && last.title == "second");
}

#[test]
fn a_reply_that_was_cut_is_shown_as_far_as_it_came_until_the_client_asks_again() {
    let house = House::new();
    let mut session = Session::new(6).lean();
    session.user("first");
    let ticket = house.send(&session);
    let stream = answers::stream(&[json!({"type": "text", "text": "half of it"})], 500, "end_turn");
    let cut = stream.len() * 2 / 3;
    house.answer(&ticket, answers::read(&stream[..cut], Ending::Cut));
    let turn = frames(&house, &ticket.conversation).remove(2);
    assert!(turn.pending && turn.steps == 1);
    let events = house.events(&ticket.conversation);
    let answer = events.last().expect("an event");
    assert_eq!((answer["kind"].as_str(), answer["ending"].as_str()), (Some("answer"), Some("cut")));
    house.send(&session);
    assert!(!frames(&house, &ticket.conversation)[2].pending);
}

#[test]
fn every_kind_of_id_shows_what_it_names() {
    let house = House::new();
    let session = eventful(7);
    let body = session.body_value();
    let id = house.send(&session).conversation;
    let shape = |part: &str| {
        let shown = show(&house, &id, part);
        assert_eq!(shown.id, part);
        let ids: Vec<String> = shown.messages.iter().map(|message| message.id.clone()).collect();
        (shown.kind, ids.join(" "))
    };
    let pair = |kind: &str, ids: &str| (kind.to_owned(), ids.to_owned());
    assert_eq!(shape("system"), pair("system", "system"));
    assert_eq!(shape("tools"), pair("tool", "tools"));
    assert_eq!(shape("tools/Bash"), pair("tool", "tools/Bash"));
    assert_eq!(shape("t1"), pair("turn", "t1#0 t1#1 t1#2 t1#3"));
    assert_eq!(shape("t2"), pair("turn", "t2#0 t2#1 t2#2 t2#3"));
    assert_eq!(shape("t1/1"), pair("part", "t1#2 t1#3"));
    assert_eq!(shape("t2/1..2"), pair("part", "t2#1 t2#2 t2#3"));
    assert_eq!(shape("t2/2"), pair("part", "t2#3"));
    assert_eq!(shape("t1#2"), pair("part", "t1#2"));
    assert_eq!(shape("t1#3.1"), pair("part", "t1#3"));

    // The results belong to the step before, the text beside them to the next frame.
    let results = &show(&house, &id, "t1#3").messages[0];
    let kinds: Vec<&str> = results.blocks.iter().map(|block| block.kind.as_str()).collect();
    assert_eq!((kinds, results.step), (vec!["tool_result", "tool_result"], 1));
    let typed = &show(&house, &id, "t2#0").messages[0];
    assert_eq!((typed.blocks.len(), typed.blocks[0].id.as_str(), typed.step), (1, "t2#0.2", 0));
    assert_eq!(typed.blocks[0].text, "and be quick about it");
    assert_eq!(show(&house, &id, "t2#0.2").messages[0].blocks.len(), 1);

    // What is shown is what was sent.
    let block = &show(&house, &id, "t1#3.1").messages[0].blocks[0];
    assert_eq!((block.id.as_str(), block.text.as_str()), ("t1#3.1", "1 failed"));
    let raw: Value = serde_json::from_str(block.raw.as_ref().expect("raw").get()).expect("JSON");
    assert_eq!(raw, body["messages"][3]["content"][1]);
    assert_eq!(block.tool_use_id.as_deref(), body["messages"][2]["content"][2]["id"].as_str());
    let bash = &show(&house, &id, "tools/Bash").messages[0].blocks[0];
    let raw: Value = serde_json::from_str(bash.raw.as_ref().expect("raw").get()).expect("JSON");
    assert_eq!(raw, body["tools"][1]);
    let system = &show(&house, &id, "system").messages[0];
    assert_eq!(system.blocks[1].text, body["system"][1]["text"].as_str().expect("text"));
    assert_eq!(show(&house, &id, "t1#0").messages[0].blocks[0].kind, "reminder");
    assert_eq!(show(&house, &id, "t1#2").messages[0].blocks[0].kind, "thinking");
}

#[test]
fn what_nothing_is_called_is_refused_with_the_nearest_names() {
    let house = House::new();
    let id = house.send(&eventful(8)).conversation;
    for part in ["t9", "t1/7", "t1/1..7", "t1#9", "t1#0.9", "t2#0.0", "tools/Nothing", "nonsense", "t0"] {
        let refusal = house.service.show(&id, part, None).expect_err(part);
        assert_eq!((refusal.code, refusal.hint.is_empty()), (ErrorCode::UnknownId, false), "{part}");
    }
    assert!(house.service.show(&id, "tools/Bsh", None).expect_err("no").hint.to_string().contains("tools/Bash"));
    assert_eq!(house.service.show("nobody", "t1", None).expect_err("no").code, ErrorCode::UnknownConversation);
    assert_eq!(House::new().service.frames("active", false, None).expect_err("no").code, ErrorCode::NoConversation);
}

#[test]
fn conversations_are_found_by_id_by_its_beginning_by_session_and_as_the_active_one() {
    let house = House::new();
    let session = eventful(9);
    let id = house.send(&session).conversation;
    let other = house.send(&eventful(10)).conversation;
    let resolve = |name: &str| house.service.resolve(name).expect(name);
    assert_eq!([resolve(&id), resolve(&id[..5]), resolve(session.session_id())], [id.clone(), id.clone(), id]);
    assert_eq!((resolve("active"), resolve("")), (other.clone(), other));
    assert_eq!(house.service.resolve("c").expect_err("both").code, ErrorCode::AmbiguousConversation);
}

#[test]
fn a_session_is_its_main_conversation_and_not_those_of_its_agents() {
    let house = House::new();
    let mut session = eventful(12);
    let main = house.send(&session).conversation;
    let mut agent = session.subagent();
    agent.user("look");
    assert_ne!(house.send(&agent).conversation, main);
    assert_eq!(house.service.resolve(session.session_id()).expect("one"), main);
    let part = &session.session_id()[..8];
    assert_eq!(house.service.resolve(part).expect_err("both").code, ErrorCode::AmbiguousConversation);
}

#[test]
fn an_agents_own_session_is_neither_the_beginning_of_another_nor_words_of_a_title() {
    let house = House::new();
    let session = eventful(12);
    let id = house.send(&session).conversation;
    let own = of_session;
    assert_eq!(house.service.resolve(&own(session.session_id())).expect("its own"), id);
    let title = house.service.conversations().conversations[0].title.clone();
    assert_eq!(house.service.frames(&title, false, None).expect("by its title").conversation, id);
    for other in [&session.session_id()[..8], title.as_str(), "", "active"] {
        let refusal = house.service.frames(&own(other), false, None).expect_err(other);
        assert_eq!((refusal.code, refusal.about), (ErrorCode::UnknownConversation, Some(own(other))));
        assert_eq!(house.service.resolve(&own(other)).expect_err(other).code, ErrorCode::UnknownConversation);
    }
}

#[test]
fn what_was_done_names_its_commits_and_cuts_are_told() {
    let house = House::new();
    let id = house.send(&eventful(8)).conversation;
    let apply = |operations: Value| {
        let operations = serde_json::from_value(operations).expect("operations");
        let edit = EditRequest { operations, author: "test".into(), ..EditRequest::default() };
        house.service.apply(&id, edit).expect("applied").commit.expect("a commit")
    };
    let dropped = apply(json!([{"op": "drop-results", "ids": ["t1"]}]));
    let titled = apply(json!([{"op": "retitle", "id": "t1", "title": "the parser"}]));
    let gone = apply(json!([{"op": "delete", "ids": ["tools/Bash"]}]));
    let frames = frames(&house, &id);
    let by = |id: &str| frames.iter().find(|frame| frame.id == id).expect("a frame").by.clone();
    assert_eq!((by("t1"), by("tools")), (vec![titled.clone(), dropped.clone()], vec![gone.clone()]));
    assert!(by("t2").is_empty() && by("system").is_empty());
    assert_eq!(frames[2].step_list.as_ref().expect("steps")[0].by, std::slice::from_ref(&dropped));

    let (t1, step) = (show(&house, &id, "t1"), show(&house, &id, "t1/1"));
    assert_eq!((t1.by, step.by), (vec![titled, dropped.clone()], vec![dropped]));
    assert_eq!((show(&house, &id, "tools").by, show(&house, &id, "tools/Read").by), (vec![gone], vec![]));
    let t2 = show(&house, &id, "t2");
    let cuts: Vec<&str> = t2.messages.iter().filter(|message| message.cut).map(|message| message.id.as_str()).collect();
    assert_eq!(cuts, ["t2#1", "t2#3"], "not before results");
}

#[test]
fn a_conversation_tells_the_folder_that_its_client_works_in() {
    let house = House::new();
    let id = house.send(&eventful(9)).conversation;
    let folder = |house: &House| {
        let all = house.service.conversations().conversations;
        all.into_iter().find(|view| view.id == id).expect("it is listed").folder
    };
    let told = folder(&house).expect("a folder");
    assert!(told.starts_with("/home/user/"), "{told}");
    let house = house.restart();
    assert_eq!(folder(&house), Some(told));
}

#[test]
fn what_was_read_from_a_file_that_is_changed_later_is_found_and_dropped() {
    let house = House::new();
    let id = house.send(&eventful(12)).conversation;
    let superseded = |house: &House| {
        let steps = frames(house, &id).into_iter().filter_map(|frame| frame.step_list).flatten();
        steps.filter(|step| step.superseded).map(|step| step.id).collect::<Vec<_>>()
    };
    assert_eq!(superseded(&house), ["t1/1"]);
    let step = frames(&house, &id)
        .into_iter()
        .filter_map(|frame| frame.step_list)
        .flatten()
        .find(|step| step.superseded)
        .expect("a step");
    let [result] = step.superseded_results.as_slice() else { panic!("{step:?}") };
    let shown = house.service.show(&id, result, None).expect("a block");
    assert_eq!(shown.messages[0].blocks[0].text, "fn parse() {}");
    assert!(step.superseded_tokens > 0 && step.superseded_tokens < step.tokens, "{step:?}");
    let operations = json!([{"op": "drop-results", "select": {"superseded": true}}]);
    let operations = serde_json::from_value(operations).expect("an operation");
    let edit = EditRequest { operations, author: "test".into(), ..EditRequest::default() };
    house.service.apply(&id, edit).expect("applied");
    let sent = String::from_utf8(house.compose(&id)).expect("text");
    assert!(!sent.contains("fn parse() {}") && sent.contains("1 failed"), "only the read is gone: {sent}");
    assert!(superseded(&house).is_empty());
}
