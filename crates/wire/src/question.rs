//! One question to a model, outside any conversation.

use serde_json::Value;

#[derive(Debug, Clone, Copy)]
pub struct Question<'q> {
    pub model: &'q str,
    pub system: &'q str,
    pub user: &'q str,
    pub max_tokens: u32,
}

/// The call that asks a question.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionCall {
    pub path: &'static str,
    /// The header of the key, and the text before the key.
    pub key: (&'static str, &'static str),
    pub headers: &'static [(&'static str, &'static str)],
    pub body: Value,
}

/// The text of an answer, and its tokens if reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionAnswer {
    pub text: String,
    pub tokens: Option<QuestionTokens>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuestionTokens {
    pub input: u64,
    pub output: u64,
}

/// The format of questions on a wire.
pub trait Questions: Sync {
    fn ask(&self, question: &Question<'_>) -> QuestionCall;

    /// Reads an answer; `None` if it has no content.
    fn answer(&self, answer: &Value) -> Option<QuestionAnswer>;
}
