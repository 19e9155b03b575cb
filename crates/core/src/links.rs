//! Links tool calls and results, inside one step: by their ids, and on wires without ids by order.
//!
//! All other code pairs them by `tool_use_id`, so no two calls of a path have the same one. A call without an id gets one
//! derived from its slot. Some servers restart their ids with each answer, or give all calls the same one: a call whose
//! id an earlier call of the path has gets an id derived from its slot and its own. A result gets the id of the call it
//! answers. Derived ids are never sent.

use crate::fast_map::NameSet;
use crate::message::{Block, Kind, Message, Role};
use crate::tree::SlotId;
use std::sync::Arc;

/// The prefix of a derived id. No provider's ids have it.
const MARK: char = '~';

/// Stands before the client's id in a derived one.
const OWN: char = '=';

/// Whether an id was derived here.
pub fn is_derived(id: &str) -> bool {
    id.starts_with(MARK)
}

/// An id as the client gives it, and as it is sent; `None` if the call has none.
pub fn sent_id(id: &str) -> Option<&str> {
    match id.strip_prefix(MARK) {
        Some(derived) => derived.split_once(OWN).map(|(_, own)| own),
        None => Some(id),
    }
}

/// An id as people see it.
pub fn shown_id(id: &str) -> &str {
    sent_id(id).unwrap_or(id)
}

/// The derived id of a call whose message has become another slot.
pub fn moved_id(id: &str, from: SlotId, to: SlotId) -> Option<String> {
    let (slot, number) = id.strip_prefix(MARK)?.split_once('.')?;
    (slot == from.0.to_string()).then(|| format!("{MARK}{}.{number}", to.0))
}

/// The id that the client gave to a block.
pub fn own_id(block: &Block) -> Option<&str> {
    block.tool_use_id.as_deref().and_then(sent_id)
}

/// The ids that the client gave to the calls of a message.
pub fn own_calls(message: &Message) -> impl Iterator<Item = &str> {
    message.blocks.iter().filter(|block| block.kind == Kind::ToolUse).filter_map(own_id)
}

/// Gives the calls of a message ids where they have none, or that of an earlier call of the message.
pub fn name_calls(message: &mut Message, slot: SlotId) {
    rename_calls(message, slot, |_| false);
}

/// The same, also where `is_taken`: an earlier message of the path has a call with the id. Returns whether an id changed.
pub fn rename_calls(message: &mut Message, slot: SlotId, is_taken: impl Fn(&str) -> bool) -> bool {
    let (mut nameless, mut is_changed) = (0, false);
    for at in 0..message.blocks.len() {
        let block = &message.blocks[at];
        if block.kind != Kind::ToolUse || block.tool_use_id.as_deref().is_some_and(is_derived) {
            continue;
        }
        let derived = match block.tool_use_id.as_deref() {
            None => nameless.to_string(),
            Some(own) => {
                let is_same = |block: &&Block| block.kind == Kind::ToolUse && own_id(block) == Some(own);
                match message.blocks[..at].iter().filter(is_same).count() {
                    0 if is_taken(own) => format!("{OWN}{own}"),
                    0 => continue,
                    number => format!("{number}{OWN}{own}"),
                }
            }
        };
        nameless += u32::from(block.tool_use_id.is_none());
        message.blocks[at].tool_use_id = Some(format!("{MARK}{}.{derived}", slot.0).into());
        is_changed = true;
    }
    if is_changed && message.role == Role::Assistant {
        name_own_results(message);
    }
    is_changed
}

/// Gives the results of the provider's tools, which stand behind their calls in the same message, the ids of these calls.
fn name_own_results(message: &mut Message) {
    let mut answered: Vec<Arc<str>> = Vec::new();
    for at in 0..message.blocks.len() {
        let (before, rest) = message.blocks.split_at_mut(at);
        let Some(result) = rest.first_mut().filter(|block| block.kind == Kind::ToolResult) else { continue };
        let Some(own) = own_id(result) else { continue };
        let calls = before.iter().filter(|block| block.kind == Kind::ToolUse && own_id(block) == Some(own));
        let open = calls.filter_map(|call| call.tool_use_id.clone()).find(|id| !answered.contains(id));
        if let Some(id) = open {
            answered.push(id.clone());
            result.tool_use_id = Some(id);
        }
    }
}

/// Gives the results of a message the ids of the calls they answer. `before`: the preceding messages, nearest first.
pub fn name_results<'m>(message: &mut Message, before: impl Iterator<Item = &'m Message>) {
    for (at, id) in answered_calls(message, before) {
        message.blocks[at].tool_use_id = Some(id);
    }
}

