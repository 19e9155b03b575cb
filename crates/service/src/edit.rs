//! Editing: operations become commits, and requests are composed.
//!
//! [`apply`] takes a wish to a durable commit, [`past`] goes back and forth in the history, [`ground`] lays the
//! active effects over a conversation, and [`sent`] turns that into what is sent. The rules of editing are in
//! `ctx_core::edit`, those of the provider in the wire.

mod apply;
mod carry;
mod client_notes;
mod compare;
mod cost;
mod ground;
mod heal;
mod import;
mod lines;
mod nothing;
mod offload;
mod past;
mod plan;
pub(crate) mod repaired;
mod sent;
mod summary;
pub(crate) mod wait;

pub(crate) use apply::{expected, on_top};
pub(crate) use compare::{around_alike, at_point};
pub use ctx_core::edit::misread;
pub use ground::Chain;
pub(crate) use ground::{Ground, Weights};
pub use import::Imports;
pub use offload::Folder;
pub(crate) use offload::{Files, lacks_its_file};
pub use past::shown;
pub use plan::plan_wish;
pub(crate) use repaired::Repaired;
pub(crate) use sent::{AtHand, Stops, digest};
pub use sent::{Otherwise, Outgoing, Part, Ready, Sent};
pub(crate) use summary::summary;
pub use wait::Moments;
pub(crate) use wait::notes;
