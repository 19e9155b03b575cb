//! Decodes one encoding: thin loops around the decompressors, all with the same contract.

use super::{DecodeError, Encoding, Sink};
use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Operation};

/// The maximum size of a decoded piece. The buffer is on the stack while a chunk is decoded, so an idle decoder holds
/// no output buffer.
const PIECE: usize = 16 * 1024;

/// Frames with a window larger than 128 MiB are refused.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// A deflate window of 32 KiB, the maximum.
const DEFLATE_WINDOW_BITS: u8 = 15;

const GZIP_FIRST_BYTE: u8 = 0x1f;

pub(super) enum Stage {
    Gzip(Inflate),
    Deflate(Deflate),
    Brotli(Box<Brotli>),
    Zstd(Zstd),
}

impl Stage {
    pub(super) fn new(encoding: Encoding) -> Result<Self, DecodeError> {
        Ok(match encoding {
            Encoding::Gzip => Self::Gzip(Inflate::new(gzip_member())),
            Encoding::Deflate => Self::Deflate(Deflate::Undecided(None)),
            Encoding::Brotli => Self::Brotli(Box::new(Brotli::new())),
            Encoding::Zstd => Self::Zstd(Zstd::new()?),
        })
    }

    pub(super) fn encoding(&self) -> Encoding {
        match self {
            Self::Gzip(_) => Encoding::Gzip,
            Self::Deflate(_) => Encoding::Deflate,
            Self::Brotli(_) => Encoding::Brotli,
            Self::Zstd(_) => Encoding::Zstd,
        }
    }

    pub(super) fn feed(&mut self, input: &[u8], sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        if input.is_empty() {
            return Ok(());
        }
        match self {
            Self::Gzip(inflate) => inflate.feed_members(input, sink),
            Self::Deflate(deflate) => deflate.feed(input, sink),
            Self::Brotli(brotli) => brotli.feed(input, sink),
            Self::Zstd(zstd) => zstd.feed(input, sink),
        }
    }

