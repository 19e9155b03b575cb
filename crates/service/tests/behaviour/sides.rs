//! Side traffic: it leaves a line in the timeline, and the conversation as it was.

use crate::support::sides::{self, Side};
use crate::support::{House, answers, slots, with, without};
use serde_json::{Value, json};
use testkit::Session;

fn begun(seed: u64) -> Session {
    let mut session = Session::new(seed).lean();
    session.user("fix the parser").assistant_tools(&[("Read", json!({"file_path": "/a"}))]).results(&["fn parse() {}"]);
    session
}

#[test]
fn no_side_request_adds_a_frame_or_disturbs_the_next_turn() {
    for hinted in [false, true] {
        let mut session = begun(1).hints(hinted);
        let house = House::new();
        let id = house.send(&session).conversation;
        let mut messages = 4;
        for Side { name, headers, body, class } in sides::all(&session, hinted) {
            let (frames, path, composed) = (house.turns(&id), slots(&house, &id), house.compose(&id));
            let blobs = house.stored().0;
            let ticket = house.send_value(&headers, &body);
            assert_eq!((&ticket.conversation, ticket.turn), (&id, false), "{name}, hinted: {hinted}");
            let seen = house.last(&id);
            assert_eq!((seen.class.as_str(), seen.verdict.as_str()), (class, "side"), "{name}, hinted: {hinted}");
            house.reply(&ticket, "an answer on the side");
            assert_eq!(house.turns(&id), frames, "{name}, hinted: {hinted}");
            assert_eq!((slots(&house, &id), house.compose(&id)), (path, composed), "{name}, hinted: {hinted}");
            assert_eq!(house.stored().0, blobs, "{name} stores nothing of itself");

            session.assistant(&format!("after the {name}")).user("go on");
            let seen = house.judge(&session);
            assert!(seen.is("next", [messages, 2, 0]), "{name}, hinted: {hinted}: {seen:?}");
            assert_eq!(house.compose(&id), session.body());
            messages += 2;
            // The next side request shares the newest history.
            if name == "btw" {
                let again = sides::beside(&session.body_value(), "and what is a frame?");
                house.send_value(&headers, &again);
                let seen = house.last(&id);
                assert!(seen.is("side", [messages, 1, 0]), "{seen:?}");
            }
        }
    }
}

#[test]
fn side_requests_before_the_first_turn_open_nothing_to_look_at() {
    for hinted in [false, true] {
        let house = House::new();
        let session = begun(2).hints(hinted);
        for side in sides::all(&session, hinted).into_iter().filter(|side| ["title", "probe"].contains(&side.name)) {
            house.send_value(&side.headers, &side.body);
            assert!(house.ids().is_empty(), "{}", side.name);
        }
        let house = house.restart();
        let ticket = house.send(&session);
        assert_eq!(ticket.request, 3);
        assert!(house.last(&ticket.conversation).is("new", [0, 4, 0]));
        assert_eq!(house.titles(&ticket.conversation), ["fix the parser"]);
        assert_eq!(house.compose(&ticket.conversation), session.body());
    }
}

#[test]
fn a_summary_of_a_part_of_the_history_does_not_disturb_it() {
    let house = House::new();
    let mut session = begun(3);
    session.assistant("done").user("and the tests").assistant("which?").user("all");
    let id = house.send(&session).conversation;
    let mut body = session.body_value();
    sides::unmarked(&mut body["messages"]);
    body["messages"].as_array_mut().expect("messages").truncate(4);
    let body = sides::beside(&body, "Summarise in <analysis> and <summary> tags.");
    let ticket = house.send_value(&session.headers(), &body);
    assert_eq!((ticket.turn, house.last(&id).class.as_str()), (false, "compaction"));
    session.assistant("all of them").user("yes");
    assert!(house.judge(&session).is("next", [8, 2, 0]), "{:?}", house.last(&id));
    assert_eq!(house.compose(&id), session.body());
}

