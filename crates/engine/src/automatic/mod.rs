//! The automatic editor: when a held request arrives it is looked at as it would leave, and what a policy wants is made
//! as one ordinary commit before it leaves. Results that were never sent are in reach then: to change them costs no
//! cache and no thinking.
//!
//! Without an editor nothing happens here. What takes the place of a result is stored with
//! its commit, so that every later request, also after a restart, leaves with the same.

pub mod ask;
pub mod batch;
pub mod candidates;
pub mod content;
pub mod facts;
pub mod fill;
pub mod input;
pub mod ledger_line;
pub mod observed;
pub mod restored;
pub mod rules;
pub mod run;
pub mod signal;
pub mod status;
pub mod text_index;

use crate::Refusal;
pub use batch::Batch;
use ctx_api::context::ProjectSettings;
use ctx_core::edit::Commit;
use ctx_core::policy::{Facts, Look, Mode, Policy, Proposal, Settings};
pub use observed::Noted;
pub use restored::calls;
pub use rules::Rules;
pub use run::Moment;
pub use status::Now;
use std::sync::Arc;
pub use text_index::TextIndex;

/// Who signs what is made here.
pub const AUTHOR: &str = "policy";

/// Edits conversations by itself.
pub trait Automatic: Send + Sync {
    /// Whether it looks at every conversation. Otherwise at those for which its settings say so.
    fn holds_all(&self) -> bool {
        true
    }

    /// What somebody wants of it for a conversation, while these skills are active.
    fn settings(&self, _about: &About<'_>, _skills: &[&str]) -> Arc<Settings> {
        Arc::new(Settings { mode: Mode::On, ..ctx_clients::editor_settings() })
    }

    /// What should be done before this request leaves. Called for every held request of a conversation, while its
    /// client waits. `all`: somebody wants all that may go to go now.
    fn propose(&self, about: &About<'_>, look: &Look<'_>, by: (&Settings, Facts<'_>), all: bool) -> Vec<Proposal>;

    /// From where on the limit of the model is near.
    fn limit(&self, _about: &About<'_>, settings: &Settings, window: u64) -> Limit {
        let percent = settings.threshold(false);
        Limit { percent, tokens: window / 100 * percent }
    }

    /// Whether the provider edits it by itself, too.
    fn provider_edits(&self, _about: &About<'_>) -> bool {
        false
    }

    /// Adds a line to the ledger.
    fn note(&self, _about: &About<'_>, _settings: &Settings, _line: &str) -> Result<(), String> {
        Ok(())
    }

    /// What keeps it from doing what is wanted, each in a sentence.
    fn hindrances(&self, _about: &About<'_>, _skills: &[&str]) -> Vec<String> {
        Vec::new()
    }

    /// Settings of the project itself that are not in force.
    fn project_settings(&self, _about: &About<'_>, _skills: &[&str]) -> Option<ProjectSettings> {
        None
    }

    /// Told of what was made, or why it was not.
    fn done(&self, _about: &About<'_>, _done: Result<&Commit, &Refusal>) {}

    /// Keeps the content of a result that is about to go. Gives a sentence that tells the agent where to find it, if it
    /// is to be found; what cannot be kept stays. With the result comes what it was asked for.
    fn keep(
        &self,
        _about: &About<'_>,
        _settings: &Settings,
        _removed: (&Removed<'_>, &str),
        _keeping: Keeping,
    ) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Makes what was kept survive a power cut. Called before a commit is stored, on no request's time.
    fn secure(&self) {}
}

/// From where on the limit of the model is near.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub percent: u64,
    pub tokens: u64,
}

/// Where the content of a result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// Nothing is cleared: it is only looked at what would be.
    Nowhere,
    /// To a file: it may be cleared.
    Filed,
    /// To a file, and into the ledger: it is cleared.
    Noted,
}

/// A policy and nothing else: what goes is kept nowhere.
pub struct Plain(pub Arc<dyn Policy>);

impl Automatic for Plain {
    fn propose(&self, _: &About<'_>, look: &Look<'_>, _: (&Settings, Facts<'_>), _: bool) -> Vec<Proposal> {
        self.0.propose(look)
    }
}

/// Proposes nothing; stands in where no editor is switched on.
pub struct NoEditor;

impl Automatic for NoEditor {
    fn propose(&self, _: &About<'_>, _: &Look<'_>, _: (&Settings, Facts<'_>), _: bool) -> Vec<Proposal> {
        Vec::new()
    }
}

/// The conversation that a request belongs to.
#[derive(Debug, Clone, Copy)]
pub struct About<'c> {
    pub conversation: &'c str,
    pub model: Option<&'c str>,
    /// The folder that its client works in.
    pub folder: Option<&'c str>,
    /// The agent of its session, when it is not the main one.
    pub agent: Option<&'c str>,
    /// The number of the request.
    pub request: u32,
    /// When it came.
    pub at: u64,
    /// Tokens of results that the provider itself left out of the one before.
    pub cleared: u64,
    /// The provider edits this request for the first time: nothing else is cut from it.
    pub provider_first: bool,
    /// All that is being cleared from it.
    pub batch: Batch,
}

/// A result that is about to go, or what a call was asked with.
#[derive(Debug, Clone, Copy)]
pub struct Removed<'r> {
    /// The id of its call.
    pub call: &'r str,
    /// It is what the call was asked with.
    pub is_input: bool,
    pub tool: &'r str,
    pub text: &'r str,
    /// How the name of a file with it should end: `txt`, or `json` where it is more than text.
    pub ending: &'r str,
    pub tokens: u64,
    pub reason: &'r str,
}
