//! `[context_editing.provider]`: what the provider shall clear or summarise by itself, for which projects, models and
//! agents.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use ctx_wire::anthropic::context_management::{Agents, Inputs, Keep, Rules, Trigger, Wish};
use toml::de::DeValue;

use super::super::file::{Reader, Value};
use crate::failure::Failure;

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
}

/// All that files say, the weaker first, each with the project whose own it is: what it says counts there.
pub fn rules<'f>(files: impl IntoIterator<Item = (Option<&'f Path>, &'f ProviderFile)>) -> Rules {
    let mut rules = Rules::default();
    for (own, provider) in files {
        if provider.wish != Wish::default() {
            rules.add(own.map(Path::to_owned), provider.wish.clone());
        }
        // The deeper folder is the stronger voice.
        let mut projects: Vec<_> = provider.projects.iter().collect();
        projects.sort_by_key(|(folder, _)| folder.components().count());
        for (folder, wish) in projects {
            // A project decides nothing for others.
            if own.is_none_or(|own| folder.starts_with(own)) {
                rules.add(Some(folder.clone()), wish.clone());
            }
        }
    }
    rules
}

/// What `[context_editing]` says of it.
pub(in crate::config) fn of(reader: &Reader<'_>, section: &Value<'_>) -> Result<ProviderFile, Failure> {
    section.get_ref().get("provider").map_or_else(|| Ok(ProviderFile::default()), |value| read(reader, value))
}

fn read(reader: &Reader<'_>, section: &Value<'_>) -> Result<ProviderFile, Failure> {
    let mut file = ProviderFile::default();
    for (key, value) in reader.section(NAME, section)? {
        let key_name = key.get_ref().as_ref();
        if key_name == "projects" {
            for (folder, value) in reader.section(&format!("{NAME}.projects"), value)? {
                let name = format!("{NAME}.projects.\"{}\"", folder.get_ref());
                let path = Path::new(folder.get_ref().as_ref());
                if !path.is_absolute() {
                    let why = format!("`{name}` must be a whole path, such as \"/home/me/project\"");
                    return Err(reader.refuse(folder.span(), why));
                }
                let mut wish = Wish::default();
                for (key, value) in reader.section(&name, value)? {
                    let field = format!("{name}.{}", key.get_ref());
                    let known = take(&mut wish, reader, key.get_ref(), &field, value)?;
                    check_known(known, reader, key.span(), &field, SIMPLE)?;
                }
                file.projects.push((path.components().collect(), wish));
            }
            continue;
        }
        let field = format!("{NAME}.{key_name}");
        let known = take(&mut file.wish, reader, key_name, &field, value)?;
        check_known(known, reader, key.span(), &field, &format!("{SIMPLE}, projects"))?;
    }
    Ok(file)
}

