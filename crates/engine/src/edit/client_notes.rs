//! The effect of an edit on the client's notes (project instructions, environment, reminders): mentions kept notes,
//! warns of removed ones. The client does not send them again.

use crate::compose::Ground;
use crate::conversation::Conversation;
use ctx_core::edit::Operation;
use ctx_core::edit::fold::{Unit, View};
use ctx_core::edit::layout::layout;
use ctx_core::edit::operation::Select;
use ctx_core::edit::resolve::Desk;
use ctx_core::format::count;
use ctx_core::message::Message;
use ctx_core::{Content, tokens};
use std::collections::BTreeSet;

const WHAT: &str = "project instructions, environment, reminders";
/// The number of ids to list.
const MOST: usize = 6;

type Blocks = BTreeSet<(usize, usize)>;

/// Warns if a change removes client notes.
pub fn removed(conversation: &Conversation, ground: &Ground<'_>, (old, new): (&View<'_>, &View<'_>)) -> Option<String> {
    let sent = |view: &View<'_>| -> Blocks {
        let units = view.frames.iter().flat_map(|frame| view.units(frame, &ground.messages));
        units.filter(|laid| laid.covered.is_none()).filter_map(|laid| note(&ground.messages, laid.unit)).collect()
    };
    let mut gone: Blocks = sent(old).difference(&sent(new)).copied().collect();
    if !gone.is_empty() {
        let written = WrittenBlocks::of(new, ground);
        gone.retain(|at| !written.has(conversation, *at));
    }
    let (ids, tokens) = named(conversation, old, &ground.messages, &gone)?;
    Some(format!("removes the client's own notes ({WHAT}), {tokens} tokens: {ids}; the agent does not send them again"))
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
        !self.0.is_empty() && source(conversation, at).is_some_and(|block| self.0.contains(&block))
    }
}

/// A block as the client sent it.
fn source(conversation: &Conversation, (message, block): (usize, usize)) -> Option<Content> {
    let body = conversation.newest.last.body.as_ref().filter(|_| message < conversation.newest.last.aligned)?;
    let block = conversation.messages.tree.path().nth(message)?.message.blocks.get(block)?;
    let bytes = body.message(message).get(block.at.start as usize..block.at.end as usize)?;
    conversation.wire().content(std::str::from_utf8(bytes).ok()?)
}

/// Names the notes that stay in the parts named by an operation.
pub fn kept(conversation: &Conversation, desk: &Desk<'_>, operation: &Operation) -> Option<String> {
    let (ids, select, force) = match operation {
        Operation::Delete { ids, select, force } => (ids.clone(), select.clone(), *force),
        Operation::Compact { ids, select, .. } | Operation::Offload { ids, select, .. } => {
            (ids.clone(), select.clone(), false)
        }
        Operation::Edit { id, text: Some(_), force, .. } => (vec![id.clone()], Select::default(), *force),
        Operation::Move { ids, .. } => return moved(conversation, desk, ids),
        _ => return None,
    };
    if force {
        return None;
    }
    let named_units = |targets: &[ctx_core::edit::resolve::Target]| -> Blocks {
        targets.iter().flat_map(ctx_core::edit::resolve::Target::sent_blocks).collect()
    };
    let all = desk.targets(&ids, &select).ok()?;
    let left = named_units(&desk.without_client_notes(all.clone()).ok()?);
    let kept: Blocks = named_units(&all).difference(&left).copied().collect();
    let (ids, tokens) = named(conversation, desk.view, desk.source.messages, &kept)?;
    Some(format!("keeps the client's own notes ({WHAT}), {tokens} tokens: {ids}; to remove them, name their ids"))
}

fn moved(conversation: &Conversation, desk: &Desk<'_>, ids: &[String]) -> Option<String> {
    let targets = desk.targets(ids, &Select::default()).ok()?;
    let units = targets.iter().flat_map(ctx_core::edit::resolve::Target::sent_blocks);
    let notes: Blocks = units.filter(|&(message, block)| desk.source.messages[message].is_client_note(block)).collect();
    let (ids, tokens) = named(conversation, desk.view, desk.source.messages, &notes)?;
    Some(format!("moves the client's own notes too ({WHAT}), {tokens} tokens: {ids}"))
}

fn note(messages: &[&Message], unit: Unit) -> Option<(usize, usize)> {
    match unit {
        Unit::Source { message, block: Some(block) } if messages.get(message)?.is_client_note(block) => {
            Some((message, block))
        }
        _ => None,
    }
}

/// The ids of these blocks, and their tokens; `None` if there are none.
pub fn named(
    conversation: &Conversation,
    view: &View<'_>,
    messages: &[&Message],
    blocks: &Blocks,
) -> Option<(String, String)> {
    if blocks.is_empty() {
        return None;
    }
    let mut ids = Vec::new();
    let mut weight = 0.0;
    for frame in &view.frames {
        let layout = layout(view, frame, messages);
        for group in &layout.groups {
            for laid in layout.units.get(group.units.clone()).unwrap_or_default() {
                let Some((message, block)) = note(messages, laid.unit).filter(|at| blocks.contains(at)) else {
                    continue;
                };
                ids.push(format!("{}#{}.{block}", frame.id, group.number));
                weight +=
                    messages.get(message).and_then(|message| message.blocks.get(block)).map_or(0.0, tokens::of_block);
            }
        }
    }
    let more = ids.len().saturating_sub(MOST);
    ids.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some((format!("{}{more}", ids.join(", ")), count(conversation.tokens(weight))))
}
