//! The MCP server for agents. It is a client of the control API like the command line and the page, with the same
//! abilities, and makes ordinary commits, signed `mcp`. One handler serves `ctx mcp` (stdio) and `/control/v1/mcp` of
//! the daemon (streamable HTTP).
//!
//! ```text
//! tools ─┬─► own       which conversation is the caller's
//!        ├─► list, show, status, edit, resources      ─► ask ─► control API
//!        └─► answer    small, structured
//! ```

mod answer;
mod ask;
mod edit;
mod explain;
mod http;
mod list;
mod own;
mod pending;
mod phase;
mod resources;
mod sent;
mod settings;
mod show;
mod status;
mod tools;

use std::sync::Arc;

use ::http::request::Parts;
use ctx_clients::McpCaller;
use ctx_core::ErrorCode;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::answer::{Answer, copies, refused};
use self::ask::ScopedAsk;
pub use self::ask::{Ask, Refusal};
pub(crate) use self::http::beside;
pub use self::own::Origin;
use self::own::{Caller, Own, ShownConversations, find};
use self::pending::ToolCall;
pub use self::settings::{OPERATIONS, Settings, WAYS};

pub struct Server<A> {
    ask: Arc<A>,
    settings: Settings,
    origin: Origin,
    /// Over HTTP, every call is a connection of its own.
    shown: ShownConversations,
}

impl<A: Ask> Server<A> {
    pub fn new(ask: Arc<A>, settings: Settings, origin: Origin) -> Self {
        Self { ask, settings, origin, shown: ShownConversations::default() }
    }

    /// Serves one client on stdin and stdout until it disconnects.
    pub async fn serve_stdio(self) -> Result<(), String> {
        let pipes = (tokio::io::stdin(), tokio::io::stdout());
        let ask = self.ask.clone();
        let running = self.serve(pipes).await.map_err(|error| error.to_string())?;
        // Start the daemon now: the agent will soon need it.
        tokio::spawn(async move { ask.ask("/status".to_owned(), None).await });
        running.waiting().await.map(|_| ()).map_err(|error| error.to_string())
    }

    /// The control API as this caller may use it.
    fn limited(&self, caller: &Caller) -> ScopedAsk<A> {
        ScopedAsk { ask: self.ask.clone(), scopes: caller.scopes }
    }

    async fn own(&self, caller: &Caller, named: &Option<String>) -> Result<Own, Refusal> {
        find(&self.limited(caller), &self.origin, caller, named.as_deref()).await
    }

    /// The conversation that a tool changes.
    async fn changed(&self, caller: &Caller, named: &Option<String>) -> Result<Own, Refusal> {
        let own = self.own(caller, named).await?;
        own::to_change(&self.limited(caller), own, &self.shown).await
    }

    async fn answer(&self, name: &str, given: Value, caller: &Caller) -> Result<Answer, Refusal> {
        let (ask, settings) = (&self.limited(caller), &self.settings);
        match name {
            tools::STATUS => {
                let given: status::Arguments = understood(given)?;
                status::status(ask, &self.own(caller, &given.conv).await?, settings).await
            }
            tools::LIST => {
                let given: list::Arguments = understood(given)?;
                list::list(ask, &self.own(caller, &given.conv).await?, &given, copies(caller)).await
            }
            tools::SHOW => {
                let given: show::ShowArguments = understood(given)?;
                show::show(ask, &self.own(caller, &given.conv).await?, &given).await
            }
            tools::SENT => {
                let given: sent::Arguments = understood(given)?;
                sent::sent(ask, &self.own(caller, &given.conv).await?, &given).await
            }
            tools::SEARCH => {
                let given: show::SearchArguments = understood(given)?;
                show::search(ask, &self.own(caller, &given.conv).await?, &given).await
            }
            tools::PREVIEW => {
                let given: edit::Arguments = understood(given)?;
                edit::preview(ask, &self.own(caller, &given.conv).await?, &given).await
            }
            tools::APPLY => {
                let given: edit::Arguments = understood(given)?;
                edit::apply(ask, &self.changed(caller, &given.conv).await?, settings, &given).await
            }
            tools::UNDO => {
                let given: edit::UndoArguments = understood(given)?;
                edit::undo(ask, &self.changed(caller, &given.conv).await?, settings, &given).await
            }
            tools::EXPLAIN => explain::explain(ask, &understood(given)?).await,
            tools::PHASE => {
                let given: phase::Arguments = understood(given)?;
                phase::phase(ask, &self.changed(caller, &given.conv).await?, settings, &given).await
            }
            other => Err(Refusal::new(ErrorCode::UnknownTool, format!("No tool `{other}`."), "")),
        }
    }
}

fn understood<T: DeserializeOwned>(arguments: Value) -> Result<T, Refusal> {
    serde_json::from_value(arguments).map_err(|error| {
        Refusal::new(ErrorCode::BadArguments, format!("The arguments are invalid: {error}."), "See the tool's schema.")
    })
}

/// The caller, as far as the client and its request identify it.
fn caller(context: &RequestContext<RoleServer>) -> Caller {
    let parts = context.extensions.get::<Parts>();
    let header = |name: &str| parts.and_then(|parts| Some(parts.headers.get(name)?.to_str().ok()?.to_owned()));
    let agent = header("user-agent").and_then(|agent| Some(agent.split('/').next()?.to_owned()));
    let told = |member: fn(McpCaller) -> Option<&'static str>| {
        let told = ctx_clients::mcp_callers().find_map(|client| context.meta.get(member(client)?)?.as_str());
        told.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let in_header = ctx_clients::session_headers().find_map(|name| header(name).filter(|session| !session.is_empty()));
    Caller {
        call: told(|client| client.call),
        session: told(|client| client.session).or(in_header),
        tool: None,
        client: context.client_info().map(|client| client.name).or(agent),
        scopes: parts.and_then(|parts| parts.extensions.get().copied()).unwrap_or_default(),
    }
}

impl<A: Ask> ServerHandler for Server<A> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("ctx", env!("CARGO_PKG_VERSION")))
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all(&self.settings)))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all(&self.settings).into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let tool = ToolCall { name: request.name.to_string(), arguments: arguments.clone() };
        let caller = Caller { tool: Some(tool), ..caller(&context) };
        match self.answer(&request.name, arguments, &caller).await {
            Ok(answer) => {
                self.shown.add(&answer);
                Ok(answer.into_result(&caller).into())
            }
            Err(refusal) if refusal.code == ErrorCode::UnknownTool => {
                Err(ErrorData::invalid_params(refusal.message, None))
            }
            Err(refusal) => Ok(refused(&refusal).into()),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        // Clients list resources at their start, before the first request: that is not an error.
        let caller = caller(&context);
        let Ok(own) = self.own(&caller, &None).await else { return Ok(ListResourcesResult::default()) };
        let cursor = request.and_then(|request| request.cursor);
        let listed = resources::list(&self.limited(&caller), &own, cursor.as_deref()).await;
        listed.map_err(|refusal| ErrorData::internal_error(refusal.to_string(), None))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = &request.uri;
        let (mut conversation, frame) = resources::place(uri).ok_or_else(|| {
            let form = "A frame is ctx://conversation/ID/frame/t3.";
            resources::not_found(uri, &Refusal::new(ErrorCode::UnknownResource, "No such resource.", form))
        })?;
        let caller = caller(&context);
        if conversation == resources::OWN {
            let own = self.own(&caller, &None).await.map_err(|refusal| resources::not_found(uri, &refusal))?;
            conversation = own.id;
        }
        resources::read(&self.limited(&caller), uri, (&conversation, &frame)).await.map(Into::into)
    }
}
