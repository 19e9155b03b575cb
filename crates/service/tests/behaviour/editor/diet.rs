//! The diet: tools that an agent did not call in many conversations are deferred at the start of the next one.

use super::work::{Work, on};
use ctx_core::policy::{Diet, DietMode, Mode, Settings};
use ctx_engine::conversation::policy::AUTHOR;
use serde_json::{Value, json};
use testkit::Session;
use testkit::fake_provider::{Options, check};

fn diet(diet: Diet) -> Settings {
    Settings { diet: Diet { after_conversations: 3, ..diet }, ..on() }
}

impl Work {
    /// A new conversation of the same agent, with thinking.
    fn begin(&mut self, seed: u64) -> Value {
        self.session = Session::new(seed).model("claude-opus-5-5");
        self.session.user("do some of it");
        self.send()
    }

    /// Conversations that call two tools.
    fn get_used(&mut self, conversations: u64) {
        for seed in 0..conversations {
            self.begin(100 + seed);
            self.step("Bash", json!({"command": "make"}));
            self.step("Grep", json!({"pattern": "x"}));
        }
    }
}

/// The tools of a request: those that the model reads, and those that a search finds.
fn tools(body: &Value) -> (Vec<String>, Vec<String>) {
    let tools = body["tools"].as_array().expect("tools").iter();
    let (later, loaded): (Vec<&Value>, Vec<&Value>) = tools.partition(|tool| tool["defer_loading"] == true);
    let name = |tool: &&Value| tool["name"].as_str().expect("a name").to_owned();
    (loaded.iter().map(name).collect(), later.iter().map(name).collect())
}

const LATER: [&str; 6] = ["Agent", "Glob", "Skill", "TaskList", "WebFetch", "Zeta"];

#[test]
fn tools_that_were_never_called_are_deferred_at_the_start_and_then_left_alone() {
    let mut work = Work::new(diet(Diet::default()));
    let first = work.begin(1);
    assert_eq!(tools(&first).1, ["Zeta"], "nothing is known yet");
    work.get_used(3);
    let sent = work.begin(2);
    let (loaded, later) = tools(&sent);
    assert_eq!(later, LATER);
    let kept = ["tool_search_tool_regex", "Bash", "Edit", "Grep", "Read", "ToolSearch", "Write"];
    assert_eq!(loaded, kept);
    let before = serde_json::from_slice::<Value>(&work.session.body()).expect("JSON");
    let of = |body: &Value, name: &str| {
        let tools = body["tools"].as_array().expect("tools").clone();
        tools.into_iter().find(|tool| tool["name"] == name).expect("a tool")
    };
    let mut agent = of(&sent, "Agent");
    agent.as_object_mut().expect("an object").remove("defer_loading");
    assert_eq!(agent, of(&before, "Agent"), "the client's own definition");

    // It is a commit like any other, with its reason.
    let commits = work.commits();
    assert_eq!(commits.len(), 1);
    assert_eq!(
        (commits[0].author.as_str(), commits[0].tokens_before > commits[0].tokens_after + 3_000),
        (AUTHOR, true)
    );
    assert!(commits[0].note.as_deref().is_some_and(|note| note.contains("not called in 3 conversations")));

    // It stays, also when the cache has expired, and the strict provider takes every request.
    for at in 0..4 {
        work.clock += if at == 2 { 2 * 3_600_000 } else { 0 };
        let sent = work.step("Bash", json!({"command": format!("make part-{at}")}));
        assert_eq!(tools(&sent).1, LATER);
        check(sent.to_string().as_bytes(), &Options { bind_thinking: false, ..Options::strict() }).expect("accepted");
    }
    assert_eq!(work.commits().iter().filter(|commit| commit.summary.contains("tools")).count(), 1);

    // Reverted, the tools are back and stay back.
    let commit = commits[0].id.to_string();
    let way = serde_json::from_value(json!({"action": "revert", "target": commit, "author": "cli", "cascade": true}));
    work.service.go(&work.conversation, way.expect("a way")).expect("reverted");
    work.clock += 2 * 3_600_000;
    assert_eq!(tools(&work.step("Bash", json!({"command": "make more"}))).1, ["Zeta"]);
}

