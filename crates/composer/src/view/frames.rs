//! The frames of a conversation, with their steps if wanted.

use super::Refusal;
use crate::Composer;
use crate::conversation::Conversation;
use crate::directory::lock;
use ctx_core::frames::{self, Border, Frame};
use ctx_core::message::Message;
use ctx_core::tokens;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    pub conversation: String,
    pub model: Option<String>,
    /// Whether the provider has confirmed the scale of the token figures.
    pub calibrated: bool,
    pub tokens: u64,
    /// The model's context window, where it is known.
    pub window: Option<u64>,
    pub frames: Vec<FrameView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameView {
    pub id: String,
    pub kind: String,
    pub title: String,
    pub tokens: u64,
    /// Tokens of what the client sent; differs from `tokens` where an operation is active.
    pub source_tokens: u64,
    pub messages: usize,
    pub steps: usize,
    pub state: Vec<String>,
    pub pinned: bool,
    /// The end of it is a reply that the client has not sent back yet.
    pub pending: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_list: Option<Vec<StepView>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepView {
    pub id: String,
    pub title: String,
    pub tokens: u64,
    pub messages: usize,
    pub tools: Vec<String>,
}

impl Composer {
    pub fn frames(&self, name: &str, with_steps: bool) -> Result<Frames, Refusal> {
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        Ok(of(&conversation, with_steps))
    }
}

fn of(conversation: &Conversation, with_steps: bool) -> Frames {
    let path = conversation.path();
    let turns = frames::frames(&path);
    let scale = |estimate: f64| conversation.calibration.tokens(estimate);
    let mut views = around(conversation);
    let last = turns.len();
    for (number, frame) in (1..).zip(&turns) {
        let tokens = scale(weight(&path, frame.start, frame.end));
        views.push(FrameView {
            id: format!("t{number}"),
            kind: "turn".into(),
            title: frames::title(&path, frame),
            tokens,
            source_tokens: tokens,
            messages: frames::parts(&path, frame.start, frame.end).len(),
            steps: frame.steps.len(),
            state: Vec::new(),
            pinned: false,
            pending: conversation.pending.is_some() && number == last,
            step_list: with_steps.then(|| steps(conversation, &path, number, frame)),
        });
    }
    Frames {
        conversation: conversation.id.clone(),
        model: conversation.envelope.model.as_deref().map(str::to_owned),
        calibrated: conversation.calibration.is_calibrated(),
        tokens: views.iter().map(|view| view.tokens).sum(),
        window: None,
        frames: views,
    }
}

/// The system prompt and the tools: frames like any other.
fn around(conversation: &Conversation) -> Vec<FrameView> {
    let envelope = &conversation.envelope;
    let frame = |id: &str, title: String, pieces: usize, estimate: f64| {
        let tokens = conversation.calibration.tokens(estimate);
        FrameView {
            id: id.into(),
            kind: id.into(),
            title,
            tokens,
            source_tokens: tokens,
            messages: pieces,
            steps: 0,
            state: Vec::new(),
            pinned: false,
            pending: false,
            step_list: None,
        }
    };
    let mut views = Vec::new();
    if !envelope.system.is_empty() {
        let estimate = envelope.system.iter().map(|block| tokens::estimate(block.chars, 0)).sum();
        views.push(frame(
            "system",
            format!("System prompt, {}", plural(envelope.system.len(), "block")),
            envelope.system.len(),
            estimate,
        ));
    }
    if let Some(tools) = envelope.tools.as_ref().filter(|tools| !tools.is_empty()) {
        let estimate = tools.iter().filter(|tool| !tool.deferred).map(|tool| tokens::estimate(tool.chars, 0)).sum();
        let mut names: Vec<&str> = tools.iter().map(|tool| &*tool.name).take(4).collect();
        if tools.len() > names.len() {
            names.push("…");
        }
        views.push(frame(
            "tools",
            format!("{}: {}", plural(tools.len(), "tool"), names.join(", ")),
            tools.len(),
            estimate,
        ));
    }
    views
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

fn steps(conversation: &Conversation, path: &[&Message], turn: usize, frame: &Frame) -> Vec<StepView> {
    let view = |(number, step): (usize, &frames::Step)| StepView {
        id: format!("t{turn}/{number}"),
        title: frames::step_title(path, step),
        tokens: conversation.calibration.tokens(weight(path, step.start, step.end)),
        messages: frames::parts(path, step.start, step.end).len(),
        tools: frames::step_tools(path, step),
    };
    (1..).zip(&frame.steps).map(view).collect()
}

/// The estimate for what lies between two borders.
pub(super) fn weight(path: &[&Message], start: Border, end: Border) -> f64 {
    let parts = frames::parts(path, start, end);
    parts
        .into_iter()
        .flat_map(|part| path[part.message].blocks.get(part.blocks).unwrap_or_default())
        .map(tokens::of_block)
        .sum()
}
