//! Signatures and claims.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use super::*;

/// Made with OpenSSL, for the claims `{"sub":"1"}`.
const RSA_N: &str = "mgQEm17MAYqa7tijMoL0x2FtB8sVpg62dQwL6b-DA9R2oxKKjJZlaAF_S7WwpKlwbD4fUHlAKBWLuxai6jAhnGk81tolxCVUqrOAUM7WSZGewiz-Re_yCE8lkapNwYNbQlfIvSB0fPC4lGOrisddvdITOkUAe9IfpTzZT3K49pIbWtUL9aoeCJz8UgDSC9I6z4JHsDwpLBtXy_iwm3wtZPQWsrZ_Ie5OY_pt0ITmcdYLVoxk4eeiU-lSnZ_yMcZSr4RPrjt-bY7n5RAlSFQJTET04nXTa0321cy88gH2YhEuomsb4qeA2GLnJNk5EQEcAcALcpgP4BKJNRpzHfhXsw";
const RS256: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6InIifQ.eyJzdWIiOiIxIn0.Y1ba5waQOsvJ3PCjp1AYnrgy2jUOGco5tOcvP5JP3zormuHnlhl-7O1lIC2v-UD_GeKa5sZLDHzqPZGdE1xAF3aKG3Xq2Lli3kCRScQWLqk1a07LhZl6C8XYwMyhT8ojikjH6CTxQFpSqMctdKxnXh5qWibsJS5k3EbQ3cztQJKc-EzlksWjsupCDxZHpRI_XAEh5Brz9_VceiZGAEsr6QXCims3mNT9LjJLY_fr-euwQsxpVNqPipfdmaJN1dLyhCV_A4tKz6zAEl61Vq-CV_PIPgQFcXuzrCk4d-g0jVljNSpzxEV4Abinf6yemVF0FqQnr_zqzSeYwP63x4x23A";
const PS256: &str = "eyJhbGciOiJQUzI1NiIsImtpZCI6InIifQ.eyJzdWIiOiIxIn0.emJNkOWN1wJ6UNX21-le5lyUKXv51lHY8_cRjMDlcFgoPuheyelYAqbpAXWjI3eo2Lz1EyrC1fSkaReIS83wwt0onoVWf65VcNbAZkAnf_ts-F8dqARZvC6IcJvw9sD6Th9xFlWA6A_YKeLy7zx_kUIpXun7cLQgn0kt1Y9C-o3pg1QyLS4rsKBAsHv0YjmdmjWCz2NWF_Otjb01Ximl1PXjcWveGYOa0jRn3y6u--r0S2sVyBRUgVdc0-aiYxXz9d4oit283RvcLBMzPjZfaE2yPfRyMk6Ji4W-WR3hQGGlTciVcHuPas3r3T-Ed1INHuuEj9InaqR-mCMMBp3G2Q";

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn keys(keys: Value) -> KeySet {
    KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).expect("keys")
}

fn checked(token: &str, keys: &KeySet) -> Result<(), TokenFlaw> {
    UncheckedToken::parse(token)?.verify(keys).map(drop)
}

/// The same token with another signature.
fn forged(token: &str) -> String {
    let (signed, signature) = token.rsplit_once('.').expect("three parts");
    let mut bytes = URL_SAFE_NO_PAD.decode(signature).expect("base64");
    bytes[9] ^= 1;
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(bytes))
}

struct P256(EcdsaKeyPair);

impl P256 {
    fn new() -> P256 {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let document = document.expect("a key");
        let random = SystemRandom::new();
        P256(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).expect("a key"))
    }

    fn jwk(&self, kid: &str) -> Value {
        let (x, y) = self.0.public_key().as_ref()[1..].split_at(32);
        json!({"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig",
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y)})
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).expect("signed");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

