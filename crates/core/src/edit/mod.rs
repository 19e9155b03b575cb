//! Editing the request, pure: operations become effects, effects become a view.
//!
//! An [`operation::Operation`] is an author's request, in the addresses that people use (`t3/5`). Resolved against the
//! current view it becomes [`effect::Effect`]s, which name slots and blocks and so survive whatever the client does
//! next. A [`history::History`] of commits determines the active effects, and [`fold`] lays them over a path: the same
//! path and the same effects always give the same [`fold::View`].

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

pub use effect::{
    Cover, CutPoint, Effect, EffectId, FrameKey, FrameRef, MessageRef, NewMessage, NewMessageId, PENDING, Place,
};
pub use fold::{View, fold};
pub use frame_id::FrameId;
pub use history::{Commit, CommitId, History};
pub use operation::Operation;
pub use refusal::Refusal;
