//! Bound thinking: each block is valid only after exactly the system, tools and messages it was produced after
//! (A65).

use super::json::{Fields, is_truthy, text};
use super::request::{Request, is_thinking, kind_of, without_mark};
use super::signature::{NONE, Signature, short, sign};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// The beta header value without which `thinking.block_binding` is refused.
pub(crate) const BETA: &str = "thinking-binding-controls-2026-08-01";

/// A running hash of the content before a thinking block: system without the volatile block, tools without unreferenced
/// deferred ones, and every message block except thinking. Breakpoints, key order, message borders and the string form
/// of a text do not count.
#[derive(Debug, Clone)]
pub(crate) struct Prefix {
    hash: blake3::Hasher,
    /// The name of the last thinking block; `None` if its signature is not ours.
    last: Option<String>,
}

impl Prefix {
    pub(crate) fn new<'a>(
        system: impl IntoIterator<Item = &'a Fields>,
        loaded_tools: impl IntoIterator<Item = &'a Fields>,
        volatile: &str,
    ) -> Self {
        let mut prefix = Self { hash: blake3::Hasher::new(), last: Some(NONE.to_owned()) };
        for block in system {
            if !is_volatile(block, volatile) {
                prefix.feed(Some("system"), block);
            }
        }
        for tool in loaded_tools {
            prefix.feed(Some("tool"), tool);
        }
        prefix
    }

    /// Continues after this block.
    pub(crate) fn feed(&mut self, role: Option<&str>, block: &Fields) {
        if is_thinking(block) {
            self.last = signature_of(block).map(|signature| signature.name);
        } else {
            // Writing to a hasher cannot fail.
            let _ = serde_json::to_writer(&mut self.hash, &(role, SortedValue::Bare(block)));
        }
    }

    /// Whether a thinking block is valid here. The first one may follow any other that was omitted before it.
    fn accepts(&self, block: &Fields) -> bool {
        let first = self.last.as_deref() == Some(NONE);
        signature_of(block)
            .is_some_and(|signature| signature.prefix == self.now() && (first || Some(signature.before) == self.last))
    }

    /// Signs a new thinking block at this position, under the given name.
    pub(crate) fn sign(&self, block: &mut Fields, name: &str) {
        let (key, thought) = match kind_of(block) {
            Some("thinking") => ("signature", text(block, "thinking").unwrap_or_default()),
            _ => ("data", "redacted"),
        };
        let before = self.last.as_deref().unwrap_or("None");
        let signature = sign(thought, &self.now(), name, before);
        block.insert(key.into(), signature.into());
    }

    fn now(&self) -> String {
        short(&self.hash.finalize())
    }
}

/// The prefix after the whole request, and the positions (message, block) of the thinking blocks that no longer follow
/// their original conversation. One invalidates all later ones.
pub(crate) fn unbound(request: &Request<'_>, volatile: &str) -> (Prefix, Vec<(usize, usize)>) {
    let mut prefix = Prefix::new(request.system.iter().map(AsRef::as_ref), request.loaded_tools(), volatile);
    let mut bad = Vec::new();
    let mut read: Vec<String> = Vec::new();
    for (i, message) in request.messages.iter().enumerate() {
        for (j, block) in message.blocks.iter().enumerate() {
            if is_thinking(block) && (!bad.is_empty() || !prefix.accepts(block)) {
                bad.push((i, j));
            }
            for name in referred(&Value::Object(block.as_ref().clone())) {
                let later = |tool: &&&Fields| text(tool, "name") == Some(&name) && is_truthy(tool.get("defer_loading"));
                if let Some(tool) = request.tools.iter().find(later).filter(|_| !read.contains(&name)) {
                    prefix.feed(Some("tool"), tool);
                    read.push(name);
                }
            }
            prefix.feed(message.role, block);
        }
    }
    (prefix, bad)
}

/// The tools that a value refers to, at any depth (A61).
fn referred(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) if kind_of(fields) == Some("tool_reference") => {
            ["tool_name", "name"].iter().find_map(|key| text(fields, key)).map(str::to_owned).into_iter().collect()
        }
        Value::Object(fields) => fields.values().flat_map(referred).collect(),
        Value::Array(items) => items.iter().flat_map(referred).collect(),
        _ => Vec::new(),
    }
}

/// A system block that the API removes first, such as the attribution.
pub(crate) fn is_volatile(block: &Fields, volatile: &str) -> bool {
    !volatile.is_empty() && text(block, "text").is_some_and(|text| text.starts_with(volatile))
}

