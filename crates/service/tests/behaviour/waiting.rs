//! Deferred edits: durable, listed, cancellable, and made as ordinary commits when it comes.

use crate::support::{self, House, LONG, answers};
use ctx_api::edit::{EditRequest, When};
use ctx_api::face::Face;
use ctx_api::waiting::WaitView;
use ctx_core::ErrorCode;
use ctx_engine::Moments;
use ctx_engine::attribution::SeenRequest;
use ctx_engine::request::Ticket;
use ctx_engine::response::Timing;
use ctx_models::{Models, Setting};
use ctx_service::edit::Folder;
use ctx_service::view::StatsScope;
use ctx_service::{Service, now};
use ctx_store::MemoryStore;
use ctx_wire::WireId;
use ctx_wire::answer::Ending;
use ctx_wire::rope::Arriving;
use serde_json::{Value, json};
use std::sync::Arc;
use testkit::Session;

/// A house whose clock is given.
struct Day {
    house: House,
    session: Session,
    at: u64,
    conversation: String,
}

const MINUTE: u64 = 60_000;

impl Day {
    fn new() -> Day {
        Day::with(Moments::default())
    }

    fn with(moments: Moments) -> Day {
        Day::of(|service| service.with_moments(moments))
    }

    /// Three turns, the last one just now.
    fn of(set: impl FnOnce(Service) -> Service) -> Day {
        let store: Arc<dyn ctx_store::Store> = Arc::new(MemoryStore::new());
        let service = Arc::new(set(Service::open(store.clone()).expect("a service")));
        let mut house = House::on(store);
        house.service = service;
        let mut session = Session::new(1);
        session.user("read the file");
        session.assistant_tools(&[("Read", json!({"file_path": "a.rs"}))]);
        session.results(&[&"fn a() {}\n".repeat(300)]);
        session.assistant("It is long.").user("and now?").assistant("Nothing.").user("thanks");
        let mut day = Day { house, session, at: now(), conversation: String::new() };
        day.turn();
        day
    }

    fn restart(mut self) -> Day {
        self.house = self.house.restart();
        self
    }

    /// Sends what the session would, held if it must be, and answers. What left, if not what came.
    fn turn(&mut self) -> Option<Value> {
        self.leave(&mut |_| ())
    }

    /// The same; `at_the_door` is called when the request leaves.
    fn leave(&mut self, at_the_door: &mut dyn FnMut(&Service)) -> Option<Value> {
        let body = self.session.body();
        let hints = support::hints(&self.session.headers());
        let mut arriving = Arriving::alone();
        arriving.push(&body);
        let held = self.house.service.holds(&hints);
        let seen = SeenRequest {
            wire: &ctx_wire::anthropic::Anthropic,
            hints,
            pieces: arriving.finish(),
            at: self.at,
            counting: false,
        };
        let mut outgoing = None;
        let ticket: Ticket = match held {
            true => self.house.service.hold(seen, &mut |ready| {
                at_the_door(&self.house.service);
                outgoing = ready;
            }),
            false => self.house.service.observe(seen),
        }
        .expect("readable")
        .expect("a turn");
        self.conversation = ticket.conversation.clone();
        let mut answer = answers::text("well", 1000);
        if let Some(usage) = answer.usage.as_mut() {
            (usage.cache_read, usage.cache_write) = (500, 400);
        }
        let timing = Timing { at: self.at + 20, first_byte_ms: Some(5), total_ms: 20 };
        self.house.service.answered(&ticket, Some(answer.ending), Some(answer), timing).expect("noted");
        self.session.assistant("well").user("go on");
        outgoing.map(|outgoing| serde_json::from_slice(&outgoing.bytes(&body)).expect("JSON"))
    }

    fn edit(&self, operation: Value, when: When) -> ctx_api::edit::EditResult {
        let operations = vec![serde_json::from_value(operation).expect("an operation")];
        let edit = EditRequest { operations, author: "cli".into(), when, ..EditRequest::default() };
        self.house.service.apply(&self.conversation, edit).expect("taken")
    }

