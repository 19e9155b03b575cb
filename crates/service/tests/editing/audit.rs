//! The cache forecast compared with the provider's own cache: each cause of a miss is provoked and explained.

use crate::support::{self, answers};
use ctx_api::cache::{By, CacheMiss, Cause, MissView, Misses};
use ctx_api::edit::EditRequest;
use ctx_api::stats::{GroupView, Grouping, Spending};
use ctx_core::policy::{Look, Policy, Proposal};
use ctx_engine::Moments;
use ctx_engine::ports::Plain;
use ctx_engine::response::Timing;
use ctx_models::{Models, Setting};
use ctx_service::Service;
use ctx_service::view::StatsScope;
use ctx_store::MemoryStore;
use serde_json::{Value, json};
use std::sync::Arc;
use testkit::{Provider, Session};

type Alter = Box<dyn Fn(&mut Value)>;

/// Clears the results of the first turns when so many answers were given, and from then on each new one.
struct Once {
    steps: usize,
    fresh: bool,
}

impl Policy for Once {
    fn name(&self) -> &str {
        "once"
    }

    fn about(&self) -> &str {
        "clears once"
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        let goes = |at: usize| look.steps == self.steps && (1..=4).contains(&at);
        let items = look
            .items
            .iter()
            .enumerate()
            .filter(|(at, item)| goes(*at) || (self.fresh && look.steps > self.steps && item.fresh));
        Proposal::clear(items.map(|(_, item)| item), "it is time").into_iter().collect()
    }
}

struct Talk {
    store: Arc<MemoryStore>,
    service: Service,
    session: Session,
    provider: Provider,
    clock: u64,
    conversation: String,
    /// What the client does to its request before it is sent.
    alter: Vec<Alter>,
    /// Tokens that the provider says it cleared.
    cleared: u64,
    turns: usize,
}

impl Talk {
    fn new() -> Talk {
        let store = Arc::new(MemoryStore::new());
        let service = Service::open(store.clone()).expect("a service");
        let (session, provider) = (Session::new(7).thinking(false), Provider::new());
        let (alter, conversation) = (Vec::new(), String::new());
        Talk { store, service, session, provider, clock: 0, conversation, alter, cleared: 0, turns: 0 }
    }

    /// One exchange, so many seconds after the one before.
    fn send(&mut self, wait: u64, script: Vec<Value>) {
        let mut body: Value = serde_json::from_slice(&self.session.body()).expect("JSON");
        self.alter.iter().for_each(|alter| alter(&mut body));
        let body = body.to_string().into_bytes();
        let hints = support::hints(&self.session.headers());
        self.clock += wait * 1000;
        let (ticket, _, sent) = support::send(&self.service, hints, &body, self.clock);
        let reply = self.provider.answer(&sent, "", script).expect("accepted");
        let mut answer = answers::blocks(&reply.blocks, reply.usage.input());
        answer.model = serde_json::from_slice::<Value>(&sent).expect("JSON")["model"].as_str().map(str::to_owned);
        let usage = answer.usage.as_mut().expect("usage");
        (usage.input, usage.cache_read, usage.cache_write) = (reply.usage.fresh, reply.usage.read, reply.usage.written);
        if self.cleared > 0 {
            let edit = ctx_wire::answer::AppliedEdit {
                kind: "clear_tool_uses_20250919".into(),
                cleared_tool_uses: Some(2),
                cleared_thinking_turns: None,
                cleared_input_tokens: Some(self.cleared),
            };
            answer.applied_edits.push(edit);
        }
        let timing = Timing { at: self.clock, first_byte_ms: None, total_ms: 0 };
        self.service.answered(&ticket, Some(answer.ending), Some(answer), timing).expect("noted");
        self.conversation = ticket.conversation;
        self.session.assistant_blocks(reply.blocks);
    }

    /// A question, a call with its result, and an answer. What the first of the two requests missed.
    fn turn(&mut self, wait: u64) -> Option<CacheMiss> {
        self.turns += 1;
        let number = self.turns;
        self.session.user(&format!("question {number}: what does this part do, and why is it written as it is?"));
        let (id, input) = (format!("toolu_{number}"), json!({"file_path": format!("/src/part_{number}.rs")}));
        self.send(wait, vec![json!({"type": "tool_use", "id": id, "name": "Read", "input": input})]);
        self.session.results(&[&format!("line {number} of the file\n").repeat(100)]);
        self.send(1, vec![json!({"type": "text", "text": "It does what it says. ".repeat(20)})]);
        let misses = self.misses();
        let view = |request: usize| self.service.misses(&self.conversation, Some(request as u32), 1).expect("a view");
        assert_eq!(view(2 * number).misses[0].miss, None, "the second request of a turn reads what the first wrote");
        misses.misses.into_iter().find(|view| view.request == 2 * number as u32 - 1).and_then(|view| view.miss)
    }

