//! Heads of requests and responses, and the length of the body that they imply.

use super::HttpError;
use bytes::Bytes;

/// Longer than any client's head; more is an error.
const MOST_HEADERS: usize = 256;

/// Names and values in the original order and case. Values are read as Latin-1, which keeps every byte.
pub type Headers = Vec<(String, String)>;

/// The value of the last header with this name, ignoring case.
pub fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().rev().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// The data that determine the length of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    None,
    Fixed(u64),
    Chunked,
    UntilClose,
}

/// The two kinds of heads, for the parser they share.
pub trait Head: Sized {
    /// The head at the start of `bytes` with its length, or `None` if it is incomplete.
    fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, HttpError>;
    fn framing(&self) -> Result<Framing, HttpError>;
    /// A 1xx response: another head follows.
    fn is_interim(&self) -> bool {
        false
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    /// `HTTP/1.1` or `HTTP/1.0`.
    pub version: String,
    pub headers: Headers,
    /// The original head, including the empty line.
    pub raw: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    pub status: u16,
    pub headers: Headers,
    /// The original head, including the empty line.
    pub raw: Bytes,
}

impl Head for RequestHead {
    fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, HttpError> {
        let mut slots = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut slots);
        let httparse::Status::Complete(length) = parsed.parse(bytes)? else {
            return Ok(None);
        };
        let head = Self {
            method: parsed.method.unwrap_or_default().to_owned(),
            target: parsed.path.unwrap_or_default().to_owned(),
            version: format!("HTTP/1.{}", parsed.version.unwrap_or(1)),
            headers: owned(parsed.headers),
            raw: raw(bytes, length),
        };
        Ok(Some((head, length)))
    }

    fn framing(&self) -> Result<Framing, HttpError> {
        Ok(declared(&self.headers)?.unwrap_or(Framing::None))
    }
}

impl Head for ResponseHead {
    fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, HttpError> {
        let mut slots = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Response::new(&mut slots);
        let httparse::Status::Complete(length) = parsed.parse(bytes)? else {
            return Ok(None);
        };
        let head =
            Self { status: parsed.code.unwrap_or_default(), headers: owned(parsed.headers), raw: raw(bytes, length) };
        Ok(Some((head, length)))
    }

    fn framing(&self) -> Result<Framing, HttpError> {
        if self.is_interim() || matches!(self.status, 204 | 304) {
            return Ok(Framing::None);
        }
        Ok(declared(&self.headers)?.unwrap_or(Framing::UntilClose))
    }

    fn is_interim(&self) -> bool {
        (100..200).contains(&self.status)
    }
}

fn raw(bytes: &[u8], length: usize) -> Bytes {
    Bytes::copy_from_slice(bytes.get(..length).unwrap_or(bytes))
}

fn owned(headers: &[httparse::Header<'_>]) -> Headers {
    let latin1 = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect();
    headers.iter().map(|header| (header.name.to_owned(), latin1(header.value))).collect()
}

fn declared(headers: &[(String, String)]) -> Result<Option<Framing>, HttpError> {
    let chunked =
        header(headers, "transfer-encoding").is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
    if chunked {
        return Ok(Some(Framing::Chunked));
    }
    header(headers, "content-length")
        .map(|length| {
            let bytes = length.trim().parse();
            bytes.map(Framing::Fixed).map_err(|_| HttpError::Length(length.to_owned()))
        })
        .transpose()
}
