//! The effect of an edit on blocks that stay unless they are named: the client's notes (project instructions,
//! environment, reminders) and settings (a provider's compaction, declared tools). Mentions kept ones, warns of removed
//! ones. The client does not send notes again, and settings are needed by everything behind them.

use crate::compose::Ground;
use crate::conversation::Conversation;
use ctx_core::edit::Operation;
use ctx_core::edit::fold::{Unit, View};
use ctx_core::edit::layout::layout;
use ctx_core::edit::operation::Select;
use ctx_core::edit::resolve::{Desk, Target};
use ctx_core::format::count;
use ctx_core::message::Message;
use ctx_core::{Content, tokens};
use std::collections::BTreeSet;

/// The kind of a block that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Staying {
    Note,
    Setting,
}

const BOTH: [Staying; 2] = [Staying::Note, Staying::Setting];
/// The number of ids to list.
const MOST: usize = 6;

type Blocks = BTreeSet<(usize, usize)>;

impl Staying {
    fn is(self, messages: &[&Message], (message, block): (usize, usize)) -> bool {
        messages.get(message).is_some_and(|message| match self {
            Staying::Note => message.is_client_note(block),
            Staying::Setting => message.is_setting(block),
        })
    }

    fn name(self, kinds: &BTreeSet<&str>) -> String {
        match self {
            Staying::Note => "the client's own notes (project instructions, environment, reminders)".to_owned(),
            Staying::Setting => {
                let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
                kinds.join(" and ")
            }
        }
    }

    fn loss(self) -> &'static str {
        match self {
            Staying::Note => "the agent does not send them again",
            Staying::Setting => "the model no longer has what it stands for (memory of earlier content, or tools)",
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Staying::Note => "to remove them, name their ids",
            Staying::Setting => {
                "it stands for earlier content, or for tools, that the rest depends on; to remove it, name its id"
            }
        }
    }
}

/// Warns if a change removes blocks that usually stay.
pub fn removed(conversation: &Conversation, ground: &Ground<'_>, (old, new): (&View<'_>, &View<'_>)) -> Vec<String> {
    let sent = |view: &View<'_>| -> Blocks {
        let units = view.frames.iter().flat_map(|frame| view.units(frame, &ground.messages));
        let sent = units.filter(|laid| laid.covered.is_none()).filter_map(|laid| source(laid.unit));
        sent.filter(|at| BOTH.iter().any(|kind| kind.is(&ground.messages, *at))).collect()
    };
    let mut gone: Blocks = sent(old).difference(&sent(new)).copied().collect();
    if !gone.is_empty() {
        let written = WrittenBlocks::of(new, ground);
        gone.retain(|at| !written.has(conversation, *at));
    }
    let warning = |kind: Staying| {
        let BlocksInWords { what, ids, tokens } = named(conversation, old, &ground.messages, (kind, &gone))?;
        Some(format!("removes {what}, {tokens} tokens: {ids}; {}", kind.loss()))
    };
    BOTH.into_iter().filter_map(warning).collect()
}

/// The blocks that edits wrote. An edit in JSON rewrites the content that it keeps.
pub struct WrittenBlocks(Vec<Content>);

impl WrittenBlocks {
    pub fn of(view: &View<'_>, ground: &Ground<'_>) -> WrittenBlocks {
        let units = view.frames.iter().flat_map(|frame| view.units(frame, &ground.messages));
        let made = units.filter(|laid| laid.covered.is_none()).filter_map(|laid| match laid.unit {
            Unit::Made(made) => view.made(made),
            Unit::Source { .. } => None,
        });
        WrittenBlocks(made.flat_map(|made| made.content.iter().cloned()).collect())
    }

    /// Whether a client block is among them.
    pub fn has(&self, conversation: &Conversation, at: (usize, usize)) -> bool {
        !self.0.is_empty() && content(conversation, at).is_some_and(|block| self.0.contains(&block))
    }
}

