//! The values of a team. No behaviour beyond reading and writing them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use ctx_store::Hash;
use serde::{Deserialize, Serialize};

use crate::scope::Scopes;

/// A person's rights beyond their own and shared conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Member,
    /// Sees people, keys, figures and the audit log of everyone.
    Auditor,
    /// Also manages people and keys.
    Admin,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Member, Role::Auditor, Role::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Auditor => "auditor",
            Self::Admin => "admin",
        }
    }

    /// Whether the role sees the list of people, figures and the audit log, and may open a conversation for a reason.
    pub fn audits(self) -> bool {
        self >= Self::Auditor
    }

    pub fn manages(self) -> bool {
        self == Self::Admin
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| format!("`{text}` is no role; use member, auditor or admin"))
    }
}

/// A person who uses the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Never reused. The number of their store.
    pub id: u32,
    pub name: String,
    pub role: Role,
    pub groups: BTreeSet<String>,
}

/// The maker of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub id: u32,
    pub role: Role,
    /// Of the key that they use.
    pub scopes: Scopes,
    /// The end of that key. No key made with it lasts longer.
    pub expires_at: Option<u64>,
    /// Recognised by their account at the identity provider, or by a key that was made so.
    pub by_account: bool,
}

impl Actor {
    /// The holder of the daemon's token, who set it up.
    pub const OPERATOR: Actor =
        Actor { id: 0, role: Role::Admin, scopes: Scopes::ALL, expires_at: None, by_account: false };
    /// The operator's name in lists and as an author.
    pub const OPERATOR_NAME: &str = "operator";
}

/// A key without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The beginning of its hash.
    pub id: String,
    pub person: u32,
    pub hash: Hash,
    /// The beginning of its text, by which its owner recognises it.
    pub shown: String,
    pub label: String,
    pub made_at: u64,
    pub expires_at: Option<u64>,
    pub scopes: Scopes,
    pub revoked_at: Option<u64>,
    /// The person who made it.
    pub made_by: u32,
    /// It ends when the account with which it was made is unlinked.
    pub by_account: bool,
}

/// Access to another person's conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Look,
    Edit,
}

impl Access {
    pub fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Edit => "edit",
        }
    }
}

/// The recipient of a share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grantee {
    Person(u32),
    Group(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    pub owner: u32,
    pub conversation: String,
    pub with: Grantee,
    pub access: Access,
    pub at: u64,
}

/// A look at a conversation that its owner did not share, for a stated reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glass {
    pub owner: u32,
    pub conversation: String,
    pub by: u32,
    pub reason: String,
    pub at: u64,
    pub until: u64,
}

/// A message to a person about what another one did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub at: u64,
    /// The name of the other one.
    pub by: String,
    pub role: Role,
    pub deed: Deed,
}

/// What another person did without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// They opened a conversation.
    Opened { conversation: String, reason: String },
    /// They made a key with this id, with which they can read what its person can.
    MadeKey { key: String },
    /// They let this account at the identity provider sign in as the person.
    AllowedAccount { account: String },
}
