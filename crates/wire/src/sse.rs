//! Reads Server-Sent Events from arbitrary chunks.
//!
//! Only the framing belongs here: line endings, field names, event borders. The provider's folder interprets events.
//! The reader never fails: it skips unusable parts and counts oversized ones.

use std::borrow::Cow;

/// The largest event kept in memory; a larger one is skipped and counted.
pub const EVENT_LIMIT: usize = 64 * 1024 * 1024;

/// Buffers that grew beyond this for one large event are released after it.
const KEPT_CAPACITY: usize = 16 * 1024;

/// One dispatched event. The name is empty if the stream gave none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    pub name: &'a str,
    pub data: &'a str,
}

/// An incremental reader: feed it chunks in order, and it passes complete events to a sink.
///
/// An event without its closing blank line is never dispatched, as the standard requires.
#[derive(Debug)]
pub struct Reader {
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a CR, so an LF that follows belongs to the same line end.
    after_carriage_return: bool,
    /// A byte order mark can only stand at the start of the first line.
    past_first_line: bool,
    overflow: Overflow,
    limit: usize,
    skipped: u64,
}

/// Whether the current event is too large, and if so, whether the current line has begun: only an empty line ends the
/// event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overflow {
    No,
    AtLineStart,
    InsideLine,
}

impl Default for Reader {
    fn default() -> Self {
        Self::with_limit(EVENT_LIMIT)
    }
}

impl Reader {
    pub fn new() -> Self {
        Self::default()
    }

    /// A reader that skips events larger than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_carriage_return: false,
            past_first_line: false,
            overflow: Overflow::No,
            limit,
            skipped: 0,
        }
    }

    /// The number of events skipped because of the limit.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Takes the next bytes of the stream and passes every completed event to `sink`.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let mut rest = bytes;
        loop {
            if self.after_carriage_return && !rest.is_empty() {
                self.after_carriage_return = false;
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.begin_line(rest);
                return;
            };
            let (line, ending) = rest.split_at(end);
            self.after_carriage_return = ending.first() == Some(&b'\r');
            rest = ending.get(1..).unwrap_or_default();
            self.end_line(line, sink);
        }
    }

    /// Keeps the part of an incomplete line.
    fn begin_line(&mut self, part: &[u8]) {
        if part.is_empty() {
            return;
        }
        if self.overflow == Overflow::No && !self.fits(part) {
            self.give_up_event();
        }
        match self.overflow {
            Overflow::No => self.line.extend_from_slice(part),
            _ => self.overflow = Overflow::InsideLine,
        }
    }

    fn end_line(&mut self, part: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        if self.overflow == Overflow::No && !self.fits(part) {
            self.give_up_event();
        }
        match self.overflow {
            Overflow::No if self.line.is_empty() => self.take_line(part, sink),
            Overflow::No => {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(part);
                self.take_line(&line, sink);
                line.clear();
                line.shrink_to(KEPT_CAPACITY);
                self.line = line;
            }
            Overflow::AtLineStart if part.is_empty() => {
                self.skipped += 1;
                self.overflow = Overflow::No;
            }
            _ => self.overflow = Overflow::AtLineStart,
        }
    }

    fn fits(&self, part: &[u8]) -> bool {
        self.name.len() + self.data.len() + self.line.len() + part.len() <= self.limit
    }

    fn give_up_event(&mut self) {
        // The caller has more of this line.
        self.overflow = Overflow::AtLineStart;
        self.past_first_line = true;
        self.line = Vec::new();
        self.name = Vec::new();
        self.data = Vec::new();
        self.has_data = false;
    }

    fn take_line(&mut self, line: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let mut line = line;
        if !self.past_first_line {
            self.past_first_line = true;
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(sink);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => {
                let (field, value) = line.split_at(colon);
                let value = value.get(1..).unwrap_or_default();
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        // A comment has an empty field name; `id` and `retry` are for reconnecting, which does not happen here.
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            _ => {}
        }
    }

    fn dispatch(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        if self.has_data {
            sink(Event { name: &lossy(&self.name), data: &lossy(&self.data) });
        }
        self.has_data = false;
        for buffer in [&mut self.name, &mut self.data] {
            buffer.clear();
            buffer.shrink_to(KEPT_CAPACITY);
        }
    }
}

/// `String::from_utf8_lossy` walks character by character; almost all events are valid, and checking
/// that is several times faster.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

#[cfg(test)]
mod tests;
