//! Collects the segments of a composed body.

use super::Segment;
use crate::json::Span;

/// Collects segments; adjacent ranges become one.
#[derive(Default)]
pub(crate) struct Writer(pub Vec<Segment>);

impl Writer {
    pub fn source(&mut self, range: Span) {
        if range.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(Segment::Source(last)) if last.end == range.start => last.end = range.end,
            _ => self.0.push(Segment::Source(range)),
        }
    }

    pub fn made(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Segment::Made(last)) => last.extend_from_slice(bytes),
            _ => self.0.push(Segment::Made(bytes.to_vec())),
        }
    }

    pub fn append(&mut self, other: Writer) {
        let mut segments = other.0.into_iter();
        match segments.next() {
            Some(Segment::Source(range)) => self.source(range),
            Some(Segment::Made(bytes)) => self.made(&bytes),
            None => {}
        }
        self.0.extend(segments);
    }
}
