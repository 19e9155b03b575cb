//! Selecting the caller's own conversation.

use serde_json::{Value, json};
use testkit::{FakeProvider, Options, Session};

use crate::place::{Place, Up, finish, until};
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

    /// The same for a client of this name, with these variables.
    fn client(&self, name: &str, variables: &[(&str, &str)]) -> Speaker {
        let mut command = self.place.ctx(&["mcp"]);
        command.current_dir(self.place.home()).envs(variables.iter().copied());
        Speaker::named(command, name).0
    }

    /// The id of a session's conversation.
    fn conversation(&self, session: &Session) -> String {
        let status = self.speaker(Some(session.session_id()), &[]).call("ctx_status", json!({}));
        status["conversation"].as_str().expect("an id").to_owned()
    }

    /// A conversation whose model has just called this tool of the MCP server.
    fn asking(&self, session: &mut Session, tool: &str, arguments: &Value) {
        session.user(&format!("USE_TOOL:{tool}:{arguments}"));
        self.up.send(session);
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
fn a_session_whose_name_begins_another_one_is_not_taken_for_it() {
    let hall = Hall::new();
    let mut session = Session::new(1).hints(true);
    hall.calling(&mut session, "echo one");
    let beginning = &session.session_id()[..8];
    for mut agent in [hall.speaker(Some(beginning), &[]), hall.speaker(None, &["--session", "echo one"])] {
        agent.refuses("ctx_list", json!({}), "not-through-ctx");
        let apply = json!({"operations": [{"op": "pin", "ids": ["t1"]}], "expect": "none"});
        agent.refuses("ctx_apply", apply, "not-through-ctx");
    }
    let mut goose = hall.client("goose", &[]);
    goose.meta = json!({"agent-session-id": beginning});
    goose.refuses("ctx_list", json!({}), "not-through-ctx");
    let mut command = hall.place.ctx(&["pin", "t1"]);
    command.env("AGENT_SESSION_ID", beginning);
    let ran = finish(command).refused();
    assert!(ran.err.contains(&format!("This session ({beginning}) does not use ctx.")), "{ran:?}");
    let told = |session: &str, arguments: &[&str]| {
        let input = hall.place.write("input", &json!({"session_id": session}).to_string());
        let mut command = hall.place.ctx(arguments);
        command.stdin(std::fs::File::open(input).expect("a file"));
        finish(command)
    };
    let ran = told(beginning, &["phase", "begin", "testing", "--hook"]).refused();
    assert!(ran.err.contains(&format!("No conversation belongs to the session `{beginning}`.")), "{ran:?}");
    told(session.session_id(), &["phase", "begin", "testing", "--hook"]).ok();
    assert_eq!(told(beginning, &["status-line"]).ok().out, "");
    until("it answers in time", || {
        told(session.session_id(), &["status-line"]).ok().out.starts_with("ctx ").then_some(())
    });
    let ran = hall.place.run(&["pin", "t1", "--conv", beginning]);
    assert_eq!(ran.code, Some(0), "a person may shorten it: {ran:?}");
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

#[test]
fn a_guessed_conversation_is_changed_only_if_it_is_the_one_that_was_shown() {
    let hall = Hall::new();
    let (mut one, mut two) = (Session::new(1).hints(true), Session::new(2).hints(true));
    hall.calling(&mut one, "echo one");
    hall.client("a-test", &[]).call("ctx_phase", json!({"action": "begin", "name": "alone"}));
    hall.calling(&mut two, "echo two");
    let (first, second) = (hall.conversation(&one), hall.conversation(&two));
    let pin = |frame: &str| json!({"operations": [{"op": "pin", "ids": [frame]}], "expect": "none"});

    let mut agent = hall.client("a-test", &[]);
    agent.ask("resources/list", json!({}));
    let phase = json!({"action": "begin", "name": "testing"});
    for (tool, arguments) in
        [("ctx_apply", pin("t1")), ("ctx_undo", json!({"expect": "none"})), ("ctx_phase", phase.clone())]
    {
        let refusal = agent.refuses(tool, arguments, "ambiguous-conversation");
        assert!(refusal["message"].as_str().is_some_and(|words| words.contains(&second)), "{refusal}");
        assert!(refusal["hint"].as_str().is_some_and(|hint| hint.contains("`conv`")), "{refusal}");
    }
    assert_eq!(agent.call("ctx_list", json!({}))["conversation"], second);
    one.assistant("Done.");
    hall.calling(&mut one, "echo three");
    let applied = agent.call("ctx_apply", pin("t1"));
    assert_eq!((&applied["conversation"], &applied["found_by"]), (&json!(second), &json!("newest")), "{applied}");
    assert_eq!(agent.call("ctx_phase", phase)["conversation"], second);

    assert_eq!(agent.call("ctx_list", json!({}))["conversation"], first, "the newest by now");
    agent.refuses("ctx_apply", pin("t1"), "ambiguous-conversation");
    let named = json!({"operations": [{"op": "pin", "ids": ["t1"]}], "expect": "none", "conv": first});
    assert_eq!(agent.call("ctx_apply", named)["conversation"], first);
}

#[test]
fn a_client_names_its_session_in_the_metadata_of_each_call_or_in_the_environment() {
    let hall = Hall::new();
    let (mut one, mut two) = (Session::new(1).hints(true), Session::new(2).hints(true));
    hall.calling(&mut one, "echo one");
    hall.calling(&mut two, "echo two");
    let (first, second) = (one.session_id(), two.session_id());
    let by_session = |session: &str| ("session".to_owned(), session.to_owned(), "main".to_owned());
    for (client, member) in [("codex-mcp-client", "threadId"), ("goose", "agent-session-id")] {
        let mut agent = hall.client(client, &[]);
        for session in [first, second] {
            agent.meta = json!({member: session});
            assert_eq!(told(&agent.call("ctx_status", json!({}))), by_session(session), "{client}");
        }
        agent.meta = json!({member: "nobody"});
        let refusal = agent.refuses("ctx_list", json!({}), "not-through-ctx");
        let program = client.split('-').next().expect("a name");
        assert!(
            refusal["hint"].as_str().is_some_and(|hint| hint.contains(&format!("ctx run -- {program}"))),
            "{refusal}"
        );
    }
    // Codex runs in a command of Claude Code, and inherits its variable.
    let nested = [("CLAUDE_CODE_SESSION_ID", first), ("CODEX_THREAD_ID", second)];
    let status = hall.client("codex-mcp-client", &nested).call("ctx_status", json!({}));
    assert_eq!(told(&status), by_session(second));
    let status = hall.client("claude-code", &nested).call("ctx_status", json!({}));
    assert_eq!(told(&status), by_session(first));
    let status = hall.client("opencode", &nested).call("ctx_status", json!({}));
    assert_eq!(status["found_by"], "newest", "neither variable is its own");
}

#[test]
fn without_a_session_it_is_the_conversation_whose_pending_reply_makes_the_very_call() {
    let hall = Hall::new();
    let arguments = |ids: &str| json!({"id": ids});
    let mut sessions: Vec<Session> = (1..=3).map(|seed| Session::new(seed).hints(true)).collect();
    hall.asking(&mut sessions[0], "mcp__ctx__ctx_show", &arguments("t1"));
    hall.asking(&mut sessions[1], "ctx_ctx_show", &arguments("t1#0"));
    hall.asking(&mut sessions[2], "ctx_ctx_list", &arguments("t1"));
    let mut agent = hall.client("a-test", &[]);
    let found = |agent: &mut Speaker, ids: &str| {
        let shown = agent.call("ctx_show", arguments(ids));
        (shown["found_by"].clone(), shown["conversation"].clone())
    };
    let id = |session: &Session| hall.conversation(session);
    assert_eq!(found(&mut agent, "t1"), (json!("reply"), json!(id(&sessions[0]))));
    assert_eq!(found(&mut agent, "t1#0"), (json!("reply"), json!(id(&sessions[1]))));
    assert_eq!(found(&mut agent, "t1#0.0").0, "newest", "nobody calls that");
    let mut other = hall.client("opencode", &[]);
    assert_eq!(found(&mut other, "t1").0, "newest", "the conversations are of another client");

    // Two that make the same call.
    let mut twin = Session::new(4).hints(true);
    hall.asking(&mut twin, "mcp__ctx__ctx_show", &arguments("t1"));
    let refusal = agent.refuses("ctx_show", arguments("t1"), "ambiguous-conversation");
    let message = refusal["message"].as_str().expect("a message");
    assert!(message.contains(&id(&twin)) && message.contains(&id(&sessions[0])), "{refusal}");
    assert!(!message.contains(&id(&sessions[1])), "{refusal}");
    assert!(refusal["hint"].as_str().is_some_and(|hint| hint.contains("`conv`")), "{refusal}");
    let named = agent.call("ctx_show", json!({"id": "t1", "conv": id(&twin)}));
    assert_eq!((&named["found_by"], &named["conversation"]), (&json!("argument"), &json!(id(&twin))));
}
