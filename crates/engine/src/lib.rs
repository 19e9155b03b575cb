//! One conversation, from the arriving request to the bytes that leave.
//!
//! [`Engine`] receives a conversation and all other inputs: the time, content that is not in memory, the editor. It
//! returns the bytes to send and the records to store. It starts no thread, reads no clock and knows no other
//! conversation.

pub mod attribution;
pub mod automatic;
pub mod card;
pub mod class;
pub mod compose;
pub mod conversation;
pub mod credentials;
pub mod edit;
mod engine;
pub mod envelope;
pub mod helper;
pub mod log;
pub mod phases;
pub mod point;
pub mod ports;
pub mod provider;
mod refusal;
pub mod request;
pub mod response;
mod standalone;
mod tool_text;
pub mod view;

pub use conversation::Conversation;
pub use credentials::Credentials;
pub use engine::{Engine, Moments};
pub use refusal::{Problem, Refusal};
pub use standalone::Standalone;

use ctx_store::{Hash, NewRecord, Note};
use serde::Serialize;

/// Marks a conversation whose requests are held, because of operations or deferred edits.
pub const EDITED: &str = "edited";

/// The bodies of marks. If a mark is missing, the log decides.
pub const YES: &[u8] = b"1";
pub const NO: &[u8] = b"0";

/// A yes-or-no note about a conversation.
pub fn mark(conversation: &str, name: &str, is_so: bool) -> Note {
    let body = if is_so { YES } else { NO };
    Note { conversation: conversation.to_owned(), name: name.to_owned(), body: Some(body.to_vec()) }
}

pub fn record(conversation: &str, at: u64, kind: &str, body: &impl Serialize, uses: Vec<Hash>) -> NewRecord {
    NewRecord {
        conversation: conversation.to_owned(),
        at,
        kind: kind.to_owned(),
        version: log::VERSION,
        uses,
        body: serde_json::to_vec(body).unwrap_or_default(),
    }
}
