//! Holds the line around clients: no product file outside `crates/clients` names a client's tool, header, variable or
//! injected text. The words are those of `ctx_clients`, so a new client is covered by its own vocabulary.

use ctx_clients::claude_code::variables;
use ctx_clients::{CLIENTS, Client, UNKNOWN};
use std::collections::BTreeSet;

use crate::sources::{check, of};

/// Crates whose sources must not know a client.
const CRATES: &[&str] = &["core", "wire", "store", "api", "engine", "service", "lab", "server", "config", "cli"];

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
    let callers = client.mcp.iter().flat_map(|caller| caller.call.into_iter().chain(caller.session));
    let mut all = words(client);
    let is_word = |name: &str| name.chars().all(|letter| letter.is_ascii_lowercase());
    let tools = client.vocabulary.tools.iter().map(|(name, _)| *name).filter(|name| !is_word(name));
    let variables = client.launch.routes.iter().flat_map(|route| route.variables.iter().chain(route.defaults));
    let variables = variables.map(|(name, _)| *name).chain(client.marks.iter().copied());
    all.extend(tools.chain(variables).map(|name| format!("\"{name}\"")));
    all.extend(headers.copied().chain(callers).map(str::to_owned));
    all
}

#[test]
fn no_file_outside_clients_names_a_clients_tool_header_or_text() {
    let mut forbidden = words(&UNKNOWN);
    forbidden.extend(CLIENTS.into_iter().flat_map(words_of_known));
    let own = [variables::HINT_HEADERS, variables::TOOL_SEARCH, variables::SESSION, variables::CONFIG_DIR];
    forbidden.extend(own.map(|name| format!("\"{name}\"")));
    assert!(forbidden.len() > 40 && forbidden.contains("<system-reminder>") && forbidden.contains("\"Read\""));

    let sources = of(CRATES.iter().copied());
    assert!(sources.len() > 300, "{} files", sources.len());
    check(&sources, EXCEPTIONS, |code| forbidden.iter().filter(|word| code.contains(word.as_str())).cloned().collect());
}
