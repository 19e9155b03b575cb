//! Conversations and histories for the tests of this module.

use super::effect::{Effect, EffectId, NewMessage, PENDING, Why};
use super::fold::{Around, Source, Unit, View, ViewUnit, fold};
use super::history::{Change, Commit, CommitId, History, How};
use super::operation::{Operation, Select, Where};
use super::refusal::Refusal;
use super::resolve::{DROPPED, Desk, Draft, DraftScope, SUMMARY};
use crate::content::{Content, WireId};
use crate::key::Key;
use crate::message::{Block, Kind, Message, Role};
use crate::numbers::Numbers;
use crate::replies::Replies;
use crate::tree::SlotId;
use serde_json::Value;
use std::sync::Arc;

/// The messages of a conversation.
#[derive(Debug, Clone, Default)]
pub struct Talk {
    pub slots: Vec<SlotId>,
    pub messages: Vec<Message>,
    /// The next slot and tool id.
    pub next: u64,
    pub open: Vec<(Arc<str>, Arc<str>)>,
    pub replies: Replies,
}

pub fn key(of: &str) -> Key {
    Key::of([of.as_bytes()])
}

pub fn block(kind: Kind, chars: u32) -> Block {
    Block {
        kind,
        at: 0..0,
        chars,
        fixed_tokens: 0,
        tool: None,
        role: Default::default(),
        tool_use_id: None,
        signature: None,
        words: None,
        sums_up: false,
        label: None,
        touches: None,
    }
}

impl Talk {
    pub fn push(mut self, role: Role, blocks: Vec<Block>, speaks: Option<u32>) -> Talk {
        self.next += 1;
        self.slots.push(SlotId(self.next));
        let key = key(&format!("message {}", self.next));
        self.messages.push(Message { role, key, anchors: vec![], blocks, speaks, title: None });
        self
    }

    pub fn human(self) -> Talk {
        self.push(Role::User, vec![block(Kind::Text, 20)], Some(0))
    }

    /// A notice of the client, such as the output of a local command.
    pub fn reminder(self) -> Talk {
        let notice = Block { label: Some("a notice".into()), ..block(Kind::Reminder, 10) };
        self.push(Role::User, vec![notice], None)
    }

    /// The human speaks after two client notes: project instructions and environment.
    pub fn human_behind_notes(self) -> Talk {
        let note = || block(Kind::Reminder, 900);
        self.push(Role::User, vec![note(), note(), block(Kind::Text, 20)], Some(2))
    }

    pub fn system(self) -> Talk {
        self.push(Role::System, vec![block(Kind::Text, 10)], None)
    }

    /// The provider's compaction of earlier content.
    pub fn compaction(self) -> Talk {
        let block = Block { label: Some("compaction".into()), ..block(Kind::Other, 500) };
        self.push(Role::System, vec![block], None)
    }

    /// An answer that begins with the provider's summary of what is before it.
    pub fn says_summary(self) -> Talk {
        let summary = Block { label: Some("compaction".into()), sums_up: true, ..block(Kind::Other, 500) };
        self.push(Role::Assistant, vec![summary, block(Kind::Text, 30)], None)
    }

    pub fn empty(self, role: Role) -> Talk {
        self.push(role, vec![], None)
    }

    pub fn says(self) -> Talk {
        self.push(Role::Assistant, vec![block(Kind::Text, 30)], None)
    }

    /// Thinks, then calls these tools at once.
    pub fn calls(mut self, tools: &[&str]) -> Talk {
        self.open.clear();
        let mut blocks = vec![block(Kind::Thinking, 40)];
        for tool in tools {
            self.next += 1;
            let id: Arc<str> = format!("toolu_{}", self.next).into();
            let call = Block { tool: Some((*tool).into()), tool_use_id: Some(id.clone()), ..block(Kind::ToolUse, 15) };
            blocks.push(call);
            self.open.push((id, (*tool).into()));
        }
        self.push(Role::Assistant, blocks, None)
    }

    fn answers(&mut self, chars: u32) -> Vec<Block> {
        let open = std::mem::take(&mut self.open);
        let answer = |(id, _)| Block { tool_use_id: Some(id), ..block(Kind::ToolResult, chars) };
        open.into_iter().map(answer).collect()
    }

    pub fn results(self) -> Talk {
        self.results_of(100)
    }

    pub fn results_of(mut self, chars: u32) -> Talk {
        let blocks = self.answers(chars);
        self.push(Role::User, blocks, None)
    }

    /// The results, and text typed by the human meanwhile.
    pub fn results_and_text(mut self) -> Talk {
        let mut blocks = self.answers(100);
        let speaks = blocks.len() as u32;
        blocks.push(block(Kind::Text, 12));
        self.push(Role::User, blocks, Some(speaks))
    }

