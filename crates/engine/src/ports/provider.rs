//! The port for the provider: the edits to ask for, its capabilities and its refusals.

use crate::Credentials;
use crate::credentials::quoted;
use ctx_store::{Note, Reader, Step};
use ctx_wire::provider_edits::{Capability, Kind, Rules};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const NOTE: &str = "provider";

/// The time after which a refused edit is asked for again: providers add capabilities.
pub const WEEK_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// The largest number of models to remember.
const MOST: usize = 2_000;

/// The edits to ask of the provider, and its capabilities.
pub trait Provider: Send + Sync {
    /// The edits to ask for, for a client that works in `folder`.
    fn rules(&self, folder: Option<&str>) -> Arc<Rules>;

    /// Its capabilities and its refusals.
    fn known(&self) -> Arc<ProviderKnowledge>;
}

/// Asks for nothing.
pub struct NoProvider;

impl Provider for NoProvider {
    fn rules(&self, _folder: Option<&str>) -> Arc<Rules> {
        Arc::default()
    }

    fn known(&self) -> Arc<ProviderKnowledge> {
        Arc::default()
    }
}

/// An edit of ours that the provider refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRefusal {
    pub model: Box<str>,
    pub kinds: Vec<Kind>,
    pub answer: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProviderKnowledge {
    pub refusals: Vec<Refusal>,
    models: Vec<ModelReport>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub model: String,
    /// The `type` of an edit.
    pub edit: String,
    pub at: u64,
    /// The provider's message.
    pub words: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ModelReport {
    model: String,
    window: Option<u64>,
    can: Vec<(String, bool)>,
}

/// The storage key; no conversation has this name.
fn key(upstream: &str) -> String {
    format!("provider {upstream}")
}

impl ProviderKnowledge {
    pub fn load(store: &dyn Reader, upstream: &str) -> ProviderKnowledge {
        let note = store.note(&key(upstream), NOTE).ok().flatten();
        note.and_then(|note| serde_json::from_slice(&note).ok()).unwrap_or_default()
    }

    pub fn step(&self, upstream: &str) -> Step {
        let note = Note { conversation: key(upstream), name: NOTE.into(), body: serde_json::to_vec(self).ok() };
        Step { notes: vec![note], ..Step::default() }
    }

    /// `None` if the provider has not reported it.
    pub fn can(&self, model: &str, kind: Kind, at: u64) -> Option<bool> {
        let is_it = |refusal: &&Refusal| refusal.model == model && refusal.edit == kind.name();
        if self.refusals.iter().find(is_it).is_some_and(|refusal| refusal.counts(at)) {
            return Some(false);
        }
        let told = self.models.iter().find(|told| told.model == model)?;
        told.can.iter().find(|(name, _)| name == kind.name()).map(|(_, can)| *can)
    }

    pub fn window(&self, model: &str) -> Option<u64> {
        self.models.iter().find(|told| told.model == model)?.window
    }

    pub fn refuse(&mut self, model: &str, kinds: &[Kind], at: u64, words: &str) {
        for kind in kinds {
            self.refusals.retain(|old| old.counts(at) && (old.model != model || old.edit != kind.name()));
            let (model, edit) = (model.to_owned(), kind.name().to_owned());
            self.refusals.push(Refusal { model, edit, at, words: words.to_owned() });
        }
        self.refusals.drain(..self.refusals.len().saturating_sub(MOST));
    }

    /// False: nothing new.
    pub fn learn(&mut self, told: Vec<Capability>) -> bool {
        let before = self.models.clone();
        for Capability { model, window, can } in told {
            let can = can.into_iter().map(|(kind, can)| (kind.name().to_owned(), can)).collect();
            self.models.retain(|old| old.model != model);
            self.models.push(ModelReport { model, window, can });
        }
        self.models.drain(..self.models.len().saturating_sub(MOST));
        self.models.sort_by(|one, other| one.model.cmp(&other.model));
        self.models != before
    }
}

impl Refusal {
    pub fn counts(&self, at: u64) -> bool {
        at < self.at.saturating_add(WEEK_MS)
    }
}

impl ProviderRefusal {
    /// Keeps the text of the refusal, without these credentials.
    pub fn hide(&mut self, credentials: &Credentials) {
        self.answer = credentials.hide(&sentence(&self.answer)).into_bytes();
    }
}

pub fn words(answer: &[u8]) -> String {
    const MOST: usize = 300;
    quoted(&sentence(answer)).chars().take(MOST).collect()
}

fn sentence(answer: &[u8]) -> String {
    let read: Option<serde_json::Value> = serde_json::from_slice(answer).ok();
    let sentence = read.as_ref().and_then(|read| read["error"]["message"].as_str().or(read["message"].as_str()));
    sentence.map_or_else(|| String::from_utf8_lossy(answer).into_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_counts_for_its_model_and_a_week_and_over_a_restart() {
        let mut known = ProviderKnowledge::default();
        known.refuse("claude-a", &[Kind::ToolUses], 1_000, "no");
        known.refuse("claude-a", &[Kind::ToolUses], 2_000, "no");
        assert_eq!(known.refusals.len(), 1);
        let store = ctx_store::MemoryStore::new();
        ctx_store::Store::append(&store, vec![known.step("https://x")]).expect("stored");
        let known = ProviderKnowledge::load(&store, "https://x");
        assert_eq!(known.can("claude-a", Kind::ToolUses, 3_000), Some(false));
        assert_eq!(known.can("claude-a", Kind::Thinking, 3_000), None);
        assert_eq!(known.can("claude-b", Kind::ToolUses, 3_000), None);
        assert_eq!(known.can("claude-a", Kind::ToolUses, 2_000 + WEEK_MS), None);
        assert_eq!(ProviderKnowledge::load(&store, "https://y"), ProviderKnowledge::default());
    }

    #[test]
    fn what_the_provider_says_of_a_model_is_remembered_once() {
        let mut known = ProviderKnowledge::default();
        let told = |can| vec![Capability { model: "m".into(), window: Some(9), can: vec![(Kind::Compact, can)] }];
        assert!(known.learn(told(true)) && !known.learn(told(true)) && known.learn(told(false)));
        assert_eq!((known.can("m", Kind::Compact, 0), known.window("m")), (Some(false), Some(9)));
        assert_eq!(known.can("m", Kind::ToolUses, 0), None);
    }
}
