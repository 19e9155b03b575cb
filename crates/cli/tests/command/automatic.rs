//! The automatic editor from the command line: enabled in `ctx.toml`, visible in `status`, `waiting`, `phase` and
//! `timeline`, signalled to a command. The provider is strict and binds thinking.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::fake_provider::ContextEditing;
use testkit::{FakeProvider, Options, Session};

use crate::editing::helping::helper;
use crate::place::{Place, Up, until};

/// The model's window in tokens.
const WINDOW: u64 = 60_000;

struct Work {
    place: Place,
    provider: FakeProvider,
    up: Up,
    session: Session,
    texts: Vec<String>,
}

impl Work {
    /// With these lines in `[context_editing]` and after it.
    fn new(toml: &str) -> Work {
        Work::before(toml, ContextEditing::default())
    }

    /// The same, with a provider that edits like this.
    fn before(toml: &str, editing: ContextEditing) -> Work {
        let context_editing = Some(editing);
        let provider = FakeProvider::start(Options { context_editing, ..Options::strict() }).expect("a provider");
        let place = Place::new();
        let ledger = place.path("work/NOTES.md");
        let model = format!("[models.\"claude-opus-5-5\"]\nwindow = {WINDOW}\nmax_output = 8000\n");
        let file = place.write("named.toml", &format!("[context_editing]\nledger = {ledger:?}\n{toml}\n{model}"));
        let up = place.up_with(&["--upstream", &provider.url(), "--config", file.to_str().expect("text")]);
        let mut session = Session::new(5).lean().hints(true).model("claude-opus-5-5");
        session.user("do all of it");
        let mut work = Work { place, provider, up, session, texts: Vec::new() };
        work.send();
        work
    }

    /// Sends the client's request, which the provider must accept. Returns the received request and the response.
    #[track_caller]
    fn send(&mut self) -> (Vec<u8>, Value) {
        self.up.send(&self.session);
        let record = self.provider.requests().pop().expect("a request");
        let answer = record.answer.unwrap_or_default();
        assert!(answer["error"].is_null(), "the provider refuses: {answer}");
        (record.body.to_vec(), answer["message"].clone())
    }

    /// A call, its result of about 3,000 tokens, and the request that carries it.
    #[track_caller]
    fn step(&mut self, tool: &str, input: Value) -> (Vec<u8>, Value) {
        let number = self.texts.len();
        let line = |at: usize| format!("line {at} of what was said by call {number}, and no more than that\n");
        let text: String = (0..200).map(line).collect();
        self.session.assistant_tools(&[(tool, input)]).results(&[&text]);
        self.texts.push(text);
        self.send()
    }

    fn make(&mut self, steps: usize) -> (Vec<u8>, Value) {
        let from = self.texts.len();
        (from..from + steps)
            .map(|at| self.step("Bash", json!({"command": format!("make part-{at}")})))
            .last()
            .expect("a step")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.place.run(&[arguments, &["--json"]].concat()).ok().json()
    }

    fn said(&self, arguments: &[&str]) -> String {
        self.place.run(arguments).ok().out
    }

    fn commits(&self) -> Vec<Value> {
        self.json(&["history"])["commits"].as_array().expect("commits").clone()
    }

    fn events(&self, kind: &str) -> Vec<Value> {
        let told = self.json(&["timeline", "--limit", "1000"]);
        told["events"].as_array().expect("events").iter().filter(|event| event["kind"] == kind).cloned().collect()
    }

    fn ledger(&self) -> Option<String> {
        fs::read_to_string(self.place.path("work/NOTES.md")).ok()
    }

    fn kept(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.place.home().join("offload")).into_iter().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.expect("a folder").path()).expect("files"));
        files.map(|file| file.expect("a file").path()).collect()
    }
}

