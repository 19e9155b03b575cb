//! Codex: sends its thread, and the purpose of each request.

mod headers;
mod install;
mod session;
mod vocabulary;

pub use vocabulary::VOCABULARY;

use crate::class;
use crate::launch::{KeyCarrier, Launch, Route};
use crate::{Client, ClientId, McpCaller};

/// The thread, passed to the commands that it runs.
pub const THREAD: &str = "CODEX_THREAD_ID";

pub static CLIENT: Client = Client {
    id: ClientId::Codex,
    name: "codex",
    title: "Codex",
    recognises: headers::recognises,
    products: &["codex_", "codex-"],
    headers: headers::NAMES,
    refine: headers::refine,
    class: class::of_agent,
    tells_side_requests: true,
    vocabulary: &VOCABULARY,
    sessions: Some(session::FILES),
    bookkeeping: &["update_plan", "spawn_agent", "wait_agent", "send_message", "list_agents", "request_user_input"],
    installer: Some(&install::INSTALLER),
    launch: Launch { programs: &["codex"], routes: &[WITH_KEY, WITH_LOGIN] },
    mcp: Some(McpCaller { session: Some("threadId"), ..McpCaller::named("codex") }),
    session_variable: Some(THREAD),
    marks: &[THREAD, "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI"],
    ..Client::BASE
};

const KEY: KeyCarrier =
    KeyCarrier::Arguments(&["-c", "model_providers.ctx.env_http_headers={ \"{header}\" = \"{variable}\" }"]);

/// A provider named "OpenAI" makes Codex send the turn of each item. It uses plain HTTP, unlike the built-in provider.
const WITH_KEY: Route = Route {
    when: Some("OPENAI_API_KEY"),
    arguments: &[
        "-c",
        "model_provider=\"ctx\"",
        "-c",
        "model_providers.ctx.name=\"OpenAI\"",
        "-c",
        "model_providers.ctx.base_url=\"{url}/v1\"",
        "-c",
        "model_providers.ctx.wire_api=\"responses\"",
        "-c",
        "model_providers.ctx.env_key=\"OPENAI_API_KEY\"",
    ],
    key: KEY,
    ..Route::BASE
};

/// With a ChatGPT login, Codex ignores the base URL of a provider named "OpenAI".
const WITH_LOGIN: Route = Route {
    arguments: &[
        "-c",
        "model_provider=\"ctx\"",
        "-c",
        "model_providers.ctx.name=\"ctx\"",
        "-c",
        "model_providers.ctx.base_url=\"{url}/backend-api/codex\"",
        "-c",
        "model_providers.ctx.wire_api=\"responses\"",
        "-c",
        "model_providers.ctx.requires_openai_auth=true",
    ],
    note: Some("OPENAI_API_KEY is not set, so Codex uses its ChatGPT login"),
    key: KEY,
    ..Route::BASE
};
