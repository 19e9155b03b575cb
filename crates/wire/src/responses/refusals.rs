//! Refusals that name an item by its id (R14, R15, R20, R21, R23, R26, R42) instead of its place.

use super::item::{Item, Sort};
use crate::body::Body;
use crate::refused::{Refused, RefusedPart, with_id, word_behind};

type IsNamed = fn(Sort) -> bool;

/// The words before an id, and the items that may have it.
const SENTENCES: [(&str, IsNamed); 5] = [
    ("output with call_id ", |sort| sort == Sort::Output),
    ("Duplicate item found with id ", |_| true),
    ("Item with id ", |_| true),
    ("encrypted content for item ", |_| true),
    ("Item '", |_| true),
];

pub(super) fn part(sent: &Body, refused: &Refused<'_>) -> Option<RefusedPart> {
    by_id(sent, refused.message).or_else(|| refused.by_path(sent))
}

fn by_id(sent: &Body, message: &str) -> Option<RefusedPart> {
    let with = |id: &str, fits: &dyn Fn(Sort) -> bool| with_id(sent, id, |item| fits(Item::read(item).sort));
    // "No tool output found for custom tool call call_x."
    if let Some((_, rest)) = message.split_once("No tool output found for ") {
        let id = rest.split(['\n', '.']).next()?.rsplit(' ').next()?;
        return with(id, &|sort| sort != Sort::Output).into_iter().next();
    }
    let (before, fits) = SENTENCES.iter().find(|(before, _)| message.contains(before))?;
    let found = with(word_behind(message, before)?, fits);
    if before.starts_with("Duplicate") { found.into_iter().next_back() } else { found.into_iter().next() }
}
