//! The automatic editor's state for a conversation.

pub mod calls;
pub mod noted;
pub mod tool_use;

use crate::log::{Automatic, PhaseSummary};
use crate::tool_text::TextIndex;
use ctx_api::context::WorthView;
use ctx_api::timeline::Signal;
use ctx_core::SlotId;
use ctx_core::edit::CommitId;
use ctx_core::policy::Phases;
pub use noted::NotedEdits;
pub use tool_use::ToolUse;

/// The author of the automatic editor's commits.
pub const AUTHOR: &str = "policy";

#[derive(Debug, Default)]
pub struct PolicyState {
    /// The last computed view of content worth removing.
    pub worth: Option<Box<RememberedView>>,
    pub phases: Phases,
    /// The summaries that wait until the account allows their price.
    pub summaries: Vec<PhaseSummary>,
    /// The editor watches the conversation; the edits it would have made; it has signalled that the limit is near.
    pub automated: bool,
    pub noted: NotedEdits,
    pub near_limit: bool,
    /// Its index of the words in the conversation.
    pub text_index: TextIndex,
    /// The message that it will probably change next.
    pub next: Option<SlotId>,
    /// The diet was noted.
    pub diet_noted: bool,
    pub tool_use: ToolUse,
}

impl PolicyState {
    /// Applies a note of the editor. Used live and in replay.
    pub fn take(&mut self, said: &Automatic) {
        match said {
            Automatic::PhaseBegan { name, moment, .. } => self.phases.begin(name, *moment),
            Automatic::PhaseEnded { name, moment, .. } => self.phases.end(name, *moment),
            Automatic::Noted { .. } | Automatic::Kept { .. } => {
                self.diet_noted |= matches!(said, Automatic::Noted { tools, .. } if !tools.is_empty());
                self.noted.add(said);
            }
            Automatic::Summary(summary) => {
                self.summaries.retain(|one| !one.is_of(summary));
                self.summaries.extend(Some(summary).filter(|summary| summary.waits_for.is_some()).cloned());
            }
            Automatic::Access(_) | Automatic::Helped(_) => {}
            Automatic::Signal(told) => self.near_limit = told.signal == Signal::ContextNearLimit,
        }
    }
}

/// A cached view, and the state that it was computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct RememberedView {
    pub of: (u32, Option<CommitId>, bool, usize, u64),
    pub view: WorthView,
}
