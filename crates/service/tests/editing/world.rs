//! The world: clients that talk, a provider that is strict, the service between them, and a random editor.
//!
//! What happens is a list of numbers, one a step: the same numbers make the same world, and any part of a list is a
//! list. That is all that shrinking needs.

use crate::check;
use crate::client::Client;
use crate::eager::Eager;
use crate::net::trace::Trace;
use crate::support::stores::FailingStore;
use crate::support::{self, Headers, answers};
use crate::tally::Tally;
use crate::words::{self, Kind, Words};
use ctx_core::WireId;
use ctx_engine::attribution::SeenRequest;
use ctx_engine::ports::Plain;
use ctx_engine::request::Ticket;
use ctx_engine::response::Timing;
use ctx_service::Service;
use ctx_service::edit::Folder;
use ctx_store::{MemoryStore, SqliteStore, Step, Store};
use ctx_wire::answer::Ending;
use ctx_wire::rope::Arriving;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use testkit::{Provider, Random};

pub type Outcome = Result<(), String>;

/// A client and what is known of its conversation.
pub struct Talk {
    pub client: Client,
    pub conversation: Option<String>,
    /// What was sent last of its own turns, and what the client had sent for it.
    pub sent: Option<(Vec<u8>, Vec<u8>)>,
    /// Histories that the client has left.
    shelf: Vec<Client>,
    /// Words that operations brought in.
    pub made: BTreeSet<u64>,
    /// Words of all histories that its client has had, also of those that it left.
    pub said: BTreeSet<u64>,
    /// Whether any of its thinking was produced under an edit.
    pub thought_under_edits: bool,
    /// Whether an answer of it was ever heard or sent back: the words that open it belong to no conversation.
    heard: bool,
    /// The same for all that share a beginning.
    lineage: usize,
}

impl Talk {
    pub fn new(client: Client) -> Talk {
        Talk {
            client,
            conversation: None,
            sent: None,
            shelf: Vec::new(),
            made: BTreeSet::new(),
            said: BTreeSet::new(),
            thought_under_edits: false,
            heard: false,
            lineage: 0,
        }
    }
}

pub struct World {
    service: Option<Service>,
    pub failing: Arc<FailingStore>,
    folder: tempfile::TempDir,
    clock: u64,
    pub automated: bool,
    pub provider: Provider,
    pub words: Words,
    pub talks: Vec<Talk>,
    /// What happened, for people.
    pub story: Vec<String>,
    pub tally: Tally,
    /// What leaves is noted here. The store never fails then: what is read again after that depends on the time.
    pub trace: Option<Trace>,
}

impl World {
    /// A world whose clients send requests of this format.
    pub fn new(wire: WireId, seed: u64) -> World {
        let mut random = Random::new(seed);
        let mut words = Words::default();
        let client = Client::speaking(wire, &mut random, &mut words);
        let mut world = World { words, ..World::with(seed, client) };
        if random.chance(30) {
            world.automate();
        }
        world
    }

    /// A world with this client in it.
    pub fn with(seed: u64, client: Client) -> World {
        let mut random = Random::new(!seed);
        // The path of a file that was offloaded is sent, so its length counts.
        let below = if cfg!(unix) { "/tmp".into() } else { std::env::temp_dir() };
        let folder = tempfile::tempdir_in(below).expect("a folder");
        let store: Arc<dyn Store> = match random.chance(4) {
            true => Arc::new(SqliteStore::open(folder.path().join("store").as_path()).expect("a store")),
            false => Arc::new(MemoryStore::new()),
        };
        let failing = Arc::new(FailingStore::around(store));
        let mut world = World {
            service: None,
            failing,
            folder,
            clock: 1000,
            automated: false,
            provider: Provider::new(),
            words: Words::default(),
            talks: Vec::new(),
            story: Vec::new(),
            tally: Tally::default(),
            trace: None,
        };
        world.open();
        world.talks.push(Talk::new(client));
        world
    }

    /// The first turn.
    pub fn begin(&mut self) -> Outcome {
        self.turn(0, &mut Random::new(0))
    }

    /// From now on an editor edits by itself, beside the random editor.
    pub fn automate(&mut self) {
        self.automated = true;
        self.service().automate(Some(Arc::new(Plain(Arc::new(Eager)))));
    }

