//! Composes requests: lays the active effects over a conversation, and builds the body to send.
//!
//! [`ground`] lays effects over a path, [`sent`] composes a request, [`repaired`] reports the changes by the provider's
//! rules, [`compare`] finds the differences between two views, and [`forecast`] forecasts the provider's cache.

pub mod compare;
pub mod forecast;
pub mod ground;
mod outgoing;
pub mod repaired;
pub mod sent;

pub use ground::{Ground, Weights};
pub use outgoing::{Otherwise, OutgoingRequest};
pub use repaired::RepairReport;
pub use sent::{AtHand, Ready, Stops, WrittenRequest, digest, rebuilt};
