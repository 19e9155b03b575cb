//! goose: sends its session, and moves a message with clock, folder and tasks to the newest turn of each request.

use crate::class;
use crate::launch::{KeyCarrier, Launch, Route};
use crate::setup::Syntax;
use crate::setup::settings::{Entry, Folder, Setting, SettingsInstaller, SkillPlace};
use crate::{Client, ClientId, HeaderNames, Headers, Hints, McpCaller};
use ctx_core::lexicon::{Arguments, Tag, Vocabulary};
use ctx_core::{Class, ToolRole};

const NAME: &str = "goose";
/// Names the session in requests to the model and in the metadata of MCP calls.
const SESSION: &str = "agent-session-id";
/// The session, passed to the commands that it runs.
pub const SESSION_VARIABLE: &str = "AGENT_SESSION_ID";

pub static CLIENT: Client = Client {
    id: ClientId::Goose,
    name: NAME,
    title: NAME,
    recognises,
    headers: HeaderNames { session: &[SESSION], ..HeaderNames::NONE },
    refine,
    class: class::of_agent,
    vocabulary: &VOCABULARY,
    bookkeeping: &["delegate", "load", "load_skill", "todo__*"],
    installer: Some(&INSTALLER),
    launch: Launch { programs: &["goose"], routes: &[ROUTE] },
    mcp: Some(McpCaller { session: Some(SESSION), ..McpCaller::named(NAME) }),
    session_variable: Some(SESSION_VARIABLE),
    marks: &["GOOSE_TERMINAL", SESSION_VARIABLE],
    ..Client::BASE
};

const ROUTE: Route = Route {
    variables: &[("ANTHROPIC_HOST", "{url}"), ("OPENAI_HOST", "{url}")],
    key: KeyCarrier::ByHand("add a custom provider with the address {url} and the header {header} with your key"),
    ..Route::BASE
};

static INSTALLER: SettingsInstaller = SettingsInstaller {
    name: NAME,
    title: NAME,
    folder: Folder { variable: Some(("XDG_CONFIG_HOME", NAME)), home: ".config/goose" },
    files: &["config.yaml"],
    project: None,
    syntax: Syntax::Yaml,
    entries: |_, _| &ENTRIES,
    needs: None,
    server: None,
    skills: Some(SkillPlace {
        folder: Folder { variable: Some(("XDG_CONFIG_HOME", NAME)), home: ".config/goose" },
        project: None,
    }),
    variables: &["ANTHROPIC_HOST", "OPENAI_HOST"],
    note: None,
};

static ENTRIES: [Entry; 2] = [
    Entry { path: &["ANTHROPIC_HOST"], value: Setting::Url { value: "{url}", upstream: "anthropic" } },
    Entry { path: &["OPENAI_HOST"], value: Setting::Url { value: "{url}", upstream: "openai" } },
];

pub static VOCABULARY: Vocabulary = Vocabulary {
    // It moves to another message with each request, so it is not part of a message.
    reminder: Some(Tag { open: "<info-msg>", close: "</info-msg>" }),
    summary_receipts: &["Your context was compacted."],
    systems: &[
        ("Generate a short title", Class::Auxiliary),
        ("## Task Context - An llm context limit was reached", Class::Compaction),
    ],
    requests: &[
        ("---BEGIN USER MESSAGES---", Class::Auxiliary),
        ("Please summarize the conversation history provided in the system prompt", Class::Compaction),
    ],
    tools: &[
        ("write", ToolRole::Write),
        ("edit", ToolRole::Edit),
        ("shell", ToolRole::Shell),
        ("analyze", ToolRole::Search),
        ("tree", ToolRole::Search),
        ("delegate", ToolRole::Agent),
        ("load", ToolRole::Skill),
        ("load_skill", ToolRole::Skill),
        ("todo__todo_write", ToolRole::Todo),
    ],
    lasting: &["load"],
    arguments: Arguments { path: &["path"], skill: &["name"], ..Arguments::EMPTY },
    ..Vocabulary::EMPTY
};

fn recognises(headers: Headers<'_>) -> bool {
    headers(SESSION).is_some()
}

/// It sends no user agent.
fn refine(_: Headers<'_>, hints: &mut Hints) {
    hints.product = hints.product.take().or_else(|| Some(NAME.into()));
}

#[cfg(test)]
mod tests {
    use crate::{ClientId, Hints, lexicon};
    use ctx_core::lexicon::Speech;
    use ctx_core::{Class, ToolRole};

    #[test]
    fn it_is_known_by_the_header_of_its_session_and_gets_a_name() {
        let hints = Hints::read(|name| (name == "agent-session-id").then_some("20261115_1"));
        assert_eq!((hints.client, hints.session.as_deref()), (ClientId::Goose, Some("20261115_1")));
        assert_eq!(hints.product.as_deref(), Some("goose"));
    }

    #[test]
    fn the_moving_message_is_no_part_of_what_is_said() {
        let without = |text| lexicon().without_reminders(text).trim().to_owned();
        assert_eq!(without("<info-msg>\nIt is noon\n</info-msg>\nfix it"), "fix it");
        assert_eq!(lexicon().judge(&without("<info-msg>noon</info-msg>")), Speech::Injected);
    }

    #[test]
    fn titles_and_summaries_are_told_by_their_words() {
        assert_eq!(lexicon().class_of_system("Generate a short title for this chat"), Some(Class::Auxiliary));
        let summary = "## Task Context - An llm context limit was reached when a user was in a working session";
        assert_eq!(lexicon().class_of_system(summary), Some(Class::Compaction));
        assert_eq!(lexicon().class_of_request("---BEGIN USER MESSAGES--- fix it"), Some(Class::Auxiliary));
        assert!(lexicon().acknowledges_summary("Your context was compacted. The previous message contains a summary"));
    }

    #[test]
    fn its_tools_have_roles() {
        let role = |tool| lexicon().role(tool);
        assert_eq!((role("shell"), role("delegate")), (ToolRole::Shell, ToolRole::Agent));
        assert_eq!((role("todo__todo_write"), role("load_skill")), (ToolRole::Todo, ToolRole::Skill));
    }
}