    /// The last message is a reply that the client has not sent back yet.
    pub fn pending(mut self) -> Talk {
        self.slots.pop();
        self.slots.push(PENDING);
        self
    }

    /// The client has sent the reply back.
    pub fn arrived(mut self) -> Talk {
        if self.slots.last() == Some(&PENDING) {
            self.slots.pop();
            self.next += 1;
            if let Some(before) = self.slots.last() {
                self.replies.come(*before, &[SlotId(self.next)]);
            }
            self.slots.push(SlotId(self.next));
        }
        self
    }

    /// The client has summarised all before its last messages.
    pub fn compacted(mut self, kept: usize) -> Talk {
        let from = self.messages.len() - kept;
        let summary = Talk { next: self.next, ..Talk::default() }.human();
        self.next = summary.next;
        self.slots.splice(..from, summary.slots);
        self.messages.splice(..from, summary.messages);
        self
    }

    pub fn rewind(mut self, to: usize) -> Talk {
        self.slots.truncate(to);
        self.messages.truncate(to);
        self.open.clear();
        if let Some(last) = self.messages.last() {
            let calls = last.blocks.iter().filter(|block| block.kind == Kind::ToolUse);
            self.open = calls.filter_map(|block| Some((block.tool_use_id.clone()?, block.tool.clone()?))).collect();
        }
        self
    }

    pub fn has_open_calls(&self) -> bool {
        !self.open.is_empty()
    }
}

/// `t1` is one call and an answer, `t2` a loop of three steps, one of them parallel, `t3` only an answer.
pub fn talk() -> Talk {
    Talk::default()
        .reminder()
        .human()
        .calls(&["Read"])
        .results()
        .says()
        .human()
        .system()
        .calls(&["Read", "Bash"])
        .results_of(9000)
        .calls(&["Bash"])
        .results()
        .says()
        .human()
        .says()
}

pub const TOOLS: [&str; 3] = ["Bash", "Read", "Edit"];

/// A conversation with its history.
#[derive(Debug, Clone)]
pub struct Bench {
    pub talk: Talk,
    pub history: History,
    pub added: u32,
    commits: u64,
}

/// The complete display.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    pub frames: Vec<FramePicture>,
    pub system: Vec<Around>,
    pub tools: Vec<Around>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FramePicture {
    pub id: String,
    pub units: Vec<ViewUnit>,
    pub chips: Vec<&'static str>,
    pub title: Option<String>,
    pub pinned: bool,
}

pub fn system_keys() -> Vec<Key> {
    ["attribution", "identity", "instructions", "twice", "twice"].map(key).to_vec()
}

impl Bench {
    pub fn new(talk: Talk) -> Bench {
        Bench { talk, history: History::default(), added: 0, commits: 0 }
    }

    pub fn view<R>(&self, look: impl FnOnce(&Source<'_>, &View<'_>) -> R) -> R {
        self.view_with(self.history.effects(self.history.head()), look)
    }

    fn view_with<R>(&self, effects: Vec<(EffectId, &Effect)>, look: impl FnOnce(&Source<'_>, &View<'_>) -> R) -> R {
        let messages: Vec<&Message> = self.talk.messages.iter().collect();
        let system = system_keys();
        let numbers = Numbers::default();
        let source = Source {
            slots: &self.talk.slots,
            messages: &messages,
            system: &system,
            tools: &TOOLS,
            numbers: &numbers,
            replies: &self.talk.replies,
            seams: &[],
        };
        let view = fold(&source, effects);
        look(&source, &view)
    }

