//! The parser: bytes in, events out. One parser follows one direction of one connection through all its messages.

use super::head::Framing;
use super::{Ending, Head, HttpError};
use bytes::{Buf, Bytes, BytesMut};

/// The events of a read.
const ROOM: usize = 32 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<H> {
    Head(H),
    /// A piece of the body, without chunk framing.
    Body(Bytes),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Fixed(u64),
    ChunkSize,
    ChunkData(u64),
    ChunkEnd,
    Trailers,
    UntilClose,
}

#[derive(Debug)]
pub struct Parser<H> {
    buffer: BytesMut,
    state: State,
    kind: std::marker::PhantomData<H>,
}

impl<H> Default for Parser<H> {
    fn default() -> Self {
        Self { buffer: BytesMut::new(), state: State::Head, kind: std::marker::PhantomData }
    }
}

impl<H: Head> Parser<H> {
    /// The buffer for the next bytes; a socket may read directly into it.
    pub fn buffer(&mut self) -> &mut BytesMut {
        self.buffer.reserve(ROOM);
        &mut self.buffer
    }

    /// The next event, or `None` if more bytes are needed. `bodiless`: the next message has no body in any case, such
    /// as the response to a HEAD.
    pub fn next(&mut self, bodiless: bool) -> Result<Option<Event<H>>, HttpError> {
        loop {
            match self.state {
                State::Head => {
                    let Some((head, length)) = H::parse(&self.buffer)? else {
                        return Ok(None);
                    };
                    self.buffer.advance(length);
                    if head.is_interim() {
                        continue;
                    }
                    self.state = match head.framing()? {
                        _ if bodiless => State::Fixed(0),
                        Framing::None => State::Fixed(0),
                        Framing::Fixed(length) => State::Fixed(length),
                        Framing::Chunked => State::ChunkSize,
                        Framing::UntilClose => State::UntilClose,
                    };
                    return Ok(Some(Event::Head(head)));
                }
                State::Fixed(0) => {
                    self.state = State::Head;
                    return Ok(Some(Event::End));
                }
                State::Fixed(left) => {
                    let Some(piece) = self.take(left) else {
                        return Ok(None);
                    };
                    self.state = State::Fixed(left - piece.len() as u64);
                    return Ok(Some(Event::Body(piece)));
                }
                State::ChunkSize => {
                    let Some(line) = self.line() else {
                        return Ok(None);
                    };
                    let text = String::from_utf8_lossy(&line);
                    let digits = text.split(';').next().unwrap_or_default().trim();
                    let size = u64::from_str_radix(digits, 16).map_err(|_| HttpError::ChunkSize(digits.to_owned()))?;
                    self.state = match size {
                        0 => State::Trailers,
                        size => State::ChunkData(size),
                    };
                }
                State::ChunkData(0) => self.state = State::ChunkEnd,
                State::ChunkData(left) => {
                    let Some(piece) = self.take(left) else {
                        return Ok(None);
                    };
                    self.state = State::ChunkData(left - piece.len() as u64);
                    return Ok(Some(Event::Body(piece)));
                }
                State::ChunkEnd => {
                    if self.line().is_none() {
                        return Ok(None);
                    }
                    self.state = State::ChunkSize;
                }
                State::Trailers => {
                    let Some(line) = self.line() else {
                        return Ok(None);
                    };
                    if line.is_empty() {
                        self.state = State::Head;
                        return Ok(Some(Event::End));
                    }
                }
                State::UntilClose => {
                    let everything = self.take(u64::MAX);
                    return Ok(everything.map(Event::Body));
                }
            }
        }
    }

    /// The connection closed. `None` if that was between two messages.
    pub fn close(&mut self) -> Option<Ending> {
        match std::mem::replace(&mut self.state, State::Head) {
            State::Head if self.buffer.is_empty() => None,
            State::UntilClose => Some(Ending::Complete),
            _ => Some(Ending::Cut),
        }
    }

