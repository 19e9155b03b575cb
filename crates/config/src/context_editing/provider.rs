//! `[context_editing.provider]`: what the provider shall clear or summarise by itself, for which projects, models and
//! agents.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use ctx_wire::anthropic::context_management::{
    Agents, ClearThinking, ClearToolUses, Compact, Inputs, Keep, Rules, Trigger, Wish,
};
use toml::de::DeValue;

use super::super::file::{Reader, Value};
use super::tree::Node;
use crate::error::ConfigError;

const NAME: &str = "context_editing.provider";
const SIMPLE: &str = "enabled, models, agents, clear_tool_uses, clear_thinking, compact";

/// No model takes more tokens.
pub const MOST_TOKENS: u64 = 100_000_000;
/// The provider does not summarise less (C8).
pub const LEAST_COMPACT: u64 = 50_000;
/// More calls or turns are in no request.
pub const MOST_ITEMS: u64 = 100_000;
const LONGEST_INSTRUCTIONS: usize = 100_000;

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderFile {
    wish: Wish,
    /// For clients that work in these folders.
    projects: Vec<(PathBuf, Wish)>,
    /// Everything that does more than switch something off.
    pub louder: Vec<Setting>,
}

/// One key with its value, as a file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub key: String,
    pub line: usize,
    pub value: String,
}

impl ProviderFile {
    /// As much of it as counts where nobody vouches for the file: what it switches off.
    pub fn quieter(&self) -> ProviderFile {
        let off = |switch: Option<bool>| switch.filter(|on| !on);
        let quieter = |wish: &Wish| Wish {
            enabled: off(wish.enabled),
            clear_tool_uses: ClearToolUses { enabled: off(wish.clear_tool_uses.enabled), ..Default::default() },
            clear_thinking: ClearThinking { enabled: off(wish.clear_thinking.enabled), ..Default::default() },
            compact: Compact { enabled: off(wish.compact.enabled), ..Default::default() },
            ..Wish::default()
        };
        let projects = self.projects.iter().map(|(folder, wish)| (folder.clone(), quieter(wish))).collect();
        ProviderFile { wish: quieter(&self.wish), projects, louder: Vec::new() }
    }
}

/// Where a project's file counts.
#[derive(Clone, Copy, Debug)]
pub struct Own<'f> {
    /// The folder of the file.
    pub project: &'f Path,
    /// Where the client says that it works, which is in the project.
    pub works: &'f Path,
}

/// All that files say, the weaker first, each with the project whose own it is: what it says counts there.
pub fn rules<'f>(files: impl IntoIterator<Item = (Option<Own<'f>>, Cow<'f, ProviderFile>)>) -> Rules {
    let mut rules = Rules::default();
    for (own, provider) in files {
        if provider.wish != Wish::default() {
            rules.add(own.map(|own| own.works.to_owned()), provider.wish.clone());
        }
        // The deeper folder is the stronger voice.
        let mut projects: Vec<_> = provider.projects.iter().collect();
        projects.sort_by_key(|(folder, _)| folder.components().count());
        for (folder, wish) in projects {
            // A project decides nothing for others.
            if own.is_none_or(|own| folder.starts_with(own.project)) {
                rules.add(Some(folder.clone()), wish.clone());
            }
        }
    }
    rules
}

/// What `[context_editing]` says of it, or everything that is wrong with that, in the order of its lines.
pub(crate) fn of(reader: &Reader<'_>, section: &Value<'_>) -> Result<ProviderFile, Vec<ConfigError>> {
    let Some(section) = section.get_ref().get("provider") else { return Ok(ProviderFile::default()) };
    let mut reading = Reading { reader, wrong: Vec::new(), louder: Vec::new() };
    let mut file = reading.section(section);
    if reading.wrong.is_empty() {
        file.louder = reading.louder;
        file.louder.sort_by_key(|setting| setting.line);
        return Ok(file);
    }
    reading.wrong.sort_by_key(|(line, _)| *line);
    Err(reading.wrong.into_iter().map(|(_, failure)| failure).collect())
}

struct Reading<'r, 'f> {
    reader: &'r Reader<'f>,
    /// With their lines.
    wrong: Vec<(usize, ConfigError)>,
    louder: Vec<Setting>,
}

