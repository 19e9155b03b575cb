//! Every key of `ctx.toml`: what it may be, what holds without it, what it is for. `ctx config` explains with it, and
//! editors are given it as a JSON Schema. In a name `*` stands for one that the user chooses.

use std::ops::RangeInclusive;

use ctx_core::automatic::{Mode, Target};
use ctx_server::helper::Provider;
use serde_json::{Value, json};

use super::context_editing::layer::{PERCENT, TOKENS, TURNS};
use super::context_editing::provider::{LEAST_COMPACT, MOST_ITEMS, MOST_TOKENS};
use super::{DEFAULT_LISTEN, DEFAULT_UPSTREAM};

pub struct Key {
    pub name: String,
    pub shape: Shape,
    /// `Null`: nothing holds without it.
    pub default: Value,
    /// As it could stand in a file.
    pub example: Value,
    pub about: &'static str,
}

pub enum Shape {
    Text,
    Switch,
    Whole(RangeInclusive<u64>),
    /// With or without a fraction.
    Amount(f64, f64),
    Texts,
    OneOf(Vec<&'static str>),
    SomeOf(Vec<&'static str>),
    /// Tokens, a share, or a number of calls.
    Trigger(u64, bool),
    /// `"all"`, or a number.
    Keep,
    /// A switch, or a list of tools.
    Inputs,
}

impl Key {
    /// The value may hold a password.
    pub fn hides(&self, value: &Value) -> bool {
        match self.name.as_str() {
            "upstream.proxy" | "upstream.*.proxy" | "context_editing.webhook" => !value.is_null(),
            name if name.ends_with("url") => value.as_str().is_some_and(|url| url.contains('@')),
            _ => false,
        }
    }
}

const MANY: RangeInclusive<u64> = 0..=u64::MAX;
pub const PROVIDER: &str = "context_editing.provider";

pub fn all() -> Vec<Key> {
    let mut keys = own_editing();
    keys.extend(provider(PROVIDER));
    keys.extend(provider(&format!("{PROVIDER}.projects.*")));
    keys.extend(others());
    keys.extend(models());
    keys
}

fn key(name: &str, shape: Shape, default: Value, example: Value, about: &'static str) -> Key {
    Key { name: name.to_owned(), shape, default, example, about }
}

fn own_editing() -> Vec<Key> {
    let usual = serde_json::to_value(ctx_clients::editor_settings()).unwrap_or_default();
    let own = |name: &str, shape: Shape, example: Value, about: &'static str| {
        let default = usual.pointer(&format!("/{}", name.replace('.', "/"))).cloned().unwrap_or_default();
        key(&format!("context_editing.{name}"), shape, default, example, about)
    };
    let targets = Target::ALL.map(Target::name).to_vec();
    vec![
        own(
            "mode",
            Shape::OneOf(Mode::ALL.map(Mode::name).to_vec()),
            json!("observe"),
            "what the automatic editor may do",
        ),
        own("enabled", Shape::Switch, json!(true), "true is mode \"on\", false is \"off\"; a mode wins"),
        own(
            "compact_threshold_percent",
            Shape::Whole(PERCENT),
            json!(80),
            "from this share of the window on, clear whether it pays or not",
        ),
        own(
            "threshold_with_provider_percent",
            Shape::Whole(PERCENT),
            json!(95),
            "the same while the provider's own editing is on",
        ),
        own("target_percent", Shape::Whole(PERCENT), json!(60), "clear down to this share of the window"),
        own("preserve_recent_turns", Shape::Whole(TURNS), json!(5), "number of newest replies whose tool results stay"),
        own(
            "clear_targets",
            Shape::SomeOf(targets),
            json!(["stale_tool_results"]),
            "what may be cleared, in this order",
        ),
        own(
            "clear_after_phases",
            Shape::Texts,
            json!(["testing"]),
            "phases whose details may be cleared after their end; \"*\" for all",
        ),
        own("attention_budget.single_search", Shape::Whole(TOKENS), json!(2_000), "token budget for one search result"),
        own(
            "attention_budget.accumulated",
            Shape::Whole(TOKENS),
            json!(5_000),
            "token budget for search results that are no longer recent",
        ),
        own(
            "attention_budget.session_total",
            Shape::Whole(TOKENS),
            json!(15_000),
            "token budget for all search results of a session",
        ),
        own(
            "preserve_artifacts",
            Shape::Texts,
            json!(["decision_records", "plans"]),
            "artifacts that are never cleared, by name",
        ),
        own("artifacts.*.tools", Shape::Texts, json!(["Plan*"]), "an artifact by its tool; * matches anything"),
        own("artifacts.*.paths", Shape::Texts, json!(["*/plans/*"]), "an artifact by the path"),
        own("artifacts.*.commands", Shape::Texts, json!(["plan *"]), "an artifact by the command"),
        own("artifacts.*.texts", Shape::Texts, json!(["*the plan*"]), "an artifact by words in the result"),
        own("exclude_tools", Shape::Texts, json!(["Todo*"]), "tools whose results are never cleared"),
        own("ledger", Shape::Text, json!("NOTES.md"), "the file that gets a line for each clearing"),
        own("hook", Shape::Text, json!("notify-send ctx"), "a command that gets the signals; not in a project's file"),
        own(
            "webhook",
            Shape::Text,
            json!("http://127.0.0.1:9000/hook"),
            "an address on this machine that gets the signals; not in a project's file",
        ),
    ]
}

fn provider(prefix: &str) -> Vec<Key> {
    let own = |name: &str, shape: Shape, default: Value, example: Value, about: &'static str| {
        key(&format!("{prefix}.{name}"), shape, default, example, about)
    };
    vec![
        own("enabled", Shape::Switch, json!(false), json!(true), "request the provider's own editing"),
        own("models", Shape::Texts, Value::Null, json!(["claude-opus-*"]), "only for these models"),
        own(
            "agents",
            Shape::OneOf(vec!["main", "subagents", "all"]),
            json!("all"),
            json!("main"),
            "which agents it applies to",
        ),
        own("clear_tool_uses.enabled", Shape::Switch, json!(true), json!(true), "clear old tool results"),
        own("clear_tool_uses.trigger", Shape::Trigger(1, true), json!("60%"), json!("60%"), "from here on"),
        own(
            "clear_tool_uses.keep",
            Shape::Whole(0..=MOST_ITEMS),
            json!(5),
            json!(5),
            "number of newest results that stay",
        ),
        own(
            "clear_tool_uses.clear_at_least",
            Shape::Whole(0..=MOST_TOKENS),
            json!("enough to pay for the cache"),
            json!(20_000),
            "minimum number of tokens to clear at once",
        ),
        own(
            "clear_tool_uses.exclude_tools",
            Shape::Texts,
            json!("tools for memory, skills and todos"),
            json!(["Read"]),
            "tools whose results stay",
        ),
        own(
            "clear_tool_uses.clear_tool_inputs",
            Shape::Inputs,
            json!(false),
            json!(["Bash"]),
            "clear tool inputs along with their results",
        ),
        own(
            "clear_thinking.enabled",
            Shape::Switch,
            json!(true),
            json!(true),
            "set how much thinking the provider keeps",
        ),
        own("clear_thinking.keep", Shape::Keep, json!("all"), json!("all"), "number of turns whose thinking stays"),
        own("compact.enabled", Shape::Switch, json!(false), json!(true), "let the provider write summaries"),
        own("compact.trigger", Shape::Trigger(LEAST_COMPACT, false), json!("80%"), json!(150_000), "from here on"),
        own("compact.instructions", Shape::Text, Value::Null, json!("Be short."), "how"),
    ]
}

