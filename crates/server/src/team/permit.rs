//! The permission with which a long event stream or socket was opened. Its key, session or person may end while it is
//! open, so each event and each message asks again, in memory.

use std::sync::Arc;

use ctx_service::now;
use ctx_team::{Identity, Registry};

use crate::auth::{Holder, Session};

#[derive(Clone)]
pub(crate) struct Permit {
    registry: Arc<Registry>,
    ground: Ground,
}

#[derive(Clone)]
enum Ground {
    /// The key with this id.
    Key(String),
    /// A signed-in browser.
    Session(Session),
    /// A person whom a token of the identity provider named, and how often their account had been unlinked.
    Person(u32, u64),
}

impl Permit {
    /// Of a request with a key or a token.
    pub(crate) fn of_request(registry: &Arc<Registry>, identity: &Identity) -> Permit {
        let ground = match identity.key.is_empty() {
            true => Ground::Person(identity.person.id, registry.state().unlinks(identity.person.id)),
            false => Ground::Key(identity.key.clone()),
        };
        Permit { registry: registry.clone(), ground }
    }

    pub(crate) fn of_session(registry: &Arc<Registry>, session: &Session) -> Permit {
        Permit { registry: registry.clone(), ground: Ground::Session(session.clone()) }
    }

    /// Whether a new request would still be admitted. The scopes of a key do not change.
    pub(crate) fn is_valid(&self) -> bool {
        let (state, now) = (self.registry.state(), now());
        let has_person = |id: u32, unlinks: u64| state.person(id).is_some() && state.unlinks(id) == unlinks;
        match &self.ground {
            Ground::Key(id) => state.holder_of(id, now).is_some(),
            Ground::Person(id, unlinks) => has_person(*id, *unlinks),
            Ground::Session(session) if state.is_ended(&session.id) => false,
            Ground::Session(session) => match &session.holder {
                Holder::Operator => true,
                Holder::Key(id) => state.holder_of(id, now).is_some(),
                Holder::Person { id, until, unlinks } => has_person(*id, *unlinks) && now / 1000 <= *until,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ctx_store::MemoryStore;
    use ctx_team::{Actor, Event, KeyText, NewKey, Role, State, TeamError};

    use super::*;

    /// A registry with the person 1 and the id of their key.
    fn registry() -> (Arc<Registry>, String) {
        let registry = Arc::new(Registry::open(Arc::new(MemoryStore::new())).expect("a registry"));
        let text = KeyText::generate().expect("random");
        change(&registry, |state| state.add_person(&Actor::OPERATOR, "anna", Role::Member, BTreeSet::new()));
        change(&registry, |state| state.make_key(&Actor::OPERATOR, 1, &text, &NewKey::default()));
        (registry, text.id())
    }

    fn change(registry: &Registry, decide: impl Fn(&State) -> Result<Event, TeamError>) {
        registry.change(&Actor::OPERATOR, |state| Ok((decide(state)?, ()))).expect("changed");
    }

    fn of(registry: &Arc<Registry>, ground: Ground) -> Permit {
        Permit { registry: registry.clone(), ground }
    }

    fn session(id: &str, holder: Holder) -> Ground {
        Ground::Session(Session { id: id.to_owned(), holder })
    }

    #[test]
    fn a_permit_ends_with_its_key_and_no_other_does() {
        let (registry, key) = registry();
        let (by_key, by_session, by_token, operator) = (
            of(&registry, Ground::Key(key.clone())),
            of(&registry, session("s1", Holder::Key(key.clone()))),
            of(&registry, Ground::Person(1, 0)),
            of(&registry, session("s2", Holder::Operator)),
        );
        assert!([&by_key, &by_session, &by_token, &operator].iter().all(|permit| permit.is_valid()));
        change(&registry, |state| state.revoke_key(&Actor::OPERATOR, &key));
        assert!(!by_key.is_valid() && !by_session.is_valid());
        assert!(by_token.is_valid() && operator.is_valid());
        change(&registry, |state| state.remove_person(&Actor::OPERATOR, "anna"));
        assert!(!by_token.is_valid() && operator.is_valid());
    }

    #[test]
    fn a_permit_ends_when_its_session_does() {
        let (registry, key) = registry();
        let until = now() / 1000 + 60;
        let (one, other) = (session("s1", Holder::Key(key.clone())), session("s2", Holder::Key(key)));
        let (one, other) = (of(&registry, one), of(&registry, other));
        change(&registry, |_| Ok(Event::SignedOut { person: 1, session: "s1".to_owned() }));
        assert!(!one.is_valid() && other.is_valid());
        let by_account = |until| of(&registry, session("s3", Holder::Person { id: 1, until, unlinks: 0 }));
        let token = of(&registry, Ground::Person(1, 0));
        assert!(by_account(until).is_valid() && token.is_valid());
        assert!(!by_account(until - 120).is_valid());
        change(&registry, |state| state.unlink_person(&Actor::OPERATOR, "anna"));
        assert!(!by_account(until).is_valid() && !token.is_valid() && other.is_valid());
    }
}
