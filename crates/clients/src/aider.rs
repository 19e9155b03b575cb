//! aider: has no tools, sends no session, and begins every conversation with the same examples.

use crate::launch::{KeyCarrier, Launch, Route};
use crate::setup::Syntax;
use crate::setup::settings::{Entry, Folder, Setting, SettingsInstaller};
use crate::{Client, ClientId, Headers};
use ctx_core::Class;
use ctx_core::lexicon::{Tag, Vocabulary};

pub static CLIENT: Client = Client {
    id: ClientId::Aider,
    name: "aider",
    title: "aider",
    recognises,
    // One for each of its modes.
    introductions: &[
        "Act as an expert software developer. Always use best practices when coding.",
        "Act as an expert software developer. Take requests for changes",
        "Act as an expert software developer who edits source code.",
        "Act as an expert software developer and make changes to source code.",
        "Act as an expert architect engineer and provide direction",
        "Act as an expert code analyst. Answer questions about the supplied code.",
        "Act as an expert code analyst. Understand the user's question or request",
        "You are an expert on the AI coding tool called Aider.",
    ],
    vocabulary: &VOCABULARY,
    installer: Some(&INSTALLER),
    launch: Launch { programs: &["aider"], routes: &[ROUTE] },
    ..Client::BASE
};

const ROUTE: Route = Route {
    variables: &[("ANTHROPIC_API_BASE", "{url}"), ("ANTHROPIC_BASE_URL", "{url}"), ("OPENAI_API_BASE", "{url}/v1")],
    check: Some("`--openai-api-base` and .aider.conf.yml override the environment"),
    key: KeyCarrier::ByHand(
        "add the header {header} with your key to `extra_params.extra_headers` in .aider.model.settings.yml",
    ),
    ..Route::BASE
};

static INSTALLER: SettingsInstaller = SettingsInstaller {
    name: "aider",
    title: "aider",
    folder: Folder { variable: None, home: "" },
    files: &[".aider.conf.yml"],
    project: Some(""),
    syntax: Syntax::Yaml,
    entries: |_, _| &ENTRIES,
    needs: None,
    server: None,
    skills: None,
    variables: &[],
    note: None,
};

static ENTRIES: [Entry; 2] = [
    Entry { path: &["openai-api-base"], value: Setting::Url { value: "{url}/v1", upstream: "openai" } },
    Entry { path: &["set-env"], value: Setting::List(&["ANTHROPIC_API_BASE={url}"]) },
];

pub static VOCABULARY: Vocabulary = Vocabulary {
    // It follows the human's newest words, to the end of the text.
    reminder: Some(Tag { open: "# *SEARCH/REPLACE block* Rules:", close: "" }),
    notices: &[
        "Change get_factorial() to use math.factorial",
        "Refactor hello() into its own file.",
        "I switched to a new code base.",
        "Here are summaries of some files present in my git repository",
        "Here are some READ ONLY files, provided for your reference.",
        "I am not sharing ",
        "I am working with you on code in a git repository.",
        "I have *added these files to the chat*",
    ],
    summaries: &["I spoke to you previously about a number of things."],
    systems: &[
        ("You are an expert software engineer that generates concise, one-line Git commit", Class::Auxiliary),
        ("*Briefly* summarize this partial conversation about programming", Class::Compaction),
    ],
    ..Vocabulary::EMPTY
};

fn recognises(headers: Headers<'_>) -> bool {
    headers("x-title").is_some_and(|title| title == "Aider")
}

#[cfg(test)]
mod tests {
    use crate::{ClientId, Hints, introduced, lexicon};
    use ctx_core::Class;
    use ctx_core::lexicon::Speech;

    #[test]
    fn it_is_known_by_its_title_or_by_its_system_prompt() {
        assert_eq!(Hints::read(|name| (name == "x-title").then_some("Aider")).client, ClientId::Aider);
        let library = Hints::read(|name| (name == "user-agent").then_some("litellm/1.75.0"));
        assert_eq!(library.client, ClientId::Unknown, "other programs use this library too");
        let system = "Act as an expert software developer. Always use best practices when coding. Respect…";
        assert_eq!(introduced(system).map(|client| client.id), Some(ClientId::Aider));
        let asked = "Act as an expert code analyst. Answer questions about the supplied code. Always reply…";
        assert_eq!(introduced(asked).map(|client| client.id), Some(ClientId::Aider), "its mode `ask`");
    }

    #[test]
    fn examples_and_files_are_not_said_by_the_human_and_the_rules_are_no_title() {
        for text in [
            "Change get_factorial() to use math.factorial",
            "I have *added these files to the chat* so you can",
            "I am not sharing any files that you can edit yet.",
        ] {
            assert_eq!(lexicon().judge(text), Speech::Injected, "{text}");
        }
        let asked = lexicon().without_reminders("fix the parser\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery block…");
        assert_eq!(lexicon().judge(&asked), Speech::Human("fix the parser".into()));
    }

    #[test]
    fn its_commit_messages_are_side_requests() {
        let system = "You are an expert software engineer that generates concise, one-line Git commit messages";
        assert_eq!(lexicon().class_of_system(system), Some(Class::Auxiliary));
    }
}
