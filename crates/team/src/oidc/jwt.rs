//! Signed tokens (RFC 7515, 7519): their parts, the allowed algorithms, and the signature.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;

use super::claims::Claims;
use super::jwks::KeySet;

/// No useful token is longer; the groups of a person make the longest ones.
const LONGEST: usize = 16 * 1024;

/// Why a token is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenFlaw {
    #[error("it is not a signed token")]
    Malformed,
    #[error("it is too long")]
    TooLong,
    #[error("its algorithm is not allowed")]
    Algorithm,
    #[error("it is from another issuer")]
    Issuer,
    #[error("it is meant for another audience")]
    Audience,
    #[error("it was made for another client")]
    AuthorizedParty,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet")]
    NotYet,
    #[error("it belongs to another sign-in")]
    Nonce,
    #[error("it names no subject")]
    Subject,
    #[error("it is signed with a key that the provider does not publish")]
    UnknownKey,
    #[error("its signature is wrong")]
    Signature,
}

/// The algorithms that are believed: only asymmetric ones. `none` and the symmetric ones are not, because everyone who
/// can read the public key could sign with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    EdDsa,
}

impl Algorithm {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    /// Extensions that must be understood. We understand none.
    #[serde(default)]
    crit: Option<Value>,
}

/// A token before its signature was checked.
pub struct UncheckedToken<'t> {
    algorithm: Algorithm,
    kid: Option<String>,
    signed: &'t str,
    signature: Vec<u8>,
    claims: Claims,
}

impl<'t> UncheckedToken<'t> {
    pub fn parse(text: &'t str) -> Result<Self, TokenFlaw> {
        if text.len() > LONGEST {
            return Err(TokenFlaw::TooLong);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(TokenFlaw::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenFlaw::Malformed)?;
        let header: Header = serde_json::from_slice(&decoded(header)?).map_err(|_| TokenFlaw::Malformed)?;
        let algorithm = Algorithm::named(&header.alg).ok_or(TokenFlaw::Algorithm)?;
        if header.crit.is_some() {
            return Err(TokenFlaw::Malformed);
        }
        let Ok(Value::Object(claims)) = serde_json::from_slice(&decoded(claims)?) else {
            return Err(TokenFlaw::Malformed);
        };
        let signature = decoded(signature)?;
        Ok(Self { algorithm, kid: header.kid, signed, signature, claims: Claims(claims) })
    }

    /// Its claims, untrusted until [`UncheckedToken::verify`].
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Its claims, if one of these keys signed it.
    pub fn verify(&self, keys: &KeySet) -> Result<&Claims, TokenFlaw> {
        let mut fitting = keys.fitting(self.kid.as_deref(), self.algorithm).peekable();
        // A signature by a key without a name may be by one that is published since.
        let otherwise = match (fitting.peek(), &self.kid) {
            (Some(_), Some(_)) => TokenFlaw::Signature,
            _ => TokenFlaw::UnknownKey,
        };
        let is_signed = fitting.any(|key| key.verifies(self.algorithm, self.signed.as_bytes(), &self.signature));
        if is_signed { Ok(&self.claims) } else { Err(otherwise) }
    }
}

pub(super) fn decoded(part: &str) -> Result<Vec<u8>, TokenFlaw> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenFlaw::Malformed)
}

/// Whether a credential has the shape of a signed token: three parts, the first of which is a JSON object.
pub fn is_signed_token(text: &[u8]) -> bool {
    text.starts_with(b"eyJ") && text.iter().filter(|byte| **byte == b'.').count() == 2
}
