//! A machine asks to sign in: it gets a short code, which a person approves in their browser, and a long secret, with
//! which it then takes its key, once.
//!
//! Anyone may ask, so a pending login is not an event: it is a note, which every daemon can read, and which is deleted
//! after its time. The decision of a person is an event. Only hashes of the code and the secret are stored.

use std::fmt;

use ctx_core::ErrorCode;
use ctx_store::{Hash, Note, Step};
use serde::{Deserialize, Serialize};

use crate::error::TeamError;
use crate::event::Event;
use crate::key::{KeyText, random_hex};
use crate::model::Actor;
use crate::registry::{LOG, Registry, now};
use crate::scope::Scopes;
use crate::state::{NewKey, State};

/// The lifetime of a code in milliseconds.
pub const LOGIN_LIFETIME: u64 = 10 * 60 * 1000;
/// The lifetime of the key of a login in milliseconds.
pub const LOGIN_KEY_LIFETIME: u64 = 90 * 24 * 60 * 60 * 1000;

/// No vowels, so that no words arise, and no letters that look like digits: 34 bits.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
const LENGTH: usize = 8;
/// The longest name of a machine.
const LONGEST_NAME: usize = 64;
/// Notes of pending logins.
const NOTE: &str = "login-";

/// The code that a person types or follows.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginCode(String);

impl LoginCode {
    /// A new code. `None`: the system provides no random bytes.
    pub fn generate() -> Option<Self> {
        let mut code = String::with_capacity(LENGTH);
        while code.len() < LENGTH {
            let mut bytes = [0u8; 2 * LENGTH];
            getrandom::fill(&mut bytes).ok()?;
            // The largest multiple of 20 in a byte, so that all letters are equally frequent.
            let fair = bytes.iter().filter(|byte| **byte < 240).take(LENGTH - code.len());
            code.extend(fair.map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])));
        }
        Some(Self(code))
    }

    /// A code as a person writes it: in any case, with or without the dash.
    pub fn parse(text: &str) -> Option<Self> {
        let letters = text.chars().filter(|c| !matches!(c, '-' | ' '));
        let code: String = letters.map(|c| c.to_ascii_uppercase()).collect();
        let is_code = code.len() == LENGTH && code.bytes().all(|byte| LETTERS.contains(&byte));
        is_code.then_some(Self(code))
    }

    fn hash(&self) -> String {
        Hash::of(format!("login {}", self.0).as_bytes()).to_string()
    }
}

/// `BCDF-GHJK`.
impl fmt::Display for LoginCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, other) = self.0.split_at(LENGTH / 2);
        write!(f, "{one}-{other}")
    }
}

/// The secret of the machine that asks.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginSecret(String);

impl LoginSecret {
    /// A new secret. `None`: the system provides no random bytes.
    pub fn generate() -> Option<Self> {
        random_hex().map(Self)
    }

    pub fn of(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text itself. The long name makes a reader stop at every use.
    pub fn expose_secret(&self) -> &str {
        &self.0
    }

    fn hash(&self) -> String {
        Hash::of(format!("device {}", self.0).as_bytes()).to_string()
    }
}

/// A machine that asks to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingLogin {
    /// The hash of its code.
    login: String,
    /// The hash of its secret.
    device: String,
    /// Its own word for itself.
    pub machine: String,
    pub asked_at: u64,
}

/// A login that a person approved or refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedLogin {
    pub(crate) person: u32,
    pub(crate) device: String,
    pub(crate) machine: String,
    pub(crate) at: u64,
    /// For its key, if it was approved.
    pub(crate) scopes: Option<Scopes>,
    /// Its key ends then at the latest.
    pub(crate) expires_at: Option<u64>,
    pub(crate) is_used: bool,
    pub(crate) by_account: bool,
}

/// The state of a login, for the machine that asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginProgress {
    Pending,
    Refused,
    Approved,
    /// Unknown, expired, or used.
    Over,
}

impl Registry {
    /// Remembers a machine that asks, for all daemons, and forgets those whose time is over.
    pub fn ask_login(&self, code: &LoginCode, secret: &LoginSecret, machine: &str) -> Result<(), TeamError> {
        let now = now();
        let pending =
            PendingLogin { login: code.hash(), device: secret.hash(), machine: plain(machine), asked_at: now };
        let mut notes = vec![note(&pending.login, serde_json::to_vec(&pending).ok())];
        for name in self.store().note_names()?.iter().filter(|name| name.starts_with(NOTE)) {
            let old = self.store().note(LOG, name)?.and_then(|body| read(&body));
            if old.is_none_or(|old| is_over(old.asked_at, now)) {
                notes.push(Note { conversation: LOG.to_owned(), name: name.clone(), body: None });
            }
        }
        self.store().append(vec![Step { notes, durable: true, ..Step::default() }])?;
        Ok(())
    }

