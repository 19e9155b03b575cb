//! The sockets of the provider: one request for each connection.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Shared;
use super::routes::{ProviderRequest, Reply};
use crate::http1::{Event, Parser, RequestHead, header};

pub(super) async fn connection(shared: Arc<Shared>, mut stream: TcpStream) {
    let Some((head, body)) = request(&mut stream).await else { return };
    let of = |name| header(&head.headers, name).unwrap_or_default();
    let reply = shared.answer(&ProviderRequest {
        method: &head.method,
        target: &head.target,
        content_type: of("content-type"),
        authorization: of("authorization"),
        body: &String::from_utf8_lossy(&body),
    });
    let Reply { status, location, body } = reply;
    let location = location.map(|to| format!("location: {to}\r\n")).unwrap_or_default();
    let kind = if body.starts_with('{') { "application/json" } else { "text/plain" };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} -\r\ncontent-type: {kind}\r\ncache-control: no-store\r\n{location}content-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn request(stream: &mut TcpStream) -> Option<(RequestHead, Vec<u8>)> {
    let (mut parser, mut head, mut body) = (Parser::<RequestHead>::default(), None, Vec::new());
    loop {
        match parser.next(false).ok()? {
            Some(Event::Head(arrived)) => head = Some(arrived),
            Some(Event::Body(piece)) => body.extend_from_slice(&piece),
            Some(Event::End) => return head.map(|head| (head, body)),
            None => {
                if stream.read_buf(parser.buffer()).await.ok()? == 0 {
                    return None;
                }
            }
        }
    }
}
