//! What is wanted of the provider and what it has told, as of now. It is read by every request and changes rarely.

use super::counts::Counts;
use crate::threads::lock;
use ctx_clients::Hints;
use ctx_engine::ports::Provider;
use ctx_engine::ports::provider::ProviderKnowledge;
use ctx_wire::anthropic::context_management::Rules;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// So many sessions are remembered for whether they are meant.
const SESSIONS: usize = 10_000;

type Whose = (Box<str>, Option<Box<str>>);

/// Who knows what is wanted of the provider, asked again for each turn: it may change while the daemon runs. Asking is
/// cheap, and it never fails.
pub trait ProviderRules: Send + Sync {
    /// What counts for a client that works in `folder`. The same `Arc` as long as nothing changes.
    fn provider(&self, folder: Option<&Path>) -> Arc<Rules>;
}

/// The same everywhere, whatever happens.
impl ProviderRules for Arc<Rules> {
    fn provider(&self, _folder: Option<&Path>) -> Arc<Rules> {
        Arc::clone(self)
    }
}

#[derive(Default)]
pub struct ProviderState {
    /// None: nobody wants anything.
    source: Option<Arc<dyn ProviderRules>>,
    /// What counts wherever nothing else is known, as of the newest turn.
    general: RwLock<Arc<Rules>>,
    pub upstream: String,
    pub known: Mutex<Arc<ProviderKnowledge>>,
    /// Whether a session, or an agent of one, is meant, as its newest turn told. The proxy asks before the first byte of
    /// a body is read.
    meant: RwLock<HashMap<Whose, bool>>,
    pub counts: Counts,
}

impl ProviderState {
    /// `upstream` says which provider it is; `known` is what it told before.
    pub fn new(source: Arc<dyn ProviderRules>, upstream: &str, known: ProviderKnowledge) -> ProviderState {
        ProviderState {
            general: RwLock::new(source.provider(None)),
            source: Some(source),
            upstream: upstream.to_owned(),
            known: Mutex::new(Arc::new(known)),
            ..ProviderState::default()
        }
    }

    /// Whether anything is wanted of it, as far as is known.
    pub fn is_on(&self) -> bool {
        let is_meant = || self.meant.read().unwrap_or_else(PoisonError::into_inner).values().any(|is_meant| *is_meant);
        !self.general().are_off() || is_meant()
    }

    fn general(&self) -> Arc<Rules> {
        self.general.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a request may have to be asked for. Of a session that is not known yet nobody can tell where it works:
    /// what counts everywhere decides.
    pub fn holds(&self, hints: &Hints) -> bool {
        let known = |whose| self.meant.read().unwrap_or_else(PoisonError::into_inner).get(&whose).copied();
        whose(hints).and_then(known).unwrap_or_else(|| self.general().may_cover(hints.agent.is_some()))
    }

    /// Whether somebody says what is wanted.
    pub fn is_supervised(&self) -> bool {
        self.source.is_some()
    }

    /// Remembers whether a session is meant: from then on it is held, or is not.
    pub fn note(&self, hints: &Hints, is_meant: bool) {
        let Some(whose) = whose(hints) else { return };
        let known = self.meant.read().unwrap_or_else(PoisonError::into_inner).get(&whose).copied();
        if known != Some(is_meant) {
            let mut meant = self.meant.write().unwrap_or_else(PoisonError::into_inner);
            if meant.len() >= SESSIONS {
                meant.clear();
            }
            meant.insert(whose, is_meant);
        }
    }
}

fn whose(hints: &Hints) -> Option<Whose> {
    Some((hints.session.clone()?, hints.agent.clone()))
}

impl Provider for ProviderState {
    /// May read files.
    fn rules(&self, folder: Option<&str>) -> Arc<Rules> {
        let Some(source) = &self.source else { return Arc::default() };
        let general = source.provider(None);
        if !Arc::ptr_eq(&general, &self.general()) {
            *self.general.write().unwrap_or_else(PoisonError::into_inner) = general.clone();
            self.meant.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
        folder.map_or(general, |folder| source.provider(Some(Path::new(folder))))
    }

    fn known(&self) -> Arc<ProviderKnowledge> {
        lock(&self.known).clone()
    }
}
