//! What of a conversation is worth removing, with its price: one line for people, and a plan that can be reviewed.

use super::Refusal;
use crate::Composer;
use crate::conversation::Conversation;
use crate::directory::lock;
use crate::edit::{Cache, Ground, Weights};
use ctx_core::edit::fold::Unit;
use ctx_core::edit::layout::layout;
use ctx_core::edit::operation::Select;
use ctx_core::edit::resolve::Desk;
use ctx_core::edit::{CommitId, Operation};
use ctx_core::format::count;
use ctx_core::policy::Worth;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Less is not worth a line: a share of the context, and tokens.
const LEAST_PERCENT: u64 = 5;
const LEAST_TOKENS: u64 = 1_000;

/// What is stale or superseded in what would be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorthView {
    pub conversation: String,
    /// The newest commit that it was worked out for.
    pub head: Option<String>,
    /// Nothing where it would not be worth a change.
    pub worth: Option<WorthRemoving>,
    /// Tokens of tool results that the provider itself left out of the newest request. While it clears, nothing is
    /// worth removing here: its own clearing saves that already.
    #[serde(default)]
    pub cleared_by_provider: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorthRemoving {
    /// The share of the context that is stale or superseded.
    pub percent: u64,
    /// Tokens that each turn would save.
    pub tokens: u64,
    /// Tokens that the provider reads again once; none with a cold cache.
    pub reread: u64,
    /// After so many turns it pays off; 0: at once.
    pub pays_off_after: u64,
    /// Tool results that would go: stale ones to files that the agent can read, superseded ones for good.
    pub stale: usize,
    pub superseded: usize,
    /// The plan: preview it with `plan`, make it with `operations`.
    pub operations: Vec<Operation>,
    /// All of it as a sentence.
    pub words: String,
}

/// A view with what it depends on, so that it is worked out once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Remembered {
    of: (u32, Option<CommitId>, bool, usize, u64),
    view: WorthView,
}

impl Composer {
    /// What of a conversation is worth removing.
    pub fn worth(&self, name: &str) -> Result<WorthView, Refusal> {
        let shared = self.conversation(name)?;
        let mut conversation = lock(&shared);
        let head = conversation.history.head();
        let cold = conversation.cache(crate::now()) != Cache::Warm;
        let messages = conversation.tree.current().len() + usize::from(conversation.pending.is_some());
        let cleared_by_provider = conversation.cleared;
        let of = (conversation.requests, head, cold, messages, cleared_by_provider);
        if let Some(known) = conversation.worth.as_ref().filter(|known| known.of == of) {
            return Ok(known.view.clone());
        }
        conversation.remember();
        // The provider says how much it cleared, not what; and with fewer tokens in the request it may stop clearing.
        let worth = if cleared_by_provider > 0 { None } else { self.worked_out(&conversation, cold) };
        let head = head.map(|head| head.to_string());
        let view = WorthView { conversation: conversation.id.clone(), head, worth, cleared_by_provider };
        conversation.worth = Some(Box::new(Remembered { of, view: view.clone() }));
        Ok(view)
    }

    fn worked_out(&self, conversation: &Conversation, cold: bool) -> Option<WorthRemoving> {
        let ground = Ground::of(conversation, false);
        let view = conversation.next_view(&ground);
        let (source, weights) = (ground.source(), Weights::of(conversation));
        let scale = |estimate: f64| conversation.calibration.tokens(estimate);
        let desk = conversation.desk(&view, &source, &weights, &scale, 0);
        let (worth, all) = self.worth_of(conversation, &desk, cold);
        let operations = operations(&desk, &worth, self.offload_folder.is_some());
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

/// What is stale goes to files, so that nothing is lost; what was superseded stands elsewhere. Where a frame has no other
/// results the frame is named.
fn operations(desk: &Desk<'_>, worth: &Worth, has_folder: bool) -> Vec<Operation> {
    let ids = ids_of(desk);
    let named =
        |calls: &[Box<str>]| -> Vec<String> { calls.iter().filter_map(|call| ids.get(&**call).cloned()).collect() };
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

/// How people name the results that are sent, by their calls.
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
    format!("{percent} % of this context is stale or superseded: −{} tokens a turn, {price}.", count(worth.removed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worth_removing_is_said_in_a_line() {
        let worth = Worth { removed: 38_000, reread: 21_000, ..Worth::default() };
        assert_eq!(
            words(46, &worth, 5),
            "46 % of this context is stale or superseded: −38,000 tokens a turn, costs 21,000 once, pays off after 5 turns."
        );
        assert!(words(46, &worth, 0).ends_with("costs nothing now."));
        assert!(words(46, &worth, 1).ends_with("pays off after 1 turn."));
    }
}
