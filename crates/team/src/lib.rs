//! The people who share a daemon: their roles, groups and keys, the conversations they share, and the audit log.
//!
//! Every change is an [`Event`] in an append-only log, which is also the audit log; [`State`] is its fold. Its
//! decisions are pure. [`Registry`] keeps the log in its own store, like any conversation: an append names the version
//! that it builds on, and the other daemons on the database know it before it counts.
//!
//! Conversations are not here. A person's number is the [`ctx_store::Owner`] of their store, and the code that serves
//! them gets only that store.

mod error;
mod event;
mod key;
mod login;
mod model;
mod name;
pub mod oidc;
mod registry;
mod scope;
mod state;

pub use error::TeamError;
pub use event::{Entry, Event};
pub use key::{KEY_HEADER, KEY_PREFIX, KeyText};
pub use login::{LOGIN_LIFETIME, LoginCode, LoginProgress, LoginSecret, PendingLogin};
pub use model::{Access, Actor, Deed, Glass, Grantee, Key, Notice, Person, Role, Share};
pub use registry::{Identity, Recognition, Registry, StoredChange, read_log};
pub use scope::{Scope, Scopes};
pub use state::{AGENT, GLASS_LIFETIME, NewKey, State};
