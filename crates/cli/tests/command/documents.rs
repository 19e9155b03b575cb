//! Runs the commands of the documentation, page by page. The walk-through and the recipes are compared word for word,
//! see [`crate::walkthrough`], and those about teams need several people (`tests/team.rs`); on the other pages a command must succeed, or fail if the text shows an error.
//!
//! The comment `<!-- a new conversation -->` on a page starts again with an unedited one.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::Session;

use crate::editing::scene::Scene;
use crate::place::finish;
use crate::walkthrough::ids;

/// Beginnings of commands that need more than a conversation. Each has a test of its own.
const ELSEWHERE: &[(&str, &str)] = &[
    ("ctx init", "init.rs"),
    ("ctx up", "starting.rs"),
    ("ctx run -- ", "run.rs, and the stock clients in tests/clients"),
    ("ctx demo", "demo.rs"),
    ("ctx service ", "service.rs"),
    ("ctx store ", "store.rs"),
    ("ctx import c3f9a1 --edits", "moving.rs in tests/clients"),
    ("ctx import active t2 --end", "compaction.rs in the tests of the service"),
    ("podman ", "cargo xtask package --check"),
    ("openssl ", "makes a random file"),
    ("claude mcp add ", "install.rs registers the same server"),
    ("cargo xtask ", "the task itself"),
];

struct Example {
    line: String,
    /// The output in the text.
    shown: String,
    is_new: bool,
}

/// The commands of a page, in order.
fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let (mut kind, mut is_new) = (None, true);
    for line in page.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            kind = if kind.is_some() { None } else { Some(fence) };
            continue;
        }
        is_new |= line == "<!-- a new conversation -->";
        let command = match kind {
            Some("console" | "") => line.strip_prefix("$ "),
            Some("sh") => Some(line),
            _ => continue,
        };
        match (command, examples.last_mut()) {
            (Some(line), _) => {
                examples.push(Example { line: line.to_owned(), shown: String::new(), is_new });
                is_new = false;
            }
            (None, Some(last)) if last.line.ends_with('\\') => {
                last.line = format!("{} {}", last.line.trim_end_matches('\\'), line.trim());
            }
            (None, Some(last)) => last.shown.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    examples
}

/// The conversation of the guide.
fn parser() -> Session {
    let mut session = Session::new(1).lean().hints(true);
    let tests: String = (1..400).map(|case| format!("test parser::case_{case} ... ok\n")).collect();
    session
        .user("The parser drops the last token. Please find out why.")
        .assistant_tools(&[("Read", json!({"file_path": "src/parser.rs"}))])
        .results(&[&"    let token = self.next();\n".repeat(200)])
        .assistant_tools(&[("Bash", json!({"command": "cargo test parser"}))])
        .results(&[&tests])
        .assistant("The loop ends one token too early; `<` should be `<=` in line 41.")
        .user("Good. Fix it.")
        .assistant_tools(&[("Edit", json!({"file_path": "src/parser.rs", "old_string": "<", "new_string": "<="}))])
        .results(&["done"])
        .assistant_tools(&[("Bash", json!({"command": "cargo test"}))])
        .results(&[&tests])
        .assistant("All tests pass.")
        .user("By the way, what is a good name for a cat?")
        .assistant("Lexer.")
        .user("Now write the changelog.");
    session
}

/// A session of Claude Code on disk, with this many calls.
fn recorded(calls: usize) -> String {
    let body = crate::lab::body(calls);
    let messages = body["messages"].as_array().into_iter().flatten().enumerate();
    let lines = messages.map(|(at, message)| {
        let mut message = message.clone();
        if message["role"] == "assistant" {
            message["id"] = json!(format!("msg_{at}"));
            message["model"] = body["model"].clone();
        }
        let line = json!({
            "type": message["role"], "uuid": format!("u{at}"), "parentUuid": at.checked_sub(1).map(|at| format!("u{at}")),
            "sessionId": "s", "timestamp": format!("2026-11-15T10:{:02}:{:02}.000Z", at / 60, at % 60), "message": message,
        });
        format!("{line}\n")
    });
    lines.collect()
}

