//! People, keys, shares and the audit log of a daemon that serves a team.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reader of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Me {
    pub name: String,
    /// `member`, `auditor` or `admin`.
    pub role: String,
    pub groups: Vec<String>,
    /// Of the key that they use: `proxy`, `look`, `edit` and `admin` if it is not limited.
    #[serde(default)]
    pub scopes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct People {
    pub people: Vec<PersonView>,
    /// Daemons that may not know the newest change yet, and keys that it left valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PersonView {
    pub name: String,
    pub role: String,
    pub groups: Vec<String>,
    /// Valid keys.
    pub keys: usize,
    /// When one of their keys was last used, by the minute.
    pub last_used: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPerson {
    pub name: String,
    /// `member` by default.
    #[serde(default)]
    pub role: Option<String>,
    #[serde(default)]
    pub groups: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonChange {
    #[serde(default)]
    pub role: Option<String>,
    /// All groups of the person from now on.
    #[serde(default)]
    pub groups: Option<Vec<String>>,
    /// Takes their account at the identity provider from them, with the sessions and keys that came through it.
    #[serde(default)]
    pub unlink: bool,
    /// Allows the account with this id or verified address at the identity provider to sign in as them. `name:NAME`
    /// allows the one with this name, which people choose themselves at many providers; `id:ID` is an id with an `@`.
    #[serde(default)]
    pub link: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Keys {
    pub keys: Vec<KeyView>,
    /// Daemons that may not know the newest change yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A key without its text, which was shown once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyView {
    pub id: String,
    pub person: String,
    /// The beginning of its text.
    pub shown: String,
    pub label: String,
    pub made_at: u64,
    pub expires_at: Option<u64>,
    /// `proxy`, `look`, `edit` and `admin` if it is not limited.
    #[serde(default)]
    pub scopes: Vec<String>,
    pub revoked_at: Option<u64>,
    /// The person who made it, if another one did.
    #[serde(default)]
    pub made_by: Option<String>,
    /// By the minute.
    pub last_used: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// Whose key it is; the reader's own by default.
    #[serde(default)]
    pub person: Option<String>,
    /// For people, such as the name of a machine.
    #[serde(default)]
    pub label: String,
    /// It never expires by default.
    #[serde(default)]
    pub days: Option<u32>,
    /// Some of `proxy`, `look`, `edit` and `admin`; those of the reader's own key by default. `edit` includes `look`.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
}

/// A new key. Its text is not stored, and cannot be shown again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MadeKey {
    pub id: String,
    pub person: String,
    pub key: String,
    #[serde(default)]
    pub scopes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A machine asks to sign in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginRequest {
    /// Its name, for the person who decides.
    #[serde(default)]
    pub machine: String,
}

/// The beginning of a login.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginStart {
    /// For the person, such as `BCDF-GHJK`.
    pub code: String,
    /// For the machine alone.
    pub secret: String,
    /// In seconds.
    pub expires_in: u64,
    /// The seconds between two questions about the login.
    pub interval: u64,
}

/// A machine asks about its login.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginPoll {
    pub code: String,
    pub secret: String,
}

/// The key of a login; empty while undecided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoginKey {
    /// The seconds until the next question.
    pub interval: u64,
    pub key: Option<String>,
    pub id: Option<String>,
    pub person: Option<String>,
    pub expires_at: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A machine that asks to sign in, for the person who decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginView {
    pub code: String,
    /// Its own word for itself.
    pub machine: String,
    pub asked_at: u64,
    pub expires_at: u64,
}

/// The decision about a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginDecision {
    pub machine: String,
    pub approved: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The people and groups that a conversation is shared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shares {
    pub conversation: String,
    pub shares: Vec<ShareView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShareView {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// `look` or `edit`.
    pub access: String,
    pub at: u64,
}

/// The shares of the reader's conversations; of everyone's, for auditors and admins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllShares {
    pub shares: Vec<ConversationShare>,
}

/// A share, with the conversation and its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationShare {
    pub owner: String,
    pub conversation: String,
    #[serde(flatten)]
    pub share: ShareView,
}

/// Shares a conversation with a person or a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareRequest {
    #[serde(default)]
    pub person: Option<String>,
    #[serde(default)]
    pub group: Option<String>,
    /// They may edit it too.
    #[serde(default)]
    pub edit: bool,
}

/// Conversations of a person, for auditors: figures, and no words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PersonConversations {
    pub person: String,
    pub conversations: Vec<ConversationFigures>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationFigures {
    pub id: String,
    pub class: String,
    pub model: Option<String>,
    pub requests: u32,
    pub tokens: u64,
    pub last_activity: u64,
}

/// The reason for opening another person's conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    pub reason: String,
}

/// A conversation that is open for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenConversation {
    /// Its name for the reader.
    pub conversation: String,
    pub until: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What others did without asking the reader, newest first: looks at their conversations, and keys in their name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notices {
    pub notices: Vec<NoticeView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoticeView {
    pub at: u64,
    /// The conversation that was opened; empty if they did something else.
    pub conversation: String,
    pub by: String,
    pub role: String,
    /// The reason for opening it.
    pub reason: String,
    /// The key that was made.
    #[serde(default)]
    pub key: Option<String>,
    /// The account at the identity provider that may sign in as the person.
    #[serde(default)]
    pub account: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditQuery {
    /// At most this many entries.
    pub limit: Option<usize>,
}

/// Changes of people, keys and shares, and looks at the conversations of others, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    pub entries: Vec<AuditEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    pub at: u64,
    pub by: String,
    /// Such as `person-added` or `key-revoked`.
    pub event: String,
    /// In words.
    pub what: String,
}