    fn deferred(&self) -> Vec<WaitView> {
        self.house.service.waiting(&self.conversation).expect("a list").wishes
    }

    fn state(&self) -> String {
        self.deferred().first().map(|edit| edit.state.clone()).unwrap_or_default()
    }

    fn commits(&self) -> usize {
        self.house.service.history(&self.conversation, 100).expect("a history").commits.len()
    }
}

fn delete(id: &str) -> Value {
    json!({"op": "delete", "ids": [id]})
}

#[test]
fn a_deferred_edit_waits_for_a_cold_cache_and_applies_to_the_request_that_finds_it_cold() {
    let mut day = Day::new();
    let applied = day.edit(delete("t1"), When::Cold);
    assert_eq!((applied.waiting.as_deref(), applied.commit), (Some("w1"), None));
    assert_eq!((day.state().as_str(), day.commits()), ("waiting", 0));

    day.at += MINUTE;
    assert_eq!(day.turn(), None, "the cache is warm: the request leaves as it came");
    assert_eq!(day.state(), "waiting");

    day.at += 6 * MINUTE + MINUTE / 2;
    let sent = day.turn().expect("it is composed");
    assert!(!sent["messages"].to_string().contains("read the file"), "{sent}");
    let made = day.deferred().remove(0);
    assert_eq!((made.state.as_str(), made.author.as_str()), ("made", "cli"));
    let history = day.house.service.history(&day.conversation, 100).expect("a history");
    let commit = &history.commits[0];
    assert_eq!((Some(commit.id), commit.author.as_str()), (made.commit, "cli"));
    assert_eq!(commit.note.as_deref(), Some("waited 7 min for a cold cache"));

    let events = day.house.events(&day.conversation);
    let told: Vec<&str> =
        events.iter().filter(|event| event["kind"] == "waiting").filter_map(|event| event["state"].as_str()).collect();
    assert_eq!(told, ["waiting", "made"]);
}

#[test]
fn a_deferred_edit_waits_until_the_caches_of_all_models_are_cold() {
    let first = serde_json::from_slice::<Value>(&Session::new(1).user("hello").body()).expect("JSON")["model"].clone();
    let mut models = Models::listed().clone();
    let long = Setting { cache_seconds: Some(20 * 60), ..Setting::default() };
    models.set(first.as_str().expect("a model"), &long).expect("set");
    let mut day = Day::of(|service| service.with_models(models));
    let begun = day.at;
    day.edit(delete("t1"), When::Cold);
    day.session = day.session.clone().model("claude-haiku-5-5");
    day.at += MINUTE;
    assert_eq!(day.turn(), None, "nothing is cached for this model, but the first one would write everything again");
    let cold_at = day.house.service.waiting(&day.conversation).expect("a list").cold_at;
    assert_eq!(cold_at, begun + 20 * MINUTE, "the alarm is set to this");
    day.at = begun + 15 * MINUTE;
    assert_eq!(day.turn(), None, "the cache of this model has expired, the first one's has not");
    assert_eq!((day.state().as_str(), day.commits()), ("waiting", 0));
    day.at = begun + 21 * MINUTE;
    assert!(day.turn().is_some(), "both have expired");
    assert_eq!((day.state().as_str(), day.commits()), ("made", 1));
}

#[test]
fn the_service_knows_of_an_edit_before_the_first_request_leaves_with_it() {
    let mut day = Day::new();
    day.edit(delete("t1"), When::Cold);
    assert_eq!(day.house.service.edited_count(), 0);
    day.at += 7 * MINUTE;
    // The client's next request can come before this one is booked.
    let mut edited = 0;
    let sent = day.leave(&mut |service| edited = service.edited_count());
    assert!(sent.is_some() && edited == 1, "{edited} edited conversations");
}

