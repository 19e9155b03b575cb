//! What is sent: the active effects laid over a conversation, and the request composed from that.
//!
//! [`ground`] lays effects over a path, [`sent`] composes a request, [`repaired`] tells what the provider's rules
//! change in it, [`compare`] what differs between two views, and [`forecast`] what the provider reads from its cache.

pub mod compare;
pub mod forecast;
pub mod ground;
mod outgoing;
pub mod repaired;
pub mod sent;

pub use ground::{Ground, Weights};
pub use outgoing::{Otherwise, Outgoing};
pub use repaired::RepairReport;
pub use sent::{AtHand, Ready, Stops, WrittenRequest, digest, rebuilt};
