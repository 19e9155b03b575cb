//! Who is speaking, when the client names its session: each behaviour of the stock client, and what
//! the timeline says of it.

use crate::support::{House, sides, slots, with};
use ctx_core::ErrorCode;
use serde_json::{Value, json};
use testkit::{Family, Session};

fn tool(path: &str) -> (&'static str, Value) {
    ("Read", json!({"file_path": path}))
}

/// A conversation with a tool loop and a second question.
fn begun(seed: u64) -> Session {
    let mut session = Session::new(seed).lean();
    session.user("fix the parser").assistant_tools(&[tool("/src/parser.rs")]).results(&["fn parse() {}"]);
    session.assistant("It is fixed.").user("now the tests");
    session
}

/// The same history, from which on the model says other things.
fn diverging(session: &Session) -> Session {
    let mut other = session.clone();
    other.subagent(); // moves the dice
    other
}

#[test]
fn two_sessions_with_the_same_words_stay_two() {
    let house = House::new();
    let one = begun(1);
    let mut other = begun(1);
    let first = house.send(&one).conversation;
    // The kit gives both the same id from the same seed; the second client has another.
    let body = String::from_utf8(other.body()).expect("UTF-8").replace(one.session_id(), "another-session");
    let headers = with(other.headers(), "x-claude-code-session-id", "another-session");
    let second = house.see(&headers, body.as_bytes()).conversation;
    assert_ne!(first, second);
    assert_eq!(house.titles(&first), house.titles(&second));
    other.assistant("Which tests?");
    assert_eq!(house.titles(&first).len(), 2);
}

#[test]
fn the_first_request_is_new_and_the_next_turn_next() {
    let house = House::new();
    let mut session = Session::new(2).lean();
    session.user("fix the parser");
    let ticket = house.send(&session);
    assert!(ticket.turn && ticket.request == 1);
    let seen = house.last(&ticket.conversation);
    assert!(seen.class == "main" && seen.is("new", [0, 2, 0]), "{seen:?}");
    session.assistant_tools(&[tool("/a"), tool("/b")]).results(&["a", "b"]);
    let seen = house.judge(&session);
    assert!(seen.is("next", [2, 2, 0]), "{seen:?}");
    session.assistant("done").user("thanks");
    let seen = house.judge(&session);
    assert!(seen.is("next", [4, 2, 0]), "{seen:?}");
}

#[test]
fn moving_marks_and_the_string_list_flip_change_nothing() {
    for family in [Family::A, Family::B] {
        let house = House::new();
        let mut session = Session::new(3).lean().family(family);
        session.user("first");
        let id = house.send(&session).conversation;
        for question in ["second", "third", "fourth"] {
            session.event("a file changed").assistant("yes").user(question);
            let seen = house.judge(&session);
            assert_eq!((seen.verdict.as_str(), seen.counts[2]), ("next", 0), "{family:?} {seen:?}");
        }
        assert_eq!(house.titles(&id), ["first", "second", "third", "fourth"]);
        assert_eq!(house.compose(&id), session.body());
    }
}

#[test]
fn a_mark_that_was_on_an_image_may_move_on() {
    let house = House::new();
    let mut session = Session::new(20).lean();
    session.user("what is this?");
    let mut body = session.body_value();
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let marked = json!({"type": "image", "source": image["source"], "cache_control": {"type": "ephemeral"}});
    sides::unmarked(&mut body["messages"]);
    body["messages"][0]["content"] = json!([{"type": "text", "text": "what is this?"}, marked]);
    let id = house.send_value(&session.headers(), &body).conversation;
    session.assistant("A picture.").user("of what?");
    let mut body = session.body_value();
    body["messages"][0]["content"] = json!([{"type": "text", "text": "what is this?"}, image]);
    house.send_value(&session.headers(), &body);
    assert!(house.last(&id).is("next", [2, 2, 0]), "{:?}", house.last(&id));
}

#[test]
fn a_retry_adds_nothing() {
    let house = House::new();
    let session = begun(4);
    let id = house.send(&session).conversation;
    let (frames, slots_before, (blobs, records)) = (house.turns(&id), slots(&house, &id), house.stored());
    for _ in 0..3 {
        let seen = house.judge(&session);
        assert!(seen.is("retry", [6, 0, 0]), "{seen:?}");
    }
    // Not streamed, with fewer tokens: the way the client asks again after an error in the stream.
    let mut body = session.body_value();
    body["stream"] = false.into();
    body["max_tokens"] = 64_000.into();
    house.send_value(&session.headers(), &body);
    assert!(house.last(&id).is("retry", [6, 0, 0]));
    assert_eq!(house.turns(&id), frames);
    assert_eq!(slots(&house, &id), slots_before);
    assert_eq!(house.stored(), (blobs + 1, records + 4), "one envelope, four lines in the timeline");
}

