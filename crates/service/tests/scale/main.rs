//! What is shown of a conversation costs in proportion to its messages and commits, and a load reads little. In a binary
//! of its own, so that no other test runs beside it. The limits in milliseconds are measured by `testkit bench`; a debug
//! build on a busy machine can only tell that nothing is worse than linear.

mod loading;
#[path = "../support/mod.rs"]
mod support;

use ctx_api::edit::EditRequest;
use serde_json::json;
use std::time::{Duration, Instant};
use support::growing::Growing;
use support::{House, nameless};

/// How much larger the large conversation is.
const TIMES: usize = 8;
/// How far above that the cost may be. A quadratic cost is `TIMES` times above.
const NOISE: u32 = 4;

struct Edited {
    house: House,
    conversation: String,
}

impl Edited {
    fn of(messages: usize, commits: usize) -> Edited {
        let house = House::new();
        let mut growing = Growing::new(7);
        while growing.messages < messages {
            growing.turn(20);
        }
        let conversation = house.see(&nameless(), &growing.body()).conversation;
        for number in 0..commits {
            let text = format!("part {number}");
            let operations = serde_json::from_value(json!([{"op": "edit", "id": "t1#0", "text": text}]));
            let edit = EditRequest { operations: operations.expect("an operation"), ..EditRequest::default() };
            house.service.apply(&conversation, edit).expect("a commit");
        }
        Edited { house, conversation }
    }

    /// The best of some times for each view.
    fn views(&self) -> [(&'static str, Duration); 3] {
        let (service, id) = (&self.house.service, self.conversation.as_str());
        let best = |view: &dyn Fn()| {
            let time = |_| {
                let begun = Instant::now();
                view();
                begun.elapsed()
            };
            (0..7).map(time).min().unwrap_or_default()
        };
        [
            ("show", best(&|| drop(service.show(id, "t1", None).expect("shown")))),
            ("diff", best(&|| drop(service.diff(id, "source", "HEAD").expect("compared")))),
            ("search", best(&|| drop(service.search("part", Some(id), 20).expect("searched")))),
        ]
    }
}

/// Compares views of a small conversation with those of one that is `TIMES` times as large.
#[track_caller]
fn assert_linear(small: &Edited, large: &Edited) {
    let (small, large) = (small.views(), large.views());
    println!("{small:?}; {TIMES} times that: {large:?}");
    for ((name, small), (_, large)) in small.into_iter().zip(large) {
        let most = small.max(Duration::from_millis(1)) * TIMES as u32 * NOISE;
        assert!(large < most, "{name}: {small:?}, then {large:?}");
    }
}

#[test]
fn views_cost_no_more_than_in_proportion_to_messages_and_commits() {
    assert_linear(&Edited::of(300, 3), &Edited::of(300 * TIMES, 3));
    assert_linear(&Edited::of(20, 30), &Edited::of(20, 30 * TIMES));
}