impl<'f> Reading<'_, 'f> {
    fn section(&mut self, section: &Value<'f>) -> ProviderFile {
        let mut file = ProviderFile::default();
        for (key, value) in self.entries(NAME, section) {
            let field = format!("{NAME}.{}", key.get_ref());
            if key.get_ref() == "projects" {
                for (folder, value) in self.entries(&field, value) {
                    file.projects.extend(self.project(folder, value));
                }
                continue;
            }
            if !self.take(&mut file.wish, key, &field, value) {
                self.unknown(key, &field, &format!("{SIMPLE}, projects"));
            }
        }
        file
    }

    fn project(&mut self, folder: &Key<'f>, value: &Value<'f>) -> Option<(PathBuf, Wish)> {
        let name = format!("{NAME}.projects.\"{}\"", folder.get_ref());
        let path = Path::new(folder.get_ref().as_ref());
        if !path.is_absolute() {
            let why = format!("`{name}` must be a whole path, such as \"/home/me/project\"");
            self.refuse(folder, why);
            return None;
        }
        let mut wish = Wish::default();
        for (key, value) in self.entries(&name, value) {
            let field = format!("{name}.{}", key.get_ref());
            if !self.take(&mut wish, key, &field, value) {
                self.unknown(key, &field, SIMPLE);
            }
        }
        Some((path.components().collect(), wish))
    }

    /// False: there is no such key.
    fn take(&mut self, wish: &mut Wish, key: &Key<'f>, field: &str, value: &Value<'f>) -> bool {
        let reader = self.reader;
        match key.get_ref().as_ref() {
            "enabled" => wish.enabled = self.one(field, key, value, reader.switch(field, value)),
            "models" => wish.models = self.one(field, key, value, names(reader, field, value, "\"claude-opus-*\"")),
            "agents" => wish.agents = self.one(field, key, value, agents(reader, field, value)),
            "clear_tool_uses" => self.clear_tool_uses(&mut wish.clear_tool_uses, field, value),
            "clear_thinking" => self.clear_thinking(&mut wish.clear_thinking, field, value),
            "compact" => self.compact(&mut wish.compact, field, value),
            _ => return false,
        }
        true
    }

    fn clear_tool_uses(&mut self, tools: &mut ClearToolUses, field: &str, section: &Value<'f>) {
        let reader = self.reader;
        for (key, value) in self.entries(field, section) {
            let field = &format!("{field}.{}", key.get_ref());
            let count = |range| number(reader, field, value, range);
            match key.get_ref().as_ref() {
                "enabled" => tools.enabled = self.one(field, key, value, reader.switch(field, value)),
                "trigger" => tools.trigger = self.one(field, key, value, trigger(reader, field, value, 1, true)),
                "keep" => tools.keep = self.one(field, key, value, count(0..=MOST_ITEMS)),
                "clear_at_least" => tools.clear_at_least = self.one(field, key, value, count(0..=MOST_TOKENS)),
                "exclude_tools" => {
                    tools.exclude_tools = self.one(field, key, value, names(reader, field, value, "\"Read\""));
                }
                "clear_tool_inputs" => {
                    tools.clear_tool_inputs = self.one(field, key, value, inputs(reader, field, value));
                }
                _ => {
                    let all = "enabled, trigger, keep, clear_at_least, exclude_tools, clear_tool_inputs";
                    self.unknown(key, field, all);
                }
            }
        }
    }

    fn clear_thinking(&mut self, thinking: &mut ClearThinking, field: &str, section: &Value<'f>) {
        let reader = self.reader;
        for (key, value) in self.entries(field, section) {
            let field = &format!("{field}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "enabled" => thinking.enabled = self.one(field, key, value, reader.switch(field, value)),
                "keep" => thinking.keep = self.one(field, key, value, keep(reader, field, value)),
                _ => self.unknown(key, field, "enabled, keep"),
            }
        }
    }

    fn compact(&mut self, compact: &mut Compact, field: &str, section: &Value<'f>) {
        let reader = self.reader;
        for (key, value) in self.entries(field, section) {
            let field = &format!("{field}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "enabled" => compact.enabled = self.one(field, key, value, reader.switch(field, value)),
                "trigger" => {
                    let trigger = trigger(reader, field, value, LEAST_COMPACT, false);
                    compact.trigger = self.one(field, key, value, trigger);
                }
                "instructions" => {
                    compact.instructions = self.one(field, key, value, instructions(reader, field, value));
                }
                _ => self.unknown(key, field, "enabled, trigger, instructions"),
            }
        }
    }

    /// A value, unless it is wrong.
    fn one<T>(&mut self, field: &str, key: &Key<'f>, value: &Value<'f>, read: Result<T, ConfigError>) -> Option<T> {
        let line = self.reader.line(key.span());
        let is_off = field.ends_with(".enabled") && matches!(value.get_ref(), DeValue::Boolean(false));
        if !is_off {
            let value = Node::of_toml(value, &|span| self.reader.line(span)).in_words();
            self.louder.push(Setting { key: field.to_owned(), line, value });
        }
        read.map_err(|failure| self.wrong.push((line, failure))).ok()
    }

    fn entries<'v>(&mut self, name: &str, section: &'v Value<'f>) -> Vec<(&'v Key<'f>, &'v Value<'f>)> {
        match self.reader.section(name, section) {
            Ok(entries) => entries.iter().collect(),
            Err(failure) => {
                self.wrong.push((self.reader.line(section.span()), failure));
                Vec::new()
            }
        }
    }

    fn unknown(&mut self, key: &Key<'f>, field: &str, all: &str) {
        self.refuse(key, format!("`{field}` is unknown; known keys: {all}"));
    }

    fn refuse(&mut self, key: &Key<'f>, why: String) {
        self.wrong.push((self.reader.line(key.span()), self.reader.refuse(key.span(), why)));
    }
}

