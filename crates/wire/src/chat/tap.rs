//! Reads the answers of the Chat Completions API.

use crate::answer::{Answer, Growth, Progress, ProviderError, Usage};
use crate::sse;
use crate::tap::fields::{count, inner, items, owned, pick, text};
use crate::tap::{ANSWER_LIMIT, AnswerReader};
use std::borrow::Cow;
use std::collections::BTreeMap;

pub(super) type Tap = crate::tap::Tap<Reader>;

/// The message of the first choice so far. Strings are kept without quotes and still escaped.
#[derive(Debug, Default)]
pub(super) struct Reader {
    started: bool,
    content: String,
    reasoning: String,
    calls: BTreeMap<u64, CallSoFar>,
    size: usize,
}

#[derive(Debug, Default)]
struct CallSoFar {
    id: String,
    name: String,
    arguments: String,
}

impl AnswerReader for Reader {
    fn event(&mut self, event: sse::Event<'_>, answer: &mut Answer) {
        if event.data.trim() == "[DONE]" {
            return;
        }
        let Some([choices, error]) = pick(event.data, ["choices", "error"]) else {
            answer.broken_events += 1;
            return;
        };
        learn(event.data, answer);
        if let Some(error) = error {
            answer.error = Some(read_error(error));
        }
        let Some(choice) = choices.and_then(|choices| items(choices).next()) else { return };
        let Some([index, delta, finish]) = pick(choice, ["index", "delta", "finish_reason"]) else { return };
        // Further choices are alternatives that no client sends back.
        if index.and_then(count).is_some_and(|index| index > 0) {
            return;
        }
        self.started = true;
        if let Some(delta) = delta {
            self.grow(delta);
        }
        if let Some(finish) = owned(finish) {
            if finish == "error" {
                answer.error.get_or_insert_with(|| ProviderError::plain("the answer ended with an error".to_owned()));
            } else {
                answer.whole_message = true;
            }
            answer.stop_reason = Some(finish);
        }
    }

    fn whole(&mut self, body: &str, answer: &mut Answer) -> bool {
        let Some([choices, error, message]) = pick(body, ["choices", "error", "message"]) else { return false };
        learn(body, answer);
        match (error, message) {
            (Some(error), _) => answer.error = Some(read_error(error)),
            // Mistral's errors are flat (C44).
            (None, Some(_)) if answer.status >= 400 => {
                answer.error = Some(read_error(body));
            }
            _ => {}
        }
        if let Some([message, finish]) = choices
            .and_then(|choices| items(choices).next())
            .and_then(|choice| pick(choice, ["message", "finish_reason"]))
        {
            answer.stop_reason = owned(finish);
            answer.reply = message.map(|message| message.as_bytes().to_vec()).into_iter().collect();
            answer.whole_message = !answer.reply.is_empty();
        }
        true
    }