    fn take(&mut self, most: u64) -> Option<Bytes> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let length = self.buffer.len().min(most);
        (length > 0).then(|| self.buffer.split_to(length).freeze())
    }

    /// A line without its ending.
    fn line(&mut self) -> Option<Bytes> {
        let end = self.buffer.windows(2).position(|pair| pair == b"\r\n")?;
        let line = self.buffer.split_to(end).freeze();
        self.buffer.advance(2);
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RequestHead, ResponseHead};
    use super::*;

    /// All events of `wire`, fed in pieces of `size` bytes, with body pieces joined.
    fn events<H: Head + Clone>(wire: &[u8], size: usize) -> (Vec<Event<H>>, Option<Ending>) {
        let mut parser = Parser::<H>::default();
        let mut seen: Vec<Event<H>> = Vec::new();
        for piece in wire.chunks(size) {
            parser.buffer().extend_from_slice(piece);
            while let Some(event) = parser.next(false).expect("valid bytes") {
                match (seen.last_mut(), event) {
                    (Some(Event::Body(before)), Event::Body(more)) => {
                        *before = [&before[..], &more[..]].concat().into();
                    }
                    (_, event) => seen.push(event),
                }
            }
        }
        (seen, parser.close())
    }

    #[test]
    fn a_request_keeps_case_order_and_body_however_it_is_split() {
        let wire = b"POST /v1?x=1 HTTP/1.1\r\nX-B: 2\r\nx-a: \xe9\r\nContent-Length: 3\r\n\r\nabc";
        for size in 1..wire.len() {
            let (seen, ending) = events::<RequestHead>(wire, size);
            let [Event::Head(head), Event::Body(body), Event::End] = &seen[..] else {
                panic!("unexpected events {seen:?}");
            };
            assert_eq!(head.target, "/v1?x=1");
            assert_eq!(head.headers[0], ("X-B".into(), "2".into()));
            assert_eq!(head.headers[1], ("x-a".into(), "é".into()));
            assert_eq!(&head.raw[..], &wire[..wire.len() - 3]);
            assert_eq!(&body[..], b"abc");
            assert_eq!(ending, None);
        }
    }

    #[test]
    fn chunks_are_joined_and_trailers_skipped_however_they_are_split() {
        let wire = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            3;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
        for size in 1..wire.len() {
            let (seen, ending) = events::<ResponseHead>(wire, size);
            assert_eq!(seen.len(), 3, "{seen:?}");
            assert_eq!(seen[1], Event::Body("abc0123456789".into()));
            assert_eq!(ending, None);
        }
    }

    #[test]
    fn a_body_without_its_last_chunk_is_cut() {
        let wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
        let (seen, ending) = events::<ResponseHead>(wire, 7);
        assert_eq!(seen.len(), 2);
        assert_eq!(ending, Some(Ending::Cut));
    }

    #[test]
    fn a_response_without_length_lasts_until_the_close() {
        let (seen, ending) = events::<ResponseHead>(b"HTTP/1.1 200 OK\r\n\r\nabc", 100);
        assert_eq!(seen[1], Event::Body("abc".into()));
        assert_eq!(ending, Some(Ending::Complete));
    }

    #[test]
    fn two_messages_on_one_connection_are_two() {
        let wire = b"GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\ncontent-length: 1\r\n\r\nx";
        let (seen, _) = events::<RequestHead>(wire, 5);
        assert_eq!(seen.len(), 5);
    }

    #[test]
    fn nonsense_is_an_error_and_no_panic() {
        for wire in [
            "\0\0\0",
            "GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
            "GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        ] {
            let mut parser = Parser::<RequestHead>::default();
            parser.buffer().extend_from_slice(wire.as_bytes());
            let outcome = parser.next(false).and_then(|_| parser.next(false));
            assert!(outcome.is_err(), "{wire:?}");
        }
    }
}
