//! The service behind every interface of the program: it observes the traffic and answers queries.
//!
//! [`Service`] lists all calls; [`parts`] holds the state that the modules share. [`recorder`] takes copies of the
//! traffic; [`observe`] and [`response`] turn them into records; [`writer`] stores them; [`view`] shows them. The
//! network, the terminal and the page are elsewhere. The proxy never waits for anything in this crate.
//!
//! # Locks
//!
//! Conversations are independent: none waits for another. Each has its own lock, held while a request is recorded and
//! while a view is made; a step goes to the writer under that lock, so the log has a conversation's records in order of
//! dependency. The lock order is:
//!
//! 1. `editing` of one conversation: serialises commits. Held during disk writes.
//! 2. The conversation. **No thread that holds one conversation waits for another one, for the writer or for a reader
//!    of the store.** Content of another conversation is copied before (`origin`, `gathered imports`). Separate threads
//!    read settings and folders, awaited briefly (`lookup`); files are queued for the writer.
//! 3. The directory, the held sessions, and the other small maps: each for a few lines, none inside another except
//!    `ledger` before the directory. Unloaded conversations are freed after the directory is unlocked.

mod access;
mod activity;
mod answer_ids;
mod archive;
mod attribution;
pub mod automatic;
mod bodies;
mod clock;
mod directory;
pub mod edit;
pub mod helper;
mod idle;
mod intercept;
mod keyed_lock;
pub mod lookup;
mod memory;
mod meter;
pub mod observe;
mod overview;
mod parts;
mod phases;
pub mod provider;
mod purge;
pub mod recorder;
pub mod replay_source;
mod replicas;
pub mod response;
mod retention;
mod service;
mod side_traffic;
pub mod streams;
mod threads;
mod uploads;
pub mod view;
mod writer;

pub use clock::now;
pub use ctx_core::edit::refusal::nearest;
pub use ctx_store::Cursor;
pub use meter::Meter;
pub use recorder::Recorder;
pub use retention::{Retention, RetentionBatch};
pub use service::Service;

#[cfg(test)]
mod tests;