    fn misses(&self) -> Misses {
        self.service.misses(&self.conversation, None, usize::MAX).expect("misses")
    }

    fn apply(&self, author: &str, operation: Value) -> String {
        let operations = vec![serde_json::from_value(operation).expect("an operation")];
        let edit = EditRequest {
            operations,
            author: author.into(),
            note: None,
            expect: None,
            dry_run: false,
            when: Default::default(),
        };
        self.service.apply(&self.conversation, edit).expect("applied").commit.expect("a commit")
    }

    fn newest(&self) -> MissView {
        let newest = self.turns as u32 * 2 - 1;
        self.service.misses(&self.conversation, Some(newest), 1).expect("a view").misses.remove(0)
    }
}

fn told(miss: Option<CacheMiss>) -> (Cause, By, Option<String>) {
    let miss = miss.expect("a miss");
    assert!(!miss.words.is_empty() && miss.tokens > 0, "{miss:?}");
    (miss.cause, miss.by, miss.place)
}

#[test]
fn every_reason_for_a_miss_is_explained_and_what_is_foreseen_comes_true() {
    let mut talk = Talk::new();
    assert_eq!(told(talk.turn(1)), (Cause::FirstRequest, By::Client, None));
    for _ in 0..3 {
        assert_eq!(talk.turn(1), None);
        let view = talk.newest();
        assert_eq!(view.expected, Some(view.read), "to the token");
    }

    let commit = talk.apply("cli", json!({"op": "delete", "ids": ["t2/1"]}));
    let miss = talk.turn(1).expect("a miss");
    assert_eq!((miss.commit.as_deref(), miss.place.as_deref()), (Some(commit.as_str()), Some("t2/1")), "{miss:?}");
    assert_eq!((miss.cause, miss.by), (Cause::Edited, By::User));
    assert_eq!(talk.turn(1), None, "it is paid for once");
    talk.apply("policy", json!({"op": "drop-results", "ids": ["t4", "t3"]}));
    assert_eq!(told(talk.turn(1)), (Cause::Edited, By::Policy, Some("t3".into())));

    talk.provider = Provider::new();
    let miss = talk.turn(700).expect("a miss");
    assert_eq!((miss.cause, miss.by), (Cause::Expired, By::Provider));
    assert_eq!((miss.idle_seconds, miss.ttl_seconds), (Some(700), Some(300)), "{miss:?}");
    assert_eq!(miss.words, "The cache lives for 5 min and was last used 11 min 40 s earlier.");

    talk.alter.push(Box::new(|body| body["model"] = json!("claude-opus-5")));
    let miss = talk.turn(1).expect("a miss");
    assert_eq!((miss.cause, miss.by), (Cause::ModelChanged, By::Client));
    assert!(miss.words.contains("to claude-opus-5;"), "{miss:?}");

    talk.alter.push(Box::new(|body| body["tools"][1]["description"] = json!("It does something else now.")));
    let name = {
        let body: Value = serde_json::from_slice(&talk.session.body()).expect("JSON");
        body["tools"][1]["name"].as_str().expect("a name").to_owned()
    };
    assert_eq!(told(talk.turn(1)), (Cause::ToolsChanged, By::Client, Some(format!("tools/{name}"))));

    talk.alter.push(Box::new(|body| body["tool_choice"] = json!({"type": "any"})));
    assert_eq!(told(talk.turn(1)), (Cause::MannerChanged, By::Client, Some("tool_choice".into())));
    let view = talk.newest();
    assert!(view.expected.is_some_and(|expected| expected.abs_diff(view.read) < 5), "what is before: {view:?}");
    assert_eq!(talk.turn(1), None);

    talk.alter.push(Box::new(|body| {
        let last = body["system"].as_array_mut().and_then(|system| system.last_mut()).expect("a system prompt");
        last["text"] = json!("You are somebody else. ".repeat(40));
    }));
    let (cause, by, place) = told(talk.turn(1));
    assert_eq!((cause, by), (Cause::SystemChanged, By::Client));
    assert!(place.as_ref().is_some_and(|place| place.starts_with("system#")), "{place:?}");

    talk.alter.push(Box::new(|body| {
        let results = body["messages"].as_array_mut().expect("messages").iter_mut().filter_map(|message| {
            message["content"].as_array_mut()?.iter_mut().find(|block| block["tool_use_id"] == "toolu_6")
        });
        results.for_each(|block| block["content"] = json!("[Old tool result content cleared]"));
    }));
    assert_eq!(told(talk.turn(1)), (Cause::HistoryChanged, By::Client, Some("t6#2.0".into())));
    assert_eq!(talk.turn(1), None);

    talk.provider = Provider::new();
    talk.cleared = 4_000;
    assert_eq!(told(talk.turn(1)), (Cause::Cleared, By::Provider, None));
    talk.cleared = 0;
    assert_eq!(talk.turn(1), None);

    let all = talk.misses();
    let off: Vec<_> = (1..=talk.turns as u32 * 2)
        .filter_map(|request| talk.service.misses(&talk.conversation, Some(request), 1).ok()?.misses.pop())
        .filter(|view| {
            view.expected.is_some_and(|expected| expected.abs_diff(view.read) * 20 > expected.max(view.read))
        })
        .map(|view| (view.request, view.expected, view.read))
        .collect();
    println!("{} of {} foreseen came true; not so: {off:?}", all.came_true, all.foreseen);
    assert!(all.came_true + 2 >= all.foreseen, "{off:?}");

    talk.provider = Provider::new();
    assert_eq!(told(talk.turn(1)), (Cause::Unknown, By::Provider, None));
    assert!(talk.newest().expected.is_some_and(|expected| expected > 1_000), "it should have been there");
    for view in talk.misses().misses {
        let tokens = view.miss.as_ref().map_or(0, |miss| miss.tokens);
        assert!(tokens <= view.prompt - view.read, "no more than was read anew: {view:?}");
    }
}

