//! Attribution of requests without a session, by their content.

use crate::support::{House, LONG, answers, nameless, slots};
use ctx_wire::answer::Ending;
use serde_json::{Value, json};

/// A script's body: plain strings, no marks.
fn body(messages: &[(&str, &str)]) -> Value {
    let messages: Vec<Value> = messages.iter().map(|(role, text)| json!({"role": role, "content": text})).collect();
    json!({"model": "claude-opus-5-5", "max_tokens": 100, "messages": messages})
}

fn send(house: &House, messages: &[(&str, &str)]) -> ctx_engine::request::Ticket {
    house.send_value(&nameless(), &body(messages))
}

const ASKED: (&str, &str) = ("user", "What is a slot?");

#[test]
fn a_conversation_is_followed_by_its_path() {
    let house = House::new();
    let first = send(&house, &[ASKED]);
    house.reply(&first, "A place.");
    let path = [ASKED, ("assistant", "A place."), ("user", "For what?")];
    let second = send(&house, &path);
    assert_eq!(second.conversation, first.conversation);
    assert!(house.last(&first.conversation).is("next", [1, 2, 0]));
    let house = house.restart();
    let longer = [path[0], path[1], path[2], ("assistant", "For a message."), ("user", "Thanks.")];
    assert_eq!(send(&house, &longer).conversation, first.conversation);
    assert!(house.last(&first.conversation).is("next", [3, 2, 0]));
    assert_eq!(house.compose(&first.conversation), body(&longer).to_string().into_bytes());
    assert_eq!(house.ids().len(), 1);
}

#[test]
fn a_retry_adds_nothing() {
    let house = House::new();
    let first = send(&house, &[ASKED]);
    house.fail(&first, None);
    let before = (house.turns(&first.conversation), slots(&house, &first.conversation), house.stored().0);
    let again = send(&house, &[ASKED]);
    assert_eq!(again.conversation, first.conversation);
    assert!(house.last(&first.conversation).is("retry", [1, 0, 0]));
    house.reply(&again, "A place.");
    let path = [ASKED, ("assistant", "A place."), ("user", "For what?")];
    for verdict in ["next", "retry", "retry"] {
        let ticket = send(&house, &path);
        assert_eq!(ticket.conversation, first.conversation);
        assert_eq!(house.last(&first.conversation).verdict, verdict);
    }
    assert_eq!(house.turns(&first.conversation).len(), 2);
    assert_eq!((before.0.len(), before.1.len()), (1, 1));
    assert_eq!(house.stored().0, before.2 + 2);
}

#[test]
fn of_two_with_the_same_beginning_the_one_that_ends_there_goes_on() {
    let house = House::new();
    let one = send(&house, &[ASKED]);
    house.reply(&one, "A place.");
    let other = send(&house, &[ASKED]);
    house.reply(&other, "A place.");
    assert_ne!(one.conversation, other.conversation);
    let turn = |question: &'static str| send(&house, &[ASKED, ("assistant", "A place."), ("user", question)]);
    let first = turn("For what?");
    house.reply(&first, "For a message.");
    let second = turn("Where?");
    assert_ne!(second.conversation, first.conversation, "the twin whose path ends there, not a rewind of the other");
    assert_eq!(house.last(&second.conversation).verdict, "next");
}

#[test]
fn a_history_that_the_client_summarised_stays_the_same_conversation() {
    let house = House::new();
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_kept", "name": "read", "input": {"path": "/a"}}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_kept", "content": "found it"}]});
    let request = |messages: Vec<Value>| {
        let tool = json!({"name": "read", "input_schema": {"type": "object"}});
        json!({"model": "claude-opus-5-5", "max_tokens": 100, "messages": messages, "tools": [tool]})
    };
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let opening = vec![said("user", ASKED.1), said("assistant", "A place."), said("user", "Read it.")];
    let first = house.send_value(&nameless(), &request(opening.clone()));
    let long = [opening.clone(), vec![call.clone(), result.clone()]].concat();
    let second = house.send_value(&nameless(), &request(long));
    assert_eq!(second.conversation, first.conversation);

    let summary = "The conversation history before this point was compacted into the following summary: slots.";
    let kept =
        vec![said("user", summary), call.clone(), result.clone(), said("assistant", "Read."), said("user", "Go on.")];
    let third = house.send_value(&nameless(), &request(kept));
    assert_eq!(third.conversation, first.conversation, "the call that was kept tells");
    assert_eq!(house.last(&first.conversation).verdict, "compaction");

    // Without an answer that is known, words alone are no evidence.
    let other = house.send_value(
        &nameless(),
        &request(vec![said("user", summary), said("assistant", "Else."), said("user", "So?")]),
    );
    assert_ne!(other.conversation, first.conversation);
}

