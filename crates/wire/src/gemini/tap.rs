//! Reads the answers of the Gemini API: events, a list of the same objects, or one object.

use super::part::{Data, Part};
use crate::answer::{Answer, Growth, Progress, ProviderError, Usage};
use crate::json;
use crate::sse;
use crate::tap::fields::{count, inner, items, owned, pick};
use crate::tap::{ANSWER_LIMIT, AnswerReader};

pub(super) type Tap = crate::tap::Tap<Reader>;

/// The content of the first candidate so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    started: bool,
    parts: Vec<PartSoFar>,
    size: usize,
}

/// A part, or a text in progress. Strings are kept without quotes and still escaped.
#[derive(Debug)]
enum PartSoFar {
    Text { text: String, is_thought: bool, signature: Option<String> },
    Whole { json: String, tool: Option<String> },
}

impl AnswerReader for Reader {
    const STREAMS_LISTS: bool = true;

    fn event(&mut self, event: sse::Event<'_>, answer: &mut Answer) {
        if !self.take(event.data, answer) {
            answer.broken_events += 1;
        }
    }

    fn whole(&mut self, body: &str, answer: &mut Answer) -> bool {
        let is_list = body.trim_start().starts_with('[');
        let all: Vec<&str> = if is_list { items(body.trim_start()).collect() } else { vec![body] };
        let taken = all.iter().filter(|object| self.take(object, answer)).count();
        answer.reply = self.reply();
        answer.whole_message |= !is_list && !answer.reply.is_empty();
        taken > 0
    }

