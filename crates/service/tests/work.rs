//! The work for one turn: as much as is new in it, and a comparison with the turn before at memory
//! speed. In a binary of its own, so that no other test runs beside it.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};
use support::growing::Growing;
use support::{Headers, House, nameless, with};

fn named() -> Headers {
    let session = vec![("x-claude-code-session-id".to_owned(), "long".to_owned())];
    with(session, "x-claude-code-request-class", "main")
}

/// The best time to take note of the next turns, and of comparing their bytes once.
fn turns(house: &House, headers: &Headers, growing: &mut Growing, until: usize) -> (Duration, Duration, usize) {
    const MEASURED: usize = 41;
    while growing.messages < 2 * (until - MEASURED) {
        growing.turn(120);
    }
    house.see(headers, &growing.body());
    let mut taken = Vec::new();
    let mut compared = Vec::new();
    let mut before = growing.body();
    for _ in 0..MEASURED {
        growing.turn(120);
        let body = growing.body();
        let started = Instant::now();
        let same = before.chunks(4096).zip(body.chunks(4096)).filter(|(one, other)| one == other).count();
        compared.push(started.elapsed());
        assert!(same > 0);
        let arrived = Arc::new(body.clone().into());
        let seen = ctx_engine::attribution::SeenRequest {
            wire: &ctx_wire::anthropic::Anthropic,
            hints: support::hints(headers),
            pieces: arrived,
            at: 1,
            counting: false,
        };
        let started = Instant::now();
        house.service.observe(seen).expect("readable");
        taken.push(started.elapsed());
        before = body;
    }
    house.service.settle(support::LONG);
    // The machine may be busy with other things; it is never faster than the work itself.
    let best = |times: Vec<Duration>| times.into_iter().min().unwrap_or_default();
    (best(taken), best(compared), before.len())
}

/// Measures a conversation at 100, 500 and 2,000 turns.
fn measure(headers: &Headers) -> Vec<(usize, Duration, Duration, usize)> {
    let house = House::new();
    let mut growing = Growing::new(7);
    let at = |until: usize| {
        let (taken, compared, bytes) = turns(&house, headers, &mut growing, until);
        println!("  turn {until}: {} KB, {taken:?} to take note, {compared:?} to compare", bytes / 1000);
        (until, taken, compared, bytes)
    };
    [100, 500, 2000].map(at).into()
}

fn assert_bounded(figures: &[(usize, Duration, Duration, usize)]) {
    let (_, first, _, small) = figures[0];
    for (turn, taken, compared, bytes) in figures {
        assert!(*bytes >= small);
        let allowed = first * 6 + *compared * 40 + Duration::from_millis(4);
        assert!(*taken <= allowed, "turn {turn} took {taken:?}, at most {allowed:?} expected");
    }
}

#[test]
fn the_work_for_a_turn_does_not_grow_with_the_conversation() {
    // One after the other: two at a time would disturb each other.
    for (who, headers) in [("a named session", named()), ("a nameless client", nameless())] {
        println!("{who}:");
        assert_bounded(&measure(&headers));
    }
}