#[test]
fn figures_outlive_the_daemon_and_a_called_tool_is_loaded_in_the_next_conversation() {
    let mut work = Work::new(diet(Diet::default()));
    work.get_used(3);
    work.restart(diet(Diet::default()));
    assert_eq!(tools(&work.begin(1)).1, LATER);
    work.step("Agent", json!({"prompt": "look"}));
    assert_eq!(tools(&work.begin(2)).1, ["Glob", "Skill", "TaskList", "WebFetch", "Zeta"]);
}

#[test]
fn a_conversation_that_has_begun_waits_until_its_cache_has_expired() {
    let mut work = Work::new(Settings { mode: Mode::Off, ..on() });
    work.get_used(4);
    work.decide(diet(Diet::default()));
    work.send();
    assert_eq!(tools(&work.step("Bash", json!({"command": "make"}))).1, ["Zeta"], "the cache is warm");
    work.clock += 2 * 3_600_000;
    let sent = work.step("Bash", json!({"command": "make"}));
    assert_eq!(tools(&sent).1, LATER);
}

#[test]
fn a_conversation_that_goes_to_another_model_waits_until_both_caches_have_expired() {
    let mut work = Work::new(Settings { mode: Mode::Off, ..on() });
    work.get_used(4);
    work.send();
    work.decide(diet(Diet::default()));
    work.session = work.session.clone().model("claude-opus-5");
    assert_eq!(tools(&work.step("Bash", json!({"command": "make"}))).1, ["Zeta"], "the first model's cache is warm");
    assert_eq!(tools(&work.step("Bash", json!({"command": "make"}))).1, ["Zeta"], "both are");
    work.clock += 2 * 3_600_000;
    assert_eq!(tools(&work.step("Bash", json!({"command": "make"}))).1, LATER);
}

#[test]
fn settings_decide_what_stays_what_goes_and_whether_anything_does() {
    let sent = |settings: Diet| {
        let mut work = Work::new(diet(settings));
        work.get_used(3);
        let sent = work.begin(1);
        let commits = work.commits().len();
        (sent, commits, work)
    };
    let (off, commits, _) = sent(Diet { mode: DietMode::Off, ..Diet::default() });
    assert_eq!((tools(&off).1, commits), (vec!["Zeta".to_owned()], 0));
    let keeps = Diet { keep_tools: vec!["Agent".into()], leave_out: vec!["Web*".into()], ..Diet::default() };
    let (kept, ..) = sent(keeps);
    let (loaded, later) = tools(&kept);
    let has = |names: &[String], name: &str| names.iter().any(|other| other == name);
    assert!(has(&loaded, "Agent") && !has(&later, "Agent"));
    assert!(!has(&loaded, "WebFetch") && !has(&later, "WebFetch"));
    let (observed, commits, work) = sent(Diet { mode: DietMode::Observe, ..Diet::default() });
    assert_eq!((tools(&observed).1, commits), (vec!["Zeta".to_owned()], 0));
    let noted = work.events("noted");
    assert_eq!(noted.len(), 1);
    assert!(noted[0]["tokens_before"].as_u64() > noted[0]["tokens_after"].as_u64().map(|after| after + 3_000));
}

#[test]
fn without_a_tool_search_of_the_client_nothing_is_deferred() {
    let mut work = Work::new(diet(Diet::default()));
    work.spelled = vec![(r#","defer_loading":true"#.into(), String::new())];
    work.get_used(3);
    assert_eq!(tools(&work.begin(1)).1, [] as [&str; 0]);
}

#[test]
fn a_provider_that_refuses_deferred_tools_gets_them_loaded_from_then_on() {
    let mut work = Work::new(diet(Diet::default()));
    work.get_used(3);
    work.refuses = Some("tool_search_tool_regex");
    assert_eq!(tools(&work.begin(1)).1, LATER);
    // The client tries again.
    assert_eq!(tools(&work.send()).1, ["Zeta"]);
    let commits = work.commits();
    assert_eq!(commits.iter().filter(|commit| commit.kind == "revert" && commit.author == AUTHOR).count(), 1);
    assert_eq!(tools(&work.begin(2)).1, ["Zeta"], "it is not tried again");
    work.restart(diet(Diet::default()));
    assert_eq!(tools(&work.begin(3)).1, ["Zeta"], "nor after a restart");
}
