//! Selecting the caller's own conversation.

use serde_json::{Value, json};
use testkit::{FakeProvider, Options, Session};

use crate::place::{Place, Up};
use crate::speaker::Speaker;

struct Hall {
    place: Place,
    provider: FakeProvider,
    up: Up,
}

impl Hall {
    fn new() -> Hall {
        let place = Place::new();
        let provider = FakeProvider::start(Options::strict()).expect("a provider");
        let up = place.up(&provider.url());
        Hall { place, provider, up }
    }

    fn speaker(&self, session: Option<&str>, arguments: &[&str]) -> Speaker {
        let mut command = self.place.ctx(&[&["mcp"], arguments].concat());
        if let Some(session) = session {
            command.env("CLAUDE_CODE_SESSION_ID", session);
        }
        Speaker::start(command)
    }

    /// A conversation whose model has just made a call; returns the id of the call.
    fn calling(&self, session: &mut Session, words: &str) -> String {
        session.user(&format!("USE_TOOL:Bash:{words}"));
        self.up.send(session);
        let answer = self.provider.requests().pop().and_then(|record| record.answer).expect("an answer");
        let blocks = answer["message"]["content"].as_array().expect("content");
        let call =
            blocks.iter().find(|block| block["type"] == "tool_use").unwrap_or_else(|| panic!("no call: {answer}"));
        call["id"].as_str().expect("an id").to_owned()
    }
}

fn told(status: &Value) -> (String, String, String) {
    let word = |name: &str| status[name].as_str().unwrap_or_default().to_owned();
    (word("found_by"), word("session"), word("class"))
}

#[test]
fn the_call_itself_tells_a_sub_agent_from_its_parent_and_one_session_from_another() {
    let hall = Hall::new();
    let mut main = Session::new(1).hints(true);
    let from_main = hall.calling(&mut main, "echo main");
    let mut sub = main.subagent();
    let from_sub = hall.calling(&mut sub, "echo sub");
    let mut cleared = Session::new(2).hints(true);
    let from_cleared = hall.calling(&mut cleared, "echo cleared");

    // The server belongs to the first session; another one has been active since.
    let mut agent = hall.speaker(Some(main.session_id()), &[]);
    let status = agent.call("ctx_status", json!({}));
    assert_eq!(told(&status), ("session".into(), main.session_id().into(), "main".into()));
    agent.call = Some(from_main);
    let parent = agent.call("ctx_status", json!({}));
    assert_eq!(told(&parent), ("call".into(), main.session_id().into(), "main".into()));
    agent.call = Some(from_sub);
    let status = agent.call("ctx_status", json!({}));
    assert_eq!(told(&status), ("call".into(), main.session_id().into(), "subagent".into()), "{status}");
    assert_eq!(status["parent"], parent["conversation"]);
    agent.call = Some(from_cleared);
    let status = agent.call("ctx_status", json!({}));
    assert_eq!(told(&status), ("call".into(), cleared.session_id().into(), "main".into()));
    agent.call = Some("toolu_that_nobody_made".into());
    assert_eq!(agent.call("ctx_list", json!({}))["found_by"], "session");
}

#[test]
fn a_flag_or_an_argument_names_another_one() {
    let hall = Hall::new();
    let (mut one, mut two) = (Session::new(1).hints(true), Session::new(2).hints(true));
    hall.calling(&mut one, "echo one");
    hall.calling(&mut two, "echo two");
    let (first, second) = (one.session_id(), two.session_id());
    let found = |agent: &mut Speaker, arguments: Value| told(&agent.call("ctx_status", arguments));
    let mut agent = hall.speaker(Some(first), &["--session", second]);
    assert_eq!(found(&mut agent, json!({})), ("session".into(), second.into(), "main".into()));
    assert_eq!(found(&mut agent, json!({"conv": first})), ("argument".into(), first.into(), "main".into()));
    let mut agent = hall.speaker(Some(second), &["--conv", first]);
    assert_eq!(found(&mut agent, json!({})), ("flag".into(), first.into(), "main".into()));
}

#[test]
fn a_session_that_is_not_known_is_not_taken_for_another_one() {
    let hall = Hall::new();
    let mut session = Session::new(1).hints(true);
    let mut early = hall.speaker(None, &[]);
    early.refuses("ctx_list", json!({}), "no-conversation");
    assert_eq!(early.ask("resources/list", json!({}))["result"]["resources"], json!([]), "asked too early");
    hall.calling(&mut session, "echo one");
    let mut agent = hall.speaker(Some("5b0e7f1c-0000-4000-8000-000000000000"), &[]);
    let told = agent.refuses("ctx_list", json!({}), "not-through-ctx");
    assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("ctx run")), "{told}");
    agent.refuses(
        "ctx_apply",
        json!({"operations": [{"op": "pin", "ids": ["t1"]}], "expect": "none"}),
        "not-through-ctx",
    );
}

#[test]
fn without_a_session_it_is_the_newest_of_the_folder_or_the_newest_and_the_answer_says_so() {
    let hall = Hall::new();
    let mut here = Session::new(1).hints(true);
    let folder = hall.place.path("work").canonicalize().expect("a folder");
    here.user(&format!("Working directory: {}", folder.display())).assistant("I see.");
    hall.calling(&mut here, "echo here");
    let mut elsewhere = Session::new(2).hints(true);
    hall.calling(&mut elsewhere, "echo elsewhere");
    let status = hall.speaker(None, &[]).call("ctx_status", json!({}));
    assert_eq!(told(&status), ("directory".into(), here.session_id().into(), "main".into()), "{status}");
    let mut command = hall.place.ctx(&["mcp"]);
    command.current_dir(hall.place.home());
    let status = Speaker::start(command).call("ctx_status", json!({}));
    assert_eq!(told(&status), ("newest".into(), elsewhere.session_id().into(), "main".into()));
    assert!(status["why"].as_str().is_some_and(|why| why.contains("another agent's")), "{status}");
}
