//! Decodes content encodings (`content-encoding`) on copies of bodies, while they stream.
//!
//! Nothing here encodes: bodies are forwarded as they came, and only the copy is decoded.

mod stage;

use stage::Stage;
use thiserror::Error;

/// The usual limit for [`decode_all`]; protects against compression bombs. Providers accept requests of at most 32 MB.
pub const DECODED_LIMIT: usize = 64 * 1024 * 1024;

/// Real bodies have one encoding; a long list is a mistake or an attack.
const MOST_ENCODINGS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Gzip,
    /// zlib by the standard; some servers send it without the zlib header.
    Deflate,
    Brotli,
    Zstd,
}

impl Encoding {
    /// Parses a `content-encoding` value: the encodings in the order they were applied. `identity` and empty items are
    /// skipped.
    pub fn parse(value: &str) -> Result<Vec<Self>, DecodeError> {
        let mut encodings = Vec::new();
        for item in value.split(',') {
            let name = item.trim().to_ascii_lowercase();
            encodings.push(match name.as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Self::Gzip,
                "deflate" => Self::Deflate,
                "br" => Self::Brotli,
                "zstd" => Self::Zstd,
                _ => return Err(DecodeError::Unknown { name }),
            });
        }
        match encodings.len() {
            0..=MOST_ENCODINGS => Ok(encodings),
            count => Err(DecodeError::TooMany { count }),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    #[error("the content encoding `{name}` is not known here; gzip, deflate, br and zstd are")]
    Unknown { name: String },
    #[error("{count} content encodings are stacked, at most {MOST_ENCODINGS} are undone")]
    TooMany { count: usize },
    #[error("the body does not decode as {encoding}: {reason}")]
    Corrupt { encoding: &'static str, reason: String },
    #[error("the {encoding} body ends before its end mark; it was cut on the way")]
    Truncated { encoding: &'static str },
    #[error("the body is larger than {limit} bytes when decoded")]
    TooLarge { limit: usize },
}

/// Receives decoded pieces; its error stops the decoding and is returned to the caller.
type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), DecodeError> + 'a;

/// Decodes a list of encodings while the body arrives. Flushed data comes out at once.
pub struct Decoder {
    /// In decoding order: the encoding applied last comes first.
    stages: Vec<Stage>,
}

impl Decoder {
    pub fn new(encodings: &[Encoding]) -> Result<Self, DecodeError> {
        let stages = encodings.iter().rev().map(|encoding| Stage::new(*encoding));
        Ok(Self { stages: stages.collect::<Result<_, _>>()? })
    }

    /// Decodes the next bytes and appends the result to `out`.
    pub fn feed(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
        self.feed_into(input, &mut |piece| {
            out.extend_from_slice(piece);
            Ok(())
        })
    }

    /// Decodes the next bytes and passes the result to `sink` in small pieces, so that memory stays bounded however
    /// well the input was compressed.
    pub fn feed_into(&mut self, input: &[u8], sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        push(&mut self.stages, input, sink)
    }

    /// Whether the body was complete. An empty one is: `HEAD` and 204 answers have none.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.stages.iter().find(|stage| stage.is_inside()) {
            Some(stage) => Err(DecodeError::Truncated { encoding: stage.encoding().name() }),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.stages.iter().map(Stage::encoding)).finish()
    }
}

fn push(stages: &mut [Stage], input: &[u8], sink: &mut Sink<'_>) -> Result<(), DecodeError> {
    match stages.split_first_mut() {
        None => sink(input),
        Some((first, rest)) => first.feed(input, &mut |piece| push(rest, piece, sink)),
    }
}

/// Decodes a whole body, at most to `limit` bytes.
pub fn decode_all(encodings: &[Encoding], bytes: &[u8], limit: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    let mut decoder = Decoder::new(encodings)?;
    decoder.feed_into(bytes, &mut |piece| {
        if out.len() + piece.len() > limit {
            return Err(DecodeError::TooLarge { limit });
        }
        out.extend_from_slice(piece);
        Ok(())
    })?;
    decoder.finish()?;
    Ok(out)
}

#[cfg(test)]
mod tests;