    /// The machine that asks with this code.
    pub fn pending_login(&self, code: &LoginCode) -> Result<Option<PendingLogin>, TeamError> {
        let body = self.store().note(LOG, &format!("{NOTE}{}", code.hash()))?;
        let pending = body.and_then(|body| read(&body)).filter(|pending| !is_over(pending.asked_at, now()));
        Ok(pending.filter(|pending| !self.state().logins.contains_key(&pending.login)))
    }

    /// The state of the login of a machine.
    pub fn login_progress(&self, code: &LoginCode, secret: &LoginSecret) -> Result<LoginProgress, TeamError> {
        if let Some(decided) = self.state().logins.get(&code.hash()) {
            return Ok(decided.progress(secret, now()));
        }
        match self.pending_login(code)? {
            Some(pending) if pending.device == secret.hash() => Ok(LoginProgress::Pending),
            _ => Ok(LoginProgress::Over),
        }
    }

    /// Deletes the note of a login that was decided.
    pub fn forget_login(&self, code: &LoginCode) -> Result<(), TeamError> {
        self.store().append(vec![Step { notes: vec![note(&code.hash(), None)], ..Step::default() }])?;
        Ok(())
    }
}

impl DecidedLogin {
    fn progress(&self, secret: &LoginSecret, now: u64) -> LoginProgress {
        // Hashes of random secrets: their comparison tells nothing about the secrets.
        match self.device == secret.hash() && !self.is_used && !is_over(self.at, now) {
            true if self.scopes.is_some() => LoginProgress::Approved,
            true => LoginProgress::Refused,
            false => LoginProgress::Over,
        }
    }
}

impl State {
    /// A person lets a machine sign in as themselves, or refuses it.
    pub fn decide_login(&self, actor: &Actor, pending: &PendingLogin, approve: bool) -> Result<Event, TeamError> {
        if self.logins.contains_key(&pending.login) {
            return Err(TeamError::unknown_login());
        }
        if self.person(actor.id).is_none() {
            let message = "The operator has no keys, so no machine can sign in as the operator.";
            return Err(TeamError::refused(ErrorCode::UnknownPerson, message, "Sign in on the page as a person."));
        }
        let (person, login) = (actor.id, pending.login.clone());
        let (device, machine) = (pending.device.clone(), pending.machine.clone());
        Ok(match approve {
            true => Event::LoginApproved {
                person,
                login,
                device,
                machine,
                scopes: actor.scopes,
                expires_at: actor.expires_at,
                by_account: actor.by_account,
            },
            false => Event::LoginRefused { person, login, device, machine },
        })
    }

    /// The person who approved a login, while its key is not taken.
    pub fn approver(&self, code: &LoginCode, secret: &LoginSecret, now: u64) -> Result<Actor, TeamError> {
        let decided = self.logins.get(&code.hash()).ok_or_else(TeamError::unknown_login)?;
        match decided.progress(secret, now) {
            LoginProgress::Approved => {
                let person = self.person(decided.person).ok_or_else(TeamError::unknown_login)?;
                let scopes = decided.scopes.unwrap_or(Scopes::NONE);
                let DecidedLogin { expires_at, by_account, .. } = *decided;
                Ok(Actor { id: person.id, role: person.role, scopes, expires_at, by_account })
            }
            LoginProgress::Refused => Err(TeamError::refused(
                ErrorCode::LoginRefused,
                "The login was refused on the page.",
                "If you did not mean to, sign in again.",
            )),
            LoginProgress::Pending | LoginProgress::Over => Err(TeamError::unknown_login()),
        }
    }

    /// The key of an approved login. It is made once.
    pub fn take_login(
        &self,
        code: &LoginCode,
        secret: &LoginSecret,
        text: &KeyText,
        now: u64,
    ) -> Result<Event, TeamError> {
        let actor = self.approver(code, secret, now)?;
        let decided = self.logins.get(&code.hash()).ok_or_else(TeamError::unknown_login)?;
        let new = NewKey {
            label: decided.machine.clone(),
            expires_at: Some(now + LOGIN_KEY_LIFETIME),
            login: Some(code.hash()),
            scopes: None,
        };
        self.make_key(&actor, actor.id, text, &new)
    }
}