    fn open(&mut self) {
        let service = Service::open(self.failing.clone()).expect("a service");
        let service = service.offloading_to(Folder::in_home(self.folder.path()));
        self.service = Some(service);
        if self.automated {
            self.automate();
        }
    }

    /// Where its service writes files.
    pub fn home(&self) -> String {
        self.folder.path().display().to_string()
    }

    pub fn service(&self) -> &Service {
        self.service.as_ref().expect("open")
    }

    pub fn tell(&mut self, what: impl Into<String>) {
        self.story.push(what.into());
    }

    pub fn now(&mut self) -> u64 {
        self.clock += 10;
        self.clock
    }

    /// One step.
    pub fn step(&mut self, seed: u64) -> Outcome {
        let mut random = Random::new(seed);
        let at = random.below(self.talks.len());
        if random.chance(6) {
            self.tell("the cache expires");
            self.clock += 400_000;
        }
        match random.below(100) {
            0..=31 => self.turn(at, &mut random),
            32..=64 => self.operate(at, &mut random),
            65..=73 => self.travel(at, &mut random),
            74 | 75 => self.any_order(at, &mut random),
            76..=80 => self.side(at, &mut random),
            81 if self.trace.is_some() => self.turn(at, &mut random),
            81 => self.faults(at, &mut random),
            82 | 83 => self.retry(at, &mut random),
            84..=86 => self.rewind(at, &mut random),
            87..=91 => self.multiply(at, &mut random),
            92 => self.compact(at, &mut random),
            93 | 94 => self.switch(at, &mut random),
            95..=97 => self.restart(),
            _ => self.fail(at, &mut random),
        }
    }

    /// Sends a body the way the proxy does. The ticket and what left.
    pub fn pass(
        &mut self,
        wire: WireId,
        headers: &Headers,
        body: &[u8],
        counting: bool,
    ) -> Result<(Option<Ticket>, Vec<u8>, String), String> {
        let mut hints = support::hints(headers);
        if wire == WireId::Gemini {
            hints.model = Some("gemini-3-pro".into());
        }
        let service = self.service.as_ref().expect("open");
        let held = service.holds(&hints);
        let mut arriving = service.newest().get(&hints).map_or_else(Arriving::alone, Arriving::after);
        body.chunks(8000).for_each(|chunk| {
            arriving.push(chunk);
        });
        self.clock += 10;
        let seen =
            SeenRequest { wire: ctx_wire::wire(wire), hints, pieces: arriving.finish(), at: self.clock, counting };
        let mut betas =
            headers.iter().find(|(name, _)| name == "anthropic-beta").map_or(String::new(), |(_, value)| value.clone());
        self.tally.requests += 1;
        let (ticket, sent) = match held {
            false => (service.observe(seen).map_err(|problem| problem.to_string())?, body.to_vec()),
            true => {
                let mut outgoing = None;
                let ticket = service.hold(seen, &mut |ready| outgoing = ready);
                let ticket = ticket.map_err(|problem| problem.to_string())?;
                self.tally.composed += u64::from(outgoing.is_some());
                betas.extend(outgoing.iter().flat_map(|outgoing| &outgoing.betas).flat_map(|beta| [",", beta]));
                (ticket, outgoing.map_or_else(|| body.to_vec(), |outgoing| outgoing.bytes(body)))
            }
        };
        self.trace.iter_mut().for_each(|trace| trace.bytes(&format!("left {held} {betas}"), &sent));
        Ok((ticket, sent, betas))
    }

