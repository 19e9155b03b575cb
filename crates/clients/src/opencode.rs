//! opencode: sends its session with every request, titles and summaries included.

mod session;

use crate::class;
use crate::hints::is_product;
use crate::launch::{KeyCarrier, Launch, Route};
use crate::setup::Syntax;
use crate::setup::settings::{
    Entries, Entry, Folder, ServerCommand, ServerPlace, Setting, SettingsInstaller, SkillPlace, path,
};
use crate::{Client, ClientId, HeaderNames, Headers, McpCaller};
use ctx_core::lexicon::{Arguments, Vocabulary};
use ctx_core::{Class, ToolRole};
use serde_json::{Value, json};

pub static CLIENT: Client = Client {
    id: ClientId::Opencode,
    name: "opencode",
    title: "opencode",
    recognises,
    products: &["opencode/"],
    headers: HeaderNames {
        session: &["x-session-affinity", "x-session-id"],
        parent_session: Some("x-parent-session-id"),
        ..HeaderNames::NONE
    },
    class: class::of_agent,
    vocabulary: &VOCABULARY,
    bookkeeping: &["task", "todo*", "skill", "question"],
    sessions: Some(session::FILES),
    installer: Some(&INSTALLER),
    launch: Launch { programs: &["opencode"], routes: &[ROUTE] },
    marks: &["OPENCODE"],
    mcp: Some(McpCaller::named("opencode")),
    ..Client::BASE
};

/// Its base URLs include the version. The configuration in the variable is merged with the user's.
const ROUTE: Route = Route {
    variables: &[("ANTHROPIC_BASE_URL", "{url}/v1")],
    defaults: &[(
        "OPENCODE_CONFIG_CONTENT",
        r#"{"provider":{"anthropic":{"options":{"baseURL":"{url}/v1"}},"openai":{"options":{"baseURL":"{url}/v1"}},"google":{"options":{"baseURL":"{url}/v1beta"}}}}"#,
    )],
    key: KeyCarrier::Default(
        "OPENCODE_CONFIG_CONTENT",
        r#"{"provider":{"anthropic":{"options":{"baseURL":"{url}/v1","headers":{"{header}":"{key}"}}},"openai":{"options":{"baseURL":"{url}/v1","headers":{"{header}":"{key}"}}},"google":{"options":{"baseURL":"{url}/v1beta","headers":{"{header}":"{key}"}}}}}"#,
    ),
    ..Route::BASE
};

static INSTALLER: SettingsInstaller = SettingsInstaller {
    name: "opencode",
    title: "opencode",
    folder: Folder { variable: Some(("XDG_CONFIG_HOME", "opencode")), home: ".config/opencode" },
    files: &["opencode.jsonc", "opencode.json"],
    project: Some(""),
    syntax: Syntax::Json,
    entries: |_, _| &ENTRIES,
    needs: None,
    server: Some(ServerPlace { file: None, entries: server }),
    skills: Some(SkillPlace {
        folder: Folder { variable: Some(("XDG_CONFIG_HOME", "opencode")), home: ".config/opencode" },
        project: Some(".opencode"),
    }),
    variables: &[],
    note: None,
};

static ENTRIES: [Entry; 3] = [
    Entry {
        path: &["provider", "anthropic", "options", "baseURL"],
        value: Setting::Url { value: "{url}/v1", upstream: "anthropic" },
    },
    Entry {
        path: &["provider", "openai", "options", "baseURL"],
        value: Setting::Url { value: "{url}/v1", upstream: "openai" },
    },
    Entry {
        path: &["provider", "google", "options", "baseURL"],
        value: Setting::Url { value: "{url}/v1beta", upstream: "gemini" },
    },
];

fn server(command: &ServerCommand) -> Entries {
    let line: Vec<&String> = [&command.program].into_iter().chain(&command.arguments).collect();
    let mut server = json!({ "type": "local", "command": line, "enabled": true });
    if !command.variables.is_empty() {
        server["environment"] = Value::Object(command.variables.clone());
    }
    vec![(path(&["mcp", "ctx"]), server)]
}

pub static VOCABULARY: Vocabulary = Vocabulary {
    summary_questions: &["What did we do so far?"],
    systems: &[
        ("You are a title generator", Class::Auxiliary),
        ("You are a context summarization agent", Class::Compaction),
    ],
    requests: &[("Generate a title for this conversation:", Class::Auxiliary)],
    tools: &[
        ("read", ToolRole::Read),
        ("write", ToolRole::Write),
        ("edit", ToolRole::Edit),
        ("bash", ToolRole::Shell),
        ("grep", ToolRole::Search),
        ("glob", ToolRole::Find),
        ("webfetch", ToolRole::Fetch),
        ("task", ToolRole::Agent),
        ("todowrite", ToolRole::Todo),
        ("todoread", ToolRole::Todo),
        ("skill", ToolRole::Skill),
        ("question", ToolRole::Ask),
    ],
    arguments: Arguments {
        path: &["filePath"],
        skill: &["name"],
        replaced: &["oldString"],
        telling: &["filePath"],
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
    use ctx_core::lexicon::{SUMMARY_TITLE, Speech};
    use ctx_core::{Class, ToolRole};

    #[test]
    fn a_sub_agent_names_its_own_session_and_its_parents() {
        let hints = Hints::read(|name| match name {
            "user-agent" => Some("opencode/1.18.33 ai-sdk/provider-utils/3.0.9"),
            "x-session-affinity" | "x-session-id" => Some("ses_child"),
            "x-parent-session-id" => Some("ses_parent"),
            _ => None,
        });
        assert_eq!(hints.client, ClientId::Opencode);
        assert_eq!(
            (hints.session.as_deref(), hints.parent_session.as_deref()),
            (Some("ses_child"), Some("ses_parent"))
        );
        assert_eq!(crate::class(&hints, &crate::Glance::default()), Class::Subagent);
    }

    #[test]
    fn titles_and_summaries_are_told_by_their_system_prompts() {
        let class = |system| lexicon().class_of_system(system);
        assert_eq!(class("You are a title generator. You output ONLY a thread title."), Some(Class::Auxiliary));
        assert_eq!(class("You are a context summarization agent."), Some(Class::Compaction));
        assert_eq!(class("You are opencode, an interactive CLI tool"), None);
    }

    #[test]
    fn the_question_at_the_head_of_a_compacted_history_is_no_title() {
        assert_eq!(lexicon().judge("What did we do so far?"), Speech::Human(SUMMARY_TITLE.into()));
        let asked = "What did we do so far? I forgot about the parser.";
        assert_eq!(lexicon().judge(asked), Speech::Human(asked.into()));
    }

    #[test]
    fn its_tools_have_roles() {
        let role = |tool| lexicon().role(tool);
        assert_eq!((role("bash"), role("glob"), role("task")), (ToolRole::Shell, ToolRole::Find, ToolRole::Agent));
        assert_eq!((role("grep"), role("webfetch")), (ToolRole::Search, ToolRole::Fetch));
        assert!(role("todowrite").is_steering() && lexicon().is_path("filePath"));
    }
}