#[test]
fn a_session_is_resumed_after_a_restart() {
    let house = House::new();
    let mut session = begun(5);
    let id = house.send(&session).conversation;
    let house = house.restart();
    assert_eq!(house.titles(&id), ["fix the parser", "now the tests"]);
    assert_eq!(house.compose(&id), session.body());
    let before = slots(&house, &id);
    session.assistant("They pass.").user("ship it");
    let ticket = house.send(&session);
    assert_eq!(ticket.conversation, id);
    assert!(house.last(&id).is("next", [6, 2, 0]), "{:?}", house.last(&id));
    assert_eq!(slots(&house, &id)[..6], before[..]);
    let house = house.restart();
    assert!(house.judge(&session).is("retry", [8, 0, 0]));
}

#[test]
fn a_rewind_is_a_branch_and_the_way_back_is_known() {
    let house = House::new();
    let mut session = begun(6);
    let mut other = diverging(&session);
    let id = house.send(&session).conversation;
    session.assistant("They pass.").user("ship it");
    house.send(&session);
    let left = slots(&house, &id);

    other.assistant("Which ones?").user("all of them");
    let seen = house.judge(&other);
    assert_eq!(seen.verdict, "rewind", "{seen:?}");
    assert_eq!(seen.counts, [6, 2, 0]);
    assert_eq!(house.titles(&id), ["fix the parser", "now the tests", "all of them"]);
    assert_eq!(house.compose(&id), other.body());

    session.assistant("Shipped.").user("thanks");
    let house = house.restart();
    let seen = house.judge(&session);
    assert_eq!(seen.verdict, "return", "{seen:?}");
    assert_eq!(seen.counts, [8, 2, 0]);
    assert_eq!(slots(&house, &id)[..8], left[..]);
    assert_eq!(house.compose(&id), session.body());
}

#[test]
fn a_rewind_that_says_something_else_instead_cuts_the_frame_off() {
    let house = House::new();
    let mut session = Session::new(7).lean();
    session.user("first").assistant("one").user("second").assistant("two").user("third");
    let id = house.send(&session).conversation;
    let mut back = Session::new(7).lean();
    back.user("first").assistant("one").user("other");
    let seen = house.judge(&back);
    assert_eq!((seen.verdict.as_str(), seen.counts), ("rewind", [3, 1, 0]), "{seen:?}");
    assert_eq!(house.titles(&id), ["first", "other"]);
}

#[test]
fn a_fork_is_a_conversation_of_its_own_that_shares_the_slots_of_its_beginning() {
    let house = House::new();
    let mut session = begun(8);
    let parent = house.send(&session).conversation;
    let mut fork = session.fork();
    fork.assistant("Let us try another way.").user("go on");
    let ticket = house.send(&fork);
    assert_ne!(ticket.conversation, parent);
    let seen = house.last(&ticket.conversation);
    assert!(seen.is("fork", [6, 2, 0]), "{seen:?}");
    assert_eq!(seen.detail, Some(format!("shares 6 messages with {parent}")));
    let of = |house: &House, id: &str| {
        let all = house.service.conversations().conversations;
        all.into_iter().find(|conversation| conversation.id == id).expect("listed").forked_from
    };
    assert_eq!(of(&house, &ticket.conversation), Some(parent.clone()));
    assert_eq!(slots(&house, &ticket.conversation)[..6], slots(&house, &parent)[..]);

    // Each goes its own way, also after a restart.
    let house = house.restart();
    session.assistant("They pass.").user("ship it");
    assert!(house.judge(&session).is("next", [6, 2, 0]));
    fork.assistant("Going on.").user("and on");
    assert!(house.judge(&fork).is("next", [8, 2, 0]));
    assert_eq!(of(&house, &ticket.conversation), Some(parent.clone()));
    let (ours, theirs) = (slots(&house, &ticket.conversation), slots(&house, &parent));
    assert!(ours[6..].iter().all(|slot| !theirs.contains(slot)));
    assert_eq!((house.compose(&parent), house.compose(&ticket.conversation)), (session.body(), fork.body()));
}

