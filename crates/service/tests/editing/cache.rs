//! The cost of edits on the provider's cache: once, and no more than the content behind them.

use crate::support::{self, answers};
use ctx_api::edit::EditRequest;
use ctx_core::edit::Operation;
use ctx_engine::response::Timing;
use ctx_service::Service;
use ctx_service::edit::Folder;
use ctx_store::MemoryStore;
use serde_json::{Value, json};
use std::sync::Arc;
use testkit::provider::Usage;
use testkit::{Provider, Session};

const BEFORE: usize = 12;
const AFTER: usize = 10;
const STEPS: usize = 3;

struct Line {
    service: Service,
    session: Session,
    provider: Provider,
    strips: bool,
    clock: u64,
    usage: Vec<Usage>,
    conversation: String,
}

impl Line {
    fn new(folder: &std::path::Path, strips: bool) -> Line {
        let service = Service::open(Arc::new(MemoryStore::new())).expect("a service");
        Line {
            service: service.offloading_to(Folder::in_home(folder)),
            session: Session::new(7),
            provider: Provider::new(),
            strips,
            clock: 0,
            usage: Vec::new(),
            conversation: String::new(),
        }
    }

    fn send(&mut self, script: Vec<Value>) {
        let (headers, body) = (self.session.headers(), self.session.body());
        let hints = support::hints(&headers);
        self.clock += 1000;
        let (ticket, _, mut sent) = support::send(&self.service, hints, &body, self.clock);
        if self.strips {
            sent = crate::check::bare(&sent).into_bytes();
        }
        let reply = self.provider.answer(&sent, "", script).expect("accepted");
        let timing = Timing { at: self.clock, first_byte_ms: None, total_ms: 1 };
        let answer = answers::blocks(&reply.blocks, reply.usage.input());
        self.service.answered(&ticket, Some(answer.ending), Some(answer), timing).expect("noted");
        self.conversation = ticket.conversation;
        self.usage.push(reply.usage);
        self.session.assistant_blocks(reply.blocks);
    }

    /// A question, some steps with results of a few thousand characters, an answer.
    fn turn(&mut self, number: usize) {
        self.session.user(&format!("question {number}: what does this part do, and why is it written as it is?"));
        for step in 0..STEPS {
            let id = format!("toolu_{number}_{step}");
            let input = json!({"file_path": format!("/src/part_{number}_{step}.rs")});
            self.send(vec![
                json!({"type": "thinking", "thinking": ""}),
                json!({"type": "tool_use", "id": id, "name": "Read", "input": input}),
            ]);
            let output = format!("line {number} {step} of the file\n").repeat(100 + 40 * step);
            self.session.results(&[&output]);
        }
        self.send(vec![
            json!({"type": "thinking", "thinking": ""}),
            json!({"type": "text", "text": format!("answer {number}. {}", "It does what it says. ".repeat(20))}),
        ]);
    }

    fn apply(&self, operation: Value) {
        let operation: Operation = serde_json::from_value(operation).expect("an operation");
        let edit = EditRequest { operations: vec![operation], author: "cli".into(), ..EditRequest::default() };
        self.service.apply(&self.conversation, edit).expect("applied");
    }

    fn cost(&self, from: usize) -> f64 {
        self.usage[from..].iter().map(Usage::cost).sum()
    }
}

fn ten_edits(line: &Line) {
    for operation in [
        json!({"op": "delete", "ids": ["t4/2"]}),
        json!({"op": "drop-results", "ids": ["t5"]}),
        json!({"op": "edit", "id": "t6#0", "text": "a shorter question"}),
        json!({"op": "compact", "ids": ["t7"], "text": "they looked at part 7"}),
        json!({"op": "offload", "ids": ["t8/1"]}),
        json!({"op": "summarize-results", "ids": ["t8/2"], "text": "nothing of note"}),
        json!({"op": "delete", "ids": ["t9/1..2"]}),
        json!({"op": "combine", "ids": ["t9", "t10"]}),
        json!({"op": "add", "text": "remember this", "role": "user", "to": {"after": "t11"}}),
        json!({"op": "edit", "id": "t11#0", "text": "another shorter question"}),
    ] {
        line.apply(operation);
    }
}

