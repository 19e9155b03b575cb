//! Models of Anthropic and Google on Vertex AI: the model stands in the path, and the upstream is Google's.

use super::{CONTENT, MOMENT, contents, daemon, talk};
use crate::support::house::{ANSWER, conversation};
use serde_json::{Value, json};

const CLAUDE: &str =
    "/v1/projects/p/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict";
const GEMINI: &str = "/v1beta1/projects/p/locations/global/publishers/google/models/gemini-3-pro:generateContent";

/// The body of an Anthropic model on Vertex AI: a version, and no model.
fn claude(questions: usize) -> String {
    let mut body: Value = serde_json::from_str(&conversation("one", questions)).expect("JSON");
    let members = body.as_object_mut().expect("an object");
    members.remove("model");
    members.insert("anthropic_version".to_owned(), "vertex-2023-10-16".into());
    body.to_string()
}

#[tokio::test]
async fn a_conversation_with_claude_on_vertex_is_recorded_and_edited() {
    let (anthropic, google, router) = daemon().await;
    let arrived = talk(&router, &google, (CLAUDE, "one"), &claude(3), ANSWER).await;
    assert_eq!(arrived.text(), claude(3), "untouched bytes");
    assert!(arrived.head.starts_with(&format!("POST {CLAUDE} HTTP/1.1")), "{}", arrived.head);
    let listed = router.get("conversations").await;
    assert!(listed.to_string().contains("claude-sonnet-4-5"), "the model stands in the path: {listed}");
    router.delete_second("one").await;
    let arrived = talk(&router, &google, (CLAUDE, "one"), &claude(4), ANSWER).await;
    assert_eq!(arrived.questions(), ["one question 1", "one question 3", "one question 4"]);
    assert!(arrived.text().contains("vertex-2023-10-16"), "{}", arrived.text());
    assert!(anthropic.stays_alone(MOMENT).await, "Google's credentials go to Google");
}

#[tokio::test]
async fn a_conversation_with_gemini_on_vertex_is_recorded_and_edited() {
    let (anthropic, google, router) = daemon().await;
    assert_eq!(talk(&router, &google, (GEMINI, "two"), &contents(2), CONTENT).await.text(), contents(2));
    router.edit("two", json!([{"op": "drop-results", "ids": ["t1"]}])).await;
    let arrived = talk(&router, &google, (GEMINI, "two"), &contents(3), CONTENT).await;
    assert!(!arrived.text().contains("long output"), "{}", arrived.text());
    assert!(anthropic.stays_alone(MOMENT).await);
}
