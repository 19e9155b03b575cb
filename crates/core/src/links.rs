//! Links tool calls and results on wires without ids: by order, inside one step.
//!
//! A call without an id gets one derived from its slot; a result gets the id of the call it answers. All other code
//! pairs them by id. Derived ids are never sent.

use crate::message::{Block, Kind, Message, Role};
use crate::tree::SlotId;
use std::sync::Arc;

/// The prefix of a derived id. No provider's ids have it.
const MARK: char = '~';

/// Whether an id was derived here.
pub fn is_derived(id: &str) -> bool {
    id.starts_with(MARK)
}

/// The derived id of a call whose message has become another slot.
pub fn moved_id(id: &str, from: SlotId, to: SlotId) -> Option<String> {
    let (slot, number) = id.strip_prefix(MARK)?.split_once('.')?;
    (slot == from.0.to_string()).then(|| format!("{MARK}{}.{number}", to.0))
}

/// The id that the client gave to a block.
pub fn own_id(block: &Block) -> Option<&str> {
    block.tool_use_id.as_deref().filter(|id| !is_derived(id))
}

/// Gives the calls of a message ids where they have none.
pub fn name_calls(message: &mut Message, slot: SlotId) {
    let calls = message.blocks.iter_mut().filter(|block| block.kind == Kind::ToolUse && block.tool_use_id.is_none());
    for (at, block) in calls.enumerate() {
        block.tool_use_id = Some(format!("{MARK}{}.{at}", slot.0).into());
    }
}

/// Gives the results of a message the ids of the calls they answer. `before`: the preceding messages, nearest first.
pub fn name_results<'m>(message: &mut Message, before: impl Iterator<Item = &'m Message>) {
    for (at, id) in answered_calls(message, before) {
        message.blocks[at].tool_use_id = Some(id);
    }
}

/// The results of a message that name no call of their step, by position, and the calls they answer.
pub(crate) fn answered_calls<'m>(
    message: &Message,
    before: impl Iterator<Item = &'m Message>,
) -> Vec<(usize, Arc<str>)> {
    if message.role != Role::User || !message.has_results() {
        return Vec::new();
    }
    let Step { calls, mut answered } = Step::before(before);
    let is_call = |id: &str| calls.iter().any(|(call, _)| *call == id);
    let results = || message.blocks.iter().enumerate().filter(|(_, block)| block.kind == Kind::ToolResult);
    answered.extend(results().filter_map(|(_, block)| block.tool_use_id.clone()).filter(|id| is_call(id)));
    let mut found = Vec::new();
    for (at, block) in results() {
        let own = block.tool_use_id.as_deref();
        if own.is_some_and(is_call) {
            continue;
        }
        // An id that no call of the step has leaves only calls without one.
        let is_open = |(id, name): &&(&str, Option<&str>)| {
            let is_same = block.tool.is_none() || block.tool.as_deref() == *name;
            is_same && (own.is_none() || is_derived(id)) && !answered.iter().any(|known| **known == **id)
        };
        let Some((id, _)) = calls.iter().find(is_open) else { continue };
        answered.push((*id).into());
        found.push((at, (*id).into()));
    }
    found
}

/// Links consecutive messages; `before` precede them.
pub fn link(messages: &mut [Message], slots: &[SlotId], before: &[&Message]) {
    for at in 0..messages.len() {
        let (earlier, rest) = messages.split_at_mut(at);
        let Some(message) = rest.first_mut() else { return };
        if let Some(slot) = slots.get(at) {
            name_calls(message, *slot);
        }
        name_results(message, earlier.iter().rev().chain(before.iter().rev().copied()));
    }
}

/// The calls of the step that a message with results ends, in order, and whether each is answered.
struct Step<'m> {
    calls: Vec<(&'m str, Option<&'m str>)>,
    answered: Vec<Arc<str>>,
}

