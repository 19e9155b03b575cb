//! A scripted provider on a free port of this machine. It gives each request the answer that it was told to give, and
//! keeps the newest request.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Makes an answer from the body of the request and that of the request before, which the provider has cached.
type Answer = Box<dyn FnOnce(&[u8], &[u8]) -> Vec<u8> + Send>;

const UNSCRIPTED: &[u8] =
    br#"{"type":"error","error":{"type":"not_found_error","message":"This is the scripted provider of `ctx demo`: it answers only the recorded conversation."}}"#;

#[derive(Default)]
struct Script {
    next: Option<Answer>,
    received: Bytes,
}

#[derive(Clone)]
pub struct ScriptedProvider {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

impl ScriptedProvider {
    /// Starts it; it ends with the runtime.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let provider = Self { address: listener.local_addr()?, script: Arc::default() };
        let serving = provider.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let serving = serving.clone();
                let answer = service_fn(move |request| {
                    let serving = serving.clone();
                    async move { Ok::<_, Infallible>(serving.respond(request).await) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), answer));
            }
        });
        Ok(provider)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The body of the newest request, as it arrived.
    pub fn received(&self) -> Bytes {
        self.script().received.clone()
    }

    /// Answers the next request with this.
    pub fn answer_next(&self, answer: impl FnOnce(&[u8], &[u8]) -> Vec<u8> + Send + 'static) {
        self.script().next = Some(Box::new(answer));
    }

    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let mut script = self.script();
        let (status, answer) = match script.next.take() {
            Some(answer) => {
                let answer = answer(&body, &script.received);
                script.received = body;
                (StatusCode::OK, Bytes::from(answer))
            }
            None => (StatusCode::NOT_FOUND, Bytes::from_static(UNSCRIPTED)),
        };
        let mut response = Response::new(Full::new(answer));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
        response
    }
}
