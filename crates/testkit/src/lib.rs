//! What tests and benches of every other crate stand on: a scripted provider, a recording
//! forwarder, a raw client and a builder of realistic conversations.
//!
//! Nothing here ships with `ctx`, and nothing here knows `ctx`: the kit looks at it from outside,
//! through sockets. HTTP/1.1 is read with `httparse` on bare sockets instead of a server
//! framework, because the kit has to see header case and order, exact body bytes and cut
//! connections, which frameworks hide.

mod background;
#[cfg(target_os = "linux")]
pub mod bench;
mod circumstances;
pub mod client;
pub mod conversation;
pub mod fake_provider;
pub mod http1;
mod observed;
mod pdf;
pub mod provider;
mod random;
pub mod recorder;
mod searching;

pub use circumstances::{first_seed, is_long, recorded_bodies, recorded_conversations, recorded_files};
pub use client::Client;
pub use conversation::{Family, Random, Session};
pub use fake_provider::{FakeProvider, Options};
pub use observed::NotObserved;
pub use pdf::pdf;
pub use provider::Provider;
pub use recorder::Recorder;
pub use searching::searching;
