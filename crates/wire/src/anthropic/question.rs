//! Questions outside any conversation.

use crate::question::{Question, QuestionAnswer, QuestionCall, QuestionTokens, Questions};
use serde_json::{Value, json};

pub(super) struct MessageQuestions;

impl Questions for MessageQuestions {
    fn ask(&self, question: &Question<'_>) -> QuestionCall {
        let body = json!({
            "model": question.model,
            "max_tokens": question.max_tokens,
            "system": question.system,
            "messages": [{"role": "user", "content": question.user}],
        });
        let headers = &[("anthropic-version", "2023-06-01")];
        QuestionCall { path: "/v1/messages", key: ("x-api-key", ""), headers, body }
    }

    fn answer(&self, answer: &Value) -> Option<QuestionAnswer> {
        let blocks = answer["content"].as_array()?;
        let texts = blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
        let usage = &answer["usage"];
        let inputs = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        let count = |name: &str| usage[name].as_u64().unwrap_or(0);
        let tokens = usage
            .is_object()
            .then(|| QuestionTokens { input: inputs.into_iter().map(count).sum(), output: count("output_tokens") });
        Some(QuestionAnswer { text: texts.collect(), tokens })
    }
}
