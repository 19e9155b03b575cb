//! The feed: all records in an order that every replica agrees on, with a cursor that survives restarts.

use std::fmt;
use std::str::FromStr;

use crate::Records;

/// A part of the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feed {
    pub found: Records,
    /// The cursor behind the found records.
    pub next: Cursor,
}

/// A position in the feed. The default is its beginning, in every store.
///
/// Written as `EPOCH-TRANSACTION-SEQ`. Numbers are assigned before a transaction commits, so with several writers their
/// order is not the order in which records appear; the transaction puts them right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Identifies the store's history; 0 only at the beginning.
    pub(crate) epoch: u64,
    /// The transaction of the last record; 0 in a store with one writer.
    pub(crate) transaction: u64,
    pub(crate) seq: u64,
}

impl Cursor {
    /// Whether it is a position in the store of this epoch.
    pub(crate) fn is_of(&self, epoch: u64) -> bool {
        self.epoch == epoch || *self == Self::default()
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:x}-{}-{}", self.epoch, self.transaction, self.seq)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a position in the feed: it has the form EPOCH-TRANSACTION-SEQ")]
pub struct ParseCursorError;

impl FromStr for Cursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, ParseCursorError> {
        let parse = || {
            let mut parts = text.split('-');
            let epoch = u64::from_str_radix(parts.next()?, 16).ok()?;
            let (transaction, seq) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            parts.next().is_none().then_some(Self { epoch, transaction, seq })
        };
        parse().ok_or(ParseCursorError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_being_written_and_read() {
        let cursor = Cursor { epoch: 0xfe, transaction: 7, seq: u64::MAX };
        assert_eq!(cursor.to_string(), "fe-7-18446744073709551615");
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "1-2", "1-2-3-4", "x-1-1", "1--1", "1-2-x"] {
            assert_eq!(text.parse::<Cursor>(), Err(ParseCursorError), "{text}");
        }
    }
}
