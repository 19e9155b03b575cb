//! Verifies documents: runs their commands in order and compares the output. `CTX_BLESS=1` rewrites them.
//!
//! Values that differ between runs are not compared: commit ids (later commands use the current ones), times, hashes
//! and sizes of files, and the home.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::editing::scene::Scene;
use crate::place::finish;

/// The home in the text.
pub const HOME: &str = "/home/you/.local/share/ctx";

#[test]
fn the_walk_through_is_true() {
    let mut scene = Scene::new();
    scene.settle();
    let home = scene.place.home();
    let scene = std::cell::RefCell::new(&mut scene);
    verify(
        "docs/walkthrough.md",
        &home,
        |line| scene.borrow().place.shell(line),
        |words| {
            scene.borrow_mut().next(words);
            scene.borrow().settle();
        },
    );
}

/// Runs the commands of a document in order and compares their output. `ask` lets the agent continue, where a comment
/// says so.
pub fn verify(name: &str, home: &Path, shell: impl Fn(&str) -> Command, ask: impl Fn(&str)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let text = fs::read_to_string(&path).expect("the document");
    let mut walk = Walk { shell, home: home.to_string_lossy().into_owned(), real: HashMap::new(), told: Vec::new() };
    let mut written = String::new();
    let mut lines = text.lines().peekable();
    let (mut inside, mut commands) = (false, 0);
    while let Some(line) = lines.next() {
        let is_command = inside && line.starts_with("$ ");
        if !is_command {
            written.push_str(line);
            written.push('\n');
        }
        if let Some(words) = line.strip_prefix("<!-- the agent is asked: ").and_then(|rest| rest.strip_suffix(" -->")) {
            ask(words);
        }
        inside = if inside { line != "```" } else { line == "```console" };
        let Some(command) = line.strip_prefix("$ ").filter(|_| inside) else { continue };
        commands += 1;
        let mut expected = String::new();
        while let Some(next) = lines.peek().filter(|next| !next.starts_with("$ ") && **next != "```") {
            expected.push_str(next);
            expected.push('\n');
            lines.next();
        }
        let (meant, printed) = walk.run(command, &expected);
        written.push_str(&format!("$ {meant}\n{printed}"));
    }
    assert!(commands > 10, "only {commands} commands");
    if std::env::var_os("CTX_BLESS").is_some() {
        fs::write(&path, written).expect("written");
    } else {
        assert!(walk.told.is_empty(), "{}\n(CTX_BLESS=1 writes {name} anew)", walk.told.join("\n"));
    }
}

struct Walk<S> {
    /// A shell command line.
    shell: S,
    home: String,
    /// Maps each id in the text to the one of this run.
    real: HashMap<String, String>,
    told: Vec<String>,
}

impl<S: Fn(&str) -> Command> Walk<S> {
    /// Runs a command and compares. Returns the command with the ids of this run, and its output.
    fn run(&mut self, command: &str, expected: &str) -> (String, String) {
        let mut meant = command.to_owned();
        for (told, real) in &self.real {
            meant = meant.replace(told, real);
        }
        let mut shell = (self.shell)(&format!("{{ {meant}\n}} 2>&1"));
        shell.env("COLUMNS", "100");
        let printed = finish(shell).out.replace(&self.home, HOME);
        for (told, real) in ids(expected).zip(ids(&printed)) {
            self.real.insert(told.to_owned(), real.to_owned());
        }
        if same(expected) != same(&printed) {
            self.told.push(format!("$ {command}\n--- the text\n{expected}--- the command\n{printed}"));
        }
        (meant, printed)
    }
}

/// Words between characters that are neither letters nor digits.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

fn is_hex(word: &str, length: usize) -> bool {
    word.len() == length
        && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// The ids of commits.
pub fn ids(text: &str) -> impl Iterator<Item = &str> {
    words(text).filter(|word| is_hex(word, 10))
}

/// The text without the values that differ between runs.
pub fn same(text: &str) -> String {
    let mut out = text.to_owned();
    for word in words(text).filter(|word| is_hex(word, 10) || is_hex(word, 12)) {
        out = out.replace(word, "…");
    }
    let line = |line: &str| {
        let line = line.replace("just now", "… s ago");
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_measured = |at: usize| words.get(at + 1).is_some_and(|unit| matches!(*unit, "KB" | "s"));
        let is_clock = |word: &str| {
            let time = word.trim_end_matches([':', ',']);
            time.ends_with('Z') && time.matches(':').count() == 2
        };
        let words =
            words.iter().enumerate().map(|(at, word)| if is_measured(at) || is_clock(word) { "…" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    out.lines().map(line).collect::<Vec<_>>().join("\n")
}
