//! The model of a conversation, pure: no I/O, no async, no clock, no randomness.
//!
//! A request is a [`message::Message`] sequence. [`tree::Tree`] maps known messages to slots, [`reconcile`] recognises
//! them when the client resends them, and [`frames`] cuts a path into frames. This crate knows no wire format.

pub mod class;
pub mod clean;
pub mod content;
pub mod day;
pub mod edit;
pub mod error_code;
pub mod fast_map;
pub mod format;
pub mod frames;
pub mod hint;
pub mod key;
pub mod lexicon;
pub mod links;
pub mod message;
pub mod numbers;
pub mod pattern;
pub mod policy;
pub mod reconcile;
pub mod replies;
pub mod title;
pub mod tokens;
pub mod tool;
pub mod tree;

pub use class::Class;
pub use content::{Content, WireId};
pub use error_code::{ErrorCode, ReceivedCode};
pub use hint::Hint;
pub use key::Key;
pub use lexicon::Lexicon;
pub use message::{Block, Kind, Message, Role};
pub use numbers::Numbers;
pub use reconcile::{Place, RequestPath, Verdict};
pub use replies::Replies;
pub use tool::ToolRole;
pub use tree::{NodeIx, SlotId, Tree};