#[test]
fn two_conversations_that_open_with_the_same_words_stay_two_when_their_answers_differ() {
    let house = House::new();
    let one = send(&house, &[ASKED]);
    house.reply(&one, "A place.");
    let other = send(&house, &[ASKED]);
    assert_ne!(one.conversation, other.conversation, "it was answered, and is asked anew");
    house.reply(&other, "An opening.");
    let turn = |house: &House, answer: &'static str, question: &'static str| {
        send(house, &[ASKED, ("assistant", answer), ("user", question)])
    };
    assert_eq!(turn(&house, "A place.", "For what?").conversation, one.conversation);
    assert_eq!(turn(&house, "An opening.", "Into what?").conversation, other.conversation);

    // Also when one has long gone on, and after a restart.
    let third = send(&house, &[ASKED]);
    assert!(third.conversation != one.conversation && third.conversation != other.conversation);
    house.reply(&third, "A thin gap.");
    let house = house.restart();
    assert_eq!(turn(&house, "A thin gap.", "How thin?").conversation, third.conversation);
    assert_eq!(turn(&house, "An opening.", "Into what?").conversation, other.conversation);
    let long =
        [ASKED, ("assistant", "A place."), ("user", "For what?"), ("assistant", "For a message."), ("user", "I see.")];
    assert_eq!(send(&house, &long).conversation, one.conversation);
    for id in [&one.conversation, &other.conversation, &third.conversation] {
        assert_eq!(house.titles(id)[0], "What is a slot?");
        assert!(house.events(id).iter().all(|event| event["detail"].is_null()));
    }
    assert_eq!(house.ids().len(), 3);
}

#[test]
fn a_conversation_that_nobody_answered_here_is_not_split() {
    // The answer was cut, or came another way: the client goes on with what it has.
    for ending in [None, Some(Ending::Cut), Some(Ending::Cancelled)] {
        let house = House::new();
        let first = send(&house, &[ASKED]);
        match ending {
            Some(ending) => {
                let mut stream = answers::stream(&[json!({"type": "text", "text": "A plaice."})], 50, "end_turn");
                stream.truncate(stream.len() * 2 / 3);
                house.answer(&first, answers::read(&stream, ending));
            }
            None => house.fail(&first, None),
        }
        let next = send(&house, &[ASKED, ("assistant", "A"), ("user", "Go on.")]);
        assert_eq!(next.conversation, first.conversation, "{ending:?}");
        assert!(house.last(&first.conversation).is("next", [1, 2, 0]));
    }
}

#[test]
fn going_back_behind_an_answer_is_a_branch_of_the_same_conversation() {
    let house = House::new();
    let path = [ASKED, ("assistant", "A place."), ("user", "For what?"), ("assistant", "For this."), ("user", "Oh.")];
    let id = send(&house, &path).conversation;
    let other = [path[0], path[1], ("user", "Where?")];
    assert_eq!(send(&house, &other).conversation, id);
    assert!(house.last(&id).is("rewind", [2, 1, 0]), "{:?}", house.last(&id));
    let back = [path[0], path[1], path[2], path[3], path[4], ("assistant", "Yes."), ("user", "Good.")];
    assert_eq!(send(&house, &back).conversation, id);
    assert!(house.last(&id).is("return", [5, 2, 0]), "{:?}", house.last(&id));
}

