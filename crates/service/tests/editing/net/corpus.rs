//! Recorded conversations under scripted edits: how their messages are recognised, how they fall into frames and steps,
//! what these weigh, and what each edit sends.

use super::golden;
use super::trace::Trace;
use crate::support::{self, Headers, answers};
use ctx_api::edit::EditRequest;
use ctx_core::edit::Operation;
use ctx_engine::response::Timing;
use ctx_service::Service;
use ctx_service::edit::Folder;
use ctx_store::MemoryStore;
use ctx_wire::body::Body;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use testkit::{is_long, recorded_files};

/// If it has to be quick, every which conversation is looked at of those below a size.
const QUICK: usize = 5;
const SMALL: u64 = 60_000;

#[test]
fn recorded_conversations_are_read_and_edited_as_before() {
    let sets = ["corpus", "corpus2"].into_iter();
    let all =
        sets.flat_map(|set| recorded_files(set).into_iter().map(move |(name, path)| (format!("{set}/{name}"), path)));
    let mut cases: Vec<(String, PathBuf)> = all.collect();
    if !is_long() {
        cases.retain(|(_, path)| std::fs::metadata(path).is_ok_and(|file| file.len() < SMALL));
        cases = cases.into_iter().step_by(QUICK).collect();
    }
    golden::compare("corpus.txt", &cases, |name, path| {
        let body = std::fs::read(path).expect("a readable file");
        Talk::new(Trace::of(name)).through(&body)
    });
}

/// A service with one conversation in it, and everything that is to be noted of it.
struct Talk {
    service: Service,
    trace: Trace,
    clock: u64,
    _home: tempfile::TempDir,
}

impl Talk {
    fn new(mut trace: Trace) -> Talk {
        let below = if cfg!(unix) { "/tmp".into() } else { std::env::temp_dir() };
        let home = tempfile::tempdir_in(below).expect("a folder");
        trace.hide(&home.path().display().to_string(), "HOME");
        let service = Service::open(Arc::new(MemoryStore::new())).expect("a service");
        let service = service.offloading_to(Folder::in_home(home.path()));
        Talk { service, trace, clock: 1_000, _home: home }
    }

    fn through(mut self, body: &[u8]) -> String {
        let whole: Value = serde_json::from_slice(body).expect("JSON");
        self.keys(body);
        self.pass("other", other().to_string().as_bytes(), "of another conversation");
        // It grows: a third of it, then with marks and texts in the other form, then as it was recorded.
        let begun = begin(&whole);
        self.pass("session", begun.to_string().as_bytes(), "at first");
        self.pass("session", dressed(&begun).to_string().as_bytes(), "once more");
        let name = self.pass("session", body, "as recorded");
        self.trace.frames(&self.service, &name);
        self.trace.composed(&self.service, &name);
        let mut talk = whole;
        for (at, batch) in edits(&self.service, &name).chunks(5).enumerate() {
            for edit in batch {
                self.edit(&name, edit);
            }
            self.trace.frames(&self.service, &name);
            go_on(&mut talk, at);
            self.pass("session", talk.to_string().as_bytes(), "as edited");
        }
        self.trace.frames(&self.service, &name);
        self.trace.history(&self.service, &name);
        self.trace.verdicts(&self.service, &name);
        self.trace.finish()
    }

    /// What each message is recognised by.
    fn keys(&mut self, body: &[u8]) {
        let body = Body::parse(body.to_vec(), &ctx_wire::anthropic::Anthropic).expect("a request");
        for at in 0..body.spans().messages.len() {
            let facts = body.read_message(at, ctx_clients::lexicon()).facts;
            self.trace.text("key", format!("{} {:?}", facts.key, facts.anchors));
        }
    }

    /// A request passes, held if it has to be, and is answered. The conversation it belongs to.
    fn pass(&mut self, session: &str, body: &[u8], answer: &str) -> String {
        let headers: Headers = vec![
            ("User-Agent".into(), "claude-cli/2.1.325 (external, cli)".into()),
            ("X-Claude-Code-Session-Id".into(), session.into()),
            ("x-claude-code-request-class".into(), "main".into()),
        ];
        let hints = support::hints(&headers);
        self.clock += 1_000;
        let (ticket, held, sent) = support::send(&self.service, hints, body, self.clock);
        self.trace.bytes(&format!("left {held}"), &sent);
        let answer = answers::text(answer, sent.len() as u64 / 3);
        let timing = Timing { at: self.clock + 100, first_byte_ms: Some(5), total_ms: 20 };
        self.service.answered(&ticket, Some(answer.ending), Some(answer), timing).expect("noted");
        ticket.conversation
    }

    /// One edit, or one way through the history.
    fn edit(&mut self, name: &str, edit: &Value) {
        let outcome = if edit["action"].is_string() {
            let mut way = edit.clone();
            if let Some(back) = edit["target"].as_u64() {
                let history = self.service.history(name, usize::MAX).expect("a history");
                way["target"] = history.commits.get(back as usize).map(|commit| commit.id.to_string()).into();
            }
            way["author"] = "cli".into();
            self.service.go(name, serde_json::from_value(way).expect("a way"))
        } else {
            let mut edit = edit.clone();
            if edit["op"] == "import" {
                let all = self.service.conversations().conversations;
                edit["from"] = all.into_iter().find(|other| other.id != name).map(|other| other.id).into();
            }
            let operation: Operation = serde_json::from_value(edit).expect("an operation");
            let edit = EditRequest { operations: vec![operation], author: "cli".into(), ..EditRequest::default() };
            self.service.apply(name, edit)
        };
        self.trace.done(&edit.to_string(), &outcome);
        if outcome.is_ok() {
            self.trace.composed(&self.service, name);
        }
    }
}