#[test]
fn ten_edits_cost_one_rewrite() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut lines: Vec<(&str, Line)> = [("no edit", false), ("ten edits", false), ("all marks stripped", true)]
        .map(|(name, strips)| (name, Line::new(folder.path(), strips)))
        .into();
    for (name, line) in &mut lines {
        (0..BEFORE).for_each(|number| line.turn(number + 1));
        if *name != "no edit" {
            ten_edits(line);
        }
        (0..AFTER).for_each(|number| line.turn(BEFORE + number + 1));
    }
    let edited = BEFORE * (STEPS + 1);
    println!("input-token equivalents (a read costs 0.1, a write 1.25) of the {AFTER} turns after the edits:");
    for (name, line) in &lines {
        let last = line.usage.last().expect("requests");
        println!(
            "{name:<20} {:>9.0}   first request: {:?}   last: {:?}, {:.1} % read",
            line.cost(edited),
            line.usage[edited],
            last,
            100.0 * last.read as f64 / last.input() as f64
        );
    }
    let [(_, plain), (_, ours), (_, stripped)] = lines.as_slice() else { panic!("three lines") };

    // What the first request after the edits reads is all that was written before the first of them: the request
    // that ended with the results of t4/1.
    let before_edit = ours.usage[3 * (STEPS + 1) + 1];
    let first = ours.usage[edited];
    assert_eq!(first.read, before_edit.input(), "not all that is unchanged is read: {first:?}, {before_edit:?}");
    // From then on nothing is written twice.
    let mut total = first.input();
    for usage in &ours.usage[edited + 1..] {
        assert_eq!(usage.read, total, "something is written twice: {usage:?}");
        total = usage.input();
    }
    let last = ours.usage.last().expect("requests");
    assert!(last.read as f64 >= 0.95 * last.input() as f64, "{last:?}");
    let (read, all) =
        ours.usage[edited + 1..].iter().fold((0, 0), |(read, all), usage| (read + usage.read, all + usage.input()));
    println!("over the {AFTER} turns {:.1} % of the input is read from the cache", 100.0 * read as f64 / all as f64);
    assert!(read as f64 >= 0.95 * all as f64, "{read} of {all}");
    assert!(stripped.cost(edited) > 4.0 * ours.cost(edited));
    assert!(ours.cost(edited) < 1.3 * plain.cost(edited));
}

#[test]
fn what_the_cache_holds_is_told_before_the_next_request_reads_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut line = Line::new(folder.path(), false);
    let told = |line: &Line| line.service.frames(&line.conversation, true, None).expect("frames").cache;
    (1..=6).for_each(|number| line.turn(number));
    let cache = told(&line).expect("the answers told of it");
    let last = *line.usage.last().expect("requests");
    // All but the reply that has not come back.
    assert_eq!((cache.until.as_deref(), cache.tokens), (Some("t6/3"), last.input() - 3), "{cache:?}");
    assert_eq!((cache.expires_at, cache.warm), (cache.at + 1000 * cache.ttl_seconds, false), "{cache:?}");

    line.apply(json!({"op": "pin", "ids": ["t2"]}));
    assert_eq!(told(&line), Some(cache), "nothing of it is sent");

    line.apply(json!({"op": "delete", "ids": ["t4/2"]}));
    let cache = told(&line).expect("some of it is left");
    assert_eq!(cache.until.as_deref(), Some("t4/1"));
    line.turn(7);
    let read = line.usage[6 * (STEPS + 1)].read as f64;
    assert!((cache.tokens as f64 - read).abs() < 0.1 * read, "{cache:?}, and {read} were read");
    assert_eq!(told(&line).and_then(|cache| cache.until).as_deref(), Some("t7/3"));

    // What goes back to what the client sends finds what was cached of that.
    let undone = line.service.frames(&line.conversation, true, Some("source")).expect("frames").cache;
    assert_eq!(undone.and_then(|cache| cache.until).as_deref(), Some("t6/3"));

    // It was written at the end alone since then: what was there before is of another prefix.
    line.apply(json!({"op": "delete", "ids": ["t6/1"]}));
    assert_eq!(told(&line).and_then(|cache| cache.until).as_deref(), Some("t4/1"));
    line.turn(8);
    line.apply(json!({"op": "edit", "id": "t1#0", "text": "another beginning"}));
    assert_eq!(told(&line).and_then(|cache| cache.until).as_deref(), Some("system"));
    line.apply(json!({"op": "edit", "id": "system#2", "text": "be brief"}));
    assert_eq!(told(&line).and_then(|cache| cache.until).as_deref(), Some("tools"));
    line.apply(json!({"op": "delete", "ids": ["tools/Read"]}));
    assert_eq!(told(&line).map(|cache| (cache.until, cache.tokens)), Some((None, 0)));
}
