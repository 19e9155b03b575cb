//! What the automatic editor knows of a conversation and does to it.

pub mod calls;
pub mod noted;

use crate::log::Automatic;
use crate::tool_text::TextIndex;
use ctx_api::context::WorthView;
use ctx_api::timeline::Signal;
use ctx_core::SlotId;
use ctx_core::edit::CommitId;
use ctx_core::policy::Phases;
pub use noted::NotedEdits;

/// The author of the automatic editor's commits.
pub const AUTHOR: &str = "policy";

/// What the automatic editor knows and does.
#[derive(Debug, Default)]
pub struct PolicyState {
    /// What is worth removing, as it was last worked out.
    pub worth: Option<Box<RememberedView>>,
    /// Phases of the work.
    pub phases: Phases,
    /// The automatic editor looks at it; what it would have done; and it has told that the limit is near.
    pub automated: bool,
    pub noted: NotedEdits,
    pub near_limit: bool,
    /// What the automatic editor knows of its words.
    pub text_index: TextIndex,
    /// The message that it will change next, by the looks of it.
    pub next: Option<SlotId>,
}

impl PolicyState {
    /// Takes in what the editor was told, or noted. Used live and in replay alike.
    pub fn take(&mut self, said: &Automatic) {
        match said {
            Automatic::PhaseBegan { name, moment, .. } => self.phases.begin(name, *moment),
            Automatic::PhaseEnded { name, moment, .. } => self.phases.end(name, *moment),
            Automatic::Noted { .. } | Automatic::Kept { .. } => self.noted.add(said),
            Automatic::Signal(told) => self.near_limit = told.signal == Signal::ContextNearLimit,
        }
    }
}

/// A view with what it depends on, so that it is worked out once.
#[derive(Debug, Clone, PartialEq)]
pub struct RememberedView {
    pub of: (u32, Option<CommitId>, bool, usize, u64),
    pub view: WorthView,
}
