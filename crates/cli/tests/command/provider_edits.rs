//! The provider's own editing: enabled in `ctx.toml`, requested in addition to the client's edits, and reported. The
//! provider is strict, binds thinking and refuses invalid requests for editing.

use serde_json::{Value, json};
use testkit::fake_provider::ContextEditing;
use testkit::{FakeProvider, Options, Session};

use crate::place::{Place, Up, until};

const ON: &str = "[context_editing.provider]\nenabled = true\n\
    clear_tool_uses = { trigger = 4000, keep = 2, clear_at_least = 500 }\n";

struct Stage {
    place: Place,
    provider: FakeProvider,
    up: Option<Up>,
}

impl Stage {
    fn new(toml: &str, refuses: &[&str]) -> Stage {
        let refuses = refuses.iter().map(ToString::to_string).collect();
        let context_editing = Some(ContextEditing { refuses });
        let provider = FakeProvider::start(Options { context_editing, ..Options::strict() }).expect("a provider");
        let place = Place::new();
        place.write("named.toml", toml);
        let mut stage = Stage { place, provider, up: None };
        stage.start();
        stage
    }

    /// Restarts the daemon on the same home after killing it.
    fn start(&mut self) {
        self.up = None;
        let config = self.place.path("named.toml");
        let config = config.to_str().expect("text");
        self.up = Some(self.place.up_with(&["--upstream", &self.provider.url(), "--config", config]));
    }

    fn up(&self) -> &Up {
        self.up.as_ref().expect("a daemon")
    }

    /// Sends the client's request, which must succeed.
    #[track_caller]
    fn send(&self, session: &Session) -> Value {
        self.up().send(session);
        let answer = self.provider.requests().pop().expect("a request").answer.unwrap_or_default();
        assert!(answer["error"].is_null(), "the provider refuses: {answer}");
        answer["message"].clone()
    }

    /// Lets the client take the reply, as far as it understands it, and continue.
    fn goes_on(&self, session: &mut Session, answer: &Value, text: &str) {
        let blocks = answer["content"].as_array().expect("blocks").iter();
        let known = blocks.filter(|block| block["type"] != "compaction").cloned().collect();
        session.assistant_blocks(known).user(text);
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.place.run(&[arguments, &["--json"]].concat()).ok().json()
    }

    fn bodies(&self) -> Vec<Value> {
        let records = self.provider.requests().into_iter();
        records.map(|record| serde_json::from_slice(&record.body).expect("JSON")).collect()
    }
}

/// This many calls with results of 2,000 characters, after a todo list.
fn busy(calls: usize) -> Session {
    let mut session = Session::new(7).lean().hints(true);
    session.user("Look around").assistant_tools(&[("TodoWrite", json!({"todos": []}))]).results(&["noted"]);
    for number in 0..calls {
        session
            .assistant_tools(&[("Read", json!({"file_path": format!("{number}.txt")}))])
            .results(&[&"hay ".repeat(500)]);
    }
    session.assistant("I have seen it.").user("SAY:fine");
    session
}