#[test]
fn a_tie_is_told_not_hidden() {
    let house = House::new();
    let one = send(&house, &[ASKED]);
    house.reply(&one, "A place.");
    let other = send(&house, &[ASKED]);
    house.reply(&other, "A place.");
    assert_ne!(one.conversation, other.conversation);
    let next = send(&house, &[ASKED, ("assistant", "A place."), ("user", "For what?")]);
    assert_eq!(next.conversation, other.conversation, "the one that spoke last");
    let detail = house.last(&next.conversation).detail.expect("a detail");
    assert!(detail.contains(&one.conversation), "{detail}");
}

#[test]
fn a_session_never_takes_a_nameless_request() {
    let house = House::new();
    let mut session = testkit::Session::new(1).lean();
    session.user("fix it").assistant("done").user("thanks");
    let named = house.send(&session).conversation;
    let mut stripped = session.body_value();
    stripped["metadata"] = json!({});
    let found = house.send_value(&nameless(), &stripped);
    assert_ne!(found.conversation, named);
    let seen = house.last(&found.conversation);
    assert_eq!((seen.verdict.as_str(), seen.counts), ("fork", [4, 0, 0]), "{seen:?}");
}

#[test]
fn what_is_asked_for_on_the_side_belongs_to_no_conversation() {
    let house = House::new();
    let mut title = body(&[("user", "Name this.")]);
    title["output_config"] = json!({"format": {"type": "json_schema"}});
    assert!(house.pass(&nameless(), title.to_string().as_bytes()).expect("readable").is_none());
    assert!(house.ids().is_empty());
}

#[test]
fn marks_that_move_do_not_hide_a_nameless_conversation() {
    let house = House::new();
    let marked = |texts: &[&str]| {
        let last = texts.len() - 1;
        let messages: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| {
                let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
                let mut block = json!({"type": "text", "text": text});
                if at + 2 > last {
                    block["cache_control"] = json!({"type": "ephemeral"});
                }
                json!({"role": role, "content": [block]})
            })
            .collect();
        json!({"model": "m", "max_tokens": 9, "messages": messages, "tools": [{"name": "read", "input_schema": {}}]})
    };
    let mut texts = vec!["one", "two", "three"];
    let id = house.send_value(&nameless(), &marked(&texts)).conversation;
    for text in [["four", "five"], ["six", "seven"], ["eight", "nine"]] {
        texts.extend(text);
        let body = marked(&texts);
        assert_eq!(house.send_value(&nameless(), &body).conversation, id);
        assert!(house.last(&id).is("next", [texts.len() as u64 - 2, 2, 0]), "{:?}", house.last(&id));
        assert_eq!(house.compose(&id), body.to_string().into_bytes());
    }
}

#[test]
fn many_that_ask_the_same_at_once_are_told_apart_by_their_answers() {
    let house = House::new();
    let tickets: Vec<_> = (0..4).map(|_| send(&house, &[ASKED])).collect();
    for (number, ticket) in tickets.iter().enumerate() {
        house.reply(ticket, &format!("Answer {number}."));
    }
    let answers = ["Answer 0.", "Answer 1.", "Answer 2.", "Answer 3."];
    let second =
        |house: &House, at: usize| send(house, &[ASKED, ("assistant", answers[at]), ("user", "And?")]).conversation;
    let ids: Vec<String> = (0..4).map(|at| second(&house, at)).collect();
    let distinct: std::collections::HashSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), 4, "{ids:?}");
    house.service.settle(LONG);
    let again: Vec<String> = (0..4).rev().map(|at| second(&house, at)).collect();
    assert!(again.iter().rev().eq(ids.iter()));
}

#[test]
fn a_nameless_conversation_is_found_among_many_named_ones_that_begin_alike() {
    let house = House::new();
    let path = [ASKED, ("assistant", "A place."), ("user", "For what?")];
    let first = send(&house, &[ASKED]);
    house.reply(&first, "A place.");
    for number in 0..20 {
        let headers = vec![("x-session-id".to_owned(), format!("session {number}"))];
        house.send_value(&headers, &body(&[ASKED]));
    }
    let house = house.restart();
    assert_eq!(send(&house, &path).conversation, first.conversation);
}

