//! The server at `/control/v1/mcp`: streamable HTTP without sessions. The access checks of the control API come first,
//! so host, origin and token are valid.

use std::sync::Arc;

use axum::Router;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::ask::InProcess;
use super::own::Origin;
use super::{Server, Settings};

/// More than a model writes in one call. JSON takes many times its size in memory.
const LARGEST_BODY: usize = 2 * 1024 * 1024;

/// The control API together with the MCP server, which calls that API.
pub fn beside(control: Router, settings: Settings) -> Router {
    let ask = Arc::new(InProcess(control.clone()));
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .with_max_request_body_bytes(LARGEST_BODY);
    let server = move || Ok(Server::new(ask.clone(), settings.clone(), Origin::default()));
    let service = StreamableHttpService::new(server, Arc::new(NeverSessionManager::default()), config);
    control.route_service("/mcp", service)
}
