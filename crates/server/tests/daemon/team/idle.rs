//! The conversations of a person who is idle are closed, and nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ctx_engine::Refusal;
use ctx_server::OpenService;
use ctx_service::Service;
use ctx_store::SqliteStore;
use serde_json::{Value, json};

use super::scene::Team;
use crate::support::house::{ANSWER, Arrived, answer, conversation};

const IDLE: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_secs(20);

/// A file for each person, which can be open only once.
struct Files {
    folder: tempfile::TempDir,
    opened: AtomicUsize,
}

impl Files {
    fn new() -> Arc<Files> {
        Arc::new(Files { folder: tempfile::tempdir().expect("a folder"), opened: AtomicUsize::new(0) })
    }

    fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }
}

impl OpenService for Files {
    fn open(&self, person: u32) -> Result<Arc<Service>, Refusal> {
        let folder = self.folder.path().join(person.to_string());
        std::fs::create_dir_all(&folder).expect("a folder");
        let service = Service::open(Arc::new(SqliteStore::open(&folder)?))?;
        self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(service))
    }
}

async fn open_people(team: &Team) -> f64 {
    let answer = team.house.raw("GET", "metrics", "").await;
    let found = answer.lines().find_map(|line| line.strip_prefix("ctx_open_people ")?.parse().ok());
    found.expect("a metric")
}

/// Only the operator's own conversations are open.
async fn closed(team: &Team) {
    let deadline = Instant::now() + PATIENCE;
    while open_people(team).await > 1.0 {
        assert!(Instant::now() < deadline, "the conversations stay open");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn an_idle_persons_conversations_are_closed_and_open_again_with_their_edits() {
    let files = Files::new();
    let team = Team::closing_after(IDLE, files.clone()).await;
    team.talk("anna", "annas", &conversation("zebra", 3)).await;
    let edit = json!({"operations": [{"op": "delete", "ids": ["t2"]}], "author": "x"});
    team.post("anna", "conversations/active/operations", &edit).await;
    let later = json!({"operations": [{"op": "delete", "ids": ["t1"]}], "author": "x", "when": "near-limit"});
    team.post("anna", "conversations/active/operations", &later).await;
    let before = team.get("anna", "conversations/active/frames").await;
    let opened = files.opened();
    closed(&team).await;
    // The next request is composed, although nothing of it is in memory.
    let arrived = team.talk("anna", "annas", &conversation("zebra", 3)).await;
    assert_eq!(arrived.questions(), ["zebra question 1", "zebra question 3"]);
    assert_eq!(files.opened(), opened + 1);
    let after = team.get("anna", "conversations/active/frames").await;
    let ids = |frames: &Value| {
        frames["frames"].as_array().expect("frames").iter().map(|f| f["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&after), ids(&before));
    let waiting = team.get("anna", "conversations/active/waiting").await;
    assert_eq!(waiting["wishes"][0]["state"], "waiting", "{waiting}");
    for round in 0..5 {
        closed(&team).await;
        let listed = team.get("anna", "conversations").await;
        assert_eq!(listed["conversations"].as_array().map(Vec::len), Some(1), "{round}");
    }
    closed(&team).await;
    let spent = team.get("eve", "stats?by=person").await;
    assert_eq!((&spent["groups"][0]["key"], &spent["groups"][0]["requests"]), (&json!("anna"), &json!(2)));
}

#[tokio::test]
async fn conversations_in_use_stay_open() {
    let files = Files::new();
    let team = Team::closing_after(IDLE, files.clone()).await;
    // A request without an answer.
    let mut client = team.house.connect().await;
    let (key, body) = (team.key("bob"), conversation("slow", 1));
    let head = format!("POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-ctx-key: {key}\r\nx-api-key: sk\r\nX-Session-Id: s");
    client.send(format!("{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())).await;
    let mut arrived = Arrived::at(&team.server).await;
    // Live events.
    let mut listener = team.house.connect().await;
    let lines = team.bearer("anna");
    listener.send(format!("GET /control/v1/events HTTP/1.1\r\nHost: x\r\n{lines}\r\n")).await;
    listener.head().await;
    assert_eq!(open_people(&team).await, 3.0);
    let opened = files.opened();
    tokio::time::sleep(IDLE * 4).await;
    assert_eq!(open_people(&team).await, 3.0, "both are in use");
    arrived.peer.send(answer("200 OK", ANSWER)).await;
    client.rest().await;
    drop(listener);
    closed(&team).await;
    assert_eq!(files.opened(), opened);
    let listed = team.get("bob", "conversations").await;
    assert_eq!(listed["conversations"][0]["requests"], 1, "the answer was stored: {listed}");
}