#[test]
fn each_allowed_algorithm_is_verified_and_a_changed_signature_is_not() {
    let rsa = keys(json!([{"kty": "RSA", "kid": "r", "n": RSA_N, "e": "AQAB"}]));
    let p256 = P256::new();
    let es256 = p256.sign(&json!({"alg": "ES256", "kid": "e"}), &json!({"sub": "1"}));
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
    let ed25519 = Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key");
    let signed = format!("{}.{}", part(&json!({"alg": "EdDSA", "kid": "d"})), part(&json!({"sub": "1"})));
    let eddsa = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(ed25519.sign(signed.as_bytes())));
    let okp = json!({"kty": "OKP", "crv": "Ed25519", "kid": "d", "x": URL_SAFE_NO_PAD.encode(ed25519.public_key())});
    for (token, keys) in [
        (RS256, &rsa),
        (PS256, &rsa),
        (es256.as_str(), &keys(json!([p256.jwk("e")]))),
        (eddsa.as_str(), &keys(json!([okp]))),
    ] {
        assert_eq!(checked(token, keys), Ok(()), "{token:.40}");
        assert_eq!(checked(&forged(token), keys), Err(TokenFlaw::Signature), "{token:.40}");
    }
    let for_pss = keys(json!([{"kty": "RSA", "kid": "r", "alg": "PS256", "n": RSA_N, "e": "AQAB"}]));
    assert_eq!(checked(PS256, &for_pss), Ok(()));
    assert_eq!(checked(RS256, &for_pss), Err(TokenFlaw::UnknownKey), "the key says what it is for");
}

#[test]
fn no_other_algorithm_is_believed_and_a_token_does_not_choose_its_key() {
    let (one, other) = (P256::new(), P256::new());
    let set = keys(json!([one.jwk("one"), {"kty": "RSA", "kid": "r", "n": RSA_N, "e": "AQAB"}]));
    let claims = json!({"sub": "1"});
    for name in ["none", "None", "HS256", "HS512", "RS1", "ES384", ""] {
        let token = one.sign(&json!({"alg": name, "kid": "one"}), &claims);
        assert_eq!(checked(&token, &set), Err(TokenFlaw::Algorithm), "{name}");
    }
    let unsigned = format!("{}.{}.", part(&json!({"alg": "none"})), part(&claims));
    assert_eq!(checked(&unsigned, &set), Err(TokenFlaw::Algorithm));
    // A key in the header of the token itself is ignored.
    let own = json!({"alg": "ES256", "kid": "mine", "jwk": other.jwk("mine"), "jku": "https://evil.example/keys"});
    assert_eq!(checked(&other.sign(&own, &claims), &set), Err(TokenFlaw::UnknownKey));
    assert_eq!(checked(&other.sign(&json!({"alg": "ES256", "kid": "one"}), &claims), &set), Err(TokenFlaw::Signature));
    assert_eq!(checked(&one.sign(&json!({"alg": "ES256", "kid": "r"}), &claims), &set), Err(TokenFlaw::UnknownKey));
    assert_eq!(checked(&one.sign(&json!({"alg": "ES256"}), &claims), &set), Ok(()), "without a name, each is tried");
    assert_eq!(checked(&other.sign(&json!({"alg": "ES256"}), &claims), &set), Err(TokenFlaw::UnknownKey));
    let critical = one.sign(&json!({"alg": "ES256", "kid": "one", "crit": ["b64"]}), &claims);
    assert_eq!(checked(&critical, &set), Err(TokenFlaw::Malformed));
}

#[test]
fn what_is_no_token_is_refused() {
    for text in ["", ".", "..", "a.b.c", "eyJhbGciOiJSUzI1NiJ9..", "eyJhbGciOiJSUzI1NiJ9.W10.c2ln"] {
        assert_eq!(UncheckedToken::parse(text).err(), Some(TokenFlaw::Malformed), "{text}");
    }
    let long = format!("{RS256}{}", "a".repeat(20_000));
    assert_eq!(UncheckedToken::parse(&long).err(), Some(TokenFlaw::TooLong));
    for set in ["{}", "[]", r#"{"keys": []}"#, r#"{"keys": [{"kty": "oct", "k": "aGk"}]}"#] {
        assert!(KeySet::parse(set.as_bytes()).is_err(), "{set}");
    }
    let encryption = json!({"keys": [{"kty": "RSA", "use": "enc", "n": RSA_N, "e": "AQAB"}]});
    assert!(KeySet::parse(encryption.to_string().as_bytes()).is_err());
}

fn claims(change: Value) -> Claims {
    let mut all = json!({"iss": ISSUER, "aud": "ctx", "sub": "1", "exp": 2000, "iat": 1000, "nonce": "n"});
    for (name, value) in change.as_object().expect("an object") {
        match value {
            Value::Null => drop(all.as_object_mut().expect("an object").remove(name)),
            value => all[name] = value.clone(),
        }
    }
    Claims(all.as_object().expect("an object").clone())
}

