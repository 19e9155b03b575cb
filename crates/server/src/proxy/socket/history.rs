//! The history of the answers on one socket: a request may name an answer instead of repeating what was before it.

use std::sync::Arc;

/// The number of answers that a request may continue: clients continue the newest, or the one before if it failed.
const KNOWN: usize = 4;

/// The history up to an answer, as the client knows it.
#[derive(Debug, Default)]
pub(super) struct History {
    before: Option<Arc<History>>,
    /// The elements of the request, without those before, and of its answer.
    items: Vec<String>,
    /// Whether the provider knows the same history: no operation changed it.
    pub(super) is_own: bool,
}

impl History {
    /// The history of a request with these elements.
    pub(super) fn of(before: Option<Arc<History>>, items: &str, is_own: bool) -> History {
        History { before, items: vec![items.to_owned()], is_own }
    }

    pub(super) fn push(&mut self, item: &str) {
        self.items.push(item.to_owned());
    }

    /// All elements, from the beginning.
    pub(super) fn items(&self) -> Vec<&str> {
        let mut chain = vec![self];
        while let Some(before) = chain.last().and_then(|last| last.before.as_deref()) {
            chain.push(before);
        }
        chain.iter().rev().flat_map(|history| history.items.iter().map(String::as_str)).collect()
    }
}

/// The newest answers by id.
#[derive(Debug, Default)]
pub(super) struct Answers(Vec<(Box<str>, Arc<History>)>);

impl Answers {
    pub(super) fn get(&self, id: &str) -> Option<Arc<History>> {
        self.0.iter().rev().find(|(known, _)| **known == *id).map(|(_, history)| history.clone())
    }

    pub(super) fn put(&mut self, id: &str, history: History) {
        if self.0.len() == KNOWN {
            self.0.remove(0);
        }
        self.0.push((id.into(), Arc::new(history)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_continues_those_before_it() {
        let mut answers = Answers::default();
        let mut first = History::of(None, "a,b", true);
        first.push("c");
        answers.put("r1", first);
        let mut second = History::of(answers.get("r1"), "d", false);
        second.push("e");
        answers.put("r2", second);
        let second = answers.get("r2").expect("known");
        assert_eq!((second.items(), second.is_own), (vec!["a,b", "c", "d", "e"], false));
        for number in 3..7 {
            answers.put(&format!("r{number}"), History::of(answers.get("r2"), "x", true));
        }
        assert!(answers.get("r2").is_none() && answers.get("r3").is_some(), "only the newest are known");
    }
}