#[test]
fn a_deferred_offload_keeps_no_request_waiting_for_its_file() {
    let (mut day, home) = (Day::new(), tempfile::tempdir().expect("a folder"));
    day.house.service.settle(LONG);
    let service = Service::open(day.house.store.clone()).expect("a service");
    day.house.service = Arc::new(service.offloading_to(Folder::in_home(home.path())));
    day.edit(json!({"op": "offload", "ids": ["t1"]}), When::Cold);
    day.at += 10 * MINUTE;
    let mut at_the_door = None;
    let offload = home.path().join("offload").join(&day.conversation);
    let sent = day.leave(&mut |_| {
        at_the_door = Some(std::fs::read_dir(&offload).map_or(0, Iterator::count));
    });
    assert!(sent.expect("it is composed").to_string().contains("The full content is in "));
    assert_eq!(at_the_door, Some(0), "the request has left before the file is written");
    day.house.service.settle(LONG);
    let files = std::fs::read_dir(&offload).expect("a folder").map(|file| file.expect("an entry").path());
    let texts: Vec<String> = files.map(|file| std::fs::read_to_string(file).expect("a file")).collect();
    assert!(matches!(&texts[..], [text] if text.contains("read the file")), "{texts:?}");
}

#[test]
fn a_deferred_edit_and_its_outcome_survive_a_restart() {
    let day = Day::new();
    day.edit(delete("t1"), When::Cold);
    let before = day.deferred();
    let mut day = day.restart();
    assert_eq!(day.deferred(), before);
    day.at += 10 * MINUTE;
    assert!(day.turn().is_some(), "it is held again after the restart");
    let (made, sent) = (day.deferred(), day.house.compose(&day.conversation));
    let day = day.restart();
    assert_eq!((day.deferred(), day.house.compose(&day.conversation)), (made, sent));
    assert_eq!(day.commits(), 1);
}

#[test]
fn a_deferred_edit_is_applied_at_once_if_its_moment_is_here() {
    let mut day = Day::new();
    day.at = now() - 20 * MINUTE;
    let fresh = Session::new(2);
    let mut day = Day { session: fresh, ..day };
    day.session.user("one").assistant("two").user("three");
    day.turn();
    let applied = day.edit(delete("t1"), When::Cold);
    assert!(applied.commit.is_some() && applied.waiting.is_none());
    assert!(day.deferred().is_empty());
}

#[test]
fn what_is_cancelled_never_happens() {
    let mut day = Day::new();
    day.edit(delete("t1"), When::Cold);
    let cancelled = day.house.service.cancel(&day.conversation, "w1", "cli").expect("cancelled");
    assert_eq!(cancelled.state, "cancelled");
    day.at += 10 * MINUTE;
    assert_eq!(day.turn(), None);
    let hints = support::hints(&day.session.headers());
    assert!(!day.house.service.holds(&hints), "nothing waits: the fast path");
    let mut day = day.restart();
    assert!(!day.house.service.holds(&support::hints(&day.session.headers())));
    day.at += 10 * MINUTE;
    assert_eq!((day.turn(), day.state().as_str()), (None, "cancelled"));
    for (id, code) in [("w1", ErrorCode::NotWaiting), ("w9", ErrorCode::UnknownDeferredEdit)] {
        assert_eq!(day.house.service.cancel(&day.conversation, id, "cli").expect_err("refused").code, code);
    }
}

#[test]
fn an_impossible_edit_is_refused_when_it_is_deferred() {
    let day = Day::new();
    for (operation, code) in
        [(delete("t99"), ErrorCode::UnknownId), (json!({"op": "restore", "ids": ["t1"]}), ErrorCode::NotOffloaded)]
    {
        let operations = vec![serde_json::from_value(operation).expect("an operation")];
        let edit = EditRequest { operations, author: "cli".into(), when: When::Cold, ..EditRequest::default() };
        assert_eq!(day.house.service.apply(&day.conversation, edit).expect_err("refused").code, code);
    }
    let stale = EditRequest {
        operations: vec![serde_json::from_value(delete("t1")).expect("an operation")],
        expect: Some("0123456789".into()),
        when: When::Cold,
        ..EditRequest::default()
    };
    assert_eq!(day.house.service.apply(&day.conversation, stale).expect_err("refused").code, ErrorCode::Stale);
    assert!(day.deferred().is_empty());
}