#[test]
fn what_a_policy_clears_while_a_request_is_held_is_told_of_that_request() {
    let mut talk = Talk::new();
    talk.service.automate(Some(Arc::new(Plain(Arc::new(Once { steps: 12, fresh: true })))));
    assert_eq!(told(talk.turn(1)).0, Cause::FirstRequest);
    (0..5).for_each(|_| assert_eq!(talk.turn(1), None));
    let (cause, by, place) = told(talk.turn(1));
    assert_eq!((cause, by), (Cause::Edited, By::Policy));
    assert!(place.as_ref().is_some_and(|place| place.starts_with("t2#")), "the first that went: {place:?}");
    let view = talk.newest();
    assert_eq!(view.expected, Some(view.read));
    (0..2).for_each(|_| assert_eq!(talk.turn(1), None, "what was never sent cuts nothing"));
    talk.provider = Provider::new();
    let (cause, by, _) = told(talk.turn(1));
    assert_eq!((cause, by), (Cause::Unknown, By::Provider), "what it cleared there was never sent");
}

/// Clears everything when that costs nothing.
struct WhenCold;

impl Policy for WhenCold {
    fn name(&self) -> &str {
        "when cold"
    }

    fn about(&self) -> &str {
        "clears in the cold"
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        let items = look.items.iter().filter(|item| look.cold && !item.fresh && !item.cleared);
        Proposal::clear(items, "it is cold").into_iter().collect()
    }
}

#[test]
fn clearing_costs_nothing_once_the_caches_of_all_models_have_expired() {
    let mut talk = Talk::new();
    talk.service.automate(Some(Arc::new(Plain(Arc::new(WhenCold)))));
    let commits = |talk: &Talk| talk.service.history(&talk.conversation, 9).expect("a history").commits.len();
    (0..3).for_each(|_| drop(talk.turn(1)));
    assert_eq!(commits(&talk), 0);
    talk.alter.push(Box::new(|body| body["model"] = json!("claude-opus-5")));
    assert_eq!(told(talk.turn(1)).0, Cause::ModelChanged);
    assert_eq!(commits(&talk), 0, "the first one still has its own, and would write it again");
    drop(talk.turn(2 * 3_600));
    assert_eq!(commits(&talk), 1);
}

#[test]
fn how_long_a_cache_lives_is_what_somebody_said_of_the_model_or_of_all() {
    let mut models = Models::listed().clone();
    let setting = Setting { cache_seconds: Some(15), ..Setting::default() };
    let open = || Service::open(Arc::new(MemoryStore::new())).expect("a service");
    let mut talk = Talk::new();
    let model = serde_json::from_slice::<Value>(&talk.session.body()).expect("JSON")["model"].clone();
    models.set(model.as_str().expect("a model"), &setting).expect("set");
    let of_all = Moments { cache_seconds: Some(15), ..Moments::default() };
    for service in [open().with_models(models), open().with_moments(of_all)] {
        talk = Talk { service, ..Talk::new() };
        (0..2).for_each(|_| drop(talk.turn(1)));
        assert_eq!(talk.turn(10), None);
        talk.provider = Provider::new();
        let miss = talk.turn(16).expect("a miss");
        assert_eq!((miss.cause, miss.ttl_seconds), (Cause::Expired, Some(15)));
        assert_eq!(talk.newest().expected, Some(0));
    }
}

