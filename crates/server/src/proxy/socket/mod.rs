//! WebSockets of model calls. The upgrade goes to the upstream with the client's own key; after it, [`relay`] passes
//! messages in both directions and [`exchange`] treats each request among them like an HTTP request.

mod exchange;
mod history;
mod relay;

use ctx_wire::Wire;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::time::Duration;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use self::exchange::Exchanges;
use super::answer::{Answer, Via};
use super::body::{AnswerBody, RequestBody};
use super::errors::Failure;
use super::upstream::Upstream;
use super::{Proxy, failure, hand_back, headers, readdress};
use crate::team::Permit;
use crate::watch::{Observer, ResponseTap};

/// The longest message; longer requests are refused over HTTP too, if their conversation is edited.
const LONGEST_MESSAGE: usize = ctx_wire::encoding::DECODED_LIMIT;

impl Proxy {
    /// Asks the upstream for a WebSocket. If it refuses, its response is passed on.
    pub(super) async fn open_socket(
        &self,
        upstream: &Upstream,
        (wire, observer, permit): (&'static dyn Wire, Arc<dyn Observer>, Option<Permit>),
        (mut head, path): (Parts, PathAndQuery),
        incoming: Incoming,
    ) -> Result<Response<AnswerBody>, Failure> {
        let target = upstream.target();
        let Some(socket) = wire.socket().filter(|_| target.websocket) else { return Err(Failure::Upgrade) };
        let client = head.extensions.remove::<OnUpgrade>();
        let exchanges = Exchanges::new((observer, permit), (wire, socket), head.uri.clone(), head.headers.clone());
        head.uri = readdress(path, target.url.base_path());
        head.headers = headers::upgrading(headers::outgoing(head.headers, &target.host, &self.auth));
        let body = RequestBody::unwatched(incoming, self.body_idle_timeout);
        let sent = upstream.upgrade(Request::from_parts(head, body)).await;
        let (mut response, sender) = sent.map_err(|error| failure(upstream, Some(error)))?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(hand_back(
                response.map(|body| Answer::new(body, Via::Alone(sender))),
                ResponseTap::new(None),
                false,
            ));
        }
        let has_extension = response.headers().contains_key(header::SEC_WEBSOCKET_EXTENSIONS);
        let (Some(client), false) = (client, has_extension) else { return Err(failure(upstream, None)) };
        let provider = hyper::upgrade::on(&mut response);
        tokio::spawn(converse((client, provider), Arc::new(exchanges), self.socket_idle_timeout));
        let mut response =
            hand_back(response.map(|body| Answer::new(body, Via::Nothing)), ResponseTap::new(None), false);
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        Ok(response)
    }
}

/// Passes messages until one side ends, or both are silent for this long.
async fn converse((client, provider): (OnUpgrade, OnUpgrade), exchanges: Arc<Exchanges>, idle: Duration) {
    let (Ok(client), Ok(provider)) = tokio::join!(client, provider) else {
        tracing::debug!("a WebSocket was given up before it opened");
        return;
    };
    let limits =
        WebSocketConfig::default().max_message_size(Some(LONGEST_MESSAGE)).max_frame_size(Some(LONGEST_MESSAGE));
    let client = WebSocketStream::from_raw_socket(TokioIo::new(client), Role::Server, Some(limits)).await;
    let provider = WebSocketStream::from_raw_socket(TokioIo::new(provider), Role::Client, Some(limits)).await;
    relay::relay(client, provider, &exchanges, idle).await;
}