    pub fn desk<R>(&self, look: impl FnOnce(&Desk<'_>) -> R) -> R {
        self.view(|source, view| {
            look(&Desk {
                view,
                source,
                scale: &|estimate| estimate as u64,
                protected: &[Some("it bills"), Some("it says who speaks"), None, None, None],
                system_weights: &[10.0, 20.0, 3000.0, 40.0, 40.0],
                tool_weights: &[100.0, 200.0, 300.0],
                next_added: self.added + 1,
                draft: &MadeUp,
                summed_up: Vec::new(),
            })
        })
    }

    pub fn effects(&self, operation: &Operation) -> Result<Vec<Effect>, Refusal> {
        self.desk(|desk| match operation {
            // The content goes to a file elsewhere; here only the stub matters.
            Operation::Offload { ids, select, .. } => desk
                .targets(ids, select)?
                .into_iter()
                .map(|target| desk.compact(&[target], Why::Offloaded, "[offloaded]"))
                .collect::<Result<Vec<_>, _>>()
                .map(|effects| effects.into_iter().flatten().collect()),
            other => desk.effects(other),
        })
    }

    fn commit(&mut self, change: Change) -> CommitId {
        self.commits += 1;
        let id = CommitId(self.commits);
        self.history.push(Commit {
            id,
            parent: self.history.head(),
            at: self.commits,
            author: "cli".into(),
            note: None,
            reasons: Vec::new(),
            change,
            summary: String::new(),
            tokens_before: 0,
            tokens_after: 0,
            unattended: false,
            exception: false,
            kept: Vec::new(),
        });
        id
    }

    pub fn apply(&mut self, operation: &Operation) -> Result<CommitId, Refusal> {
        let effects = self.effects(operation)?;
        self.added += effects.iter().filter(|effect| matches!(effect, Effect::Insert { .. })).count() as u32;
        Ok(self.commit(Change::Edit { operations: vec![operation.clone()], effects }))
    }

    /// Commits several operations at once; each sees the previous ones.
    pub fn batch(&mut self, mut next: impl FnMut(&Bench) -> Option<Operation>) -> Result<Option<CommitId>, Refusal> {
        let mut so_far = self.clone();
        let mut all: (Vec<Operation>, Vec<Effect>) = Default::default();
        while let Some(operation) = next(&so_far) {
            all.1.extend(so_far.effects(&operation)?);
            all.0.push(operation);
            so_far = self.clone();
            let inserts = all.1.iter().filter(|effect| matches!(effect, Effect::Insert { .. })).count() as u32;
            so_far.added += inserts;
            so_far.commit(Change::Edit { operations: all.0.clone(), effects: all.1.clone() });
        }
        if all.0.is_empty() {
            return Ok(None);
        }
        let head = so_far.history.head();
        *self = so_far;
        Ok(head)
    }

    pub fn make(&mut self, operation: Operation) -> CommitId {
        self.apply(&operation).unwrap_or_else(|refusal| panic!("{operation:?}: {refusal}"))
    }

    pub fn refused(&self, operation: Operation) -> Refusal {
        match self.effects(&operation) {
            Ok(effects) => panic!("{operation:?} came down to {effects:?}"),
            Err(refusal) => {
                assert!(!refusal.hint.is_empty() && !refusal.message.is_empty());
                refusal
            }
        }
    }

    pub fn switch_off(&mut self, commits: Vec<CommitId>, how: How) -> CommitId {
        self.commit(Change::Revert { commits, how })
    }

    /// A fork of the conversation from here.
    pub fn fork(&self, talk: Talk) -> Bench {
        let effects = self.history.effects(self.history.head());
        let effects = effects.into_iter().map(|(id, effect)| (id, effect.clone())).collect();
        let mut fork = Bench { talk, history: History::default(), ..self.clone() };
        fork.commit(Change::Inherit { from: "the first".into(), effects });
        fork
    }

    pub fn revert(&mut self, commit: CommitId) -> CommitId {
        let commits = self.history.revert(commit, true).expect("can be reverted");
        self.switch_off(commits, How::Revert)
    }

    pub fn undo(&mut self) -> CommitId {
        let newest = self.history.undo().expect("something to undo");
        self.switch_off(vec![newest], How::Undo)
    }

    pub fn picture(&self) -> Picture {
        self.view(|source, view| Picture {
            frames: view
                .frames
                .iter()
                .map(|frame| {
                    let units = view.units(frame, source.messages);
                    let (title, pinned) = (frame.title.clone(), frame.pinned);
                    FramePicture { id: frame.id.to_string(), chips: frame.chips(view, &units), units, title, pinned }
                })
                .collect(),
            system: view.system.clone(),
            tools: view.tools.clone(),
        })
    }

    /// The sent content of each frame: `t1 0.0 1.0 'ours' 2.0=new`, a message and its block, a written text, a result.
    pub fn sent(&self) -> Vec<String> {
        self.view(|source, view| {
            let line = |frame| {
                let units = view.units(frame, source.messages);
                let show = |laid: &ViewUnit| match laid.unit {
                    Unit::Made(made) => format!(" '{}'", texts(&view.made(made).expect("was made").content)),
                    Unit::Source { message, block: None } => format!(" {message}"),
                    Unit::Source { message, block: Some(block) } => match view.new_result(laid) {
                        Some(text) => format!(" {message}.{block}={}", if text == DROPPED { "dropped" } else { text }),
                        None => format!(" {message}.{block}"),
                    },
                };
                let sent: String = units.iter().filter(|laid| laid.covered.is_none()).map(show).collect();
                format!("{}{sent}", frame.id)
            };
            view.frames.iter().map(line).collect()
        })
    }

    pub fn chips(&self, id: &str) -> Vec<&'static str> {
        let frames = self.picture().frames;
        frames.into_iter().find(|frame| frame.id == id).unwrap_or_else(|| panic!("no {id}")).chips
    }

