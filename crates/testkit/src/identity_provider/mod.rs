//! A strict stand-in for an identity provider (OpenID Connect), on loopback: discovery, published keys with rotation,
//! authorisation with PKCE, and codes that work once. It refuses everything that the standards let it refuse.
//!
//! There are no passwords: [`IdentityProvider::sign_in_as`] decides who the browser is. `POST /_fake/user` does the
//! same for tests in other languages.

mod routes;
mod serve;
mod signing;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::background::Background;
use signing::SigningKey;

/// The one client that the provider knows.
#[derive(Debug, Clone)]
pub struct RegisteredClient {
    pub id: String,
    pub secret: String,
    /// The only address to which it sends browsers back.
    pub redirect: String,
}

/// A running provider; dropping it closes its port.
pub struct IdentityProvider {
    shared: Arc<Shared>,
    background: Background,
}

struct Shared {
    client: RegisteredClient,
    state: Mutex<State>,
}

struct State {
    issuer: String,
    key: SigningKey,
    rotations: u32,
    /// The claims of the person at the browser; `None` refuses.
    user: Option<Map<String, Value>>,
    /// Claims that replace those of the next tokens of a sign-in; `null` removes one.
    changed: Map<String, Value>,
    codes: HashMap<String, IssuedCode>,
    issued: u64,
    /// Answers in place of the real ones, by path.
    replaced: HashMap<String, (u16, String)>,
    /// The number of requests by path.
    asked: HashMap<String, usize>,
}

/// The login behind a code.
struct IssuedCode {
    challenge: String,
    nonce: String,
    user: Map<String, Value>,
}

impl IdentityProvider {
    /// `port`: 0 picks a free one.
    pub fn start(port: u16, client: RegisteredClient) -> io::Result<Self> {
        let state = State {
            issuer: String::new(),
            key: SigningKey::generate("key-0")?,
            rotations: 0,
            user: None,
            changed: Map::new(),
            codes: HashMap::new(),
            issued: 0,
            replaced: HashMap::new(),
            asked: HashMap::new(),
        };
        let shared = Arc::new(Shared { client, state: Mutex::new(state) });
        let served = shared.clone();
        let background =
            Background::listen(port, "identity-provider", move |stream, _| serve::connection(served.clone(), stream))?;
        shared.lock().issuer = format!("http://{}", background.address());
        Ok(Self { shared, background })
    }

    pub fn port(&self) -> u16 {
        self.background.address().port()
    }

    pub fn issuer(&self) -> String {
        self.shared.lock().issuer.clone()
    }

    /// From now on, the browser belongs to a person with these claims, such as `sub`.
    pub fn sign_in_as(&self, claims: &Value) {
        self.shared.lock().user = claims.as_object().cloned();
    }

    /// Replaces claims in the tokens of sign-ins; `null` removes one.
    pub fn change_tokens(&self, claims: &Value) {
        self.shared.lock().changed = claims.as_object().cloned().unwrap_or_default();
    }

    /// Answers a path with this status and body.
    pub fn replace(&self, path: &str, status: u16, body: &str) {
        self.shared.lock().replaced.insert(path.to_owned(), (status, body.to_owned()));
    }

    pub fn restore(&self, path: &str) {
        self.shared.lock().replaced.remove(path);
    }

    /// A new key; the old one is published no longer.
    pub fn rotate(&self) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.rotations += 1;
        state.key = SigningKey::generate(&format!("key-{}", state.rotations))?;
        Ok(())
    }

    /// A signed token with these claims; `iss`, `iat` and `exp` are added if they are missing.
    pub fn token(&self, claims: &Value) -> String {
        let state = self.shared.lock();
        let mut all = claims.as_object().cloned().unwrap_or_default();
        for (name, usual) in [("iss", json!(state.issuer)), ("iat", json!(now())), ("exp", json!(now() + 300))] {
            all.entry(name).or_insert(usual);
        }
        state.key.sign(&all)
    }

    /// The number of requests for a path.
    pub fn asked(&self, path: &str) -> usize {
        self.shared.lock().asked.get(path).copied().unwrap_or_default()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