#[test]
fn a_deferred_edit_that_no_longer_fits_is_kept_with_the_reason() {
    let mut day = Day::new();
    day.edit(delete("t1/1"), When::Cold);
    day.edit(json!({"op": "pin", "ids": ["t2"]}), When::Cold);
    day.edit(delete("t1"), When::Now);
    day.at += 10 * MINUTE;
    assert!(day.turn().is_some());
    let deferred = day.deferred();
    let [pinned, deleted] = deferred.as_slice() else { panic!("two deferred edits: {deferred:?}") };
    assert_eq!((deleted.id.as_str(), deleted.state.as_str()), ("w1", "failed"));
    assert!(deleted.failure.as_ref().is_some_and(|failure| !failure.message.is_empty()), "{deleted:?}");
    assert_eq!(pinned.state, "made", "the others are made all the same");
    let events = day.house.events(&day.conversation);
    let failed = events.iter().find(|event| event["kind"] == "waiting" && event["state"] == "failed").expect("told");
    assert_eq!(failed["failure"]["code"], json!(deleted.failure.as_ref().map(|failure| failure.code.clone())));
    // It can be put away.
    assert_eq!(day.house.service.cancel(&day.conversation, "w1", "cli").expect("put away").state, "cancelled");
}

#[test]
fn ids_that_mean_something_else_by_then_hit_nothing() {
    let mut day = Day::new();
    day.edit(delete("t2"), When::Cold);
    // The client goes back behind `t2` and goes on otherwise.
    let mut other = Session::new(1);
    other.user("read the file");
    other.assistant_tools(&[("Read", json!({"file_path": "a.rs"}))]);
    other.results(&[&"fn a() {}\n".repeat(300)]);
    other.assistant("It is long.").user("something else").assistant("Fine.").user("well then");
    day.session = other;
    day.at += 10 * MINUTE;
    assert_eq!(day.turn(), None);
    let edit = day.deferred().remove(0);
    assert_eq!((edit.state.as_str(), edit.failure.map(|why| why.code)), ("failed", Some(ErrorCode::Gone.into())));
}

#[test]
fn near_the_limit_a_request_is_made_smaller_before_it_leaves() {
    let mut day = Day::with(Moments { near_limit_percent: 5, ..Moments::default() });
    let view = day.house.service.waiting(&day.conversation).expect("a list");
    assert!(view.tokens < view.limit, "{view:?}");
    let applied = day.edit(json!({"op": "drop-results", "ids": ["t1"]}), When::NearLimit);
    assert_eq!(applied.waiting.as_deref(), Some("w1"));
    assert_eq!(day.turn(), None);
    day.session.assistant_tools(&[("Read", json!({"file_path": "b.rs"}))]);
    day.session.results(&[&"fn b() {} // and so on, and on\n".repeat(12_000)]);
    let sent = day.turn().expect("it is composed");
    assert!(!sent.to_string().contains("fn a()"), "the old result is gone from the very request");
    assert_eq!(day.state(), "made");
}

#[test]
fn a_deferred_edit_waits_until_its_branch_is_checked_out() {
    let mut day = Day::new();
    day.edit(delete("t1"), When::Cold);
    let way = |action: &str, name: &str| {
        serde_json::from_value(json!({"action": action, "name": name, "author": "cli"})).expect("a way")
    };
    day.house.service.go(&day.conversation, way("branch", "trial")).expect("a branch");
    day.at += 10 * MINUTE;
    assert_eq!((day.turn(), day.state().as_str()), (None, "waiting"));
    day.house.service.go(&day.conversation, way("checkout", "main")).expect("back");
    day.at += 10 * MINUTE;
    assert!(day.turn().is_some());
    assert_eq!(day.state(), "made");
}

