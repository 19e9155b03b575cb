//! The daemon: forwards every request to the provider, gives an [`Observer`] a copy, and serves its own paths (control
//! API and page) behind access checks. Requests that no edit affects pass unparsed as they arrive; the others are held
//! until the service has composed them. This crate reads neither the environment nor a configuration file.
//!
//! ```text
//! listen ─► connection ─► router ─► proxy  ─► upstream      everything that is the provider's
//!                              └─► local  ─► control, page  /control and /ui, behind access checks
//! ```

mod api;
mod auth;
mod config;
mod connection;
pub mod daemon;
pub mod explain;
mod files;
pub mod helper;
mod listen;
mod local;
pub mod mcp;
mod metrics;
mod observer;
mod oidc;
mod port_holder;
mod proxy;
mod reply;
mod retention;
mod router;
mod secret;
mod signals;
mod team;
pub mod watch;

pub use auth::{PublicUrl, PublicUrlError, Token, TokenError};
pub use config::{Limits, ProxySettings, Rules, ServerConfig, Upstream, UpstreamUrl, UpstreamUrlError};
pub use connection::tls::{TlsError, TlsFiles};
pub use listen::{BindError, BoundPort, Server, check_port};
pub use local::{ControlError, page_is_embedded};
pub use oidc::OidcSettings;
pub use port_holder::PortHolder;
pub use proxy::{DialError, Dialer, SetupError, TrustError};
pub use retention::RetentionSettings;
pub use secret::{Secret, is_secret_name};
pub use team::{GatewayKey, OpenService, TeamSettings, UpstreamCredentials};
pub use watch::Observer;
