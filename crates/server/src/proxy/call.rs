//! A request of our own, with the same proxy, authorities and connect timeout as the client's. It shares no connection
//! with them and carries none of their data.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Method, Request, StatusCode, Uri};
use http_body::Body as _;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use super::upstream::Target;

/// The reason for a missing response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("{0}")]
    Unreachable(String),
    #[error("it broke off: {0}")]
    Broken(String),
    #[error("its response is longer than {0} bytes")]
    TooLong(usize),
}

/// Posts a body to a path below the target's base path. `most`: the maximum size of the response.
pub(crate) async fn post(
    target: &Target,
    path: &str,
    headers: HeaderMap,
    body: Bytes,
    most: usize,
) -> Result<(StatusCode, Vec<u8>), CallError> {
    send(target, (Method::POST, path), headers, body, most).await
}

/// Gets what a path has. Redirects are not followed.
pub(crate) async fn get(
    target: &Target,
    path: &str,
    headers: HeaderMap,
    most: usize,
) -> Result<(StatusCode, Vec<u8>), CallError> {
    send(target, (Method::GET, path), headers, Bytes::new(), most).await
}

async fn send(
    target: &Target,
    (method, path): (Method, &str),
    mut headers: HeaderMap,
    body: Bytes,
    most: usize,
) -> Result<(StatusCode, Vec<u8>), CallError> {
    let broken = |error: &dyn std::fmt::Display| CallError::Broken(error.to_string());
    let wire = target.connector.connect().await.map_err(|error| CallError::Unreachable(error.to_string()))?;
    let (mut sender, driver) =
        http1::Builder::new().handshake(TokioIo::new(wire)).await.map_err(|error| broken(&error))?;
    // Ends with this call in any case.
    let mut driving = JoinSet::new();
    driving.spawn(driver);

    let path = format!("{}{path}", target.url.base_path());
    headers.insert(header::HOST, target.host.clone());
    let uri = match target.connector.forwards() {
        None => path,
        Some(credentials) => {
            if let Some(credentials) = credentials {
                headers.insert(header::PROXY_AUTHORIZATION, credentials.clone());
            }
            format!("{}://{}{path}", target.url.scheme(), target.url.authority())
        }
    };
    let mut request = Request::new(axum::body::Body::from(body));
    *request.method_mut() = method;
    *request.uri_mut() = Uri::try_from(uri).map_err(|error| broken(&error))?;
    *request.headers_mut() = headers;
    let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
    let status = response.status();
    let mut incoming = response.into_body();
    let mut read = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context)).await {
        if let Ok(chunk) = frame.map_err(|error| broken(&error))?.into_data() {
            read.extend_from_slice(&chunk);
        }
        if read.len() > most {
            return Err(CallError::TooLong(most));
        }
    }
    Ok((status, read))
}
