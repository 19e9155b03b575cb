//! Records the walk-through as an asciicast: the commands below, run in a terminal with the conversation of `ctx demo`.
//! The test fails if the recording tells something else than the commands print now; `CTX_BLESS=1` records it anew.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::demo::Running;
use crate::place::finish;
use crate::walkthrough::{HOME, same};

const FILE: &str = "docs/walkthrough.cast";
const COLUMNS: usize = 100;
const ROWS: usize = 32;

/// Each scene: a comment, and the commands that follow it.
const SCENES: [(&str, &[&str]); 8] = [
    ("Where do the tokens of this conversation go?", &["ctx list"]),
    (
        "t4 is an old test run. What does it save to drop its output? What does it cost?",
        &["ctx drop-results t4 --dry-run", "ctx drop-results t4"],
    ),
    (
        "A tangent can go, and of a long lookup only the outcome matters.",
        &["ctx delete t6", "ctx compact t10 --text 'ALTER TABLE locks the table for milliseconds only.'"],
    ),
    (
        "A log moves to a file, where the agent can read it again.",
        &["ctx offload t8 --summary 'The deployment failed at migration 0042.'"],
    ),
    ("This is how the next request is made. The agent does not notice.", &["ctx compose --explain"]),
    ("What has it cost so far?", &["ctx stats"]),
    ("Every edit is a commit, and can be undone.", &["ctx history", "ctx undo"]),
    ("Try it: ctx demo. With your own agent: ctx run -- claude. In the browser: ctx ui.", &["ctx list"]),
];

/// A recording in the asciicast format, version 2.
struct Cast {
    seconds: f64,
    lines: Vec<Value>,
}

impl Cast {
    fn new() -> Self {
        let header = json!({
            "version": 2, "width": COLUMNS, "height": ROWS, "title": "Context Composer in two minutes"
        });
        Self { seconds: 0.0, lines: vec![header] }
    }

    /// Prints a text after a pause.
    fn print(&mut self, pause: f64, text: &str) {
        self.seconds += pause;
        let time = (self.seconds * 1000.0).round() / 1000.0;
        self.lines.push(json!([time, "o", text]));
    }

    /// Types a text letter by letter.
    fn type_in(&mut self, text: &str) {
        text.chars().for_each(|letter| self.print(0.035, &letter.to_string()));
        self.print(0.4, "\r\n");
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// Everything that a recording prints, without colours and values that differ between runs.
fn story(cast: &str) -> String {
    let events = cast.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let printed: String = events.map(|event| event[2].as_str().expect("a text").to_owned()).collect();
    let mut parts = printed.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    let without_codes = |part: &str| match part.find(|letter: char| letter.is_ascii_alphabetic()) {
        Some(end) => part[end + 1..].to_owned(),
        None => String::new(),
    };
    same(&parts.fold(first, |text, part| text + &without_codes(part)))
}

/// On a busy machine a command says that it waits, and erases that before it goes on.
fn without_waiting(printed: &str) -> String {
    const ERASED: &str = "\r\x1b[K";
    printed.split_inclusive('\n').map(|line| line.rsplit_once(ERASED).map_or(line, |(_, rest)| rest)).collect()
}

fn record(demo: &Running) -> Cast {
    let mut cast = Cast::new();
    for (comment, commands) in SCENES {
        cast.print(0.5, "\x1b[2J\x1b[H");
        cast.print(0.0, &format!("\x1b[1m# {comment}\x1b[0m\r\n"));
        for command in commands {
            cast.print(0.8, "\x1b[32m$\x1b[0m ");
            cast.type_in(command);
            let terminal = format!("stty cols {COLUMNS} rows {ROWS}; {command}");
            let mut shell = demo.shell("exec script --quiet --return --command \"$LINE\" /dev/null");
            shell.env("LINE", terminal).env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
            let printed = without_waiting(&finish(shell).ok().out).replace(&*demo.home().to_string_lossy(), HOME);
            cast.print(0.3, &printed);
            // Time to read.
            cast.seconds += (2.5 + 0.7 * printed.lines().count() as f64).min(11.0);
        }
    }
    cast.print(1.0, "\x1b[32m$\x1b[0m ");
    cast
}

#[test]
fn the_recorded_walk_through_is_true_and_takes_two_minutes() {
    let demo = Running::start();
    let cast = record(&demo);
    assert!((60.0..=120.0).contains(&cast.seconds), "{} seconds", cast.seconds);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE);
    if std::env::var_os("CTX_BLESS").is_some() {
        fs::write(&path, cast.text()).expect("written");
    }
    let kept = fs::read_to_string(&path).expect("the recording");
    let (kept, now) = (story(&kept), story(&cast.text()));
    assert!(kept == now, "--- {FILE}\n{kept}\n--- now\n{now}\n(CTX_BLESS=1 records it anew)");
    assert!(kept.contains("$ ctx compose --explain") && kept.contains("by 4 commits"), "{kept}");
}
