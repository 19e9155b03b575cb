//! Decides which requests are held until they are composed, and which must not leave uncomposed.
//!
//! Both decisions use memory only: the first comes before any byte of the body, the second when the store cannot be
//! read.

use ctx_clients::Hints;
use ctx_engine::card::Card;
use ctx_engine::conversation::Conversation;
use ctx_store::Replica;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

type Whose = (Box<str>, Option<Box<str>>);

#[derive(Default)]
pub struct HeldSessions {
    inside: RwLock<Inside>,
    /// The lease, if there are other daemons.
    replica: Option<Arc<dyn Replica>>,
    /// Cut off from the other daemons for so long that any conversation may be edited.
    is_outdated: AtomicBool,
}

#[derive(Debug, Default)]
struct Inside {
    /// The conversations of each known session, or of an agent in it: one per format.
    sessions: HashMap<Whose, HashSet<String>>,
    /// The conversations whose requests are held.
    held: HashSet<String>,
    /// Those of them that have operations.
    edited: HashSet<String>,
    /// How often `held` has changed.
    changes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Hold {
    held: bool,
    edited: bool,
}

impl HeldSessions {
    pub fn of(replica: Option<Arc<dyn Replica>>) -> HeldSessions {
        HeldSessions { replica, ..HeldSessions::default() }
    }

    /// Records whether the requests of a conversation are held; its card says whether it is edited.
    pub fn put(&self, card: &Card, held: bool) {
        self.note(&card.id, whose(card), Hold { held, edited: card.edited });
    }

    /// Records whether a conversation is edited, whatever its card says; only then its requests are held.
    pub fn mark(&self, card: &Card, edited: bool) {
        self.note(&card.id, whose(card), Hold { held: edited, edited });
    }

    /// Records whether the requests of a conversation are held now, and whether it is edited.
    pub fn update(&self, conversation: &Conversation) {
        let hold = Hold { held: conversation.is_held(), edited: conversation.is_edited() };
        self.note(conversation.id(), session_of(conversation), hold);
    }

    /// Holds a conversation whose log requires it. Otherwise its state stays: the loaded log may lack its newest
    /// commit.
    pub fn raise(&self, conversation: &Conversation) {
        if conversation.is_held() {
            let edited = conversation.is_edited() || self.read().edited.contains(conversation.id());
            self.note(conversation.id(), session_of(conversation), Hold { held: true, edited });
        }
    }

    fn note(&self, id: &str, whose: Option<Whose>, hold: Hold) {
        let mut inside = self.write();
        let Inside { sessions, held, edited, changes } = &mut *inside;
        let put = |set: &mut HashSet<String>, belongs| {
            if belongs { set.insert(id.to_owned()) } else { set.remove(id) }
        };
        *changes += u64::from(put(held, hold.held));
        put(edited, hold.edited);
        if let Some(whose) = whose {
            sessions.entry(whose).or_default().insert(id.to_owned());
        }
    }

    /// Records a known session.
    pub fn meet(&self, card: &Card) {
        let Some(whose) = whose(card) else { return };
        if !self.read().sessions.get(&whose).is_some_and(|known| known.contains(&card.id)) {
            self.put(card, card.edited);
        }
    }

    pub fn forget(&self, id: &str, card: Option<&Card>) {
        let mut inside = self.write();
        inside.changes += u64::from(inside.held.remove(id));
        inside.edited.remove(id);
        if let Some(whose) = card.and_then(whose)
            && let Some(known) = inside.sessions.get_mut(&whose)
        {
            known.remove(id);
            if known.is_empty() {
                inside.sessions.remove(&whose);
            }
        }
    }

    /// While memory is outdated, every request is held, and may be edited. Returns whether it was outdated before.
    pub fn set_outdated(&self, is_outdated: bool) -> bool {
        self.is_outdated.swap(is_outdated, Ordering::AcqRel)
    }

    /// The lease is asked too: a machine that wakes sends requests before it has noticed how long it slept.
    pub fn is_outdated(&self) -> bool {
        self.is_outdated.load(Ordering::Acquire) || self.replica.as_ref().is_some_and(|replica| replica.is_outdated())
    }

    /// Increases whenever another conversation is held, or is no longer.
    pub fn changes(&self) -> u64 {
        self.read().changes
    }

    pub fn edited_count(&self) -> usize {
        self.read().edited.len()
    }

    /// Whether to hold a request. An unknown session may be a fork of an edited one, and a client without a session may
    /// belong to any conversation.
    pub fn holds(&self, hints: &Hints) -> bool {
        let inside = self.read();
        if self.is_outdated() {
            return true;
        }
        if inside.held.is_empty() {
            return false;
        }
        let Some(session) = &hints.session else { return true };
        let known = inside.sessions.get(&(session.clone(), hints.agent.clone()));
        known.is_none_or(|known| known.iter().any(|id| inside.held.contains(id)))
    }

