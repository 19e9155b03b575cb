//! Ids of calls that are longer than the provider accepts, though some backends make them (R25). A composed request
//! has a short one in the call and in its result; an untouched request leaves as it came.

use super::item::Item;
use crate::compose::Repair;
use crate::compose::dialect::{Element, Plan};
use crate::compose::spell::spliced;
use ctx_core::Key;
use ctx_core::links::own_id;
use ctx_core::message::Message;
use serde_json::Value;

const LONGEST: usize = 64;

/// Whether an item has such an id.
pub(super) fn is_long(message: &Message) -> bool {
    let id = message.blocks.first().and_then(own_id);
    id.is_some_and(|id| id.len() > LONGEST)
}

/// Marks the client's items whose ids are shortened.
pub(super) fn shorten(plan: &mut Plan<'_>) {
    let long: Vec<u32> = plan.messages().filter(|(_, message)| is_long(message)).map(|(at, _)| at).collect();
    let sent: Vec<u32> =
        long.into_iter().filter(|at| plan.outs.iter().any(|out| out.source == Some(*at) && out.is_whole())).collect();
    if !sent.is_empty() {
        plan.repairs.push(Repair::new("R25", format!("{} items get a shorter id of their call", sent.len())));
        plan.restyled.extend(sent);
    }
}

/// An element with a short id. Equal ids get equal ones.
pub(super) fn shortened(element: Element) -> Element {
    let Element::Made(bytes) = element else { return element };
    let short = {
        let item = Item::read(&bytes);
        let id = item.text("call_id").filter(|id| id.len() > LONGEST);
        id.zip(item.value("call_id")).map(|(id, at)| {
            let short = format!("call_{}", Key::of([id.as_bytes()]));
            (at, Value::from(short).to_string().into_bytes())
        })
    };
    Element::Made(match short {
        Some(edit) => spliced(&bytes, vec![edit]),
        None => bytes,
    })
}
