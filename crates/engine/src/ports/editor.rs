//! The port for the automatic editor.

use crate::Refusal;
use ctx_api::context::ProjectSettings;
use ctx_core::edit::Commit;
use ctx_core::format::count;
use ctx_core::policy::{Facts, Look, Mode, Policy, Proposal, Settings};
use ctx_wire::envelope::Piece;
use std::sync::Arc;

/// Edits conversations automatically.
pub trait Automatic: Send + Sync {
    /// Whether it watches every conversation, rather than those selected by its settings.
    fn holds_all(&self) -> bool {
        true
    }

    /// Its settings for a conversation, while these skills are active.
    fn settings(&self, _about: &About<'_>, _skills: &[&str]) -> Arc<Settings> {
        Arc::new(Settings { mode: Mode::On, ..ctx_clients::editor_settings() })
    }

    /// The edits to make before this request leaves. Called for every held request, while its client waits. `all`: a
    /// user asked to clear everything that may be cleared.
    fn propose(&self, about: &About<'_>, look: &Look<'_>, by: (&Settings, Facts<'_>), all: bool) -> Vec<Proposal>;

    /// The threshold from which the model's limit is near.
    fn limit(&self, _about: &About<'_>, settings: &Settings, window: u64) -> Limit {
        let percent = settings.threshold(false);
        Limit { percent, tokens: window / 100 * percent }
    }

    /// Whether the provider also edits the conversation.
    fn provider_edits(&self, _about: &About<'_>) -> bool {
        false
    }

    /// Adds a line to the ledger, as [`Automatic::keep`] does.
    fn note(&self, _about: &About<'_>, _settings: &Settings, _line: &str) -> Result<(), String> {
        Ok(())
    }

    /// The obstacles to its work, one sentence each.
    fn hindrances(&self, _about: &About<'_>, _skills: &[&str]) -> Vec<String> {
        Vec::new()
    }

    /// Settings of the project itself that are not in force.
    fn project_settings(&self, _about: &About<'_>, _skills: &[&str]) -> Option<ProjectSettings> {
        None
    }

    /// Called with the commit, or with the reason why there is none.
    fn done(&self, _about: &About<'_>, _done: Result<&Commit, &Refusal>) {}

    /// Queues a result to be filed by [`Automatic::secure`]: a request waits, so no disk is waited for. Returns a
    /// sentence that names the file to the agent, if the agent can read it; content that cannot be filed stays. The
    /// tool input comes with the result.
    fn keep(
        &self,
        _about: &About<'_>,
        _settings: &Settings,
        _removed: (&Removal<'_>, &str),
        _keeping: ClearedDestination,
    ) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Writes the queued files and lines so that they survive a power cut. Called before a commit is stored, while no
    /// request waits.
    fn secure(&self) {}
}

/// The conversation of a request.
#[derive(Debug, Clone, Copy)]
pub struct About<'c> {
    pub conversation: &'c str,
    pub model: Option<&'c str>,
    /// The client's working folder.
    pub folder: Option<&'c str>,
    /// The tools that its newest request offers.
    pub tools: Option<&'c [Piece]>,
    /// The agent of its session, if it is not the main one.
    pub agent: Option<&'c str>,
    pub request: u32,
    /// When the request came.
    pub at: u64,
    /// Tokens of results that the provider itself cleared from the previous request.
    pub cleared: u64,
    /// The provider edits this request for the first time: nothing else is cut from it.
    pub provider_first: bool,
    /// Everything that is being cleared from it.
    pub batch: Batch,
}

/// The number of results and inputs cleared together, and their tokens.
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

    /// `None` for a single one: its line has its tokens.
    pub fn in_words(&self) -> Option<String> {
        (self.size > 1).then(|| format!("{} in this batch, {} tokens in total", self.size, count(self.tokens)))
    }
}

/// The threshold from which the model's limit is near.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub percent: u64,
    pub tokens: u64,
}

/// A tool result or tool input that is about to be cleared.
#[derive(Debug, Clone, Copy)]
pub struct Removal<'r> {
    /// The id of its call.
    pub call: &'r str,
    /// It is the input of the call.
    pub is_input: bool,
    pub tool: &'r str,
    pub text: &'r str,
    /// The file extension: `txt`, or `json` if it is more than text.
    pub ending: &'r str,
    pub tokens: u64,
    pub reason: &'r str,
}

/// The destination of cleared content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClearedDestination {
    /// Nothing is cleared; this is only a preview.
    Nowhere,
    /// A file: the content may be cleared.
    Filed,
    /// A file and the ledger: the content is cleared.
    Noted,
}

/// A policy alone: cleared content is not filed.
pub struct Plain(pub Arc<dyn Policy>);

impl Automatic for Plain {
    fn propose(&self, _: &About<'_>, look: &Look<'_>, _: (&Settings, Facts<'_>), _: bool) -> Vec<Proposal> {
        self.0.propose(look)
    }
}

/// Proposes nothing; used while no editor is switched on.
pub struct NoEditor;

impl Automatic for NoEditor {
    fn propose(&self, _: &About<'_>, _: &Look<'_>, _: (&Settings, Facts<'_>), _: bool) -> Vec<Proposal> {
        Vec::new()
    }
}