#[test]
fn a_script_that_asks_the_same_for_ever_stays_cheap() {
    let house = House::new();
    let mut ids = std::collections::HashSet::new();
    for number in 0..200 {
        let ticket = send(&house, &[ASKED]);
        house.reply(&ticket, &format!("Answer {number}."));
        ids.insert(ticket.conversation);
    }
    assert_eq!(ids.len(), 200);
    let newest = send(&house, &[ASKED, ("assistant", "Answer 199."), ("user", "And?")]);
    assert!(ids.contains(&newest.conversation));
    assert!(house.last(&newest.conversation).is("next", [1, 2, 0]));
}

/// The examples that aider begins every conversation with.
const EXAMPLES: [(&str, &str); 4] = [
    ("user", "Change get_factorial() to use math.factorial"),
    ("assistant", "Sure, here is the edit."),
    ("user", "I switched to a new code base. Please don't consider the above files or try to edit them any longer."),
    ("assistant", "Ok."),
];

#[test]
fn examples_before_the_first_words_of_a_person_are_no_evidence() {
    let house = House::new();
    let talk = |rest: &[(&'static str, &'static str)]| [&EXAMPLES[..], rest].concat();
    let first = send(&house, &talk(&[("user", "fix the parser")]));
    house.reply(&first, "Fixed.");
    let other = send(&house, &talk(&[("user", "paint the barn")]));
    assert_ne!(other.conversation, first.conversation, "another project");
    house.reply(&other, "Painted.");
    let again = send(&house, &talk(&[("user", "fix the parser")]));
    assert_ne!(again.conversation, first.conversation, "asked anew");
    let house = house.restart();
    let next = [("user", "fix the parser"), ("assistant", "Fixed."), ("user", "and test it")];
    assert_eq!(send(&house, &talk(&next)).conversation, first.conversation);
    assert!(house.last(&first.conversation).is("next", [5, 2, 0]), "{:?}", house.last(&first.conversation));
    let next = [("user", "paint the barn"), ("assistant", "Painted."), ("user", "red")];
    assert_eq!(send(&house, &talk(&next)).conversation, other.conversation);
}

#[test]
fn a_conversation_that_begins_with_examples_has_the_title_of_the_first_words_of_a_person() {
    let house = House::new();
    let rules = "fix the parser\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery block uses this format";
    let sent = send(&house, &[&EXAMPLES[..], &[("user", rules)]].concat());
    house.reply(&sent, "Fixed.");
    assert_eq!(house.service.conversations().conversations[0].title, "fix the parser");
    let house = house.restart();
    assert_eq!(house.service.conversations().conversations[0].title, "fix the parser");
}

#[test]
fn an_edit_of_a_turn_that_failed_holds_when_the_next_prompt_is_put_behind_its_words() {
    let house = House::new();
    let said = |role: &str, texts: &[&str]| {
        let blocks: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        json!({"role": role, "content": blocks})
    };
    let request = |last: &[&str]| {
        let messages = [said("user", &[ASKED.1]), said("assistant", &["A place."]), said("user", last)];
        json!({"model": "claude-opus-5-5", "max_tokens": 100, "messages": messages})
    };
    let first = house.send_value(&nameless(), &request(&["a wrong turn"]));
    house.fail(&first, None);
    let delete = ctx_core::edit::Operation::Delete { ids: vec!["t2".into()], select: Default::default(), force: false };
    let edit = ctx_api::edit::EditRequest { operations: vec![delete], ..Default::default() };
    house.service.apply(&first.conversation, edit).expect("applied");
    let sent = house.send_value(&nameless(), &request(&["a wrong turn", "the right one"]));
    assert_eq!(sent.conversation, first.conversation);
    let composed = String::from_utf8(house.compose(&first.conversation)).expect("text");
    assert!(composed.contains("the right one") && !composed.contains("a wrong turn"), "{composed}");
}
