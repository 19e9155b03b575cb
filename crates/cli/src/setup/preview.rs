//! The preview of a change of settings.

use std::borrow::Cow;

use crate::output::difference::{self, Line};
use crate::output::{Paint, text};
use ctx_clients::setup::Change;

/// Context lines around a change.
const AROUND: usize = 2;
/// The maximum length of a line.
const LONGEST: usize = 400;
/// Lines to show of a file that is created or removed.
const BEGINNING: usize = 6;

pub fn difference(change: &Change, paint: &Paint) -> String {
    let (before, after) = (change.before.as_deref().unwrap_or_default(), change.after.as_deref().unwrap_or_default());
    let lines = difference::lines(before, after);
    let is_change = |line: Option<&Line>| line.is_some_and(|line| !matches!(line, Line::Both(_)));
    let is_near = |at: usize| (at.saturating_sub(AROUND)..=at + AROUND).any(|at| is_change(lines.get(at)));
    let what = match change.kind() {
        "made" => " (new)",
        "removed" => " (removed)",
        _ => "",
    };
    let mut shown = format!("{}{what}\n", paint.strong(&text::line(&change.path.display().to_string())));
    let is_whole = matches!(change.kind(), "made" | "removed");
    if let Some(more) = lines.len().checked_sub(BEGINNING).filter(|more| is_whole && *more > BEGINNING) {
        shown.extend(lines.iter().take(BEGINNING).map(|line| told(line, paint)));
        shown.push_str(&format!("  {}\n", paint.faint(&format!("… and {more} more lines"))));
        return shown;
    }
    let mut was_near = true;
    for (at, line) in lines.iter().enumerate() {
        let now_near = is_near(at);
        match (now_near, was_near) {
            (true, _) => shown.push_str(&told(line, paint)),
            (false, true) => shown.push_str(&format!("  {}\n", paint.faint("…"))),
            (false, false) => {}
        }
        was_near = now_near;
    }
    shown
}

fn told(line: &Line, paint: &Paint) -> String {
    let safe = |line: &str| text::fit(text::block(&masked(line)).trim_end(), LONGEST);
    match line {
        Line::Both(line) => format!("    {}\n", paint.faint(&safe(line))),
        Line::Old(line) => format!("  {}\n", paint.bad(&format!("- {}", safe(line)))),
        Line::New(line) => format!("  {}\n", paint.good(&format!("+ {}", safe(line)))),
    }
}

/// A line of settings with secrets masked: values whose name suggests one, and passwords in addresses.
fn masked(line: &str) -> Cow<'_, str> {
    // NAME=value, name: value and name = value, as in variables, YAML and TOML.
    if let Some((name, value)) = line.split_once(['=', ':'])
        && !name.contains('"')
        && !value.trim().is_empty()
    {
        let name = name.trim().trim_start_matches("export ").trim_matches('\'');
        if ctx_server::is_secret_name(name) || has_password(value) {
            return Cow::Owned(line.replacen(value, " …", 1));
        }
    }
    // "name": "value", as in JSON. Escapes only make a name or value look longer.
    let quotes: Vec<usize> = line.match_indices('"').map(|(at, _)| at).filter(|at| !is_escaped(line, *at)).collect();
    let mut hidden = line.to_owned();
    for four in quotes.windows(4).rev() {
        let [a, b, c, d] = four else { continue };
        let part = |from: usize, to: usize| line.get(from..to).unwrap_or_default();
        let is_pair = part(b + 1, *c).trim() == ":";
        let value = part(c + 1, *d);
        if is_pair && !value.is_empty() && (ctx_server::is_secret_name(part(a + 1, *b)) || has_password(value)) {
            hidden.replace_range(c + 1..*d, "…");
        }
    }
    if hidden == line { Cow::Borrowed(line) } else { Cow::Owned(hidden) }
}

fn has_password(value: &str) -> bool {
    value.split_once("://").is_some_and(|(_, rest)| rest.split('/').next().unwrap_or_default().contains('@'))
}

fn is_escaped(line: &str, at: usize) -> bool {
    let before = line.get(..at).unwrap_or_default();
    (before.len() - before.trim_end_matches('\\').len()) % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        let line = r#"{"env": {"ANTHROPIC_API_KEY": "sk-\"hush", "A": "b", "ANTHROPIC_AUTH_TOKEN":"hush"}, "key": ""}"#;
        assert_eq!(
            masked(line),
            r#"{"env": {"ANTHROPIC_API_KEY": "…", "A": "b", "ANTHROPIC_AUTH_TOKEN":"…"}, "key": ""}"#
        );
        assert_eq!(masked(r#""ANTHROPIC_BASE_URL": "https://me:hush@gw.example/x","#), r#""ANTHROPIC_BASE_URL": "…","#);
        assert_eq!(masked(r#""command": "ctx status-line""#), r#""command": "ctx status-line""#);
        assert_eq!(masked("export GEMINI_API_KEY=hush"), "export GEMINI_API_KEY= …");
        assert_eq!(masked("openai-api-key: hush"), "openai-api-key: …");
        assert_eq!(masked("OPENAI_HOST: http://me:hush@h/"), "OPENAI_HOST: …");
        assert_eq!(masked("experimental_bearer_token = \"hush\""), "experimental_bearer_token = …");
        assert_eq!(masked("OPENAI_HOST: http://h/"), "OPENAI_HOST: http://h/");
    }
}