    /// The request of the client as it is now. The ticket if it was accepted.
    pub fn request(&mut self, at: usize, script: Vec<Value>) -> Result<(Ticket, Vec<Value>), String> {
        let (headers, manner) = (self.talks[at].client.headers(), self.talks[at].client.manner);
        let body = self.talks[at].client.body().to_string().into_bytes();
        let (ticket, sent, betas) = self.pass(manner.wire, &headers, &body, false)?;
        let ticket = ticket.ok_or("a turn belongs to no conversation")?;
        let blocks = match manner.wire {
            WireId::Anthropic => self.provider.answer(&sent, &betas, possible(script, &sent)).map(|reply| reply.blocks),
            _ => manner.judge(&text(&sent), &text(&body)).map(|()| script),
        };
        let blocks = blocks.map_err(|refused| {
            format!("the provider refuses: {refused}\nclient: {}\nsent: {}", text(&body), text(&sent))
        })?;
        check::newest_is_sent(self, at, &sent)?;
        let talk = &mut self.talks[at];
        let is_named = !talk.client.nameless;
        if let Some(known) = talk.conversation.as_ref().filter(|known| is_named && **known != ticket.conversation) {
            return Err(format!("the conversation was {known}, now it is {}", ticket.conversation));
        }
        talk.conversation = Some(ticket.conversation.clone());
        talk.heard |= talk.client.messages.iter().any(|message| message.role == "assistant");
        if !ticket.turn {
            return Err("a turn was not taken for one".into());
        }
        talk.thought_under_edits |= sent != body;
        talk.said.extend(words::count(&text(&body)).keys());
        talk.sent = Some((sent, body));
        check::sent(self, at)?;
        Ok((ticket, blocks))
    }

    pub fn answered(&mut self, at: usize, ticket: &Ticket, blocks: &[Value]) -> Outcome {
        let (manner, prompt) = (self.talks[at].client.manner, 1000 + self.clock % 1000);
        let answer = manner.read(&manner.stream(blocks, prompt), Ending::Complete);
        let timing = Timing { at: self.now(), first_byte_ms: Some(5), total_ms: 20 };
        let noted = self.service().answered(ticket, Some(answer.ending), Some(answer), timing);
        noted.map_err(|problem| problem.to_string())
    }

    fn turn(&mut self, at: usize, random: &mut Random) -> Outcome {
        let talk = &mut self.talks[at];
        if !talk.client.is_waiting() {
            talk.client.speak(random, &mut self.words);
        }
        let script = talk.client.script(random, &mut self.words);
        self.tell(format!("client {at} sends {} messages", self.talks[at].client.messages.len()));
        let (ticket, blocks) = self.request(at, script)?;
        // An edit is made while the response is pending.
        match random.below(20) {
            0 | 1 => self.operate(at, random)?,
            2 => self.travel(at, random)?,
            _ => {}
        }
        match random.below(25) {
            0 => self.tell("  the answer reaches the client, and us not"),
            _ => {
                self.answered(at, &ticket, &blocks)?;
                self.talks[at].heard = true;
            }
        }
        self.talks[at].client.answer(blocks);
        Ok(())
    }

    pub fn add(&mut self, client: Client, at: usize) {
        let (made, thought_under_edits) = (self.talks[at].made.clone(), self.talks[at].thought_under_edits);
        self.talks.push(Talk { made, thought_under_edits, ..Talk::new(client) });
    }

    /// The same again, before an answer came, or after one that was lost.
    fn retry(&mut self, at: usize, random: &mut Random) -> Outcome {
        let talk = &mut self.talks[at];
        if !talk.client.is_waiting() {
            talk.client.speak(random, &mut self.words);
        }
        let script = talk.client.script(random, &mut self.words);
        self.tell(format!("client {at} sends {} messages, twice", self.talks[at].client.messages.len()));
        let (lost, _) = self.request(at, script.clone())?;
        let first = self.talks[at].sent.clone();
        if random.chance(50) {
            let timing = Timing { at: self.now(), first_byte_ms: None, total_ms: 20 };
            self.service().answered(&lost, None, None, timing).map_err(|problem| problem.to_string())?;
        }
        let (ticket, blocks) = self.request(at, script)?;
        // The first one wrote the cache: a mark may stand where none had to before.
        let bare = |sent: &Option<(Vec<u8>, Vec<u8>)>| sent.as_ref().map(|(sent, _)| check::bare(sent));
        if bare(&first) != bare(&self.talks[at].sent) {
            return Err(format!(
                "the same request was sent differently:\n{:?}\n{:?}",
                bare(&first),
                bare(&self.talks[at].sent)
            ));
        }
        self.answered(at, &ticket, &blocks)?;
        self.talks[at].client.answer(blocks);
        Ok(())
    }