/// The texts of the tool results of a request, in order.
fn results(body: &[u8]) -> Vec<String> {
    let body: Value = serde_json::from_slice(body).expect("JSON");
    let blocks = body["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_array());
    let results = blocks.flatten().filter(|block| block["type"] == "tool_result");
    let text = |content: &Value| content.as_str().or(content[0]["text"].as_str()).unwrap_or_default().to_owned();
    results.map(|block| text(&block["content"])).collect()
}

fn cleared(body: &[u8]) -> usize {
    results(body).iter().filter(|text| text.starts_with("[Cleared to save context.")).count()
}

/// Whether a response reports cleared results.
fn provider_cleared(answer: &Value) -> bool {
    let edits = answer["context_management"]["applied_edits"].as_array();
    edits.is_some_and(|edits| edits.iter().any(|edit| edit["cleared_tool_uses"].as_u64() > Some(0)))
}

#[test]
fn an_editor_that_may_not_act_changes_no_byte() {
    for mode in ["off", "observe", "ask"] {
        let mut work = Work::new(&format!("mode = {mode:?}"));
        for _ in 0..20 {
            let (body, _) = work.make(1);
            assert!(body == work.session.body(), "{mode}: what arrives is what was sent");
        }
        assert!(work.commits().is_empty() && work.ledger().is_none(), "{mode}");
        let context = work.json(&["status"])["context"].clone();
        assert_eq!((&context["mode"], &context["status"]), (&json!(mode), &json!("over")), "{context}");
        let noted = (context["noted"].as_u64() > Some(0), context["proposals"].as_u64() > Some(0));
        assert_eq!(noted, (mode == "observe", mode == "ask"), "{context}");
    }
}

#[test]
fn where_the_provider_clears_ours_waits_and_takes_over_when_it_cannot() {
    const BOTH: &str = "mode = \"on\"\n[context_editing.provider]\nenabled = true";
    let mut work = Work::new(BOTH);
    let mut acted = 0;
    for _ in 0..30 {
        let (body, answer) = work.make(1);
        acted += usize::from(provider_cleared(&answer));
        assert_eq!(cleared(&body), 0, "the model reads a third of its window: {answer}");
    }
    assert!(acted > 10, "{acted}");
    let context = work.json(&["status"])["context"].clone();
    assert_eq!((&context["status"], &context["threshold_percent"]), (&json!("normal"), &json!(95)), "{context}");
    assert!(context["percent"].as_u64() < Some(50), "what the provider leaves out does not count: {context}");
    assert!(work.events("signal").is_empty(), "nothing is near");

    let refuses = vec!["clear_tool_uses_20250919".to_owned()];
    let mut work = Work::before(BOTH, ContextEditing { refuses });
    let mut newest = 0;
    for _ in 0..30 {
        let (body, answer) = work.make(1);
        assert!(!provider_cleared(&answer) && (body.len() as u64 / 4) < WINDOW, "{answer}");
        newest = cleared(&body);
    }
    assert!(newest > 10, "{newest}");
    assert_eq!(work.json(&["status"])["context"]["threshold_percent"], 80);
}

#[test]
fn where_both_have_to_act_they_act_in_turns() {
    // The provider keeps all file reads, so its own clearing does not suffice.
    let mut work = Work::new(
        "mode = \"on\"\n[context_editing.provider]\nenabled = true\n\
         clear_tool_uses = { exclude_tools = [\"Read\"], clear_at_least = 1000 }",
    );
    let (mut ours, mut theirs, mut before) = (0, 0, 0);
    for at in 0..40 {
        let (body, answer) = match at % 3 {
            0 => work.make(1),
            _ => work.step("Read", json!({"file_path": format!("/p/{at}.txt")})),
        };
        let (by_us, by_provider) = (cleared(&body) > before, provider_cleared(&answer));
        assert!(!(by_us && by_provider), "both at {at}");
        before = cleared(&body);
        (ours, theirs) = (ours + usize::from(by_us), theirs + usize::from(by_provider));
    }
    assert!(ours > 0 && theirs > 0, "{ours} {theirs}");
}

/// Work in a phase with a preserved result and six others; the helper summarises it.
fn summarised_phase(mode: &str, helping: &str) -> Work {
    phase_summarised_for(mode, helping, 0.0001)
}

/// The same with a price of the helper in dollars per million tokens.
fn phase_summarised_for(mode: &str, helping: &str, price: f64) -> Work {
    const SAID: &str = r#"{"choices":[{"message":{"content":"All parts were made."}}],"usage":{"total_tokens":9}}"#;
    let port = helper(Some(SAID));
    let mut work = Work::new(&format!(
        "mode = {mode:?}\n[edits]\ncache_seconds = 1\n\
         [helper]\nprovider = \"openai\"\nurl = \"http://127.0.0.1:{port}\"\nmodel = \"small\"\n{helping}\n\
         [models.\"small\"]\ninput = {price:.4}\noutput = {price:.4}\n"
    ));
    work.said(&["phase", "begin", "testing"]);
    work.step("Read", json!({"file_path": "/p/NOTES.md"}));
    work.make(6);
    work.said(&["phase", "end"]);
    work
}

#[test]
fn the_helper_summarises_an_ended_phase_once_the_cache_is_cold() {
    let mut work = summarised_phase("on", "phases = true");
    let by_helper = |commit: &Value| commit["author"] == "helper";
    let commit = until("a summary", || work.commits().into_iter().find(by_helper));
    let note = commit["note"].as_str().expect("a note");
    assert!(note.starts_with("a summary of the phase testing; waited "), "{note}");
    assert_eq!(commit["operations"][0]["ids"], json!(["t1/2..6"]), "not the preserved result, nor the newest step");
    assert!(work.said(&["helper"]).contains("phases    written in the background"));
    let help = work.json(&["status"])["context"]["account"]["help"].as_f64();
    let price = 9.0 * 0.0001 / 1e6;
    assert!(help.is_some_and(|help| (help - price).abs() < 1e-12), "its nine tokens are in the account: {help:?}");
    let (body, _) = work.send();
    let (sent, text) = (results(&body), String::from_utf8_lossy(&body));
    assert!(text.contains("All parts were made.") && text.contains("do all of it"), "{text}");
    assert_eq!(sent, [work.texts[0].as_str(), work.texts[6].as_str()]);
    work.said(&["undo"]);
    let (body, _) = work.send();
    assert!(!String::from_utf8_lossy(&body).contains("All parts were made."));
}

#[test]
fn a_helper_that_costs_more_than_the_account_allows_is_not_asked() {
    let work = phase_summarised_for("on", "phases = true", 5_000.0);
    assert_eq!(work.json(&["helper"])["jobs"], json!([]));
    let account = &work.json(&["status"])["context"]["account"];
    assert!(account["spent"].as_f64() > Some(0.0) && account["help"] == 0.0, "{account}");
}

#[test]
fn a_summary_that_the_account_refuses_is_written_as_soon_as_it_allows_it() {
    let mut work = phase_summarised_for("ask", "phases = true", 0.25);
    let jobs = |work: &Work| work.json(&["helper"])["jobs"].as_array().expect("a list").len();
    let spent = |work: &Work| work.json(&["stats"])["total"]["cost"].clone();
    assert_eq!(jobs(&work), 0, "{}", spent(&work));
    let mut steps = 0;
    while jobs(&work) == 0 && steps < 10 {
        work.make(1);
        std::thread::sleep(Duration::from_millis(300));
        steps += 1;
    }
    assert!((2..10).contains(&steps), "{steps}: {}", spent(&work));
    let summary = |work: &Work| {
        let waiting = work.json(&["waiting"])["wishes"].as_array().expect("a list").clone();
        waiting.into_iter().find(|one| one["author"] == "helper")
    };
    let waiting = until("a proposal", || summary(&work));
    work.make(3);
    assert_eq!(jobs(&work), 1, "the model is asked once");
    work.said(&["waiting", "accept", waiting["id"].as_str().expect("an id")]);
    let (body, _) = work.send();
    assert!(String::from_utf8_lossy(&body).contains("All parts were made."));
}

#[test]
fn the_helper_proposes_a_summary_where_the_editor_asks_and_writes_none_otherwise() {
    let mut work = summarised_phase("ask", "phases = true");
    let summary = |work: &Work| {
        let waiting = work.json(&["waiting"])["wishes"].as_array().expect("a list").clone();
        waiting.into_iter().find(|one| one["author"] == "helper")
    };
    let waiting = until("a proposal", || summary(&work));
    assert_eq!((&waiting["when"], &waiting["state"]), (&json!("accepted"), &json!("waiting")), "{waiting}");
    work.said(&["waiting", "accept", waiting["id"].as_str().expect("an id")]);
    let (body, _) = work.send();
    assert!(String::from_utf8_lossy(&body).contains("All parts were made."));

    for (mode, helping) in [("observe", "phases = true"), ("off", "phases = true"), ("on", "")] {
        let work = summarised_phase(mode, helping);
        assert_eq!(work.json(&["helper"])["jobs"], json!([]), "{mode}, {helping}");
        assert_eq!(summary(&work), None);
    }
}

#[test]
fn phases_are_begun_and_ended_and_their_details_go_by_hand() {
    let mut work = Work::new("");
    assert!(work.said(&["phase"]).starts_with("No phases yet"));
    assert!(work.said(&["phase", "begin", "testing"]).starts_with("testing  open, begun "));
    for (arguments, code) in
        [(["phase", "begin", "testing"].as_slice(), "open-already"), (&["phase", "end", "tasting"], "no-phase")]
    {
        let told = work.place.run(&[arguments, &["--json"]].concat());
        assert_eq!((told.code, &told.json()["error"]["code"]), (Some(1), &json!(code)), "{told:?}");
        let ran = work.place.run(arguments).refused();
        assert!(ran.err.contains("testing") && ran.err.contains("\nhint: "), "{ran:?}");
    }
    assert_eq!(work.place.run(&["phase", "begin"]).code, Some(2), "which one?");
    work.step("Read", json!({"file_path": "/p/NOTES.md"}));
    work.step("Bash", json!({"command": "bd ready"}));
    for at in 0..6 {
        work.step("Edit", json!({"file_path": format!("/p/{at}.rs"), "old_string": "a", "new_string": "b"}));
    }
    assert!(work.said(&["status"]).contains("\nphases          testing\n"));
    assert!(work.said(&["phase", "end"]).starts_with("testing  ended "));
    assert_eq!(work.json(&["phase"])["phases"][0]["name"], "testing");
    let (body, _) = work.make(5);
    assert!(body == work.session.body(), "the mode is off");

    let status = work.said(&["status"]);
    assert!(status.contains("status          NORMAL, threshold 80%; automatic editing off\n"), "{status}");
    assert!(status.contains("completed_phase_details "), "{status}");
    let applied = work.json(&["compact", "--auto", "--reason", "before the review"]);
    assert!(applied["tokens_after"].as_u64() < applied["tokens_before"].as_u64(), "{applied}");
    let commit = work.commits()[0].clone();
    assert_eq!((&commit["author"], &commit["id"]), (&json!("policy"), &applied["commit"]));
    let note = commit["note"].as_str().expect("a note");
    let why = "completed_phase_details (from a finished phase)";
    assert!(note.starts_with("before the review (cli); ") && note.contains(why), "{note}");

    let (body, _) = work.send();
    let sent = results(&body);
    let (stay, gone): (Vec<usize>, Vec<usize>) = (0..sent.len()).partition(|at| sent[*at] == work.texts[*at]);
    assert_eq!(
        (stay, &gone),
        (vec![0, 1, 8, 9, 10, 11, 12], &vec![2, 3, 4, 5, 6, 7]),
        "of the phase, and not preserved"
    );
    let kept: Vec<String> = work.kept().iter().map(|file| fs::read_to_string(file).expect("a file")).collect();
    assert!(gone.iter().all(|at| kept.contains(&work.texts[*at])) && kept.len() == gone.len(), "to the byte");
    let ledger = work.ledger().expect("a ledger");
    assert!(gone.iter().all(|at| ledger.contains(&format!("`/p/{}.rs`", at - 2))), "{ledger}");
    assert_eq!(ledger.lines().count(), gone.len());
    assert_eq!(work.events("signal").iter().filter(|told| told["signal"] == "COMPACTION_COMPLETE").count(), 1);
    assert_eq!(work.events("phase").len(), 2);

    let nothing = work.place.run(&["compact", "--auto", "--reason", "again"]).refused();
    assert!(nothing.err.contains("Nothing to clear") && nothing.err.contains("hint: "), "{nothing:?}");
    work.said(&["undo"]);
    assert!(work.send().0 == work.session.body(), "it is a commit like any other");
}

#[test]
fn what_is_proposed_is_shown_and_made_when_somebody_accepts_it() {
    let mut work = Work::new("mode = \"ask\"");
    work.make(18);
    let deferred = work.json(&["waiting"])["wishes"].as_array().expect("a list").clone();
    assert!(!deferred.is_empty() && deferred.iter().all(|arguments| arguments["author"] == "policy"), "{deferred:?}");
    let said = work.said(&["waiting"]);
    assert!(said.contains("`ctx waiting accept w1` applies it"), "{said}");
    assert!(work.said(&["status"]).contains("`ctx waiting` lists them"));
    let told = work.said(&["waiting", "accept", "w1"]);
    assert!(told.starts_with("w1 "), "{told}");
    assert!(work.ledger().expect("a ledger").contains("cleared Bash"));
    let again = work.place.run(&["waiting", "accept", "w1"]).refused();
    assert!(again.err.contains("hint: "), "{again:?}");
    let (body, _) = work.send();
    let sent = results(&body);
    let gone: Vec<usize> = (0..sent.len()).filter(|at| sent[*at] != work.texts[*at]).collect();
    assert!(!gone.is_empty());
    for at in gone {
        let file = sent[at].split_once("Read it in ").and_then(|(_, rest)| rest.split_once(" if needed."));
        assert_eq!(fs::read_to_string(file.expect("a file").0).expect("a text"), work.texts[at], "to the byte");
    }
    let note = work.commits()[0]["note"].clone();
    assert!(note.as_str().is_some_and(|note| note.contains("accepted by cli")), "{note}");
}

#[test]
fn signals_reach_a_command_the_timeline_and_whoever_watches() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("told");
    let hook = format!("sh -c 'cat >> {0}; echo \" $0\" >> {0}'", file.display());
    let mut work = Work::new(&format!("mode = \"on\"\nhook = {hook:?}"));
    work.make(20);
    let told = until("the command is told", || {
        let told = fs::read_to_string(&file).ok()?;
        told.contains("COMPACTION_COMPLETE").then_some(told)
    });
    let line = told.lines().find(|line| line.ends_with(" COMPACTION_COMPLETE")).expect("a line");
    let figures: Value = serde_json::from_str(line.trim_end_matches(" COMPACTION_COMPLETE")).expect("JSON");
    assert_eq!((&figures["signal"], &figures["window"]), (&json!("COMPACTION_COMPLETE"), &json!(WINDOW)), "{figures}");
    assert!(figures["tokens"].as_u64() < figures["tokens_before"].as_u64() && figures["cleared"].as_u64() > Some(0));
    assert_eq!(figures["commit"], work.commits().last().expect("a commit")["id"], "the oldest first");
    let signals = work.events("signal");
    let names: Vec<&str> = signals.iter().filter_map(|event| event["signal"].as_str()).collect();
    assert!(names.contains(&"CONTEXT_NEAR_LIMIT") && names.contains(&"COMPACTION_COMPLETE"), "{names:?}");
    assert!(work.said(&["timeline", "--limit", "1000"]).contains("COMPACTION_COMPLETE: "));
    assert!(work.up.log().contains("CONTEXT_NEAR_LIMIT"));
    let watched = work.said(&["watch", "--after", "0", "--limit", "40", "--json"]);
    assert!(watched.lines().any(|line| line.contains("COMPACTION_COMPLETE")), "{watched}");
}

