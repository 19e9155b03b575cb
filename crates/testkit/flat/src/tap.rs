//! Reads answers: one object `{"items": […], "used": {"in": 9, "out": 2}}`, or a stream of items with the counts as its
//! last event.

use ctx_wire::answer::{Answer, ProviderError, Usage};
use ctx_wire::sse;
use ctx_wire::tap::fields::{count, items, pick, text};
use ctx_wire::tap::{ANSWER_LIMIT, AnswerReader};

#[derive(Debug, Default)]
pub(crate) struct Reader {
    items: Vec<Vec<u8>>,
    size: usize,
}

impl Reader {
    /// Takes one object of an answer; false if it is not one.
    fn take(&mut self, object: &str, answer: &mut Answer) -> bool {
        let Some([kind, list, used, error]) = pick(object, ["kind", "items", "used", "error"]) else { return false };
        let said = list.into_iter().flat_map(items).chain(kind.map(|_| object));
        for item in said {
            self.size += item.len();
            if self.size <= ANSWER_LIMIT {
                self.items.push(item.as_bytes().to_vec());
            }
        }
        if let Some([Some(input), Some(output)]) = used.and_then(|used| pick(used, ["in", "out"])) {
            let count = |number| count(number).unwrap_or_default();
            answer.usage = Some(Usage { input: count(input), output: count(output), ..Usage::default() });
            answer.whole_message = true;
        }
        answer.error = error.and_then(text).map(|error| ProviderError::plain(error.into_owned()));
        true
    }
}

impl AnswerReader for Reader {
    fn event(&mut self, event: sse::Event<'_>, answer: &mut Answer) {
        if !self.take(event.data, answer) {
            answer.broken_events += 1;
        }
    }

    fn whole(&mut self, body: &str, answer: &mut Answer) -> bool {
        let is_object = self.take(body, answer);
        answer.reply = self.reply();
        is_object
    }

    fn reply(&self) -> Vec<Vec<u8>> {
        if self.size > ANSWER_LIMIT { Vec::new() } else { self.items.clone() }
    }
}
