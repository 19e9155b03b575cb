//! The current settings and capabilities of the provider. Every request reads them; they rarely change.

use super::counts::Counts;
use crate::threads::lock;
use ctx_clients::Hints;
use ctx_engine::ports::Provider;
use ctx_engine::ports::provider::ProviderKnowledge;
use ctx_wire::provider_edits::Rules;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The number of sessions to remember.
const SESSIONS: usize = 10_000;

type Whose = (Box<str>, Option<Box<str>>);

/// The source of the provider settings, read again for each turn: they may change while the daemon runs. Reading is
/// cheap and never fails.
pub trait ProviderRules: Send + Sync {
    /// The settings for a client that works in `folder`. Returns the same `Arc` as long as nothing changes.
    fn provider(&self, folder: Option<&Path>) -> Arc<Rules>;
}

/// The same settings for every folder.
impl ProviderRules for Arc<Rules> {
    fn provider(&self, _folder: Option<&Path>) -> Arc<Rules> {
        Arc::clone(self)
    }
}

#[derive(Default)]
pub struct ProviderState {
    /// `None`: the provider is asked for nothing.
    source: Option<Arc<dyn ProviderRules>>,
    /// The general settings, as of the newest turn.
    general: RwLock<Arc<Rules>>,
    pub upstream: String,
    pub known: Mutex<Arc<ProviderKnowledge>>,
    /// Whether the provider edits a session, or an agent in it, as of its newest turn. The proxy asks before it reads a
    /// body.
    meant: RwLock<HashMap<Whose, bool>>,
    pub counts: Counts,
}

impl ProviderState {
    /// `upstream` names the provider; `known` is its earlier reports.
    pub fn new(source: Arc<dyn ProviderRules>, upstream: &str, known: ProviderKnowledge) -> ProviderState {
        ProviderState {
            general: RwLock::new(source.provider(None)),
            source: Some(source),
            upstream: upstream.to_owned(),
            known: Mutex::new(Arc::new(known)),
            ..ProviderState::default()
        }
    }

    /// Whether the provider is asked for edits, as far as is known.
    pub fn is_on(&self) -> bool {
        let is_meant = || self.meant.read().unwrap_or_else(PoisonError::into_inner).values().any(|is_meant| *is_meant);
        !self.general().are_off() || is_meant()
    }

    fn general(&self) -> Arc<Rules> {
        self.general.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a request may have to ask for edits. The general settings decide for an unknown session.
    pub fn holds(&self, hints: &Hints) -> bool {
        let known = |whose| self.meant.read().unwrap_or_else(PoisonError::into_inner).get(&whose).copied();
        whose(hints).and_then(known).unwrap_or_else(|| self.general().may_cover(hints.agent.is_some()))
    }

    /// Whether there are settings.
    pub fn is_supervised(&self) -> bool {
        self.source.is_some()
    }

    /// Remembers whether the provider edits a session, which decides whether it is held.
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
