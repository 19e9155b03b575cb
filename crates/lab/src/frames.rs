//! A request of a replay, frame by frame: the client's content, the sent content, and the changes of a policy.

use ctx_api::frames::{FrameView, StepView};
use ctx_engine::Refusal;
use ctx_service::Service;
use serde::Serialize;
use std::collections::HashMap;

/// A frame, or a changed step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    pub id: String,
    pub title: String,
    /// Tokens of the client's version.
    pub source: u64,
    /// Tokens as it would have been sent, and as it was sent.
    pub before: u64,
    pub sent: u64,
    /// The frame of a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_of: Option<String>,
}

/// All tokens of a conversation at `before`, and now.
pub fn totals(service: &Service, conversation: &str, before: &str) -> Result<[u64; 2], Refusal> {
    let tokens = |at| service.frames(conversation, false, at).map(|frames| frames.tokens);
    Ok([tokens(Some(before))?, tokens(None)?])
}

/// Every frame of a conversation, each followed by the steps that have changed since `before`.
pub fn rows(service: &Service, conversation: &str, before: &str) -> Result<Vec<Row>, Refusal> {
    let earlier = service.frames(conversation, true, Some(before))?.frames;
    let steps = earlier.iter().flat_map(|frame| frame.step_list.iter().flatten());
    let was: HashMap<&str, u64> = earlier
        .iter()
        .map(|frame| (frame.id.as_str(), frame.tokens))
        .chain(steps.map(|step| (step.id.as_str(), step.tokens)))
        .collect();
    let before = |id: &str, now: u64| was.get(id).copied().unwrap_or(now);
    let mut rows = Vec::new();
    for FrameView { id, title, source_tokens: source, tokens: sent, step_list, .. } in
        service.frames(conversation, true, None)?.frames
    {
        rows.push(Row { before: before(&id, sent), id: id.clone(), title, source, sent, step_of: None });
        for StepView { id: step, title, source_tokens: source, tokens: sent, .. } in step_list.into_iter().flatten() {
            let before = before(&step, sent);
            if before != sent {
                rows.push(Row { id: step, title, source, before, sent, step_of: Some(id.clone()) });
            }
        }
    }
    Ok(rows)
}
