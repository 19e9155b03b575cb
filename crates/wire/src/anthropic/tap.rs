//! Reads the answers of the Messages API.

mod answer;
mod reply;

use crate::answer::{Answer, Growth, Progress};
use crate::sse;
use crate::tap::fields::{pick, text};
use crate::tap::{ANSWER_LIMIT, AnswerReader};
use reply::Reply;

pub(super) type Tap = crate::tap::Tap<Reader>;

#[derive(Debug)]
pub(super) struct Reader {
    started: bool,
    reply: Reply,
}

impl Default for Reader {
    fn default() -> Self {
        Self { started: false, reply: Reply::new(ANSWER_LIMIT) }
    }
}

impl AnswerReader for Reader {
    fn event(&mut self, event: sse::Event<'_>, answer: &mut Answer) {
        let Some([kind, index, delta, block, message, error]) =
            pick(event.data, ["type", "index", "delta", "content_block", "message", "error"])
        else {
            answer.broken_events += 1;
            return;
        };
        let kind = kind.and_then(text).unwrap_or(event.name.into());
        let used = match &*kind {
            "content_block_delta" => self.reply.apply(index, delta).is_ok(),
            "content_block_start" => self.reply.start_block(index, block).is_ok(),
            "content_block_stop" | "ping" => true,
            "message_start" => {
                self.started = true;
                self.reply = Reply::new(ANSWER_LIMIT);
                message.map(|message| answer.learn(message)).is_some()
            }
            "message_delta" => {
                answer.learn(event.data);
                delta.map(|delta| answer.learn(delta)).is_some()
            }
            "message_stop" => {
                answer.whole_message = true;
                true
            }
            "error" => error.is_some_and(|error| answer.learn_error(error)),
            _ => false,
        };
        answer.unknown_events += u64::from(!used);
    }

    fn whole(&mut self, body: &str, answer: &mut Answer) -> bool {
        let Some([error, content]) = pick(body, ["error", "content"]) else { return false };
        answer.learn(body);
        error.map(|error| answer.learn_error(error));
        answer.reply =
            content.filter(|content| content.starts_with('[')).and_then(reply::message).into_iter().collect();
        answer.whole_message = !answer.reply.is_empty();
        true
    }

    fn reply(&self) -> Vec<Vec<u8>> {
        if self.started { self.reply.message().into_iter().collect() } else { Vec::new() }
    }

    fn grown(&self, told: &mut Progress) -> Vec<Growth> {
        if self.started { self.reply.grown(told) } else { Vec::new() }
    }

    fn signatures(message: &[u8]) -> Vec<String> {
        reply::signatures(message)
    }
}

#[cfg(test)]
mod tests;
