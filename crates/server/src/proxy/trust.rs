//! Trusted certificate authorities: the system's, bundled ones if the system has none, and the user's files. (Finding
//! the system's authorities honours `SSL_CERT_FILE` and `SSL_CERT_DIR`, like every program that uses them; this is the
//! only place that reads the environment.)

use std::path::PathBuf;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("cannot read the certificate file {path}: {reason}")]
    File { path: PathBuf, reason: String },
    #[error("the certificate file {path} contains no certificate")]
    Empty { path: PathBuf },
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}

impl TrustError {
    /// Advice; empty if there is none.
    pub fn hint(&self) -> &'static str {
        match self {
            TrustError::File { .. } => "check the path; the file must be PEM",
            TrustError::Empty { .. } => "use a PEM file with certificate authorities",
            TrustError::Setup(_) => "",
        }
    }
}

/// The TLS settings for the upstream, and for proxies that use TLS themselves.
pub(super) struct Trust {
    pub(super) upstream: Arc<ClientConfig>,
    pub(super) upstream_http1: Arc<ClientConfig>,
    pub(super) proxy: Arc<ClientConfig>,
}

impl Trust {
    pub(super) fn load(extra: &[PathBuf], http2: bool) -> Result<Self, TrustError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let proxy = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(authorities(extra)?)
            .with_no_client_auth();
        let mut upstream_http1 = proxy.clone();
        upstream_http1.alpn_protocols = vec![b"http/1.1".to_vec()];
        let mut upstream = upstream_http1.clone();
        if http2 {
            upstream.alpn_protocols.insert(0, b"h2".to_vec());
        }
        let (upstream, upstream_http1) = (Arc::new(upstream), Arc::new(upstream_http1));
        Ok(Self { upstream, upstream_http1, proxy: Arc::new(proxy) })
    }
}

fn authorities(extra: &[PathBuf]) -> Result<RootCertStore, TrustError> {
    let mut authorities = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::debug!(%error, "a system certificate could not be read");
    }
    authorities.add_parsable_certificates(system.certs);
    if authorities.is_empty() {
        authorities.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for path in extra {
        let unreadable = |reason: String| TrustError::File { path: path.clone(), reason };
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect)
            .map_err(|error| unreadable(error.to_string()))?;
        if certificates.is_empty() {
            return Err(TrustError::Empty { path: path.clone() });
        }
        for certificate in certificates {
            authorities.add(certificate).map_err(|error| unreadable(error.to_string()))?;
        }
    }
    Ok(authorities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_empty_certificate_file_is_named_in_the_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = folder.path().join("missing.pem");
        let error = authorities(&[missing]).expect_err("refused").to_string();
        assert!(error.contains("missing.pem"), "{error}");

        let empty = folder.path().join("empty.pem");
        std::fs::write(&empty, "no certificate").expect("written");
        let error = authorities(&[empty]).expect_err("refused").to_string();
        assert!(error.contains("empty.pem") && error.contains("contains no certificate"), "{error}");
    }
}
