//! The daemon as a client of an identity provider (OpenID Connect). [`ctx_team::oidc`] decides what is believed; this
//! fetches, and keeps the provider's description and keys for the times at which it cannot be reached.

mod provider;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ctx_team::oidc::{Claims, Client, Expectations, Flow, OidcRules, ReturnedCode, Subject, TokenFlaw, UncheckedToken};
use tokio::sync::Mutex;

use self::provider::Provider;
use crate::auth::{FLOW, PublicUrl};
use crate::config::{self, Limits};
use crate::secret::Secret;

/// The path to which the provider sends browsers back, below [`FLOW`].
pub(crate) const RETURN: &str = "/return";
/// A description of this age is fetched again, beside the requests that use it.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// A description is used until this age, if the provider cannot be reached.
const USABLE: Duration = Duration::from_secs(24 * 60 * 60);
/// The pause between two looks for a key that is not published.
const UNKNOWN_KEY: Duration = Duration::from_secs(30);
/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(5);

/// The settings of `[team.oidc]`.
#[derive(Clone)]
pub struct OidcSettings {
    pub rules: OidcRules,
    /// The name of the provider, on the page's button.
    pub label: String,
    pub secret: Option<Secret>,
    pub scopes: Vec<String>,
    /// The lifetime of a session.
    pub session: Duration,
}

impl OidcSettings {
    /// With everything that is optional unset.
    pub fn new(rules: OidcRules) -> OidcSettings {
        OidcSettings {
            label: rules.issuer.host(),
            rules,
            secret: None,
            scopes: ["openid", "profile", "email"].map(str::to_owned).to_vec(),
            session: Duration::from_secs(12 * 60 * 60),
        }
    }
}

impl fmt::Debug for OidcSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "OidcSettings({:?}, {:?}, {:?})", self.rules, self.label, self.scopes)
    }
}

/// Why a token is not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenTrouble {
    #[error("the token is refused: {0}")]
    Flaw(#[from] TokenFlaw),
    /// It may be good, and the keys of the provider are not known.
    #[error("the identity provider cannot be used: {0}")]
    Away(String),
    #[error("the identity provider does not accept the code")]
    Code,
}

pub(crate) struct Oidc {
    settings: OidcSettings,
    scopes: String,
    /// The address to which the provider sends browsers back.
    redirect: String,
    /// The address at which a sign-in begins.
    start: String,
    /// Proxies and authorities on the way to the provider.
    upstream: config::Upstream,
    limits: Limits,
    known: RwLock<Option<Arc<Provider>>>,
    /// Held while the description is fetched.
    fetching: Mutex<Attempts>,
}

#[derive(Default)]
struct Attempts {
    failed: Option<(Instant, String)>,
    /// The last fetch for the sake of an unknown key.
    for_a_key: Option<Instant>,
}

impl Oidc {
    pub(crate) fn new(
        settings: OidcSettings,
        public: &PublicUrl,
        upstream: &config::Upstream,
        limits: &Limits,
    ) -> Arc<Oidc> {
        Arc::new(Oidc {
            scopes: settings.scopes.join(" "),
            settings,
            redirect: public.with(&format!("{FLOW}{RETURN}")),
            start: public.with(FLOW),
            upstream: upstream.clone(),
            limits: limits.clone(),
            known: RwLock::default(),
            fetching: Mutex::default(),
        })
    }

    pub(crate) fn rules(&self) -> &OidcRules {
        &self.settings.rules
    }

    pub(crate) fn settings(&self) -> &OidcSettings {
        &self.settings
    }

    pub(crate) fn start(&self) -> &str {
        &self.start
    }

