//! A body in pieces that successive bodies share.
//!
//! A client resends its whole history on every turn. [`Arriving`] compares it with the previous request while it
//! passes: equal parts are neither copied nor compared again, because two bodies with the same piece are equal there.

use memchr::memmem::find;
use std::ops::Deref;
use std::sync::Arc;

/// The size of a piece. Shorter ones share more, longer ones are fewer.
const PIECE: usize = 16 * 1024;

/// Shorter bodies are compared faster than their pieces are managed.
const LONG: usize = 64 * 1024;

/// The number of first bytes by which the end of a body is recognised.
const MARK: usize = 64;

/// Immutable bytes of a body.
#[derive(Debug, Clone)]
pub struct Piece(Arc<Vec<u8>>);

impl Piece {
    /// Whether both are the very same bytes in memory.
    pub fn is(&self, other: &Piece) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<Vec<u8>> for Piece {
    fn from(bytes: Vec<u8>) -> Piece {
        Piece(Arc::new(bytes))
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A whole body, for comparison with the next one.
#[derive(Debug, Default)]
pub struct Whole {
    pieces: Vec<Piece>,
    /// The piece that begins the end, the part behind the messages: it moves, but is repeated.
    end: usize,
}

/// A whole body as it arrived.
pub type Pieces = Arc<Whole>;

impl Deref for Whole {
    type Target = [Piece];

    fn deref(&self) -> &[Piece] {
        &self.pieces
    }
}

impl FromIterator<Piece> for Whole {
    fn from_iter<I: IntoIterator<Item = Piece>>(pieces: I) -> Whole {
        let pieces: Vec<Piece> = pieces.into_iter().collect();
        Whole { end: pieces.len(), pieces }
    }
}

impl From<Vec<u8>> for Whole {
    fn from(bytes: Vec<u8>) -> Whole {
        Whole { pieces: vec![bytes.into()], end: 1 }
    }
}

impl Whole {
    /// Whether it is long enough for comparison while the next one passes.
    pub fn is_long(&self) -> bool {
        self.pieces.iter().map(|piece| piece.as_ref().len()).sum::<usize>() >= LONG
    }

    /// Whether the start of its end is known.
    pub fn has_end(&self) -> bool {
        self.end < self.pieces.len()
    }

    /// Whether one was compared with the other, or both with a third.
    pub fn is_akin(&self, other: &Whole) -> bool {
        self.pieces.first().zip(other.pieces.first()).is_some_and(|(one, other)| one.is(other))
    }

    /// The same body with an end that begins at `grown`, where the messages end.
    pub fn with_end(self: &Arc<Self>, grown: usize) -> Pieces {
        let mut at = 0;
        for (index, piece) in self.pieces.iter().enumerate() {
            let bytes = piece.as_ref();
            if at == grown && index == self.end {
                return self.clone();
            }
            if grown < at + bytes.len() {
                let (first, second) = bytes.split_at(grown - at);
                let mut pieces = self.pieces.get(..index).unwrap_or_default().to_vec();
                if !first.is_empty() {
                    pieces.push(first.to_vec().into());
                }
                let end = pieces.len();
                let mut second = second.to_vec();
                let mut rest = self.pieces.get(index + 1..).unwrap_or_default();
                if let Some((next, later)) = rest.split_first().filter(|_| second.len() < MARK) {
                    second.extend_from_slice(next.as_ref());
                    rest = later;
                }
                pieces.push(second.into());
                pieces.extend_from_slice(rest);
                return Arc::new(Whole { pieces, end });
            }
            at += bytes.len();
        }
        self.clone()
    }

    /// The first bytes of the end; none if they are too common.
    fn mark(&self) -> &[u8] {
        self.pieces.get(self.end).and_then(|piece| piece.as_ref().get(..MARK)).unwrap_or_default()
    }
}

/// An arriving body, compared with the previous one.
#[derive(Debug, Default)]
pub struct Arriving {
    before: Pieces,
    /// The expected next piece of `before`.
    next: usize,
    /// The matched length of that piece; `None` while the bodies differ.
    same: Option<usize>,
    pieces: Vec<Piece>,
    /// The piece being copied.
    open: Vec<u8>,
    /// The position at which the end of the previous body was recognised.
    end: Option<usize>,
}

impl Arriving {
    /// Nothing to compare with: everything is copied.
    pub fn alone() -> Arriving {
        Arriving::default()
    }

    pub fn after(before: Pieces) -> Arriving {
        Arriving { before, same: Some(0), ..Arriving::default() }
    }

    /// Takes the next bytes; returns how many were copied.
    pub fn push(&mut self, mut bytes: &[u8]) -> usize {
        let mut copied = 0;
        while !bytes.is_empty() {
            let Some(same) = self.same else {
                let (now, later) = bytes.split_at(bytes.len().min(PIECE.saturating_sub(self.open.len())));
                let again = self.copy(now);
                copied += now.len() - again;
                bytes = bytes.get(now.len() - again..).unwrap_or(later);
                continue;
            };
            let Some(piece) = self.before.pieces.get(self.next) else {
                self.same = None;
                continue;
            };
            let old = piece.as_ref().get(same..).unwrap_or_default();
            let more = common_prefix(old, bytes);
            bytes = bytes.get(more..).unwrap_or_default();
            if more == old.len() {
                if self.next == self.before.end {
                    self.end = Some(self.pieces.len());
                }
                self.pieces.push(piece.clone());
                self.next += 1;
                self.same = Some(0);
            } else if bytes.is_empty() {
                self.same = Some(same + more);
            } else {
                copied += self.part_ways(same + more);
            }
        }
        copied
    }

    /// The bodies differ from here on, perhaps up to their common end.
    fn part_ways(&mut self, same: usize) -> usize {
        let beginning = self.before.pieces.get(self.next).and_then(|piece| piece.as_ref().get(..same));
        self.open.extend_from_slice(beginning.unwrap_or_default());
        self.same = None;
        if self.next < self.before.end || (self.next == self.before.end && same < MARK) {
            self.next = self.before.end;
        } else {
            // No longer needed.
            self.before = Arc::default();
        }
        same
    }

    /// Copies; returns how many of the last bytes to examine again, because they may be the common end.
    fn copy(&mut self, bytes: &[u8]) -> usize {
        let mark = self.before.mark();
        let from = self.open.len().saturating_sub(mark.len().saturating_sub(1));
        self.open.extend_from_slice(bytes);
        let found = if mark.is_empty() { None } else { find(self.open.get(from..).unwrap_or_default(), mark) };
        if let Some(at) = found.map(|at| from + at) {
            let again = self.open.len() - at - mark.len();
            self.same = Some(mark.len());
            self.open.truncate(at);
            self.close();
            return again;
        }
        if self.open.len() >= PIECE {
            self.close();
        }
        0
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.pieces.push(std::mem::take(&mut self.open).into());
        }
    }

    /// The whole body, after its last byte.
    pub fn finish(mut self) -> Pieces {
        if let Some(same) = self.same.filter(|same| *same > 0) {
            self.part_ways(same);
        }
        self.open.shrink_to_fit();
        self.close();
        let end = self.end.unwrap_or(self.pieces.len());
        Arc::new(Whole { pieces: self.pieces, end })
    }
}

/// All pieces as one.
pub fn concat<C: AsRef<[u8]>>(pieces: &[C]) -> Vec<u8> {
    let mut out = Vec::with_capacity(pieces.iter().map(|piece| piece.as_ref().len()).sum());
    append(&mut out, pieces, 0);
    out
}

/// Appends everything behind the first `skip` bytes.
pub(crate) fn append<C: AsRef<[u8]>>(out: &mut Vec<u8>, pieces: &[C], mut skip: usize) {
    for piece in pieces {
        let piece = piece.as_ref();
        out.extend_from_slice(piece.get(skip..).unwrap_or_default());
        skip = skip.saturating_sub(piece.len());
    }
}

/// The number of leading bytes of `pieces` that equal `bytes`.
pub(crate) fn shared_prefix<C: AsRef<[u8]>>(bytes: &[u8], pieces: &[C]) -> usize {
    let mut kept = 0;
    for piece in pieces {
        let (old, new) = (bytes.get(kept..).unwrap_or_default(), piece.as_ref());
        let same = common_prefix(old, new);
        kept += same;
        if same < new.len() {
            break;
        }
    }
    kept
}

/// Compares in ever smaller steps that `==` turns into a memcmp.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let both = a.len().min(b.len());
    let mut at = 0;
    for step in [4096, 256, 16, 1] {
        while at + step <= both && a[at..at + step] == b[at..at + step] {
            at += step;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_difference_is_found_wherever_it_is() {
        let long: Vec<u8> = (0..20_000u32).map(|n| n as u8).collect();
        for at in (0..long.len()).step_by(37).chain([0, 1, 15, 16, 255, 256, 4095, 4096, 8192, 19_999]) {
            let mut other = long.clone();
            other[at] ^= 1;
            assert_eq!(common_prefix(&long, &other), at);
            assert_eq!(common_prefix(&long[..at], &other), at);
        }
        assert_eq!(common_prefix(&long, &long), long.len());
    }

    fn arrive(mut arriving: Arriving, body: &[u8], chunk: usize) -> (Pieces, usize) {
        let copied = body.chunks(chunk).map(|bytes| arriving.push(bytes)).sum();
        (arriving.finish(), copied)
    }

    #[test]
    fn a_repeat_copies_nothing_and_a_longer_body_only_what_is_new() {
        let (grown, end): (Vec<u8>, Vec<u8>) = ((0..250_000u32).map(|n| (n / 7) as u8).collect(), vec![b'e'; 100_000]);
        let body = [&*grown, b"ND", &end].concat();
        let (first, copied) = arrive(Arriving::alone(), &body, 10_000);
        assert_eq!((concat(&first), copied), (body.clone(), body.len()));
        let before = first.with_end(grown.len());
        assert_eq!(concat(&before), body);
        let (again, copied) = arrive(Arriving::after(before.clone()), &body, 7_777);
        assert_eq!((concat(&again), copied), (body.clone(), 0));
        assert!(before.iter().zip(again.iter()).all(|(one, other)| one.is(other)));

        for chunk in [13, 100, 4_321, 1_000_000] {
            let longer = [&*grown, &[0xff; 3000], b"ND", &end].concat();
            let (next, copied) = arrive(Arriving::after(before.clone()), &longer, chunk);
            assert_eq!(concat(&next), longer);
            assert!(copied <= 3000 + PIECE + MARK, "{copied}");
            let shared = next.iter().filter(|new| first.iter().any(|old| old.is(new))).count();
            assert!(shared >= 300_000 / PIECE, "{shared}");
        }
    }

    proptest! {
        /// All bytes arrive, for any previous body and any chunking.
        #[test]
        fn every_body_arrives_whole(
            before in proptest::collection::vec(proptest::collection::vec(0..2u8, 0..9), 0..5),
            keep in 0..30usize, new in proptest::collection::vec(0..2u8, 0..20), chunk in 1..120usize,
            grown in 0..60usize, end in 0..200usize, differs in 0..400usize,
        ) {
            let old = before.concat();
            let common: Vec<u8> = (0..end).map(|at| b'a' + (at % 26) as u8).collect();
            let mut body = [&old[..keep.min(old.len())], &new, &common].concat();
            if let Some(byte) = body.get_mut(differs) {
                *byte ^= 1;
            }
            let mut pieces: Vec<Piece> = before.into_iter().map(Piece::from).collect();
            pieces.extend(common.chunks(70).map(|bytes| Piece::from(bytes.to_vec())));
            let arrived = Arc::new(Whole { end: pieces.len(), pieces });
            let before = arrived.with_end(if grown < 30 { old.len() } else { grown });
            prop_assert_eq!(concat(&before), [old, common].concat());
            let (pieces, _) = arrive(Arriving::after(before), &body, chunk);
            prop_assert_eq!(concat(&pieces), body);
        }
    }
}
