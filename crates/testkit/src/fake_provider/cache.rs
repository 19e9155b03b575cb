//! The provider's prompt cache: the tokens read and written for a request, from its `cache_control` breakpoints.
//! Nothing expires.

use super::binding::is_volatile;
use super::json::{Fields, compact, is_truthy, tokens};
use super::request::{Request, without_mark};
use serde_json::json;
use std::collections::HashSet;

/// The look-back of a breakpoint, in blocks.
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
    /// Shorter prefixes are not stored.
    least: u64,
    /// Messages are found only under the same settings: [`manner`].
    heeds_manner: bool,
    stored: HashSet<blake3::Hash>,
}

/// The request up to and including one block.
struct Prefix {
    hash: blake3::Hash,
    tokens: u64,
}

impl PromptCache {
    pub(crate) fn from_tokens(least: u64) -> PromptCache {
        PromptCache { least, ..PromptCache::heeding_manner() }
    }

    pub(crate) fn heeding_manner() -> PromptCache {
        PromptCache { heeds_manner: true, ..PromptCache::default() }
    }

    /// Accounts for a request and stores the prefixes at its breakpoints.
    pub(crate) fn account(&mut self, request: &Request<'_>, volatile: &str) -> Account {
        let manner = if self.heeds_manner { manner(request.body) } else { String::new() };
        let (prefixes, marks) = prefixes(request, volatile, &manner);
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

/// All prefixes in the order in which the API renders a request, and which of them end at a breakpoint.
fn prefixes(request: &Request<'_>, volatile: &str, manner: &str) -> (Vec<Prefix>, Vec<usize>) {
    let tools = request.loaded_tools().map(|tool| (Some("tool"), tool));
    let system = request.system.iter().map(|block| (Some("system"), block.as_ref()));
    let said = request.messages.iter().flat_map(|message| {
        let blocks = message.blocks.iter();
        blocks.map(|block| (message.role, block.as_ref()))
    });
    let around = request.loaded_tools().count() + request.system.len();
    let mut hash = blake3::Hasher::new();
    hash.update(compact(&request.body.get("model")).as_bytes());
    let (mut total, mut prefixes, mut marks) = (0, Vec::new(), Vec::new());
    for (at, (role, block)) in tools.chain(system).chain(said).enumerate() {
        if at == around {
            hash.update(manner.as_bytes());
        }
        let json = compact(&Bare(block));
        total += tokens(&json);
        // A message of role "system" counts like the top-level system here.
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

/// The settings for tool choice and thinking, unless they are the defaults.
fn manner(body: &Fields) -> String {
    let typed = |name: &str, default: &str| {
        let said = body.get(name).filter(|said| **said != json!({"type": default}));
        said.map(|said| format!("{name}{}", compact(said)))
    };
    let effort =
        body.get("output_config").and_then(|output| output["effort"].as_str()).filter(|effort| *effort != "high");
    let all = [typed("tool_choice", "auto"), typed("thinking", "disabled"), effort.map(str::to_owned)];
    all.into_iter().flatten().collect()
}

/// A block without its breakpoint, with its original key order: the cache compares bytes, not meaning.
struct Bare<'a>(&'a Fields);

impl serde::Serialize for Bare<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(without_mark(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn account(cache: &mut PromptCache, body: &Value) -> (u64, u64, u64) {
        let fields = body.as_object().expect("an object");
        let account = cache.account(&Request::read(fields).expect("a request"), "volatile");
        (account.fresh, account.read, account.written)
    }

    /// Four tokens each, with breakpoints where requested.
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
    fn another_tool_choice_finds_no_message() {
        let mut cache = PromptCache::heeding_manner();
        let body = conversation(3, &[2]);
        let with = |choice: &str| {
            let mut body = body.clone();
            body["tool_choice"] = json!({"type": choice});
            body
        };
        assert_eq!(account(&mut cache, &body), (0, 0, 21));
        assert_eq!(account(&mut cache, &with("auto")), (0, 21, 0), "the default");
        assert_eq!(account(&mut cache, &with("any")), (0, 0, 21));
        assert_eq!(account(&mut cache, &with("any")), (0, 21, 0));
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
