//! A port for the metrics alone, beside the one for agents. It needs no key: the figures name no person.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tower_service::Service;

use crate::auth::Auth;

/// The time for a request's head, and for an idle connection.
const PATIENCE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(100);

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, auth: Arc<Auth>, routes: Router) {
    loop {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection to the metrics");
                tokio::time::sleep(RETRY).await;
                continue;
            }
        };
        let (auth, routes) = (auth.clone(), routes.clone());
        let service = service_fn(move |request| answer(request, auth.clone(), routes.clone()));
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
        let connection = builder.serve_connection(TokioIo::new(socket), service);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the metrics ended");
            }
        });
    }
}

async fn answer(request: Request<Incoming>, auth: Arc<Auth>, mut routes: Router) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    if auth.admit_health(&head).is_err() {
        let mut refused = Response::new(Body::empty());
        *refused.status_mut() = StatusCode::FORBIDDEN;
        return Ok(refused);
    }
    routes.call(Request::from_parts(head, Body::new(body))).await
}
