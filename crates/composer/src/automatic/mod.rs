//! The automatic editor: when a held request arrives it is looked at as it would leave, and what a policy wants is made
//! as one ordinary commit before it leaves. Results that were never sent are in reach then: to change them costs no
//! cache and no thinking.
//!
//! Nothing happens here until somebody gives the composer an editor. What takes the place of a result is stored with
//! its commit, so that every later request, also after a restart, leaves with the same.

mod act;
mod fill;
mod memory;

pub(crate) use act::{Moment, Seen};
pub(crate) use memory::Memory;

use crate::{Composer, Refusal};
use ctx_core::edit::Commit;
use ctx_core::policy::{Look, Policy, Proposed};
use std::sync::{Arc, PoisonError, RwLock};

/// Who signs what is made here.
pub const AUTHOR: &str = "policy";

/// Edits conversations by itself.
pub trait Automatic: Send + Sync {
    /// What should be done before this request leaves. Called for every held request of a conversation, while its
    /// client waits.
    fn propose(&self, about: &About<'_>, look: &Look<'_>) -> Vec<Proposed>;

    /// Keeps the content of a result that is about to go. Gives a sentence that tells the agent where to find it, if it
    /// is to be found; what cannot be kept stays.
    fn keep(&self, _about: &About<'_>, _removed: &Removed<'_>) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Told of what was made, or why it was not.
    fn done(&self, _about: &About<'_>, _done: Result<&Commit, &Refusal>) {}
}

/// A policy and nothing else: what goes is kept nowhere.
pub struct Plain(pub Arc<dyn Policy>);

impl Automatic for Plain {
    fn propose(&self, _: &About<'_>, look: &Look<'_>) -> Vec<Proposed> {
        self.0.propose(look)
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
}

/// A result that is about to go.
#[derive(Debug, Clone, Copy)]
pub struct Removed<'r> {
    /// The id of its call.
    pub call: &'r str,
    pub tool: &'r str,
    pub text: &'r str,
    pub tokens: u64,
    pub reason: &'r str,
}

/// The editor that is switched on, if any.
#[derive(Default)]
pub(crate) struct Switch(RwLock<Option<Arc<dyn Automatic>>>);

impl Switch {
    pub fn get(&self) -> Option<Arc<dyn Automatic>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn is_on(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl Composer {
    /// From now on conversations are edited by `editor`, or by nobody. What was made stays.
    pub fn automate(&self, editor: Option<Arc<dyn Automatic>>) {
        *self.automatic.0.write().unwrap_or_else(PoisonError::into_inner) = editor;
    }
}
