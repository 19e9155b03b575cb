//! Reads the answers of the Responses API.

use crate::answer::{Answer, Growth, Progress, ProviderError, Usage};
use crate::sse;
use crate::tap::fields::{count, inner, items, owned, pick, text};
use crate::tap::{ANSWER_LIMIT, AnswerReader};
use std::collections::BTreeMap;

pub(super) type Tap = crate::tap::Tap<Reader>;

/// The output items by index, so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    items: BTreeMap<u64, ItemSoFar>,
    size: usize,
}

/// Strings are kept without quotes and still escaped.
#[derive(Debug, Default)]
struct ItemSoFar {
    kind: String,
    name: String,
    text: String,
    thinking: String,
    arguments: String,
    /// The whole item, once it is done.
    done: Option<String>,
}

impl AnswerReader for Reader {
    fn event(&mut self, event: sse::Event<'_>, answer: &mut Answer) {
        if event.data.trim() == "[DONE]" {
            return;
        }
        let names = ["type", "output_index", "delta", "item", "response", "error"];
        let Some([kind, index, delta, item, response, error]) = pick(event.data, names) else {
            answer.broken_events += 1;
            return;
        };
        let kind = kind.and_then(text).unwrap_or_default();
        let index = index.and_then(count).unwrap_or(0);
        match kind.as_ref() {
            "response.completed" | "response.incomplete" | "response.failed" => {
                response.into_iter().for_each(|response| finish(response, answer));
            }
            "error" => answer.error = Some(read_error(error.unwrap_or(event.data))),
            "response.output_item.added" | "response.output_item.done" => {
                self.item(index, item.unwrap_or_default(), kind.ends_with("done"));
            }
            kind if kind.ends_with(".delta") => self.grow(index, kind, delta.and_then(inner).unwrap_or_default()),
            kind if kind.starts_with("response.") => response.into_iter().for_each(|response| learn(response, answer)),
            _ => answer.unknown_events += 1,
        }
    }

    fn whole(&mut self, body: &str, answer: &mut Answer) -> bool {
        let Some([status, output, error]) = pick(body, ["status", "output", "error"]) else { return false };
        if let Some(error) = error.filter(|_| status.is_none()) {
            answer.error = Some(read_error(error));
            return true;
        }
        finish(body, answer);
        for (index, item) in (0..).zip(output.into_iter().flat_map(items)) {
            self.item(index, item, true);
        }
        answer.reply = self.reply();
        true
    }

    /// The items that are done, and the text of a message that is not. Clients send no other unfinished item back.
    fn reply(&self) -> Vec<Vec<u8>> {
        if self.size > ANSWER_LIMIT {
            return Vec::new();
        }
        let item = |item: &ItemSoFar| match &item.done {
            Some(done) => Some(done.clone().into_bytes()),
            None => (item.kind == "message").then(|| {
                let content = format!(r#"[{{"type":"output_text","text":"{}"}}]"#, item.text);
                format!(r#"{{"type":"message","role":"assistant","content":{content}}}"#).into_bytes()
            }),
        };
        self.items.values().filter_map(item).collect()
    }

    fn grown(&self, told: &mut Progress) -> Vec<Growth> {
        let mut grown = Vec::new();
        let mut tell = |block: u64, part: &'static str, at: usize, tool: Option<&str>, all: &str| {
            let known = &mut told.0.entry(block).or_default()[at];
            let new = all.get(*known..).unwrap_or_default();
            if new.is_empty() {
                return;
            }
            *known = all.len();
            let text = crate::json::decode(new.as_bytes()).into_owned();
            grown.push(Growth { block, part, tool: tool.map(str::to_owned), text });
        };
        for (index, item) in &self.items {
            tell(*index, "thinking", 1, None, &item.thinking);
            tell(*index, "text", 0, None, &item.text);
            tell(*index, "tool", 2, Some(&item.name), &item.arguments);
        }
        grown
    }

    fn signatures(_: &[u8]) -> Vec<String> {
        Vec::new()
    }
}

impl Reader {
    /// Takes an item when it begins, and when it is done: only then is it complete (R40).
    fn item(&mut self, index: u64, item: &str, is_done: bool) {
        let Some([kind, name]) = pick(item, ["type", "name"]) else { return };
        self.size += item.len();
        let so_far = self.items.entry(index).or_default();
        so_far.kind = owned(kind).unwrap_or_default();
        so_far.name = owned(name).unwrap_or_else(|| so_far.kind.clone());
        if is_done && self.size <= ANSWER_LIMIT {
            so_far.done = Some(item.to_owned());
        }
    }

    fn grow(&mut self, index: u64, kind: &str, delta: &str) {
        self.size += delta.len();
        if self.size > ANSWER_LIMIT {
            return;
        }
        let item = self.items.entry(index).or_default();
        let part = match kind {
            "response.output_text.delta" | "response.refusal.delta" => &mut item.text,
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => &mut item.thinking,
            _ if kind.contains("arguments") || kind.contains("_input.") || kind.contains("_code.") => {
                &mut item.arguments
            }
            _ => return,
        };
        part.push_str(delta);
    }
}

fn learn(response: &str, answer: &mut Answer) {
    let Some([id, model, usage]) = pick(response, ["id", "model", "usage"]) else { return };
    answer.message_id = owned(id).or(answer.message_id.take());
    answer.model = owned(model).or(answer.model.take());
    answer.usage = usage.and_then(read_usage).or(answer.usage.take());
}

/// Takes the final response. A failed one is an error in an answer with status 200 (R62).
fn finish(response: &str, answer: &mut Answer) {
    learn(response, answer);
    let names = ["status", "error", "incomplete_details"];
    let Some([status, error, details]) = pick(response, names) else { return };
    let status = owned(status);
    let reason = details.and_then(|details| pick(details, ["reason"])).and_then(|[reason]| owned(reason));
    answer.stop_reason = reason.or(status.clone());
    answer.whole_message = matches!(status.as_deref(), Some("completed" | "incomplete"));
    if let Some(error) = error {
        answer.error = Some(read_error(error));
    } else if status.as_deref() == Some("failed") {
        answer.error = Some(ProviderError::plain("the response failed".to_owned()));
    }
}

/// The input's count is the total, including the cached and the written part (R64).
fn read_usage(usage: &str) -> Option<Usage> {
    let names = ["input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details"];
    let [input, output, details, output_details] = pick(usage, names)?;
    let [cached, written] =
        details.and_then(|details| pick(details, ["cached_tokens", "cache_write_tokens"])).unwrap_or_default();
    let [reasoning] = output_details.and_then(|details| pick(details, ["reasoning_tokens"])).unwrap_or_default();
    let number = |value: Option<&str>| value.and_then(count);
    let input = number(input)?;
    let read = number(cached).unwrap_or(0).min(input);
    let written = number(written).unwrap_or(0).min(input - read);
    Some(Usage {
        input: input - read - written,
        cache_read: read,
        cache_write: written,
        output: number(output).unwrap_or(0),
        thinking: number(reasoning),
        ..Usage::default()
    })
}

/// An error, as an object or a plain text.
fn read_error(error: &str) -> ProviderError {
    match pick(error, ["type", "message", "code", "param"]) {
        Some([kind, message, code, param]) => {
            // An event of type `error` names itself, not the kind.
            let kind = owned(kind).filter(|kind| kind != "error");
            ProviderError { kind, message: owned(message).unwrap_or_default(), code: owned(code), param: owned(param) }
        }
        None => ProviderError::plain(text(error).map_or_else(|| error.to_owned(), |words| words.into_owned())),
    }
}