/// False: there is no such key.
fn take(wish: &mut Wish, reader: &Reader<'_>, key: &str, field: &str, value: &Value<'_>) -> Result<bool, Failure> {
    match key {
        "enabled" => wish.enabled = Some(reader.switch(field, value)?),
        "models" => wish.models = Some(names(reader, field, value, "\"claude-opus-*\"")?),
        "agents" => wish.agents = Some(agents(reader, field, value)?),
        "clear_tool_uses" => {
            let tools = &mut wish.clear_tool_uses;
            for (key, value) in reader.section(field, value)? {
                let field = format!("{field}.{}", key.get_ref());
                let count = |range| number(reader, &field, value, range).map(Some);
                match key.get_ref().as_ref() {
                    "enabled" => tools.enabled = Some(reader.switch(&field, value)?),
                    "trigger" => tools.trigger = Some(trigger(reader, &field, value, 1, true)?),
                    "keep" => tools.keep = count(0..=MOST_ITEMS)?,
                    "clear_at_least" => tools.clear_at_least = count(0..=MOST_TOKENS)?,
                    "exclude_tools" => tools.exclude_tools = Some(names(reader, &field, value, "\"Read\"")?),
                    "clear_tool_inputs" => tools.clear_tool_inputs = Some(inputs(reader, &field, value)?),
                    _ => {
                        let all = "enabled, trigger, keep, clear_at_least, exclude_tools, clear_tool_inputs";
                        check_known(false, reader, key.span(), &field, all)?;
                    }
                }
            }
        }
        "clear_thinking" => {
            for (key, value) in reader.section(field, value)? {
                let field = format!("{field}.{}", key.get_ref());
                match key.get_ref().as_ref() {
                    "enabled" => wish.clear_thinking.enabled = Some(reader.switch(&field, value)?),
                    "keep" => wish.clear_thinking.keep = Some(keep(reader, &field, value)?),
                    _ => check_known(false, reader, key.span(), &field, "enabled, keep")?,
                }
            }
        }
        "compact" => {
            for (key, value) in reader.section(field, value)? {
                let field = format!("{field}.{}", key.get_ref());
                match key.get_ref().as_ref() {
                    "enabled" => wish.compact.enabled = Some(reader.switch(&field, value)?),
                    "trigger" => wish.compact.trigger = Some(trigger(reader, &field, value, LEAST_COMPACT, false)?),
                    "instructions" => wish.compact.instructions = Some(instructions(reader, &field, value)?),
                    _ => check_known(false, reader, key.span(), &field, "enabled, trigger, instructions")?,
                }
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn check_known(
    known: bool,
    reader: &Reader<'_>,
    span: std::ops::Range<usize>,
    field: &str,
    all: &str,
) -> Result<(), Failure> {
    if known { Ok(()) } else { Err(reader.refuse(span, format!("`{field}` is not known; there are {all}"))) }
}

fn number(reader: &Reader<'_>, field: &str, value: &Value<'_>, range: RangeInclusive<u64>) -> Result<u64, Failure> {
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
) -> Result<Trigger, Failure> {
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

fn keep(reader: &Reader<'_>, field: &str, value: &Value<'_>) -> Result<Keep, Failure> {
    let why = format!("`{field}` must be \"all\", or a number of turns from 1 to {MOST_ITEMS}");
    match value.get_ref() {
        DeValue::String(text) if text == "all" => Ok(Keep::All),
        DeValue::Integer(_) => number(reader, field, value, 1..=MOST_ITEMS).map(Keep::Turns),
        _ => Err(reader.refuse(value.span(), &why)),
    }
    .map_err(|_| reader.refuse(value.span(), &why))
}

fn inputs(reader: &Reader<'_>, field: &str, value: &Value<'_>) -> Result<Inputs, Failure> {
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

fn agents(reader: &Reader<'_>, field: &str, value: &Value<'_>) -> Result<Agents, Failure> {
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

fn names(reader: &Reader<'_>, field: &str, value: &Value<'_>, such_as: &str) -> Result<Vec<String>, Failure> {
    let names = reader.texts(field, value)?;
    if names.iter().any(|name| name.trim().is_empty() || name.len() > 256) {
        let why = format!("`{field}` must be a list of names such as {such_as}; one is empty or too long");
        return Err(reader.refuse(value.span(), why));
    }
    Ok(names.into_iter().map(|name| name.trim().to_owned()).collect())
}

fn instructions(reader: &Reader<'_>, field: &str, value: &Value<'_>) -> Result<String, Failure> {
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
    use ctx_wire::anthropic::context_management::{ClearThinking, ClearToolUses, Compact, Who};
    use toml::de::DeTable;

    fn read(text: &str) -> Result<ProviderFile, Failure> {
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
            ("[context_editing.provider]\nenable = true", 2, "there are enabled, models, agents"),
            ("[context_editing.provider]\nenabled = 1", 2, "must be true or false, not a number"),
            ("[context_editing]\nprovider = 3", 2, "`[context_editing.provider]` must be a section"),
            ("[context_editing.provider]\nclear_tool_uses = { keeps = 3 }", 2, "there are enabled, trigger, keep"),
            ("[context_editing.provider]\n\nclear_tool_uses = { keep = -1 }", 3, "a whole number from 0 to 100000"),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = \"140%\" }", 2, "from \"1%\" to \"100%\""),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = 0 }", 2, "tokens from 1 to"),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = { turns = 3 } }", 2, "{ tool_uses = 50 }"),
            ("[context_editing.provider]\nclear_tool_uses = { trigger = { tool_uses = 0 } }", 2, "from 1 to 100000"),
            ("[context_editing.provider]\nclear_thinking = { keep = 0 }", 2, "\"all\", or a number of turns from 1"),
            ("[context_editing.provider]\nclear_thinking = { keep = \"some\" }", 2, "\"all\", or a number of turns"),
            ("[context_editing.provider]\ncompact = { trigger = 20_000 }", 2, "tokens from 50000 to"),
            ("[context_editing.provider]\ncompact = { instructions = \" \" }", 2, "a text of 1 to"),
            ("[context_editing.provider]\ncompact = { pause = true }", 2, "there are enabled, trigger, instructions"),
            ("[context_editing.provider]\nagents = \"none\"", 2, "\"main\", \"subagents\" or \"all\""),
            ("[context_editing.provider]\nmodels = [\"\"]", 2, "one is empty"),
            ("[context_editing.provider.projects.\"work\"]\nenabled = true", 1, "must be a whole path"),
            ("[context_editing.provider.projects.\"/w\"]\non = true", 2, "there are enabled, models, agents"),
        ] {
            let refused = read(text).expect_err(text).to_string();
            assert!(refused.contains(&format!("line {line}: ")) && refused.contains(told), "{text}: {refused}");
        }
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
        let rules = rules([(None, &home), (Some(Path::new("/srv/p")), &project)]);
        let is_on = |folder| rules.of(&Who { model: "m", folder, is_sub: false }).is_some();
        assert!(is_on(Some("/srv/p/src")) && is_on(Some("/srv/a/c")));
        assert!(!is_on(Some("/srv/a/b/c")) && !is_on(Some("/srv/z")) && !is_on(Some("/else")) && !is_on(None));
    }
}