    /// The provider fails, or the answer is cut.
    fn fail(&mut self, at: usize, random: &mut Random) -> Outcome {
        let talk = &mut self.talks[at];
        if !talk.client.is_waiting() {
            talk.client.speak(random, &mut self.words);
        }
        let script = talk.client.script(random, &mut self.words);
        self.tell(format!("client {at} sends {} messages, and the answer fails", self.talks[at].client.messages.len()));
        let (ticket, blocks) = self.request(at, script)?;
        let timing = Timing { at: self.now(), first_byte_ms: None, total_ms: 20 };
        let (ending, answer) = match random.below(3) {
            0 => (None, None),
            1 => {
                let manner = self.talks[at].client.manner;
                let stream = match manner.wire {
                    WireId::Anthropic => answers::stream(&blocks, 1000, "end_turn"),
                    _ => manner.stream(&blocks, 1000),
                };
                let cut = &stream[..stream.len() / 2];
                (Some(Ending::Cut), Some(manner.read(cut, Ending::Cut)))
            }
            _ => return Ok(()),
        };
        self.service().answered(&ticket, ending, answer, timing).map_err(|problem| problem.to_string())
    }

    fn side(&mut self, at: usize, random: &mut Random) -> Outcome {
        let client = &self.talks[at].client;
        let idle = client.pending.is_empty() && client.waiting.is_empty();
        let ends_well = idle && client.messages.last().is_some_and(|last| last.role != "system");
        // Only Codex and Claude Code send the history beside a question that is no part of it.
        let asks_aside = matches!(client.manner.wire, WireId::Anthropic | WireId::OpenaiResponses);
        if self.talks[at].conversation.is_none() || !ends_well || client.nameless || !asks_aside {
            return Ok(());
        }
        let word = self.words.said(None);
        let question = match random.below(4) {
            0 => format!("[SUGGESTION MODE: what would the user say next?] {word}"),
            1 => format!("<system-reminder>\naside\n</system-reminder>\n\nwhat is this? {word}"),
            2 => format!(
                "Write a summary of all that was said. First think in <analysis> tags, then write the <summary>. {word}"
            ),
            _ => format!("how many tokens? {word}"),
        };
        let manner = client.manner;
        let counting = question.starts_with("how") && manner.wire == WireId::Anthropic;
        let client = &self.talks[at].client;
        let mut headers = match (manner.wire, question.starts_with("Write")) {
            (WireId::Anthropic, _) => client.headers(),
            (_, true) => client.other_headers("compaction"),
            (_, false) => client.other_headers("memory"),
        };
        let named = headers.iter().any(|(name, _)| name == "x-claude-code-request-class");
        headers.retain(|(name, _)| name != "x-claude-code-request-class");
        let mut body = client.beside(&question);
        let summary = question.starts_with("Write");
        let is_claude = manner.wire == WireId::Anthropic;
        let is_unmarked = body["messages"].to_string().matches("cache_control").count() == 0;
        if is_claude && (named || client.agent.is_some() || is_unmarked) {
            let class = if summary { "compaction" } else { "auxiliary" };
            headers.push(("x-claude-code-request-class".into(), class.into()));
        }
        if counting {
            for member in ["max_tokens", "stream", "metadata"] {
                body.as_object_mut().map(|body| body.shift_remove(member));
            }
        }
        self.tell(format!("client {at} asks aside: {question}"));
        self.tally.sides += 1;
        let body = body.to_string().into_bytes();
        let before = check::state(self, at)?;
        let (ticket, sent, betas) = self.pass(manner.wire, &headers, &body, counting)?;
        let refused = |refused| {
            format!("the provider refuses a side request: {refused}\nclient: {}\nsent: {}", text(&body), text(&sent))
        };
        if counting {
            self.provider.count(&sent, &betas).map_err(refused)?;
        } else {
            let blocks = vec![
                serde_json::json!({"type": "thinking", "thinking": ""}),
                serde_json::json!({"type": "text", "text": "aside"}),
            ];
            let blocks = match manner.wire {
                WireId::Anthropic => self.provider.answer(&sent, &betas, blocks).map(|reply| reply.blocks),
                _ => manner.judge(&text(&sent), &text(&body)).map(|()| blocks[1..].to_vec()),
            };
            let blocks = blocks.map_err(refused)?;
            let ticket = ticket.ok_or("a side request of a session belongs to nobody")?;
            if ticket.turn {
                return Err("a side request was taken for a turn".into());
            }
            if random.chance(70) {
                self.answered(at, &ticket, &blocks)?;
            }
        }
        check::side(self, at, &sent)?;
        let after = check::state(self, at)?;
        if before != after {
            return Err(format!("a side request changed the conversation:\n{before}\n{after}"));
        }
        let has_transcripts = self.talks[at].client.manner.wire == WireId::Anthropic;
        if has_transcripts && self.trace.is_none() { self.ask_for_verdict(at) } else { Ok(()) }
    }

