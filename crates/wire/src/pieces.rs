//! A body in pieces, which successive bodies share as far as they are equal.
//!
//! A client sends its whole history again on every turn. [`Arriving`] compares it with the request before
//! while it passes: what is equal is not copied and looked at no second time, for two bodies that hold the
//! very same piece need not be compared there again.

use std::sync::Arc;

/// How long a piece becomes. Shorter ones share more, longer ones are fewer.
const PIECE: usize = 32 * 1024;

/// Some bytes of a body, never changed.
#[derive(Debug, Clone)]
pub struct Piece(Arc<Vec<u8>>);

/// All pieces of a body, in order.
pub type Pieces = Arc<Vec<Piece>>;

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

/// A body on its way, beside the one before it.
#[derive(Debug, Default)]
pub struct Arriving {
    before: Pieces,
    /// How much of the next piece of `before` has come again; `None` from the first difference on.
    same: Option<usize>,
    pieces: Vec<Piece>,
    /// The piece that is being copied.
    open: Vec<u8>,
}

impl Arriving {
    /// Nothing to compare with: all of it is copied.
    pub fn alone() -> Arriving {
        Arriving::default()
    }

    pub fn after(before: Pieces) -> Arriving {
        Arriving { before, same: Some(0), ..Arriving::default() }
    }

    /// Takes in the next bytes and tells how many had to be copied.
    pub fn push(&mut self, mut bytes: &[u8]) -> usize {
        let mut copied = 0;
        while !bytes.is_empty() {
            let Some(same) = self.same else { return copied + self.copy(bytes) };
            let Some(piece) = self.before.get(self.pieces.len()) else {
                self.same = None;
                continue;
            };
            let old = piece.as_ref().get(same..).unwrap_or_default();
            let more = common_prefix(old, bytes);
            bytes = bytes.get(more..).unwrap_or_default();
            if more == old.len() {
                self.pieces.push(piece.clone());
                self.same = Some(0);
            } else if bytes.is_empty() {
                self.same = Some(same + more);
            } else {
                copied += self.part_ways(same + more);
            }
        }
        copied
    }

    /// From here on the bodies differ: the beginning of the piece is copied, and so is all that follows.
    fn part_ways(&mut self, same: usize) -> usize {
        let beginning = self.before.get(self.pieces.len()).and_then(|piece| piece.as_ref().get(..same));
        self.open.extend_from_slice(beginning.unwrap_or_default());
        self.same = None;
        // The body before is no longer needed.
        self.before = Pieces::default();
        same
    }

    fn copy(&mut self, mut bytes: &[u8]) -> usize {
        let all = bytes.len();
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE.saturating_sub(self.open.len())));
            self.open.extend_from_slice(now);
            bytes = later;
            if self.open.len() >= PIECE {
                self.pieces.push(std::mem::take(&mut self.open).into());
            }
        }
        all
    }

    /// The whole body, once its last byte has come.
    pub fn finish(mut self) -> Pieces {
        if let Some(same) = self.same.filter(|same| *same > 0) {
            self.part_ways(same);
        }
        if !self.open.is_empty() {
            self.open.shrink_to_fit();
            self.pieces.push(self.open.into());
        }
        Arc::new(self.pieces)
    }
}

/// All pieces as one.
pub fn concat<C: AsRef<[u8]>>(pieces: &[C]) -> Vec<u8> {
    let mut out = Vec::with_capacity(pieces.iter().map(|piece| piece.as_ref().len()).sum());
    append(&mut out, pieces, 0);
    out
}

/// Adds what stands behind the first `skip` bytes.
pub(crate) fn append<C: AsRef<[u8]>>(out: &mut Vec<u8>, pieces: &[C], mut skip: usize) {
    for piece in pieces {
        let piece = piece.as_ref();
        out.extend_from_slice(piece.get(skip..).unwrap_or_default());
        skip = skip.saturating_sub(piece.len());
    }
}

/// How many leading bytes of `pieces` are the same as in `bytes`.
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

/// Compares in steps that `==` turns into a memcmp, ever smaller ones.
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
    fn a_repeat_copies_nothing_and_a_longer_body_only_from_the_first_difference_on() {
        let body: Vec<u8> = (0..300_000u32).map(|n| (n / 7) as u8).collect();
        let (first, copied) = arrive(Arriving::alone(), &body, 10_000);
        assert_eq!((concat(&first), copied), (body.clone(), body.len()));
        let (again, copied) = arrive(Arriving::after(first.clone()), &body, 7_777);
        assert_eq!((concat(&again), copied), (body.clone(), 0));
        assert!(first.iter().zip(again.iter()).all(|(one, other)| one.is(other)));

        let mut longer = body.clone();
        longer.splice(250_000.., [0xff; 100_000]);
        let (next, copied) = arrive(Arriving::after(first.clone()), &longer, 4_321);
        assert_eq!(concat(&next), longer);
        assert!(copied <= 100_000 + PIECE, "{copied}");
        assert_eq!(first.iter().zip(next.iter()).filter(|(one, other)| one.is(other)).count(), 250_000 / PIECE);
    }

    proptest! {
        /// Whatever came before, in pieces of whatever length, and however it arrives: all bytes are there.
        #[test]
        fn every_body_arrives_whole(
            before in proptest::collection::vec(proptest::collection::vec(0..2u8, 0..9), 0..5),
            keep in 0..30usize, new in proptest::collection::vec(0..2u8, 0..20), chunk in 1..12usize,
        ) {
            let old = before.concat();
            let body = [&old[..keep.min(old.len())], &new].concat();
            let before: Pieces = Arc::new(before.into_iter().map(Piece::from).collect());
            let (pieces, _) = arrive(Arriving::after(before), &body, chunk);
            prop_assert_eq!(concat(&pieces), body);
        }
    }
}