type Key<'f> = toml::Spanned<Cow<'f, str>>;

fn number(reader: &Reader<'_>, field: &str, value: &Value<'_>, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
    let (least, most) = (*range.start(), *range.end());
    match reader.number(field, value) {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(reader.refuse(value.span(), format!("`{field}` must be a whole number from {least} to {most}"))),
    }
}

/// Tokens, a share of what the model takes, or a number of calls.
fn trigger(
    reader: &Reader<'_>,
    field: &str,
    value: &Value<'_>,
    least: u64,
    by_calls: bool,
) -> Result<Trigger, ConfigError> {
    let calls = if by_calls { ", or a number of calls such as { tool_uses = 50 }" } else { "" };
    let refuse = || {
        let why = format!(
            "`{field}` must be a number of tokens from {least} to {MOST_TOKENS}, or a share of what the model takes \
             from \"1%\" to \"100%\"{calls}"
        );
        reader.refuse(value.span(), why)
    };
    match value.get_ref() {
        DeValue::Integer(_) => {
            number(reader, field, value, least..=MOST_TOKENS).map(Trigger::Tokens).map_err(|_| refuse())
        }
        DeValue::String(text) => {
            let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
            percent.filter(|percent| (1..=100).contains(percent)).map(Trigger::Percent).ok_or_else(refuse)
        }
        DeValue::Table(table) if by_calls && table.len() == 1 => {
            let (key, value) = table.iter().next().ok_or_else(refuse)?;
            if key.get_ref().as_ref() != "tool_uses" {
                return Err(refuse());
            }
            number(reader, &format!("{field}.tool_uses"), value, 1..=MOST_ITEMS).map(Trigger::ToolUses)
        }
        _ => Err(refuse()),
    }
}

fn keep(reader: &Reader<'_>, field: &str, value: &Value<'_>) -> Result<Keep, ConfigError> {
    let why = format!("`{field}` must be \"all\", or a number of turns from 1 to {MOST_ITEMS}");
    match value.get_ref() {
        DeValue::String(text) if text == "all" => Ok(Keep::All),
        DeValue::Integer(_) => number(reader, field, value, 1..=MOST_ITEMS).map(Keep::Turns),
        _ => Err(reader.refuse(value.span(), &why)),
    }
    .map_err(|_| reader.refuse(value.span(), &why))
}

fn inputs(reader: &Reader<'_>, field: &str, value: &Value<'_>) -> Result<Inputs, ConfigError> {
    match value.get_ref() {
        DeValue::Boolean(true) => Ok(Inputs::Go),
        DeValue::Boolean(false) => Ok(Inputs::Stay),
        DeValue::Array(_) => names(reader, field, value, "\"Bash\"").map(Inputs::GoOf),
        _ => {
            let why = format!("`{field}` must be true, false, or a list of tools such as [\"Bash\"]");
            Err(reader.refuse(value.span(), why))
        }
    }
}

fn agents(reader: &Reader<'_>, field: &str, value: &Value<'_>) -> Result<Agents, ConfigError> {
    let refuse = || reader.refuse(value.span(), format!("`{field}` must be \"main\", \"subagents\" or \"all\""));
    match value.get_ref() {
        DeValue::String(text) => match text.as_ref() {
            "main" => Ok(Agents::Main),
            "subagents" => Ok(Agents::Sub),
            "all" => Ok(Agents::All),
            _ => Err(refuse()),
        },
        _ => Err(refuse()),
    }
}

