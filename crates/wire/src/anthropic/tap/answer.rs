//! Extracts the tap's facts from the provider's objects.

use crate::answer::{Answer, AppliedEdit, ProviderError, Transformation};
use crate::tap::fields::{count, items, owned, pick, text};

impl Answer {
    /// Learns from a message object (`message_start`, or a whole JSON body), from a `message_delta` event or from the
    /// delta inside it: they share their fields, and later values win.
    pub(super) fn learn(&mut self, object: &str) {
        let Some([id, model, usage, reason, details, management, transformations, diagnostics]) = pick(
            object,
            [
                "id",
                "model",
                "usage",
                "stop_reason",
                "stop_details",
                "context_management",
                "input_transformations",
                "diagnostics",
            ],
        ) else {
            return;
        };
        replace(&mut self.message_id, owned(id));
        replace(&mut self.model, owned(model));
        replace(&mut self.stop_reason, owned(reason));
        replace(&mut self.stop_details, details.map(str::to_owned));
        if let Some(usage) = usage {
            self.learn_usage(usage);
        }
        if let Some([Some(edits)]) = management.and_then(|management| pick(management, ["applied_edits"])) {
            self.applied_edits = items(edits).filter_map(AppliedEdit::read).collect();
        }
        if let Some(transformations) = transformations {
            self.transformations = items(transformations).filter_map(Transformation::read).collect();
        }
        if let Some([Some(reason)]) = diagnostics.and_then(|diagnostics| pick(diagnostics, ["cache_miss_reason"])) {
            // An object that names its kind; older answers gave the bare name.
            let kind = pick(reason, ["type"]).and_then(|[kind]| kind).unwrap_or(reason);
            replace(&mut self.cache_miss_reason, owned(Some(kind)));
        }
    }

    fn learn_usage(&mut self, object: &str) {
        let Some([input, read, write, split, output, details]) = pick(
            object,
            [
                "input_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
                "cache_creation",
                "output_tokens",
                "output_tokens_details",
            ],
        ) else {
            return;
        };
        let [short, long] = split
            .and_then(|split| pick(split, ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"]))
            .unwrap_or_default();
        let [thinking] = details.and_then(|details| pick(details, ["thinking_tokens"])).unwrap_or_default();
        let counts = [input, read, write, short, long, output, thinking].map(|value| value.and_then(count));
        if counts.iter().all(Option::is_none) {
            return;
        }
        let [input, read, write, short, long, output, thinking] = counts;
        let usage = self.usage.get_or_insert_default();
        usage.input = input.unwrap_or(usage.input);
        usage.cache_read = read.unwrap_or(usage.cache_read);
        usage.cache_write = write.unwrap_or(usage.cache_write);
        usage.output = output.unwrap_or(usage.output);
        replace(&mut usage.cache_write_5m, short);
        replace(&mut usage.cache_write_1h, long);
        replace(&mut usage.thinking, thinking);
    }

    /// Learns from the value of an `error` member; false if it contains nothing usable.
    pub(super) fn learn_error(&mut self, error: &str) -> bool {
        let read = match pick(error, ["type", "message", "details"]) {
            Some([kind, message, details]) => {
                let [code] = details.and_then(|details| pick(details, ["error_code"])).unwrap_or_default();
                ProviderError {
                    kind: owned(kind),
                    message: owned(message).unwrap_or_default(),
                    code: owned(code),
                    param: None,
                }
            }
            None => match text(error) {
                Some(message) => ProviderError::plain(message.into_owned()),
                None => return false,
            },
        };
        self.error = Some(read);
        true
    }
}

impl AppliedEdit {
    fn read(object: &str) -> Option<Self> {
        let [kind, tool_uses, turns, tokens] =
            pick(object, ["type", "cleared_tool_uses", "cleared_thinking_turns", "cleared_input_tokens"])?;
        Some(Self {
            kind: owned(kind).unwrap_or_default(),
            cleared_tool_uses: tool_uses.and_then(count),
            cleared_thinking_turns: turns.and_then(count),
            cleared_input_tokens: tokens.and_then(count),
        })
    }
}

impl Transformation {
    fn read(object: &str) -> Option<Self> {
        let [kind, path, reason] = pick(object, ["type", "path", "reason"])?;
        Some(Self { kind: owned(kind).unwrap_or_default(), path: owned(path), reason: owned(reason) })
    }
}

fn replace<T>(known: &mut Option<T>, later: Option<T>) {
    if later.is_some() {
        *known = later;
    }
}
