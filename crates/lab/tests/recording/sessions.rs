//! Claude Code's session files.

use super::{answers, messages, names, outline, read_all, read_files};
use ctx_lab::recording::Usage;
use serde_json::{Value, json};
use std::path::Path;

/// Lines of a session; each follows the previous one by default.
#[derive(Default)]
pub struct Session {
    lines: Vec<Value>,
}

impl Session {
    fn line(&mut self, uuid: &str, mut line: Value) -> &mut Session {
        let before = self.lines.last().map_or(Value::Null, |line| line["uuid"].clone());
        let count = self.lines.len();
        line["uuid"] = uuid.into();
        line["timestamp"] = format!("1970-01-01T00:00:{count:02}Z").into();
        if line.get("parentUuid").is_none() {
            line["parentUuid"] = before;
        }
        self.lines.push(line);
        self
    }

    pub fn user(&mut self, uuid: &str, content: Value) -> &mut Session {
        self.line(uuid, json!({"type": "user", "message": {"role": "user", "content": content}}))
    }

    pub fn answer(&mut self, uuid: &str, id: &str, block: Value) -> &mut Session {
        let usage = json!({"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": self.lines.len()});
        let message = json!({"role": "assistant", "type": "message", "id": id, "model": "claude-x", "content": [block], "usage": usage});
        self.line(uuid, json!({"type": "assistant", "message": message}))
    }

    fn with(&mut self, changes: Value) -> &mut Session {
        let last = self.lines.last_mut().and_then(Value::as_object_mut).expect("a line");
        last.extend(changes.as_object().expect("an object").clone());
        self
    }

    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

pub fn say(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {}})
}

pub fn result(id: &str) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "content": format!("result of {id}")}])
}

fn read_one(session: &Session) -> ctx_lab::recording::Recording {
    let (mut gathered, _folder) = read_files(&[("s.jsonl", &session.text())]);
    assert_eq!((&gathered.skipped[..], gathered.recordings.len()), (&[][..], 1));
    gathered.recordings.remove(0)
}

#[test]
fn a_file_of_the_stock_client_is_read_with_its_compaction_and_its_sub_agent() {
    let gathered = read_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recording/files"));
    assert_eq!(gathered.skipped, []);
    let session = "873b3659-8f1f-472e-a073-43896cdda03b";
    assert_eq!(names(&gathered), ["agent-ad7466e77850e206a", session, &format!("{session}#2")]);
    let [agent, first, second] = &gathered.recordings[..] else { unreachable!() };

    assert_eq!(
        outline(first),
        ["u:tttttttt", "a:htcc", "u:rr", "a:c", "u:r", "a:c", "u:r", "a:t", "u:\"", "a:c", "u:r", "a:t"]
    );
    assert_eq!(answers(first), [1, 3, 5, 7, 9, 11]);
    assert_eq!(first.model, "claude-opus-5-5");
    let head: Value = serde_json::from_str(first.head.get()).expect("JSON");
    assert_eq!((head["tools"][0]["name"].as_str(), head["system"].as_array().map(Vec::len)), (Some("Agent"), Some(2)));
    let read: Vec<Value> = messages(first)[2]["content"].as_array().expect("blocks").clone();
    assert!(
        read[0]["content"].as_str().is_some_and(|text| text.contains("alpha")),
        "results stand in the order of the calls"
    );
    assert!(first.turns.iter().all(|turn| turn.usage.is_some_and(|usage| usage.output > 0)));
    assert_eq!(first.turns[1].at, Some(1_794_755_583_029), "when the last result was there");

    assert_eq!(outline(second)[..2], ["u:\"", "a:t"], "the summary, and the answer that the compaction kept");
    assert_eq!(messages(second)[1]["content"][0]["text"], "all done");
    assert_eq!(answers(second), [3, 5], "what was kept was answered before");
    assert_eq!(outline(agent), ["u:ttttttt", "a:c", "u:rt", "a:t"]);
}

#[test]
fn blocks_of_an_answer_and_results_of_its_calls_are_put_together_in_order() {
    let mut session = Session::default();
    session.user("1", "go".into()).answer("2", "m", say("I look")).answer("3", "m", call("x")).answer(
        "4",
        "m",
        call("y"),
    );
    session
        .user("5", result("y"))
        .user("6", result("x"))
        .with(json!({"parentUuid": "3"}))
        .user("7", say_list("typed meanwhile"));
    session.with(json!({"parentUuid": "5"})).answer("8", "n", say("done"));
    let recording = read_one(&session);
    assert_eq!(outline(&recording), ["u:\"", "a:tcc", "u:rrt", "a:t"]);
    assert_eq!(messages(&recording)[2]["content"][0]["tool_use_id"], "x", "it hung beside the chain");
    let usage = recording.turns.iter().map(|turn| turn.usage.expect("usage"));
    let newest = [3, 7].map(|output| Usage { input: 1, cache_read: 2, output, ..Usage::default() });
    assert_eq!(usage.collect::<Vec<_>>(), newest, "the last line of an answer knows its usage");
    assert_eq!(recording.turns.iter().map(|turn| turn.at).collect::<Vec<_>>(), [Some(0), Some(6000)]);
}

fn say_list(text: &str) -> Value {
    json!([say(text)])
}