    /// The messages and blocks that an id selects, and the number of synthetic messages.
    pub fn names(&self, id: &str) -> Vec<String> {
        self.desk(|desk| {
            let targets = desk.targets(&[id.to_owned()], &Select::default()).unwrap_or_else(|no| panic!("{id}: {no}"));
            let show = |laid: &ViewUnit| match laid.unit {
                Unit::Source { message, block } => format!("{message}.{}", block.unwrap_or(0)),
                Unit::Made(_) => "ours".to_owned(),
            };
            targets.iter().flat_map(|target| target.units.iter().map(show)).collect()
        })
    }
}

fn texts(content: &[Content]) -> String {
    let text = |content: &Content| content.as_text().unwrap_or("…").replace(SUMMARY, "∑").replace('\n', "");
    content.iter().map(text).collect::<Vec<_>>().join("+")
}

/// A test wire: a text is a string, a result `{"answers": id}`, anything else is raw.
struct MadeUp;

impl Draft for MadeUp {
    fn draft(&self, raw: &Value, drafted: DraftScope) -> Result<Vec<NewMessage>, Refusal> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        let content = |value: &Value| match (value, value["answers"].as_str()) {
            (Value::String(text), _) => Content::text(text),
            (_, Some(id)) => Content::Result { id: Some(id.to_owned()), parts: Vec::new(), error: false },
            _ => Content::Raw { wire: WireId::Anthropic, json: value.to_string(), calls: None, answers: None },
        };
        let made = |role, value: &Value| NewMessage { role, content: list(value).iter().map(content).collect() };
        Ok(match drafted {
            DraftScope::Messages => list(raw)
                .iter()
                .map(|message| {
                    let role = if message["role"] == "assistant" { Role::Assistant } else { Role::User };
                    made(Some(role), &message["content"])
                })
                .collect(),
            DraftScope::Blocks | DraftScope::System | DraftScope::Tool => vec![made(None, raw)],
        })
    }

    fn check(&self, content: &Content) -> Result<(), Refusal> {
        content.as_text().map_or(Ok(()), |text| crate::edit::resolve::not_empty(text).map(drop))
    }
}

pub fn ids(text: &str) -> Vec<String> {
    vec![text.to_owned()]
}

pub fn delete(text: &str) -> Operation {
    Operation::Delete { ids: ids(text), select: Select::default(), force: false }
}

pub fn edit(id: &str, text: &str) -> Operation {
    Operation::Edit { id: id.into(), text: Some(text.into()), raw: None, content: None, force: false }
}

pub fn raw(id: &str, raw: serde_json::Value) -> Operation {
    Operation::Edit { id: id.into(), text: None, raw: Some(raw), content: None, force: false }
}

pub fn compact(text: &str, by: &str) -> Operation {
    Operation::Compact { ids: ids(text), select: Select::default(), text: Some(by.into()) }
}

pub fn offload(text: &str) -> Operation {
    Operation::Offload { ids: ids(text), select: Select::default(), summary: None }
}

pub fn restore(text: &str) -> Operation {
    Operation::Restore { ids: ids(text) }
}

pub fn start() -> Where {
    Where { start: true, ..Where::default() }
}

pub fn end() -> Where {
    Where { end: true, ..Where::default() }
}

pub fn after(id: &str) -> Where {
    Where { after: Some(id.into()), ..Where::default() }
}

pub fn shift(text: &str, to: Where) -> Operation {
    Operation::Move { ids: ids(text), to }
}

pub fn add(text: &str, to: Where) -> Operation {
    Operation::Add { text: text.into(), role: Role::User, to, title: None }
}

pub fn combine(text: &str) -> Operation {
    Operation::Combine { ids: ids(text), after: None }
}

pub fn split(id: &str, at: &[usize]) -> Operation {
    Operation::Split { id: id.into(), at: at.to_vec(), at_step: vec![], each_step: false }
}

pub fn drop_results(text: &str, select: Select) -> Operation {
    let ids = if text.is_empty() { vec![] } else { ids(text) };
    Operation::DropResults { ids, select, result: None }
}

pub fn pin(text: &str) -> Operation {
    Operation::Pin { ids: ids(text) }
}

pub fn retitle(id: &str, title: &str) -> Operation {
    Operation::Retitle { id: id.into(), title: Some(title.into()), summary: None, auto: false }
}