impl TeamError {
    /// No login has this code, or its time is over.
    pub fn unknown_login() -> Self {
        TeamError::refused(
            ErrorCode::UnknownLogin,
            "No login waits with this code.",
            "A code is valid once, for ten minutes. Sign in again to get a new one.",
        )
    }
}

fn note(login: &str, body: Option<Vec<u8>>) -> Note {
    Note { conversation: LOG.to_owned(), name: format!("{NOTE}{login}"), body }
}

fn read(body: &[u8]) -> Option<PendingLogin> {
    serde_json::from_slice(body).ok()
}

fn is_over(since: u64, now: u64) -> bool {
    now.saturating_sub(since) >= LOGIN_LIFETIME
}

/// The name of a machine without characters that could mislead a reader.
fn plain(machine: &str) -> String {
    let is_plain = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '_' | '@');
    let name: String = machine.chars().filter(is_plain).take(LONGEST_NAME).collect();
    match name.trim() {
        "" => "a machine without a name".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::model::Role;
    use crate::registry::Recognition;
    use crate::scope::Scope;
    use ctx_store::{MemoryStore, Store};

    const ANNA: Actor = Actor { id: 1, role: Role::Member, ..Actor::OPERATOR };

    fn team() -> (Arc<dyn Store>, Registry) {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let registry = Registry::open(store.clone()).expect("open");
        let add = |state: &State| Ok((state.add_person(&Actor::OPERATOR, "anna", Role::Member, BTreeSet::new())?, ()));
        registry.change(&Actor::OPERATOR, add).expect("added");
        (store, registry)
    }

    fn ask(registry: &Registry) -> (LoginCode, LoginSecret) {
        let (code, secret) = (LoginCode::generate().expect("random"), LoginSecret::generate().expect("random"));
        registry.ask_login(&code, &secret, "annas-laptop").expect("asked");
        (code, secret)
    }

    fn decide(registry: &Registry, code: &LoginCode, approve: bool) -> Result<(), TeamError> {
        let pending = registry.pending_login(code)?.ok_or_else(TeamError::unknown_login)?;
        registry.change(&ANNA, |state| Ok((state.decide_login(&ANNA, &pending, approve)?, ()))).map(|_| ())
    }

    fn take(registry: &Registry, code: &LoginCode, secret: &LoginSecret) -> Result<KeyText, TeamError> {
        let text = KeyText::generate().expect("random");
        let actor = registry.state().approver(code, secret, now())?;
        registry.change(&actor, |state| Ok((state.take_login(code, secret, &text, now())?, ())))?;
        Ok(text)
    }

    #[test]
    fn a_code_is_short_unambiguous_and_read_as_people_write_it() {
        let (one, other) = (LoginCode::generate().expect("random"), LoginCode::generate().expect("random"));
        assert!(one != other && one.to_string().len() == 9);
        let written = one.to_string().to_lowercase().replace('-', " ");
        assert_eq!(LoginCode::parse(&written).map(|code| code.to_string()), Some(one.to_string()));
        for text in ["", "BCDF-GHJ", "BCDF-GHJA", "BCDF-GHJ1", "BCDFGHJKL"] {
            assert!(LoginCode::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn an_approved_login_gives_one_key_to_the_machine_that_asked_on_any_daemon() {
        let (store, one) = team();
        let other = Registry::open(store.clone()).expect("open");
        let (code, secret) = ask(&one);
        assert_eq!(other.login_progress(&code, &secret).expect("read"), LoginProgress::Pending);
        assert_eq!(other.pending_login(&code).expect("read").expect("pending").machine, "annas-laptop");
        decide(&other, &code, true).expect("approved");
        one.reload().expect("read");
        let stranger = LoginSecret::generate().expect("random");
        assert_eq!(one.login_progress(&code, &stranger).expect("read"), LoginProgress::Over);
        assert!(take(&one, &code, &stranger).is_err());
        let key = take(&one, &code, &secret).expect("a key");
        let Recognition::Known(identity) = one.recognise(key.expose_secret().as_bytes()) else { panic!("known") };
        assert_eq!(identity.person.name, "anna");
        let made = one.state();
        let made = made.keys().find(|made| made.id == identity.key).expect("the key");
        assert_eq!(made.label, "annas-laptop");
        assert!(made.expires_at.is_some_and(|end| end > now() + LOGIN_KEY_LIFETIME / 2));
        // The other daemon does not know of the key yet, and finds out when it tries.
        assert!(take(&other, &code, &secret).is_err(), "a login gives one key");
        assert_eq!(one.login_progress(&code, &secret).expect("read"), LoginProgress::Over);
        let stored: String = store
            .log(0, 100)
            .expect("a log")
            .records
            .iter()
            .map(|r| String::from_utf8_lossy(&r.body).into_owned())
            .collect();
        for word in [secret.expose_secret(), &code.to_string(), &code.0, &key.expose_secret()[12..]] {
            assert!(!stored.contains(word), "{word} is stored");
        }
    }

    #[test]
    fn the_key_of_a_login_has_the_scopes_of_the_session_that_approved_it() {
        let (_, registry) = team();
        let (code, secret) = ask(&registry);
        let pending = registry.pending_login(&code).expect("read").expect("pending");
        let anna = Actor { scopes: Scopes::of([Scope::Look, Scope::Admin]), ..ANNA };
        registry.change(&anna, |state| Ok((state.decide_login(&anna, &pending, true)?, ()))).expect("approved");
        let key = take(&registry, &code, &secret).expect("a key");
        let Recognition::Known(identity) = registry.recognise(key.expose_secret().as_bytes()) else { panic!("known") };
        assert_eq!(identity.scopes, anna.scopes);
    }

    #[test]
    fn a_login_that_an_account_approved_ends_when_the_account_is_unlinked() {
        let (_, registry) = team();
        let anna = Actor { by_account: true, ..ANNA };
        let approve = || {
            let (code, secret) = ask(&registry);
            let pending = registry.pending_login(&code).expect("read").expect("pending");
            registry.change(&anna, |state| Ok((state.decide_login(&anna, &pending, true)?, ()))).expect("approved");
            (code, secret)
        };
        let (code, secret) = approve();
        let key = take(&registry, &code, &secret).expect("a key");
        let (code, secret) = approve();
        let unlink = |state: &State| Ok((state.unlink_person(&Actor::OPERATOR, "anna")?, ()));
        registry.change(&Actor::OPERATOR, unlink).expect("unlinked");
        assert_eq!(registry.recognise(key.expose_secret().as_bytes()), Recognition::Unknown);
        assert_eq!(take(&registry, &code, &secret).expect_err("over").code(), ErrorCode::UnknownLogin);
    }

    #[test]
    fn a_refused_login_gives_nothing_and_cannot_be_approved_later() {
        let (_, registry) = team();
        let (code, secret) = ask(&registry);
        decide(&registry, &code, false).expect("refused");
        assert_eq!(registry.login_progress(&code, &secret).expect("read"), LoginProgress::Refused);
        assert_eq!(take(&registry, &code, &secret).expect_err("refused").code(), ErrorCode::LoginRefused);
        assert_eq!(decide(&registry, &code, true).expect_err("over").code(), ErrorCode::UnknownLogin);
    }

    #[test]
    fn asking_leaves_nothing_in_the_log_and_old_questions_go() {
        let (store, registry) = team();
        let before = store.last_seq().expect("a number");
        let (code, _) = ask(&registry);
        let old = PendingLogin { asked_at: 0, ..registry.pending_login(&code).expect("read").expect("pending") };
        let old = note("00", serde_json::to_vec(&old).ok());
        store.append(vec![Step { notes: vec![old], ..Step::default() }]).expect("stored");
        assert_eq!(store.note_names().expect("names").len(), 2);
        ask(&registry);
        assert_eq!(store.note_names().expect("names").len(), 2, "the old one is gone");
        registry.forget_login(&code).expect("forgotten");
        assert_eq!(registry.pending_login(&code).expect("read"), None);
        assert_eq!(store.last_seq().expect("a number"), before);
    }

    #[test]
    fn the_operator_has_no_keys_and_names_of_machines_cannot_mislead() {
        let (_, registry) = team();
        let (code, _) = ask(&registry);
        let pending = registry.pending_login(&code).expect("read").expect("pending");
        let refused = registry.state().decide_login(&Actor::OPERATOR, &pending, true).expect_err("refused");
        assert_eq!(refused.code(), ErrorCode::UnknownPerson);
        assert_eq!(plain("lap\u{202e}top\n<b>\u{1b}[2J"), "laptopb2J");
        assert_eq!(plain(&"x".repeat(99)).len(), LONGEST_NAME);
        assert_eq!(plain(" \n"), "a machine without a name");
    }
}