#[test]
fn what_cannot_be_written_stays_and_is_told_of_once() {
    for (place, told) in [("work/NOTES.md", "the ledger "), ("home/offload", "its content cannot be written")] {
        let mut work = Work::new("mode = \"on\"");
        // Another file is in its place.
        match place {
            "work/NOTES.md" => fs::create_dir(work.place.path(place)).expect("a folder"),
            _ => drop(work.place.write(place, "")),
        }
        for _ in 0..22 {
            let (body, _) = work.make(1);
            assert!(body == work.session.body(), "{place}: nothing is cleared");
        }
        assert!(work.commits().is_empty());
        let log = work.up.log();
        let warnings: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
        assert_eq!(warnings.len(), 1, "{log}");
        assert!(warnings[0].contains(told) && warnings[0].contains("in ctx.toml"), "{log}");
    }
}

/// An address on this machine, and the signals that it receives.
fn address() -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/told", listener.local_addr().expect("an address"));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a caller");
            let (mut heard, mut more) = (Vec::new(), [0; 4096]);
            while !heard.ends_with(b"}") {
                let count = stream.read(&mut more).expect("bytes");
                heard.extend_from_slice(&more[..count]);
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("answered");
            let _ = tell.send(String::from_utf8(heard).expect("text"));
        }
    });
    (address, told)
}

#[test]
fn an_address_on_this_machine_is_told_of_signals() {
    let (address, told) = address();
    let mut work = Work::new(&format!("mode = \"on\"\nwebhook = {address:?}"));
    work.make(20);
    let mut names = Vec::new();
    while !names.contains(&"COMPACTION_COMPLETE".to_owned()) {
        let heard = told.recv_timeout(Duration::from_secs(30)).expect("a signal");
        let (head, body) = heard.split_once("\r\n\r\n").expect("a body");
        assert!(head.starts_with("POST /told HTTP/1.1\r\n"), "{head}");
        let figures: Value = serde_json::from_str(body).expect("JSON");
        assert!(figures["window"] == WINDOW && figures["conversation"].is_string(), "{figures}");
        names.push(figures["signal"].as_str().expect("a name").to_owned());
    }
    assert_eq!(names[0], "CONTEXT_NEAR_LIMIT");
}