#[test]
fn each_answer_tells_its_model_and_for_how_long_it_was_kept() {
    let mut session = Session::default();
    session.user("1", "go".into()).answer("2", "m", say("yes")).user("3", "on".into()).answer("4", "n", say("done"));
    let message = &mut session.lines[3]["message"];
    message["model"] = "claude-y".into();
    message["usage"] = json!({"cache_creation_input_tokens": 9,
        "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 7}});
    let recording = read_one(&session);
    assert_eq!([0, 1].map(|turn| recording.model_of(turn)), ["claude-x", "claude-y"]);
    let hours = |turn: usize| recording.turns[turn].usage.expect("usage").cache_written_1h;
    assert_eq!((hours(0), hours(1)), (None, Some(7)), "the older files do not tell");
}

#[test]
fn an_answer_that_went_on_after_a_result_is_one_answer() {
    let mut session = Session::default();
    session.user("1", "go".into()).answer("2", "m", call("x")).user("3", result("x")).answer("4", "m", call("y"));
    session.user("5", result("y")).answer("6", "n", say("done"));
    assert_eq!(outline(&read_one(&session)), ["u:\"", "a:cc", "u:rr", "a:t"]);
}

#[test]
fn what_was_rewound_is_not_read() {
    let mut session = Session::default();
    session.user("1", "go".into()).answer("2", "m", say("yes")).user("3", "wrong".into()).answer("4", "n", say("so?"));
    session.user("5", "right".into()).with(json!({"parentUuid": "2"})).answer("6", "o", say("ah"));
    let recording = read_one(&session);
    assert_eq!(messages(&recording)[2]["content"], "right");
    assert_eq!(answers(&recording), [1, 3]);
}

#[test]
fn a_call_without_a_result_gets_one_and_a_result_without_a_call_goes() {
    let mut session = Session::default();
    session.user("1", "go".into()).answer("2", "m", call("x")).user("3", result("z")).user("4", "go on".into());
    session.answer("5", "n", say("done"));
    let recording = read_one(&session);
    assert_eq!(outline(&recording), ["u:\"", "a:c", "u:rt", "a:t"]);
    assert_eq!(messages(&recording)[2]["content"][0]["tool_use_id"], "x");
    assert_eq!(messages(&recording)[2]["content"][0]["content"], "(this result was not recorded)");
}

#[test]
fn what_the_client_says_in_the_models_place_is_left_out() {
    let mut session = Session::default();
    session.user("1", "go".into()).answer("2", "m", say("API Error")).with(json!({"isApiErrorMessage": true}));
    session.user("3", "again".into()).answer("4", "n", say("done"));
    assert_eq!(outline(&read_one(&session)), ["u:tt", "a:t"]);
}

#[test]
fn what_the_client_injects_is_told_where_the_file_tells_it() {
    let mut session = Session::default();
    session.user("1", "go".into());
    session
        .line("2", json!({"type": "attachment", "attachment": {}, "rendered": [{"content": "note"}, {"content": ""}]}));
    session.line("3", json!({"type": "attachment", "attachment": {}})).answer("4", "m", say("yes"));
    let recording = read_one(&session);
    assert_eq!(
        recording.messages[0].get(),
        r#"{"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"note"}]}"#
    );
}

#[test]
fn older_compactions_and_side_chains_are_recordings_of_their_own() {
    let mut session = Session::default();
    session.user("1", "go".into()).answer("2", "m", call("x"));
    for (index, side) in ["a", "b"].into_iter().enumerate() {
        session.user(side, format!("look {side}").into()).with(json!({"parentUuid": null, "isSidechain": true}));
        session.answer(&format!("{side}1"), &format!("{side}1"), call(side)).with(json!({"isSidechain": true}));
        if index == 0 {
            session.user(&format!("{side}2"), result(side)).with(json!({"isSidechain": true}));
            session.answer(&format!("{side}3"), &format!("{side}3"), say("found")).with(json!({"isSidechain": true}));
        }
    }
    session.user("3", result("x")).with(json!({"parentUuid": "2"})).answer("4", "n", say("done"));
    session.user("5", "summary".into()).with(json!({"parentUuid": null, "isCompactSummary": true}));
    session.answer("6", "o", say("on"));
    let (gathered, _folder) = read_files(&[("s.jsonl", &session.text())]);
    assert_eq!(names(&gathered), ["s", "s#2", "s+1"], "a sub-agent of one step is none");
    assert_eq!(answers(&gathered.recordings[0]), [1, 3]);
    assert_eq!(messages(&gathered.recordings[1])[0]["content"], "summary");
    assert_eq!(outline(&gathered.recordings[2]), ["u:\"", "a:c", "u:r", "a:t"]);
}

#[test]
fn a_message_of_one_line_keeps_its_bytes() {
    let text = concat!(
        r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":[ {"text":"a\u0062", "type":"text"} ]}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m","role":"assistant","model":"x","content":[{"type":"text","text":"\u00e9"}]}}"#,
    );
    let (gathered, _folder) = read_files(&[("s.jsonl", text)]);
    let recording = &gathered.recordings[0];
    assert_eq!(recording.messages[0].get(), r#"{"role":"user","content":[ {"text":"a\u0062", "type":"text"} ]}"#);
    assert_eq!(recording.messages[1].get(), r#"{"role":"assistant","content":[{"type":"text","text":"\u00e9"}]}"#);
    assert_eq!((recording.turns[0].at, recording.turns[0].usage), (None, None));
}
