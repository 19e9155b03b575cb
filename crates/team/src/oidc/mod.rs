//! Sign-in with OpenID Connect, without I/O: what is asked of an identity provider, and what is believed of its answers.
//! The daemon fetches and redirects; every decision is here.
//!
//! Everything that a provider or a browser sends is untrusted until [`UncheckedToken::verify`] and [`Claims::check`] have
//! accepted it.

mod admission;
mod allowance;
mod claims;
mod discovery;
mod flow;
mod jwks;
mod jwt;

use std::collections::BTreeSet;

pub use admission::Step;
pub(crate) use allowance::AllowedAccount;
pub use claims::{Claims, Expectations, Subject};
pub use discovery::{Discovery, Endpoint, Issuer, IssuerError};
pub use flow::{Client, Flow, LIFETIME as FLOW_LIFETIME, ReturnedCode, TokenRequest, id_token};
pub use jwks::KeySet;
pub use jwt::{TokenFlaw, UncheckedToken, is_signed_token};

/// Decides from the provider's claims who may use the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcRules {
    pub issuer: Issuer,
    pub client_id: String,
    /// The claim with the name of a person.
    pub name_claim: String,
    /// Whether an address is a name even if the provider does not mark it as verified.
    pub trusts_addresses: bool,
    /// The claim with their groups. None: groups are managed here.
    pub groups_claim: Option<String>,
    /// Only these groups; everyone if empty.
    pub allowed_groups: BTreeSet<String>,
    /// With one of these two, roles come from the provider.
    pub admin_groups: BTreeSet<String>,
    pub auditor_groups: BTreeSet<String>,
    /// Whether people who are not known here are added.
    pub adds_people: bool,
    /// The audience of tokens that programs may send in place of a key; none accepts no token.
    pub jwt_audience: Option<String>,
}

impl OidcRules {
    /// With everything that is optional unset.
    pub fn new(issuer: Issuer, client_id: impl Into<String>) -> OidcRules {
        OidcRules {
            issuer,
            client_id: client_id.into(),
            name_claim: "preferred_username".to_owned(),
            trusts_addresses: false,
            groups_claim: None,
            allowed_groups: BTreeSet::new(),
            admin_groups: BTreeSet::new(),
            auditor_groups: BTreeSet::new(),
            adds_people: false,
            jwt_audience: None,
        }
    }

    pub(crate) fn decides_roles(&self) -> bool {
        !self.admin_groups.is_empty() || !self.auditor_groups.is_empty()
    }
}

#[cfg(test)]
mod tests;