#[test]
fn what_is_told_before_an_edit_is_told_after_it() {
    let day = Day::new();
    let operations = vec![serde_json::from_value(json!({"op": "drop-results", "ids": ["t1"]})).expect("one")];
    let edit = |dry_run| EditRequest {
        operations: operations.clone(),
        author: "cli".into(),
        dry_run,
        ..EditRequest::default()
    };
    let before = day.house.service.apply(&day.conversation, edit(true)).expect("a preview");
    let after = day.house.service.apply(&day.conversation, edit(false)).expect("made");
    let cost = before.preview.cost.expect("a cost");
    assert!(cost.reread > 0, "the cache is warm: {cost:?}");
    assert_eq!((before.preview.tokens_reread, after.preview.tokens_reread), (cost.reread, cost.reread));
}

#[test]
fn going_back_waits_for_its_moment_too() {
    let day = Day::new();
    let go = |day: &Day, way: Value| {
        let way = serde_json::from_value(way).expect("a way");
        day.house.service.go(&day.conversation, way)
    };
    let first = day.edit(delete("t1"), When::Now).commit.expect("a commit");
    day.edit(delete("t2"), When::Now);
    let undo = go(&day, json!({"action": "undo", "author": "cli", "when": "cold"})).expect("it waits");
    assert_eq!((undo.waiting.as_deref(), undo.commit), (Some("w1"), None));
    let back = json!({"action": "revert", "target": first, "author": "cli", "when": "near-limit"});
    assert_eq!(go(&day, back).expect("it waits").waiting.as_deref(), Some("w2"));
    assert_eq!(day.commits(), 2, "nothing is switched off yet");
    let mut day = day.restart();
    day.at += 10 * MINUTE;
    day.turn();
    let history = day.house.service.history(&day.conversation, 10).expect("a history");
    assert_eq!((history.commits[0].kind.as_str(), history.commits.len()), ("undo", 3), "{history:?}");
    // What it means was decided when it was asked for: a later commit is not undone in its place.
    let made = day.deferred().into_iter().find(|edit| edit.id == "w1").expect("known");
    assert_eq!((made.state.as_str(), made.reverts.len()), ("made", 1));
    let accepted =
        day.house.service.accept_many(&day.conversation, &["w1..w2".to_owned()], "cli", Face::Shell).expect("made");
    assert_eq!(accepted.done.iter().map(|edit| edit.id.as_str()).collect::<Vec<_>>(), ["w2"]);
    let sent = String::from_utf8(day.house.compose(&day.conversation)).expect("text");
    assert!(sent.contains("read the file"), "all is as the client sends it");
    let named = json!({"action": "branch", "name": "trial", "author": "cli", "when": "cold"});
    assert_eq!(go(&day, named).expect_err("refused").code, ErrorCode::BadRequest);
}

#[test]
fn a_fork_takes_over_what_waits_for_what_it_shares() {
    let mut day = Day::new();
    day.edit(delete("t1"), When::Cold);
    day.edit(delete("t3"), When::Cold);
    let parent = day.conversation.clone();
    let mut fork = Session::new(1);
    fork.user("read the file");
    fork.assistant_tools(&[("Read", json!({"file_path": "a.rs"}))]);
    fork.results(&[&"fn a() {}\n".repeat(300)]);
    fork.assistant("It is long.").user("and now?").assistant("Nothing.");
    let mut fork = fork.fork();
    fork.user("another way");
    day.session = fork;
    day.at += MINUTE;
    day.turn();
    assert_ne!(day.conversation, parent);
    let deferred = day.deferred();
    let told: Vec<_> = deferred.iter().map(|edit| (edit.id.as_str(), edit.state.as_str(), edit.when)).collect();
    assert_eq!(told, [("w1", "waiting", When::Cold)], "not what names the parent's own `t3`: {deferred:?}");
    day.at += 10 * MINUTE;
    let sent = day.turn().expect("it is composed");
    assert!(!sent["messages"].to_string().contains("read the file"), "{sent}");
}