    /// Whether a stream has begun and not ended.
    pub(super) fn is_inside(&self) -> bool {
        match self {
            Self::Gzip(inflate) | Self::Deflate(Deflate::Decided(inflate)) => inflate.progress == Progress::Inside,
            Self::Deflate(Deflate::Undecided(first)) => first.is_some(),
            Self::Brotli(brotli) => brotli.progress == Progress::Inside,
            Self::Zstd(zstd) => zstd.progress == Progress::Inside,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Untouched,
    Inside,
    Ended,
}

fn corrupt(encoding: Encoding, reason: impl ToString) -> DecodeError {
    DecodeError::Corrupt { encoding: encoding.name(), reason: reason.to_string() }
}

fn gzip_member() -> Decompress {
    Decompress::new_gzip(DEFLATE_WINDOW_BITS)
}

pub(super) struct Inflate {
    state: Decompress,
    progress: Progress,
}

impl Inflate {
    fn new(state: Decompress) -> Self {
        Self { state, progress: Progress::Untouched }
    }

    /// Decodes a gzip body, which may have several members in a row. Trailing bytes that do not look like a member are
    /// padding.
    fn feed_members(&mut self, input: &[u8], sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        let mut rest = input;
        while !rest.is_empty() {
            if self.progress == Progress::Ended {
                if rest.first() != Some(&GZIP_FIRST_BYTE) {
                    return Ok(());
                }
                *self = Self::new(gzip_member());
            }
            rest = self.feed(Encoding::Gzip, rest, sink)?;
        }
        Ok(())
    }

    /// Returns the bytes behind the end of the stream.
    fn feed<'a>(&mut self, encoding: Encoding, input: &'a [u8], sink: &mut Sink<'_>) -> Result<&'a [u8], DecodeError> {
        let mut piece = [0; PIECE];
        let mut rest = input;
        while self.progress != Progress::Ended {
            self.progress = Progress::Inside;
            let (read, written) = (self.state.total_in(), self.state.total_out());
            let status = self
                .state
                .decompress(rest, &mut piece, FlushDecompress::Sync)
                .map_err(|error| corrupt(encoding, error))?;
            let read = (self.state.total_in() - read) as usize;
            let written = (self.state.total_out() - written) as usize;
            rest = rest.get(read..).unwrap_or_default();
            sink(piece.get(..written).unwrap_or_default())?;
            if status == Status::StreamEnd {
                self.progress = Progress::Ended;
            } else if (read == 0 && written == 0) || (rest.is_empty() && written < PIECE) {
                return Ok(&[]);
            }
        }
        Ok(rest)
    }
}

/// `deflate` is zlib by the standard and bare deflate on some servers; the first two bytes distinguish them.
pub(super) enum Deflate {
    Undecided(Option<u8>),
    Decided(Inflate),
}

impl Deflate {
    fn feed(&mut self, input: &[u8], sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        if let Self::Undecided(first) = *self {
            let (held, second) = match (first, input) {
                (Some(first), [second, ..]) => ([first], *second),
                (None, [first, second, ..]) => ([*first], *second),
                _ => {
                    *self = Self::Undecided(input.first().copied());
                    return Ok(());
                }
            };
            let inflate = Inflate::new(Decompress::new(has_zlib_header(held[0], second)));
            *self = Self::Decided(inflate);
            if first.is_some() {
                self.feed(&held, sink)?;
            }
        }
        match self {
            Self::Decided(inflate) => inflate.feed(Encoding::Deflate, input, sink).map(|_padding| ()),
            Self::Undecided(_) => Ok(()),
        }
    }
}

/// RFC 1950: method 8, a window of at most 32 KiB, and a check that makes the pair a multiple of 31. Bare deflate looks
/// the same only if it begins with a stored block and odd padding bits.
fn has_zlib_header(first: u8, second: u8) -> bool {
    first & 0x0f == 8 && first >> 4 <= 7 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

pub(super) struct Brotli {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    progress: Progress,
    total_out: usize,
}

impl Brotli {
    fn new() -> Self {
        Self {
            // Strict: windows over 16 MiB are not part of the HTTP encoding.
            state: BrotliState::new_strict(
                StandardAlloc::default(),
                StandardAlloc::default(),
                StandardAlloc::default(),
            ),
            progress: Progress::Untouched,
            total_out: 0,
        }
    }

    fn feed(&mut self, input: &[u8], sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        let mut piece = [0; PIECE];
        let (mut available, mut offset) = (input.len(), 0);
        while self.progress != Progress::Ended {
            self.progress = Progress::Inside;
            let (mut space, mut written) = (PIECE, 0);
            let result = BrotliDecompressStream(
                &mut available,
                &mut offset,
                input,
                &mut space,
                &mut written,
                &mut piece,
                &mut self.total_out,
                &mut self.state,
            );
            sink(piece.get(..written).unwrap_or_default())?;
            match result {
                BrotliResult::NeedsMoreOutput => {}
                BrotliResult::NeedsMoreInput => return Ok(()),
                BrotliResult::ResultSuccess => self.progress = Progress::Ended,
                BrotliResult::ResultFailure => {
                    return Err(corrupt(Encoding::Brotli, "invalid data"));
                }
            }
        }
        Ok(())
    }
}

pub(super) struct Zstd {
    state: zstd::stream::raw::Decoder<'static>,
    progress: Progress,
}

impl Zstd {
    fn new() -> Result<Self, DecodeError> {
        let failed = |error: std::io::Error| corrupt(Encoding::Zstd, error);
        let mut state = zstd::stream::raw::Decoder::new().map_err(failed)?;
        state.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX)).map_err(failed)?;
        Ok(Self { state, progress: Progress::Untouched })
    }

    fn feed(&mut self, input: &[u8], sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        let mut piece = [0; PIECE];
        let mut rest = input;
        loop {
            let status = self.state.run_on_buffers(rest, &mut piece).map_err(|error| corrupt(Encoding::Zstd, error))?;
            rest = rest.get(status.bytes_read..).unwrap_or_default();
            sink(piece.get(..status.bytes_written).unwrap_or_default())?;
            // No remaining bytes mean that a frame is complete; another may follow.
            self.progress = match status.remaining {
                0 => Progress::Ended,
                _ => Progress::Inside,
            };
            let stuck = status.bytes_read == 0 && status.bytes_written == 0;
            let drained = status.bytes_written < PIECE || self.progress == Progress::Ended;
            if stuck || (rest.is_empty() && drained) {
                return Ok(());
            }
        }
    }
}
