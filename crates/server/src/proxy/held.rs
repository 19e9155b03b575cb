//! A request that may not leave before it is composed: it is read completely, and then sent in one go.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use ctx_composer::edit::{Outgoing, Part};
use ctx_composer::recorder::Composition;
use ctx_wire::pieces::Pieces;
use http::request::Parts;
use http::{HeaderMap, Request};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::body::RequestBody;
use super::errors::Failure;
use super::headers;
use crate::watch::RequestEye;

/// Less than this is copied together: a frame of its own would cost more.
const SMALL: usize = 4 * 1024;
/// So much is copied together at most.
const TOGETHER: usize = 64 * 1024;

/// A request whose last byte is here.
pub(super) struct Held {
    /// Encoded as it came.
    came: Pieces,
    /// Decoded; what a composed request takes its parts from.
    pub(super) source: Pieces,
    /// `None`: it leaves as it came.
    pub(super) outgoing: Option<Outgoing>,
    trailers: Option<HeaderMap>,
    /// Its length was announced, so it is again.
    is_sized: bool,
}

impl Held {
    /// Reads to the end, however long that is, and waits until it is composed.
    pub(super) async fn read(mut incoming: Incoming, mut eye: RequestEye, patience: Duration) -> Result<Self, Failure> {
        let is_sized = incoming.size_hint().exact().is_some();
        let mut trailers = None;
        loop {
            let next = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context));
            let Ok(frame) = timeout(patience, next).await else {
                return Err(Failure::ClientStalled { seconds: patience.as_secs() });
            };
            let Some(frame) = frame else { break };
            match frame.map_err(|_| Failure::ClientBroke)?.into_data() {
                Ok(chunk) => eye.chunk(&chunk),
                Err(frame) => trailers = frame.into_trailers().ok(),
            }
        }
        let (answer, composed) = oneshot::channel();
        let came = eye.compose(Box::new(move |composition| drop(answer.send(composition))));
        match composed.await {
            Ok(Some(Composition { outgoing, source })) => Ok(Self { came, source, outgoing, trailers, is_sized }),
            Ok(None) | Err(_) => Err(Failure::NotComposed),
        }
    }

    /// Byte for byte what the client sent.
    pub(super) fn untouched(&self, head: Parts) -> Request<RequestBody> {
        let chunks = self.came.iter().map(|piece| Bytes::from_owner(piece.clone())).collect();
        self.request(head, chunks)
    }

    pub(super) fn composed(&self, mut head: Parts, outgoing: &Outgoing) -> Request<RequestBody> {
        let chunks = chunks(outgoing, &self.source);
        let length = chunks.iter().map(Bytes::len).sum();
        head.headers = headers::composed(head.headers, length, outgoing.beta);
        self.request(head, chunks)
    }

    fn request(&self, head: Parts, chunks: Vec<Bytes>) -> Request<RequestBody> {
        Request::from_parts(head, RequestBody::whole(Whole::new(chunks, self.trailers.clone(), self.is_sized)))
    }
}

/// Here to its last byte before the first one leaves.
pub(super) struct Whole {
    chunks: std::vec::IntoIter<Bytes>,
    /// Boxed, because hardly any request has some.
    trailers: Option<Box<HeaderMap>>,
    /// What is left of it, if its length is announced.
    length: Option<u64>,
}

impl Whole {
    fn new(chunks: Vec<Bytes>, trailers: Option<HeaderMap>, is_sized: bool) -> Self {
        let length = is_sized.then(|| chunks.iter().map(|chunk| chunk.len() as u64).sum());
        Self { chunks: chunks.into_iter(), trailers: trailers.map(Box::new), length }
    }

    pub(super) fn is_over(&self) -> bool {
        self.chunks.len() == 0 && self.trailers.is_none()
    }

    pub(super) fn next(&mut self) -> Option<Frame<Bytes>> {
        let Some(chunk) = self.chunks.next() else {
            return self.trailers.take().map(|trailers| Frame::trailers(*trailers));
        };
        if let Some(length) = &mut self.length {
            *length -= chunk.len() as u64;
        }
        Some(Frame::data(chunk))
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// The bytes of a composed request. What is the client's is not copied, unless it is small.
fn chunks(outgoing: &Outgoing, source: &Pieces) -> Vec<Bytes> {
    let mut end = 0;
    let pieces: Vec<(usize, Bytes)> = source
        .iter()
        .map(|piece| {
            let piece = Bytes::from_owner(piece.clone());
            let start = end;
            end += piece.len();
            (start, piece)
        })
        .collect();
    let mut chunks = Chunks::default();
    for part in &outgoing.parts {
        match part {
            Part::Made(bytes) => chunks.push(bytes, |bytes| Bytes::copy_from_slice(bytes)),
            Part::Source(range) => {
                let first = pieces.partition_point(|(start, piece)| start + piece.len() <= range.start);
                for (start, piece) in pieces.iter().skip(first).take_while(|(start, _)| *start < range.end) {
                    let from = range.start.saturating_sub(*start);
                    let to = piece.len().min(range.end - start);
                    chunks.push(&piece.slice(from..to), Bytes::clone);
                }
            }
        }
    }
    chunks.finish()
}

#[derive(Default)]
struct Chunks {
    done: Vec<Bytes>,
    small: Vec<u8>,
}

impl Chunks {
    fn push<C: AsRef<[u8]>>(&mut self, bytes: &C, keep: impl FnOnce(&C) -> Bytes) {
        let length = bytes.as_ref().len();
        if length < SMALL {
            if self.small.len() + length > TOGETHER {
                self.flush();
            }
            if self.small.is_empty() {
                self.small.reserve_exact(TOGETHER);
            }
            self.small.extend_from_slice(bytes.as_ref());
        } else {
            self.flush();
            self.done.push(keep(bytes));
        }
    }

    fn flush(&mut self) {
        if !self.small.is_empty() {
            self.done.push(std::mem::take(&mut self.small).into());
        }
    }

    fn finish(mut self) -> Vec<Bytes> {
        self.flush();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn every_part_is_there_wherever_the_pieces_are_cut() {
        let whole: Vec<u8> = (0..50_000u32).map(|n| (n / 3) as u8).collect();
        for cut in [1, 7, 4096, 10_000, 49_999, 50_000, 60_000] {
            let source: Pieces = Arc::new(whole.chunks(cut).map(|piece| piece.to_vec().into()).collect());
            let parts = vec![
                Part::Source(0..0),
                Part::Source(40_000..50_000),
                Part::Made(b"ours".to_vec()),
                Part::Source(0..1),
                Part::Made(vec![b'x'; 9_000]),
                Part::Source(1..39_999),
                Part::Source(50_000..50_000),
            ];
            let outgoing = Outgoing { parts, beta: None };
            let chunks = chunks(&outgoing, &source);
            assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
            assert_eq!(chunks.concat(), outgoing.bytes(&whole), "pieces of {cut}");
        }
    }
}
