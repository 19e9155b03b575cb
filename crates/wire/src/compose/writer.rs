//! Collects the segments of a composed body.

use super::Segment;
use super::dialect::Element;
use crate::body::Spans;
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

/// The array of the history, while it is written. Neighbours keep their separators.
pub(crate) struct ArrayWriter<'s> {
    spans: &'s Spans,
    pub writer: Writer,
    /// The client's index of the element written last; none for a synthetic one.
    pub before: Option<Option<usize>>,
}

impl<'s> ArrayWriter<'s> {
    /// Begins the array, its bracket included.
    pub fn begin(spans: &'s Spans) -> ArrayWriter<'s> {
        let mut writer = Writer::default();
        let first = span(spans, 0).map_or(spans.array.end - 1, |first| first.start);
        writer.source(spans.array.start..first);
        ArrayWriter { spans, writer, before: None }
    }

    /// Goes on behind elements that are written already.
    pub fn behind(spans: &'s Spans, segments: &[Segment], before: Option<usize>) -> ArrayWriter<'s> {
        ArrayWriter { spans, writer: Writer(segments.to_vec()), before: Some(before) }
    }

    pub fn elements(&mut self, elements: &[Element]) {
        for element in elements {
            let own = element.own();
            if let Some(before) = self.before {
                let gap = own.zip(before).filter(|(own, before)| before + 1 == *own);
                match gap.and_then(|(own, before)| Some(span(self.spans, before)?.end..span(self.spans, own)?.start)) {
                    Some(gap) => self.writer.source(gap),
                    None => self.writer.made(b","),
                }
            }
            match element {
                Element::Source(at) => {
                    span(self.spans, *at).into_iter().for_each(|span| self.writer.source(span.clone()))
                }
                Element::Made(bytes) => self.writer.made(bytes),
            }
            self.before = Some(own);
        }
    }

    /// Ends the array, its bracket included.
    pub fn end(mut self) -> Writer {
        let last = self.spans.messages.last().or(self.spans.lead.last());
        self.writer.source(last.map_or(self.spans.array.end - 1, |last| last.end)..self.spans.array.end);
        self.writer
    }
}

/// An element of the client's array, by its index.
pub(crate) fn span(spans: &Spans, at: usize) -> Option<&Span> {
    let behind = at.checked_sub(spans.lead.len());
    behind.map_or_else(|| spans.lead.get(at), |at| spans.messages.get(at))
}
