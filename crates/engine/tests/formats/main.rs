//! The same conversation in every format: the same frames, the same effect of every operation, the same recognition of
//! later requests, the same history, and requests that say the same to the model and that each provider accepts. Beside
//! the providers' formats there is a made-up one, written outside `ctx-wire`.

mod later;
mod spoken;
mod story;

use ctx_api::frames::Frames;
use ctx_core::edit::Operation;
use ctx_core::{ErrorCode, WireId};
use ctx_engine::Standalone;
use ctx_wire::Wire;
use serde_json::{Value, json};
use spoken::{Spoken, spoken};
use story::{Story, stories};
use testkit::ReferenceJudge;

const ALL: [WireId; 5] =
    [WireId::Anthropic, WireId::OpenaiChat, WireId::OpenaiResponses, WireId::Gemini, WireId::Custom];

fn wire(format: WireId) -> &'static dyn Wire {
    testkit_flat::add();
    ctx_wire::wire(format)
}

/// Why the provider refuses a request. `judge`: none where the reference is missing.
fn refusal(judge: &mut Option<ReferenceJudge>, format: WireId, body: &str) -> Option<String> {
    match format {
        WireId::Custom => testkit_flat::judge::refusal(body),
        _ => judge.as_mut()?.refusal(format.name(), body),
    }
}

/// Commits, each a list of operations. The edits of one entry follow each other.
fn edits() -> Vec<Value> {
    vec![
        json!([]),
        json!([[{"op": "delete", "ids": ["t1"]}]]),
        json!([[{"op": "delete", "ids": ["t1"]}], [{"op": "drop-results", "ids": ["t2"]}]]),
        json!([[{"op": "delete", "ids": ["t1/1"]}]]),
        json!([[{"op": "delete", "ids": ["t2/1..2"]}]]),
        json!([[{"op": "edit", "id": "t1#0", "text": "Another question. ~new~"}]]),
        json!([[{"op": "edit", "id": "t2", "text": "A frame of one message. ~new~"}]]),
        json!([[{"op": "compact", "ids": ["t1"], "text": "The first part is done. ~short~"}]]),
        json!([[{"op": "compact", "ids": ["t2/1"], "text": "A step. ~short~"}]]),
        json!([[{"op": "drop-results"}]]),
        json!([[{"op": "drop-results", "ids": ["t2"]}], [{"op": "delete", "ids": ["t2/1"]}]]),
        json!([[{"op": "drop-results", "select": {"tool": "run_command"}}]]),
        json!([[{"op": "summarize-results", "ids": ["t1"], "text": "Nothing of note. ~note~"}]]),
        json!([[{"op": "move", "ids": ["t2"], "to": {"start": true}}]]),
        json!([[{"op": "move", "ids": ["t1"], "to": {"after": "t2"}}], [{"op": "delete", "ids": ["t2"]}]]),
        json!([[{"op": "add", "text": "A remark. ~add~", "to": {"after": "t1"}}]]),
        json!([[{"op": "add", "text": "A remark. ~add~", "to": {"start": true}}]]),
        json!([[{"op": "add", "role": "assistant", "text": "I know. ~add~", "to": {"after": "t1"}}]]),
        json!([[{"op": "combine", "ids": ["t1", "t2"]}], [{"op": "retitle", "id": "t1", "title": "Both"}]]),
        json!([[{"op": "split", "id": "t1", "at_step": [2]}]]),
        json!([[{"op": "split", "id": "t2", "each_step": true}], [{"op": "delete", "ids": ["t2"]}]]),
        json!([[{"op": "pin", "ids": ["t1"]}, {"op": "retitle", "id": "t1", "title": "The first"}]]),
        json!([[
            {"op": "move", "ids": ["t2"], "to": {"start": true}},
            {"op": "compact", "ids": ["t1"], "text": "Done. ~short~"},
            {"op": "add", "text": "Be brief. ~add~", "to": {"end": true}},
        ]]),
    ]
}

/// A frame, without what depends on the format: numbers of messages and tokens.
type Outline = (String, String, String, usize, Vec<String>, bool);

#[derive(Debug, PartialEq)]
struct Played {
    /// The refusal's code of each commit, or its number of frames.
    outcomes: Vec<Result<usize, String>>,
    frames: Vec<Outline>,
    spoken: Spoken,
}

