//! Broken and foreign files: skipped with the line and the reason, without stopping.

use super::sessions::{Session, call, result, say};
use super::{answers, outline, read_files};
use ctx_lab::recording::GatheredRecordings;
use proptest::prelude::*;

fn reasons(gathered: &GatheredRecordings) -> Vec<(Option<usize>, &str)> {
    gathered.skipped.iter().map(|skipped| (skipped.line, skipped.why.as_str())).collect()
}

fn session() -> Session {
    let mut session = Session::default();
    session.user("1", "go".into()).answer("2", "m", call("x")).user("3", result("x")).answer("4", "n", say("done"));
    session.user("5", "and".into()).answer("6", "o", say("then")).user("7", "on".into()).answer("8", "p", say("end"));
    session
}

#[test]
fn each_reason_is_said_in_words() {
    let files = [
        ("a.json", "{"),
        ("b.json", "[1]"),
        ("c.json", r#"{"messages":5}"#),
        ("d.json", r#"{"messages":[{"role":"user"}]}"#),
        ("e.json", r#"{"messages":[{"role":"user","content":"x"}]}"#),
        ("f.json", r#"{"a":1}"#),
        ("g.json", r#"{"messages":[{"role":"user","content":5}]}"#),
        ("h.jsonl", "{\"display\":\"x\"}\n"),
        ("i.jsonl", "\u{0}\u{1}"),
        ("j.jsonl", ""),
        ("k.jsonl", r#"{"type":"user","uuid":"1","message":{"role":"user","content":"x"}}"#),
    ];
    let (gathered, _folder) = read_files(&files);
    assert_eq!(gathered.recordings.len(), 0);
    let said: Vec<&str> = reasons(&gathered)
        .into_iter()
        .map(|(line, why)| {
            assert_eq!(line, None);
            why
        })
        .collect();
    assert!(said[0].starts_with("it is not a request body: EOF"), "{}", said[0]);
    assert!(said[1].starts_with("it is not a request body: invalid type"), "{}", said[1]);
    assert_eq!(
        said[2..],
        [
            "its `messages` is not a list",
            "message 0 has no role or no content",
            "no message in it is a model's answer",
            "it holds no list of messages",
            "the content of message 0 is neither a text nor a list",
            "it contains no lines of a conversation",
            "it contains no lines of a conversation",
            "it contains no lines of a conversation",
            "it contains no reply of a model, or only a sub-agent of one step",
        ]
    );
}

#[test]
fn what_is_not_there_is_said() {
    let gathered = ctx_lab::recording::read(&["/does/not/exist".into()]);
    assert!(gathered.skipped[0].why.starts_with("it cannot be opened"), "{:?}", gathered.skipped);
}

#[test]
fn a_broken_line_beside_the_chain_costs_only_itself() {
    let text = session().text().replacen('\n', "\nnot JSON\n{\"type\":5}\n\n", 1) + "{\"type\":\"assis";
    let (gathered, _folder) = read_files(&[("s.jsonl", &text)]);
    assert_eq!(answers(&gathered.recordings[0]), [1, 3, 5, 7]);
    let said = reasons(&gathered);
    assert_eq!(said.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [Some(2), Some(3), Some(12)]);
    assert!(said[0].1.starts_with("it is not JSON"), "{said:?}");
    assert!(said.iter().all(|(_, why)| !why.contains("line 1")), "the line is told once: {said:?}");
    assert!(said[1].1.starts_with("it is not a line of a session"), "{said:?}");
}

#[test]
fn after_a_broken_line_of_the_chain_the_rest_is_read_from_its_next_prompt_on() {
    let text = session().text();
    let lines: Vec<&str> = text.lines().collect();
    let text = [&lines[..2], &["{"], &lines[3..]].concat().join("\n");
    let (gathered, _folder) = read_files(&[("s.jsonl", &text)]);
    assert_eq!(outline(&gathered.recordings[0]), ["u:\"", "a:t", "u:\"", "a:t"]);
    let said = reasons(&gathered);
    assert_eq!((said[0].0, said[1].0), (Some(3), Some(4)));
    assert!(said[1].1.starts_with("the preceding line is missing"), "{said:?}");
}

#[test]
fn lines_that_follow_each_other_in_a_circle_end() {
    let text = session().text().replacen("\"parentUuid\":null", "\"parentUuid\":\"8\"", 1);
    let (gathered, _folder) = read_files(&[("s.jsonl", &text)]);
    assert_eq!(answers(&gathered.recordings[0]), [1, 3, 5, 7]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_stop_the_reader(
        noise in proptest::collection::vec(any::<u8>(), 0..300),
        cuts in proptest::collection::vec((0usize..4000, any::<u8>()), 0..12),
        order in proptest::collection::vec(0usize..8, 0..12),
        line_by_line in any::<bool>(),
    ) {
        let text = session().text();
        let lines: Vec<&str> = text.lines().collect();
        let shuffled: Vec<&str> = order.iter().map(|at| lines[*at]).collect();
        let mut damaged = [text.as_str(), &shuffled.join("\n")].concat().into_bytes();
        for (at, byte) in cuts {
            let at = at % damaged.len();
            damaged[at] = byte;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let ending = if line_by_line { "jsonl" } else { "json" };
        std::fs::write(folder.path().join(format!("a.{ending}")), &noise).expect("a file");
        std::fs::write(folder.path().join(format!("b.{ending}")), &damaged).expect("a file");
        std::fs::write(folder.path().join(format!("c.{ending}")), [&damaged[..damaged.len() / 2], &noise].concat()).expect("a file");
        let gathered = super::read_all(folder.path());
        for recording in &gathered.recordings {
            let _ = ctx_lab::needs::needs(recording);
            prop_assert!(recording.turns.iter().all(|turn| turn.answer < recording.messages.len() && turn.answer > 0));
        }
    }
}
