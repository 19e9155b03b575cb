//! The connection to the upstream: name, socket, optional proxy, TLS. Returns a [`Wire`], or an error with advice,
//! regardless of the request.

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::header::HeaderValue;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::connect_error::{ConnectError, SetupError};
use super::trust::Trust;
use super::wire::Wire;
use crate::config::{ProxySettings, Upstream, UpstreamUrl};
use crate::secret::Secret;

pub(super) struct Connector {
    destination: Uri,
    /// Absent for plain HTTP.
    tls: Option<Identity>,
    /// The same without HTTP/2.
    tls_http1: Option<Identity>,
    route: Route,
    dial: Dial,
    timeout: Duration,
}

/// The name in the certificate, and how to verify it.
type Identity = (ServerName<'static>, Arc<ClientConfig>);

enum Route {
    Direct,
    /// A proxy that passes bytes after `CONNECT`.
    Tunnel {
        proxy: Uri,
        credentials: Option<HeaderValue>,
    },
    /// A proxy that forwards plain HTTP requests whole.
    Forward {
        proxy: Uri,
        credentials: Option<HeaderValue>,
    },
    Socks {
        proxy: Uri,
        credentials: Option<(Secret, Secret)>,
    },
}

impl Connector {
    pub(super) fn new(upstream: &Upstream, timeout: Duration) -> Result<Self, SetupError> {
        let url = &upstream.url;
        let destination = destination(url)?;
        let proxy = intercept(&upstream.proxies, &destination)?;
        let https_proxy = proxy.as_ref().map(Intercept::uri).filter(|proxy| proxy.scheme_str() == Some("https"));
        let (mut tls, mut tls_http1, mut proxy_tls) = (None, None, None);
        // Reading the authorities takes a few milliseconds, so it happens on demand.
        if url.is_https() || https_proxy.is_some() {
            let trust = Trust::load(&upstream.extra_ca, upstream.http2)?;
            if url.is_https() {
                tls = Some((server_name(url.host())?, trust.upstream));
                tls_http1 = Some((server_name(url.host())?, trust.upstream_http1));
            }
            if let Some(proxy) = https_proxy {
                proxy_tls = Some((server_name(proxy.host().unwrap_or_default())?, trust.proxy));
            }
        }
        let route = match &proxy {
            Some(proxy) => Route::through(proxy, url.is_https())?,
            None => Route::Direct,
        };
        Ok(Self { destination, tls, tls_http1, route, dial: Dial::new(proxy_tls), timeout })
    }

    /// Plain requests through a forwarding proxy name their destination in full, and may need credentials for the
    /// proxy.
    pub(super) fn forwards(&self) -> Option<Option<&HeaderValue>> {
        match &self.route {
            Route::Forward { credentials, .. } => Some(credentials.as_ref()),
            _ => None,
        }
    }

    pub(super) async fn connect(&self) -> Result<Wire, ConnectError> {
        self.connect_as(self.tls.as_ref()).await
    }

    /// Connects for a request that HTTP/2 cannot carry.
    pub(super) async fn connect_http1(&self) -> Result<Wire, ConnectError> {
        self.connect_as(self.tls_http1.as_ref()).await
    }

    async fn connect_as(&self, tls: Option<&Identity>) -> Result<Wire, ConnectError> {
        match tokio::time::timeout(self.timeout, self.reach(tls)).await {
            Ok(reached) => reached,
            Err(_) => Err(ConnectError::TimedOut { seconds: self.timeout.as_secs_f32() }),
        }
    }

    async fn reach(&self, tls: Option<&Identity>) -> Result<Wire, ConnectError> {
        let wire = self.route(self.dial.clone()).await?;
        match tls {
            None => Ok(wire),
            Some(identity) => handshake(wire, identity.clone()).await.map_err(ConnectError::from_tls),
        }
    }

    async fn route(&self, mut dial: Dial) -> Result<Wire, ConnectError> {
        let destination = self.destination.clone();
        let wire = match &self.route {
            Route::Direct => dial.call(destination).await.map_err(ConnectError::from_dial)?,
            Route::Forward { proxy, .. } => {
                dial.call(proxy.clone()).await.map_err(|error| ConnectError::from_proxy(proxy, error.as_ref()))?
            }
            Route::Tunnel { proxy, credentials } => {
                let mut tunnel = Tunnel::new(proxy.clone(), dial);
                if let Some(credentials) = credentials {
                    tunnel = tunnel.with_auth(credentials.clone());
                }
                tunnel.call(destination).await.map_err(|error| ConnectError::from_proxy(proxy, &error))?
            }
            Route::Socks { proxy, credentials } => {
                let mut socks = SocksV5::new(proxy.clone(), dial);
                if let Some((user, password)) = credentials {
                    socks = socks.with_auth(user.expose_secret().to_owned(), password.expose_secret().to_owned());
                }
                let connected = socks.call(destination).await;
                connected.map_err(|error| ConnectError::refused_by_proxy(proxy, error.to_string()))?
            }
        };
        Ok(wire.into_inner())
    }
}

impl Route {
    fn through(proxy: &Intercept, upstream_is_https: bool) -> Result<Self, SetupError> {
        let uri = with_port(proxy.uri())?;
        let credentials = proxy.basic_auth().cloned();
        match uri.scheme_str() {
            Some("http" | "https") if upstream_is_https => Ok(Self::Tunnel { proxy: uri, credentials }),
            Some("http" | "https") => Ok(Self::Forward { proxy: uri, credentials }),
            Some("socks5" | "socks5h") => {
                let secret = |(user, password): (&str, &str)| (Secret::new(user), Secret::new(password));
                Ok(Self::Socks { proxy: uri, credentials: proxy.raw_auth().map(secret) })
            }
            _ => Err(SetupError::Proxy),
        }
    }
}

fn destination(url: &UpstreamUrl) -> Result<Uri, SetupError> {
    Uri::builder()
        .scheme(url.scheme().clone())
        .authority(format!("{}:{}", url.host(), url.port()))
        .path_and_query("/")
        .build()
        .map_err(|_| SetupError::Host(url.host().to_owned()))
}

fn server_name(host: &str) -> Result<ServerName<'static>, SetupError> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    ServerName::try_from(bare.to_owned()).map_err(|_| SetupError::Host(host.to_owned()))
}

