//! The public keys of a provider (RFC 7517).

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use super::jwt::{Algorithm, decoded};

/// No provider publishes more; a token without the name of its key is tried with each.
const MOST: usize = 64;
/// Half of the point of a P-256 key.
const COORDINATE: usize = 32;

#[derive(Debug, Clone, Default)]
pub struct KeySet(Vec<PublicKey>);

#[derive(Debug, Clone)]
pub(super) struct PublicKey {
    kid: Option<String>,
    /// The only algorithm that it is for, if it says so.
    only: Option<Algorithm>,
    material: Material,
}

#[derive(Debug, Clone)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Keys of other kinds are left out, as the standard demands. The error tells what is wrong with the document.
    pub fn parse(document: &[u8]) -> Result<KeySet, &'static str> {
        let document: Document = serde_json::from_slice(document).map_err(|_| "it is not a set of keys")?;
        let keys: Vec<PublicKey> = document.keys.into_iter().take(MOST).filter_map(PublicKey::of).collect();
        if keys.is_empty() { Err("it has no key for an allowed algorithm") } else { Ok(KeySet(keys)) }
    }

    pub(super) fn fitting(&self, kid: Option<&str>, algorithm: Algorithm) -> impl Iterator<Item = &PublicKey> {
        let is_named = move |key: &&PublicKey| kid.is_none() || key.kid.as_deref() == kid;
        self.0.iter().filter(is_named).filter(move |key| key.is_for(algorithm))
    }
}

impl PublicKey {
    fn of(value: Value) -> Option<PublicKey> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        if jwk.purpose.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let only = match &jwk.alg {
            Some(name) => Some(Algorithm::named(name)?),
            None => None,
        };
        let bytes = |part: &Option<String>| decoded(part.as_deref()?).ok();
        let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Material::Rsa { n: without_zeros(bytes(&jwk.n)?), e: without_zeros(bytes(&jwk.e)?) },
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(&jwk.x)?, bytes(&jwk.y)?);
                if x.len() != COORDINATE || y.len() != COORDINATE {
                    return None;
                }
                // An uncompressed point.
                Material::P256([&[4u8][..], &x, &y].concat())
            }
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(&jwk.x)?),
            _ => return None,
        };
        Some(PublicKey { kid: jwk.kid, only, material })
    }

    /// The kind of a key decides too: a token must not choose how its signature is checked.
    fn is_for(&self, algorithm: Algorithm) -> bool {
        let is_kind = matches!(
            (&self.material, algorithm),
            (Material::Rsa { .. }, Algorithm::Rs256 | Algorithm::Ps256)
                | (Material::P256(_), Algorithm::Es256)
                | (Material::Ed25519(_), Algorithm::EdDsa)
        );
        is_kind && self.only.is_none_or(|only| only == algorithm)
    }

    pub(super) fn verifies(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        let checked = match &self.material {
            Material::Rsa { n, e } => {
                let parameters = match algorithm {
                    Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, signed, signature)
            }
            Material::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature),
            Material::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(signed, signature),
        };
        checked.is_ok()
    }
}

/// Some providers write a sign byte, which the standard forbids.
fn without_zeros(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.drain(..zeros);
    number
}