fn outline(frames: Frames) -> Vec<Outline> {
    let frames = frames.frames.into_iter();
    frames.map(|one| (one.id, one.kind, one.title, one.steps, one.state, one.pinned)).collect()
}

/// An earlier request, the edits, the same request again, and the whole one.
fn play(story: &Story, format: WireId, commits: &Value, judge: &mut Option<ReferenceJudge>) -> Played {
    let mut conversation = Standalone::new(wire(format));
    let (before, after) = (story.earlier(format), story.whole(format));
    let sent = conversation.request(before.as_bytes(), 1_000).expect("sent");
    assert!(sent == before.as_bytes(), "{}: untouched bytes pass", story.name);
    let mut outcomes = Vec::new();
    for operations in commits.as_array().expect("commits") {
        let operations: Vec<Operation> = serde_json::from_value(operations.clone()).expect("operations");
        let outcome = conversation.edit(operations, 2_000);
        outcomes.push(outcome.map(|edit| edit.frames.len()).map_err(|refusal| format!("{:?}", refusal.code)));
    }
    // Of the first, the newest message stays in most formats (X2), so only the second says the same in all.
    let sent = [before, after].map(|body| {
        let sent = conversation.request(body.as_bytes(), 3_000).expect("sent");
        let sent = String::from_utf8(sent).expect("text");
        if outcomes.iter().all(Result::is_err) {
            assert!(sent == body, "{}: nothing was edited", story.name);
        }
        assert_eq!(refusal(judge, format, &sent), None, "{} {commits}\n{sent}", story.name);
        sent
    });
    let spoken = spoken(format, &sent[1]);
    Played { outcomes, frames: outline(conversation.frames()), spoken }
}

#[test]
fn every_format_has_the_same_frames_and_obeys_every_operation_alike() {
    let mut judge = ReferenceJudge::start();
    let (mut applied, mut refused) = (0, 0);
    for story in stories() {
        for commits in edits() {
            let first = play(&story, ALL[0], &commits, &mut judge);
            assert!(first.frames.len() > 2, "{}: system, tools and a frame", story.name);
            applied += first.outcomes.iter().filter(|outcome| outcome.is_ok()).count();
            refused += first.outcomes.iter().filter(|outcome| outcome.is_err()).count();
            for format in &ALL[1..] {
                let played = play(&story, *format, &commits, &mut judge);
                let what = format!("{}, {}, {commits}", story.name, format.name());
                assert_eq!(played.outcomes, first.outcomes, "{what}");
                assert_eq!(played.frames, first.frames, "{what}");
                assert_eq!(played.spoken, first.spoken, "{what}");
            }
        }
    }
    assert!(applied > 200 && refused > 20, "{applied} applied, {refused} refused");
}

/// Rule X2: a provider that answers the newest message needs one. Messages can end with the model's words.
#[test]
fn the_only_question_can_be_deleted_in_messages_only() {
    for format in ALL {
        let body = Story { name: "", frames: vec![story::question("Hello. ~u1~")] }.whole(format);
        let mut conversation = Standalone::new(wire(format));
        conversation.request(body.as_bytes(), 1_000).expect("sent");
        let delete = serde_json::from_value(json!([{"op": "delete", "ids": ["t1"]}])).expect("operations");
        let outcome = conversation.edit(delete, 2_000).map(drop).map_err(|refusal| refusal.code);
        let expected = if format == WireId::Anthropic { Ok(()) } else { Err(ErrorCode::NothingToDo) };
        assert_eq!(outcome, expected, "{}", format.name());
    }
}

/// The same for a request that ends with the model's words.
#[test]
fn a_request_is_never_empty() {
    let mut judge = ReferenceJudge::start();
    for format in ALL {
        let frame = story::Frame { reply: Some("Hello. ~a1~".into()), ..story::question("Hello. ~u1~") };
        let body = Story { name: "", frames: vec![frame] }.whole(format);
        let mut conversation = Standalone::new(wire(format));
        conversation.request(body.as_bytes(), 1_000).expect("sent");
        let delete = serde_json::from_value(json!([{"op": "delete", "ids": ["t1"]}])).expect("operations");
        drop(conversation.edit(delete, 2_000));
        let sent = conversation.request(body.as_bytes(), 3_000).expect("sent");
        let refusal = refusal(&mut judge, format, &String::from_utf8_lossy(&sent));
        assert_eq!(refusal, None, "{}: {}", format.name(), String::from_utf8_lossy(&sent));
    }
}