#[test]
fn a_fork_is_known_for_one_although_its_title_was_asked_for_first() {
    let house = House::new();
    let mut session = begun(9);
    let parent = house.send(&session).conversation;
    let mut fork = session.fork();
    fork.assistant("Yes.").user("go on");
    let title = sides::all(&fork, false).remove(0);
    house.send_value(&title.headers, &title.body);
    let id = house.send(&fork).conversation;
    assert_eq!(house.last(&id).verdict, "fork");
    let house = house.restart();
    fork.assistant("Yes.").user("go on again");
    house.send(&fork);
    let all = house.service.conversations().conversations;
    let listed = all.iter().find(|conversation| conversation.id == id).expect("listed");
    assert_eq!(listed.forked_from.as_deref(), Some(parent.as_str()));
}

#[test]
fn the_clients_own_compaction_begins_anew_and_its_kept_tail_is_recognised() {
    for (kept, hinted) in [(0, false), (0, true), (3, false), (3, true)] {
        let house = House::new();
        let mut session = begun(10);
        session.assistant_tools(&[tool("/tests.rs")]).results(&["it works"]).assistant("They pass.");
        session.user("one more thing").assistant("What is it?");
        let id = house.send(&session).conversation;
        let before = slots(&house, &id);
        let body = sides::compacted(&session.body_value(), kept, "go on");
        let headers = match hinted {
            true => with(session.headers(), "x-claude-code-context-compacted", "manual"),
            false => session.headers(),
        };
        let ticket = house.send_value(&headers, &body);
        assert_eq!(ticket.conversation, id);
        let seen = house.last(&id);
        assert_eq!((seen.verdict.as_str(), seen.counts), ("compaction", [kept as u64, 2, 0]), "{kept} {seen:?}");
        let after = slots(&house, &id);
        assert_eq!(after[1..1 + kept], before[before.len() - kept..]);
        assert!(!before.contains(&after[0]) && !before.contains(&after[1 + kept]));
        assert_eq!(house.titles(&id)[0], "Summary of the conversation so far");
        assert_eq!(house.compose(&id), body.to_string().into_bytes());
    }
}

#[test]
fn another_model_renders_everything_anew_and_the_slots_stay() {
    let house = House::new();
    let mut session = begun(11);
    session.assistant_tools(&[tool("/a"), tool("/b")]).event("a file changed on disk").results(&["aa  \n", "bb  \n"]);
    session.assistant("The two files look right to me.").user("switch the model and go on please");
    let id = house.send(&session).conversation;
    let before = slots(&house, &id);
    let body = sides::for_family_b(&session.body_value());
    let seen = {
        let headers = with(session.headers(), "anthropic-beta", "claude-code-20250219,interleaved-thinking-2025-05-14");
        house.send_value(&headers, &body);
        house.last(&id)
    };
    assert_eq!(seen.counts[1], 0, "nothing of it is new: {seen:?}");
    let after = slots(&house, &id);
    assert!(after.iter().all(|slot| before.contains(slot)), "{before:?} {after:?}");
    assert_eq!(house.compose(&id), body.to_string().into_bytes());
    assert_eq!(house.titles(&id).len(), 3);
}

#[test]
fn a_cleared_tool_result_is_the_same_message_changed() {
    let house = House::new();
    let mut session = begun(12);
    let id = house.send(&session).conversation;
    let before = slots(&house, &id);
    session.assistant("They pass.").user("ship it");
    let mut body = session.body_value();
    let result = &mut body["messages"][3]["content"][0];
    assert_eq!(result["type"], "tool_result");
    result["content"] = "[Old tool result content cleared]".into();
    house.send_value(&session.headers(), &body);
    let seen = house.last(&id);
    assert!(seen.is("next", [6, 2, 1]), "{seen:?}");
    assert_eq!(slots(&house, &id)[..6], before[..]);
    assert_eq!(house.compose(&id), body.to_string().into_bytes());
    house.send_value(&session.headers(), &body);
    assert!(house.last(&id).is("retry", [8, 0, 0]));
}

#[test]
fn a_sub_agent_has_its_own_conversation_linked_to_its_parent() {
    let house = House::new();
    let mut session = begun(13);
    let parent = house.send(&session).conversation;
    let mut agent = session.subagent();
    agent.user("look for the bug").step();
    let id = house.send(&agent).conversation;
    assert_ne!(id, parent);
    let mut nested = agent.subagent();
    nested.user("look deeper");
    let deeper = house.send(&nested).conversation;
    let house = house.restart();
    let all = house.service.conversations().conversations;
    let find = |id: &str| all.iter().find(|conversation| conversation.id == id).expect("listed");
    assert_eq!((find(&id).class.as_str(), find(&id).parent.as_deref()), ("subagent", Some(parent.as_str())));
    assert_eq!(find(&id).agent.as_deref(), agent.agent_id());
    assert_eq!(find(&deeper).parent.as_deref(), Some(id.as_str()));
    assert_eq!((find(&parent).class.as_str(), &find(&parent).parent, find(&parent).active), ("main", &None, true));
    session.assistant("The agent looks.").user("wait for it");
    assert!(house.judge(&session).is("next", [6, 2, 0]));
}