    /// The client asks another model whether a call is safe, with the history as one text.
    pub fn ask_for_verdict(&mut self, at: usize) -> Outcome {
        let client = &self.talks[at].client;
        let mut headers = client.headers();
        headers.retain(|(name, _)| name != "x-claude-code-request-class");
        if client.agent.is_some() {
            headers.push(("x-claude-code-request-class".into(), "auxiliary".into()));
        }
        let body = client.transcript().to_string().into_bytes();
        self.tell(format!("client {at} asks for a verdict"));
        let before = check::state(self, at)?;
        let (ticket, sent, _) = self.pass(WireId::Anthropic, &headers, &body, false)?;
        if ticket.is_none_or(|ticket| ticket.turn) {
            return Err("a request for a verdict was taken for a turn, or for nobody's".into());
        }
        check::verdict(self, at, &sent, &body)?;
        let after = check::state(self, at)?;
        if before == after { Ok(()) } else { Err(format!("a verdict changed the conversation:\n{before}\n{after}")) }
    }

    /// Goes back in its history, or returns to one that it had left.
    fn rewind(&mut self, at: usize, random: &mut Random) -> Outcome {
        let talk = &mut self.talks[at];
        if talk.client.is_waiting() || talk.conversation.is_none() {
            return Ok(());
        }
        let left = talk.client.clone();
        match random.below(talk.shelf.len() + 1) {
            0 if !talk.client.rewind(random) => return Ok(()),
            0 => self.tell(format!("client {at} goes back to {} messages", self.talks[at].client.messages.len())),
            other => {
                let back = talk.shelf.remove(other - 1);
                // Another model has left no thoughts, a summary neither.
                if back.family != talk.client.family {
                    return Ok(());
                }
                talk.client = back;
                self.tell(format!("client {at} returns to {} messages", self.talks[at].client.messages.len()));
            }
        }
        self.talks[at].shelf.push(left);
        self.turn(at, random)
    }

    /// A fork, an agent, another client.
    fn multiply(&mut self, at: usize, random: &mut Random) -> Outcome {
        if self.talks.len() >= 4 {
            return Ok(());
        }
        let from = &self.talks[at].client;
        let is_idle = !from.is_waiting() && !from.messages.is_empty() && !from.nameless;
        let (client, what) = match random.below(4) {
            0 | 1 if is_idle => (from.fork(random), "a fork"),
            2 if is_idle => (from.agent(random, &mut self.words, true), "an agent with the history"),
            3 if !from.nameless => (from.agent(random, &mut self.words, false), "an agent"),
            _ => (from.another(random, &mut self.words), "another client"),
        };
        self.tell(format!("client {} comes: {what} of client {at}", self.talks.len()));
        let mut talk = Talk { lineage: self.talks.len(), ..Talk::new(client) };
        let mut alone = self.talks[at].conversation.is_some() && self.talks[at].heard;
        let mut inherits = false;
        if what.contains("fork") || what.contains("history") {
            // An agent says whose it is. A fork does not: of several with this history it may be any.
            talk.lineage = self.talks[at].lineage;
            let from = self.talks.iter().enumerate().filter(|(number, other)| {
                let like = other.lineage == talk.lineage;
                *number == at || (like && (talk.client.agent.is_none() || other.client.session == talk.client.session))
            });
            inherits = true;
            for (number, other) in from {
                alone &= number == at;
                talk.made.extend(&other.made);
                talk.thought_under_edits |= other.thought_under_edits;
            }
        }
        let covered = match inherits && alone {
            true => check::expected(self, at, true)?.covered,
            false => BTreeSet::new(),
        };
        self.talks.push(talk);
        let new = self.talks.len() - 1;
        self.turn(new, random)?;
        // What was taken out of the history before it was taken along stays out.
        let left = self.talks[new].sent.as_ref().map(|(sent, _)| text(sent)).unwrap_or_default();
        let sent = words::count(&left);
        // Except on Anthropic, the newest message stays where the model would have nothing to answer.
        let is_anthropic = self.talks[new].client.manner.wire == WireId::Anthropic;
        let asked = if is_anthropic { words::Counts::new() } else { self.newest(new) };
        let covered: BTreeSet<u64> = covered.into_iter().filter(|word| !asked.contains_key(word)).collect();
        match covered.iter().find(|word| self.words.kind(**word) != Kind::Around && sent.contains_key(word)) {
            Some(word) => Err(format!("~{word}~ was taken out, and is back in {what}\n{left}")),
            None => Ok(()),
        }
    }

