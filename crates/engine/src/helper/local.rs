//! Texts without a model: the informative lines of a long text; for a part of the conversation, the question, the
//! actions and the outcome.

use super::clean::{cut, without_marks};
use super::material::{Material, Piece};
use super::{Nonsense, clean};
use ctx_api::helper::Kind;

/// The longest line that is not shortened.
const LINE: usize = 200;

/// The text by ctx itself, if it is shorter than its material.
pub fn words(kind: Kind, material: &Material) -> Result<String, Nonsense> {
    let text = match kind {
        Kind::Summary => summary(material),
        Kind::Result => material.pieces.first().map(result).unwrap_or_default(),
        Kind::Title => title(material),
    };
    // A short part costs more than its words, because calls and results have structure.
    let shape = if kind == Kind::Summary { 60 * material.pieces.len() } else { 0 };
    clean(kind, &text, material.chars() + shape)
}

/// The informative lines of a tool result.
fn result(piece: &Piece) -> String {
    const ENDS: usize = 5;
    const TELLING: usize = 16;
    let lines: Vec<&str> = piece.text.lines().collect();
    let chars = piece.text.chars().count();
    let of = piece.label.as_deref().map(|label| format!(" of {}", cut(label, 80))).unwrap_or_default();
    let failed = if piece.is_error { ", it failed" } else { "" };
    let mut out = format!("[Extract{of}: {}, {chars} characters{failed}]\n", plural(lines.len(), "line"));
    if lines.len() <= 2 * ENDS + 2 {
        let most = (chars / 3).clamp(80, 1_200);
        out.push_str(&cut(piece.text.trim(), most));
        return out;
    }
    let (head, rest) = lines.split_at(ENDS);
    let (middle, tail) = rest.split_at(rest.len() - ENDS);
    head.iter().for_each(|line| push(&mut out, line));
    let mut telling: Vec<(usize, usize, &str)> =
        middle.iter().enumerate().filter_map(|(at, line)| Some((weight(line)?, at + ENDS + 1, *line))).collect();
    telling.sort_by_key(|(weight, at, _)| (std::cmp::Reverse(*weight), *at));
    telling.dedup_by_key(|(_, _, line)| line.trim());
    telling.truncate(TELLING);
    telling.sort_by_key(|(_, at, _)| *at);
    out.push_str(&format!(
        "… {} left out{}\n",
        plural(middle.len() - telling.len(), "line"),
        if telling.is_empty() { "" } else { "; kept:" }
    ));
    telling.iter().for_each(|(_, at, line)| push(&mut out, &format!("{at}: {}", line.trim())));
    if !telling.is_empty() {
        out.push_str("…\n");
    }
    tail.iter().for_each(|line| push(&mut out, line));
    out
}

fn push(out: &mut String, line: &str) {
    out.push_str(&cut(line.trim_end(), LINE));
    out.push('\n');
}

/// The information value of a line, if any: failure, outcome, subject, place.
fn weight(line: &str) -> Option<usize> {
    let line = line.trim();
    let low = line.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| low.contains(word));
    if line.is_empty() || line.starts_with("[Extract") {
        None
    } else if has(&["error", "panic", "fail", "exception", "fatal", "traceback", "denied", "cannot", "not found"]) {
        Some(4)
    } else if has(&["warning", "test result", "passed", "total", "summary", "exit code", "finished"]) {
        Some(3)
    } else if is_heading(line) {
        Some(2)
    } else {
        (!paths(line).is_empty()).then_some(1)
    }
}

/// A Markdown heading, or the beginning of a definition.
fn is_heading(line: &str) -> bool {
    const OPENERS: [&str; 16] = [
        "fn ",
        "pub ",
        "struct ",
        "enum ",
        "trait ",
        "impl ",
        "mod ",
        "class ",
        "def ",
        "function ",
        "export ",
        "interface ",
        "type ",
        "func ",
        "@@ ",
        "diff ",
    ];
    let hashes = line.trim_start_matches('#');
    (hashes.len() < line.len() && hashes.starts_with(' ')) || OPENERS.iter().any(|opener| line.starts_with(opener))
}

/// Words that look like file paths.
fn paths(text: &str) -> Vec<&str> {
    let is_path = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
            !stem.is_empty()
                && (1..=5).contains(&ending.len())
                && ending.chars().all(char::is_alphanumeric)
                && ending.chars().any(char::is_alphabetic)
        });
        has_ending && word.contains('/') && !word.contains("://") && word.chars().count() < 160
    };
    let bare =
        |word| str::trim_matches(word, |c: char| !c.is_alphanumeric() && !matches!(c, '/' | '.' | '_' | '-' | '~'));
    text.split([' ', '\t', '\n', '"', '\'', '(', ')', ':', ',', '`']).map(bare).filter(is_path).collect()
}

