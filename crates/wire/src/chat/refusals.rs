//! Refusals that name a message by the ids of its calls (C1), or by its number in words (C31).

use crate::body::Body;
use crate::refused::{Refused, RefusedPart, element, with_id, word_behind};

pub(super) fn part(sent: &Body, refused: &Refused<'_>) -> Option<RefusedPart> {
    let open = word_behind(refused.message, "did not have response messages: ");
    let call = open.and_then(|id| with_id(sent, id, |_| true).into_iter().next());
    call.or_else(|| refused.by_path(sent)).or_else(|| {
        let index = word_behind(refused.message, "message at index ")?.parse().ok()?;
        Some(RefusedPart { at: element(sent, index)?, misplaced: false })
    })
}
