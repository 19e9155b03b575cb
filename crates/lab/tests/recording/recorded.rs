//! The recorded conversations next to the project.

use super::read_all;
use std::path::Path;
use testkit::recorded_conversations;

#[test]
fn recorded_conversations_are_read_as_they_are() {
    let bodies = recorded_conversations();
    if bodies.is_empty() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let started = std::time::Instant::now();
    let gathered = read_all(&folder);
    println!("read in {:?}", started.elapsed());
    assert_eq!(gathered.skipped, []);
    assert_eq!(gathered.recordings.len(), 48);
    assert_eq!(gathered.recordings.iter().map(|recording| recording.turns.len()).sum::<usize>(), 3318);
    for (recording, (name, body)) in gathered.recordings.iter().zip(&bodies) {
        assert_eq!(&recording.name, name);
        let body: serde_json::Value = serde_json::from_slice(body).expect("JSON");
        assert_eq!(body["messages"].as_array().map(Vec::len), Some(recording.messages.len()));
        let known = recording.turns.iter().filter(|turn| turn.usage.is_some()).count();
        assert!(!name.ends_with("uncompacted") || known == 0, "{name} was never sent in this form");
        let moments: Vec<i64> = recording.turns.iter().filter_map(|turn| turn.at).collect();
        assert!(moments.is_sorted(), "{name}: {moments:?}");
    }
}
