//! A daemon whose requests pass before it has read all conversations.

use crate::stage::{Daemon, Left, Stage, session, until};
use std::time::{Duration, Instant};
use testkit::{Fault, Session};

/// Only the list of all conversations asks this.
const LIST: &[u8] = b"SELECT name, records, first_at, last_at";
/// Longer than anything here takes but the held reading, which goes on for less than a call may take.
const AT_ONCE: Duration = Duration::from_millis(800);

/// A daemon with two conversations, and the id of the first.
fn talked(stage: &Stage, seed: u64) -> (Daemon, [Session; 2], String) {
    let one = stage.daemon("one");
    let talks = [session(seed, "secret"), session(seed + 1, "plain")];
    talks.iter().for_each(|talk| drop(one.say(talk)));
    one.settle();
    let id = one.house.service.resolve(talks[0].session_id()).expect("it is known");
    (one, talks, id)
}

#[test]
fn what_nobody_edited_passes_and_an_edit_meanwhile_counts() {
    let Some(stage) = Stage::new() else { return };
    let (one, [edited, plain], id) = talked(&stage, 70);

    let start = Instant::now();
    let two = stage.daemon_reading("two", Fault::HoldFrom(LIST));
    assert_eq!(two.say(&plain), Left::Streamed);
    assert_eq!(one.rewrite(&id, "t1#0", "EDITED").warnings, [""; 0], "both know it");
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| two.say(&edited));
        let listing = scope.spawn(|| two.house.ids().len());
        std::thread::sleep(Duration::from_millis(50));
        assert!(!sending.is_finished() && !listing.is_finished(), "they wait for the others");
        two.proxy.set(Fault::None);
        assert!(sending.join().expect("no panic").says("EDITED"));
        assert_eq!(listing.join().expect("no panic"), 2);
    });
    assert!(two.say(&edited).says("EDITED") && two.house.service.edited_count() == 1);
}

#[test]
fn what_was_edited_before_waits_and_leaves_edited() {
    let Some(stage) = Stage::new() else { return };
    let (one, [edited, plain], id) = talked(&stage, 72);
    one.rewrite(&id, "t1#0", "EDITED");

    let two = stage.daemon_reading("two", Fault::HoldFrom(LIST));
    assert_eq!(two.house.service.edited_count(), 1);
    std::thread::scope(|scope| {
        let edited = scope.spawn(|| two.say(&edited));
        let plain = scope.spawn(|| two.say(&plain));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!edited.is_finished() && !plain.is_finished(), "an unknown one may be a fork of the edited one");
        two.proxy.set(Fault::None);
        assert!(edited.join().expect("no panic").says("EDITED"));
        assert_eq!(plain.join().expect("no panic"), Left::AsItCame);
    });
    assert_eq!(two.say(&plain), Left::Streamed, "now it is known");
}

#[test]
fn a_reading_that_fails_is_repeated() {
    let Some(stage) = Stage::new() else { return };
    let one = stage.daemon("one");
    one.say(&session(74, "plain"));
    one.settle();
    let two = stage.daemon_reading("two", Fault::LoseAnswer(LIST));
    std::thread::sleep(Duration::from_millis(100));
    two.proxy.set(Fault::None);
    until("it lists everything", || two.house.ids().len() == 1);
}
