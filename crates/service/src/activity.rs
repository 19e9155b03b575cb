//! The last activity of conversations, corrected for wrong clocks.

use ctx_engine::card::Card;
use ctx_store::ConversationRow;
use std::collections::HashMap;

/// The tolerated difference between clocks, in milliseconds.
pub const SLACK: u64 = 60_000;

/// Corrects activity in the future.
pub fn correct(cards: &mut [Card], rows: &[ConversationRow], now: u64) {
    let latest = now + SLACK;
    if cards.iter().all(|card| card.last_activity <= latest) {
        return;
    }
    let last: HashMap<&str, u64> = rows.iter().map(|row| (row.id.as_str(), row.last_seq)).collect();
    for card in cards.iter_mut().filter(|card| card.last_activity > latest) {
        card.last_activity = by_the_log(last.get(card.id.as_str()).copied().unwrap_or(0), rows, now);
    }
}

/// The conversations of a store last active before `oldest`.
pub fn inactive_since(oldest: u64, rows: &[ConversationRow], now: u64) -> Vec<&ConversationRow> {
    let last = |row: &&ConversationRow| match row.last_at {
        at if at > now + SLACK => by_the_log(row.last_seq, rows, now),
        at => at,
    };
    rows.iter().filter(|row| last(row) < oldest).collect()
}

/// The latest possible time of the record with this number: it is not later than the records after it.
fn by_the_log(seq: u64, rows: &[ConversationRow], now: u64) -> u64 {
    let later = rows.iter().filter(|row| row.last_seq > seq && row.last_at <= now + SLACK);
    later.map(|row| row.last_at.saturating_sub(1)).min().unwrap_or(now).min(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;

    const DAY: u64 = 86_400_000;

    fn card(id: &str, last_activity: u64) -> Card {
        Card { id: id.into(), class: "main".into(), last_activity, ..Card::default() }
    }

    fn row(id: &str, last_at: u64, last_seq: u64) -> ConversationRow {
        ConversationRow { id: id.into(), records: 1, first_at: 0, last_at, last_seq }
    }

    #[test]
    fn a_clock_that_was_ahead_keeps_no_conversation_from_being_old() {
        let now = 1000 * DAY;
        let rows = [row("ahead", now + 30 * DAY, 5), row("after", now - 10 * DAY, 9), row("last", now - DAY, 12)];
        assert_eq!(inactive_since(now - 5 * DAY, &rows, now), [&rows[0], &rows[1]]);
        assert_eq!(inactive_since(now - 20 * DAY, &rows, now), [&rows[0]; 0]);
        assert_eq!(inactive_since(now, &rows[..1], now), [&rows[0]; 0], "nothing tells how old it is");
    }

    #[test]
    fn the_log_tells_when_a_conversation_of_the_future_was_active() {
        let now = 1000 * DAY;
        let rows = [row("ahead", now + 30 * DAY, 5), row("after", now - 10 * DAY, 9), row("last", now - DAY, 12)];
        let mut cards = [card("ahead", now + 30 * DAY), card("after", now - 10 * DAY), card("last", now - DAY)];
        correct(&mut cards, &rows, now);
        let times = cards.map(|card| card.last_activity);
        assert_eq!(times, [now - 10 * DAY - 1, now - 10 * DAY, now - DAY]);
        let mut alone = [card("ahead", now + 30 * DAY)];
        correct(&mut alone, &rows[..1], now);
        assert_eq!(alone[0].last_activity, now);
    }

    #[test]
    fn a_clock_that_was_ahead_does_not_decide_which_conversation_is_meant() {
        let now = crate::clock::now();
        let mut directory = Directory::default();
        directory.put(card("ahead", now + 30 * DAY));
        directory.put(card("newer", now + 1_000));
        assert_eq!(directory.active().map(|card| card.id.as_str()), Some("newer"));
        // An edit writes the card anew, with the time that its log says.
        directory.put(card("ahead", now + 30 * DAY));
        assert_eq!(directory.active().map(|card| card.id.as_str()), Some("newer"));
        directory.put(card("ahead", now + 2_000));
        assert_eq!(directory.active().map(|card| card.id.as_str()), Some("ahead"), "it speaks again");
        directory.put(card("imported", now - 400 * DAY));
        assert_eq!(directory.active().map(|card| card.id.as_str()), Some("ahead"));
    }
}
