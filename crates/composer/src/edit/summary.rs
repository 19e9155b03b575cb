//! What was done, in words.

use ctx_core::edit::Operation;
use ctx_core::edit::operation::Where;

/// Kinds of operations that are told one by one.
const FEW: usize = 4;

/// What was done, in a line: what was named, as it was named. `frames`: those that changed; the tokens before and after.
pub(crate) fn summary(operations: &[Operation], frames: &[String], (before, after): (u64, u64)) -> String {
    if let [Operation::Split { id, .. }] = operations {
        // The parts stand in the order of the new view, behind them the frame that is no more.
        let parts: Vec<String> = frames.iter().filter(|frame| *frame != id).cloned().collect();
        return format!("split {id} into {}", several(&parts));
    }
    let mut done: Vec<(&Operation, Vec<String>)> = Vec::new();
    for operation in operations {
        let ids = operation.ids().iter().flat_map(|ids| ids.split(',')).map(|id| id.trim().to_owned());
        let ids: Vec<String> = ids.filter(|id| !id.is_empty()).collect();
        match done.last_mut() {
            Some((last, all)) if last.name() == operation.name() && goes(last) == goes(operation) => {
                all.extend(ids.into_iter().filter(|id| !all.contains(id)).collect::<Vec<_>>());
            }
            _ => done.push((operation, ids)),
        }
    }
    let what = match done.as_slice() {
        [(operation, ids)] => one(operation, ids, frames),
        few if few.len() <= FEW && few.iter().all(|(_, ids)| !ids.is_empty()) => {
            few.iter().map(|(operation, ids)| one(operation, ids, &[])).collect::<Vec<_>>().join("; ")
        }
        _ => {
            let mut names: Vec<&str> = Vec::new();
            operations.iter().map(Operation::name).for_each(|name| {
                if !names.contains(&name) {
                    names.push(name)
                }
            });
            format!("{} operations ({}) on {}", operations.len(), names.join(", "), several(frames))
        }
    };
    let tokens = match before.cmp(&after) {
        std::cmp::Ordering::Equal => String::new(),
        std::cmp::Ordering::Greater => format!(", {} less", tokens(before - after)),
        std::cmp::Ordering::Less => format!(", {} more", tokens(after - before)),
    };
    format!("{what}{tokens}")
}

/// What one operation did. `frames`: those that changed, where they are its own.
fn one(operation: &Operation, ids: &[String], frames: &[String]) -> String {
    let name = operation.name();
    let named = match ids {
        [first, .., last] if ids.len() > 4 => format!(" {first} … {last} ({} in all)", ids.len()),
        [] if frames.is_empty() => String::new(),
        [] => format!(" {}", several(frames)),
        ids => format!(" {}", ids.join(", ")),
    };
    match operation {
        Operation::Import { from, .. } if frames.is_empty() => format!("{name}{named} of {from}"),
        Operation::Import { from, .. } => format!("{name}{named} of {from} as {}", several(frames)),
        _ => format!("{name}{named}{}", goes(operation)),
    }
}

/// Where an operation moves something to.
fn goes(operation: &Operation) -> String {
    match operation {
        Operation::Move { to: Where { after: Some(after), .. }, .. } => format!(" after {after}"),
        Operation::Move { to: Where { start: true, .. }, .. } => " to the start".to_owned(),
        Operation::Move { .. } => " to the end".to_owned(),
        _ => String::new(),
    }
}

pub(super) fn tokens(count: u64) -> String {
    if count == 1 { "1 token".to_owned() } else { format!("{count} tokens") }
}

fn several(frames: &[String]) -> String {
    match frames {
        [first, .., last] if frames.len() > 4 => format!("{first} … {last} ({} frames)", frames.len()),
        frames => frames.join(", "),
    }
}
