//! Effects: the resolved form of operations. They cover blocks, replace them, and cut and order frames. Effects name
//! slots, never positions, so they take effect whenever their slots are on the path.

use super::history::CommitId;
use crate::content::Content;
use crate::key::Key;
use crate::links::own_id;
use crate::message::{Block, Kind, Message, Role};
use crate::tree::SlotId;
use serde::{Deserialize, Serialize};

/// Names an effect: its commit, and its index there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EffectId {
    pub commit: CommitId,
    pub index: u32,
}

/// Names a message that an effect made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NewMessageId {
    pub effect: EffectId,
    pub message: u32,
}

/// A synthetic message: one written by an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewMessage {
    /// `None`: the blocks belong to the message whose blocks they replace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    pub content: Vec<Content>,
}

impl NewMessage {
    pub fn text(role: Option<Role>, text: &str) -> NewMessage {
        NewMessage { role, content: vec![Content::text(text)] }
    }

    /// The key of its content.
    pub fn key(&self) -> Key {
        let json = |content: &Content| serde_json::to_vec(content).unwrap_or_default();
        Key::of(self.content.iter().map(json).collect::<Vec<_>>().iter().map(Vec::as_slice))
    }

    /// The tool calls in it, by id.
    pub fn calls(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(Content::calls)
    }

    /// The tool calls that it answers, by id.
    pub fn answers(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(Content::answers)
    }
}

/// A block as it was when an operation named it, so that it can be found after the client has rewritten its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRef {
    pub at: u32,
    pub kind: Kind,
    pub chars: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Box<str>>,
    /// See [`Block::words`]; none in older logs, which have none of images either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<Key>,
    /// The characters of the tool results beside a text: the client may later put it into one of them. None in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<u32>,
}

/// Names a message of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRef {
    Slot(SlotId),
    /// A message of the reply after this slot, which the client had not sent back yet.
    Reply {
        after: SlotId,
        /// Its position in the reply: on some wires a reply is several messages.
        #[serde(default, skip_serializing_if = "is_first")]
        nth: u32,
        key: Key,
    },
}

fn is_first(nth: &u32) -> bool {
    *nth == 0
}

/// The placeholder of a dropped result.
pub const DROPPED: &str = "[Cleared to save context.]";

/// The slot of each message of a pending reply, which has none yet.
pub const PENDING: SlotId = SlotId(u64::MAX);

/// Blocks of a client's message. An empty list covers a message without blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoveredBlocks {
    pub of: MessageRef,
    pub key: Key,
    pub blocks: Vec<BlockRef>,
}

/// Content that an effect covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cover {
    /// Boxed, because most covers are small and every request reads the list.
    Blocks(Box<CoveredBlocks>),
    /// A message written by an earlier effect.
    Made(NewMessageId),
    /// A block of the system prompt, found by its text, else by its position.
    System {
        at: u32,
        key: Key,
    },
    Tool {
        name: String,
    },
}

impl Cover {
    pub fn blocks(of: MessageRef, key: Key, blocks: Vec<BlockRef>) -> Cover {
        Cover::Blocks(Box::new(CoveredBlocks { of, key, blocks }))
    }
}

/// The permanent name of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameKey {
    /// The frame that this message opens.
    Opened(SlotId),
    /// A frame written by an effect: added, or the part behind a cut.
    Made { effect: EffectId, part: u32 },
}

/// A frame up to its end at the time it was named. Messages that arrive in it later stay where they arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRef {
    pub key: FrameKey,
    /// The last client block of the frame, if it had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<(MessageRef, u32)>,
}

/// The destination of a move or an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Start,
    After(FrameRef),
}

/// The content before which a frame is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CutPoint {
    /// A block of a client's message.
    Block(MessageRef, u32),
    /// A message of an inserted frame.
    Made(NewMessageId),
}

/// Why blocks were covered, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    Deleted,
    Edited,
    Compacted,
    Offloaded,
}

