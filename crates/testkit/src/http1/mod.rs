//! HTTP/1.1 as bytes: a parser without I/O for both directions that keeps header case and order, the raw head, and
//! whether a message was cut.
//!
//! The provider, the recorder and the client handle sockets.

mod head;
mod parser;

pub use head::{Head, Headers, RequestHead, ResponseHead, header};
pub use parser::{Event, Parser};

/// The end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With its last byte.
    Complete,
    /// The connection closed early.
    Cut,
}

/// Bytes that are not HTTP/1.1.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("the head of the message cannot be read: {0}")]
    Head(#[from] httparse::Error),
    #[error("content-length is not a number: {0:?}")]
    Length(String),
    #[error("the size of a chunk is not a hexadecimal number: {0:?}")]
    ChunkSize(String),
}