#[test]
fn what_no_mark_looks_back_to_is_told_as_out_of_reach() {
    let mut models = Models::listed().clone();
    let mut talk = Talk::new();
    let model = serde_json::from_slice::<Value>(&talk.session.body()).expect("JSON")["model"].clone();
    let setting = Setting { look_back: Some(1), ..Setting::default() };
    models.set(model.as_str().expect("a model"), &setting).expect("set");
    talk.service = Service::open(talk.store.clone()).expect("a service").with_models(models);
    (0..2).for_each(|_| drop(talk.turn(1)));
    talk.provider = Provider::new();
    let (cause, by, _) = told(talk.turn(1));
    assert_eq!((cause, by), (Cause::OutOfReach, By::Client));
}

#[test]
fn what_is_foreseen_survives_a_restart() {
    let mut talk = Talk::new();
    (0..3).for_each(|_| drop(talk.turn(1)));
    talk.apply("cli", json!({"op": "delete", "ids": ["t1/1"]}));
    drop(talk.turn(1));
    talk.service.settle(std::time::Duration::from_secs(5));
    talk.service = Service::open(talk.store.clone()).expect("a service");
    assert_eq!(talk.turn(1), None);
    let view = talk.newest();
    assert_eq!(view.expected, Some(view.read));
}

#[test]
fn a_prompt_that_is_too_short_is_not_cached_and_that_is_said() {
    let mut talk = Talk::new();
    talk.session = Session::new(8).thinking(false).lean();
    talk.alter.push(Box::new(|body| {
        body["tools"] = json!([{"name": "Read", "description": "reads", "input_schema": {"type": "object"}}]);
        body["system"] = json!([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]);
        body["model"] = json!("claude-opus-4-6");
    }));
    talk.provider = Provider::caching_from(4_096);
    talk.session.user("hello");
    talk.send(1, vec![json!({"type": "text", "text": "Hello."})]);
    let misses = talk.misses();
    let miss = misses.misses[0].miss.as_ref().expect("a miss");
    assert_eq!((miss.cause, miss.by), (Cause::BelowMinimum, By::Provider));
    assert!(miss.words.ends_with("claude-opus-4-6 caches only prompts of at least 4096."), "{miss:?}");
}

#[test]
fn what_an_edit_saves_is_what_the_same_talk_costs_without_it() {
    let cost = |edits: bool| {
        let mut talk = Talk::new();
        (0..6).for_each(|_| drop(talk.turn(1)));
        if edits {
            talk.apply("cli", json!({"op": "delete", "ids": ["t2/1", "t3/1"]}));
        }
        cost_of_twelve_more(talk)
    };
    saves_what_it_says(cost(false), cost(true));
}

#[test]
fn what_a_policy_saves_is_what_the_same_talk_costs_without_it() {
    let cost = |edits: bool| {
        let mut talk = Talk::new();
        if edits {
            talk.service.automate(Some(Arc::new(Plain(Arc::new(Once { steps: 12, fresh: false })))));
        }
        (0..6).for_each(|_| drop(talk.turn(1)));
        cost_of_twelve_more(talk)
    };
    saves_what_it_says(cost(false), cost(true));
}

fn cost_of_twelve_more(mut talk: Talk) -> (Spending, Vec<GroupView>) {
    (0..12).for_each(|_| drop(talk.turn(1)));
    let stats = |by| talk.service.stats(&StatsScope { by, ..StatsScope::default() }).expect("stats");
    let all = stats(Grouping::Conversation);
    assert_eq!(all.total, stats(Grouping::Request).total);
    assert_eq!((all.total.requests, all.total.unweighed, all.total.unpriced), (36, 0, 0));
    (all.total, stats(Grouping::Request).groups)
}

/// The same talk without an edit, and with one before its thirteenth request.
fn saves_what_it_says((plain, _): (Spending, Vec<GroupView>), (edited, rows): (Spending, Vec<GroupView>)) {
    assert_eq!((plain.saved, plain.removed), (0.0, 0));
    let first = rows[12].spent;
    assert!(first.saved < 0.0 && rows[13..].iter().all(|row| row.spent.saved > 0.0), "{first:?}");
    // Estimates of what was removed are not exact; the money is of the same size.
    let (really, told) = (plain.cost - edited.cost, edited.saved);
    println!("really saved {really:.6}, told {told:.6}, of {:.6}", plain.cost);
    assert!((really - told).abs() < 0.02 * plain.cost, "really {really}, told {told}, of {}", plain.cost);
}
