//! Settings of the provider's editing. Unset fields are `None`: sources are merged, and defaults come last.

use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderSettings {
    pub enabled: Option<bool>,
    /// Only for models with these names; `*` matches anything.
    pub models: Option<Vec<String>>,
    pub agents: Option<Agents>,
    pub clear_tool_uses: ClearToolUses,
    pub clear_thinking: ClearThinking,
    pub compact: Compact,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClearToolUses {
    pub enabled: Option<bool>,
    pub trigger: Option<Trigger>,
    pub keep: Option<u64>,
    pub clear_at_least: Option<u64>,
    pub exclude_tools: Option<Vec<String>>,
    pub clear_tool_inputs: Option<Inputs>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClearThinking {
    pub enabled: Option<bool>,
    pub keep: Option<Keep>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compact {
    pub enabled: Option<bool>,
    pub trigger: Option<Trigger>,
    pub instructions: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// Tokens of the prompt.
    Tokens(u64),
    /// Percent of the model's window.
    Percent(u64),
    /// Calls in the prompt; compaction has no such trigger.
    ToolUses(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    All,
    Turns(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inputs {
    Stay,
    Go,
    /// The inputs of these tools.
    GoOf(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agents {
    All,
    Main,
    Sub,
}

/// The origin of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Who<'a> {
    pub model: &'a str,
    /// The client's working directory, if known.
    pub folder: Option<&'a str>,
    pub is_sub: bool,
}

/// All settings, weakest source first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules(Vec<Rule>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    /// Only for clients that work in this folder or below.
    folder: Option<PathBuf>,
    settings: ProviderSettings,
}

impl Rules {
    /// Adds a source stronger than the previous ones.
    pub fn add(&mut self, folder: Option<PathBuf>, settings: ProviderSettings) {
        self.0.push(Rule { folder, settings });
    }

    /// Whether no edits are requested for any request.
    pub fn are_off(&self) -> bool {
        !self.0.iter().any(|rule| rule.settings.enabled == Some(true))
    }

    /// The settings for this origin; `None` if there are none.
    pub fn of(&self, who: &Who<'_>) -> Option<ProviderSettings> {
        let counts = |rule: &&Rule| match (&rule.folder, who.folder) {
            (None, _) => true,
            (Some(folder), Some(works)) => Path::new(works).starts_with(folder),
            (Some(_), None) => false,
        };
        let settings = self
            .0
            .iter()
            .filter(counts)
            .fold(ProviderSettings::default(), |settings, rule| rule.settings.clone().over(settings));
        (settings.enabled == Some(true) && settings.covers(who)).then_some(settings)
    }

    /// Whether settings can apply to such an agent at all.
    pub fn may_cover(&self, is_sub: bool) -> bool {
        let covers = |rule: &Rule| rule.settings.agents.is_none_or(|agents| agents.cover(is_sub));
        !self.are_off() && self.0.iter().any(covers)
    }
}

impl ProviderSettings {
    /// Fills unset fields from a weaker source.
    fn over(self, weaker: ProviderSettings) -> ProviderSettings {
        let (tools, old) = (self.clear_tool_uses, weaker.clear_tool_uses);
        let (thinking, old_thinking) = (self.clear_thinking, weaker.clear_thinking);
        let (compact, old_compact) = (self.compact, weaker.compact);
        ProviderSettings {
            enabled: self.enabled.or(weaker.enabled),
            models: self.models.or(weaker.models),
            agents: self.agents.or(weaker.agents),
            clear_tool_uses: ClearToolUses {
                enabled: tools.enabled.or(old.enabled),
                trigger: tools.trigger.or(old.trigger),
                keep: tools.keep.or(old.keep),
                clear_at_least: tools.clear_at_least.or(old.clear_at_least),
                exclude_tools: tools.exclude_tools.or(old.exclude_tools),
                clear_tool_inputs: tools.clear_tool_inputs.or(old.clear_tool_inputs),
            },
            clear_thinking: ClearThinking {
                enabled: thinking.enabled.or(old_thinking.enabled),
                keep: thinking.keep.or(old_thinking.keep),
            },
            compact: Compact {
                enabled: compact.enabled.or(old_compact.enabled),
                trigger: compact.trigger.or(old_compact.trigger),
                instructions: compact.instructions.or(old_compact.instructions),
            },
        }
    }

    fn covers(&self, who: &Who<'_>) -> bool {
        let named = |patterns: &Vec<String>| patterns.iter().any(|pattern| is_like(who.model, pattern));
        self.models.as_ref().is_none_or(named) && self.agents.is_none_or(|agents| agents.cover(who.is_sub))
    }
}

impl Agents {
    fn cover(self, is_sub: bool) -> bool {
        match self {
            Agents::All => true,
            Agents::Main => !is_sub,
            Agents::Sub => is_sub,
        }
    }
}

/// Whether a pattern matches a model, by the provider's name or its own.
fn is_like(model: &str, pattern: &str) -> bool {
    matches(model.as_bytes(), pattern.as_bytes()) || matches(ctx_models::bare(model).as_bytes(), pattern.as_bytes())
}

/// `*` matches any bytes, including none.
fn matches(text: &[u8], pattern: &[u8]) -> bool {
    let mut parts = pattern.split(|byte| *byte == b'*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = memchr::memmem::find(rest, part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(model: &str) -> Who<'_> {
        Who { model, folder: Some("/home/me/code/a"), is_sub: false }
    }

    fn on() -> ProviderSettings {
        ProviderSettings { enabled: Some(true), ..ProviderSettings::default() }
    }

    #[test]
    fn nothing_is_wanted_until_somebody_switches_it_on() {
        let mut rules = Rules::default();
        assert!(rules.are_off() && rules.of(&who("claude-opus-5")).is_none() && !rules.may_cover(false));
        rules.add(None, ProviderSettings { models: Some(vec!["*".into()]), ..ProviderSettings::default() });
        assert!(rules.are_off() && rules.of(&who("claude-opus-5")).is_none());
        rules.add(None, on());
        assert!(!rules.are_off() && rules.of(&who("claude-opus-5")).is_some() && rules.may_cover(true));
    }

    #[test]
    fn the_stronger_voice_counts_key_by_key_and_only_where_it_is_meant() {
        let mut rules = Rules::default();
        let tools = |keep, least| ClearToolUses { keep, clear_at_least: least, ..ClearToolUses::default() };
        rules.add(None, ProviderSettings { clear_tool_uses: tools(Some(3), Some(9_000)), ..on() });
        rules.add(
            Some("/home/me/code".into()),
            ProviderSettings { clear_tool_uses: tools(Some(8), None), ..ProviderSettings::default() },
        );
        rules.add(
            Some("/home/me/code/b".into()),
            ProviderSettings { enabled: Some(false), ..ProviderSettings::default() },
        );
        let found = |folder| {
            let settings = rules.of(&Who { folder, ..who("m") })?;
            Some((settings.clear_tool_uses.keep, settings.clear_tool_uses.clear_at_least))
        };
        assert_eq!(found(Some("/home/me/code/a")), Some((Some(8), Some(9_000))));
        assert_eq!(found(Some("/home/me/codes")), Some((Some(3), Some(9_000))));
        assert_eq!(found(Some("/home/me/code/b/src")), None);
        assert_eq!(found(None), Some((Some(3), Some(9_000))));
    }

    #[test]
    fn models_and_agents_are_chosen_by_name() {
        let mut rules = Rules::default();
        let models = Some(vec!["claude-opus-*".into(), "claude-sonnet-5".into(), "*-4-*-x".into()]);
        rules.add(None, ProviderSettings { models, agents: Some(Agents::Main), ..on() });
        for (model, meant) in [
            ("claude-opus-5-5", true),
            ("anthropic/claude-opus-5.5", true),
            ("us.anthropic.claude-opus-5-5-v1:0", true),
            ("claude-sonnet-5", true),
            ("claude-sonnet-5-5", false),
            ("claude-sonnet-5-20260101", true),
            ("a-4-b-x", true),
            ("a-4-x", false),
            ("claude-opus", false),
        ] {
            assert_eq!(rules.of(&who(model)).is_some(), meant, "{model}");
        }
        assert!(rules.of(&Who { is_sub: true, ..who("claude-opus-5") }).is_none());
        assert!(rules.may_cover(false) && !rules.may_cover(true));
    }
}
