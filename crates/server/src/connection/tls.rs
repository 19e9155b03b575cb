//! TLS on the daemon's own port. The certificate is read again when its files change, so that a renewed one needs no
//! restart.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The interval between two looks at the files.
const EVERY: Duration = Duration::from_secs(1);

/// The files of a certificate, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those of the authorities between it and the root.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {path}: {reason}")]
    File { path: PathBuf, reason: String },
    #[error("the certificate in {path} cannot be used: {source}")]
    Unusable { path: PathBuf, source: rustls::Error },
}

/// Accepts TLS with the certificate in these files.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let unusable = |source| TlsError::Unusable { path: files.certificate.clone(), source };
    let certificate = LiveCertificate::open(files, provider.clone())?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(certificate));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

struct LiveCertificate {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    state: Mutex<LoadedCertificate>,
}

struct LoadedCertificate {
    certificate: Arc<CertifiedKey>,
    stamp: Stamp,
    looked: Instant,
}

/// Sizes and times of both files.
type Stamp = [Option<(u64, SystemTime)>; 2];

impl LiveCertificate {
    fn open(files: &TlsFiles, provider: Arc<CryptoProvider>) -> Result<Self, TlsError> {
        let stamp = stamp(files);
        let certificate = Arc::new(read(files, &provider)?);
        let state = Mutex::new(LoadedCertificate { certificate, stamp, looked: Instant::now() });
        Ok(Self { files: files.clone(), provider, state })
    }

    fn current(&self) -> Arc<CertifiedKey> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() > EVERY {
            state.looked = Instant::now();
            let now = stamp(&self.files);
            if now != state.stamp {
                match read(&self.files, &self.provider) {
                    Ok(certificate) => {
                        tracing::info!("read the new certificate");
                        (state.certificate, state.stamp) = (Arc::new(certificate), now);
                    }
                    // The two files may be written one after the other.
                    Err(error) => tracing::warn!(%error, "the previous certificate stays in use"),
                }
            }
        }
        state.certificate.clone()
    }
}

impl fmt::Debug for LiveCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("LiveCertificate").field(&self.files).finish()
    }
}

impl ResolvesServerCert for LiveCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

fn stamp(files: &TlsFiles) -> Stamp {
    let of = |path: &Path| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.len(), found.modified().ok()?))
    };
    [of(&files.certificate), of(&files.key)]
}

fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let unreadable = |path: &Path, reason: String| TlsError::File { path: path.to_owned(), reason };
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(|found| found.collect::<Result<Vec<_>, _>>())
        .map_err(|error| unreadable(&files.certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(unreadable(&files.certificate, "it contains no certificate".to_owned()));
    }
    // The parser's message may repeat a part of the key.
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|_| unreadable(&files.key, "it contains no private key in PEM".to_owned()))?;
    let key = provider.key_provider.load_private_key(key);
    let unusable = |source| TlsError::Unusable { path: files.certificate.clone(), source };
    let certified = CertifiedKey::new(chain, key.map_err(unusable)?);
    match certified.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => Ok(certified),
        Err(source) => Err(unusable(source)),
    }
}

/// The connection of a client.
pub(crate) enum ClientSocket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

macro_rules! delegate {
    ($socket:expr, $call:ident($($argument:expr),*)) => {
        match $socket.get_mut() {
            ClientSocket::Plain(socket) => Pin::new(socket).$call($($argument),*),
            ClientSocket::Tls(socket) => Pin::new(socket).$call($($argument),*),
        }
    };
}

impl AsyncRead for ClientSocket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        delegate!(self, poll_read(context, buffer))
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        delegate!(self, poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        delegate!(self, poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(socket) => socket.is_write_vectored(),
            Self::Tls(socket) => socket.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(self, poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        delegate!(self, poll_shutdown(context))
    }
}