/// The question, the actions and the outcome.
fn summary(material: &Material) -> String {
    let texts = |role: &'static str| {
        material
            .pieces
            .iter()
            .filter(move |piece| piece.role == role && piece.kind == "text" && !piece.text.trim().is_empty())
    };
    let mut out = String::new();
    for (at, asked) in texts("user").enumerate().take(6) {
        let (word, most) = if at == 0 { ("Asked", 500) } else { ("Then", 200) };
        out.push_str(&format!("{word}: {}\n", cut(&one_line(&asked.text), most)));
    }
    let deeds = deeds(material, 6);
    if !deeds.is_empty() {
        out.push_str(&format!("Done: {deeds}\n"));
    }
    let files = files(material);
    if !files.is_empty() {
        out.push_str(&format!("Files: {}\n", files.join(", ")));
    }
    let errors = errors(material);
    if !errors.is_empty() {
        out.push_str(&format!(
            "Errors on the way:\n{}",
            errors.iter().map(|line| format!("- {line}\n")).collect::<String>()
        ));
    }
    let said: Vec<&Piece> = texts("assistant").collect();
    if let [earlier @ .., last] = said.as_slice() {
        let finds: Vec<String> = earlier
            .iter()
            .filter(|piece| piece.text.len() > 80)
            .map(|piece| cut(&one_line(&piece.text), 160))
            .collect();
        let skipped = finds.len().saturating_sub(4);
        finds.iter().skip(skipped).for_each(|line| out.push_str(&format!("Said: {line}\n")));
        out.push_str(&format!("Outcome: {}\n", ends(last.text.trim(), 900)));
    }
    let results = material.pieces.iter().filter(|piece| piece.kind == "tool_result");
    let lines: usize = results.map(|piece| piece.text.lines().count()).sum();
    if lines > 0 {
        out.push_str(&format!("({} of tool results left out)\n", plural(lines, "line")));
    }
    // Words of tools would be read as the user's here: they must not look like markup.
    without_marks(&out)
}

/// `Read ×3 (a.rs, b.rs), Bash (cargo test)`.
fn deeds(material: &Material, most: usize) -> String {
    let mut tools: Vec<(&str, usize, Vec<String>)> = Vec::new();
    for call in material.pieces.iter().filter(|piece| piece.kind == "tool_use") {
        let name = call.tool.as_deref().unwrap_or("tool");
        let at = tools.iter().position(|(tool, ..)| *tool == name).unwrap_or_else(|| {
            tools.push((name, 0, Vec::new()));
            tools.len() - 1
        });
        let Some((_, count, labels)) = tools.get_mut(at) else { continue };
        *count += 1;
        let label = call.label.as_deref().map(|label| cut(&one_line(label), 60));
        labels.extend(label.filter(|label| labels.len() < 3 && !labels.contains(label)));
    }
    let told = tools.iter().take(most).map(|(name, count, labels)| {
        let times = if *count > 1 { format!(" ×{count}") } else { String::new() };
        let labels = if labels.is_empty() { String::new() } else { format!(" ({})", labels.join(", ")) };
        format!("{name}{times}{labels}")
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Files named in calls and text, most frequent first.
fn files(material: &Material) -> Vec<String> {
    let mut found: Vec<(&str, usize)> = Vec::new();
    // Content that the client adds by itself names files that the work did not touch.
    let speaks = |piece: &&Piece| !matches!(piece.kind.as_str(), "tool_result" | "reminder");
    for piece in material.pieces.iter().filter(speaks) {
        for path in paths(&piece.text) {
            if let Some((_, count)) = found.iter_mut().find(|(other, _)| *other == path) {
                *count += 1;
            } else if found.len() < 200 {
                found.push((path, 1));
            }
        }
    }
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found.into_iter().take(10).map(|(path, _)| path.to_owned()).collect()
}

fn errors(material: &Material) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in material.pieces.iter().filter(|piece| piece.kind == "tool_result") {
        let telling = piece.text.lines().find(|line| weight(line) == Some(4));
        let first = telling
            .or_else(|| piece.text.lines().find(|line| !line.starts_with("[Extract")).filter(|_| piece.is_error));
        let line =
            first.filter(|_| piece.is_error || telling.is_some_and(|line| line.to_lowercase().starts_with("error")));
        lines.extend(
            line.map(|line| cut(&one_line(line), 160)).filter(|line| !line.is_empty() && !lines.contains(line)),
        );
    }
    let skipped = lines.len().saturating_sub(5);
    lines.split_off(skipped)
}

/// The first and last lines of a text.
fn ends(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let start = cut(text, most * 2 / 3);
    let tail: String = text.chars().rev().take(most / 3).collect::<Vec<_>>().into_iter().rev().collect();
    let tail = tail.split_once([' ', '\n']).map_or(tail.as_str(), |(_, rest)| rest);
    format!("{start}\n{tail}")
}

/// The opening words, and the actions if those say little.
fn title(material: &Material) -> String {
    const POLITE: [&str; 8] = ["please ", "can you ", "could you ", "now ", "ok, ", "okay, ", "hi, ", "hello, "];
    let opening = material.pieces.iter().find(|piece| piece.role == "user" && piece.kind == "text");
    let mut words = one_line(opening.map_or(material.title.as_str(), |piece| piece.text.as_str()));
    while let Some(polite) =
        POLITE.iter().find(|polite| words.get(..polite.len()).is_some_and(|start| start.eq_ignore_ascii_case(polite)))
    {
        words.drain(..polite.len());
    }
    let sentence = words.split_inclusive(['.', '?', '!']).next().filter(|first| first.split(' ').count() > 2);
    let words = cut(sentence.unwrap_or(&words).trim_end_matches(['.', '!', ' ']), 60);
    let mut letters = words.chars();
    let words: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    let deeds = deeds(material, 2);
    match words.split(' ').filter(|word| !word.is_empty()).count() {
        0 => deeds,
        1..=3 if !deeds.is_empty() => format!("{words}: {deeds}"),
        _ => words,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

#[cfg(test)]
mod tests;