#[test]
fn side_requests_are_counted_by_class_and_a_restart_counts_the_same() {
    let house = House::new();
    let session = begun(4);
    let id = house.send(&session).conversation;
    let mut classes = std::collections::BTreeMap::new();
    for side in sides::all(&session, true) {
        house.reply(&house.send_value(&side.headers, &side.body), "an answer on the side");
        *classes.entry(side.class.to_owned()).or_insert(0) += 1;
    }
    let counted = |house: &House| {
        let all = house.service.conversations().conversations;
        all.into_iter().find(|view| view.id == id).map(|view| view.side).expect("it is listed")
    };
    let told = counted(&house);
    assert_eq!(
        told.iter().map(|side| (side.class.clone(), side.requests)).collect::<std::collections::BTreeMap<_, _>>(),
        classes
    );
    assert!(told.iter().all(|side| side.tokens > 1000 && side.last_at > 0), "{told:?}");
    let house = house.restart();
    assert_eq!(counted(&house), told, "from the card");
    let mut session = session;
    session.assistant("go on").user("yes");
    house.reply(&house.send(&session), "done");
    assert_eq!(counted(&house), told, "from the log, and a turn is none of them");
}

/// What another client sends: ids in headers of its own, marks on the last two messages.
fn other_client(texts: &[&str], tools: bool) -> Value {
    let messages: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| json!({"role": if at.is_multiple_of(2) { "user" } else { "assistant" }, "content": [{"type": "text", "text": text}]}))
        .collect();
    let mut body = json!({"model": "claude-opus-5-5", "max_tokens": 32000, "system": [{"type": "text", "text": "You are an agent."}], "messages": messages});
    if tools {
        body["tools"] = json!([{"name": "read", "input_schema": {}}]);
    }
    body
}

fn other_headers() -> crate::support::Headers {
    vec![("user-agent".into(), "opencode/1.18.33".into()), ("x-session-affinity".into(), "ses_1".into())]
}

const TITLE: [&str; 1] = ["Generate a title for this conversation:\nfix the parser"];

#[test]
fn a_title_that_another_client_asks_for_first_gives_way_to_the_conversation() {
    let house = House::new();
    let title = house.send_value(&other_headers(), &other_client(&TITLE, false));
    let turn = house.send_value(&other_headers(), &other_client(&["fix the parser"], true));
    assert_eq!(turn.conversation, title.conversation);
    let id = turn.conversation.clone();
    house.reply(&title, "Parser fix");
    house.reply(&turn, "Fixed.");
    assert_eq!(house.titles(&id), ["fix the parser"]);
    let next = other_client(&["fix the parser", "Fixed.", "and the tests"], true);
    house.send_value(&other_headers(), &next);
    assert!(house.last(&id).is("next", [1, 2, 0]), "{:?}", house.last(&id));
    let house = house.restart();
    assert_eq!(house.titles(&id), ["fix the parser", "and the tests"]);
    assert_eq!(house.compose(&id), next.to_string().into_bytes());
}

#[test]
fn a_title_asked_for_later_or_twice_is_never_shown() {
    let house = House::new();
    let first = other_client(&["fix the parser"], true);
    let turn = house.send_value(&other_headers(), &first);
    let id = turn.conversation.clone();
    for _ in 0..2 {
        let title = house.send_value(&other_headers(), &other_client(&TITLE, false));
        assert!(!title.turn, "{:?}", house.last(&id));
        house.reply(&title, "Parser fix");
        assert_eq!(house.titles(&id), ["fix the parser"]);
        let frames = house.service.frames(&id, false, None).expect("frames");
        assert!(frames.frames.iter().all(|frame| !frame.pending), "the title's answer is not the pending reply");
        assert!(!frames.calibrated, "the title's figures are not the conversation's");
        assert_eq!(house.compose(&id), first.to_string().into_bytes());
    }
    // The answer to the turn came while titles were asked for.
    house.answer(&turn, answers::text("Fixed.", 150));
    let frames = house.service.frames(&id, false, None).expect("frames");
    assert!(frames.frames.iter().any(|frame| frame.pending) && frames.calibrated);
    house.send_value(&other_headers(), &other_client(&["fix the parser", "Fixed.", "and the tests"], true));
    assert!(house.last(&id).is("next", [1, 2, 0]), "{:?}", house.last(&id));
    let house = house.restart();
    assert_eq!(house.titles(&id), ["fix the parser", "and the tests"]);
}

