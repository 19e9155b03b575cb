//! The types of the control API: every request and answer, one module per subject.
//!
//! The daemon, the command line, the MCP server and the OpenAPI document use these types; the page generates its own
//! from that document. Other crates fill them.

pub mod cache;
pub mod call;
#[cfg(feature = "client")]
pub mod client;
pub mod codes;
pub mod context;
pub mod conversations;
pub mod cost;
pub mod edit;
pub mod error;
pub mod explain;
pub mod face;
pub mod frames;
pub mod helper;
pub mod history;
pub mod live;
pub mod map;
pub mod models;
pub mod offloaded;
pub mod operations;
pub mod phases;
pub mod plan;
pub mod requests;
pub mod search;
pub mod show;
pub mod stats;
pub mod status;
pub mod team;
pub mod timeline;
pub mod waiting;

/// Whether a count is zero and the field can be omitted.
fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}
