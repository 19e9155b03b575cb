//! The session of a browser. Cookies ignore ports: a browser sends ours to every other server on this host. So the
//! cookie is not the token, and only one half. The page gets the other half, the page key, once, keeps it in the
//! storage of its origin, which includes the port, and sends it with every request. Neither half opens the control API
//! alone, and neither reveals the other or the token.
//!
//! Both are derived from the token, the port and the login, so they survive a restart without being stored, and a new
//! token ends all sessions.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use subtle::ConstantTimeEq;

use super::token::{Token, hex, random};

/// The lifetime of a session.
pub(super) const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

pub(super) struct Sessions {
    key: [u8; 32],
    cookie_name: String,
}

/// The person of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// The holder of the daemon's token.
    Operator,
    /// The holder of the key with this id: the session ends with the key.
    Key(String),
    /// A person who signed in at the identity provider.
    Person {
        id: u32,
        /// The end of the session, in seconds since 1970.
        until: u64,
        /// How often their account had been unlinked: the next time ends the session.
        unlinks: u64,
    },
}

/// A session that a request belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    /// Not secret.
    pub(crate) id: String,
    pub(crate) holder: Holder,
}

/// The two halves of a new session.
pub(crate) struct Login {
    pub(super) cookie: String,
    pub(crate) page_key: String,
    /// The lifetime of the cookie, in seconds.
    pub(super) age: u64,
}

impl Sessions {
    pub(super) fn new(token: &Token, port: u16) -> Self {
        let key =
            blake3::derive_key("context-composer browser session v1", format!("{port} {}", token.expose()).as_bytes());
        Self { key, cookie_name: format!("ctx_session_{port}") }
    }

    /// The port keeps the cookies of two daemons on one host apart.
    pub(super) fn cookie_name(&self) -> &str {
        &self.cookie_name
    }

    pub(super) fn begin(&self, holder: &Holder) -> Option<Login> {
        let now = seconds();
        let (whose, age) = match holder {
            Holder::Operator => (String::new(), LIFETIME.as_secs()),
            Holder::Key(id) => (format!("-{id}"), LIFETIME.as_secs()),
            // No id of a key begins with this letter.
            Holder::Person { id, until, unlinks } => {
                (format!("-p{id}-{until:x}-{unlinks:x}"), until.saturating_sub(now))
            }
        };
        let login = format!("{now:x}-{}{whose}", hex(&random::<16>().ok()?));
        Some(Login {
            age,
            cookie: format!("{login}.{}", self.derive("cookie", &login)),
            page_key: self.derive("page", &login),
        })
    }

    /// Whether a cookie is ours. That suffices for the page's files, which are not secret.
    pub(super) fn knows(&self, cookie: &str) -> bool {
        self.login(cookie).is_some()
    }

    /// The session, if the two halves belong together.
    pub(super) fn open(&self, cookie: &str, page_key: &[u8]) -> Option<Session> {
        let login = self.login(cookie)?;
        let is_whole: bool = self.derive("page", login).as_bytes().ct_eq(page_key).into();
        let mut parts = login.split('-').skip(1);
        let (id, holder, end) = (parts.next()?.to_owned(), parts.next(), parts.next());
        // An earlier version counted none.
        let unlinks = parts.next().unwrap_or("0");
        let holder = match (holder, end) {
            (None, _) => Holder::Operator,
            (Some(person), Some(end)) => {
                let id = person.strip_prefix('p')?.parse().ok()?;
                let (until, unlinks) = (u64::from_str_radix(end, 16).ok()?, u64::from_str_radix(unlinks, 16).ok()?);
                Holder::Person { id, until, unlinks }
            }
            (Some(key), None) => Holder::Key(key.to_owned()),
        };
        is_whole.then_some(Session { id, holder })
    }