fn signature_of(block: &Fields) -> Option<Signature> {
    let value = ["signature", "data"].iter().filter_map(|key| text(block, key)).find(|value| !value.is_empty())?;
    Signature::read(value)
}

/// A value with sorted keys in all objects.
enum SortedValue<'a> {
    Bare(&'a Fields),
    Any(&'a Value),
}

impl Serialize for SortedValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries: Vec<(&String, &Value)> = match self {
            Self::Bare(fields) => without_mark(fields).collect(),
            Self::Any(Value::Object(fields)) => fields.iter().collect(),
            Self::Any(Value::Array(items)) => {
                return serializer.collect_seq(items.iter().map(SortedValue::Any));
            }
            Self::Any(plain) => return plain.serialize(serializer),
        };
        entries.sort_by_key(|(key, _)| *key);
        let mut map = serializer.serialize_map(Some(entries.len()))?;
        for (key, value) in entries {
            map.serialize_entry(key, &SortedValue::Any(value))?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const VOLATILE: &str = "x-volatile";

    fn places(body: &Value) -> Vec<(usize, usize)> {
        let fields = body.as_object().expect("an object");
        unbound(&Request::read(fields).expect("a request"), VOLATILE).1
    }

    /// A conversation of two replies that begin with thinking, signed as the provider would.
    fn conversation() -> Value {
        let mut body = json!({
            "system": [{"type": "text", "text": "x-volatile 1"}, {"type": "text", "text": "s"}],
            "tools": [{"name": "Read"}, {"name": "Later", "defer_loading": true}],
            "messages": []
        });
        for (user, name) in [("one", "n1"), ("two", "n2")] {
            push(&mut body, json!({"role": "user", "content": user}));
            let mut thinking = json!({"type": "thinking", "thinking": "hm", "signature": ""});
            let fields = body.as_object().expect("an object");
            let (prefix, _) = unbound(&Request::read(fields).expect("a request"), VOLATILE);
            prefix.sign(thinking.as_object_mut().expect("an object"), name);
            let content = json!([thinking, {"type": "text", "text": "answer"}]);
            push(&mut body, json!({"role": "assistant", "content": content}));
        }
        push(&mut body, json!({"role": "user", "content": "three"}));
        body
    }

    fn push(body: &mut Value, message: Value) {
        let messages = body["messages"].as_array_mut().expect("a list");
        messages.push(message);
    }

    #[test]
    fn an_untouched_conversation_keeps_its_thinking() {
        assert_eq!(places(&conversation()), []);
    }

    #[test]
    fn what_is_not_part_of_the_prefix_may_change() {
        let mut body = conversation();
        body["messages"][0]["content"] =
            json!([{"cache_control": {"type": "ephemeral"}, "text": "one", "type": "text"}]);
        body["system"][0]["text"] = json!("x-volatile 2");
        body["tools"][1]["name"] = json!("Other");
        assert_eq!(places(&body), []);
    }

    #[test]
    fn a_change_spoils_all_thinking_after_it() {
        for (pointer, bad) in [
            ("/system/1/text", vec![(1, 0), (3, 0)]),
            ("/tools/0/name", vec![(1, 0), (3, 0)]),
            ("/messages/0/content", vec![(1, 0), (3, 0)]),
            ("/messages/1/content/1/text", vec![(3, 0)]),
            ("/messages/4/content", vec![]),
        ] {
            let mut body = conversation();
            *body.pointer_mut(pointer).expect("a place") = json!("changed");
            assert_eq!(places(&body), bad, "{pointer}");
        }
    }

    #[test]
    fn the_oldest_thinking_may_be_left_out_but_no_gap() {
        let mut body = conversation();
        let first = body["messages"][1]["content"].as_array_mut();
        first.expect("a list").remove(0);
        assert_eq!(places(&body), []);

        let mut long = conversation();
        for name in ["n3", "n4"] {
            let mut thinking = json!({"type": "redacted_thinking", "data": ""});
            let fields = long.as_object().expect("an object");
            let (prefix, _) = unbound(&Request::read(fields).expect("a request"), VOLATILE);
            prefix.sign(thinking.as_object_mut().expect("an object"), name);
            push(&mut long, json!({"role": "assistant", "content": [thinking]}));
        }
        assert_eq!(places(&long), []);
        let middle = long["messages"][3]["content"].as_array_mut();
        middle.expect("a list").remove(0);
        // The last one follows its original prefix, but the one before invalidates it.
        assert_eq!(places(&long), [(5, 0), (6, 0)]);
    }
}