#[test]
fn several_are_taken_back_at_once() {
    let day = Day::new();
    for id in ["t1", "t2", "t3"] {
        day.edit(delete(id), When::Cold);
    }
    let service = &day.house.service;
    let cancel = |ids: &[&str]| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        service.cancel_many(&day.conversation, &ids, "cli", Face::Shell)
    };
    assert_eq!(cancel(&["w2", "w9"]).expect_err("one is unknown").code, ErrorCode::UnknownDeferredEdit);
    let ids = |outcome: ctx_api::waiting::PendingOutcome| -> Vec<String> {
        outcome.done.into_iter().map(|edit| edit.id).collect()
    };
    assert_eq!(ids(cancel(&["w2,w3"]).expect("cancelled")), ["w2", "w3"]);
    let again = service.cancel_many(&day.conversation, &["w2".to_owned()], "page", Face::Page).expect("an outcome");
    assert_eq!(again.refused[0].hint, "The list of deferred edits shows the others.");
    assert_eq!(ids(cancel(&["all"]).expect("cancelled")), ["w1"]);
    assert_eq!(cancel(&["all"]).expect_err("nothing is left").code, ErrorCode::NotWaiting);
}

#[test]
fn for_an_unknown_id_only_what_can_still_be_cancelled_or_accepted_is_suggested() {
    let day = Day::new();
    for id in ["t1", "t2", "t3"] {
        day.edit(delete(id), When::Cold);
    }
    let service = &day.house.service;
    service.cancel(&day.conversation, "w1", "cli").expect("cancelled");
    service.accept(&day.conversation, "w2", "cli").expect("accepted");
    let expected = "Did you mean w3? `ctx waiting` lists them.";
    let many = service.cancel_many(&day.conversation, &["w9".to_owned()], "cli", Face::Shell);
    assert_eq!(many.expect_err("unknown").hint.to_string(), expected);
    assert_eq!(service.cancel(&day.conversation, "w9", "cli").expect_err("unknown").hint.to_string(), expected);
    assert_eq!(service.accept(&day.conversation, "w9", "cli").expect_err("unknown").hint.to_string(), expected);
}

#[test]
fn other_conversations_stay_on_the_fast_path() {
    let day = Day::new();
    let mut other = Session::new(7);
    day.house.send(other.user("hello"));
    let holds = |session: &Session| day.house.service.holds(&support::hints(&session.headers()));
    assert!(!holds(&day.session) && !holds(&other));
    day.edit(delete("t1"), When::Cold);
    assert!(holds(&day.session) && !holds(&other));
}

#[test]
fn a_request_does_not_wait_for_the_source_of_a_deferred_import() {
    let day = Day::new();
    let mut other = Session::new(7);
    let source = day.house.send(other.user("the port is 4711").assistant("Noted.").user("go on")).conversation;
    day.edit(json!({"op": "import", "from": source, "ids": ["t1"], "to": {"end": true}}), When::Cold);
    let mut day = day.restart();
    day.at += 7 * MINUTE;
    assert_eq!(day.turn(), None, "the source is not in memory: the request leaves as it came");
    assert_eq!((day.state().as_str(), day.commits()), ("waiting", 0));

    day.house.service.frames(&source, false, None).expect("loads it");
    day.at += 7 * MINUTE;
    let sent = day.turn().expect("it is composed");
    assert!(sent["messages"].to_string().contains("the port is 4711"), "{sent}");
    assert_eq!((day.state().as_str(), day.commits()), ("made", 1));
}