#[test]
fn every_claim_of_a_sign_in_is_checked() {
    let check = |change: Value, now: u64| {
        claims(change).check(&Expectations { issuer: ISSUER, audience: "ctx", nonce: Some("n") }, now)
    };
    for (change, now) in [
        (json!({}), 1500),
        (json!({}), 2059),
        (json!({}), 941),
        (json!({"aud": ["ctx"]}), 1500),
        (json!({"aud": ["ctx", "other"], "azp": "ctx"}), 1500),
        (json!({"exp": 2000.5}), 1500),
    ] {
        assert_eq!(check(change.clone(), now), Ok(()), "{change} {now}");
    }
    for (change, now, flaw) in [
        (json!({"iss": "https://login.example.com/"}), 1500, TokenFlaw::Issuer),
        (json!({"iss": null}), 1500, TokenFlaw::Issuer),
        (json!({"aud": "other"}), 1500, TokenFlaw::Audience),
        (json!({"aud": null}), 1500, TokenFlaw::Audience),
        (json!({"aud": ["ctx", 5]}), 1500, TokenFlaw::Audience),
        (json!({"aud": ["ctx", "other"]}), 1500, TokenFlaw::AuthorizedParty),
        (json!({"azp": "other"}), 1500, TokenFlaw::AuthorizedParty),
        (json!({"nonce": "m"}), 1500, TokenFlaw::Nonce),
        (json!({"nonce": null}), 1500, TokenFlaw::Nonce),
        (json!({}), 2060, TokenFlaw::Expired),
        (json!({"exp": null}), 1500, TokenFlaw::Expired),
        (json!({"exp": "never"}), 1500, TokenFlaw::Malformed),
        (json!({"nbf": 1600}), 1500, TokenFlaw::NotYet),
        (json!({}), 900, TokenFlaw::NotYet),
        (json!({"sub": null}), 1500, TokenFlaw::Subject),
        (json!({"sub": ""}), 1500, TokenFlaw::Subject),
        (json!({"sub": "s".repeat(256)}), 1500, TokenFlaw::Subject),
    ] {
        assert_eq!(check(change.clone(), now), Err(flaw), "{change} {now}");
    }
    // The token of a program belongs to no sign-in, and may be made for another client.
    let bearer = claims(json!({"nonce": null, "azp": "cli", "aud": ["gateway", "other"]}));
    assert_eq!(bearer.check(&Expectations { issuer: ISSUER, audience: "gateway", nonce: None }, 1500), Ok(()));
}

#[test]
fn names_and_groups_come_from_the_claims_that_the_rules_name() {
    let said = claims(json!({
        "email": "anna@example.com", "email_verified": false, "preferred_username": "anna",
        "realm_access": {"roles": ["core", "web"]}, "https://a.example/groups": "one",
    }));
    let subject = |name: &str, groups: Option<&str>| {
        let groups_claim = groups.map(str::to_owned);
        said.subject(&OidcRules { name_claim: name.to_owned(), groups_claim, ..rules() })
    };
    assert_eq!(subject("preferred_username", None).name.as_deref(), Some("anna"));
    assert_eq!(subject("email", None).name, None, "the provider does not vouch for the address");
    assert_eq!(subject("preferred_username", None).address, None, "nor is it an address otherwise");
    assert_eq!(subject("nickname", None).name, None);
    for (verified, counts) in [
        (json!(true), true),
        (json!("true"), true),
        (json!("false"), false),
        (json!(0), false),
        (json!(1), false),
        (json!(null), false),
    ] {
        let said = claims(json!({"email": "anna@example.com", "email_verified": verified}));
        let by_email = OidcRules { name_claim: "email".to_owned(), ..rules() };
        assert_eq!(said.subject(&by_email).name.is_some(), counts, "{verified}");
        assert_eq!(said.subject(&rules()).address.is_some(), counts, "{verified}");
        let trusting = OidcRules { trusts_addresses: true, ..by_email };
        assert_eq!(said.subject(&trusting).name.as_deref(), Some("anna@example.com"));
    }
    let groups = |claim| subject("email", Some(claim)).groups.map(|groups| groups.into_iter().collect::<Vec<_>>());
    assert_eq!(groups("realm_access.roles"), Some(vec!["core".to_owned(), "web".to_owned()]));
    assert_eq!(groups("https://a.example/groups"), Some(vec!["one".to_owned()]));
    assert_eq!((groups("missing"), groups("exp")), (None, None));
}