/// A block as the client sent it.
fn content(conversation: &Conversation, (message, block): (usize, usize)) -> Option<Content> {
    let body = conversation.newest.last.body.as_ref().filter(|_| message < conversation.newest.last.aligned)?;
    let block = conversation.messages.tree.path().nth(message)?.message.blocks.get(block)?;
    let bytes = body.message(message).get(block.at.start as usize..block.at.end as usize)?;
    conversation.wire().content(std::str::from_utf8(bytes).ok()?)
}

/// Names the blocks that stay in the parts named by an operation.
pub fn kept(conversation: &Conversation, desk: &Desk<'_>, operation: &Operation) -> Vec<String> {
    let (ids, select, force) = match operation {
        Operation::Delete { ids, select, force } => (ids.clone(), select.clone(), *force),
        Operation::Compact { ids, select, .. } | Operation::Offload { ids, select, .. } => {
            (ids.clone(), select.clone(), false)
        }
        Operation::Edit { id, text: Some(_), force, .. } => (vec![id.clone()], Select::default(), *force),
        Operation::Move { ids, .. } => return moved(conversation, desk, ids),
        _ => return Vec::new(),
    };
    if force {
        return Vec::new();
    }
    let blocks = |targets: &[Target]| -> Blocks { targets.iter().flat_map(Target::sent_blocks).collect() };
    let Ok(all) = desk.targets(&ids, &select) else { return Vec::new() };
    let Ok(left) = desk.without_staying(all.clone()) else { return Vec::new() };
    let kept: Blocks = blocks(&all).difference(&blocks(&left)).copied().collect();
    let remark = |kind: Staying| {
        let BlocksInWords { what, ids, tokens } = named(conversation, desk.view, desk.source.messages, (kind, &kept))?;
        Some(format!("keeps {what}, {tokens} tokens: {ids}; {}", kind.reason()))
    };
    BOTH.into_iter().filter_map(remark).collect()
}

fn moved(conversation: &Conversation, desk: &Desk<'_>, ids: &[String]) -> Vec<String> {
    let Ok(targets) = desk.targets(ids, &Select::default()) else { return Vec::new() };
    let moved: Blocks = targets.iter().flat_map(Target::sent_blocks).collect();
    let remark = |kind: Staying| {
        let BlocksInWords { what, ids, tokens } = named(conversation, desk.view, desk.source.messages, (kind, &moved))?;
        Some(format!("moves {what} too, {tokens} tokens: {ids}"))
    };
    BOTH.into_iter().filter_map(remark).collect()
}

fn source(unit: Unit) -> Option<(usize, usize)> {
    match unit {
        Unit::Source { message, block: Some(block) } => Some((message, block)),
        _ => None,
    }
}

/// Blocks as a message names them.
struct BlocksInWords {
    what: String,
    ids: String,
    tokens: String,
}

/// The blocks of one kind; `None` if there are none.
fn named(
    conversation: &Conversation,
    view: &View<'_>,
    messages: &[&Message],
    (kind, blocks): (Staying, &Blocks),
) -> Option<BlocksInWords> {
    let mut ids = Vec::new();
    let mut kinds = BTreeSet::new();
    let mut weight = 0.0;
    for frame in &view.frames {
        // Laying out every frame of a long conversation takes time.
        let units = view.units(frame, messages);
        if !units.iter().filter_map(|laid| source(laid.unit)).any(|at| blocks.contains(&at)) {
            continue;
        }
        let layout = layout(view, frame, messages);
        for group in &layout.groups {
            for laid in layout.units.get(group.units.clone()).unwrap_or_default() {
                let Some(at) = source(laid.unit).filter(|at| blocks.contains(at) && kind.is(messages, *at)) else {
                    continue;
                };
                let Some(block) = messages.get(at.0).and_then(|message| message.blocks.get(at.1)) else { continue };
                ids.push(format!("{}#{}.{}", frame.id, group.number, at.1));
                kinds.extend(block.label.as_deref());
                weight += tokens::of_block(block);
            }
        }
    }
    if ids.is_empty() {
        return None;
    }
    let more = ids.len().saturating_sub(MOST);
    ids.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let ids = format!("{}{more}", ids.join(", "));
    Some(BlocksInWords { what: kind.name(&kinds), ids, tokens: count(conversation.tokens(weight)) })
}
