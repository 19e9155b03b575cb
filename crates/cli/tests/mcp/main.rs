//! The MCP server from an agent's view: JSON-RPC over stdio and HTTP, and stock Claude Code that edits its own
//! conversation.

#[path = "../clients/claude.rs"]
#[allow(dead_code)]
mod claude;
mod over_http;
mod own;
#[path = "../command/place.rs"]
#[allow(dead_code)]
mod place;
mod protocol;
mod same_list;
#[path = "../command/editing/scene.rs"]
#[allow(dead_code)]
mod scene;
mod settings;
mod size;
mod speaker;
#[path = "../clients/stage.rs"]
#[allow(dead_code)]
mod stage;
mod starting;
mod stock;