/// A conversation, and everything around it that the pages mention.
fn scene() -> Scene {
    let scene = Scene::of(parser(), "");
    scene.settle();
    let place = &scene.place;
    for folder in [".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions"] {
        fs::create_dir_all(place.path(folder)).expect("a folder");
    }
    for folder in [".claude/projects/p", "work/corpus", "work/corpus2"] {
        fs::create_dir_all(place.path(folder)).expect("a folder");
    }
    for file in [".claude/projects/p/session.jsonl", "work/session.jsonl", "work/corpus/session.jsonl"] {
        place.write(file, &recorded(50));
    }
    place.write("work/corpus2/session.jsonl", &recorded(50));
    place.write("work/ctx.toml", "[context_editing]\nmode = \"on\"\n");
    scene
}

/// Whether a word has the form of a conversation's short id.
fn is_conversation(word: &str) -> bool {
    word.len() == 7 && word.starts_with('c') && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The line with the ids, the home and the address of this run. `real` maps ids of commits in the text to those of this
/// run.
fn meant(line: &str, scene: &Scene, real: &HashMap<String, String>) -> String {
    let line = line.split(" # ").next().unwrap_or(line).trim_end();
    let mut meant = line.replace("~/.local/share/ctx", &scene.place.home().to_string_lossy());
    let listen = scene.place.notice().and_then(|notice| notice["listen"].as_str().map(str::to_owned));
    meant = meant.replace("127.0.0.1:8788", &listen.expect("a daemon"));
    for word in line.split(|letter: char| !letter.is_ascii_alphanumeric()) {
        let known = |id: &&String| word.len() >= 4 && id.starts_with(word);
        if let Some(id) = real.keys().find(known) {
            meant = meant.replace(word, &real[id]);
        }
        if is_conversation(word) {
            let id = scene.json(&["list"])["conversation"].clone();
            meant = meant.replace(word, id.as_str().expect("an id"));
        }
    }
    meant
}

/// Runs the commands of a page. Returns those that did not end as the text says.
fn run(page: &str, used: &mut [bool]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut current = scene();
    // Maps each id in the text to the one of this run.
    let mut real: HashMap<String, String> = HashMap::new();
    for Example { line, shown, is_new } in examples(page) {
        if let Some(at) = ELSEWHERE.iter().position(|(beginning, _)| line.starts_with(beginning)) {
            used[at] = true;
            continue;
        }
        if is_new {
            (current, real) = (scene(), HashMap::new());
        }
        if let Some(file) = line.strip_prefix("cat ") {
            current.place.write(&format!("work/{file}"), &shown);
            continue;
        }
        let mut meant = meant(&line, &current, &real);
        if shown.contains("[y/N] y") || line.starts_with("ctx install") {
            meant.push_str(" --yes");
        }
        current.place.write("work/line", &meant);
        let mut shell = current.place.shell("bash ./line");
        if line == "ctx trust" {
            // Only a person can.
            shell.stdin(fs::File::open("/dev/ptmx").expect("a terminal"));
        }
        let ran = finish(shell);
        let printed = ran.out.clone();
        real.extend(ids(&shown).map(str::to_owned).zip(ids(&printed).map(str::to_owned)));
        let is_error = shown.starts_with("error: ");
        if (ran.code == Some(0)) == is_error {
            wrong.push(format!("$ {meant}\n{ran:?}"));
        }
    }
    wrong
}

#[test]
fn every_command_in_the_documentation_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).expect("docs").flatten().map(|entry| entry.path());
    let mut pages: Vec<_> = docs.chain([root.join("README.md")]).collect();
    pages.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".md") && !["walkthrough.md", "recipes.md", "team.md"].contains(&name)
    });
    let mut used = vec![false; ELSEWHERE.len()];
    let mut wrong = Vec::new();
    for path in &pages {
        let page = fs::read_to_string(path).expect("a page");
        wrong.extend(run(&page, &mut used).into_iter().map(|what| format!("{}: {what}", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let unused = ELSEWHERE.iter().zip(used).filter(|(_, used)| !used).map(|(elsewhere, _)| elsewhere);
    assert_eq!(unused.collect::<Vec<_>>(), Vec::<&(&str, &str)>::new(), "no page has these");
}
