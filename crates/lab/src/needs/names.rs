//! Paths and identifiers in a reply.

use super::blocks::{Block, What};
use super::{calls, calls_of};
use serde_json::Value;

const SHORTEST: usize = 6;
/// Longer than any path or identifier, and than any quotation with one.
const LONGEST: usize = 300;

/// The names in the calls of a reply and in the backticks of its text, each once, in order.
pub(super) fn used(blocks: &[Block]) -> Vec<String> {
    let mut names = Vec::new();
    for block in blocks.iter().filter(|block| matches!(block.what, What::Said)) {
        quoted(&block.text, &mut names);
    }
    for (_, _, input) in calls_of(blocks) {
        in_input("", input, &mut names);
    }
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

pub(super) fn is_name(word: &str) -> bool {
    let inner = |letter: char| matches!(letter, '/' | '_' | '.' | '-') || letter.is_uppercase();
    let count = word.chars().count();
    let shaped = word.chars().skip(1).take(count.saturating_sub(2)).any(inner);
    (SHORTEST..=LONGEST).contains(&count) && (shaped || word.contains(|letter: char| letter.is_ascii_digit()))
}

fn in_input(key: &str, value: &Value, names: &mut Vec<String>) {
    match value {
        Value::String(_) if calls::is_written(key) => {}
        Value::String(text) if calls::is_command(key) => in_command(&calls::without_documents(text), names),
        // Prose uses many words freely; it quotes those it takes from earlier text.
        Value::String(text) if text.trim().contains(char::is_whitespace) && !key.contains("pattern") => {
            quoted(text, names)
        }
        Value::String(text) => in_words(text, names),
        Value::Array(values) => values.iter().for_each(|value| in_input(key, value, names)),
        Value::Object(fields) => {
            let read = fields.iter().filter(|(key, _)| !calls::is_written(key));
            read.for_each(|(key, value)| in_input(key, value, names));
        }
        _ => {}
    }
}

/// The words of a command without its programs and options.
fn in_command(command: &str, names: &mut Vec<String>) {
    for line in command.lines() {
        for simple in line.split(['|', ';', '&']) {
            let mut words = simple.split_whitespace().skip_while(|word| is_setting(word));
            if let Some(program) = words.next().filter(|word| word.contains('/')) {
                in_words(program, names);
            }
            for word in words {
                match word.strip_prefix('-') {
                    Some(option) => in_words(option.split_once('=').map_or("", |(_, value)| value), names),
                    None => in_words(word, names),
                }
            }
        }
    }
}

fn is_setting(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric()))
}

fn in_words(text: &str, names: &mut Vec<String>) {
    let inside = |letter: char| matches!(letter, '/' | '_' | '.' | '-') || letter.is_alphanumeric();
    for word in text.split(|letter: char| !inside(letter)) {
        let mut word = word.trim_end_matches(['.', '-', '/']).trim_start_matches('-');
        while let Some(rest) = ["/", "./", "../"].iter().find_map(|start| word.strip_prefix(start)) {
            word = rest;
        }
        if is_name(word) && word != "dev/null" {
            names.push(word.to_owned());
        }
    }
}

/// The names in the backticks of a text; code blocks are written, not quoted.
fn quoted(text: &str, names: &mut Vec<String>) {
    for (index, part) in text.split("```").enumerate() {
        if index % 2 == 0 {
            for line in part.lines() {
                let spans = line.split('`').skip(1).step_by(2);
                spans.filter(|span| span.len() <= LONGEST).for_each(|span| in_words(span, names));
            }
        }
    }
}
