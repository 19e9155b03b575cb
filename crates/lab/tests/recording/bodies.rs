//! Request bodies, with and without usage.

use super::{answers, names, read_files};
use ctx_lab::recording::{Labels, Split, Usage, read};

const BODY: &str = r#"{"model":"claude-x", "max_tokens":5,
  "messages":[{"role":"user","content":"hi"}, {"content" : [{"type":"text","text":"h\u00e9"}], "role":"assistant"},
  {"role":"user","content":"on"},{"role":"assistant","content":"end"}], "system":"s"}"#;

#[test]
fn a_body_keeps_its_bytes_and_each_answer_is_a_turn() {
    let (gathered, _folder) = read_files(&[("one.json", BODY)]);
    assert_eq!(gathered.skipped, []);
    let recording = &gathered.recordings[0];
    assert_eq!((recording.name.as_str(), recording.model.as_str()), ("one", "claude-x"));
    assert_eq!(recording.head.get(), r#"{"model":"claude-x","max_tokens":5,"system":"s"}"#);
    assert_eq!(
        recording.messages[1].get(),
        r#"{"content" : [{"type":"text","text":"h\u00e9"}], "role":"assistant"}"#,
        "not a byte is written anew"
    );
    assert_eq!(answers(recording), [1, 3]);
    assert!(recording.turns.iter().all(|turn| turn.at.is_none() && turn.usage.is_none()));
}

#[test]
fn usage_and_moments_are_joined_by_the_message() {
    let usage = r#"[{"msg":3,"input":1,"cache_creation":2,"cache_read":3,"output":4,"ts":"1970-01-01T00:00:01.5Z"}]"#;
    let index = r#"[{"id":"one","file":"conversations/one.json"}]"#;
    let files = [("conversations/one.json", BODY), ("usage/one.json", usage), ("index.json", index)];
    let (gathered, folder) = read_files(&files);
    assert_eq!(gathered.skipped, [], "what belongs to a corpus and is no conversation is passed over");
    let turns = &gathered.recordings[0].turns;
    assert_eq!((turns[0].at, turns[0].usage), (None, None));
    let reported = Usage { input: 1, cache_written: 2, cache_read: 3, output: 4, cache_written_1h: None };
    assert_eq!((turns[1].at, turns[1].usage), (Some(1500), Some(reported)));

    let named = read(&[folder.path().join("usage/one.json")]);
    assert_eq!((named.recordings.len(), named.skipped.len()), (0, 1), "a file that was named is answered for");
}

#[test]
fn files_come_in_the_order_of_their_names_each_once_and_no_two_with_one_name() {
    let (gathered, folder) =
        read_files(&[("b.json", BODY), ("a/z.json", BODY), ("c/b.json", BODY), ("notes.txt", "x")]);
    assert_eq!(names(&gathered), ["z", "b", "b (2)"]);
    let twice = read(&[folder.path().join("b.json"), folder.path().to_owned()]);
    assert_eq!(names(&twice), ["b", "z", "b (2)"]);
}

#[test]
fn labels_come_from_the_index_of_the_folder_or_the_one_above() {
    let index = r#"[{"id":"one","file":"conversations/one.json","split":"validate","project":"a/b"},
      {"id":"two","file":"conversations/two.json","split":"open","source_repo":"c/d"}]"#;
    let files = ["one", "two", "three"].map(|name| format!("conversations/{name}.json"));
    let files = files.iter().map(|name| (name.as_str(), BODY)).chain([("index.json", index)]);
    let (gathered, _folder) = read_files(&files.collect::<Vec<_>>());
    assert_eq!(gathered.skipped, []);
    let labels: Vec<(&str, &Labels)> = gathered.recordings.iter().map(|one| (&*one.name, &one.labels)).collect();
    let label = |split, project: &str| Labels { split, project: Some(project.into()) };
    let expected = [label(Split::Validate, "a/b"), Labels::default(), label(Split::Tune, "c/d")];
    assert_eq!(labels, [("one", &expected[0]), ("three", &expected[1]), ("two", &expected[2])]);
}
