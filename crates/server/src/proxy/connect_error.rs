//! The reasons for a failed connection to the upstream, with advice. Without credentials: a proxy is named by host and
//! port only.

use std::error::Error as StdError;
use std::io;

use http::Uri;

use super::trust::TrustError;

/// Invalid settings, found before the port is opened.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error("the proxy setting (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY) is invalid")]
    Proxy,
    #[error("\"{0}\" is not a valid host name")]
    Host(String),
}

impl SetupError {
    /// Advice.
    pub fn hint(&self) -> &'static str {
        match self {
            SetupError::Trust(error) => error.hint(),
            SetupError::Proxy => "use http://host:port, https://host:port or socks5://host:port, or unset it",
            SetupError::Host(_) => "check the upstream address",
        }
    }
}

/// The message gives the reason; [`ConnectError::advice`] the advice.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("its name cannot be resolved")]
    Lookup,
    #[error("the connection was refused")]
    Refused,
    #[error("no connection within {seconds} s")]
    TimedOut { seconds: f32 },
    #[error("its certificate is not trusted ({reason})")]
    Untrusted { reason: String },
    #[error("the TLS handshake failed ({reason})")]
    Tls { reason: String },
    #[error("the proxy {proxy} requires credentials")]
    ProxyCredentials { proxy: String },
    #[error("the proxy {proxy} did not connect ({reason})")]
    Proxy { proxy: String, reason: String },
    #[error("{reason}")]
    Other { reason: String },
}

impl ConnectError {
    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::Lookup => "Check the network connection and the upstream address.",
            Self::Refused => "Check that the upstream is running and its address is correct.",
            Self::TimedOut { .. } => "Check the network connection; you may need a proxy (HTTPS_PROXY).",
            Self::Untrusted { .. } => {
                "If a company proxy or a private authority issued it, set the authority's PEM file: `ca_files` under \
                 [upstream] in ctx.toml, or NODE_EXTRA_CA_CERTS."
            }
            Self::Tls { .. } => "Check whether the upstream address is really https.",
            Self::ProxyCredentials { .. } => "Add them to the proxy setting: http://user:password@host:port.",
            Self::Proxy { .. } => "Check the proxy setting, or add the upstream's host to NO_PROXY.",
            Self::Other { .. } => "Check the network connection and the upstream address.",
        }
    }

    /// A retry cannot succeed without a change.
    pub(super) fn is_permanent(&self) -> bool {
        matches!(self, Self::Untrusted { .. } | Self::ProxyCredentials { .. })
    }

    pub(super) fn from_dial(error: Box<dyn StdError + Send + Sync>) -> Self {
        Self::from_chain(error.as_ref())
    }

    pub(super) fn from_tls(error: io::Error) -> Self {
        use rustls::{CertificateError, Error};
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        match tls {
            Some(Error::InvalidCertificate(reason)) => Self::Untrusted {
                reason: match reason {
                    CertificateError::UnknownIssuer => "its issuer is unknown".to_owned(),
                    other => other.to_string(),
                },
            },
            Some(other) => Self::Tls { reason: other.to_string() },
            None => Self::Tls { reason: error.to_string() },
        }
    }

    pub(super) fn from_proxy(proxy: &Uri, error: &(dyn StdError + 'static)) -> Self {
        // The tunnel's error type is private, so only its text is available.
        if error.to_string().contains("proxy authorization required") {
            return Self::ProxyCredentials { proxy: address(proxy) };
        }
        let reason = match Self::from_chain(error) {
            Self::Other { reason } => reason,
            known => known.to_string(),
        };
        Self::refused_by_proxy(proxy, reason)
    }

    pub(super) fn refused_by_proxy(proxy: &Uri, reason: String) -> Self {
        Self::Proxy { proxy: address(proxy), reason }
    }

    fn from_chain(error: &(dyn StdError + 'static)) -> Self {
        let mut link: Option<&(dyn StdError + 'static)> = Some(error);
        let mut deepest = error.to_string();
        while let Some(current) = link {
            if current.to_string().starts_with("dns error") {
                return Self::Lookup;
            }
            if let Some(cause) = current.downcast_ref::<io::Error>() {
                match cause.kind() {
                    io::ErrorKind::ConnectionRefused => return Self::Refused,
                    io::ErrorKind::InvalidData => return Self::Tls { reason: cause.to_string() },
                    _ => {}
                }
            }
            deepest = current.to_string();
            link = current.source();
        }
        Self::Other { reason: deepest }
    }
}

fn address(proxy: &Uri) -> String {
    proxy.authority().map(ToString::to_string).unwrap_or_default()
}
