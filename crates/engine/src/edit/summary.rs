//! Describes commits in words.

use ctx_core::edit::Operation;
use ctx_core::edit::operation::Where;
use std::collections::HashSet;

/// The number of operation kinds listed individually.
const FEW: usize = 4;

/// The one-line summary of a commit, with ids as the user gave them. `frames`: the changed ones; then the tokens before
/// and after.
pub fn summary(operations: &[Operation], frames: &[String], (before, after): (u64, u64)) -> String {
    if let [Operation::Split { id, .. }] = operations {
        // The parts are in the order of the new view; the frame that was split follows them.
        let parts: Vec<String> = frames.iter().filter(|frame| *frame != id).cloned().collect();
        return format!("split {id} into {}", several(&parts));
    }
    let mut done: Vec<(&Operation, Vec<String>)> = Vec::new();
    for operation in operations {
        let ids = operation.ids().iter().flat_map(|ids| ids.split(',')).map(|id| id.trim().to_owned());
        let mut ids: Vec<String> = ids.filter(|id| !id.is_empty()).collect();
        let mut seen = HashSet::new();
        ids.retain(|id| seen.insert(id.clone()));
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

/// The summary of one operation. `frames`: the changed ones, if they are its own.
fn one(operation: &Operation, ids: &[String], frames: &[String]) -> String {
    let name = operation.name();
    let ids = &by_frame(operation, ids);
    let named = match ids.as_slice() {
        [first, .., last] if ids.len() > 4 => format!(" {first} … {last} ({} in all)", ids.len()),
        [] if frames.is_empty() => String::new(),
        [] => format!(" {}", several(frames)),
        ids => format!(" {}", ids.join(", ")),
    };
    match operation {
        Operation::Import { from, edits: true, .. } => format!("{name} the edits of {from}"),
        Operation::Import { from, .. } if frames.is_empty() => format!("{name}{named} of {from}"),
        Operation::Import { from, .. } => format!("{name}{named} of {from} as {}", several(frames)),
        _ => format!("{name}{named}{}", goes(operation)),
    }
}

/// Tool results named individually, counted by frame: `t2 (4 results)`.
fn by_frame(operation: &Operation, ids: &[String]) -> Vec<String> {
    const FEW: usize = 2;
    let is_about_results = matches!(operation, Operation::DropResults { .. } | Operation::SummarizeResults { .. });
    let frame =
        |id: &String| id.split_once('#').filter(|(_, rest)| rest.contains('.')).map(|(frame, _)| frame.to_owned());
    let mut told: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for id in ids {
        let own = frame(id).filter(|_| is_about_results);
        let count = own.as_ref().map_or(0, |own| ids.iter().filter(|id| frame(id).as_ref() == Some(own)).count());
        match own.filter(|_| count > FEW) {
            Some(own) if seen.insert(own.clone()) => told.push(format!("{own} ({count} results)")),
            Some(_) => {}
            None => told.push(id.clone()),
        }
    }
    told
}

/// The destination of a move.
fn goes(operation: &Operation) -> String {
    match operation {
        Operation::Move { to: Where { after: Some(after), .. }, .. } => format!(" after {after}"),
        Operation::Move { to: Where { start: true, .. }, .. } => " to the start".to_owned(),
        Operation::Move { .. } => " to the end".to_owned(),
        _ => String::new(),
    }
}

pub fn tokens(count: u64) -> String {
    if count == 1 { "1 token".to_owned() } else { format!("{} tokens", ctx_core::format::count(count)) }
}

fn several(frames: &[String]) -> String {
    match frames {
        [first, .., last] if frames.len() > 4 => format!("{first} … {last} ({} frames)", frames.len()),
        frames => frames.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(operations: serde_json::Value) -> String {
        let operations: Vec<Operation> = serde_json::from_value(operations).expect("operations");
        summary(&operations, &["t1".to_owned()], (50_000, 12_556))
    }

    #[test]
    fn what_is_named_twice_is_told_once_and_figures_are_grouped() {
        assert_eq!(told(json!([{"op": "delete", "ids": ["t1", "t1", "t1,t2"]}])), "delete t1, t2, 37,444 tokens less");
    }

    #[test]
    fn results_that_are_named_one_by_one_are_counted_by_frame() {
        let blocks = json!(["t2#2.0", "t2#2.1", "t2#4.0", "t3#1.0"]);
        let said = told(json!([{"op": "drop-results", "ids": blocks}]));
        assert_eq!(said, "drop-results t2 (3 results), t3#1.0, 37,444 tokens less");
        let said = told(json!([{"op": "delete", "ids": blocks}]));
        assert_eq!(said, "delete t2#2.0, t2#2.1, t2#4.0, t3#1.0, 37,444 tokens less");
    }
}
