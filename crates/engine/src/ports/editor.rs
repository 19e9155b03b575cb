//! The automatic editor: edits conversations by itself.

use crate::Refusal;
use ctx_api::context::ProjectSettings;
use ctx_core::edit::Commit;
use ctx_core::format::count;
use ctx_core::policy::{Facts, Look, Mode, Policy, Proposal, Settings};
use std::sync::Arc;

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
        _removed: (&Removal<'_>, &str),
        _keeping: Keeping,
    ) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Makes what was kept survive a power cut. Called before a commit is stored, on no request's time.
    fn secure(&self) {}
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

/// How many results and inputs are cleared together, and their tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Batch {
    pub size: usize,
    pub tokens: u64,
}

impl Batch {
    pub fn add(&mut self, tokens: u64) {
        if tokens > 0 {
            self.size += 1;
            self.tokens += tokens;
        }
    }

    /// Nothing for a single one: its line has its tokens.
    pub fn in_words(&self) -> Option<String> {
        (self.size > 1).then(|| format!("{} in this batch, {} tokens in total", self.size, count(self.tokens)))
    }
}

/// From where on the limit of the model is near.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub percent: u64,
    pub tokens: u64,
}

/// A result that is about to go, or what a call was asked with.
#[derive(Debug, Clone, Copy)]
pub struct Removal<'r> {
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
