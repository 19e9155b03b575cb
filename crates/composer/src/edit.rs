//! Editing: operations become commits, and requests are composed.
//!
//! [`apply`] takes a wish to a durable commit, [`past`] goes back and forth in the history, [`ground`] lays the
//! active effects over a conversation, and [`sent`] turns that into what is sent. The rules of editing are in
//! `ctx_core::edit`, those of the provider in the wire.

mod apply;
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
mod repaired;
mod sent;
mod summary;
pub(crate) mod wait;

pub use apply::{Applied, Preview, RepairView, Wish};
pub(crate) use apply::{expected, on_top};
pub use compare::{Diff, FrameDiff};
pub(crate) use compare::{around_alike, at_point};
pub use cost::{Cache, Cost, Money};
pub use ctx_core::edit::misread;
pub use ground::Chain;
pub(crate) use ground::{Ground, Weights};
pub use import::Imports;
pub use lines::{BranchView, Branches, TagView, Tags};
pub use offload::Folder;
pub(crate) use offload::{Files, lacks_its_file};
pub use past::shown;
pub use past::{Action, CommitView, HistoryView, Way};
pub use plan::{Level, Plan, PlanView, Planned, PlannedView, Risk};
pub(crate) use repaired::Repaired;
pub(crate) use sent::{AtHand, Stops, digest};
pub use sent::{Explained, Otherwise, Outgoing, Part, Ready, Sent};
pub(crate) use summary::summary;
pub(crate) use wait::notes;
pub use wait::{Moments, PendingOutcome, PendingRefusal, Unmade, WaitView, WaitingView, When};