fn others() -> Vec<Key> {
    let helper = ctx_server::helper::Settings::default();
    let moments = ctx_composer::edit::Moments::default();
    vec![
        key(
            "listen.address",
            Shape::Text,
            json!(DEFAULT_LISTEN.to_string()),
            json!("127.0.0.1:8788"),
            "where the daemon listens",
        ),
        key("listen.allow_remote", Shape::Switch, json!(false), json!(false), "accept connections from other machines"),
        key(
            "upstream.url",
            Shape::Text,
            json!(DEFAULT_UPSTREAM),
            json!("https://api.anthropic.com"),
            "where requests go",
        ),
        key("upstream.ca_files", Shape::Texts, json!([]), json!(["ca.pem"]), "additional certificate authorities"),
        key(
            "upstream.proxy",
            Shape::Text,
            Value::Null,
            json!("http://proxy:3128"),
            "a proxy for the connection to the upstream",
        ),
        key("upstream.no_proxy", Shape::Text, Value::Null, json!("localhost"), "hosts to reach without the proxy"),
        key("upstream.http2", Shape::Switch, json!(true), json!(true), "use HTTP/2 if the upstream supports it"),
        key(
            "upstream.*.url",
            Shape::Text,
            Value::Null,
            json!("https://openrouter.ai"),
            "a further upstream, reached below /to/NAME/; anthropic, openai, chatgpt and gemini have an address",
        ),
        key(
            "upstream.*.ca_files",
            Shape::Texts,
            Value::Null,
            json!(["ca.pem"]),
            "certificate authorities for it alone",
        ),
        key("upstream.*.proxy", Shape::Text, Value::Null, json!("http://proxy:3128"), "a proxy for it alone"),
        key("upstream.*.no_proxy", Shape::Text, Value::Null, json!("localhost"), "hosts to reach without that proxy"),
        key("upstream.*.http2", Shape::Switch, Value::Null, json!(true), "use HTTP/2 if it supports it"),
        key(
            "offload.folder",
            Shape::Text,
            json!("offload in the home"),
            json!(".ctx/offload"),
            "where offloaded content goes",
        ),
        key("mcp.read_only", Shape::Switch, json!(false), json!(true), "agents may only read over MCP"),
        key(
            "mcp.allow",
            Shape::Texts,
            json!("all operations"),
            json!(["delete", "pin"]),
            "operations that agents may use over MCP",
        ),
        key(
            "helper.provider",
            Shape::OneOf(Provider::NAMES.to_vec()),
            json!("none"),
            json!("none"),
            "who writes summaries and titles",
        ),
        key("helper.url", Shape::Text, Value::Null, json!("http://localhost:11434/v1"), "its address"),
        key("helper.model", Shape::Text, Value::Null, json!("qwen"), "which model"),
        key(
            "helper.key_env",
            Shape::Text,
            Value::Null,
            json!("MY_KEY"),
            "the environment variable that contains its key",
        ),
        key(
            "helper.budget_per_day",
            Shape::Whole(MANY),
            json!(helper.budget_per_day),
            json!(200_000),
            "tokens per day",
        ),
        key(
            "helper.timeout",
            Shape::Whole(MANY),
            json!(helper.timeout.as_secs()),
            json!(60),
            "timeout for one answer, in seconds",
        ),
        key(
            "helper.max_chars",
            Shape::Whole(MANY),
            json!(helper.max_chars),
            json!(100_000),
            "maximum number of characters that it is shown",
        ),
        key("helper.titles", Shape::Switch, json!(false), json!(true), "write titles in the background"),
        key(
            "edits.near_limit_percent",
            Shape::Whole(PERCENT),
            json!(moments.near_limit_percent),
            json!(80),
            "share of the window from which deferred edits count as near the limit",
        ),
        key(
            "edits.cache_seconds",
            Shape::Whole(1..=86_400),
            json!("the provider's own"),
            json!(600),
            "how long the provider's cache lives",
        ),
    ]
}