    fn client(&self) -> Client<'_> {
        Client {
            id: &self.settings.rules.client_id,
            secret: self.settings.secret.as_ref().map(Secret::expose_secret),
            redirect: &self.redirect,
            scopes: &self.scopes,
        }
    }

    /// The address to which a browser goes to sign in.
    pub(crate) async fn authorization(self: &Arc<Self>, flow: &Flow) -> Result<String, TokenTrouble> {
        let provider = self.provider().await?;
        Ok(self.client().authorization(&provider.discovery, flow))
    }

    /// The person who came back with a code.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        flow: &Flow,
        returned: &ReturnedCode,
    ) -> Result<Subject, TokenTrouble> {
        let provider = self.provider().await?;
        let code = returned.code.as_deref().ok_or(TokenTrouble::Code)?;
        if !returned.is_from(&self.rules().issuer, &provider.discovery) {
            return Err(TokenFlaw::Issuer.into());
        }
        let token = provider.exchange(self.client().exchange(&provider.discovery, flow, code)).await?;
        let nonce = flow.nonce();
        let claims = self.verified(&token, &self.rules().client_id, Some(&nonce)).await?;
        Ok(claims.subject(self.rules()))
    }

    /// The person of a token that a program sends; `None` if such tokens are not accepted.
    pub(crate) async fn bearer(self: &Arc<Self>, token: &str) -> Option<Result<Subject, TokenTrouble>> {
        let audience = self.rules().jwt_audience.as_deref()?;
        let verified = self.verified(token, audience, None).await;
        Some(verified.map(|claims| claims.subject(self.rules())))
    }

    async fn verified(
        self: &Arc<Self>,
        token: &str,
        audience: &str,
        nonce: Option<&str>,
    ) -> Result<Claims, TokenTrouble> {
        let token = UncheckedToken::parse(token)?;
        // Claims are checked first, so that an invalid token never causes a fetch of keys.
        token.claims().check(&Expectations { issuer: self.rules().issuer.as_str(), audience, nonce }, seconds())?;
        let provider = self.provider().await?;
        let claims = match token.verify(&provider.keys) {
            Err(TokenFlaw::UnknownKey) => token.verify(&self.renewed(&provider).await?.keys).cloned(),
            checked => checked.cloned(),
        };
        Ok(claims?)
    }

    fn known(&self) -> Option<Arc<Provider>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The description and the keys. Only the first use waits for them.
    async fn provider(self: &Arc<Self>) -> Result<Arc<Provider>, TokenTrouble> {
        let known = self.known().filter(|known| known.age() < USABLE);
        match known {
            Some(known) => {
                if known.age() >= FRESH && self.fetching.try_lock().is_ok() {
                    let this = self.clone();
                    tokio::spawn(async move {
                        let mut attempts = this.fetching.lock().await;
                        this.fetch(&mut attempts).await.ok();
                    });
                }
                Ok(known)
            }
            None => {
                let mut attempts = self.fetching.lock().await;
                match self.known().filter(|known| known.age() < USABLE) {
                    Some(known) => Ok(known),
                    None => self.fetch(&mut attempts).await,
                }
            }
        }
    }

    /// The keys after a token named an unknown one: fetched again, but not for every such token.
    async fn renewed(&self, known: &Arc<Provider>) -> Result<Arc<Provider>, TokenTrouble> {
        let mut attempts = self.fetching.lock().await;
        if let Some(newer) = self.known().filter(|newer| !Arc::ptr_eq(newer, known)) {
            return Ok(newer);
        }
        let is_early = attempts.for_a_key.is_some_and(|last| last.elapsed() < UNKNOWN_KEY);
        if is_early && attempts.failed.is_none() {
            return Ok(known.clone());
        }
        attempts.for_a_key = Some(Instant::now());
        self.fetch(&mut attempts).await
    }

    async fn fetch(&self, attempts: &mut Attempts) -> Result<Arc<Provider>, TokenTrouble> {
        if let Some((_, why)) = attempts.failed.as_ref().filter(|(at, _)| at.elapsed() < RETRY) {
            return Err(TokenTrouble::Away(why.clone()));
        }
        match Provider::fetch(&self.settings.rules.issuer, &self.upstream, &self.limits).await {
            Ok(provider) => {
                attempts.failed = None;
                let provider = Arc::new(provider);
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(provider.clone());
                Ok(provider)
            }
            Err(why) => {
                tracing::warn!(issuer = %self.settings.rules.issuer, "the identity provider cannot be used: {why}");
                attempts.failed = Some((Instant::now(), why.clone()));
                Err(TokenTrouble::Away(why))
            }
        }
    }
}

pub(crate) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
