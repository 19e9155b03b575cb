//! Sends one request to the upstream and returns its response: chooses or opens a connection, adapts the request to it,
//! and keeps the connection for the next one.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::header::{self, HeaderValue};
use http::uri::PathAndQuery;
use http::{Request, Response, Uri, Version};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use super::answer::{Answer, Via};
use super::body::RequestBody;
use super::connect::Connector;
use super::connect_error::{ConnectError, SetupError};
use super::headers;
use super::pool::{Connection, Line, Pool};
use crate::config::{self, Limits, UpstreamUrl};

/// The part of an HTTP/2 connection's window that one stalled client may hold; the connection's own window is large
/// enough for a hundred of them.
const STREAM_WINDOW: u32 = 512 * 1024;
const CONNECTION_WINDOW: u32 = 64 * 1024 * 1024;

/// The upstream's state that all workers share.
pub(crate) struct Target {
    pub(super) url: UpstreamUrl,
    pub(super) host: HeaderValue,
    pub(super) connector: Connector,
    limits: Limits,
    /// Whether WebSockets pass.
    pub(super) websocket: bool,
}

impl Target {
    pub(crate) fn new(upstream: &config::Upstream, limits: &Limits) -> Result<Self, SetupError> {
        let url = upstream.url.clone();
        let host =
            HeaderValue::from_str(url.authority().as_str()).map_err(|_| SetupError::Host(url.host().to_owned()))?;
        let connector = Connector::new(upstream, limits.connect_timeout)?;
        Ok(Self { url, host, connector, limits: limits.clone(), websocket: upstream.websocket })
    }

    pub(crate) fn base_path(&self) -> &str {
        self.url.base_path()
    }
}

/// One worker's view of the upstream.
pub(super) struct Upstream {
    target: Arc<Target>,
    pool: Arc<Pool>,
}

#[derive(Debug)]
pub(super) enum SendError {
    Connect(ConnectError),
    /// The connection broke between the request and the head of the response.
    Broken(hyper::Error),
}

impl Upstream {
    pub(super) fn new(target: Arc<Target>) -> Self {
        let pool = Pool::new(target.limits.pool_idle_timeout);
        Self { target, pool }
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    pub(super) async fn send(&self, mut request: Request<RequestBody>) -> Result<Response<Answer>, SendError> {
        // An idle connection may have died unnoticed. If nothing of the request was sent on it, the request comes back
        // and another connection gets it; nothing else is ever repeated.
        while let Some(connection) = self.pool.take().await {
            match self.exchange(connection, request).await {
                Ok(response) => return Ok(response),
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(SendError::Broken(failed.into_error())),
                },
            }
        }
        let connection = self.open().await?;
        let exchanged = self.exchange(connection, request).await;
        exchanged.map_err(|failed| SendError::Broken(failed.into_error()))
    }

    /// Sends a request that may change the protocol, on a connection of its own.
    pub(super) async fn upgrade(
        &self,
        mut request: Request<RequestBody>,
    ) -> Result<(Response<Incoming>, http1::SendRequest<RequestBody>), SendError> {
        let wire = self.target.connector.connect_http1().await.map_err(SendError::Connect)?;
        let (mut sender, driver) = http1::Builder::new()
            .preserve_header_case(true)
            .max_headers(self.target.limits.max_headers)
            .handshake(TokioIo::new(wire))
            .await
            .map_err(SendError::Broken)?;
        tokio::spawn(async move {
            if let Err(error) = driver.with_upgrades().await {
                tracing::debug!(%error, "an upstream connection ended");
            }
        });
        self.address_http1(&mut request);
        let response = sender.send_request(request).await.map_err(SendError::Broken)?;
        Ok((response, sender))
    }

    async fn open(&self) -> Result<Connection, SendError> {
        let wire = self.target.connector.connect().await.map_err(SendError::Connect)?;
        if wire.is_http2() {
            let (sender, driver) = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .keep_alive_interval(Duration::from_secs(20))
                .keep_alive_timeout(Duration::from_secs(20))
                .handshake(TokioIo::new(wire))
                .await
                .map_err(SendError::Broken)?;
            tokio::spawn(async move {
                if let Err(error) = driver.await {
                    tracing::debug!(%error, "an upstream connection ended");
                }
            });
            return Ok(Connection::Seat(self.pool.share(sender)));
        }
        let (sender, driver) = http1::Builder::new()
            .preserve_header_case(true)
            .max_headers(self.target.limits.max_headers)
            .handshake(TokioIo::new(wire))
            .await
            .map_err(SendError::Broken)?;
        Ok(Connection::Line(Line::new(sender, driver)))
    }

    async fn exchange(
        &self,
        connection: Connection,
        mut request: Request<RequestBody>,
    ) -> Result<Response<Answer>, TrySendError<Request<RequestBody>>> {
        let progress = request.body().progress();
        let (response, via) = match connection {
            Connection::Line(mut line) => {
                self.address_http1(&mut request);
                let response = converse(&mut line, request).await?;
                let via = if progress.is_complete() {
                    Via::Line(line, self.pool.clone())
                } else {
                    // The response came before the end of the request. From here on, the directions must not wait for
                    // each other, so the connection gets its own task.
                    Via::Alone(line.let_go())
                };
                (response, via)
            }
            Connection::Seat(mut seat) => {
                self.address_http2(&mut request);
                let response = seat.sender.try_send_request(request).await?;
                (response, Via::Seat(seat))
            }
        };
        Ok(response.map(|incoming| Answer::new(incoming, via)))
    }

    fn address_http1(&self, request: &mut Request<RequestBody>) {
        *request.version_mut() = Version::HTTP_11;
        request.headers_mut().entry(header::HOST).or_insert_with(|| self.target.host.clone());
        let Some(credentials) = self.target.connector.forwards() else { return };
        // A forwarding proxy needs the full address in the first line.
        *request.uri_mut() = self.absolute(request.uri());
        if let Some(credentials) = credentials {
            request.headers_mut().insert(header::PROXY_AUTHORIZATION, credentials.clone());
        }
    }

    fn address_http2(&self, request: &mut Request<RequestBody>) {
        *request.version_mut() = Version::HTTP_2;
        *request.uri_mut() = self.absolute(request.uri());
        headers::for_http2(request.headers_mut());
    }

    fn absolute(&self, uri: &Uri) -> Uri {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.target.url.scheme().clone());
        parts.authority = Some(self.target.url.authority().clone());
        parts.path_and_query = Some(uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/")));
        Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
    }
}

/// Sends on an HTTP/1.1 connection, driving it until the head of the response has arrived.
async fn converse(
    line: &mut Line,
    request: Request<RequestBody>,
) -> Result<Response<Incoming>, TrySendError<Request<RequestBody>>> {
    let mut answer = pin!(line.sender().try_send_request(request));
    poll_fn(|context| {
        line.drive(context);
        match answer.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(answer),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
