//! Which requests must be held until they are composed.

use crate::directory::Card;
use ctx_wire::anthropic::identify::Hints;
use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock};

type Whose = (Box<str>, Option<Box<str>>);

/// The proxy asks before the first byte of a body is read, so this answers from memory, at once.
#[derive(Debug, Default)]
pub struct Held(RwLock<Inside>);

#[derive(Debug, Default)]
struct Inside {
    /// Whether a session, or an agent of one, has operations.
    sessions: HashMap<Whose, bool>,
    /// The conversations that have some.
    edited: HashSet<String>,
}

impl Held {
    /// Notes whether a conversation has operations.
    pub fn put(&self, card: &Card, edited: bool) {
        let mut inside = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if edited {
            inside.edited.insert(card.id.clone());
        } else {
            inside.edited.remove(&card.id);
        }
        if let Some(whose) = whose(card) {
            inside.sessions.insert(whose, edited);
        }
    }

    /// Notes that a session is known.
    pub fn meet(&self, card: &Card) {
        let Some(whose) = whose(card) else { return };
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).sessions.contains_key(&whose);
        if !known {
            self.put(card, card.edited);
        }
    }

    pub fn forget(&self, id: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).edited.remove(id);
    }

    /// A session that is not known yet may be a fork of one that was edited, and a client without a session
    /// may speak for any conversation.
    pub fn holds(&self, hints: &Hints) -> bool {
        let inside = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if inside.edited.is_empty() {
            return false;
        }
        let Some(session) = &hints.session else { return true };
        inside.sessions.get(&(session.clone(), hints.agent.clone())).copied().unwrap_or(true)
    }
}

fn whose(card: &Card) -> Option<Whose> {
    Some((card.session.as_deref()?.into(), card.agent.as_deref().map(Into::into)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_edited_is_held() {
        let held = Held::default();
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
}