/// The first third of a conversation, up to something that the client says.
fn begin(whole: &Value) -> Value {
    let mut body = whole.clone();
    let messages = body["messages"].as_array_mut().expect("messages");
    let third = messages.len() / 3;
    let end = (0..=third).rev().find(|at| messages[*at]["role"] == "user").unwrap_or(0);
    messages.truncate(end + 1);
    body
}

/// The same, spelled otherwise: a cache mark on the last block, and lists of one text as texts.
fn dressed(body: &Value) -> Value {
    let mut body = body.clone();
    let messages = body["messages"].as_array_mut().expect("messages");
    for message in messages.iter_mut() {
        let only = message["content"].as_array().filter(|blocks| blocks.len() == 1 && blocks[0]["type"] == "text");
        if let Some(text) = only.map(|blocks| blocks[0]["text"].clone()) {
            message["content"] = text;
        }
    }
    let last = messages.last_mut().and_then(|last| last["content"].as_array_mut()).and_then(|last| last.last_mut());
    last.into_iter().for_each(|block| block["cache_control"] = json!({"type": "ephemeral"}));
    body
}

/// The client goes on after what was answered.
fn go_on(talk: &mut Value, at: usize) {
    let messages = talk["messages"].as_array_mut().expect("messages");
    if messages.last().is_some_and(|last| last["role"] == "user") {
        messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": if at == 0 { "as recorded" } else { "as edited" }}]}));
    }
    let text = format!("go on, part {at}");
    messages.push(
        json!({"role": "user", "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]}),
    );
}

/// Another conversation, to import from.
fn other() -> Value {
    let call = json!({"type": "tool_use", "id": "toolu_other", "name": "Read", "input": {"file_path": "/a"}});
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_other", "content": "one line"});
    json!({"model": "claude-opus-5-5", "max_tokens": 100, "messages": [
        {"role": "user", "content": "read a file"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]})
}

/// Twenty edits and ways, each kind at least once, on frames that are chosen by their places in the list.
fn edits(service: &Service, name: &str) -> Vec<Value> {
    let list = service.frames(name, true, None).expect("a list").frames;
    let turns: Vec<&str> = list.iter().filter(|frame| frame.kind == "turn").map(|frame| frame.id.as_str()).collect();
    let tool = list.iter().flat_map(|frame| frame.step_list.iter().flatten()).flat_map(|step| &step.tools).next();
    let tool = tool.map_or("Read", String::as_str);
    let frame = |tenths: usize| turns.get(turns.len() * tenths / 10).or(turns.last()).copied().unwrap_or("t1");
    let raw = json!({"role": "user", "content": [{"type": "text", "text": "another \"question\""}]});
    let definition = json!({"name": tool, "description": "shorter", "input_schema": {"type": "object"}});
    vec![
        json!({"op": "delete", "ids": [format!("{}/1", frame(5))]}),
        json!({"op": "edit", "id": format!("{}#0", frame(0)), "text": "the first question, shorter"}),
        json!({"op": "drop-results", "select": {"larger_than": 2000}}),
        json!({"op": "summarize-results", "ids": [frame(9)], "text": "as expected"}),
        json!({"op": "offload", "ids": [frame(3)], "summary": "read and understood"}),
        json!({"op": "edit", "id": format!("{}#0", frame(4)), "raw": raw}),
        json!({"op": "restore", "ids": [frame(3)]}),
        json!({"op": "split", "id": frame(9), "each_step": true}),
        json!({"op": "compact", "ids": [frame(2)], "text": "it was about files"}),
        json!({"op": "import", "ids": ["t1"], "to": {"after": frame(0)}}),
        json!({"op": "move", "ids": [frame(6)], "to": {"start": true}}),
        json!({"op": "add", "text": "a hint", "role": "user", "to": {"end": true}}),
        json!({"op": "combine", "ids": [frame(7), frame(8)]}),
        json!({"op": "delete", "select": {"tool": tool, "older_than": 1}}),
        json!({"op": "edit", "id": format!("tools/{tool}"), "raw": definition}),
        json!({"op": "retitle", "id": frame(1), "title": "a title"}),
        json!({"op": "pin", "ids": [frame(1)]}),
        json!({"op": "delete", "ids": [frame(1), "system#1"]}),
        json!({"action": "revert", "target": 4}),
        json!({"op": "unpin", "ids": [frame(1)]}),
        json!({"action": "undo"}),
        json!({"action": "redo"}),
        json!({"action": "branch", "name": "other"}),
        json!({"op": "delete", "select": {"superseded": true}}),
        json!({"action": "rollback", "target": 3}),
        json!({"action": "checkout", "name": "main"}),
    ]
}
