//! Questions outside any conversation.

use crate::question::{Question, QuestionAnswer, QuestionCall, QuestionTokens, Questions};
use serde_json::{Value, json};

pub(super) struct ChatQuestions;

impl Questions for ChatQuestions {
    fn ask(&self, question: &Question<'_>) -> QuestionCall {
        let body = json!({
            "model": question.model,
            "max_tokens": question.max_tokens,
            "stream": false,
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.user},
            ],
        });
        QuestionCall { path: "/v1/chat/completions", key: ("authorization", "Bearer "), headers: &[], body }
    }

    fn answer(&self, answer: &Value) -> Option<QuestionAnswer> {
        let text = answer["choices"][0]["message"]["content"].as_str()?;
        // Models that think aloud put the text after that.
        let text = text.rsplit_once("</think>").map_or(text, |(_, words)| words);
        let count = |name: &str| answer["usage"][name].as_u64();
        let output = count("completion_tokens").unwrap_or(0);
        let input = |total: u64| total.saturating_sub(output);
        let tokens = count("total_tokens").map(|total| QuestionTokens { input: input(total), output });
        Some(QuestionAnswer { text: text.to_owned(), tokens })
    }
}
