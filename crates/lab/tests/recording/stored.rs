//! Conversations of our own store.

use ctx_clients::Hints;
use ctx_engine::attribution::SeenRequest;
use ctx_engine::response::Timing;
use ctx_service::Service;
use ctx_store::SqliteStore;
use ctx_wire::answer::Ending;
use ctx_wire::rope::Arriving;
use serde_json::json;
use std::sync::Arc;

#[test]
fn what_ctx_took_note_of_can_be_played_again() {
    let folder = tempfile::tempdir().expect("a folder");
    {
        let service = Service::open(Arc::new(SqliteStore::open(folder.path()).expect("a store"))).expect("a service");
        let mut messages = vec![json!({"role": "user", "content": "hello"})];
        for turn in 0..3u64 {
            let model = if turn == 1 { "claude-haiku-5-5" } else { "claude-opus-5-5" };
            let body = json!({"model": model, "max_tokens": 10, "messages": messages,
                "tools": [{"name": "Read", "input_schema": {}}]});
            let mut pieces = Arriving::alone();
            pieces.push(body.to_string().as_bytes());
            let hints = Hints::read(|name| match name {
                "x-claude-code-session-id" => Some("one"),
                "x-claude-code-request-class" => Some("main"),
                _ => None,
            });
            let at = 1_000_000 + turn * 1000;
            let seen = SeenRequest {
                wire: &ctx_wire::anthropic::Anthropic,
                hints,
                pieces: pieces.finish(),
                at,
                counting: false,
            };
            let ticket = service.observe(seen).expect("readable").expect("a turn");
            let answer = json!({"role": "assistant", "content": [{"type": "text", "text": format!("answer {turn}")}]});
            let told = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": answer["content"],
                "model": model, "stop_reason": "end_turn", "usage": {"input_tokens": 10 + turn, "output_tokens": 3, "cache_creation_input_tokens": 5,
                    "cache_creation": {"ephemeral_1h_input_tokens": turn, "ephemeral_5m_input_tokens": 5 - turn}}});
            let mut tap = ctx_wire::wire(ctx_wire::WireId::Anthropic).tap(200, Some("application/json"), None);
            tap.feed(told.to_string().as_bytes());
            let timing = Timing { at: at + 1, first_byte_ms: Some(1), total_ms: 1 };
            let answered =
                service.answered(&ticket, Some(Ending::Complete), Some(tap.finish(Ending::Complete)), timing);
            answered.expect("noted");
            messages.extend([answer, json!({"role": "user", "content": format!("go on {turn}")})]);
        }
        service.settle(std::time::Duration::from_secs(5));
    }
    let gathered = ctx_lab::recording::read(&[folder.path().to_owned()]);
    assert_eq!(gathered.skipped, []);
    let [recording] = gathered.recordings.as_slice() else { panic!("one: {:?}", gathered.recordings) };
    assert_eq!((recording.model.as_str(), recording.messages.len()), ("claude-opus-5-5", 6));
    let turns: Vec<_> =
        recording.turns.iter().map(|turn| (turn.answer, turn.at, turn.usage.map(|usage| usage.input))).collect();
    let models: Vec<_> = (0..3).map(|turn| recording.model_of(turn)).collect();
    assert_eq!(models, ["claude-opus-5-5", "claude-haiku-5-5", "claude-opus-5-5"]);
    let hours: Vec<_> =
        recording.turns.iter().map(|turn| turn.usage.and_then(|usage| usage.cache_written_1h)).collect();
    assert_eq!(hours, [Some(0), Some(1), Some(2)]);
    assert_eq!(turns, [(1, Some(1_000_000), Some(10)), (3, Some(1_001_000), Some(11)), (5, Some(1_002_000), Some(12))]);
}
