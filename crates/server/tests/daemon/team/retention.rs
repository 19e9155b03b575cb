//! Old conversations go, their figures stay.

use std::time::{Duration, Instant};

use super::scene::Team;
use crate::support::house::{Router, conversation};
use crate::support::raw::RawServer;
use ctx_server::RetentionSettings;
use ctx_service::Retention;
use serde_json::json;

const OFTEN: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(20);

fn after(content: u64, edited: bool) -> RetentionSettings {
    RetentionSettings { rules: Retention { content, figures: None, edited }, every: OFTEN }
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < deadline, "still waiting: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn old_conversations_of_everyone_go_with_an_audit_entry_and_their_figures_stay() {
    let team = Team::retaining(after(1_500, false)).await;
    for name in ["anna", "bob"] {
        team.talk(name, "theirs", &conversation("zebra", 2)).await;
    }
    let annas = team.get("anna", "conversations").await["conversations"][0]["id"].as_str().expect("an id").to_owned();
    team.post("anna", &format!("conversations/{annas}/share"), &json!({"person": "carl"})).await;
    let before = team.get("eve", "stats?by=person").await;
    let list = async |name: &str| team.get(name, "conversations").await["conversations"].as_array().map(Vec::len);
    assert_eq!(list("anna").await, Some(1), "it is in use");
    until("they expire", async || list("anna").await == Some(0) && list("bob").await == Some(0)).await;
    assert!(!team.stored().contains("zebra"), "no content is left");
    let after = team.get("eve", "stats?by=person").await;
    assert_eq!((&after["groups"], &after["total"]), (&before["groups"], &before["total"]));
    until("the audit log has it", async || {
        let audit = team.get("eve", "audit").await.to_string();
        audit.contains("expired 1 of anna") && audit.contains("expired 1 of bob")
    })
    .await;
    assert_eq!(team.get("anna", "shares").await["shares"], json!([]), "the share ends with its conversation");
    let (_, text) = team.call(&team.bearer("eve"), "GET", "metrics", "").await;
    assert!(
        text.contains("\nctx_retention_removed_total 2\n") && text.contains("\nctx_retention_remaining 0\n"),
        "{text}"
    );
}

#[tokio::test]
async fn an_edited_conversation_stays_unless_that_is_set() {
    let server = RawServer::open().await;
    let upstream = format!("http://{}", server.address);
    for (edited, left) in [(false, 1), (true, 0)] {
        let house = Router::with(&upstream, |config| config.retention = Some(after(1_000, edited))).await;
        house.talk(&server, "plain", &conversation("plain", 2)).await;
        house.talk(&server, "edited", &conversation("edited", 3)).await;
        house.delete_second("edited").await;
        let list = async || house.get("conversations").await["conversations"].as_array().map(Vec::len);
        until("the others expire", async || list().await == Some(left)).await;
        tokio::time::sleep(OFTEN * 4).await;
        assert_eq!(list().await, Some(left));
        let purged = house.post("purge", &json!({"all": true})).await;
        assert_eq!(purged["residue"], "", "memory keeps nothing");
    }
}
