//! Runs a policy in the engine, and records its actions.

use crate::needs::{value_of, words_in};
use crate::policies::summaries;
use ctx_core::ErrorCode;
use ctx_core::content::Content;
use ctx_core::edit::Commit;
use ctx_core::edit::effect::Effect;
use ctx_core::edit::history::Change;
use ctx_core::policy::{Facts, Force, Look, Mode, Policy, Proposal, Settings, choose};
use ctx_engine::Refusal;
use ctx_engine::ports::{About, Automatic, ClearedDestination, Removal};
use serde::Serialize;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// As long as the sentence with the path of a file; no file is written here.
const KEPT: &str = "Read it in /home/somebody/.local/share/ctx/offload/c4f2a91/read-0c6bb0a3e1.txt if needed.";

/// The actions on the arrival of a request.
#[derive(Debug, Default)]
pub struct ArrivalActions {
    pub told: Vec<PolicyActions>,
    /// Replaced results: their calls, and the new content.
    pub results: Vec<(Arc<str>, String)>,
    /// Something changed that had been sent before.
    pub cleared: bool,
    /// It was a limit exception.
    pub exception: bool,
    /// The shortened calls, and the rest of their inputs.
    pub inputs: Vec<(Arc<str>, String)>,
    /// The conversation before the change, for people.
    pub before: Option<String>,
}

/// The actions of a policy at one request, with reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PolicyActions {
    pub what: String,
    /// Each reason once.
    pub why: Vec<String>,
    /// The tokens that the operations themselves remove.
    pub tokens_less: u64,
}

pub struct Editor {
    policy: Arc<dyn Policy>,
    settings: Arc<Settings>,
    /// The policy is that of the automatic editor.
    is_editor: bool,
    inside: Mutex<(HashSet<Arc<str>>, ArrivalActions)>,
}

impl Editor {
    pub fn new(policy: Arc<dyn Policy>) -> Arc<Editor> {
        let usual = Settings { mode: Mode::On, ..ctx_clients::editor_settings() };
        let own = policy.editor(usual.clone());
        let is_editor = own.is_some();
        Arc::new(Editor { policy, settings: Arc::new(own.unwrap_or(usual)), is_editor, inside: Mutex::default() })
    }

    /// The actions since the last call.
    pub fn take(&self) -> ArrivalActions {
        std::mem::take(&mut self.inside().1)
    }

    fn inside(&self) -> std::sync::MutexGuard<'_, (HashSet<Arc<str>>, ArrivalActions)> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Automatic for Editor {
    fn settings(&self, _: &About<'_>, _: &[&str]) -> Arc<Settings> {
        Arc::clone(&self.settings)
    }

    fn propose(
        &self,
        _: &About<'_>,
        look: &Look<'_>,
        (settings, facts): (&Settings, Facts<'_>),
        _: bool,
    ) -> Vec<Proposal> {
        let usual = Force::Usual { provider_edits: false, cleared: 0, provider_first: false };
        let proposed = match self.is_editor {
            true if self.policy.name() == summaries::NAME => {
                summaries::in_place_of_stubs(choose(settings, look, facts, usual), look)
            }
            true => choose(settings, look, facts, usual),
            false => self.policy.propose(look),
        };
        if !proposed.is_empty() {
            self.inside().0 = look.items.iter().filter(|item| item.fresh).map(|item| item.call.clone()).collect();
        }
        proposed
    }

    fn keep(
        &self,
        _: &About<'_>,
        _: &Settings,
        _: (&Removal<'_>, &str),
        _: ClearedDestination,
    ) -> Result<Option<String>, String> {
        Ok(Some(KEPT.to_owned()))
    }

    fn done(&self, _: &About<'_>, done: Result<&Commit, &Refusal>) {
        let mut inside = self.inside();
        let (fresh, told) = &mut *inside;
        let commit = match done {
            Ok(commit) => commit,
            Err(refusal) if refusal.code == ErrorCode::NothingToDo => return,
            Err(refusal) => {
                let what = format!("refused: {}", refusal.message);
                return told.told.push(PolicyActions { what, ..PolicyActions::default() });
            }
        };
        told.before = Some(commit.parent.map_or_else(|| "source".to_owned(), |parent| parent.to_string()));
        told.exception |= commit.exception;
        let mut why: Vec<String> = Vec::new();
        for reason in commit.reasons.iter().flatten() {
            if !why.contains(reason) {
                why.push(reason.clone());
            }
        }
        let tokens_less = commit.tokens_before.saturating_sub(commit.tokens_after);
        told.told.push(PolicyActions { what: commit.summary.clone(), why, tokens_less });
        let Change::Edit { effects, .. } = &commit.change else { return };
        for effect in effects {
            if let Effect::Replace { by, .. } = effect {
                let call = by.first().and_then(|made| made.content.first());
                if let Some(Content::Call { id: Some(id), input, .. }) = call {
                    told.inputs.push((id.as_str().into(), words_in(&value_of(input))));
                }
                // A call comes with its result.
                told.cleared |= call.and_then(Content::calls).is_none_or(|call| !fresh.contains(call));
            }
            let Effect::Results { results, .. } = effect else { continue };
            for result in results {
                let call = result.block.id.as_deref().unwrap_or_default();
                told.cleared |= !fresh.contains(call);
                told.results.push((call.into(), result.text.clone()));
            }
        }
    }
}