    fn login<'a>(&self, cookie: &'a str) -> Option<&'a str> {
        let (login, proof) = cookie.split_once('.')?;
        let is_ours: bool = self.derive("cookie", login).as_bytes().ct_eq(proof.as_bytes()).into();
        let mut parts = login.split('-');
        let issued = u64::from_str_radix(parts.next()?, 16).ok()?;
        let end = parts.nth(2).map(|end| u64::from_str_radix(end, 16));
        let end = end.unwrap_or_else(|| Ok(issued.saturating_add(LIFETIME.as_secs()))).ok()?;
        let is_current = seconds() <= end;
        (is_ours && is_current).then_some(login)
    }

    fn derive(&self, half: &str, login: &str) -> String {
        blake3::keyed_hash(&self.key, format!("{half} {login}").as_bytes()).to_hex().to_string()
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_of_one_login_belong_together_and_no_others() {
        let token = Token::generate().expect("a token");
        let sessions = Sessions::new(&token, 8788);
        let (one, other) =
            (sessions.begin(&Holder::Operator).expect("a login"), sessions.begin(&Holder::Operator).expect("a login"));
        assert!(sessions.open(&one.cookie, one.page_key.as_bytes()).is_some());
        assert!(sessions.open(&one.cookie, other.page_key.as_bytes()).is_none());
        assert!(sessions.open(&one.cookie, b"").is_none() && sessions.open("", one.page_key.as_bytes()).is_none());
        let changed = format!("0{}", one.cookie);
        assert!(!sessions.knows(&changed) && !sessions.knows(token.expose()) && !sessions.knows("1-2.3"));
        assert!(!one.cookie.contains(token.expose()) && !one.cookie.contains(&one.page_key));
    }

    #[test]
    fn a_session_survives_a_restart_but_not_another_port_or_a_new_token() {
        let token = Token::generate().expect("a token");
        let login = Sessions::new(&token, 8788).begin(&Holder::Operator).expect("a login");
        let opens = |sessions: Sessions| sessions.open(&login.cookie, login.page_key.as_bytes()).is_some();
        assert!(opens(Sessions::new(&token, 8788)));
        assert!(!opens(Sessions::new(&token, 8789)));
        assert!(!opens(Sessions::new(&Token::generate().expect("a token"), 8788)));
    }

    #[test]
    fn an_old_session_is_over() {
        let sessions = Sessions::new(&Token::generate().expect("a token"), 8788);
        let login = format!("{:x}-00", seconds() - LIFETIME.as_secs() - 1);
        let cookie = format!("{login}.{}", sessions.derive("cookie", &login));
        assert!(!sessions.knows(&cookie));
    }

    #[test]
    fn a_session_names_its_holder_and_the_name_cannot_be_changed() {
        let sessions = Sessions::new(&Token::generate().expect("a token"), 8788);
        let anna = sessions.begin(&Holder::Key("3f9a81c2".into())).expect("a login");
        let opened = sessions.open(&anna.cookie, anna.page_key.as_bytes()).expect("a session");
        assert_eq!(opened.holder, Holder::Key("3f9a81c2".into()));
        let forged = anna.cookie.replace("3f9a81c2", "0c4d11aa");
        assert!(sessions.open(&forged, anna.page_key.as_bytes()).is_none());
        let operator = anna.cookie.replace("-3f9a81c2", "");
        assert!(sessions.open(&operator, anna.page_key.as_bytes()).is_none());
        let own = sessions.begin(&Holder::Operator).expect("a login");
        let opened = sessions.open(&own.cookie, own.page_key.as_bytes()).expect("a session");
        assert!(opened.holder == Holder::Operator && own.cookie.contains(&opened.id));
    }

    #[test]
    fn a_session_from_the_identity_provider_names_its_person_and_ends_when_it_says() {
        let sessions = Sessions::new(&Token::generate().expect("a token"), 8788);
        let holder = |until| Holder::Person { id: 7, until, unlinks: 18 };
        let login = sessions.begin(&holder(seconds() + 60)).expect("a login");
        let opened = sessions.open(&login.cookie, login.page_key.as_bytes()).expect("a session");
        assert_eq!(opened.holder, holder(seconds() + 60));
        assert_eq!(login.age, 60);
        let longer = login.cookie.replacen("-p7-", "-p7-f", 1);
        assert!(!sessions.knows(&longer) && !sessions.knows(&login.cookie.replacen("-p7-", "-p8-", 1)));
        assert!(login.cookie.contains("-12.") && !sessions.knows(&login.cookie.replacen("-12.", "-13.", 1)));
        let over = sessions.begin(&holder(seconds() - 1)).expect("a login");
        assert!(sessions.open(&over.cookie, over.page_key.as_bytes()).is_none());
    }
}
