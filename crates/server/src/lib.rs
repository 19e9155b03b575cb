//! The daemon: forwards every request to the provider, lets an [`Observer`] look on, and keeps the doors of its
//! own rooms (control API and page). What no operation touches passes untouched and unparsed while it arrives;
//! what one may touch is held until the composer has said how it leaves. It reads no environment and no
//! configuration file.
//!
//! ```text
//! listen ─► connection ─► house ─► proxy  ─► upstream      everything that is the provider's
//!                              └─► rooms  ─► control, page  /control and /ui, behind their doors
//! ```

mod api;
mod codes;
mod config;
mod connection;
pub mod daemon;
mod doors;
pub mod explain;
mod files;
pub mod helper;
mod hints;
mod house;
mod listen;
pub mod mcp;
mod observer;
mod port_holder;
mod proxy;
mod reply;
mod rooms;
mod secret;
mod signals;
pub mod watch;

pub use config::{Limits, ProxySettings, Rules, ServerConfig, Upstream, UpstreamUrl, UpstreamUrlError};
pub use doors::{Token, TokenError};
pub use hints::{CLIENT, SHELL};
pub use listen::{BindError, Bound, Server};
pub use proxy::{SetupError, TrustError};
pub use rooms::{ControlError, page_is_embedded};
pub use secret::{Secret, is_secret_name};
pub use watch::Observer;