    fn reply(&self) -> Vec<Vec<u8>> {
        if !self.started || self.size > ANSWER_LIMIT {
            return Vec::new();
        }
        let parts: Vec<String> = self.parts.iter().map(PartSoFar::json).collect();
        vec![format!(r#"{{"role":"model","parts":[{}]}}"#, parts.join(",")).into_bytes()]
    }

    fn grown(&self, told: &mut Progress) -> Vec<Growth> {
        let mut grown = Vec::new();
        for (block, part) in (0..).zip(&self.parts) {
            let (at, name, tool, all) = match part {
                PartSoFar::Text { text, is_thought: false, .. } => (0, "text", None, text),
                PartSoFar::Text { text, .. } => (1, "thinking", None, text),
                PartSoFar::Whole { json, tool: Some(tool) } => (2, "tool", Some(tool.clone()), json),
                PartSoFar::Whole { tool: None, .. } => continue,
            };
            let known = &mut told.0.entry(block).or_default()[at];
            let new = all.get(*known..).unwrap_or_default();
            if new.is_empty() {
                continue;
            }
            *known = all.len();
            let text = match tool {
                Some(_) => arguments(new).to_owned(),
                None => json::decode(new.as_bytes()).into_owned(),
            };
            grown.push(Growth { block, part: name, tool, text });
        }
        grown
    }
}

/// The arguments of a call.
fn arguments(part: &str) -> &str {
    let read = Part::read(part.as_bytes(), &(0..part.len()));
    read.member(part.as_bytes(), "args").and_then(|args| part.get(args)).unwrap_or("{}")
}

impl PartSoFar {
    fn json(&self) -> String {
        match self {
            PartSoFar::Whole { json, .. } => json.clone(),
            PartSoFar::Text { text, is_thought, signature } => {
                let thought = if *is_thought { r#","thought":true"# } else { "" };
                let signature =
                    signature.as_ref().map_or(String::new(), |value| format!(r#","thoughtSignature":"{value}""#));
                format!(r#"{{"text":"{text}"{thought}{signature}}}"#)
            }
        }
    }
}

impl Reader {
    /// Takes one object of an answer; false if it is not one.
    fn take(&mut self, object: &str, answer: &mut Answer) -> bool {
        let names =
            ["candidates", "error", "usageMetadata", "modelVersion", "responseId", "promptFeedback", "response"];
        let Some([candidates, error, usage, model, id, feedback, response]) = pick(object, names) else { return false };
        // A wrapped request has a wrapped answer (G41).
        if let Some(response) = response.filter(|_| candidates.is_none()) {
            return self.take(response, answer);
        }
        answer.message_id = owned(id).or(answer.message_id.take());
        answer.model = owned(model).or(answer.model.take());
        answer.usage = usage.and_then(read_usage).or(answer.usage.take());
        if let Some(error) = error {
            answer.error = Some(read_error(error));
        }
        let blocked = feedback.and_then(|feedback| pick(feedback, ["blockReason"])).and_then(|[reason]| owned(reason));
        if let Some(reason) = blocked {
            answer.stop_reason = Some(reason);
            answer.whole_message = true;
        }
        let candidate = candidates.and_then(|candidates| items(candidates).next());
        let Some([content, finish]) = candidate.and_then(|candidate| pick(candidate, ["content", "finishReason"]))
        else {
            return true;
        };
        self.started = true;
        if let Some(finish) = owned(finish) {
            answer.stop_reason = Some(finish);
            answer.whole_message = true;
        }
        let parts = content.and_then(|content| pick(content, ["parts"])).and_then(|[parts]| parts);
        parts.into_iter().flat_map(items).for_each(|part| self.grow(part));
        true
    }

    fn grow(&mut self, part: &str) {
        self.size += part.len();
        if self.size > ANSWER_LIMIT {
            return;
        }
        let read = Part::read(part.as_bytes(), &(0..part.len()));
        if read.data() != Some(Data::Text) || !read.is_plain(part.as_bytes()) {
            let tool = (read.data() == Some(Data::Call)).then(|| read.text(part.as_bytes(), "name")).flatten();
            let tool = tool.map(|name| name.into_owned());
            return self.parts.push(PartSoFar::Whole { json: part.to_owned(), tool });
        }
        let new = part.get(read.value()).and_then(inner).unwrap_or_default();
        let [camel, snake] = pick(part, ["thoughtSignature", "thought_signature"]).unwrap_or_default();
        let sealed = camel.or(snake).and_then(inner).map(str::to_owned);
        match self.parts.last_mut() {
            Some(PartSoFar::Text { text, is_thought, signature: signature @ None })
                if *is_thought == read.is_thought =>
            {
                text.push_str(new);
                *signature = sealed;
            }
            _ => self.parts.push(PartSoFar::Text {
                text: new.to_owned(),
                is_thought: read.is_thought,
                signature: sealed,
            }),
        }
    }
}

/// The prompt's count is the total, including the cached part. Thoughts are counted beside the answer (G43).
fn read_usage(usage: &str) -> Option<Usage> {
    let names = [
        "promptTokenCount",
        "cachedContentTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "toolUsePromptTokenCount",
    ];
    let [prompt, cached, candidates, thoughts, tools] = pick(usage, names)?.map(|value| value.and_then(count));
    let prompt = prompt?;
    let read = cached.unwrap_or(0).min(prompt);
    Some(Usage {
        input: prompt - read + tools.unwrap_or(0),
        cache_read: read,
        output: candidates.unwrap_or(0) + thoughts.unwrap_or(0),
        thinking: thoughts,
        ..Usage::default()
    })
}

fn read_error(error: &str) -> ProviderError {
    let [status, message, code, details] = pick(error, ["status", "message", "code", "details"]).unwrap_or_default();
    // The violated fields stand in the details.
    let field = details.into_iter().flat_map(items).find_map(|detail| {
        let [violations] = pick(detail, ["fieldViolations"])?;
        let [field] = pick(items(violations?).next()?, ["field"])?;
        owned(field)
    });
    ProviderError {
        kind: owned(status),
        message: owned(message).unwrap_or_else(|| error.to_owned()),
        code: code.map(str::to_owned),
        param: field,
    }
}