/// The results of a message that have another id than the call of their step that they answer, by position, and the ids
/// of these calls.
pub(crate) fn answered_calls<'m>(
    message: &Message,
    before: impl Iterator<Item = &'m Message>,
) -> Vec<(usize, Arc<str>)> {
    if message.role != Role::User || !message.has_results() {
        return Vec::new();
    }
    let Step { calls, mut answered } = Step::before(before);
    let results = || message.blocks.iter().enumerate().filter(|(_, block)| block.kind == Kind::ToolResult);
    let is_its = |block: &Block, id: &str| {
        block.tool_use_id.as_deref() == Some(id) || own_id(block).is_some_and(|own| sent_id(id) == Some(own))
    };
    let mut found: Vec<(usize, Arc<str>)> = Vec::new();
    // A call is answered once: with the same id, the next result belongs to the next call.
    for (at, block) in results() {
        let mut own = calls.iter().map(|(id, _)| *id).filter(|id| is_its(block, id));
        let Some(id) = own.find(|id| !answered.iter().any(|known| **known == **id)) else { continue };
        answered.push(id.into());
        if block.tool_use_id.as_deref() != Some(id) {
            found.push((at, id.into()));
        }
    }
    for (at, block) in results() {
        if calls.iter().any(|(id, _)| is_its(block, id)) {
            continue;
        }
        // An id that no call of the step has leaves only calls without one.
        let is_open = |(id, name): &&(&str, Option<&str>)| {
            let is_same = block.tool.is_none() || block.tool.as_deref() == *name;
            is_same
                && (block.tool_use_id.is_none() || sent_id(id).is_none())
                && !answered.iter().any(|known| **known == **id)
        };
        let Some((id, _)) = calls.iter().find(is_open) else { continue };
        answered.push((*id).into());
        found.push((at, (*id).into()));
    }
    found
}

/// Links consecutive messages; `before` precede them.
pub fn link(messages: &mut [Message], slots: &[SlotId], before: &[&Message]) {
    let mut taken: NameSet<Arc<str>> = NameSet::default();
    if messages.iter().any(|message| own_calls(message).next().is_some()) {
        taken.extend(before.iter().flat_map(|message| own_calls(message)).map(Arc::from));
    }
    for at in 0..messages.len() {
        let (earlier, rest) = messages.split_at_mut(at);
        let Some(message) = rest.first_mut() else { return };
        if let Some(slot) = slots.get(at) {
            rename_calls(message, *slot, |id| taken.contains(id));
        }
        taken.extend(own_calls(message).map(Arc::from));
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
        assert_eq!(moved_id("~7.1=x.y", SlotId(7), SlotId(31)).as_deref(), Some("~31.1=x.y"));
        assert_eq!(moved_id("~71.2", SlotId(7), SlotId(31)), None);
        assert_eq!(moved_id("7.2", SlotId(7), SlotId(31)), None);
    }

    #[test]
    fn calls_whose_ids_restart_are_linked_inside_their_step() {
        let step = || {
            [
                calls(&[("list", Some("l:0")), ("read", Some("r:1"))]),
                results(&[("read", Some("r:1")), ("list", Some("l:0"))]),
            ]
        };
        let ids = linked([step(), step()].concat());
        assert_eq!(ids[..2], [some(&["l:0", "r:1"]), some(&["r:1", "l:0"])], "the first ones keep theirs");
        assert_eq!(ids[2..], [some(&["~3.=l:0", "~3.=r:1"]), some(&["~3.=r:1", "~3.=l:0"])]);
    }

    #[test]
    fn parallel_calls_with_one_id_are_linked_by_order() {
        let of = |count: usize| vec![("read", Some("x=1.y")); count];
        let ids = linked(vec![calls(&of(3)), results(&of(2)), results(&of(2)), calls(&of(2)), results(&of(2))]);
        let first = ["x=1.y", "~1.1=x=1.y", "~1.2=x=1.y"];
        assert_eq!(ids[..2], [some(&first), some(&first[..2])]);
        assert_eq!(ids[2], some(&[first[2], "x=1.y"]), "a doubled result keeps its id");
        assert_eq!(ids[3..], [some(&["~4.=x=1.y", "~4.1=x=1.y"]), some(&["~4.=x=1.y", "~4.1=x=1.y"])]);
        let sent = ["~4.1=x=1.y", "~4.=x=1.y", "x=1.y", "~4.1"].map(sent_id);
        assert_eq!(sent, [Some("x=1.y"), Some("x=1.y"), Some("x=1.y"), None]);
    }

    #[test]
    fn a_result_of_the_providers_tool_in_the_same_message_has_the_id_of_its_call() {
        let said = || {
            let mut message = calls(&[("search", Some("s"))]);
            message.blocks.push(of(Kind::ToolResult, "search", Some("s")));
            message
        };
        assert_eq!(linked(vec![said(), said()]), [some(&["s", "s"]), some(&["~2.=s", "~2.=s"])]);
    }

    #[test]
    fn a_result_of_another_tool_is_not_linked() {
        assert_eq!(linked(vec![calls(&[("read", None)]), results(&[("list", None)])])[1], [None]);
    }
}
