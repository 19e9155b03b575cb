//! Connections of other parts of the program, with the names, proxies, TLS and trust of those to an upstream.

use std::time::Duration;

use super::connect::Connector;
use super::connect_error::{ConnectError, SetupError};
use super::wire::Wire;
use crate::config::Upstream;

/// Opens connections to one host.
pub struct Dialer(Connector);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct DialError {
    pub reason: String,
    /// A server answers, but its certificate does not prove that it is the host.
    pub is_untrusted: bool,
}

impl Dialer {
    /// `timeout` is for name, proxy and TLS together.
    pub fn new(upstream: &Upstream, timeout: Duration) -> Result<Dialer, SetupError> {
        Connector::new(upstream, timeout).map(Dialer)
    }

    /// Opens a connection for HTTP/1.1.
    pub async fn dial(&self) -> Result<Wire, DialError> {
        self.0.connect_http1().await.map_err(|error| DialError {
            is_untrusted: matches!(error, ConnectError::Untrusted { .. }),
            reason: error.to_string(),
        })
    }
}
