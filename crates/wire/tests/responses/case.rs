//! A request of the Responses API with effects, and edits at random.

use ctx_core::content::{CallInput, Content, WireId};
use ctx_core::edit::effect::{
    BlockRef, Cover, Effect, EffectId, FrameKey, FrameRef, MessageRef, NewMessage, NewResult, Place, Why,
};
use ctx_core::edit::fold::{Source, fold};
use ctx_core::edit::history::CommitId;
use ctx_core::frames::{Frame, frames, parts};
use ctx_core::key::Key;
use ctx_core::message::{Kind, Message, Role};
use ctx_core::tree::SlotId;
use ctx_wire::body::Body;
use ctx_wire::compose::{ComposedRequest, Input, Memo};
use testkit::Random;

pub struct Case {
    pub body: Body,
    pub facts: Vec<Message>,
    digests: Vec<Key>,
    pub effects: Vec<Effect>,
}

impl Case {
    pub fn read(bytes: Vec<u8>) -> Case {
        let body = Body::parse(bytes, ctx_wire::wire(WireId::OpenaiResponses)).expect("a request");
        let count = body.spans().messages.len();
        let facts = (0..count).map(|at| body.read_message(at, ctx_clients::lexicon()).facts).collect();
        let digests = (0..count).map(|at| Key::of([body.message(at)])).collect();
        Case { body, facts, digests, effects: Vec::new() }
    }

    pub fn frames(&self) -> Vec<Frame> {
        frames(&self.facts.iter().collect::<Vec<_>>())
    }

    pub fn compose(&self) -> ComposedRequest {
        let messages: Vec<&Message> = self.facts.iter().collect();
        let envelope = self.body.envelope(ctx_clients::lexicon());
        let slots: Vec<SlotId> = (0..messages.len() as u64).map(SlotId).collect();
        let system: Vec<Key> = envelope.system.iter().map(|block| block.key).collect();
        let tools: Vec<&str> = envelope.tools.iter().flatten().map(|tool| &*tool.name).collect();
        let numbers = ctx_core::Numbers::default();
        let source = Source {
            slots: &slots,
            messages: &messages,
            system: &system,
            tools: &tools,
            numbers: &numbers,
            replies: ctx_core::Replies::none(),
            seams: &[],
        };
        let id = |index: usize| EffectId { commit: CommitId(7), index: index as u32 };
        let view = fold(&source, self.effects.iter().enumerate().map(|(at, effect)| (id(at), effect)).collect());
        let memo = Memo::default();
        let input = Input {
            body: &self.body,
            envelope: &envelope,
            messages: &messages,
            digests: &self.digests,
            around: envelope.digest,
            paused: None,
            bound: &|_| None,
            written: &|_| false,
            next: None,
            memo: &memo,
            under: None,
        };
        let composed = self.body.wire().compose(&input, &view);
        assert_eq!(composed, self.body.wire().compose(&input, &view), "not the same twice");
        composed
    }

    fn cover(&self, message: usize, blocks: std::ops::Range<usize>) -> Cover {
        let facts = &self.facts[message];
        let named = blocks.filter_map(|block| Some(BlockRef::of(block as u32, facts.blocks.get(block)?)));
        Cover::blocks(MessageRef::Slot(SlotId(message as u64)), facts.key, named.collect())
    }

    /// A block of one of these kinds.
    fn block(&self, random: &mut Random, kinds: &[Kind]) -> Option<(usize, usize)> {
        let blocks = |at: usize| self.facts[at].blocks.iter().enumerate().map(move |(block, facts)| (at, block, facts));
        let all: Vec<(usize, usize)> = (0..self.facts.len())
            .flat_map(blocks)
            .filter(|(_, _, facts)| kinds.contains(&facts.kind))
            .map(|(at, block, _)| (at, block))
            .collect();
        random.pick(&all).copied()
    }