#[test]
fn the_clock_makes_it_without_any_request() {
    let day = Day::with(Moments { cache_seconds: Some(2), ..Moments::default() });
    let recorder = ctx_service::Recorder::start(day.house.service.clone()).expect("a recorder");
    assert_eq!(day.edit(delete("t1"), When::Cold).waiting.as_deref(), Some("w1"));
    let deadline = std::time::Instant::now() + LONG;
    while day.state() != "made" {
        assert!(std::time::Instant::now() < deadline, "{:?}", day.deferred());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(day.commits(), 1);
    recorder.settle(LONG);
    let composed = String::from_utf8(day.house.compose(&day.conversation)).expect("text");
    assert!(!composed.contains("read the file"));
    let day = day.restart();
    assert_eq!((day.state().as_str(), day.commits()), ("made", 1));
}

#[test]
fn a_preview_tells_where_it_begins_and_what_it_costs_warm_and_cold() {
    let day = Day::new();
    let look = |when| {
        let operations = vec![serde_json::from_value(json!({"op": "drop-results", "ids": ["t1"]})).expect("one")];
        let edit = EditRequest { operations, author: "cli".into(), dry_run: true, when, ..EditRequest::default() };
        day.house.service.apply(&day.conversation, edit).expect("a preview")
    };
    let warm = look(When::Now);
    let preview = &warm.preview;
    assert_eq!((preview.first_change.as_deref(), preview.first_step.as_deref()), (Some("t1"), Some("t1/1")));
    assert!(preview.tokens_ahead > 0);
    assert!(preview.tokens_ahead + preview.tokens_reread >= warm.tokens_after - 1, "{warm:?}");
    assert!(preview.cache.as_ref().is_some_and(|cache| cache.warm));
    let cost = preview.cost.expect("a cost");
    assert_eq!(cost.cache, ctx_api::cost::Cache::Warm);
    let cold = look(When::Cold).preview.cost.expect("a cost");
    assert_eq!(cold.cache, ctx_api::cost::Cache::Cold);
    assert!(cold.once < 0 && cold.pays_off_after == Some(1), "{cold:?}");
    assert_eq!(cold.saves, cost.saves);
    assert!(day.deferred().is_empty() && day.commits() == 0);
}

/// A first request on Responses with these members, which writes 900 of its 1,000 tokens to the cache.
fn ask_on_responses(house: &House, at: u64, model: &str, members: &Value) -> String {
    let said = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]});
    let mut body = json!({"model": model, "input": [said]});
    body.as_object_mut().expect("an object").extend(members.as_object().expect("members").clone());
    let wire = ctx_wire::wire(WireId::OpenaiResponses);
    let mut arriving = Arriving::alone();
    arriving.push(body.to_string().as_bytes());
    let (hints, pieces) = (support::hints(&support::nameless()), arriving.finish());
    let seen = SeenRequest { wire, hints, pieces, at, counting: false };
    let ticket = house.service.observe(seen).expect("readable").expect("a turn");
    let usage = json!({"input_tokens": 1_000, "output_tokens": 0, "input_tokens_details": {"cache_write_tokens": 900}});
    let answer = json!({"id": "resp_1", "object": "response", "model": model, "status": "completed", "error": null,
        "output": [], "usage": usage});
    let mut tap = wire.tap(200, Some("application/json"), None);
    tap.feed(answer.to_string().as_bytes());
    let answer = tap.finish(Ending::Complete);
    let timing = Timing { at: at + 20, first_byte_ms: None, total_ms: 20 };
    house.service.answered(&ticket, Some(answer.ending), Some(answer), timing).expect("noted");
    ticket.conversation
}

#[test]
fn a_cache_is_warm_for_as_long_as_the_request_asked_and_its_writes_cost_by_that() {
    let asks = |seconds: &str| json!({"prompt_cache_options": {"ttl": seconds}});
    let day = json!({"prompt_cache_retention": "24h"});
    // Input costs 2, a write for half an hour 2.5, for 12 hours 5; of the older model both 2.5.
    for (model, members, minutes, dollars) in [
        ("gpt-6.1-sol", json!({}), 30, 100.0 * 2.0 + 900.0 * 2.5),
        ("gpt-6.1-sol", asks("12h"), 12 * 60, 100.0 * 2.0 + 900.0 * 5.0),
        ("gpt-5.4", json!({}), 5, 1_000.0 * 2.5),
        ("gpt-5.4", day, 24 * 60, 1_000.0 * 2.5),
    ] {
        let (mut house, at) = (House::new(), now());
        let conversation = ask_on_responses(&house, at, model, &members);
        for _ in 0..2 {
            let cold_at = house.service.waiting(&conversation).expect("a list").cold_at;
            assert_eq!((cold_at - at) / MINUTE, minutes, "{model} {members}");
            let cost = house.service.stats(&StatsScope::default()).expect("stats").total.cost * 1e6;
            assert!((cost - dollars).abs() < 0.01, "{model} {members}: {cost} {dollars}");
            house = house.restart();
        }
    }
}
