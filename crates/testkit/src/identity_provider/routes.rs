//! The answers of the provider.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

use super::{IssuedCode, Shared, State, now};

/// A response: its status, a header line of its own, and its body.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) location: Option<String>,
    pub(super) body: String,
}

/// A request, as far as the provider reads it.
pub(super) struct ProviderRequest<'r> {
    pub(super) method: &'r str,
    /// Path and query.
    pub(super) target: &'r str,
    pub(super) content_type: &'r str,
    pub(super) authorization: &'r str,
    pub(super) body: &'r str,
}

type Fields = BTreeMap<String, String>;

/// Everything that a browser may send to be signed in.
const WANTED: [&str; 8] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "nonce",
    "code_challenge",
    "code_challenge_method",
];

impl Shared {
    pub(super) fn answer(&self, asked: &ProviderRequest<'_>) -> Reply {
        let (path, query) = asked.target.split_once('?').unwrap_or((asked.target, ""));
        let mut state = self.lock();
        *state.asked.entry(path.to_owned()).or_default() += 1;
        if let Some((status, body)) = state.replaced.get(path) {
            // A redirect leads to the real answer.
            let location = (300..400).contains(status).then(|| format!("{}/real{path}", state.issuer));
            return Reply { status: *status, location, body: body.clone() };
        }
        match (asked.method, path.strip_prefix("/real").unwrap_or(path)) {
            ("GET", "/.well-known/openid-configuration") => json(200, &discovery(&state.issuer)),
            ("GET", "/keys") => json(200, &json!({ "keys": [state.key.public()] })),
            ("GET", "/authorize") => self.authorize(&mut state, query),
            ("POST", "/token") => match self.exchange(&mut state, asked) {
                Ok(reply) => reply,
                Err(error) => json(400, &json!({ "error": error })),
            },
            ("POST", "/_fake/user") => {
                state.user = serde_json::from_str(asked.body).ok();
                json(200, &json!({}))
            }
            _ => json(404, &json!({ "error": "not_found" })),
        }
    }

    /// Sends the browser back, with a code for the person at it.
    fn authorize(&self, state: &mut State, query: &str) -> Reply {
        let page = |words: &str| Reply { status: 400, location: None, body: words.to_owned() };
        let Some(fields) = fields(query) else { return page("parameters are unreadable, or occur twice") };
        let get = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
        // These two are never answered by a redirect.
        if get("client_id") != self.client.id || get("redirect_uri") != self.client.redirect {
            return page("unknown client or address");
        }
        if fields.keys().any(|name| !WANTED.contains(&name.as_str())) {
            return page("a parameter is not expected");
        }
        let back = |rest: &str| Reply {
            status: 302,
            location: Some(format!("{}?{rest}&state={}", self.client.redirect, get("state"))),
            body: String::new(),
        };
        let is_whole = get("response_type") == "code"
            && get("scope").split(' ').any(|scope| scope == "openid")
            && get("state").len() >= 32
            && get("nonce").len() >= 32
            && get("code_challenge_method") == "S256"
            && get("code_challenge").len() == 43;
        if !is_whole {
            return back("error=invalid_request");
        }
        let Some(user) = state.user.clone() else {
            return back("error=access_denied&error_description=%3Cscript%3Ealert(1)%3C%2Fscript%3E");
        };
        state.issued += 1;
        let code = format!("code/{}+x", state.issued);
        let issued = IssuedCode { challenge: get("code_challenge").to_owned(), nonce: get("nonce").to_owned(), user };
        let reply = back(&format!("code={}", code.replace('/', "%2F").replace('+', "%2B")));
        state.codes.insert(code, issued);
        reply
    }

    fn exchange(&self, state: &mut State, asked: &ProviderRequest<'_>) -> Result<Reply, &'static str> {
        if asked.content_type != "application/x-www-form-urlencoded" {
            return Err("invalid_request");
        }
        let pair = format!("{}:{}", self.client.id, self.client.secret);
        if asked.authorization != format!("Basic {}", STANDARD.encode(pair)) {
            return Err("invalid_client");
        }
        let fields = fields(asked.body).ok_or("invalid_request")?;
        let get = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
        if get("grant_type") != "authorization_code" {
            return Err("unsupported_grant_type");
        }
        // It works once, whatever comes of it.
        let issued = state.codes.remove(get("code")).ok_or("invalid_grant")?;
        let digest = ring::digest::digest(&ring::digest::SHA256, get("code_verifier").as_bytes());
        let is_verified = (43..=128).contains(&get("code_verifier").len())
            && URL_SAFE_NO_PAD.encode(digest) == issued.challenge
            && get("redirect_uri") == self.client.redirect;
        if !is_verified {
            return Err("invalid_grant");
        }
        let claims = self.claims(state, issued);
        let token = state.key.sign(&claims);
        let answer = json!({"access_token": "opaque", "token_type": "Bearer", "expires_in": 300, "id_token": token});
        Ok(json(200, &answer))
    }

    fn claims(&self, state: &State, issued: IssuedCode) -> Map<String, Value> {
        let mut claims = issued.user;
        for (name, value) in [
            ("iss", json!(state.issuer)),
            ("aud", json!(self.client.id)),
            ("nonce", json!(issued.nonce)),
            ("iat", json!(now())),
            ("exp", json!(now() + 300)),
        ] {
            claims.insert(name.to_owned(), value);
        }
        for (name, value) in &state.changed {
            match value {
                Value::Null => claims.remove(name),
                value => claims.insert(name.clone(), value.clone()),
            };
        }
        claims
    }
}

fn discovery(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    })
}

fn json(status: u16, value: &Value) -> Reply {
    Reply { status, location: None, body: value.to_string() }
}

/// `None` if a field cannot be decoded, or occurs twice.
fn fields(text: &str) -> Option<Fields> {
    let mut found = Fields::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        if found.insert(decoded(name)?, decoded(value)?).is_some() {
            return None;
        }
    }
    Some(found)
}

fn decoded(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    let mut pieces = spaced.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}
