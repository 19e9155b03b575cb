//! Editing: operations become commits.
//!
//! [`apply`] turns an edit request into a commit, [`past`] moves through the history, [`wait`] defers edits. The rules
//! of editing are in `ctx_core::edit`; [`crate::compose`] composes the request.

pub mod apply;
pub mod carry;
pub mod cost;
pub mod files;
pub mod handle;
pub mod heal;
pub mod import;
pub mod imports;
pub mod lines;
pub mod nothing;
pub mod offload;
pub mod past;
pub mod plan;
pub mod stays;
mod stubs;
pub mod summary;
pub mod wait;

pub use apply::{expected, on_top};
pub use ctx_core::edit::misread;
pub use files::{Files, NewFile};
pub use imports::Imports;
pub use past::shown;
pub use plan::plan_request;
pub use summary::summary;
pub use wait::notes;
