//! Infers the results that the provider cleared: it reports their number only.

use crate::compose::Ground;
use crate::conversation::Conversation;
use ctx_core::edit::fold::Unit;
use ctx_core::edit::layout::layout;
use ctx_core::message::Kind;
use std::collections::HashMap;

/// The first and the last step among the `count` oldest clearable results, without those removed by operations.
pub fn steps(conversation: &Conversation, count: u64, excluded: &[String]) -> Option<(String, String)> {
    let ground = Ground::of(conversation, false);
    let view = ground.lay(conversation.effects(conversation.history.head()));
    let calls = ground.messages.iter().flat_map(|message| &message.blocks).filter(|block| block.kind == Kind::ToolUse);
    let tools: HashMap<&str, &str> =
        calls.filter_map(|call| call.tool_use_id.as_deref().zip(call.tool.as_deref())).collect();
    let mut steps = Vec::new();
    for frame in &view.frames {
        let layout = layout(&view, frame, &ground.messages);
        for group in &layout.groups {
            for laid in layout.units.get(group.units.clone()).unwrap_or_default() {
                let Unit::Source { message, block: own } = laid.unit else { continue };
                let blocks = ground.messages.get(message).map(|message| message.blocks.iter().enumerate());
                let results = blocks.into_iter().flatten().filter(|(at, block)| {
                    let tool = block.tool_use_id.as_deref().and_then(|id| tools.get(id));
                    let is_kept = tool.is_some_and(|tool| excluded.iter().any(|name| name == tool));
                    block.kind == Kind::ToolResult && own.is_none_or(|own| own == *at) && !is_kept
                });
                steps.extend(results.map(|_| format!("{}/{}", frame.id, group.step)));
            }
        }
    }
    let last = usize::try_from(count).unwrap_or(usize::MAX).min(steps.len()).checked_sub(1)?;
    Some((steps.first()?.clone(), steps.get(last)?.clone()))
}
