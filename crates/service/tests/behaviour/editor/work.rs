//! A working session with the automatic editor on.

use crate::support::{self, answers};
use ctx_core::policy::{Mode, Settings};
use ctx_engine::edit::handle::Handles;
use ctx_engine::response::Timing;
use ctx_models::{Models, Setting};
use ctx_service::Service;
use ctx_service::automatic::Editor;
use ctx_service::edit::Folder;
use ctx_store::MemoryStore;
use ctx_wire::answer::AppliedEdit;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use testkit::Session;

/// Tokens that the model takes.
pub const WINDOW: u64 = 60_000;

pub struct Work {
    pub service: Service,
    store: Arc<MemoryStore>,
    models: Models,
    pub home: tempfile::TempDir,
    pub session: Session,
    pub clock: u64,
    pub conversation: String,
    pub texts: Vec<String>,
    /// What the client spells otherwise than the session does.
    pub spelled: Vec<(String, String)>,
    /// The request before, if the provider writes to its cache what it does not have; otherwise it reads everything.
    pub cached: Option<Vec<u8>>,
    /// Tokens of tool results that the provider says it cleared itself, in each answer.
    pub cleared_by_provider: u64,
    /// The provider refuses requests that contain these words, by naming them.
    pub refuses: Option<&'static str>,
}

impl Work {
    pub fn new(settings: Settings) -> Work {
        let home = tempfile::tempdir().expect("a folder");
        let mut models = Models::listed().clone();
        let session = Session::new(3).thinking(false).lean().model("claude-opus-5-5");
        let setting = Setting { window: Some(WINDOW), max_output: Some(8_000), ..Setting::default() };
        models.set("claude-opus-5-5", &setting).expect("a model");
        let store = Arc::new(MemoryStore::new());
        let service = Service::open(store.clone()).expect("a service").with_models(models.clone());
        let work = Work {
            service,
            store,
            models,
            home,
            session,
            clock: 1_000,
            conversation: String::new(),
            texts: Vec::new(),
            spelled: Vec::new(),
            cached: None,
            cleared_by_provider: 0,
            refuses: None,
        };
        work.decide(settings);
        work
    }

    /// With a cache that lives for so many seconds.
    pub fn caching_for(mut self, seconds: u64, settings: Settings) -> Work {
        let setting = Setting { cache_seconds: Some(seconds), ..Setting::default() };
        self.models.set("claude-opus-5-5", &setting).expect("a model");
        self.restart(settings);
        self
    }

    /// The daemon ends, and begins again.
    pub fn restart(&mut self, settings: Settings) {
        self.service.settle(support::LONG);
        let service = Service::open(self.store.clone()).expect("a service");
        self.service = service.with_models(self.models.clone());
        self.decide(settings);
    }

    /// As a daemon for agents on other machines.
    pub fn in_store(mut self, settings: Settings, handles: Handles) -> Work {
        let service = Service::open(self.store.clone()).expect("a service");
        self.service = service.with_models(self.models.clone()).keeping_in_store(handles);
        let settings = Settings { ledger: self.home.path().join("NOTES.md").display().to_string(), ..settings };
        let editor = Editor::in_store(Arc::new(Arc::new(settings)), handles, Box::new(|_| false));
        self.service.automate(Some(Arc::new(editor)));
        self
    }

    pub fn decide(&self, settings: Settings) {
        let home = self.home.path();
        let settings = Settings { ledger: home.join("NOTES.md").display().to_string(), ..settings };
        let editor = Editor::new(Arc::new(Arc::new(settings)), Folder::in_home(home), Box::new(|_| false));
        self.service.automate(Some(Arc::new(editor)));
    }

    /// One request, held if it has to be; what leaves.
    pub fn send(&mut self) -> Value {
        let mut body = String::from_utf8(self.session.body()).expect("text");
        self.spelled.iter().for_each(|(from, to)| body = body.replace(from, to));
        let body = body.into_bytes();
        let hints = support::hints(&self.session.headers());
        self.clock += 1_000;
        let (ticket, _, sent) = support::send(&self.service, hints, &body, self.clock);
        let timing = Timing { at: self.clock, first_byte_ms: None, total_ms: 0 };
        let mut answer = answers::text("going on", sent.len() as u64 / 4 - self.cleared_by_provider);
        if let (Some(before), Some(usage)) = (&mut self.cached, &mut answer.usage) {
            let same = before.iter().zip(&sent).take_while(|(one, other)| one == other).count() as u64 / 4;
            (usage.cache_read, usage.cache_write) = (same, (sent.len() as u64 / 4).saturating_sub(same));
            *before = sent.clone();
        }
        if self.cleared_by_provider > 0 {
            answer.applied_edits.push(AppliedEdit {
                kind: "clear_tool_uses_20250919".to_owned(),
                cleared_tool_uses: Some(1),
                cleared_thinking_turns: None,
                cleared_input_tokens: Some(self.cleared_by_provider),
            });
        }
        let refused = self.refuses.filter(|words| String::from_utf8_lossy(&sent).contains(words));
        if let Some(words) = refused {
            answer = answers::refusal(400, &format!("tools.0: unknown: {words}"));
        }
        self.service.answered(&ticket, Some(answer.ending), Some(answer), timing).expect("noted");
        // A model takes longer than the writer.
        self.service.settle(support::LONG);
        self.conversation = ticket.conversation;
        serde_json::from_slice(&sent).expect("JSON")
    }

    /// A call, its result of about 4,000 tokens, and the request that brings it.
    pub fn step(&mut self, tool: &str, input: Value) -> Value {
        let number = self.texts.len();
        let line = |at: usize| format!("line {at} of what tool {number} said, with some_name_{number}\r\n");
        self.step_with(tool, input, (0..250).map(line).collect())
    }

    pub fn step_with(&mut self, tool: &str, input: Value, text: String) -> Value {
        self.session.assistant_tools(&[(tool, input)]);
        self.session.results(&[&text]);
        self.texts.push(text);
        self.send()
    }

    pub fn work(&mut self, steps: usize) -> Value {
        self.session.user("do all of it");
        self.send();
        (0..steps).map(|at| self.step("Bash", json!({"command": format!("make part-{at}")}))).last().expect("a step")
    }

    pub fn commits(&self) -> Vec<ctx_api::history::CommitView> {
        self.service.history(&self.conversation, 100).expect("a history").commits
    }

    pub fn events(&self, kind: &str) -> Vec<Value> {
        self.service.settle(support::LONG);
        let events = self.service.timeline(&self.conversation, usize::MAX).expect("a timeline").events;
        let events = events.into_iter().map(|event| serde_json::to_value(event).expect("JSON"));
        events.filter(|event| event["kind"] == kind).collect()
    }

    pub fn files(&self) -> Vec<PathBuf> {
        let folder = self.home.path().join("offload").join(&self.conversation);
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("a file").path()).collect()
    }
}

pub fn results(body: &Value) -> Vec<String> {
    let blocks = body["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_array());
    let results = blocks.flatten().filter(|block| block["type"] == "tool_result");
    results
        .map(|block| {
            block["content"]
                .as_str()
                .map_or_else(|| block["content"][0]["text"].as_str().unwrap_or_default().to_owned(), str::to_owned)
        })
        .collect()
}

pub fn on() -> Settings {
    Settings { mode: Mode::On, ..ctx_clients::editor_settings() }
}
