//! Requests after an edit: longer ones, shorter ones, others; and the history of edits.

use super::spoken::{Spoken, spoken};
use super::story::{Story, question, stories};
use super::{ALL, Outline, outline, refusal, wire};
use ctx_core::WireId;
use ctx_core::edit::Operation;
use ctx_engine::Standalone;
use serde_json::{Value, json};
use testkit::ReferenceJudge;

/// A conversation of one format, and the judge of its requests.
struct Later<'j> {
    format: WireId,
    conversation: Standalone,
    judge: &'j mut Option<ReferenceJudge>,
    at: u64,
}

impl<'j> Later<'j> {
    fn new(format: WireId, judge: &'j mut Option<ReferenceJudge>) -> Later<'j> {
        Later { format, conversation: Standalone::new(wire(format)), judge, at: 1_000 }
    }

    fn edit(&mut self, operations: Value) -> Result<(), String> {
        self.at += 1_000;
        let operations: Vec<Operation> = serde_json::from_value(operations).expect("operations");
        self.conversation.edit(operations, self.at).map(drop).map_err(|refusal| format!("{:?}", refusal.code))
    }

    /// What the model reads, and the frames then.
    fn send(&mut self, story: &Story) -> (Spoken, Vec<Outline>) {
        self.at += 1_000;
        let body = story.whole(self.format);
        let sent = self.conversation.request(body.as_bytes(), self.at).expect("sent");
        let sent = String::from_utf8(sent).expect("text");
        assert_eq!(refusal(self.judge, self.format, &sent), None, "{}, {}\n{sent}", story.name, self.format.name());
        (spoken(self.format, &sent), outline(self.conversation.frames()))
    }
}

/// The story without some of its frames, and with another question at its end.
fn changed(story: &Story, frames: std::ops::Range<usize>, asked: &str) -> Story {
    let frames = story.frames[frames].iter().cloned().chain([question(asked)]).collect();
    Story { name: story.name, frames }
}

/// Plays the same in every format, and compares with the first.
fn alike<T: PartialEq + std::fmt::Debug>(mut play: impl FnMut(&Story, WireId) -> T) {
    for story in stories() {
        let first = play(&story, ALL[0]);
        for format in &ALL[1..] {
            assert_eq!(play(&story, *format), first, "{}, {}", story.name, format.name());
        }
    }
}

#[test]
fn every_format_recognises_what_a_later_request_repeats() {
    let mut judge = ReferenceJudge::start();
    let mut forgotten = 0;
    alike(|story, format| {
        let mut later = Later::new(format, &mut judge);
        later.send(story);
        let edited = later.edit(json!([{"op": "edit", "id": "t1#0", "text": "Another question. ~new~"}]));
        assert_eq!(edited, Ok(()));
        let says_new = |(spoken, _): &(Spoken, Vec<Outline>)| spoken.iter().any(|(_, marks)| marks == &["new"]);
        let count = story.frames.len();
        let longer = later.send(&changed(story, 0..count - 1, "Something else. ~else~"));
        let rewound = later.send(&changed(story, 0..1, "Back again. ~back~"));
        let again = later.send(story);
        assert!([&longer, &rewound, &again].iter().all(|sent| says_new(sent)), "{}, {}", story.name, format.name());
        // The client dropped the beginning.
        let cut = later.send(&changed(story, 1..count - 1, "Where were we? ~where~"));
        assert!(!says_new(&cut));
        forgotten += 1;
        // Without ids, short messages are not recognised there, so only what is sent is the same.
        (longer, rewound, again, cut.0)
    });
    assert!(forgotten > 50, "{forgotten}");
}

#[test]
fn every_format_undoes_and_redoes_alike() {
    let mut judge = ReferenceJudge::start();
    alike(|story, format| {
        let mut later = Later::new(format, &mut judge);
        let unedited = later.send(story);
        let edits = [
            json!([{"op": "edit", "id": "t1#0", "text": "Another question. ~new~"}]),
            json!([{"op": "move", "ids": ["t2"], "to": {"start": true}}]),
            json!([{"op": "delete", "ids": ["t2"]}]),
        ];
        let mut sent = vec![unedited.clone()];
        for operations in edits {
            assert_eq!(later.edit(operations), Ok(()), "{}, {}", story.name, format.name());
            sent.push(later.send(story));
        }
        for expected in [2, 1, 0] {
            later.conversation.undo(later.at).expect("undone");
            assert_eq!(later.send(story), sent[expected], "{}, {}", story.name, format.name());
        }
        assert!(later.conversation.undo(later.at).is_err(), "there is nothing to undo");
        let untouched = story.whole(format);
        let bytes = later.conversation.request(untouched.as_bytes(), later.at).expect("sent");
        assert!(bytes == untouched.as_bytes(), "{}, {}: its own bytes again", story.name, format.name());
        for expected in [1, 2, 3] {
            later.conversation.redo(later.at).expect("redone");
            assert_eq!(later.send(story), sent[expected], "{}, {}", story.name, format.name());
        }
        sent
    });
}
