//! What one source says of the automatic editor: values with lines become a layer of settings, or words about what is wrong.

use std::ops::RangeInclusive;
use std::path::{Component, Path};

use ctx_core::automatic::{Artifact, Mode, Target, artifacts};
use ctx_core::edit::refusal::nearest;

use super::said::{NAME, Remark, Said, Speaker};
use super::tree::{Data, Entry, Node};

pub const KEYS: [&str; 15] = [
    "mode",
    "enabled",
    "compact_threshold_percent",
    "threshold_with_provider_percent",
    "target_percent",
    "preserve_recent_turns",
    "clear_targets",
    "clear_after_phases",
    "attention_budget",
    "preserve_artifacts",
    "artifacts",
    "exclude_tools",
    "ledger",
    "hook",
    "webhook",
];
pub const BUDGET: [&str; 3] = ["single_search", "accumulated", "session_total"];
pub const ARTIFACT: [&str; 4] = ["tools", "paths", "commands", "texts"];
/// Those that a skill may say.
const OF_SKILLS: [&str; 3] = ["clear_after_phases", "preserve_artifacts", "artifacts"];
/// What the signals are called, here and everywhere.
const SIGNALS: [(&str, &str); 2] =
    [("context_near_limit", "CONTEXT_NEAR_LIMIT"), ("compaction_complete", "COMPACTION_COMPLETE")];

pub const PERCENT: RangeInclusive<u64> = 1..=100;
/// More answers are in no conversation.
pub const TURNS: RangeInclusive<u64> = 0..=100_000;
/// No model takes more.
pub const TOKENS: RangeInclusive<u64> = 1..=100_000_000;
/// Nobody writes longer lists by hand. A client waits while these are read.
const MOST: usize = 500;
const LONGEST_NAME: usize = 256;
const LONGEST_TEXT: usize = 4_096;

/// Reads the section.
pub fn read(section: &Node, speaker: Speaker) -> Said {
    let mut reading = Reading { said: Said::default(), speaker };
    reading.section(section);
    let mut said = reading.said;
    if matches!(speaker, Speaker::Project | Speaker::Yaml) {
        said.distrust();
    }
    said.wrong.sort();
    said.ignored.sort();
    said
}

struct Reading {
    said: Said,
    speaker: Speaker,
}

impl Reading {
    fn section(&mut self, section: &Node) {
        let mut enabled = None;
        for (entry, key) in self.entries(section, NAME) {
            let value = &entry.value;
            if self.speaker == Speaker::Skill && KEYS.contains(&&*entry.key) && !OF_SKILLS.contains(&&*entry.key) {
                self.ignore(entry.line, &key, "a skill can only add phases and artifacts; this is ignored");
                continue;
            }
            match entry.key.as_str() {
                "mode" => self.said.layer.mode = self.one_of(&key, value, &Mode::ALL, Mode::name),
                "enabled" => enabled = self.switch(&key, value),
                "compact_threshold_percent" => {
                    self.said.layer.compact_threshold_percent = self.number(&key, value, PERCENT)
                }
                "threshold_with_provider_percent" => {
                    self.said.layer.threshold_with_provider_percent = self.number(&key, value, PERCENT);
                }
                "target_percent" => self.said.layer.target_percent = self.number(&key, value, PERCENT),
                "preserve_recent_turns" => {
                    let turns = self.number(&key, value, TURNS);
                    self.said.layer.preserve_recent_turns = turns.and_then(|turns| usize::try_from(turns).ok());
                }
                "clear_targets" => self.said.layer.clear_targets = self.targets(&key, value),
                "clear_after_phases" => self.said.layer.clear_after_phases = self.names(&key, value),
                "attention_budget" => self.budget(value),
                "preserve_artifacts" => self.said.layer.preserve_artifacts = self.names(&key, value),
                "artifacts" => self.artifacts(value),
                "exclude_tools" => self.said.layer.exclude_tools = self.names(&key, value),
                "ledger" => self.said.layer.ledger = self.ledger(&key, value),
                "hook" => self.said.layer.hook = self.text(&key, value),
                "webhook" => self.said.layer.webhook = self.webhook(&key, value),
                "runtime_signals" if self.speaker == Speaker::Yaml => self.signals(value),
                _ => {
                    self.unknown(entry.line, &key, &entry.key, &KEYS);
                    continue;
                }
            }
            self.said.lines.insert(entry.key.clone(), entry.line);
        }
        if let (None, Some(enabled)) = (self.said.layer.mode, enabled) {
            self.said.layer.mode = Some(if enabled { Mode::On } else { Mode::Off });
            let line = self.said.lines.get("enabled").copied().unwrap_or_default();
            self.said.lines.insert("mode".to_owned(), line);
        }
        self.said.lines.remove("enabled");
    }