#[test]
fn old_results_are_cleared_by_the_provider_and_everybody_is_told() {
    let stage = Stage::new(ON, &[]);
    let mut session = busy(12);
    let answer = stage.send(&session);
    let cleared = &answer["context_management"]["applied_edits"][0];
    assert!(cleared["cleared_tool_uses"].as_u64() > Some(8), "{answer}");
    // The client's own edit stays, and comes first.
    let edits = stage.bodies().pop().expect("a body")["context_management"]["edits"].clone();
    assert_eq!((&edits[0]["type"], &edits[0]["keep"]), (&json!("clear_thinking_20251015"), &json!("all")));
    assert_eq!((&edits[1]["type"], edits.as_array().map(Vec::len)), (&json!("clear_tool_uses_20250919"), Some(2)));

    let known = stage.json(&["list"])["frames"].clone();
    let weight: u64 = known.as_array().expect("frames").iter().filter_map(|frame| frame["tokens"].as_u64()).sum();
    let sent = stage.provider.requests().pop().expect("a request").body.len() as u64 / 4;
    assert!(weight > sent * 8 / 10, "what was cleared does not spoil the figures: {weight} of {sent}");

    let told = stage.place.run(&["timeline"]).ok().out;
    assert!(told.contains("the provider cleared ") && told.contains("tool results"), "{told}");
    let told = stage.place.run(&["status"]).ok().out;
    assert!(told.contains("provider edits  on, requested in 1 request; omitted from 1 request, "), "{told}");
    let total = stage.json(&["stats"])["total"].clone();
    assert_eq!(total["clearings"], 1, "{total}");

    // The next request is the same, with operations on top.
    for turn in 0..4 {
        let answer = stage.send(&session);
        stage.goes_on(&mut session, &answer, &format!("THINK:hm ;; SAY:turn {turn}"));
        stage.send(&session);
        stage.place.run(&["drop-results", &format!("t1/{}", 2 + turn)]).ok();
        let dump = stage.place.run(&["compose", "--dump"]).ok().out;
        stage.send(&session);
        let sent = stage.provider.requests().pop().expect("a request").body;
        assert_eq!(dump.as_bytes(), &sent[..], "what is dumped is what is sent");
    }
}

#[test]
fn what_the_provider_does_not_know_is_left_out_from_then_on() {
    for (refuses, left) in [("context_management", 0), ("context-management-2025-06-27", 0), ("compact_20260112", 2)] {
        let toml = format!("{ON}compact = {{ enabled = true }}\n");
        let mut stage = Stage::new(&toml, &[refuses]);
        let mut session = busy(3);
        // The client requests no edits, so the refused one is ours.
        let bare = |session: &Session| {
            let mut body = session.body_value();
            body.as_object_mut().expect("an object").remove("context_management");
            let headers = session.headers().into_iter().filter(|(name, _)| name != "anthropic-beta");
            (headers.collect::<Vec<_>>(), body.to_string().into_bytes())
        };
        let send = |stage: &Stage, session: &Session| {
            let (headers, body) = bare(session);
            let url = stage.up().url();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let mut client = testkit::Client::connect(&url).await.expect("connected");
                let answer = client.send("POST", "/v1/messages", &headers, &body).await.expect("an answer");
                assert_eq!(answer.status, 200, "{refuses}: {}", String::from_utf8_lossy(&answer.body));
            });
        };
        let asked = |stage: &Stage| {
            let edits = |body: &Value| body["context_management"]["edits"].as_array().map_or(0, Vec::len);
            stage.bodies().iter().map(edits).collect::<Vec<_>>()
        };
        send(&stage, &session);
        assert_eq!(asked(&stage), [3, 0], "{refuses}: once with, once without");
        let told = until("it is told", || {
            let told = stage.place.run(&["status"]).ok().out;
            told.contains("  refused ").then_some(told)
        });
        assert!(told.contains("by claude-opus-5-5, retried in 7 days: "), "{told}");
        assert!(stage.place.run(&["timeline"]).ok().out.contains("the provider refused it"), "{refuses}");
        assert!(stage.up().log().contains("the provider refused an edit that ctx requested"), "{}", stage.up().log());
        session.assistant("Well.").user("SAY:again");
        send(&stage, &session);
        assert_eq!(asked(&stage)[2..], [left], "{refuses}");
        stage.start();
        session.assistant("Well.").user("SAY:and again");
        send(&stage, &session);
        assert_eq!(asked(&stage)[3..], [left], "{refuses}: over a restart");
    }
}