    fn compact(&mut self, at: usize, random: &mut Random) -> Outcome {
        let talk = &mut self.talks[at];
        if talk.client.is_waiting() || talk.conversation.is_none() || !talk.client.compact(random, &mut self.words) {
            return Ok(());
        }
        self.tell(format!("client {at} compacts to {} messages", self.talks[at].client.messages.len()));
        if self.talks[at].client.is_waiting() {
            self.talks[at].client.user(random, &mut self.words);
        }
        self.turn(at, random)
    }

    fn switch(&mut self, at: usize, random: &mut Random) -> Outcome {
        let talk = &mut self.talks[at];
        if talk.client.is_waiting() || talk.client.messages.is_empty() {
            return Ok(());
        }
        let what = match random.below(3) {
            0 => {
                talk.client.retool(&mut self.words);
                "other tools".to_owned()
            }
            1 => {
                talk.client.clear_results(random, &mut self.words);
                "cleared results".to_owned()
            }
            _ => {
                talk.client.switch();
                format!("a model of family {:?}", talk.client.family)
            }
        };
        self.tell(format!("client {at} goes on with {what}"));
        self.turn(at, random)
    }

    /// Only what is stored remains.
    pub fn reopen(&mut self) {
        self.service().settle(support::LONG);
        self.service = None;
        self.open();
    }

    /// Complete snapshots, whether or not they are worth it.
    fn keep_snapshots(&self) {
        self.service().settle(support::LONG);
        for id in self.talks.iter().filter_map(|talk| talk.conversation.as_ref()) {
            let Ok(Some(snapshot)) = ctx_engine::Conversation::snapshot(id, &*self.failing) else { continue };
            let notes = snapshot.note(id).into_iter().collect();
            drop(self.failing.append(vec![Step { notes, ..Step::default() }]));
        }
    }

    /// All that is in memory is gone.
    pub fn restart(&mut self) -> Outcome {
        self.tell("restart");
        self.tally.restarts += 1;
        let before = check::all(self)?;
        // Every other time, messages come from snapshots.
        if self.tally.restarts.is_multiple_of(2) {
            self.keep_snapshots();
        }
        self.reopen();
        let after = check::all(self)?;
        if before != after {
            return Err(format!("a restart changed something:\n{before}\n{after}"));
        }
        Ok(())
    }
}

/// A script without calls of the provider's tools that were not sent: an edit may have deleted the tool.
fn possible(mut script: Vec<Value>, sent: &[u8]) -> Vec<Value> {
    let sent: Value = serde_json::from_slice(sent).unwrap_or_default();
    let is_sent = |name: &Value| sent["tools"].as_array().into_iter().flatten().any(|tool| tool["name"] == *name);
    let is_impossible = |block: &Value| block["type"] == "server_tool_use" && !is_sent(&block["name"]);
    let impossible: Vec<Value> =
        script.iter().filter(|block| is_impossible(block)).map(|call| call["id"].clone()).collect();
    script.retain(|block| !impossible.contains(&block["id"]) && !impossible.contains(&block["tool_use_id"]));
    if script.iter().all(|block| block["type"] == "thinking" || block["type"] == "fallback") {
        script.push(json!({"type": "text", "text": "nothing is searched for"}));
    }
    script
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