#[test]
fn what_another_client_summarised_is_believed_when_it_goes_on() {
    let house = House::new();
    let id =
        house.send_value(&other_headers(), &other_client(&["fix the parser", "Fixed.", "more"], true)).conversation;
    let summary = ["Summary: the parser is fixed."];
    let ticket = house.send_value(&other_headers(), &other_client(&summary, true));
    assert!(!ticket.turn && house.last(&id).verdict == "unrelated");
    let goes_on = other_client(&[summary[0], "Good.", "now the tests"], true);
    assert!(house.send_value(&other_headers(), &goes_on).turn);
    assert_eq!(house.titles(&id), ["Summary: the parser is fixed.", "now the tests"]);
    assert_eq!(house.compose(&id), goes_on.to_string().into_bytes());
}

#[test]
fn an_old_request_that_comes_again_late_changes_nothing_of_what_is_looked_at() {
    let house = House::new();
    let left = other_client(&["fix the parser", "Fixed.", "more"], true);
    let id = house.send_value(&other_headers(), &left).conversation;
    let current = other_client(&["fix the parser", "Fixed.", "now the tests"], true);
    assert!(house.send_value(&other_headers(), &current).turn);
    let mut late = left.clone();
    late["messages"][1]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    assert!(!house.send_value(&other_headers(), &late).turn);
    assert_eq!(house.compose(&id), current.to_string().into_bytes());
    let house = house.restart();
    assert_eq!(house.compose(&id), current.to_string().into_bytes());
    // Until it goes on from there.
    let goes_on = other_client(&["fix the parser", "Fixed.", "more", "What more?", "this"], true);
    assert!(house.send_value(&other_headers(), &goes_on).turn);
    assert_eq!(house.compose(&id), goes_on.to_string().into_bytes());
}

#[test]
fn a_main_conversation_its_agents_and_side_requests_do_not_mix() {
    let house = House::new();
    let mut session = begun(5);
    let main = house.send(&session).conversation;
    let mut agents: Vec<Session> = (0..3).map(|_| session.subagent()).collect();
    let mut ids = Vec::new();
    for (number, agent) in agents.iter_mut().enumerate() {
        agent.user(&format!("look into part {number}"));
        ids.push(house.send(agent).conversation);
    }
    for round in 0..5 {
        for (agent, id) in agents.iter_mut().zip(&ids) {
            let before = agent.messages() as u64;
            agent.step();
            let side = sides::all(&session, round % 2 == 0).remove(round);
            house.send_value(&side.headers, &side.body);
            assert_eq!(house.send(agent).conversation, *id);
            let seen = house.last(id);
            assert_eq!(
                (seen.class.as_str(), seen.verdict.as_str(), seen.counts[0], seen.counts[2]),
                ("subagent", "next", before, 0)
            );
            let btw = sides::beside(&agent.body_value(), "a question to the agent");
            let headers = with(agent.headers(), "x-claude-code-request-class", "auxiliary");
            assert!(!house.send_value(&headers, &btw).turn);
        }
        let before = session.messages() as u64;
        session.assistant(&format!("round {round}")).user("go on");
        let seen = house.judge(&session);
        assert!(seen.is("next", [before, 2, 0]), "{seen:?}");
    }
    assert_eq!(house.ids().len(), 4);
    let house = house.restart();
    assert_eq!(house.compose(&main), session.body());
    for (agent, id) in agents.iter().zip(&ids) {
        assert_eq!(house.compose(id), agent.body());
    }
    let active = house.service.conversations().conversations.into_iter().find(|listed| listed.active);
    assert_eq!(active.map(|listed| listed.id), Some(main));
}

#[test]
fn without_marks_a_summary_request_is_still_told_by_its_words() {
    let house = House::new();
    let mut session = begun(6);
    let mut body = session.body_value();
    sides::unmarked(&mut body["messages"]);
    let id = house.send_value(&session.headers(), &body).conversation;
    let summary = sides::beside(&body, "Think in <analysis> tags, then write the <summary>.");
    assert!(!house.send_value(&session.headers(), &summary).turn);
    assert_eq!(house.last(&id).class, "compaction");
    session.assistant("done").user("thanks");
    assert!(house.judge(&session).is("next", [4, 2, 0]));
    // Without the beta that marks the client's own turns there is no telling: it is left alone.
    let headers = without(session.headers(), "anthropic-beta");
    assert!(!house.see(&headers, &session.body()).turn);
}
