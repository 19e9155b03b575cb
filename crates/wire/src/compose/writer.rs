//! Collects the segments of a composed body.

use super::Segment;
use super::dialect::Element;
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

/// Writes the array of the history, brackets included. Neighbours keep their separators.
pub(crate) fn array(writer: &mut Writer, array: &Span, all: &[&Span], elements: &[Element]) {
    // A text in the place of the list has no brackets; another list needs them.
    let is_text = all.first().is_some_and(|first| *first == array);
    let is_own = matches!(elements, [Element::Source(0)]);
    if is_text && !is_own {
        writer.made(b"[");
    }
    let first = all.first().map_or(array.end - 1, |first| first.start);
    writer.source(array.start..first);
    let mut before: Option<Option<usize>> = None;
    for element in elements {
        let own = match element {
            Element::Source(at) => Some(*at),
            Element::Made(_) => None,
        };
        if let Some(before) = before {
            let gap = own.zip(before).filter(|(own, before)| before + 1 == *own);
            match gap.and_then(|(own, before)| Some(all.get(before)?.end..all.get(own)?.start)) {
                Some(gap) => writer.source(gap),
                None => writer.made(b","),
            }
        }
        match element {
            Element::Source(at) => all.get(*at).into_iter().for_each(|span| writer.source((*span).clone())),
            Element::Made(bytes) => writer.made(bytes),
        }
        before = Some(own);
    }
    let last = all.last().map_or(array.end - 1, |last| last.end);
    writer.source(last..array.end);
    if is_text && !is_own {
        writer.made(b"]");
    }
}
