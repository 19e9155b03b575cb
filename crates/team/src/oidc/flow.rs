//! One sign-in: the authorisation code flow with PKCE (RFC 6749, RFC 7636). The daemon remembers nothing of it. The
//! browser keeps a random login in a cookie, and the daemon derives state, nonce and verifier from it with a key of its
//! own, so a sign-in may begin at one daemon of a team and end at another.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::Deserialize;
use subtle::ConstantTimeEq;

use super::discovery::{Discovery, Issuer};

/// The time for a sign-in at the provider, in seconds.
pub const LIFETIME: u64 = 10 * 60;
/// The clocks of two daemons differ, in seconds.
const LEEWAY: u64 = 60;
/// Codes are short, and so is a whole way back.
const LONGEST_RETURN: usize = 8 * 1024;

pub struct Flow {
    key: [u8; 32],
    login: String,
}

impl Flow {
    /// A new sign-in. `None`: the system provides no random bytes.
    pub fn begin(key: &[u8; 32], now: u64) -> Option<Flow> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).ok()?;
        let random: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Flow { key: *key, login: format!("{now:x}-{random}") })
    }

    /// The sign-in that a browser began, if it is ours and not too old.
    pub fn resume(key: &[u8; 32], cookie: &str, now: u64) -> Option<Flow> {
        let (login, _) = cookie.split_once('.')?;
        let flow = Flow { key: *key, login: login.to_owned() };
        let is_ours: bool = flow.cookie().as_bytes().ct_eq(cookie.as_bytes()).into();
        let begun = u64::from_str_radix(login.split('-').next()?, 16).ok()?;
        let is_current = begun <= now + LEEWAY && now <= begun.saturating_add(LIFETIME);
        (is_ours && is_current).then_some(flow)
    }

    /// The secret in the browser. It reveals none of the values derived from it.
    pub fn cookie(&self) -> String {
        format!("{}.{}", self.login, self.derive("cookie"))
    }

    /// Sent to the provider and back: it ties the way back to the browser that began.
    pub fn state(&self) -> String {
        self.derive("state")
    }

    /// Sent to the provider and back inside the token: it ties the token to this sign-in.
    pub fn nonce(&self) -> String {
        self.derive("nonce")
    }

    pub fn is_state(&self, given: &str) -> bool {
        self.state().as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Sent with the code: only the maker of the challenge can exchange the code.
    fn verifier(&self) -> String {
        self.derive("verifier")
    }

    fn challenge(&self) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, self.verifier().as_bytes());
        URL_SAFE_NO_PAD.encode(digest)
    }

    fn derive(&self, what: &str) -> String {
        blake3::keyed_hash(&self.key, format!("{what} {}", self.login).as_bytes()).to_hex().to_string()
    }
}

/// The daemon as a client of the provider.
#[derive(Clone, Copy)]
pub struct Client<'c> {
    pub id: &'c str,
    pub secret: Option<&'c str>,
    /// The address to which the provider sends the browser back.
    pub redirect: &'c str,
    pub scopes: &'c str,
}

impl Client<'_> {
    /// The address to which the browser goes to sign in.
    pub fn authorization(&self, discovery: &Discovery, flow: &Flow) -> String {
        let query = form(&[
            ("response_type", "code"),
            ("client_id", self.id),
            ("redirect_uri", self.redirect),
            ("scope", self.scopes),
            ("state", &flow.state()),
            ("nonce", &flow.nonce()),
            ("code_challenge", &flow.challenge()),
            ("code_challenge_method", "S256"),
        ]);
        let address = discovery.authorization.to_string();
        let mark = if address.contains('?') { '&' } else { '?' };
        format!("{address}{mark}{query}")
    }

    /// The request that exchanges a code for the token.
    pub fn exchange(&self, discovery: &Discovery, flow: &Flow, code: &str) -> TokenRequest {
        let verifier = flow.verifier();
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect),
            ("code_verifier", &verifier),
        ];
        let in_header = self.secret.filter(|_| !discovery.secret_in_body);
        if in_header.is_none() {
            fields.push(("client_id", self.id));
            fields.extend(self.secret.map(|secret| ("client_secret", secret)));
        }
        let authorization = in_header.map(|secret| {
            let pair = format!("{}:{}", encoded(self.id), encoded(secret));
            format!("Basic {}", STANDARD.encode(pair))
        });
        TokenRequest { body: form(&fields), authorization }
    }
}

/// It contains secrets, so it cannot be printed.
pub struct TokenRequest {
    pub body: String,
    pub authorization: Option<String>,
}

/// The way back from the provider.
#[derive(Debug, PartialEq, Eq)]
pub struct ReturnedCode {
    pub state: String,
    /// None if the provider refused.
    pub code: Option<String>,
    issuer: Option<String>,
}

impl ReturnedCode {
    /// Parses the query. Parameters that occur twice are refused: two readers could choose differently.
    pub fn parse(query: &str) -> Option<ReturnedCode> {
        if query.len() > LONGEST_RETURN {
            return None;
        }
        let mut found = HashMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if found.insert(decoded(name)?, decoded(value)?).is_some() {
                return None;
            }
        }
        let is_refused = found.contains_key("error");
        let code = found.remove("code").filter(|code| !is_refused && !code.is_empty());
        Some(ReturnedCode { state: found.remove("state")?, code, issuer: found.remove("iss") })
    }

    /// Whether it comes from this provider, as far as the provider says so (RFC 9207).
    pub fn is_from(&self, issuer: &Issuer, discovery: &Discovery) -> bool {
        match &self.issuer {
            Some(named) => named == issuer.as_str(),
            None => !discovery.names_issuer,
        }
    }
}

/// The token in the provider's answer.
pub fn id_token(answer: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Answer {
        id_token: String,
    }
    serde_json::from_slice::<Answer>(answer).ok().map(|answer| answer.id_token)
}

fn form(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    pairs.join("&")
}

fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            b'%' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = behind;
            }
            b'+' => bytes.push(b' '),
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).ok()
}
