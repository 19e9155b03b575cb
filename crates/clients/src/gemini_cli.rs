//! Gemini CLI: sends no session, and puts its context before the human's first words.

pub mod install;
mod session;

use crate::class;
use crate::hints::is_product;
use crate::launch::{KeyCarrier, Launch, Route};
use crate::{Client, ClientId, Headers, McpCaller};
use ctx_core::ToolRole;
use ctx_core::lexicon::{Arguments, Tag, Vocabulary};

pub static CLIENT: Client = Client {
    id: ClientId::GeminiCli,
    name: "gemini-cli",
    title: "Gemini CLI",
    recognises,
    products: &["GeminiCLI"],
    class: class::of_agent,
    vocabulary: &VOCABULARY,
    bookkeeping: &["write_todos", "save_memory", "activate_skill", "ask_user"],
    sessions: Some(session::FILES),
    installer: Some(&install::INSTALLER),
    launch: Launch { programs: &["gemini"], routes: &[ROUTE] },
    marks: &["GEMINI_CLI"],
    mcp: Some(McpCaller::named("gemini-cli")),
    ..Client::BASE
};

const ROUTE: Route = Route {
    variables: &[("GOOGLE_GEMINI_BASE_URL", "{url}"), ("CODE_ASSIST_ENDPOINT", "{url}")],
    check: Some(
        "ctx sees requests with a Gemini API key (GEMINI_API_KEY) or a Google login; Vertex AI needs GOOGLE_VERTEX_BASE_URL",
    ),
    key: KeyCarrier::List("GEMINI_CLI_CUSTOM_HEADERS", ", "),
    ..Route::BASE
};

pub static VOCABULARY: Vocabulary = Vocabulary {
    reminder: Some(Tag { open: "<session_context>", close: "</session_context>" }),
    folders: &["currently working in the directory: ", "**Workspace Directories:**\\n  - "],
    summaries: &["<state_snapshot>"],
    tools: &[
        ("read_file", ToolRole::Read),
        ("read_many_files", ToolRole::Read),
        ("write_file", ToolRole::Write),
        ("replace", ToolRole::Edit),
        ("run_shell_command", ToolRole::Shell),
        ("list_directory", ToolRole::Search),
        ("search_file_content", ToolRole::Search),
        ("google_web_search", ToolRole::Search),
        ("web_fetch", ToolRole::Fetch),
        ("write_todos", ToolRole::Todo),
        ("activate_skill", ToolRole::Skill),
        ("ask_user", ToolRole::Ask),
    ],
    arguments: Arguments {
        path: &["file_path", "absolute_path"],
        skill: &["name"],
        telling: &["dir_path", "absolute_path"],
        ..Arguments::EMPTY
    },
    ..Vocabulary::EMPTY
};

fn recognises(headers: Headers<'_>) -> bool {
    is_product(headers, CLIENT.products)
}

#[cfg(test)]
mod tests {
    use crate::{ClientId, Hints, lexicon};
    use ctx_core::ToolRole;
    use ctx_core::lexicon::Speech;

    #[test]
    fn it_is_known_by_its_name_and_names_no_session() {
        let hints = Hints::read(|name| (name == "user-agent").then_some("GeminiCLI/0.61.0/gemini-3-pro (linux; x64)"));
        assert_eq!((hints.client, hints.session), (ClientId::GeminiCli, None));
    }

    #[test]
    fn its_context_is_not_said_by_the_human() {
        let text = lexicon().without_reminders("<session_context>\nToday is Monday\n</session_context>");
        assert_eq!(lexicon().judge(&text), Speech::Injected);
    }

    #[test]
    fn its_tools_have_roles() {
        let role = |tool| lexicon().role(tool);
        assert_eq!((role("replace"), role("run_shell_command")), (ToolRole::Edit, ToolRole::Shell));
        assert_eq!((role("search_file_content"), role("write_todos")), (ToolRole::Search, ToolRole::Todo));
    }
}