#[test]
fn a_summary_that_the_client_forgets_is_sent_again_and_no_other_is_made() {
    let toml = "[context_editing.provider]\nenabled = true\nclear_tool_uses = { enabled = false }\n\
        compact = { enabled = true, trigger = 50000 }\n";
    let mut stage = Stage::new(toml, &[]);
    let mut session = Session::new(3).lean().hints(true);
    session.user("THINK:long ;; BIG:240000");
    let answer = stage.send(&session);
    stage.goes_on(&mut session, &answer, "THINK:hm ;; SAY:one");
    let answer = stage.send(&session);
    assert_eq!(answer["content"][0]["type"], "compaction", "{answer}");
    assert!(stage.place.run(&["timeline"]).ok().out.contains("the provider summarised earlier content"));
    for turn in 0..3 {
        let answer = stage.provider.requests().pop().and_then(|record| record.answer).expect("an answer");
        stage.goes_on(&mut session, &answer["message"], &format!("THINK:hm ;; SAY:turn {turn}"));
        let answer = stage.send(&session);
        assert_ne!(answer["content"][0]["type"], "compaction", "it is not made twice: {answer}");
        let prompt = |usage: &Value| {
            let count = |name: &str| usage[name].as_u64().unwrap_or(0);
            count("input_tokens") + count("cache_read_input_tokens") + count("cache_creation_input_tokens")
        };
        assert!(prompt(&answer["usage"]) < 20_000, "{answer}");
        let told = || stage.place.run(&["status", "--json"]).ok().json()["context"].clone();
        let context = until("it is noted", || Some(told()).filter(|told| told["tokens"].as_u64() < Some(20_000)));
        assert_eq!((&context["status"], &context["provider_edits"]), (&json!("normal"), &json!(true)), "{context}");
        if turn == 1 {
            until("it is stored", || {
                stage.place.run(&["compose", "--dump"]).ok().out.contains("c2VhbGVk").then_some(())
            });
            stage.start();
        }
    }
}

#[test]
fn what_cannot_be_is_said_with_its_line_and_requests_pass_as_they_came() {
    for (text, told) in [
        ("clear_tool_uses = { keep = -1 }", "line 3: `context_editing.provider.clear_tool_uses.keep` must be"),
        ("compact = { trigger = \"140%\" }", "line 3: `context_editing.provider.compact.trigger` must be"),
        ("on = true", "line 3: `context_editing.provider.on` is unknown; known keys: enabled, models"),
    ] {
        let stage = Stage::new(&format!("[context_editing.provider]\nenabled = true\n{text}\n"), &[]);
        let log = stage.up().log();
        assert!(log.contains(told) && log.contains("its [context_editing.provider] section is ignored"), "{log}");
        let session = busy(1);
        stage.send(&session);
        let received = stage.provider.requests().pop().expect("a request").body;
        assert_eq!(&received[..], &session.body()[..]);
    }
}

#[test]
fn a_project_switches_it_on_while_the_daemon_runs() {
    let context_editing = Some(ContextEditing::default());
    let provider = FakeProvider::start(Options { context_editing, ..Options::strict() }).expect("a provider");
    let place = Place::new();
    let up = Some(place.up_with(&["--upstream", &provider.url()]));
    let stage = Stage { place, provider, up };
    let folder = stage.place.path("project");
    std::fs::create_dir_all(folder.join(".git")).expect("a project");
    let edits = |session: &Session| {
        stage.send(session);
        let body = stage.bodies().pop().expect("a body");
        body["context_management"]["edits"]
            .as_array()
            .map_or(0, |edits| edits.iter().filter(|edit| edit["type"] == "clear_tool_uses_20250919").count())
    };
    let mut here = Session::new(8).lean().hints(true);
    here.user(&format!("Working directory: {}\nSAY:fine", folder.display()));
    let mut elsewhere = Session::new(9).lean().hints(true);
    elsewhere.user("Working directory: /srv/elsewhere\nSAY:fine");
    assert_eq!((edits(&here), edits(&elsewhere)), (0, 0));
    stage.place.write("project/ctx.toml", ON);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!((edits(&here), edits(&here)), (0, 0), "nobody trusts it yet");
    stage.place.run_at_terminal(&["trust", "../project"]).ok();
    until("the project's own file counts", || (edits(&here) == 1).then_some(()));
    assert_eq!(edits(&elsewhere), 0, "for nobody else");
    // An invalid file keeps its previous settings in force; a removed setting no longer counts.
    stage.place.write("project/ctx.toml", "[context_editing.provider]\nenabled = 3\n");
    until("it is told of", || {
        assert_eq!(edits(&here), 1);
        stage.up().log().contains("must be true or false").then_some(())
    });
    stage.place.write("project/ctx.toml", "");
    until("it is taken back", || (edits(&here) == 0).then_some(()));
}
