//! Editing what the model is sent, pure: from a wish to effects, from effects to a view.
//!
//! An [`operation::Operation`] is what somebody asks for, in the words people use (`t3/5`). Resolved against
//! the view at hand it becomes [`effect::Effect`]s, which name slots and blocks and so hold whatever the client
//! does next. A [`history::History`] of commits says which effects are active, and [`fold`] lays them over a
//! path: the same path and the same effects give the same [`fold::View`], always.

pub mod address;
pub mod carry;
pub mod effect;
pub mod fold;
pub mod frame_id;
pub mod history;
pub mod layout;
pub mod misread;
pub mod operation;
pub mod refusal;
pub mod resolve;
pub mod superseded;
#[cfg(test)]
pub(crate) mod testing;
pub mod weigh;

pub use effect::{Cover, Cut, Effect, EffectId, FrameKey, FrameRef, Made, MadeId, MessageRef, PENDING, Place};
pub use fold::{View, fold};
pub use frame_id::FrameId;
pub use history::{Commit, CommitId, History};
pub use operation::Operation;
pub use refusal::Refusal;