#[test]
fn a_nested_agent_whose_parent_was_never_seen_does_not_take_the_sessions_place() {
    let house = House::new();
    let mut session = begun(14);
    let mut agent = session.subagent();
    let mut nested = agent.subagent();
    nested.user("look deeper");
    let deeper = house.send(&nested).conversation;
    agent.user("look");
    let middle = house.send(&agent).conversation;
    let main = house.send(&session).conversation;
    let house = house.restart();
    assert_eq!(house.send(&session).conversation, main);
    assert_eq!(house.send(&agent).conversation, middle);
    let all = house.service.conversations().conversations;
    let parent = |id: &str| all.iter().find(|listed| listed.id == id).and_then(|listed| listed.parent.clone());
    assert_eq!((parent(&deeper), parent(&middle), parent(&main)), (Some(middle), Some(main), None));
}

#[test]
fn an_agent_that_an_older_client_does_not_name_is_not_the_main_conversation() {
    let house = House::new();
    let mut session = begun(15);
    let main = house.send(&session).conversation;
    let mut agent = session.subagent();
    agent.user("look for the bug");
    let headers = crate::support::without(agent.headers(), "x-claude-code-agent-id");
    let id = house.see(&headers, &agent.body()).conversation;
    assert_ne!(id, main);
    agent.assistant("Found it.").user("good");
    assert_eq!(house.see(&headers, &agent.body()).conversation, id);
    assert!(house.last(&id).is("next", [1, 2, 0]), "{:?}", house.last(&id));
    session.assistant("They pass.").user("ship it");
    assert!(house.judge(&session).is("next", [6, 2, 0]));
}

#[test]
fn an_agent_that_is_forked_off_carries_the_whole_history_and_shares_it() {
    let house = House::new();
    let mut session = begun(16);
    let parent = house.send(&session).conversation;
    let mut agent = diverging(&session);
    agent.assistant("Let me ask myself.").user("you are a fork: answer the question");
    let headers = with(agent.headers(), "x-claude-code-agent-id", "a0123456789abcdef");
    let id = house.see(&headers, &agent.body()).conversation;
    assert_ne!(id, parent);
    let seen = house.last(&id);
    assert_eq!((seen.class.as_str(), seen.verdict.as_str(), seen.counts), ("subagent", "fork", [6, 2, 0]));
    let all = house.service.conversations().conversations;
    let listed = all.iter().find(|conversation| conversation.id == id).expect("listed");
    assert_eq!((&listed.parent, &listed.forked_from), (&Some(parent.clone()), &Some(parent.clone())));
    session.assistant("They pass.").user("ship it");
    assert!(house.judge(&session).is("next", [6, 2, 0]));
    assert_eq!(house.titles(&parent), ["fix the parser", "now the tests", "ship it"]);
}

#[test]
fn the_session_may_stand_in_the_body_alone() {
    let house = House::new();
    let mut session = begun(17);
    let headers = crate::support::nameless();
    let id = house.see(&headers, &session.body()).conversation;
    assert_eq!(house.send(&session).conversation, id, "the header names the same session");
    session.assistant("They pass.").user("ship it");
    assert_eq!(house.see(&headers, &session.body()).conversation, id);
    assert!(house.last(&id).is("next", [6, 2, 0]));
}

#[test]
fn a_purged_conversation_is_gone_and_may_come_back() {
    let house = House::new();
    let session = begun(18);
    let id = house.send(&session).conversation;
    let purged = house.service.purge(std::slice::from_ref(&id)).expect("purged");
    assert!(purged.records > 0 && purged.blobs > 0);
    assert!(house.ids().is_empty());
    assert_eq!(house.service.frames(&id, false, None).expect_err("gone").code, ErrorCode::UnknownConversation);
    assert_eq!(house.stored(), (0, 0));
    let again = house.send(&session).conversation;
    assert!(house.last(&again).is("new", [0, 6, 0]));
    assert_eq!(house.compose(&again), session.body());
}
