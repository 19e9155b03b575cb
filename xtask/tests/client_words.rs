//! Holds the line around clients: no product file outside `crates/clients` names a client's tool, header, variable or
//! injected text. The words are those of `ctx_clients`, so a new client is covered by its own vocabulary.

use ctx_clients::claude_code::variables;
use ctx_clients::{CLIENTS, Client, UNKNOWN};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Crates whose sources must not know a client.
const CRATES: &[&str] = &["core", "wire", "store", "engine", "service", "lab", "server", "config", "cli"];

/// Files that may, with the words that they may use.
const EXCEPTIONS: &[(&str, &str)] = &[
    // The compression dictionary is part of the stored format.
    ("store/src/encode.rs", "\"Bash\""),
    ("store/src/encode.rs", "\"Edit\""),
    ("store/src/encode.rs", "\"Grep\""),
    ("store/src/encode.rs", "\"Read\""),
    ("store/src/encode.rs", "<system-reminder>"),
    // Examples of settings that people write: any tool would do, and this is one that they know.
    ("config/src/sections/provider.rs", "\"Read\""),
    ("config/src/sections/provider.rs", "\"Bash\""),
];

/// The texts of a client as they would stand in a source file.
fn words(client: &Client) -> BTreeSet<String> {
    let words = client.vocabulary;
    let mut all = BTreeSet::new();
    let mut add = |word: &str| all.insert(word.to_owned());
    for tag in words.reminder.iter().chain(&words.shell_input) {
        add(tag.open);
    }
    if let Some(tags) = &words.command {
        add(tags.name.open);
        add(tags.arguments.open);
    }
    let texts = words.notices.iter().chain(words.summaries).chain(words.identities).chain(words.summary_request);
    let texts = texts.chain(words.summary_questions).chain(words.summary_receipts).chain(client.introductions);
    let texts = texts.chain(words.requests.iter().chain(words.systems).map(|(opening, _)| opening));
    texts.chain(&words.subagent).chain(&words.failed_result).chain(&words.repeated_result).for_each(|text| {
        add(text);
    });
    all
}

/// The words of a known client: its tools, headers and variables too. Names of tools are everyday words, so only whole
/// string literals count, and no plain lower-case words.
fn words_of_known(client: &Client) -> BTreeSet<String> {
    let names = &client.headers;
    let headers = names.session.iter().chain(&names.agent).chain(&names.parent_agent).chain(&names.parent_session);
    let headers = headers.chain(&names.class).chain(&names.compacted);
    let callers = client.mcp.iter().map(|caller| caller.call);
    let mut all = words(client);
    let is_word = |name: &str| name.chars().all(|letter| letter.is_ascii_lowercase());
    let tools = client.vocabulary.tools.iter().map(|(name, _)| *name).filter(|name| !is_word(name));
    let variables = client.launch.routes.iter().flat_map(|route| route.variables.iter().chain(route.defaults));
    let variables = variables.map(|(name, _)| *name).chain(client.marks.iter().copied());
    all.extend(tools.chain(variables).map(|name| format!("\"{name}\"")));
    all.extend(headers.copied().chain(callers).map(str::to_owned));
    all
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_test = name == "tests" || name.ends_with("tests.rs") || name == "testing.rs";
        if path.is_dir() && !is_test {
            sources(&path, found);
        } else if name.ends_with(".rs") && !is_test {
            found.push(path);
        }
    }
}

/// The part of a file that is neither a test nor a comment.
fn product(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code = code.split("#[cfg(all(test, unix))]\nmod tests").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_file_outside_clients_names_a_clients_tool_header_or_text() {
    let mut forbidden = words(&UNKNOWN);
    forbidden.extend(CLIENTS.into_iter().flat_map(words_of_known));
    let own = [variables::HINT_HEADERS, variables::TOOL_SEARCH, variables::SESSION, variables::CONFIG_DIR];
    forbidden.extend(own.map(|name| format!("\"{name}\"")));
    assert!(forbidden.len() > 40 && forbidden.contains("<system-reminder>") && forbidden.contains("\"Read\""));

    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").join("crates");
    let mut files = Vec::new();
    for name in CRATES {
        sources(&crates.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 300, "{} files", files.len());
    let mut unused: BTreeSet<&(&str, &str)> = EXCEPTIONS.iter().collect();
    let mut broken = Vec::new();
    for path in &files {
        let name = path.strip_prefix(&crates).expect("below").to_string_lossy().replace('\\', "/");
        let code = product(&std::fs::read_to_string(path).expect("text"));
        for word in forbidden.iter().filter(|word| code.contains(word.as_str())) {
            match EXCEPTIONS.iter().find(|(file, allowed)| *file == name && allowed == word) {
                Some(exception) => drop(unused.remove(exception)),
                None => broken.push(format!("{name} names {word}")),
            }
        }
    }
    assert!(broken.is_empty(), "these words belong to crates/clients:\n{}", broken.join("\n"));
    assert!(unused.is_empty(), "exceptions that nothing needs any more: {unused:?}");
}
