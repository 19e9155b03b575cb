//! The key with which the provider signs, and its public half.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Map, Value, json};

pub(super) struct SigningKey {
    kid: String,
    pair: EcdsaKeyPair,
}

impl SigningKey {
    pub(super) fn generate(kid: &str) -> io::Result<Self> {
        let failed = |_| io::Error::other("no key could be made");
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).map_err(failed)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        let pair = pair.map_err(|_| io::Error::other("no key could be made"))?;
        Ok(Self { kid: kid.to_owned(), pair })
    }

    /// The key as it is published.
    pub(super) fn public(&self) -> Value {
        // An uncompressed point: one byte, and two halves.
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.kid,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y)})
    }

    pub(super) fn sign(&self, claims: &Map<String, Value>) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": self.kid});
        let signed = format!("{}.{}", part(&header), part(&Value::Object(claims.clone())));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.map(|signature| URL_SAFE_NO_PAD.encode(signature)).unwrap_or_default();
        format!("{signed}.{signature}")
    }
}