fn models() -> Vec<Key> {
    let price = |name: &str, about: &'static str| {
        key(&format!("models.*.{name}"), Shape::Amount(0.0, 100_000.0), Value::Null, json!(3), about)
    };
    let tokens = |name: &str, least: u64, about: &'static str| {
        key(&format!("models.*.{name}"), Shape::Whole(least..=1_000_000_000), Value::Null, json!(200_000), about)
    };
    let count = |name: &str, most: u64, example: u64, about: &'static str| {
        key(&format!("models.*.{name}"), Shape::Whole(1..=most), Value::Null, json!(example), about)
    };
    let switch = |name: &str, about: &'static str| {
        key(&format!("models.*.{name}"), Shape::Switch, Value::Null, json!(true), about)
    };
    let times = |name: &str, about: &'static str| {
        key(&format!("models.*.{name}"), Shape::Amount(1.0, 1_000.0), Value::Null, json!(2), about)
    };
    vec![
        price("input", "dollars per million uncached input tokens"),
        price("output", "dollars per million output tokens"),
        price("write", "dollars per million tokens written to the cache for the shortest time that it offers"),
        price("write_5m", "dollars per million tokens written to the cache for five minutes"),
        price("write_1h", "dollars per million tokens written to the cache for an hour"),
        price("read", "dollars per million tokens read from the cache"),
        tokens("window", 1, "size of the context window in tokens"),
        tokens("max_output", 1, "maximum number of output tokens"),
        tokens("minimum", 0, "the shortest prompt that is cached"),
        count("cache_seconds", 86_400, 600, "lifetime of the cache in seconds, whatever clients ask for"),
        count("look_back", 1_000, 20, "number of blocks that a breakpoint looks back"),
        tokens("dearer_above", 1, "prompt size from which a higher price applies"),
        times("dearer_times", "so many times"),
        times("dearer_output_times", "so many times for the output, if it differs"),
        switch("clearing", "the provider can clear by itself"),
        switch("compaction", "the provider can summarise by itself"),
        switch("bound_thinking", "thinking is bound to the content before it"),
    ]
}

#[cfg(test)]
mod tests;
