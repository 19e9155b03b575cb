//! Qwen Code: sends no session, and calls itself Claude Code on base URLs that are not Anthropic's.

use crate::class::{self, ToolsListed};
use crate::gemini_cli;
use crate::hints::is_product;
use crate::launch::{KeyCarrier, Launch, Route};
use crate::setup::Syntax;
use crate::setup::settings::{Entry, Folder, ServerPlace, Setting, SettingsInstaller, SkillPlace};
use crate::{Client, ClientId, Glance, Headers, Hints, McpCaller};
use ctx_core::lexicon::{Arguments, Vocabulary};
use ctx_core::{Class, ToolRole};

/// Its name elsewhere.
const OWN: &str = "QwenCode/";
/// Its borrowed name.
const BORROWED: &str = "claude-cli/";

pub static CLIENT: Client = Client {
    id: ClientId::Qwen,
    name: "qwen",
    title: "Qwen Code",
    recognises,
    products: &[OWN],
    refine,
    class,
    vocabulary: &VOCABULARY,
    bookkeeping: &["agent", "list_agents", "skill", "get_goal"],
    installer: Some(&INSTALLER),
    launch: Launch { programs: &["qwen"], routes: &[ROUTE] },
    marks: &["QWEN_CODE"],
    mcp: Some(McpCaller::named("qwen")),
    ..Client::BASE
};

const ROUTE: Route = Route {
    variables: &[("ANTHROPIC_BASE_URL", "{url}"), ("OPENAI_BASE_URL", "{url}/v1")],
    check: Some("a `baseUrl` in ~/.qwen/settings.json overrides the environment"),
    key: KeyCarrier::ByHand(
        "add the header {header} with your key to `model.generationConfig.customHeaders` in ~/.qwen/settings.json",
    ),
    ..Route::BASE
};

/// Its reminders have Claude Code's tag. Its own `env` section sets variables that nothing else sets.
static INSTALLER: SettingsInstaller = SettingsInstaller {
    name: "qwen",
    title: "Qwen Code",
    folder: Folder { variable: None, home: ".qwen" },
    files: &["settings.json"],
    project: Some(".qwen"),
    syntax: Syntax::Json,
    entries: |_, _| &ENTRIES,
    needs: None,
    server: Some(ServerPlace { file: None, entries: gemini_cli::install::server }),
    skills: Some(SkillPlace { folder: Folder { variable: None, home: ".qwen" }, project: Some(".qwen") }),
    variables: &["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"],
    note: Some("a `baseUrl` of a model in `modelProviders` and variables in a `.env` file override these settings"),
};

static ENTRIES: [Entry; 2] = [
    Entry { path: &["env", "ANTHROPIC_BASE_URL"], value: Setting::Url { value: "{url}", upstream: "anthropic" } },
    Entry { path: &["env", "OPENAI_BASE_URL"], value: Setting::Url { value: "{url}/v1", upstream: "openai" } },
];

pub static VOCABULARY: Vocabulary = Vocabulary {
    summaries: &["<state_snapshot>"],
    requests: &[
        ("You are the component that summarizes a conversation", Class::Compaction),
        ("[SUGGESTION MODE", Class::Auxiliary),
        ("Managed memory has TWO directories", Class::Auxiliary),
    ],
    systems: &[
        ("You are now acting as the managed memory extraction subagent", Class::Auxiliary),
        ("You are a general-purpose subagent working for a parent agent", Class::Subagent),
    ],
    folders: &["currently working in the directory: "],
    tools: &[
        ("read_file", ToolRole::Read),
        ("write_file", ToolRole::Write),
        ("edit", ToolRole::Edit),
        ("notebook_edit", ToolRole::Edit),
        ("run_shell_command", ToolRole::Shell),
        ("grep_search", ToolRole::Search),
        ("glob", ToolRole::Find),
        ("tool_search", ToolRole::Search),
        ("agent", ToolRole::Agent),
        ("list_agents", ToolRole::Agent),
        ("skill", ToolRole::Skill),
        ("get_goal", ToolRole::Todo),
    ],
    arguments: Arguments { path: &["file_path"], ..Arguments::EMPTY },
    ..Vocabulary::EMPTY
};

/// Claude Code itself is recognised earlier, by its session or its beta.
fn recognises(headers: Headers<'_>) -> bool {
    is_product(headers, &[OWN, BORROWED])
}

/// Restores its own name, with its version.
fn refine(_: Headers<'_>, hints: &mut Hints) {
    let version = hints.product.as_deref().and_then(|product| product.strip_prefix(BORROWED));
    if let Some(version) = version {
        hints.product = Some(format!("{OWN}{version}").into());
    }
}

/// Its turns list tools. Requests under the borrowed name without tools are probes, including those of an old Claude
/// Code.
fn class(hints: &Hints, glance: &Glance) -> Class {
    match glance.tools {
        ToolsListed::Own => class::of_agent(hints, glance),
        _ => Class::Auxiliary,
    }
}

#[cfg(test)]
mod tests {
    use crate::{ClientId, Glance, Hints, ToolsListed, class, lexicon};
    use ctx_core::lexicon::{SUMMARY_TITLE, Speech};
    use ctx_core::{Class, ToolRole};

    fn borrowed(name: &str) -> Option<&'static str> {
        match name {
            "user-agent" => Some("claude-cli/0.24.4 (external, cli)"),
            "x-app" => Some("cli"),
            _ => None,
        }
    }

    #[test]
    fn under_claude_codes_name_it_is_still_qwen() {
        let hints = Hints::read(borrowed);
        assert_eq!((hints.client, hints.product.as_deref()), (ClientId::Qwen, Some("QwenCode/0.24.4")));
        let turn = Glance { has_system: true, tools: ToolsListed::Own, ..Glance::default() };
        assert_eq!(class(&hints, &turn), Class::Main);
        assert_eq!(class(&hints, &Glance::default()), Class::Auxiliary);
    }

    #[test]
    fn the_session_or_the_beta_makes_it_claude_code() {
        for mark in [("x-claude-code-session-id", "s"), ("anthropic-beta", "claude-code-20250219,x")] {
            let hints = Hints::read(|name| if name == mark.0 { Some(mark.1) } else { borrowed(name) });
            assert_eq!(hints.client, ClientId::ClaudeCode, "{mark:?}");
        }
    }

    #[test]
    fn its_side_requests_are_told_by_their_words() {
        let request = |text| lexicon().class_of_request(text);
        assert_eq!(request("[SUGGESTION MODE: Suggest what the user might type]"), Some(Class::Auxiliary));
        assert_eq!(
            request("You are the component that summarizes a conversation when its context window is…"),
            Some(Class::Compaction)
        );
        let memory = "You are now acting as the managed memory extraction subagent for this session";
        assert_eq!(lexicon().class_of_system(memory), Some(Class::Auxiliary));
        let agent = "You are a general-purpose subagent working for a parent agent.";
        assert_eq!(lexicon().class_of_system(agent), Some(Class::Subagent));
        let snapshot = "<state_snapshot>x</state_snapshot> Resume the prior task using the summary";
        assert_eq!(lexicon().judge(snapshot), Speech::Human(SUMMARY_TITLE.into()));
    }

    #[test]
    fn its_tools_have_roles() {
        let role = |tool| lexicon().role(tool);
        assert_eq!((role("run_shell_command"), role("agent")), (ToolRole::Shell, ToolRole::Agent));
        assert_eq!((role("notebook_edit"), role("grep_search")), (ToolRole::Edit, ToolRole::Search));
    }
}
