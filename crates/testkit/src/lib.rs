//! Shared tools for the tests and benches of all other crates: a scripted provider, a recording forwarder, a raw client
//! and a builder of realistic conversations.
//!
//! The kit neither ships with `ctx` nor depends on it: it uses `ctx` from outside, through sockets. It parses HTTP/1.1
//! with `httparse` on bare sockets, because it must see header case and order, exact body bytes and cut connections,
//! which server frameworks hide.

mod background;
mod balancer;
#[cfg(target_os = "linux")]
pub mod bench;
mod circumstances;
pub mod client;
pub mod conversation;
pub mod fake_provider;
mod fault_proxy;
pub mod http1;
mod identity_provider;
pub mod judges;
mod listening;
mod observed;
mod pdf;
mod postgres;
pub mod provider;
mod random;
pub mod recorder;
mod reference_judge;
mod searching;

pub use balancer::{Balancer, Placement};
pub use circumstances::{first_seed, is_long, recorded_bodies, recorded_conversations, recorded_files};
pub use client::Client;
pub use conversation::{Family, Random, Session};
pub use fake_provider::{FakeProvider, Options};
pub use fault_proxy::{Fault, FaultProxy};
pub use identity_provider::{IdentityProvider, RegisteredClient};
pub use listening::listening;
pub use observed::NotObserved;
pub use pdf::pdf;
pub use postgres::PostgresServer;
pub use provider::Provider;
pub use recorder::Recorder;
pub use reference_judge::ReferenceJudge;
pub use searching::searching;
