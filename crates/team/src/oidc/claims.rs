//! The claims of a token, and the checks of issuer, audience and time.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::OidcRules;
use super::jwt::TokenFlaw;

/// Clocks differ, in seconds.
const LEEWAY: f64 = 60.0;
/// More groups of one person are not read.
const MOST_GROUPS: usize = 1000;
const LONGEST_SUBJECT: usize = 255;

/// The content of a token.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claims(pub(super) Map<String, Value>);

/// The claims that a token must have.
#[derive(Debug, Clone, Copy)]
pub struct Expectations<'e> {
    pub issuer: &'e str,
    pub audience: &'e str,
    /// Of a token from a sign-in: it must belong to this one, and be made for us alone.
    pub nonce: Option<&'e str>,
}

impl Claims {
    /// Checks everything but the signature. `now` is in seconds since 1970.
    pub fn check(&self, expected: &Expectations<'_>, now: u64) -> Result<(), TokenFlaw> {
        let now = now as f64;
        if self.text("iss") != Some(expected.issuer) {
            return Err(TokenFlaw::Issuer);
        }
        let audience = self.texts("aud").unwrap_or_default();
        if !audience.contains(&expected.audience) {
            return Err(TokenFlaw::Audience);
        }
        if let Some(nonce) = expected.nonce {
            let party = self.0.get("azp").map(|party| party.as_str() == Some(expected.audience));
            if party == Some(false) || (party.is_none() && audience.len() > 1) {
                return Err(TokenFlaw::AuthorizedParty);
            }
            if self.text("nonce") != Some(nonce) {
                return Err(TokenFlaw::Nonce);
            }
        }
        match self.time("exp")? {
            Some(end) if now < end + LEEWAY => {}
            _ => return Err(TokenFlaw::Expired),
        }
        for start in ["nbf", "iat"] {
            if self.time(start)?.is_some_and(|start| now + LEEWAY < start) {
                return Err(TokenFlaw::NotYet);
            }
        }
        match self.text("sub") {
            Some(subject) if !subject.is_empty() && subject.len() <= LONGEST_SUBJECT => Ok(()),
            _ => Err(TokenFlaw::Subject),
        }
    }

    /// The person that it names.
    pub fn subject(&self, rules: &OidcRules) -> Subject {
        // A provider that does not vouch for an address must not make it a name. Some write the claim as a text.
        let verified = self.0.get("email_verified");
        let is_verified = verified == Some(&Value::Bool(true)) || verified.and_then(Value::as_str) == Some("true");
        let address = self.text("email").filter(|_| is_verified || rules.trusts_addresses);
        let name = if rules.name_claim == "email" { address } else { self.text(&rules.name_claim) };
        let groups = rules.groups_claim.as_ref().and_then(|claim| {
            let groups = texts(self.under(claim)?)?;
            Some(groups.into_iter().take(MOST_GROUPS).map(str::to_owned).collect())
        });
        Subject {
            issuer: rules.issuer.as_str().to_owned(),
            id: self.text("sub").unwrap_or_default().to_owned(),
            name: name.map(str::to_owned),
            address: address.map(str::to_owned),
            groups,
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn texts(&self, name: &str) -> Option<Vec<&str>> {
        texts(self.0.get(name)?)
    }

    /// A time in seconds since 1970. One that is no number is not ignored.
    fn time(&self, name: &str) -> Result<Option<f64>, TokenFlaw> {
        match self.0.get(name) {
            None => Ok(None),
            Some(value) => value.as_f64().map(Some).ok_or(TokenFlaw::Malformed),
        }
    }

    /// A claim by its name, or by a path such as `realm_access.roles`.
    fn under(&self, name: &str) -> Option<&Value> {
        self.0.get(name).or_else(|| {
            let mut names = name.split('.');
            let first = self.0.get(names.next()?)?;
            names.try_fold(first, |value, name| value.get(name))
        })
    }
}

/// One text, or a list of texts.
fn texts(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(one) => Some(vec![one]),
        Value::Array(all) => all.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// A person as the provider names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub(super) issuer: String,
    /// The provider's own, unchanging id.
    pub(super) id: String,
    pub(super) name: Option<String>,
    /// None if the provider does not vouch for it.
    pub(super) address: Option<String>,
    /// None if the token says nothing about groups.
    pub(super) groups: Option<BTreeSet<String>>,
}