    /// An edit at random: frames, steps and blocks go, results and texts change, frames come and move.
    pub fn edit(&self, random: &mut Random) -> Effect {
        let frames = self.frames();
        let path: Vec<&Message> = self.facts.iter().collect();
        let frame = &frames[random.below(frames.len())];
        let all = [Kind::Text, Kind::Reminder, Kind::Thinking, Kind::ToolUse, Kind::ToolResult, Kind::Other];
        let of = |frame: &Frame| FrameRef { key: FrameKey::Opened(SlotId(frame.opening as u64)), until: None };
        let delete = |covers: Vec<Cover>| Effect::Replace { why: Why::Deleted, covers, by: Vec::new() };
        let span = |start, end| {
            let parts = parts(&path, start, end);
            parts.into_iter().map(|part| self.cover(part.message, part.blocks)).collect::<Vec<_>>()
        };
        match random.below(9) {
            0 => delete(span(frame.start, frame.end)),
            1 | 2 if !frame.steps.is_empty() => {
                let step = &frame.steps[random.below(frame.steps.len())];
                delete(span(step.start, step.end))
            }
            3 => self.results(random),
            4 => self.replaced(random, &[Kind::Text, Kind::Reminder], Content::text("another text")),
            5 => self.replaced(random, &all, Content::text("in its place")),
            6 => match self.block(random, &[Kind::ToolResult]) {
                Some((at, block)) => {
                    let id = self.facts[at].blocks[block].tool_use_id.as_deref().map(str::to_owned);
                    let by = Content::Result { id, parts: vec![Content::text("a result of ours")], error: false };
                    self.put(at, block, by)
                }
                None => delete(span(frame.start, frame.end)),
            },
            7 if random.chance(50) => {
                let to = Place::After(of(&frames[random.below(frames.len())]));
                Effect::Insert { number: 1, messages: inserted(random), to, title: None }
            }
            7 => Effect::Move { frames: vec![of(frame)], to: Place::Start },
            _ => {
                let blocks: Vec<_> = (0..random.between(1, 6)).filter_map(|_| self.block(random, &all)).collect();
                delete(blocks.into_iter().map(|(at, block)| self.cover(at, block..block + 1)).collect())
            }
        }
    }

    fn put(&self, at: usize, block: usize, by: Content) -> Effect {
        let covers = vec![self.cover(at, block..block + 1)];
        Effect::Replace { why: Why::Edited, covers, by: vec![NewMessage { role: None, content: vec![by] }] }
    }

    fn replaced(&self, random: &mut Random, kinds: &[Kind], by: Content) -> Effect {
        let (at, block) = self.block(random, kinds).expect("a block");
        self.put(at, block, by)
    }

    fn results(&self, random: &mut Random) -> Effect {
        let mut results = Vec::new();
        for (at, facts) in self.facts.iter().enumerate() {
            for (block, found) in facts.blocks.iter().enumerate().filter(|(_, block)| block.kind == Kind::ToolResult) {
                if random.chance(30) {
                    let of = MessageRef::Slot(SlotId(at as u64));
                    let text = ["[dropped]", "a \"summary\"\n"][random.below(2)].to_owned();
                    results.push(NewResult { of, block: BlockRef::of(block as u32, found), text });
                }
            }
        }
        Effect::Results { results, summarized: false }
    }
}

/// A frame of ours: words, and a call with its result.
fn inserted(random: &mut Random) -> Vec<NewMessage> {
    let id = Some(format!("call_{}", random.hex(24)));
    let call = Content::Call { id: id.clone(), name: "look".to_owned(), input: CallInput::Json("{}".to_owned()) };
    let result = Content::Result { id, parts: vec![Content::text("seen")], error: random.chance(50) };
    vec![
        NewMessage::text(Some(Role::User), "a question of ours"),
        NewMessage { role: Some(Role::Assistant), content: vec![Content::text("I look."), call] },
        NewMessage { role: Some(Role::User), content: vec![result] },
        NewMessage::text(Some(Role::Assistant), "an answer of ours"),
    ]
}