/// The default ports of proxies are 80 and 443, and 1080 for SOCKS.
fn with_port(uri: &Uri) -> Result<Uri, SetupError> {
    let host = uri.host().ok_or(SetupError::Proxy)?;
    let port = uri.port_u16().unwrap_or(match uri.scheme_str() {
        Some("http") => 80,
        Some("https") => 443,
        _ => 1080,
    });
    let mut parts = uri.clone().into_parts();
    parts.authority = Some(format!("{host}:{port}").parse().map_err(|_| SetupError::Proxy)?);
    Uri::from_parts(parts).map_err(|_| SetupError::Proxy)
}

/// The proxy for this destination, if configured. An invalid setting is an error: bypassing a configured proxy would be
/// worse than stopping.
fn intercept(settings: &ProxySettings, destination: &Uri) -> Result<Option<Intercept>, SetupError> {
    let text = |setting: &Option<Secret>| {
        setting.as_ref().map_or(String::new(), |value| value.expose_secret().trim().to_owned())
    };
    let specific = if destination.scheme_str() == Some("https") { text(&settings.https) } else { text(&settings.http) };
    let asked = if specific.is_empty() { text(&settings.all) } else { specific };
    if asked.is_empty() {
        return Ok(None);
    }
    if Matcher::builder().all(asked.clone()).build().intercept(destination).is_none() {
        return Err(SetupError::Proxy);
    }
    let no = settings.no.clone().unwrap_or_default();
    Ok(Matcher::builder().all(asked).no(no).build().intercept(destination))
}

/// Opens sockets to the upstream or its proxy; to an `https` proxy with TLS. The upstream's own TLS comes later, over
/// the finished route. It is a service because the proxy protocols build on one.
#[derive(Clone)]
struct Dial {
    sockets: HttpConnector,
    proxy_tls: Option<Identity>,
}

type DialError = Box<dyn StdError + Send + Sync>;

impl Dial {
    fn new(proxy_tls: Option<Identity>) -> Self {
        let mut sockets = HttpConnector::new();
        sockets.enforce_http(false);
        sockets.set_nodelay(true);
        // A response may pause for minutes; only this tells a quiet upstream from a dead one.
        sockets.set_keepalive(Some(Duration::from_secs(60)));
        sockets.set_keepalive_interval(Some(Duration::from_secs(15)));
        sockets.set_keepalive_retries(Some(4));
        Self { sockets, proxy_tls }
    }
}

impl Service<Uri> for Dial {
    type Response = TokioIo<Wire>;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, DialError>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let mut sockets = self.sockets.clone();
        let tls = self.proxy_tls.clone();
        Box::pin(async move {
            let socket = sockets.call(destination).await?;
            let wire = Wire::Plain(socket.into_inner());
            let wire = match tls {
                None => wire,
                Some(identity) => handshake(wire, identity).await?,
            };
            Ok(TokioIo::new(wire))
        })
    }
}

async fn handshake(wire: Wire, (name, config): Identity) -> io::Result<Wire> {
    let stream = TlsConnector::from(config).connect(name, wire).await?;
    Ok(Wire::Tls(Box::new(stream)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(https: &str, all: &str, no: &str) -> ProxySettings {
        let secret = |text: &str| (!text.is_empty()).then(|| Secret::new(text));
        ProxySettings { http: None, https: secret(https), all: secret(all), no: Some(no.to_owned()) }
    }

    fn chosen(settings: &ProxySettings, destination: &str) -> Option<String> {
        let destination: Uri = destination.parse().expect("a destination");
        let proxy = intercept(settings, &destination).expect("usable settings")?;
        Some(with_port(proxy.uri()).expect("a proxy").to_string())
    }

    #[test]
    fn the_proxy_is_chosen_by_scheme_then_all_and_no_proxy_wins() {
        let https = "https://api.anthropic.com:443/";
        let plain = "http://127.0.0.1:9000/";
        let both = settings("proxy.example:3128", "http://other.example", "");
        assert_eq!(chosen(&both, https).as_deref(), Some("http://proxy.example:3128/"));
        assert_eq!(chosen(&both, plain).as_deref(), Some("http://other.example:80/"));
        assert_eq!(chosen(&settings("", "", ""), https), None);
        assert_eq!(chosen(&settings("proxy:1", "", "localhost,.anthropic.com"), https), None);
        assert_eq!(chosen(&settings("", "proxy:1", "127.0.0.0/8"), plain), None);
        assert_eq!(chosen(&settings("", "socks5://proxy", ""), https).as_deref(), Some("socks5://proxy:1080/"));
    }

    #[test]
    fn a_proxy_setting_that_cannot_be_understood_is_an_error_not_a_detour() {
        let destination: Uri = "https://api.anthropic.com:443/".parse().expect("a destination");
        assert!(intercept(&settings("gopher://proxy", "", ""), &destination).is_err());
        assert!(intercept(&settings("http://", "", ""), &destination).is_err());
    }
}
