//! Answers by their provider ids: a request whose history the provider keeps names the answer that it continues.
//! Not stored.

use crate::threads::lock;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

/// The number of remembered answers.
const MANY: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct AnswerIds(Mutex<Inside>);

#[derive(Debug, Default)]
struct Inside {
    conversations: HashMap<String, String>,
    oldest_first: VecDeque<String>,
}

impl AnswerIds {
    pub fn put(&self, answer: &str, conversation: &str) {
        let mut inside = lock(&self.0);
        if inside.conversations.insert(answer.to_owned(), conversation.to_owned()).is_none() {
            inside.oldest_first.push_back(answer.to_owned());
        }
        if inside.oldest_first.len() > MANY
            && let Some(oldest) = inside.oldest_first.pop_front()
        {
            inside.conversations.remove(&oldest);
        }
    }

    pub fn find(&self, answer: &str) -> Option<String> {
        lock(&self.0).conversations.get(answer).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_answers_are_remembered() {
        let ids = AnswerIds::default();
        for number in 0..=MANY {
            ids.put(&format!("resp_{number}"), "c1");
        }
        assert_eq!((ids.find("resp_0"), ids.find("resp_1").as_deref()), (None, Some("c1")));
    }
}
