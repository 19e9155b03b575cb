//! Continue: sends neither a session nor its name.

use crate::class;
use crate::hints::is_product;
use crate::launch::{Launch, Route};
use crate::setup::settings::{ByHand, Folder};
use crate::{Client, ClientId, Headers, McpCaller};
use ctx_core::lexicon::{Arguments, Vocabulary};
use ctx_core::{Class, ToolRole};

pub static CLIENT: Client = Client {
    id: ClientId::Continue,
    name: "continue",
    title: "Continue",
    recognises,
    products: &["continue/", "Continue/"],
    introductions: &["You are an agent in the Continue CLI"],
    class: class::of_agent,
    vocabulary: &VOCABULARY,
    bookkeeping: &["Checklist", "AskQuestion", "CheckBackgroundJob"],
    installer: Some(&INSTALLER),
    launch: Launch { programs: &["cn"], routes: &[ROUTE] },
    mcp: Some(McpCaller::named("continue")),
    ..Client::BASE
};

/// The base URL is part of a model in the user's configuration.
const ROUTE: Route = Route {
    note: Some(
        "Continue reads its base URL only from its configuration: set `apiBase: {url}/v1/` for the model in \
         ~/.continue/config.yaml",
    ),
    check: Some("the model in use has no `apiBase: {url}/v1/` in config.yaml"),
    ..Route::BASE
};

static INSTALLER: ByHand = ByHand {
    name: "continue",
    title: "Continue",
    folder: Folder { variable: None, home: ".continue" },
    file: "config.yaml",
    reason: "Continue stores a base URL with each model, and ctx cannot choose among them",
    line: "`apiBase: {url}/v1/` below each model of Anthropic or OpenAI",
};

pub static VOCABULARY: Vocabulary = Vocabulary {
    requests: &[("Please provide a concise summary of our conversation so far", Class::Compaction)],
    tools: &[
        ("List", ToolRole::Search),
        ("Fetch", ToolRole::Fetch),
        ("Checklist", ToolRole::Todo),
        ("AskQuestion", ToolRole::Ask),
    ],
    lasting: &["Checklist"],
    arguments: Arguments { path: &["filepath"], telling: &["filepath", "dirpath"], ..Arguments::EMPTY },
    ..Vocabulary::EMPTY
};

fn recognises(headers: Headers<'_>) -> bool {
    is_product(headers, CLIENT.products)
}

#[cfg(test)]
mod tests {
    use crate::{ClientId, introduced, lexicon};
    use ctx_core::{Class, ToolRole};

    #[test]
    fn it_is_known_by_its_system_prompt() {
        let system = "You are an agent in the Continue CLI. Given the user's prompt, you should use the tools";
        assert_eq!(introduced(system).map(|client| client.id), Some(ClientId::Continue));
        assert!(introduced("You are a helpful assistant").is_none());
    }

    #[test]
    fn its_compaction_is_a_side_request() {
        let asked =
            "Please provide a concise summary of our conversation so far, capturing the key context, decisions made";
        assert_eq!(lexicon().class_of_request(asked), Some(Class::Compaction));
    }

    #[test]
    fn its_tools_have_roles_and_its_files_a_name_of_their_own() {
        assert_eq!((lexicon().role("Checklist"), lexicon().role("List")), (ToolRole::Todo, ToolRole::Search));
        assert!(lexicon().is_path("filepath") && lexicon().is_lasting("Checklist"));
    }
}
