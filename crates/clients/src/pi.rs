//! pi: sends its session on the Responses wire only, and requests no titles.

use crate::class;
use crate::hints::{is_product, product};
use crate::launch::{KeyCarrier, Launch, Route};
use crate::setup::Syntax;
use crate::setup::settings::{Entry, Folder, Setting, SettingsInstaller, SkillPlace};
use crate::{Client, ClientId, Headers};
use ctx_core::lexicon::Vocabulary;
use ctx_core::{Class, ToolRole};

pub static CLIENT: Client = Client {
    id: ClientId::Pi,
    name: "pi",
    title: "pi",
    recognises,
    products: &["pi/"],
    class: class::of_agent,
    vocabulary: &VOCABULARY,
    installer: Some(&INSTALLER),
    launch: Launch { programs: &["pi"], routes: &[ROUTE] },
    marks: &["PI_CODING_AGENT"],
    ..Client::BASE
};

/// No variable redirects it. An extension redirects its built-in providers.
const ROUTE: Route = Route {
    arguments: &["--extension", "{file}"],
    file: Some((
        "pi-providers.ts",
        "export default function (pi: any) {\n  pi.registerProvider(\"anthropic\", { baseUrl: \"{url}\" });\n  \
         pi.registerProvider(\"openai\", { baseUrl: \"{url}/v1\" });\n  \
         pi.registerProvider(\"google\", { baseUrl: \"{url}/v1beta\" });\n}\n",
    )),
    key: KeyCarrier::File(
        "export default function (pi: any) {\n  const headers = { \"{header}\": process.env.{variable} };\n  \
         pi.registerProvider(\"anthropic\", { baseUrl: \"{url}\", headers });\n  \
         pi.registerProvider(\"openai\", { baseUrl: \"{url}/v1\", headers });\n  \
         pi.registerProvider(\"google\", { baseUrl: \"{url}/v1beta\", headers });\n}\n",
    ),
    check: Some("a provider of your own in ~/.pi/agent/models.json needs `\"baseUrl\": \"{url}\"` there"),
    ..Route::BASE
};

/// A provider without models in `models.json` redirects the built-in one of that name.
static INSTALLER: SettingsInstaller = SettingsInstaller {
    name: "pi",
    title: "pi",
    folder: Folder { variable: Some(("PI_CODING_AGENT_DIR", "")), home: ".pi/agent" },
    files: &["models.json"],
    project: None,
    syntax: Syntax::Json,
    entries: |_, _| &ENTRIES,
    needs: None,
    server: None,
    skills: Some(SkillPlace {
        folder: Folder { variable: Some(("PI_CODING_AGENT_DIR", "")), home: ".pi/agent" },
        project: None,
    }),
    variables: &[],
    note: None,
};

static ENTRIES: [Entry; 3] = [
    Entry {
        path: &["providers", "anthropic", "baseUrl"],
        value: Setting::Url { value: "{url}", upstream: "anthropic" },
    },
    Entry { path: &["providers", "openai", "baseUrl"], value: Setting::Url { value: "{url}/v1", upstream: "openai" } },
    Entry {
        path: &["providers", "google", "baseUrl"],
        value: Setting::Url { value: "{url}/v1beta", upstream: "gemini" },
    },
];

pub static VOCABULARY: Vocabulary = Vocabulary {
    summaries: &["The conversation history before this point was compacted into the following summary:"],
    systems: &[("You are a context summarization assistant", Class::Compaction)],
    folders: &["<cwd>\\n"],
    tools: &[("read", ToolRole::Read), ("write", ToolRole::Write), ("edit", ToolRole::Edit), ("bash", ToolRole::Shell)],
    ..Vocabulary::EMPTY
};

fn recognises(headers: Headers<'_>) -> bool {
    product(headers).is_some_and(|product| product == CLIENT.name) || is_product(headers, CLIENT.products)
}

#[cfg(test)]
mod tests {
    use crate::{ClientId, Hints, lexicon};
    use ctx_core::Class;
    use ctx_core::lexicon::{SUMMARY_TITLE, Speech};

    #[test]
    fn it_is_known_by_its_name_and_names_its_session_on_one_wire() {
        let hints = Hints::read(|name| match name {
            "user-agent" => Some("pi (linux 6.1; x64)"),
            "session_id" => Some("s-1"),
            _ => None,
        });
        assert_eq!((hints.client, hints.session.as_deref()), (ClientId::Pi, Some("s-1")));
        let other = Hints::read(|name| (name == "user-agent").then_some("pipeline/1"));
        assert_eq!(other.client, ClientId::Unknown);
    }

    #[test]
    fn its_compaction_is_recognised_before_and_after() {
        let system = "You are a context summarization assistant. Your task is to read a conversation";
        assert_eq!(lexicon().class_of_system(system), Some(Class::Compaction));
        let summary =
            "The conversation history before this point was compacted into the following summary:\n\n<summary>x";
        assert_eq!(lexicon().judge(summary), Speech::Human(SUMMARY_TITLE.into()));
    }
}
