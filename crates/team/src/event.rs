//! The changes of a team as they are stored. Old ones stay readable: fields are only added, with defaults.

use std::collections::BTreeSet;

use ctx_store::Record;
use serde::{Deserialize, Serialize};

use crate::model::{Access, Grantee, Role};
use crate::scope::Scopes;

/// The kind of the records.
pub(crate) const KIND: &str = "team";
/// The version that this program writes.
pub(crate) const VERSION: u16 = 1;

/// One change. It contains no key, and no content of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    PersonAdded {
        person: u32,
        name: String,
        role: Role,
        #[serde(default)]
        groups: BTreeSet<String>,
    },
    PersonChanged {
        person: u32,
        role: Role,
        #[serde(default)]
        groups: BTreeSet<String>,
    },
    /// Their keys and shares end with it. Their conversations stay.
    PersonRemoved {
        person: u32,
    },
    KeyMade {
        key: String,
        person: u32,
        /// In hexadecimal.
        hash: String,
        shown: String,
        #[serde(default)]
        label: String,
        #[serde(default)]
        expires_at: Option<u64>,
        /// The login that it was made for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        login: Option<String>,
        #[serde(default, skip_serializing_if = "Scopes::is_all")]
        scopes: Scopes,
        /// Made by someone whom the identity provider had named.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_account: bool,
    },
    KeyRevoked {
        key: String,
    },
    Shared {
        owner: u32,
        conversation: String,
        with: Grantee,
        access: Access,
    },
    Unshared {
        owner: u32,
        conversation: String,
        with: Grantee,
    },
    /// These conversations were removed, and with them every access of others.
    AccessEnded {
        owner: u32,
        conversations: BTreeSet<String>,
    },
    /// A conversation was opened without its owner.
    GlassBroken {
        owner: u32,
        conversation: String,
        reason: String,
        until: u64,
    },
    /// A person signed in with this account of an identity provider for the first time.
    PersonLinked {
        person: u32,
        issuer: String,
        subject: String,
    },
    /// Their accounts at identity providers are no longer theirs. The keys that were made through them, and their
    /// sessions, end with it.
    PersonUnlinked {
        person: u32,
    },
    /// The next account with this id or address, or with this name, is theirs.
    AccountAllowed {
        person: u32,
        /// As the admin wrote it.
        account: String,
    },
    /// A person signed in on the page.
    SignedIn {
        person: u32,
        /// Such as `key 3f9a81c2`.
        with: String,
    },
    /// A session of the page ended before its time.
    SignedOut {
        person: u32,
        session: String,
    },
    /// A person let a machine sign in as themselves.
    LoginApproved {
        person: u32,
        /// The hash of its code.
        login: String,
        /// The hash of its secret.
        device: String,
        machine: String,
        /// Those of the session that approved it, which its key gets.
        #[serde(default, skip_serializing_if = "Scopes::is_all")]
        scopes: Scopes,
        /// The end of the key with which that session began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<u64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_account: bool,
    },
    /// A person refused a machine.
    LoginRefused {
        person: u32,
        login: String,
        device: String,
        machine: String,
    },
    /// Conversations were exported or deleted.
    Taken {
        owner: u32,
        action: String,
        conversations: u64,
    },
}

/// An event with its time and its maker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number in the log.
    #[serde(default)]
    pub seq: u64,
    #[serde(default)]
    pub at: u64,
    /// The person; 0 is the operator.
    pub by: u32,
    #[serde(flatten)]
    pub event: Event,
}

impl Entry {
    /// `None` if it cannot be read: it is of a newer version.
    pub(crate) fn of(record: &Record) -> Option<Entry> {
        let entry: Entry = serde_json::from_slice(&record.body).ok()?;
        Some(Entry { seq: record.seq, at: record.at, ..entry })
    }
}
