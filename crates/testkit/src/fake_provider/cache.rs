//! The provider's prompt cache: what it would have read and written for a request, from the
//! request's own `cache_control` marks. Nothing expires.

use super::binding::is_volatile;
use super::json::{Fields, compact, is_truthy, tokens};
use super::request::{Request, without_mark};
use std::collections::HashSet;

/// Blocks before a mark in which a stored prefix is found.
const LOOK_BACK: usize = 20;

/// Input tokens of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) fresh: u64,
    pub(crate) read: u64,
    pub(crate) written: u64,
}

impl Account {
    pub(crate) fn total(&self) -> u64 {
        self.fresh + self.read + self.written
    }
}

#[derive(Debug, Default)]
pub(crate) struct PromptCache {
    /// What is shorter is not stored.
    least: u64,
    stored: HashSet<blake3::Hash>,
}

/// The request up to and including one block.
struct Prefix {
    hash: blake3::Hash,
    tokens: u64,
}

impl PromptCache {
    pub(crate) fn from_tokens(least: u64) -> PromptCache {
        PromptCache { least, ..PromptCache::default() }
    }

    /// Accounts for a request and stores the prefixes it marks.
    pub(crate) fn account(&mut self, request: &Request<'_>, volatile: &str) -> Account {
        let (prefixes, marks) = prefixes(request, volatile);
        let total = prefixes.last().map_or(0, |prefix| prefix.tokens);
        let end = marks.last().and_then(|mark| prefixes.get(*mark));
        let Some(end) = end.filter(|end| end.tokens >= self.least) else {
            return Account { fresh: total, read: 0, written: 0 };
        };
        let read = marks
            .iter()
            .flat_map(|mark| &prefixes[mark.saturating_sub(LOOK_BACK)..=*mark])
            .filter(|prefix| self.stored.contains(&prefix.hash))
            .map(|prefix| prefix.tokens)
            .max()
            .unwrap_or(0);
        self.stored.extend(marks.iter().map(|mark| prefixes[*mark].hash));
        Account { fresh: total - end.tokens, read, written: end.tokens - read }
    }
}

/// All prefixes in the order the API renders a request, and which of them end at a mark.
fn prefixes(request: &Request<'_>, volatile: &str) -> (Vec<Prefix>, Vec<usize>) {
    let tools = request.loaded_tools().map(|tool| (Some("tool"), tool));
    let system = request.system.iter().map(|block| (Some("system"), block.as_ref()));
    let said = request.messages.iter().flat_map(|message| {
        let blocks = message.blocks.iter();
        blocks.map(|block| (message.role, block.as_ref()))
    });
    let mut hash = blake3::Hasher::new();
    hash.update(compact(&request.body.get("model")).as_bytes());
    let (mut total, mut prefixes, mut marks) = (0, Vec::new(), Vec::new());
    for (role, block) in tools.chain(system).chain(said) {
        let json = compact(&Bare(block));
        total += tokens(&json);
        // A message of role "system" is treated like the top-level system here.
        if !(role == Some("system") && is_volatile(block, volatile)) {
            hash.update(role.unwrap_or_default().as_bytes());
            hash.update(json.as_bytes());
        }
        if is_truthy(block.get("cache_control")) {
            marks.push(prefixes.len());
        }
        prefixes.push(Prefix { hash: hash.finalize(), tokens: total });
    }
    (prefixes, marks)
}

/// A block without its mark, keys in their own order: the cache sees bytes, not meaning.
struct Bare<'a>(&'a Fields);

impl serde::Serialize for Bare<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(without_mark(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn account(cache: &mut PromptCache, body: &Value) -> (u64, u64, u64) {
        let fields = body.as_object().expect("an object");
        let account = cache.account(&Request::read(fields).expect("a request"), "volatile");
        (account.fresh, account.read, account.written)
    }

    /// Four tokens each, marked where asked.
    fn conversation(blocks: usize, marked: &[usize]) -> Value {
        let block = |index: usize| {
            let text = format!("{index:04}");
            if marked.contains(&index) {
                json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
            } else {
                json!({"type": "text", "text": text})
            }
        };
        let blocks: Vec<Value> = (0..blocks).map(block).collect();
        json!({"model": "m", "messages": [{"role": "user", "content": blocks}]})
    }

    #[test]
    fn without_marks_everything_is_fresh() {
        let mut cache = PromptCache::default();
        let body = conversation(3, &[]);
        assert_eq!(account(&mut cache, &body), (21, 0, 0));
        assert_eq!(account(&mut cache, &body), (21, 0, 0));
    }

    #[test]
    fn what_one_request_wrote_the_next_one_reads() {
        let mut cache = PromptCache::default();
        assert_eq!(account(&mut cache, &conversation(3, &[1])), (7, 0, 14));
        assert_eq!(account(&mut cache, &conversation(5, &[4])), (0, 14, 21));
        assert_eq!(account(&mut cache, &conversation(5, &[4])), (0, 35, 0));
    }

    #[test]
    fn a_stored_prefix_is_found_up_to_twenty_blocks_before_a_mark() {
        let mut cache = PromptCache::default();
        account(&mut cache, &conversation(1, &[0]));
        assert_eq!(account(&mut cache, &conversation(21, &[20])), (0, 7, 140));
        let mut cache = PromptCache::default();
        account(&mut cache, &conversation(1, &[0]));
        assert_eq!(account(&mut cache, &conversation(22, &[21])), (0, 0, 154));
    }

    #[test]
    fn a_change_before_the_mark_is_paid_for_again_and_another_model_too() {
        let mut cache = PromptCache::default();
        let mut body = conversation(3, &[2]);
        account(&mut cache, &body);
        body["model"] = json!("other");
        assert_eq!(account(&mut cache, &body), (0, 0, 21));
        body["messages"][0]["content"][0]["text"] = json!("9999");
        assert_eq!(account(&mut cache, &body), (0, 0, 21));
    }

    #[test]
    fn the_string_form_of_a_text_is_the_same_text() {
        let mut cache = PromptCache::default();
        let text = json!([{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]);
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
        account(&mut cache, &body);
        body["messages"] = json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": text},
        ]);
        assert_eq!(account(&mut cache, &body), (0, 6, 6));
    }
}
