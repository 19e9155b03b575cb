//! A held request: read completely, composed, and then sent.

use ctx_engine::compose::OutgoingRequest;
use ctx_engine::conversation::sent_parts::Part;
use std::future::poll_fn;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ctx_service::recorder::{Composition, Flaw, Withheld};
use ctx_wire::Wire;
use ctx_wire::rope::Pieces;
use http::request::Parts;
use http::{HeaderMap, Request};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::body::RequestBody;
use super::errors::Failure;
use super::headers;
use crate::watch::RequestTap;

/// The longest request that is held. Providers accept less.
const LONGEST: usize = 256 * 1024 * 1024;
/// The maximum number of bytes of all held requests that are being received.
const ROOM: usize = 1024 * 1024 * 1024;

/// Smaller pieces are merged: a frame for each would cost more.
const SMALL: usize = 4 * 1024;
/// Enough bytes of two pieces to find a name that is divided between them.
const BORDER: usize = 32;
/// The maximum size of merged pieces.
const TOGETHER: usize = 64 * 1024;

/// A completely received request.
pub(super) struct HeldRequest {
    /// Encoded, as it came.
    came: Pieces,
    /// Decoded; the source of a composed request.
    pub(super) source: Pieces,
    pub(super) wire: &'static dyn Wire,
    /// `None`: sent unchanged.
    pub(super) outgoing: Option<OutgoingRequest>,
    trailers: Option<HeaderMap>,
    /// Its length was announced, so it is announced again.
    is_sized: bool,
}

impl HeldRequest {
    /// Reads to the end and waits for the composition.
    pub(super) async fn read(mut incoming: Incoming, mut eye: RequestTap, patience: Duration) -> Result<Self, Failure> {
        let is_sized = incoming.size_hint().exact().is_some();
        let mut trailers = None;
        let mut received = ReceivedBytes::default();
        if incoming.size_hint().lower() > LONGEST as u64 {
            return Err(Failure::Withheld(Withheld::Unreadable(Flaw::Size)));
        }
        loop {
            let next = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context));
            let Ok(frame) = timeout(patience, next).await else {
                return Err(Failure::ClientStalled { seconds: patience.as_secs() });
            };
            let Some(frame) = frame else { break };
            match frame.map_err(|_| Failure::ClientBroke)?.into_data() {
                Ok(chunk) => {
                    received.add(chunk.len())?;
                    eye.chunk(&chunk);
                }
                Err(frame) => trailers = frame.into_trailers().ok(),
            }
        }
        let (answer, composed) = oneshot::channel();
        let came = eye.compose(Box::new(move |composition| drop(answer.send(composition))));
        match composed.await {
            Ok(Ok(Composition { outgoing, source, wire })) => {
                Ok(Self { came, source, wire, outgoing, trailers, is_sized })
            }
            Ok(Err(why)) => Err(Failure::Withheld(why)),
            Err(_) => Err(Failure::Withheld(Withheld::Defect)),
        }
    }

    /// Whether the client's body contains sealed reasoning.
    pub(super) fn has_sealed(&self) -> bool {
        let mut border = Vec::with_capacity(2 * BORDER);
        self.source.iter().map(AsRef::as_ref).any(|piece: &[u8]| {
            border.extend_from_slice(piece.get(..BORDER).unwrap_or(piece));
            let found = self.wire.has_sealed(piece) || self.wire.has_sealed(&border);
            border.clear();
            border.extend_from_slice(piece.get(piece.len().saturating_sub(BORDER)..).unwrap_or_default());
            found
        })
    }

    /// The client's exact bytes.
    pub(super) fn untouched(&self, head: Parts) -> Request<RequestBody> {
        let length = self.came.iter().map(|piece| piece.as_ref().len()).sum();
        self.request(head, Chunks::new(OutgoingRequest::whole(length).into(), &self.came), length)
    }

    pub(super) fn composed(&self, mut head: Parts, outgoing: &Arc<OutgoingRequest>) -> Request<RequestBody> {
        let length = outgoing.parts.iter().map(Part::len).sum();
        head.headers = headers::composed(head.headers, length, &outgoing.betas);
        self.request(head, Chunks::new(outgoing.clone(), &self.source), length)
    }

    fn request(&self, head: Parts, chunks: Chunks, length: usize) -> Request<RequestBody> {
        let length = self.is_sized.then_some(length as u64);
        let trailers = self.trailers.clone().map(Box::new);
        Request::from_parts(head, RequestBody::whole(Whole { chunks, trailers, length }))
    }
}

