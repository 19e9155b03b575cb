//! Text that resembles what agents read and write: sentences, code, listings, logs. Invented, and about as compressible
//! and as full of escapes as real text.

use super::Random;

pub(super) const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const WORDS: &[&str] = &[
    "the", "a", "of", "in", "to", "and", "when", "with", "before", "after", "without", "each", "request", "response",
    "parser", "buffer", "token", "frame", "cache", "stream", "handler", "index", "value", "result", "error", "message",
    "session", "client", "server", "module", "function", "branch", "commit", "test", "failure", "retry", "timeout",
    "limit", "queue", "worker", "lock", "border", "naïve", "café", "length", "offset", "reads", "writes", "keeps",
    "drops", "returns", "holds", "checks", "waits", "splits", "joins", "empty", "stale", "slow",
];

const NAMES: &[&str] = &[
    "config", "reader", "writer", "session", "router", "ledger", "cursor", "window", "policy", "shape", "anchor",
    "signal", "bridge", "column", "digest", "folder", "glyph", "harbor",
];

pub(super) fn name(random: &mut Random) -> &'static str {
    random.pick(NAMES).copied().unwrap_or("name")
}

pub(super) fn path(random: &mut Random) -> String {
    let (folder, file) = (name(random), name(random));
    let kind = random.pick(&["rs", "ts", "py", "md", "toml"]).copied();
    format!("/home/user/project/{folder}/{file}_{}.{}", random.below(40), kind.unwrap_or("rs"))
}

pub(super) fn sentence(random: &mut Random) -> String {
    let length = random.between(6, 18);
    let words: Vec<&str> = (0..length).filter_map(|_| random.pick(WORDS).copied()).collect();
    let mut text = words.join(" ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text.push('.');
    text
}

pub(super) fn paragraph(random: &mut Random, sentences: usize) -> String {
    let sentences: Vec<String> = (0..sentences).map(|_| sentence(random)).collect();
    sentences.join(" ")
}

/// At least `bytes` of paragraphs with headings and lists.
pub(super) fn document(random: &mut Random, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        if random.chance(30) {
            text.push_str(&format!("# {}\n", name(random)));
        }
        let bullet = if random.chance(40) { " - " } else { "" };
        let sentences = random.between(1, 5);
        text.push_str(&format!("{bullet}{}\n", paragraph(random, sentences)));
    }
    text
}

/// A file as the Read tool shows it: numbered lines of code.
pub(super) fn source(random: &mut Random, bytes: usize) -> String {
    let mut text = String::new();
    let mut line = 1;
    while text.len() < bytes {
        let (one, two) = (name(random), name(random));
        let depth = "    ".repeat(random.below(4));
        let code = match random.below(7) {
            0 => format!("fn {one}_{two}(&self, {one}: &str) -> Result<usize, Error> {{"),
            1 => format!("let {one} = self.{two}.get(\"{one}\\n\").unwrap_or({});", random.below(999)),
            2 => format!("// {}", sentence(random)),
            3 => "}".to_owned(),
            4 => String::new(),
            5 => format!("if {one}.len() > {} && !{two} {{ return Err(\"{two}\".into()); }}", random.below(99)),
            _ => format!("{one}.push({two}[{}]);\t// {one}", random.below(64)),
        };
        text.push_str(&format!("{line:6}\t{depth}{code}\n"));
        line += 1;
    }
    text
}

/// The output of a command.
pub(super) fn log(random: &mut Random, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        let path = path(random);
        let line = match random.below(4) {
            0 => format!("{path}:{}:    {}", random.below(900), sentence(random)),
            1 => format!("test {}::{} ... ok", name(random), name(random)),
            2 => format!("warning: unused `{}` \u{2192} {path}", name(random)),
            _ => format!("{} {:>8} {path}", random.hex(8), random.below(99_999)),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}