fn names(reader: &Reader<'_>, field: &str, value: &Value<'_>, such_as: &str) -> Result<Vec<String>, ConfigError> {
    let names = reader.texts(field, value)?;
    if names.iter().any(|name| name.trim().is_empty() || name.len() > 256) {
        let why = format!("`{field}` must be a list of names such as {such_as}; one is empty or too long");
        return Err(reader.refuse(value.span(), why));
    }
    Ok(names.into_iter().map(|name| name.trim().to_owned()).collect())
}

fn instructions(reader: &Reader<'_>, field: &str, value: &Value<'_>) -> Result<String, ConfigError> {
    let text = reader.text(field, value)?;
    if text.trim().is_empty() || text.len() > LONGEST_INSTRUCTIONS {
        let why = format!("`{field}` must be a text of 1 to {LONGEST_INSTRUCTIONS} bytes");
        return Err(reader.refuse(value.span(), why));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_wire::anthropic::context_management::Who;
    use toml::de::DeTable;

    fn read(text: &str) -> Result<ProviderFile, Vec<ConfigError>> {
        let document = DeTable::parse(text).expect("TOML");
        let section = document.get_ref().get("context_editing").expect("a section");
        of(&Reader::new(Path::new("ctx.toml"), text), section)
    }

    fn wish(text: &str) -> Wish {
        read(text).expect(text).wish
    }

    #[test]
    fn every_key_is_read() {
        let all = wish(
            "[context_editing.provider]\nenabled = true\nmodels = [\"claude-opus-*\"]\nagents = \"main\"\n\
             clear_tool_uses = { enabled = true, trigger = 120_000, keep = 4, clear_at_least = 20000, \
             exclude_tools = [\"Read\"], clear_tool_inputs = [\"Bash\"] }\n\
             clear_thinking = { enabled = true, keep = 2 }\n\
             [context_editing.provider.compact]\nenabled = true\ntrigger = \"70%\"\ninstructions = \"Be short.\"\n",
        );
        let expected = Wish {
            enabled: Some(true),
            models: Some(vec!["claude-opus-*".into()]),
            agents: Some(Agents::Main),
            clear_tool_uses: ClearToolUses {
                enabled: Some(true),
                trigger: Some(Trigger::Tokens(120_000)),
                keep: Some(4),
                clear_at_least: Some(20_000),
                exclude_tools: Some(vec!["Read".into()]),
                clear_tool_inputs: Some(Inputs::GoOf(vec!["Bash".into()])),
            },
            clear_thinking: ClearThinking { enabled: Some(true), keep: Some(Keep::Turns(2)) },
            compact: Compact {
                enabled: Some(true),
                trigger: Some(Trigger::Percent(70)),
                instructions: Some("Be short.".into()),
            },
        };
        assert_eq!(all, expected);
        let other = wish(
            "[context_editing.provider]\nagents = \"subagents\"\nclear_thinking = { keep = \"all\" }\n\
             clear_tool_uses = { trigger = { tool_uses = 30 }, keep = 0, clear_tool_inputs = true }",
        );
        assert_eq!((other.enabled, other.agents), (None, Some(Agents::Sub)));
        assert_eq!(other.clear_thinking.keep, Some(Keep::All));
        let tools = other.clear_tool_uses;
        assert_eq!((tools.trigger, tools.keep), (Some(Trigger::ToolUses(30)), Some(0)));
        assert_eq!(tools.clear_tool_inputs, Some(Inputs::Go));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_line_and_what_is_allowed() {
        for (text, line, told) in [
            ("[context_editing.provider]\nenable = true", 2, "known keys: enabled, models, agents"),
            ("[context_editing.provider]\nenabled = 1", 2, "must be true or false, not a number"),
            ("[context_editing]\nprovider = 3", 2, "`[context_editing.provider]` must be a section"),
            ("[context_editing.provider]\nclear_tool_uses = { keeps = 3 }", 2, "known keys: enabled, trigger, keep"),
            ("[context_editing.provider]\n\nclear_tool_uses = { keep = -1 }", 3, "a whole number from 0 to 100000"),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = \"140%\" }", 2, "from \"1%\" to \"100%\""),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = 0 }", 2, "tokens from 1 to"),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = { turns = 3 } }", 2, "{ tool_uses = 50 }"),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = { tool_uses = 0 } }", 2, "from 1 to 100000"),
            ("[context_editing.provider]\nclear_thinking = { keep = 0 }", 2, "\"all\", or a number of turns from 1"),
            ("[context_editing.provider]\nclear_thinking = { keep = \"some\" }", 2, "\"all\", or a number of turns"),
            ("[context_editing.provider]\ncompact = { trigger = 20_000 }", 2, "tokens from 50000 to"),
            ("[context_editing.provider]\ncompact = { instructions = \" \" }", 2, "a text of 1 to"),
            ("[context_editing.provider]\ncompact = { pause = true }", 2, "known keys: enabled, trigger, instructions"),
            ("[context_editing.provider]\nagents = \"none\"", 2, "\"main\", \"subagents\" or \"all\""),
            ("[context_editing.provider]\nmodels = [\"\"]", 2, "one is empty"),
            ("[context_editing.provider.projects.\"work\"]\nenabled = true", 1, "must be a whole path"),
            ("[context_editing.provider.projects.\"/w\"]\non = true", 2, "known keys: enabled, models, agents"),
        ] {
            let refused = read(text).expect_err(text);
            assert_eq!(refused.len(), 1, "{text}: {refused:?}");
            let refused = refused[0].to_string();
            assert!(refused.contains(&format!("line {line}: ")) && refused.contains(told), "{text}: {refused}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_told_in_the_order_of_its_lines() {
        let refused = read(
            "[context_editing.provider]\nenabled = 1\nagents = \"none\"\non = true\n\
             clear_tool_uses = { keep = -1, trigger = \"140%\" }\nclear_thinking = 3\n\
             [context_editing.provider.compact]\ntrigger = 1\npause = true\n\
             [context_editing.provider.projects.\"work\"]\n[context_editing.provider.projects.\"/w\"]\nkeep = 1\n",
        );
        let told: Vec<String> = refused.expect_err("refused").iter().map(ToString::to_string).collect();
        let line = |told: &String| told.split_once("line ").and_then(|(_, rest)| rest.split_once(':')?.0.parse().ok());
        let lines: Vec<usize> = told.iter().filter_map(line).collect();
        assert_eq!(lines, [2, 3, 4, 5, 5, 6, 8, 9, 10, 12], "{told:#?}");
    }

    #[test]
    fn a_file_that_nobody_vouches_for_can_only_switch_off() {
        let file = read(
            "[context_editing.provider]\nenabled = true\nmodels = [\"*\"]\n\
             clear_tool_uses = { enabled = false, keep = 0 }\ncompact = { enabled = true }\n",
        );
        let file = file.expect("read");
        let quieter = file.quieter();
        let off = ClearToolUses { enabled: Some(false), ..ClearToolUses::default() };
        assert_eq!(quieter.wish, Wish { clear_tool_uses: off, ..Wish::default() });
        let keys: Vec<(&str, usize)> =
            file.louder.iter().map(|one| (one.key.rsplit('.').next().unwrap_or_default(), one.line)).collect();
        assert_eq!(keys, [("enabled", 2), ("models", 3), ("keep", 4), ("enabled", 5)]);
    }

    #[test]
    fn a_projects_file_decides_for_itself_and_the_homes_for_all() {
        let home = read(
            "[context_editing.provider]\nenabled = false\n\
             [context_editing.provider.projects.\"/srv/a/b/\"]\nenabled = false\n\
             [context_editing.provider.projects.\"/srv/a\"]\nenabled = true\n",
        );
        let project = read(
            "[context_editing.provider]\nenabled = true\n[context_editing.provider.projects.\"/srv/z\"]\nenabled = true\n",
        );
        let (home, project) = (home.expect("the home's"), project.expect("the project's"));
        let own = Own { project: Path::new("/srv/p"), works: Path::new("/srv/p") };
        let rules = rules([(None, Cow::Borrowed(&home)), (Some(own), Cow::Borrowed(&project))]);
        let is_on = |folder| rules.of(&Who { model: "m", folder, is_sub: false }).is_some();
        assert!(is_on(Some("/srv/p/src")) && is_on(Some("/srv/a/c")));
        assert!(!is_on(Some("/srv/a/b/c")) && !is_on(Some("/srv/z")) && !is_on(Some("/else")) && !is_on(None));
    }
}