impl Why {
    pub fn name(self) -> &'static str {
        match self {
            Why::Deleted => "deleted",
            Why::Edited => "edited",
            Why::Compacted => "compacted",
            Why::Offloaded => "offloaded",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Removes blocks, and may put others in their place.
    Replace {
        why: Why,
        covers: Vec<Cover>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        by: Vec<NewMessage>,
    },
    /// Replaces the contents of tool results and keeps the results.
    Results {
        results: Vec<NewResult>,
        summarized: bool,
    },
    /// Deactivates effects: offloaded content returns.
    Restore {
        effects: Vec<EffectId>,
    },
    /// Inserts a new frame, `a1` for number 1.
    Insert {
        number: u32,
        messages: Vec<NewMessage>,
        to: Place,
        title: Option<String>,
    },
    Move {
        frames: Vec<FrameRef>,
        to: Place,
    },
    /// Combines frames at the place of the first.
    Combine {
        frames: Vec<FrameRef>,
    },
    /// Splits a frame before each of these.
    Split {
        frame: FrameKey,
        before: Vec<CutPoint>,
    },
    Title {
        frame: FrameKey,
        title: Option<String>,
        summary: Option<String>,
    },
    Pin {
        frames: Vec<FrameKey>,
        pinned: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewResult {
    pub of: MessageRef,
    pub block: BlockRef,
    pub text: String,
}

impl BlockRef {
    pub fn of(at: u32, block: &Block) -> BlockRef {
        let id = own_id(block).map(Into::into);
        BlockRef { at, kind: block.kind, chars: block.chars, id, words: block.words, beside: None }
    }

    /// A block of this message.
    pub fn within(message: &Message, at: u32) -> Option<BlockRef> {
        let block = message.blocks.get(at as usize)?;
        let is_beside = block.kind == Kind::Text && message.has_results();
        Some(BlockRef { beside: is_beside.then(|| result_chars(message)), ..BlockRef::of(at, block) })
    }

    /// Whether it is a text of a message whose results have these characters now, and had others then.
    fn was_beside_other_results(&self, chars: u32) -> bool {
        self.kind == Kind::Text && self.id.is_none() && self.beside.is_none_or(|beside| beside != chars)
    }

    fn is(&self, block: &Block) -> bool {
        let is_same = || self.says_same(block).unwrap_or(self.chars == block.chars);
        self.kind == block.kind && self.id.as_deref() == own_id(block) && (self.id.is_some() || is_same())
    }

    /// Whether both say the same, if both tell.
    fn says_same(&self, block: &Block) -> Option<bool> {
        Some(self.words? == block.words?)
    }

    /// Whether a block in the same place may be a rewritten version. Other words beside the same results are new; a lone
    /// image is the same one, spelled otherwise.
    fn may_be(&self, block: &Block, message: &Message) -> bool {
        let is_alone = || message.blocks.iter().filter(|other| other.kind == self.kind).count() == 1;
        let is_like = || self.says_same(block).unwrap_or(true) || self.kind != Kind::Text && is_alone();
        self.kind == block.kind && self.id.is_none() && is_like()
    }
}

/// Finds the named blocks in a version of their message. `same`: its key is that of the version in which they were
/// named. The client's own notes do not count for a key, and may have come, gone, or joined a text. A block that cannot
/// be found is skipped: an edit that misses is better than one that hits something new.
pub fn find(blocks: &[BlockRef], message: &Message, same: bool) -> Vec<u32> {
    let is_there = |named: &BlockRef| message.blocks.get(named.at as usize).is_some_and(|block| named.is(block));
    // A single block that is still in its place is nearest to it.
    if (same || blocks.len() == 1) && blocks.iter().all(is_there) {
        return blocks.iter().map(|named| named.at).collect();
    }
    let mut taken = vec![false; message.blocks.len()];
    let mut places: Vec<Option<u32>> = vec![None; blocks.len()];
    let mut seat = |named: &BlockRef, fits: &dyn Fn(usize, &Block) -> bool| {
        let free = message.blocks.iter().enumerate().filter(|(at, block)| !taken[*at] && fits(*at, block));
        let (at, _) = free.min_by_key(|(at, _)| at.abs_diff(named.at as usize))?;
        taken[at] = true;
        Some(at as u32)
    };
    for (place, named) in places.iter_mut().zip(blocks) {
        *place = seat(named, &|_, block| named.is(block));
    }
    for (place, named) in places.iter_mut().zip(blocks).filter(|(place, _)| place.is_none()) {
        *place = seat(named, &|at, block| at == named.at as usize && named.may_be(block, message));
    }
    let mut found: Vec<u32> = places.into_iter().flatten().collect();
    found.sort_unstable();
    found
}

/// The tool results that may contain a named text: the client has sent it beside them before, and now sends them only.
pub fn holders(blocks: &[BlockRef], message: &Message) -> Vec<u32> {
    if !message.has_results() || message.blocks.iter().any(|block| block.kind == Kind::Text) {
        return Vec::new();
    }
    let all = result_chars(message);
    let inside = blocks.iter().filter(|named| named.was_beside_other_results(all));
    let Some(least) = inside.map(|named| named.chars).min() else { return Vec::new() };
    let holds = |block: &Block| block.kind == Kind::ToolResult && block.chars >= least;
    (0..).zip(&message.blocks).filter(|(_, block)| holds(block)).map(|(at, _)| at).collect()
}

fn result_chars(message: &Message) -> u32 {
    message.blocks.iter().filter(|block| block.kind == Kind::ToolResult).map(|block| block.chars).sum()
}

impl Effect {
    /// The effects that this one depends on.
    pub fn needs(&self) -> Vec<EffectId> {
        let mut needs = Vec::new();
        let of_key = |key: &FrameKey| match key {
            FrameKey::Made { effect, .. } => Some(*effect),
            FrameKey::Opened(_) => None,
        };
        let of_place = |place: &Place| match place {
            Place::After(frame) => of_key(&frame.key),
            Place::Start => None,
        };
        match self {
            Effect::Replace { covers, .. } => {
                let made = |cover: &Cover| match cover {
                    Cover::Made(made) => Some(made.effect),
                    _ => None,
                };
                // An effect that also covers client content is independent.
                if covers.iter().all(|cover| made(cover).is_some()) {
                    needs.extend(covers.iter().filter_map(made));
                }
            }
            Effect::Results { .. } => {}
            Effect::Restore { effects } => needs.extend(effects),
            Effect::Insert { to, .. } => needs.extend(of_place(to)),
            Effect::Move { frames, to } => {
                needs.extend(frames.iter().filter_map(|frame| of_key(&frame.key)));
                needs.extend(of_place(to));
            }
            Effect::Combine { frames } => needs.extend(frames.iter().filter_map(|frame| of_key(&frame.key))),
            Effect::Split { frame, .. } | Effect::Title { frame, .. } => needs.extend(of_key(frame)),
            Effect::Pin { frames, .. } => needs.extend(frames.iter().filter_map(of_key)),
        }
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    /// The slots it names: of messages, or before pending replies.
    pub fn slots(&self) -> Vec<SlotId> {
        let slot = |of: MessageRef| match of {
            MessageRef::Slot(slot) | MessageRef::Reply { after: slot, .. } => slot,
        };
        self.messages().into_iter().map(slot).collect()
    }

    /// The messages before the pending replies that it names.
    pub fn pending(&self) -> Vec<SlotId> {
        let after = |of: MessageRef| match of {
            MessageRef::Slot(_) => None,
            MessageRef::Reply { after, .. } => Some(after),
        };
        self.messages().into_iter().filter_map(after).collect()
    }

    fn messages(&self) -> Vec<MessageRef> {
        let of_key = |key: &FrameKey| match key {
            FrameKey::Opened(slot) => Some(MessageRef::Slot(*slot)),
            FrameKey::Made { .. } => None,
        };
        let of_frame = |frame: &FrameRef| [of_key(&frame.key), frame.until.map(|(of, _)| of)];
        let of_place = |place: &Place| match place {
            Place::After(frame) => of_frame(frame),
            Place::Start => [None, None],
        };
        match self {
            Effect::Replace { covers, .. } => {
                let of_cover = |cover: &Cover| match cover {
                    Cover::Blocks(blocks) => Some(blocks.of),
                    _ => None,
                };
                covers.iter().filter_map(of_cover).collect()
            }
            Effect::Results { results, .. } => results.iter().map(|result| result.of).collect(),
            Effect::Insert { to, .. } => of_place(to).into_iter().flatten().collect(),
            Effect::Move { frames, to } => frames.iter().flat_map(of_frame).chain(of_place(to)).flatten().collect(),
            Effect::Combine { frames } => frames.iter().flat_map(of_frame).flatten().collect(),
            Effect::Split { frame, before } => {
                let of_cut = |cut: &CutPoint| match cut {
                    CutPoint::Block(of, _) => Some(*of),
                    CutPoint::Made(_) => None,
                };
                before.iter().filter_map(of_cut).chain(of_key(frame)).collect()
            }
            Effect::Title { frame, .. } => of_key(frame).into_iter().collect(),
            Effect::Pin { frames, .. } => frames.iter().filter_map(of_key).collect(),
            Effect::Restore { .. } => Vec::new(),
        }
    }

    /// The messages it writes.
    pub fn made(&self) -> &[NewMessage] {
        match self {
            Effect::Replace { by, .. } => by,
            Effect::Insert { messages, .. } => messages,
            _ => &[],
        }
    }

    /// Whether it can change the request. Other effects only change the display.
    pub fn is_sent(&self) -> bool {
        // Combined frames come together wherever they are by then.
        !matches!(self, Effect::Split { .. } | Effect::Title { .. } | Effect::Pin { .. })
    }
}
