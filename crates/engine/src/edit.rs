//! Editing: operations become commits, and requests are composed.
//!
//! [`apply`] takes a wish to a durable commit, [`past`] goes back and forth in the history, [`ground`] lays the
//! active effects over a conversation, and [`sent`] turns that into what is sent. The rules of editing are in
//! `ctx_core::edit`, those of the provider in the wire.

pub mod apply;
pub mod carry;
pub mod client_notes;
pub mod compare;
pub mod cost;
pub mod ground;
pub mod heal;
pub mod import;
pub mod lines;
pub mod nothing;
pub mod offload;
pub mod past;
pub mod plan;
pub mod repaired;
pub mod sent;
pub mod summary;
pub mod wait;

pub use apply::{expected, on_top};
pub use compare::{around_alike, at_point};
pub use ctx_core::edit::misread;
pub use ground::Chain;
pub use ground::{Ground, Weights};
pub use import::Imports;
pub use offload::{Files, OffloadFolder};
pub use past::shown;
pub use plan::plan_wish;
pub use repaired::Repaired;
pub use sent::{AtHand, Stops, digest};
pub use sent::{Otherwise, Outgoing, Part, Ready, Sent};
pub use summary::summary;
pub use wait::Moments;
pub use wait::notes;