    fn reply(&self) -> Vec<Vec<u8>> {
        if !self.started || self.size > ANSWER_LIMIT {
            return Vec::new();
        }
        let content = match (self.content.is_empty(), self.calls.is_empty()) {
            (true, false) => "null".to_owned(),
            _ => format!("\"{}\"", self.content),
        };
        let mut reply = format!(r#"{{"role":"assistant","content":{content}"#);
        if !self.reasoning.is_empty() {
            reply.push_str(&format!(r#","reasoning_content":"{}""#, self.reasoning));
        }
        if !self.calls.is_empty() {
            let call = |call: &CallSoFar| {
                format!(
                    r#"{{"id":"{}","type":"function","function":{{"name":"{}","arguments":"{}"}}}}"#,
                    call.id, call.name, call.arguments
                )
            };
            let calls: Vec<String> = self.calls.values().map(call).collect();
            reply.push_str(&format!(r#","tool_calls":[{}]"#, calls.join(",")));
        }
        reply.push('}');
        vec![reply.into_bytes()]
    }

    fn grown(&self, told: &mut Progress) -> Vec<Growth> {
        let mut grown = Vec::new();
        let mut tell = |block: u64, part: &'static str, at: usize, tool: Option<&str>, all: &str| {
            let known = &mut told.0.entry(block).or_default()[at];
            let new = all.get(*known..).unwrap_or_default();
            // An escape is reported as a whole.
            if new.is_empty() || new.ends_with('\\') {
                return;
            }
            *known = all.len();
            let text = crate::json::decode(new.as_bytes()).into_owned();
            grown.push(Growth { block, part, tool: tool.map(str::to_owned), text });
        };
        tell(0, "thinking", 1, None, &self.reasoning);
        tell(1, "text", 0, None, &self.content);
        for (index, call) in &self.calls {
            tell(index.saturating_add(2), "tool", 2, Some(&call.name), &call.arguments);
        }
        grown
    }
}

impl Reader {
    fn grow(&mut self, delta: &str) {
        self.size += delta.len();
        if self.size > ANSWER_LIMIT {
            return;
        }
        let names = ["content", "reasoning_content", "reasoning", "tool_calls"];
        let Some([content, reasoning_content, reasoning, calls]) = pick(delta, names) else { return };
        self.content.push_str(content.and_then(inner).unwrap_or_default());
        let thought = reasoning_content.and_then(inner).or(reasoning.and_then(inner));
        self.reasoning.push_str(thought.unwrap_or_default());
        for (place, call) in calls.into_iter().flat_map(items).enumerate() {
            let Some([index, id, function]) = pick(call, ["index", "id", "function"]) else { continue };
            let index = index.and_then(count).unwrap_or(place as u64);
            let [name, arguments] =
                function.and_then(|function| pick(function, ["name", "arguments"])).unwrap_or_default();
            let call = self.calls.entry(index).or_default();
            call.id.push_str(id.and_then(inner).filter(|_| call.id.is_empty()).unwrap_or_default());
            call.name.push_str(name.and_then(inner).filter(|_| call.name.is_empty()).unwrap_or_default());
            call.arguments.push_str(arguments.and_then(inner).unwrap_or_default());
        }
    }
}

/// Learns from a chunk or a whole answer: they share their fields, and later values win.
fn learn(object: &str, answer: &mut Answer) {
    let Some([id, model, usage, groq]) = pick(object, ["id", "model", "usage", "x_groq"]) else { return };
    answer.message_id = owned(id).or(answer.message_id.take());
    answer.model = owned(model).or(answer.model.take());
    let usage = usage.or_else(|| groq.and_then(|groq| pick(groq, ["usage"])).and_then(|[usage]| usage));
    if let Some(usage) = usage.and_then(read_usage) {
        answer.usage = Some(usage);
    }
}

/// The prompt's count is the total, including the cached part (C41).
fn read_usage(usage: &str) -> Option<Usage> {
    let names = [
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details",
        "completion_tokens_details",
        "prompt_cache_hit_tokens",
        "cached_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ];
    let [prompt, output, details, output_details, hit, cached, read, created] = pick(usage, names)?;
    // Servers with explicit breakpoints report written tokens under several names (C40).
    let names = ["cached_tokens", "cache_write_tokens", "cache_creation_input_tokens", "cache_creation_tokens"];
    let [inside, written, creation, creation_tokens] =
        details.and_then(|details| pick(details, names)).unwrap_or_default();
    let [reasoning] = output_details.and_then(|details| pick(details, ["reasoning_tokens"])).unwrap_or_default();
    let number = |value: Option<&str>| value.and_then(count);
    let prompt = number(prompt)?;
    let first = |values: &[Option<&str>]| values.iter().find_map(|value| number(*value)).unwrap_or(0);
    let read = first(&[inside, hit, cached, read]).min(prompt);
    let written = first(&[written, creation, creation_tokens, created]).min(prompt - read);
    Some(Usage {
        input: prompt - read - written,
        cache_read: read,
        cache_write: written,
        output: number(output).unwrap_or(0),
        thinking: number(reasoning),
        ..Usage::default()
    })
}

/// An error, as an object or a plain text.
fn read_error(error: &str) -> ProviderError {
    let Some([kind, message, code, param, metadata]) = pick(error, ["type", "message", "code", "param", "metadata"])
    else {
        return ProviderError::plain(text(error).map_or_else(|| error.to_owned(), |words| words.into_owned()));
    };
    let scalar = |value: Option<&str>| value.map(|value| text(value).map_or_else(|| value.to_owned(), Cow::into_owned));
    let mut message = scalar(message).unwrap_or_default();
    // A router repeats the words of the server behind it (C44).
    if let Some(raw) = metadata.and_then(|metadata| pick(metadata, ["raw"])).and_then(|[raw]| owned(raw)) {
        message = format!("{message}: {raw}");
    }
    ProviderError { kind: owned(kind), message, code: scalar(code), param: owned(param) }
}