    /// What is in a section, each with its whole name. What says nothing is not there.
    fn entries<'n>(&mut self, section: &'n Node, name: &str) -> Vec<(&'n Entry, String)> {
        let entries = match &section.data {
            Data::Table(entries) => entries,
            Data::Nothing => return Vec::new(),
            _ => {
                self.expected(section, name, "a section");
                return Vec::new();
            }
        };
        if self.is_too_long(section.line, name, entries.len()) {
            return Vec::new();
        }
        let mut taken: Vec<(&Entry, String)> = Vec::new();
        for entry in entries {
            let key = format!("{name}.{}", entry.key);
            if let Some((before, _)) = taken.iter().find(|(before, _)| before.key == entry.key) {
                let words = format!("`{key}` is set twice, first in line {}", before.line);
                self.wrong(entry.line, &key, words);
            } else if entry.value.data == Data::Nothing {
                self.ignore(entry.line, &key, format!("`{key}` says nothing"));
            } else {
                taken.push((entry, key));
            }
        }
        taken
    }

    fn budget(&mut self, section: &Node) {
        for (entry, key) in self.entries(section, &format!("{NAME}.attention_budget")) {
            let tokens = |reading: &mut Self| reading.number(&key, &entry.value, TOKENS);
            match entry.key.as_str() {
                "single_search" => self.said.layer.single_search = tokens(self),
                "accumulated" => self.said.layer.accumulated = tokens(self),
                "session_total" => self.said.layer.session_total = tokens(self),
                _ => {
                    self.unknown(entry.line, &key, &entry.key, &BUDGET);
                    continue;
                }
            }
            self.said.lines.insert(format!("attention_budget.{}", entry.key), entry.line);
        }
    }

    fn artifacts(&mut self, section: &Node) {
        for (entry, key) in self.entries(section, &format!("{NAME}.artifacts")) {
            let mut artifact = Artifact::default();
            for (entry, key) in self.entries(&entry.value, &key) {
                let patterns = |reading: &mut Self| reading.names(&key, &entry.value).unwrap_or_default();
                match entry.key.as_str() {
                    "tools" => artifact.tools = patterns(self),
                    "paths" => artifact.paths = patterns(self),
                    "commands" => artifact.commands = patterns(self),
                    "texts" => artifact.texts = patterns(self),
                    _ => self.unknown(entry.line, &key, &entry.key, &ARTIFACT),
                }
            }
            if artifact == Artifact::default() {
                let words = format!("`{key}` needs at least one of {}", ARTIFACT.join(", "));
                self.wrong(entry.line, &key, words);
            }
            if self.speaker == Speaker::Skill && artifacts::KNOWN.contains(&&*entry.key) {
                self.ignore(entry.line, &key, "a skill cannot change what this name means; this is ignored");
                continue;
            }
            self.said.lines.insert(format!("artifacts.{}", entry.key), entry.line);
            self.said.layer.artifacts.insert(entry.key.clone(), artifact);
        }
    }

    /// Ours have fixed names, and come when it is cleared.
    fn signals(&mut self, section: &Node) {
        for (entry, key) in self.entries(section, &format!("{NAME}.runtime_signals")) {
            let usual = SIGNALS.iter().find(|(key, _)| *key == entry.key).map(|(_, name)| *name);
            match (usual, &entry.value.data) {
                (Some(name), Data::Text(text)) if name == text => {}
                (Some(name), _) => self.ignore(entry.line, &key, format!("the signal is always called {name}")),
                (None, _) => self.ignore(entry.line, &key, format!("`{key}` is not used")),
            }
        }
    }

    fn targets(&mut self, key: &str, value: &Node) -> Option<Vec<Target>> {
        let names = Target::ALL.map(Target::name);
        let Data::List(items) = &value.data else {
            self.expected(value, key, &format!("a list of {}", names.join(", ")));
            return None;
        };
        if self.is_too_long(value.line, key, items.len()) {
            return None;
        }
        let mut targets = Vec::new();
        for item in items {
            let target = self.one_of(key, item, &Target::ALL, Target::name)?;
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        Some(targets)
    }

    fn one_of<T: Copy>(&mut self, key: &str, value: &Node, all: &[T], name: fn(T) -> &'static str) -> Option<T> {
        let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        let Data::Text(text) = &value.data else {
            self.expected(value, key, &format!("one of {}", names.join(", ")));
            return None;
        };
        let found = all.iter().find(|one| name(**one) == text);
        if found.is_none() {
            let near = did_you_mean(text, &names);
            let words = format!("`{key}` cannot be `{text}`{near}; allowed: {}", names.join(", "));
            self.wrong(value.line, key, words);
        }
        found.copied()
    }

    fn number(&mut self, key: &str, value: &Node, range: RangeInclusive<u64>) -> Option<u64> {
        let number = match &value.data {
            Data::Whole(number) => u64::try_from(*number).ok().filter(|number| range.contains(number)),
            _ => None,
        };
        if number.is_none() {
            self.expected(value, key, &format!("a whole number from {} to {}", range.start(), range.end()));
        }
        number
    }

    fn switch(&mut self, key: &str, value: &Node) -> Option<bool> {
        match &value.data {
            Data::Switch(switch) => Some(*switch),
            _ => {
                self.expected(value, key, "true or false");
                None
            }
        }
    }

    fn text(&mut self, key: &str, value: &Node) -> Option<String> {
        match &value.data {
            Data::Text(text) if !text.trim().is_empty() && text.len() <= LONGEST_TEXT && !text.contains('\0') => {
                Some(text.trim().to_owned())
            }
            Data::Text(_) => {
                self.wrong(value.line, key, format!("`{key}` must be a text of 1 to {LONGEST_TEXT} bytes"));
                None
            }
            _ => {
                self.expected(value, key, "a text");
                None
            }
        }
    }

    fn names(&mut self, key: &str, value: &Node) -> Option<Vec<String>> {
        let Data::List(items) = &value.data else {
            self.expected(value, key, "a list of names");
            return None;
        };
        if self.is_too_long(value.line, key, items.len()) {
            return None;
        }
        let mut names: Vec<String> = Vec::new();
        for item in items {
            match &item.data {
                Data::Text(name) if name.trim().is_empty() || name.len() > LONGEST_NAME => {
                    let words = format!("`{key}` must be a list of names of 1 to {LONGEST_NAME} bytes");
                    self.wrong(item.line, key, words);
                }
                Data::Text(name) if names.iter().any(|known| known == name.trim()) => {}
                Data::Text(name) => names.push(name.trim().to_owned()),
                _ => self.expected(item, key, "a list of names"),
            }
        }
        Some(names)
    }

    /// Absolute, or in the project.
    fn ledger(&mut self, key: &str, value: &Node) -> Option<String> {
        let text = self.text(key, value)?;
        let path = Path::new(&text);
        let climbs = path.components().any(|part| matches!(part, Component::ParentDir));
        if climbs || text.starts_with('~') || path.file_name().is_none() || text.ends_with(['/', '\\']) {
            let words =
                format!("`{key}` must be a file in the project, such as \"NOTES.md\", or a whole path without `..`");
            self.wrong(value.line, key, words);
            return None;
        }
        Some(text)
    }

    /// Nothing leaves this machine. Its value is not repeated: there may be a secret in it.
    fn webhook(&mut self, key: &str, value: &Node) -> Option<String> {
        let text = self.text(key, value)?;
        let is_here = text.parse::<http::Uri>().is_ok_and(|uri| {
            let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
            uri.scheme_str() == Some("http") && !has_user && uri.host().is_some_and(crate::project::is_this_machine)
        });
        if !is_here {
            let words = format!("`{key}` must be an address on this machine, such as \"http://127.0.0.1:9000/hook\"");
            self.wrong(value.line, key, words);
            return None;
        }
        Some(text)
    }

    fn is_too_long(&mut self, line: usize, key: &str, number: usize) -> bool {
        if number > MOST {
            self.wrong(line, key, format!("`{key}` must hold at most {MOST}, not {number}"));
        }
        number > MOST
    }

    fn expected(&mut self, value: &Node, key: &str, expected: &str) {
        let found = match &value.data {
            Data::Whole(number) => number.to_string(),
            Data::Fraction(number) => number.clone(),
            _ => value.kind().to_owned(),
        };
        self.wrong(value.line, key, format!("`{key}` must be {expected}, not {found}"));
    }

    fn unknown(&mut self, line: usize, key: &str, name: &str, known: &[&str]) {
        let near = did_you_mean(name, known);
        match self.speaker {
            Speaker::Person | Speaker::Project => {
                self.wrong(line, key, format!("`{key}` is unknown{near}; known keys: {}", known.join(", ")));
            }
            Speaker::Yaml | Speaker::Skill => {
                self.ignore(line, key, format!("`{key}` is unknown to this version and is ignored{near}"));
            }
        }
    }

    fn wrong(&mut self, line: usize, key: &str, words: impl Into<String>) {
        self.said.wrong.push(Remark { line, key: key.to_owned(), words: words.into() });
    }

    fn ignore(&mut self, line: usize, key: &str, words: impl Into<String>) {
        self.said.ignored.push(Remark { line, key: key.to_owned(), words: words.into() });
    }
}

fn did_you_mean(name: &str, known: &[&str]) -> String {
    nearest(name, known.iter().copied()).first().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