impl<'m> Step<'m> {
    fn before(before: impl Iterator<Item = &'m Message>) -> Step<'m> {
        let (mut calls, mut answered) = (Vec::new(), Vec::new());
        let mut is_inside = false;
        for message in before {
            let of = |kind: Kind| message.blocks.iter().filter(move |block| block.kind == kind);
            match message.role {
                Role::Assistant => {
                    is_inside = true;
                    let ids = of(Kind::ToolUse)
                        .filter_map(|block| Some((block.tool_use_id.as_deref()?, block.tool.as_deref())));
                    calls.splice(0..0, ids.collect::<Vec<_>>());
                }
                Role::User if is_inside || !message.has_results() => break,
                Role::User => answered.extend(of(Kind::ToolResult).filter_map(|block| block.tool_use_id.clone())),
                Role::System | Role::Other => {}
            }
        }
        Step { calls, answered }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::testing::block;
    use crate::key::Key;

    fn message(role: Role, blocks: Vec<Block>) -> Message {
        Message { role, key: Key::of([b"m".as_slice()]), anchors: Vec::new(), blocks, speaks: None, title: None }
    }

    fn of(kind: Kind, tool: &str, id: Option<&str>) -> Block {
        Block { tool: Some(tool.into()), tool_use_id: id.map(Into::into), ..block(kind, 4) }
    }

    fn calls(names: &[(&str, Option<&str>)]) -> Message {
        message(Role::Assistant, names.iter().map(|(name, id)| of(Kind::ToolUse, name, *id)).collect())
    }

    fn results(names: &[(&str, Option<&str>)]) -> Message {
        message(Role::User, names.iter().map(|(name, id)| of(Kind::ToolResult, name, *id)).collect())
    }

    fn linked(mut messages: Vec<Message>) -> Vec<Vec<Option<String>>> {
        let slots: Vec<SlotId> = (1..=messages.len() as u64).map(SlotId).collect();
        link(&mut messages, &slots, &[]);
        let ids = |message: &Message| {
            message.blocks.iter().map(|block| block.tool_use_id.as_deref().map(str::to_owned)).collect()
        };
        messages.iter().map(ids).collect()
    }

    fn some(ids: &[&str]) -> Vec<Option<String>> {
        ids.iter().map(|id| Some((*id).to_owned())).collect()
    }

    #[test]
    fn calls_without_ids_are_linked_by_order_and_name() {
        let ids = linked(vec![
            calls(&[("read", None), ("list", None), ("read", None)]),
            results(&[("list", None), ("read", None), ("read", None)]),
        ]);
        assert_eq!(ids, [some(&["~1.0", "~1.1", "~1.2"]), some(&["~1.1", "~1.0", "~1.2"])]);
    }

    #[test]
    fn ids_of_the_client_stay_and_one_on_only_one_side_is_no_obstacle() {
        let ids = linked(vec![
            calls(&[("read", Some("a")), ("read", None)]),
            results(&[("read", Some("b")), ("read", Some("a"))]),
        ]);
        assert_eq!(ids, [some(&["a", "~1.0"]), some(&["~1.0", "a"])]);
        let ids = linked(vec![calls(&[("read", Some("a"))]), results(&[("read", None)])]);
        assert_eq!(ids[1], some(&["a"]));
    }

    #[test]
    fn a_step_may_be_several_messages_and_ends_where_the_human_speaks() {
        let ids = linked(vec![
            calls(&[("read", None)]),
            calls(&[("list", None)]),
            results(&[("read", None)]),
            results(&[("list", None)]),
            results(&[("list", None)]),
            message(Role::User, vec![block(Kind::Text, 4)]),
            results(&[("read", None)]),
        ]);
        assert_eq!((&ids[2], &ids[3]), (&some(&["~1.0"]), &some(&["~2.0"])));
        assert_eq!((&ids[4], &ids[6]), (&vec![None], &vec![None]), "no call is left for them");
    }

    #[test]
    fn a_derived_id_moves_with_its_message() {
        assert_eq!(moved_id("~7.2", SlotId(7), SlotId(31)).as_deref(), Some("~31.2"));
        assert_eq!(moved_id("~71.2", SlotId(7), SlotId(31)), None);
        assert_eq!(moved_id("7.2", SlotId(7), SlotId(31)), None);
    }

    #[test]
    fn a_result_of_another_tool_is_not_linked() {
        assert_eq!(linked(vec![calls(&[("read", None)]), results(&[("list", None)])])[1], [None]);
    }
}
