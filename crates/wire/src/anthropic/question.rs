//! Questions outside any conversation.

use crate::question::{Question, QuestionAnswer, QuestionCall, Questions};
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
        let counts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
        let tokens = usage.is_object().then(|| counts.iter().filter_map(|name| usage[*name].as_u64()).sum());
        Some(QuestionAnswer { text: texts.collect(), tokens })
    }
}