/// The bytes of a held request that is being received; they count until it is dropped.
#[derive(Default)]
struct ReceivedBytes(usize);

static RECEIVED: AtomicUsize = AtomicUsize::new(0);

impl ReceivedBytes {
    fn add(&mut self, count: usize) -> Result<(), Failure> {
        self.0 += count;
        let all = RECEIVED.fetch_add(count, Ordering::Relaxed) + count;
        if self.0 > LONGEST {
            return Err(Failure::Withheld(Withheld::Unreadable(Flaw::Size)));
        }
        if all > ROOM { Err(Failure::Full) } else { Ok(()) }
    }
}

impl Drop for ReceivedBytes {
    fn drop(&mut self) {
        RECEIVED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Complete before its first byte leaves.
pub(super) struct Whole {
    chunks: Chunks,
    /// Boxed, because few requests have them.
    trailers: Option<Box<HeaderMap>>,
    /// The remaining length, if it is announced.
    length: Option<u64>,
}

impl Whole {
    pub(super) fn is_over(&self) -> bool {
        self.chunks.is_over() && self.trailers.is_none()
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

/// The bytes of a request, produced as it leaves. The client's bytes are not copied, unless they are few.
struct Chunks {
    outgoing: Arc<OutgoingRequest>,
    /// The next part to send.
    next: usize,
    pieces: Pieces,
    /// The start of each piece.
    starts: Vec<usize>,
    /// The rest of the current part.
    rest: Range<usize>,
    /// Comes next, after the copied bytes.
    large: Option<Bytes>,
}

impl Chunks {
    fn new(outgoing: Arc<OutgoingRequest>, pieces: &Pieces) -> Self {
        let starts = pieces.iter().scan(0, |end, piece| {
            let start = *end;
            *end += piece.as_ref().len();
            Some(start)
        });
        let starts = starts.collect();
        Self { outgoing, next: 0, starts, pieces: pieces.clone(), rest: 0..0, large: None }
    }

    fn is_over(&self) -> bool {
        self.large.is_none()
            && self.rest.is_empty()
            && self.outgoing.parts.get(self.next..).is_none_or(|rest| rest.iter().all(Part::is_empty))
    }

    /// The client's bytes in one piece, as many as possible. False if they are missing.
    fn source(&mut self, small: &mut Vec<u8>) -> bool {
        let at = self.starts.partition_point(|start| *start <= self.rest.start).saturating_sub(1);
        let (Some(start), Some(piece)) = (self.starts.get(at), self.pieces.get(at)) else { return false };
        let range = self.rest.start - start..piece.as_ref().len().min(self.rest.end - start);
        let Some(bytes) = piece.as_ref().get(range.clone()).filter(|bytes| !bytes.is_empty()) else { return false };
        self.rest.start = start + range.end;
        self.large = keep(small, bytes, || Bytes::from_owner(piece.clone()).slice(range));
        true
    }
}

impl Iterator for Chunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if let Some(large) = self.large.take() {
            return Some(large);
        }
        let mut small = Vec::new();
        let outgoing = self.outgoing.clone();
        while small.len() + SMALL <= TOGETHER && self.large.is_none() {
            if !self.rest.is_empty() {
                if self.source(&mut small) {
                    continue;
                }
                break;
            }
            let Some(part) = outgoing.parts.get(self.next) else { break };
            self.next += 1;
            match part {
                Part::Made(bytes) => self.large = keep(&mut small, bytes, || Bytes::copy_from_slice(bytes)),
                Part::Source(range) => self.rest = range.clone(),
            }
        }
        if small.is_empty() { self.large.take() } else { Some(small.into()) }
    }
}

/// Merges small pieces; returns large ones, to be sent separately.
fn keep(small: &mut Vec<u8>, bytes: &[u8], large: impl FnOnce() -> Bytes) -> Option<Bytes> {
    if bytes.len() >= SMALL {
        return Some(large());
    }
    if small.is_empty() {
        small.reserve_exact(TOGETHER);
    }
    small.extend_from_slice(bytes);
    None
}

#[cfg(test)]
mod tests {
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
            let outgoing = Arc::new(OutgoingRequest { parts, ..OutgoingRequest::whole(0) });
            let mut chunks = Chunks::new(outgoing.clone(), &source);
            let all: Vec<Bytes> = chunks.by_ref().collect();
            assert!(chunks.is_over() && all.iter().all(|chunk| !chunk.is_empty()));
            assert_eq!(all.concat(), outgoing.bytes(&whole), "pieces of {cut}");
        }
    }
}
