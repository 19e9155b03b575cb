//! The content of a conversation that is worth removing, with its price.

use crate::Engine;
use crate::automatic::Now;
use crate::compose::{Ground, Weights};
use crate::conversation::Conversation;
use ctx_api::context::WorthRemoving;
use ctx_core::edit::Operation;
use ctx_core::edit::fold::Unit;
use ctx_core::edit::layout::layout;
use ctx_core::edit::operation::Select;
use ctx_core::edit::resolve::Desk;
use ctx_core::format::count;
use ctx_core::policy::Worth;
use std::collections::HashMap;
use std::sync::Arc;

/// The minimum worth a line: a share of the context, and tokens.
const LEAST_PERCENT: u64 = 5;

const LEAST_TOKENS: u64 = 1_000;

impl Engine {
    pub fn worked_out(&self, conversation: &Conversation, now: &Now<'_>) -> Option<WorthRemoving> {
        let ground = Ground::of(conversation, false);
        let view = conversation.next_view(&ground);
        let (source, weights) = (ground.source(), Weights::of(conversation));
        let scale = |estimate: f64| conversation.tokens(estimate);
        let desk = conversation.desk(&view, &source, &weights, &scale, 0);
        let (worth, all) = self.worth_of(conversation, &desk, now);
        let operations = operations(&desk, &worth, self.can_offload(conversation));
        let percent = worth.removed * 100 / all.max(1);
        if operations.is_empty() || worth.removed < LEAST_TOKENS || percent < LEAST_PERCENT {
            return None;
        }
        let pays_off_after = worth.price.map_or(0, |price| price.pays_after().ceil() as u64);
        Some(WorthRemoving {
            words: words(percent, &worth, pays_off_after),
            percent,
            tokens: worth.removed,
            reread: worth.reread,
            pays_off_after,
            stale: worth.stale.len(),
            superseded: worth.superseded.len(),
            operations,
        })
    }
}

/// Stale content moves to files, so nothing is lost; superseded content is elsewhere. A frame without other results is
/// named as a whole.
fn operations(desk: &Desk<'_>, worth: &Worth, has_folder: bool) -> Vec<Operation> {
    let ids = ids_of(desk);
    let named =
        |calls: &[Arc<str>]| -> Vec<String> { calls.iter().filter_map(|call| ids.get(&**call).cloned()).collect() };
    let (stale, superseded) = (named(&worth.stale), named(&worth.superseded));
    let mut operations = Vec::new();
    if !superseded.is_empty() {
        operations.push(Operation::DropResults { ids: superseded, select: Select::default(), result: None });
    }
    if !stale.is_empty() {
        operations.push(match has_folder {
            true => Operation::Offload { ids: stale, select: Select::default(), summary: None },
            false => Operation::SummarizeResults { ids: stale, select: Select::default(), result: None, text: None },
        });
    }
    operations
}

/// The ids of the sent results, by call.
fn ids_of<'d>(desk: &'d Desk<'_>) -> HashMap<&'d str, String> {
    let mut ids = HashMap::new();
    for frame in &desk.view.frames {
        let layout = layout(desk.view, frame, desk.source.messages);
        for group in &layout.groups {
            for laid in layout.units.get(group.units.clone()).unwrap_or_default() {
                let Unit::Source { message, block: Some(at) } = laid.unit else { continue };
                let block = desk.source.messages.get(message).and_then(|message| message.blocks.get(at));
                let block = block.filter(|block| block.kind == ctx_core::message::Kind::ToolResult);
                if let Some(call) = block.and_then(|block| block.tool_use_id.as_deref()) {
                    ids.insert(call, format!("{}#{}.{at}", frame.id, group.number));
                }
            }
        }
    }
    ids
}

fn words(percent: u64, worth: &Worth, pays_off_after: u64) -> String {
    let price = match pays_off_after {
        0 => "costs nothing now".to_owned(),
        1 => format!("costs {} once, pays off after 1 turn", count(worth.reread)),
        turns => format!("costs {} once, pays off after {} turns", count(worth.reread), count(turns)),
    };
    format!(
        "{percent}% of this context is stale or superseded: removing it saves {} tokens per turn, {price}.",
        count(worth.removed)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worth_removing_is_said_in_a_line() {
        let worth = Worth { removed: 38_000, reread: 21_000, ..Worth::default() };
        assert_eq!(
            words(46, &worth, 5),
            "46% of this context is stale or superseded: removing it saves 38,000 tokens per turn, costs 21,000 once, pays off after 5 turns."
        );
        assert!(words(46, &worth, 0).ends_with("costs nothing now."));
        assert!(words(46, &worth, 1).ends_with("pays off after 1 turn."));
    }
}
