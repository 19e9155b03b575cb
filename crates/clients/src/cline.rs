//! Cline: sends no session and often not its name; its tools take lists.

mod session;

use crate::class;
use crate::hints::is_product;
use crate::launch::{Launch, Route};
use crate::setup::Syntax;
use crate::setup::settings::{Entry, Folder, ServerPlace, Setting, SettingsInstaller, SkillPlace};
use crate::{Client, ClientId, Headers, McpCaller, gemini_cli};
use ctx_core::lexicon::{Arguments, Vocabulary};
use ctx_core::{Class, ToolRole};

pub static CLIENT: Client = Client {
    id: ClientId::Cline,
    name: "cline",
    title: "Cline",
    recognises,
    products: &["cline/", "Cline/"],
    introductions: &["You are Cline"],
    class: class::of_agent,
    vocabulary: &VOCABULARY,
    bookkeeping: &["ask_question", "spawn_agent", "team_*"],
    installer: Some(&INSTALLER),
    launch: Launch { programs: &["cline"], routes: &[ROUTE] },
    sessions: Some(session::FILES),
    marks: &["CLINE_ACTIVE"],
    mcp: Some(McpCaller::named("Cline")),
    ..Client::BASE
};

/// A background process of Cline runs the session and reads its settings, so no flag or variable reaches it.
const ROUTE: Route = Route {
    note: Some(
        "Cline reads its base URL only from its settings: set `providers.anthropic.settings.baseUrl` to `{url}/v1` in \
         ~/.cline/data/settings/providers.json, or run `cline auth openai-compatible -b {url}/v1 -k KEY -m MODEL`",
    ),
    check: Some("its settings name another base URL, or its own daemon still uses the old settings"),
    ..Route::BASE
};

static INSTALLER: SettingsInstaller = SettingsInstaller {
    name: "cline",
    title: "Cline",
    folder: Folder { variable: None, home: ".cline/data/settings" },
    files: &["providers.json"],
    project: None,
    syntax: Syntax::Json,
    entries: |_, _| &ENTRIES,
    needs: Some((
        &["providers", "anthropic", "settings"],
        "set up Anthropic as its provider first (`cline auth`); for an OpenAI-compatible provider, run `cline auth \
         openai-compatible -b URL/v1 -k KEY -m MODEL` with the daemon's URL",
    )),
    server: Some(ServerPlace {
        file: Some(("cline_mcp_settings.json", Syntax::Json)),
        entries: gemini_cli::install::server,
    }),
    skills: Some(SkillPlace { folder: Folder { variable: None, home: ".cline" }, project: None }),
    variables: &[],
    note: Some("Cline's own daemon keeps the old settings until it stops"),
};

static ENTRIES: [Entry; 1] = [Entry {
    path: &["providers", "anthropic", "settings", "baseUrl"],
    value: Setting::Url { value: "{url}/v1", upstream: "anthropic" },
}];

pub static VOCABULARY: Vocabulary = Vocabulary {
    notices: &["[SYSTEM] This run is not complete until you call "],
    summaries: &["Context summary:"],
    systems: &[("Summarize the provided coding session into a concise", Class::Compaction)],
    requests: &[("Summarize this session for continuation.", Class::Compaction)],
    folders: &["orking Directory: "],
    tools: &[
        ("read_files", ToolRole::Read),
        ("editor", ToolRole::Edit),
        ("run_commands", ToolRole::Shell),
        ("search_codebase", ToolRole::Search),
        ("web_search", ToolRole::Search),
        ("fetch_web_content", ToolRole::Fetch),
        ("ask_question", ToolRole::Ask),
        ("spawn_agent", ToolRole::Agent),
    ],
    tool_patterns: &[("team_*", ToolRole::Agent)],
    arguments: Arguments {
        path: &["path"],
        lists: &["files", "commands", "queries", "requests"],
        telling: &["files", "commands", "queries", "requests"],
        ..Arguments::EMPTY
    },
    ..Vocabulary::EMPTY
};

fn recognises(headers: Headers<'_>) -> bool {
    is_product(headers, CLIENT.products) || headers("x-title").is_some_and(|title| title == "Cline")
}

#[cfg(test)]
mod tests {
    use crate::{ClientId, Hints, introduced, lexicon};
    use ctx_core::lexicon::{SUMMARY_TITLE, Speech};
    use ctx_core::{Class, ToolRole};

    #[test]
    fn it_is_known_by_its_title_or_by_its_system_prompt() {
        assert_eq!(Hints::read(|name| (name == "x-title").then_some("Cline")).client, ClientId::Cline);
        let sdk = Hints::read(|name| (name == "user-agent").then_some("ai-sdk/anthropic/4.0.42"));
        assert_eq!(sdk.client, ClientId::Unknown, "other programs use this library too");
        assert_eq!(introduced("You are Cline, an AI coding agent").map(|client| client.id), Some(ClientId::Cline));
    }

    #[test]
    fn its_compaction_is_recognised_before_and_after() {
        let system = "Summarize the provided coding session into a concise continuation note with detailed next steps.";
        assert_eq!(lexicon().class_of_system(system), Some(Class::Compaction));
        let asked = "Summarize this session for continuation. Be concise and factual. ## Goal One sentence";
        assert_eq!(lexicon().class_of_request(asked), Some(Class::Compaction));
        let summary = "Context summary:\n\nThe parser is fixed.\n\n## Files\nRead:\n- none";
        assert_eq!(lexicon().judge(summary), Speech::Human(SUMMARY_TITLE.into()));
    }

    #[test]
    fn its_demand_for_a_last_call_is_not_said_by_the_human() {
        let demand = "[SYSTEM] This run is not complete until you call one of these terminal tools: …";
        assert_eq!(lexicon().judge(demand), Speech::Injected);
    }

    #[test]
    fn its_tools_have_roles_and_take_lists() {
        let role = |tool| lexicon().role(tool);
        assert_eq!((role("read_files"), role("editor")), (ToolRole::Read, ToolRole::Edit));
        assert_eq!((role("run_commands"), role("team_create")), (ToolRole::Shell, ToolRole::Agent));
        assert_eq!(role("ask_question"), ToolRole::Ask);
        assert!(lexicon().is_list("files") && lexicon().is_list("commands") && !lexicon().is_list("path"));
    }
}