    /// Whether a request with this session may belong to an edited conversation, or to a fork of one.
    pub fn may_be_edited(&self, session: Option<&str>, agent: Option<&str>) -> bool {
        let inside = self.read();
        if self.is_outdated() {
            return true;
        }
        if inside.edited.is_empty() {
            return false;
        }
        let Some(session) = session else { return true };
        let known = inside.sessions.get(&(session.into(), agent.map(Into::into)));
        known.is_none_or(|known| known.iter().any(|id| inside.edited.contains(id)))
    }

    /// Whether a session, or an agent of one, is known and edited.
    pub fn is_edited_session(&self, session: &str, agent: Option<&str>) -> bool {
        let whose = (session.into(), agent.map(Into::into));
        let inside = self.read();
        let is_edited = |known: &HashSet<String>| known.iter().any(|id| inside.edited.contains(id));
        self.is_outdated() || inside.sessions.get(&whose).is_some_and(is_edited)
    }

    /// Whether the requests of a conversation are held.
    pub fn is_held(&self, id: &str) -> bool {
        self.read().held.contains(id)
    }

    /// Whether a conversation has operations, according to memory.
    pub fn is_edited(&self, id: &str) -> bool {
        self.is_outdated() || self.read().edited.contains(id)
    }

    fn read(&self) -> RwLockReadGuard<'_, Inside> {
        self.inside.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inside> {
        self.inside.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn session_of(conversation: &Conversation) -> Option<Whose> {
    let opened = conversation.opened();
    Some((opened.session.as_deref()?.into(), opened.agent.as_deref().map(Into::into)))
}

fn whose(card: &Card) -> Option<Whose> {
    Some((card.session.as_deref()?.into(), card.agent.as_deref().map(Into::into)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_store::{Absent, News, Presence, StoreError};
    use std::time::Duration;

    #[test]
    fn only_what_may_be_edited_is_held() {
        let held = HeldSessions::default();
        let hints = |session: &str| {
            let session = session.to_owned();
            Hints::read(move |name| (name == "x-claude-code-session-id").then(|| session.clone().leak() as &str))
        };
        let card = |session: &str| Card { id: format!("c{session}"), session: Some(session.into()), ..Card::default() };
        held.meet(&card("one"));
        assert!(!held.holds(&hints("one")) && !held.holds(&hints("new")) && !held.holds(&Hints::default()));
        held.put(&card("two"), true);
        held.meet(&card("two"));
        assert!(!held.holds(&hints("one")) && held.holds(&hints("two")));
        assert!(held.holds(&hints("new")) && held.holds(&Hints::default()));
        held.put(&card("two"), false);
        assert!(!held.holds(&hints("two")) && !held.holds(&hints("new")));
    }

    #[test]
    fn while_memory_is_outdated_any_conversation_may_be_edited() {
        let held = HeldSessions::default();
        held.set_outdated(true);
        assert!(held.holds(&Hints::default()) && held.may_be_edited(Some("any"), None) && held.is_edited("c1"));
        assert!(held.is_edited_session("any", None) && !held.is_held("c1"));
        held.set_outdated(false);
        assert!(!held.holds(&Hints::default()) && !held.may_be_edited(Some("any"), None) && !held.is_edited("c1"));
    }

    /// Of a machine that woke a moment ago.
    struct ExpiredLease;

    impl Replica for ExpiredLease {
        fn poll(&self, _: Duration) -> Result<News, StoreError> {
            Err(StoreError::Slow)
        }

        fn beat(&self) -> Result<(), StoreError> {
            Err(StoreError::Slow)
        }

        fn await_others(&self, _: &str) -> Result<Vec<Absent>, StoreError> {
            Err(StoreError::Slow)
        }

        fn presence(&self) -> Presence {
            Presence { is_outdated: true, ..Presence::default() }
        }

        fn leave(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_lease_that_is_too_old_counts_before_a_poll_has_failed() {
        let held = HeldSessions::of(Some(Arc::new(ExpiredLease)));
        assert!(held.holds(&Hints::default()) && held.may_be_edited(Some("any"), None));
    }

    #[test]
    fn only_an_edited_conversation_or_an_unknown_session_may_be_edited() {
        let held = HeldSessions::default();
        let card = |session: &str, edited| Card {
            id: format!("c{session}"),
            session: Some(session.into()),
            edited,
            ..Card::default()
        };
        held.put(&card("waits", false), true);
        assert!(!held.may_be_edited(Some("waits"), None) && !held.may_be_edited(Some("new"), None));
        assert!(!held.may_be_edited(None, None), "nothing is edited");
        held.put(&card("edited", true), true);
        held.meet(&card("plain", false));
        assert!(held.may_be_edited(Some("edited"), None) && held.is_edited("cedited"));
        assert!(held.may_be_edited(Some("new"), None) && held.may_be_edited(None, None));
        assert!(!held.may_be_edited(Some("waits"), None) && !held.may_be_edited(Some("plain"), None));
        held.forget("cedited", Some(&card("edited", true)));
        assert!(!held.may_be_edited(Some("new"), None) && !held.may_be_edited(Some("edited"), None));
    }
}
