//! Finds the parts of a request in its bytes.
//!
//! The client resends its whole history on every turn. [`Body::advance`] therefore compares it with the previous
//! request, at memory speed or faster, and scans only the new part.

use crate::envelope::Envelope;
use crate::facts::Reading;
use crate::json::{self, Elements, Member, Members, Span, Syntax};
use crate::rope::{Piece, Pieces, append, concat, shared_prefix};
use crate::wire::Wire;
use ctx_core::Lexicon;
use std::sync::Arc;

/// Why a body cannot be parsed. It is still forwarded: the provider judges it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error(transparent)]
    Syntax(#[from] Syntax),
    #[error("the body is not a JSON object")]
    NotAnObject,
    #[error("the body has no `{0}` array")]
    NoMessages(&'static str),
    #[error("the body has `{0}` twice")]
    TwoMessages(&'static str),
    #[error("the body has more than {MOST_MESSAGES} messages, and the provider takes no more")]
    TooManyMessages,
    #[error("something follows the body's JSON at byte {0}")]
    Trailing(usize),
}

/// The provider refuses requests with more messages. Parsing them all would only delay other requests.
const MOST_MESSAGES: usize = 100_000;

/// The position of the history in a wire's body.
#[derive(Debug)]
pub struct Shape {
    /// The member with the list of messages.
    pub list: &'static str,
    /// Members that may hold the request, with the list, as an object of its own.
    pub wrapped_in: &'static [&'static str],
    /// Whether a message at the very beginning belongs to the system prompt instead of the history.
    pub leads: fn(&[u8]) -> bool,
    /// Whether a text may stand in the place of the list: one message of the user.
    pub lone_text: bool,
}

/// The spans of one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spans {
    /// The members of the request, in order, including the list of messages.
    pub members: Vec<Member>,
    /// The members around a wrapped request, without it.
    pub wrapper: Option<Vec<Member>>,
    /// The list of messages, brackets included.
    pub array: Span,
    /// The messages at its beginning that belong to the system prompt.
    pub lead: Vec<Span>,
    pub messages: Vec<Span>,
}

impl Spans {
    /// The value of a member; the last one, if there are two.
    pub fn member<'a>(&self, bytes: &'a [u8], name: &str) -> Option<(Span, &'a [u8])> {
        find(&self.members, bytes, name)
    }

    /// The value of a member around a wrapped request.
    pub fn wrapping<'a>(&self, bytes: &'a [u8], name: &str) -> Option<(Span, &'a [u8])> {
        find(self.wrapper.as_deref()?, bytes, name)
    }

    /// The bytes before the first message and behind the last one.
    pub fn envelope(&self) -> (std::ops::RangeTo<usize>, std::ops::RangeFrom<usize>) {
        let first = self.messages.first().map_or(self.array.start + 1, |span| span.start);
        let last = self.messages.last().map_or(first, |span| span.end);
        (..first, last..)
    }
}

fn find<'a>(members: &[Member], bytes: &'a [u8], name: &str) -> Option<(Span, &'a [u8])> {
    let is_named = |member: &&Member| bytes.get(member.key.clone()).is_some_and(|key| json::key_is(key, name));
    let found = members.iter().rfind(is_named)?;
    Some((found.value.clone(), bytes.get(found.value.clone())?))
}

/// After this many bytes, the thread yields the processor: some kernels do not preempt it.
const LONG: usize = 64 * 1024;

/// Parses a body from scratch.
pub fn parse(bytes: &[u8], shape: &'static Shape) -> Result<Spans, Unreadable> {
    let mut walk = json::members(bytes, 0).ok_or(Unreadable::NotAnObject)?;
    let mut parts = Parts::of(shape);
    parts.scan(bytes, &mut walk)?;
    parts.unwrap(bytes)?;
    parts.finish(bytes, walk.position())
}

struct Parts {
    shape: &'static Shape,
    members: Vec<Member>,
    wrapper: Option<Vec<Member>>,
    array: Option<Span>,
    lead: Vec<Span>,
    messages: Vec<Span>,
}

impl Parts {
    fn of(shape: &'static Shape) -> Parts {
        Parts { shape, members: Vec::new(), wrapper: None, array: None, lead: Vec::new(), messages: Vec::new() }
    }

    /// Reads a wrapped request, if the body itself has no list of messages.
    fn unwrap(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        if self.array.is_some() {
            return Ok(());
        }
        let request = self.shape.wrapped_in.iter().find_map(|name| find(&self.members, bytes, name));
        let Some((request, _)) = request else { return Ok(()) };
        let Some(mut walk) = json::members(bytes, request.start) else { return Ok(()) };
        let mut around = std::mem::take(&mut self.members);
        around.retain(|member| member.value != request);
        self.wrapper = Some(around);
        self.scan(bytes, &mut walk)
    }

    fn scan(&mut self, bytes: &[u8], walk: &mut Members<'_>) -> Result<(), Unreadable> {
        while let Some(next) = walk.next_key() {
            let (key, at) = next?;
            let is_messages = bytes.get(key.clone()).is_some_and(|key| json::key_is(key, self.shape.list));
            let value = match json::elements(bytes, at) {
                Some(elements) if is_messages => {
                    if self.array.is_some() {
                        return Err(Unreadable::TwoMessages(self.shape.list));
                    }
                    self.elements(bytes, at, elements)?
                }
                None if is_messages && self.shape.lone_text && bytes.get(at) == Some(&b'"') => {
                    if self.array.is_some() {
                        return Err(Unreadable::TwoMessages(self.shape.list));
                    }
                    let text = json::value(bytes, at)?;
                    self.array = Some(text.clone());
                    self.messages.push(text.clone());
                    text
                }
                _ => json::value(bytes, at)?,
            };
            walk.past(value.end);
            self.members.push(Member { key, value });
        }
        Ok(())
    }

    fn elements(&mut self, bytes: &[u8], start: usize, mut elements: Elements<'_>) -> Result<Span, Unreadable> {
        let mut rested = start;
        for element in &mut elements {
            let element = element?;
            if element.end - rested > LONG {
                std::thread::yield_now();
                rested = element.end;
            }
            let leads = || bytes.get(element.clone()).is_some_and(self.shape.leads);
            match self.messages.is_empty() && leads() {
                true => self.lead.push(element),
                false => push(&mut self.messages, element)?,
            }
        }
        let array = start..elements.position();
        self.array = Some(array.clone());
        Ok(array)
    }

    fn finish(self, bytes: &[u8], end: usize) -> Result<Spans, Unreadable> {
        let trailing = bytes.get(end..).unwrap_or_default().iter().position(|byte| !byte.is_ascii_whitespace());
        if let Some(offset) = trailing {
            return Err(Unreadable::Trailing(end + offset));
        }
        let array = self.array.ok_or(Unreadable::NoMessages(self.shape.list))?;
        let Parts { members, wrapper, lead, messages, .. } = self;
        Ok(Spans { members, wrapper, array, lead, messages })
    }
}

fn push(messages: &mut Vec<Span>, message: Span) -> Result<(), Unreadable> {
    if messages.len() == MOST_MESSAGES {
        return Err(Unreadable::TooManyMessages);
    }
    messages.push(message);
    Ok(())
}

/// A request's bytes with their spans; advances to the next request of the conversation.
#[derive(Debug)]
pub struct Body {
    wire: &'static dyn Wire,
    bytes: Vec<u8>,
    spans: Spans,
    /// The same bytes in pieces, or none: for comparison with the next body.
    in_pieces: Pieces,
}

/// The common part of two successive bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommonPart {
    /// Leading messages with the same bytes.
    pub messages: usize,
    /// Whether everything outside the list has the same bytes.
    pub envelope: bool,
}

impl Body {
    /// An empty body.
    pub fn empty(wire: &'static dyn Wire) -> Body {
        Body { wire, bytes: Vec::new(), spans: Spans::default(), in_pieces: Arc::default() }
    }

    pub fn parse(bytes: Vec<u8>, wire: &'static dyn Wire) -> Result<Body, Unreadable> {
        Ok(Body { wire, spans: parse(&bytes, wire.shape())?, bytes, in_pieces: Arc::default() })
    }

    /// Parses an arrived body.
    pub fn read(pieces: &Pieces, wire: &'static dyn Wire) -> Result<Body, Unreadable> {
        Ok(Body::parse(concat(pieces), wire)?.arrived_in(pieces))
    }

    fn arrived_in(mut self, pieces: &Pieces) -> Body {
        if pieces.is_long() {
            // The list of messages without its bracket, where it grows.
            self.in_pieces = pieces.with_end(self.spans.array.end - 1);
        }
        self
    }

    /// The pieces to compare the next body with while it arrives; none for a short one.
    pub fn in_pieces(&self) -> &Pieces {
        &self.in_pieces
    }

    pub fn wire(&self) -> &'static dyn Wire {
        self.wire
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn spans(&self) -> &Spans {
        &self.spans
    }

    /// Parses everything but the history.
    pub fn envelope(&self, lexicon: &Lexicon) -> Envelope {
        self.wire.envelope(&self.bytes, &self.spans, lexicon)
    }

    /// The client's working directory, if stated.
    pub fn folder(&self, lexicon: &Lexicon) -> Option<String> {
        self.wire.folder(&self.bytes, &self.spans, lexicon)
    }

    /// Parses a message.
    pub fn read_message(&self, index: usize, lexicon: &Lexicon) -> Reading {
        self.wire.read(self.message(index), lexicon)
    }

    pub fn message(&self, index: usize) -> &[u8] {
        self.spans.messages.get(index).and_then(|span| self.bytes.get(span.clone())).unwrap_or_default()
    }

    /// The number of leading bytes that `pieces` share with this body.
    pub fn common_prefix(&self, pieces: &[Piece]) -> usize {
        self.common_within(pieces, self.bytes.len())
    }

    /// The same, within the first `most` bytes. Shared pieces are not compared.
    fn common_within(&self, pieces: &[Piece], most: usize) -> usize {
        let both = self.in_pieces.iter().zip(pieces).take_while(|(old, new)| old.is(new));
        let (count, same) = both.fold((0, 0), |(count, same), (piece, _)| (count + 1, same + piece.as_ref().len()));
        let (old, new) = (self.bytes.get(same..most), pieces.get(count..));
        old.map_or(most, |old| same + shared_prefix(old, new.unwrap_or_default()))
    }

    /// Becomes the arrived body. On an error the body is lost.
    pub fn advance(self, pieces: &Pieces) -> Result<(Body, CommonPart), Unreadable> {
        let list: &[Piece] = pieces;
        let kept = self.common_prefix(list);
        let known = self.spans.messages.iter().take_while(|span| self.ends_within(span, kept)).count();
        let is_list = self.bytes.get(self.spans.array.start) == Some(&b'[');
        let (next, shared) =
            if known == 0 || !is_list { self.replace(concat(list)) } else { self.splice(list, kept, known) }?;
        Ok((next.arrived_in(pieces), shared))
    }

    /// Replaces a body whose beginning differs (another model, say): scans all of it, then compares the messages.
    fn replace(self, bytes: Vec<u8>) -> Result<(Body, CommonPart), Unreadable> {
        let next = Body::parse(bytes, self.wire)?;
        let messages = self.same_messages(&next);
        Ok((next, CommonPart { messages, envelope: false }))
    }

    /// Whether `span` ends within the first `kept` bytes whatever follows them: `1` could continue as `12`.
    fn ends_within(&self, span: &Span, kept: usize) -> bool {
        let closed = || matches!(self.bytes.get(span.end.wrapping_sub(1)), Some(b'}' | b']' | b'"'));
        span.end < kept || (span.end == kept && closed())
    }

    /// The number of leading messages with the same bytes in both.
    pub fn same_messages(&self, other: &Body) -> usize {
        let both = self.spans.messages.len().min(other.spans.messages.len());
        (0..both).take_while(|&index| self.message(index) == other.message(index)).count()
    }

    /// Whether `pieces` begin with the same bytes up to and including the first message.
    pub fn shares_history(&self, pieces: &[Piece]) -> bool {
        self.spans.messages.first().is_some_and(|first| self.common_within(pieces, first.end) == first.end)
    }

    /// The usual case: keeps the buffer up to `kept` and scans from the last known message on.
    fn splice(mut self, pieces: &[Piece], kept: usize, known: usize) -> Result<(Body, CommonPart), Unreadable> {
        let old_end = self.end_of_list().to_vec();
        let old_tail = self.bytes.split_off(kept);
        append(&mut self.bytes, pieces, kept);
        let bytes = &self.bytes;
        let old_array_end = self.spans.array.end;
        let (old_members, mut wrapper) = (self.spans.members, self.spans.wrapper);

        let (lead, mut messages) = (self.spans.lead, self.spans.messages);
        messages.truncate(known);
        let resume = messages.last().map_or(0, |span| span.end);
        let mut elements = Elements::resume(bytes, resume);
        for element in &mut elements {
            push(&mut messages, element?)?;
        }
        let array = self.spans.array.start..elements.position();

        let index = old_members.iter().position(|member| member.value.start == array.start).unwrap_or(0);
        let same_rest = match old_array_end.checked_sub(kept) {
            Some(at) => old_tail.get(at..) == bytes.get(array.end..),
            // The list itself was kept, so its end is unchanged.
            None => old_array_end == array.end && bytes.get(kept..) == Some(old_tail.as_slice()),
        };
        let mut members = old_members;
        let spans = if same_rest {
            // The same bytes after the same state give the same members, moved.
            members[index].value = array.clone();
            let around = wrapper.iter_mut().flatten().filter(|member| member.key.start >= old_array_end);
            for member in members.iter_mut().skip(index + 1).chain(around) {
                *member = Member {
                    key: moved(&member.key, old_array_end, array.end),
                    value: moved(&member.value, old_array_end, array.end),
                };
            }
            Spans { members, wrapper, array, lead, messages }
        } else if wrapper.is_some() {
            parse(bytes, self.wire.shape())?
        } else {
            members.truncate(index + 1);
            members[index].value = array.clone();
            let mut walk = Members::resume(bytes, array.end);
            let mut parts = Parts { shape: self.wire.shape(), members, wrapper, array: Some(array), lead, messages };
            parts.scan(bytes, &mut walk)?;
            parts.finish(bytes, walk.position())?
        };
        let next = Body { wire: self.wire, bytes: self.bytes, spans, in_pieces: Arc::default() };
        let envelope = same_rest && next.end_of_list() == old_end;
        Ok((next, CommonPart { messages: known, envelope }))
    }

    /// The white space behind the last message, and the bracket.
    fn end_of_list(&self) -> &[u8] {
        let from = self.spans.messages.last().map_or(self.spans.array.start, |last| last.end);
        self.bytes.get(from..self.spans.array.end).unwrap_or_default()
    }
}

fn moved(span: &Span, from: usize, to: usize) -> Span {
    span.start - from + to..span.end - from + to
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rope::Arriving;
    use proptest::prelude::*;

    use crate::anthropic::{Anthropic, SHAPE};
    use crate::gemini::Gemini;

    fn parse(bytes: &[u8]) -> Result<Spans, Unreadable> {
        super::parse(bytes, &SHAPE)
    }

    fn texts(body: &Body) -> Vec<&str> {
        (0..body.spans.messages.len()).map(|i| std::str::from_utf8(body.message(i)).unwrap()).collect()
    }

    #[test]
    fn finds_messages_and_members_in_any_spelling() {
        let text = br#" { "model" : "m" , "mess\u0061ges" : [ {"role":"user"} , 7 ] , "x" : 1e400 } "#;
        let body = Body::parse(text.to_vec(), &Anthropic).unwrap();
        assert_eq!(texts(&body), [r#"{"role":"user"}"#, "7"]);
        assert_eq!(body.spans.member(text, "x").unwrap().1, b"1e400");
        assert_eq!(&text[body.spans.envelope().0], br#" { "model" : "m" , "mess\u0061ges" : [ "#);
        assert_eq!(&text[body.spans.envelope().1], br#" ] , "x" : 1e400 } "#);
    }

    #[test]
    fn says_why_a_body_cannot_be_read() {
        assert_eq!(parse(b"[]"), Err(Unreadable::NotAnObject));
        assert_eq!(parse(b"{}"), Err(Unreadable::NoMessages("messages")));
        assert_eq!(parse(b"{\"messages\":3}"), Err(Unreadable::NoMessages("messages")));
        assert_eq!(parse(b"{\"messages\":[],\"messages\":[]}"), Err(Unreadable::TwoMessages("messages")));
        assert_eq!(parse(b"{\"messages\":[]} x"), Err(Unreadable::Trailing(16)));
        assert!(matches!(parse(b"{\"messages\":[{\"role\":"), Err(Unreadable::Syntax(_))));
        let with = |count: usize| parse(format!("{{\"messages\":[{}]}}", vec!["1"; count].join(",")).as_bytes());
        assert_eq!(with(MOST_MESSAGES).map(|request| request.messages.len()), Ok(MOST_MESSAGES));
        assert_eq!(with(MOST_MESSAGES + 1), Err(Unreadable::TooManyMessages));
    }

    /// A body with white space wherever it is allowed.
    fn spelled(head: &str, messages: &[String], tail: &str, space: &str, end: &str) -> Vec<u8> {
        let list = messages.join(&format!("{space},{space}"));
        format!("{space}{{{head}{space}\"messages\":[{space}{list}{end}]{tail}}}{space}").into_bytes()
    }

    /// The same as a wrapped request of Gemini.
    fn wrapped(bytes: &[u8], behind: &str) -> Vec<u8> {
        let request = String::from_utf8(bytes.to_vec()).unwrap().replace("\"messages\"", "\"contents\"");
        format!(r#"{{"model":"m", "request" :{request}{behind}}}"#).into_bytes()
    }

    /// All bytes, assembled from the envelope, the messages, and the separators.
    fn put_together(bytes: &[u8], request: &Spans) -> Vec<u8> {
        let (head, tail) = request.envelope();
        let mut out = bytes[head].to_vec();
        let mut at = head.end;
        for span in &request.messages {
            out.extend_from_slice(&bytes[at..span.start]);
            out.extend_from_slice(&bytes[span.clone()]);
            at = span.end;
        }
        out.extend_from_slice(&bytes[tail]);
        out
    }

    proptest! {
        /// Advancing equals parsing, for any two bodies and any chunking.
        #[test]
        fn advancing_equals_parsing(
            first in proptest::collection::vec("[a-c]{0,3}|[1-2]{1,3}", 0..6), second in proptest::collection::vec("[a-c]{0,3}|[1-2]{1,3}", 0..6),
            keep in 0..6usize, heads in prop::array::uniform2(0..2u8), tails in prop::array::uniform2(0..3u8),
            spaces in prop::array::uniform2(0..3u8), ends in prop::array::uniform2(0..3u8), chunk in 1..40usize, compared: bool,
            wraps: bool, behind in prop::array::uniform2(0..3u8),
        ) {
            let quote = |text: &String| if text.bytes().any(|byte| byte.is_ascii_digit()) { text.clone() } else { format!("{{\"t\":\"{text}\"}}") };
            let head = |n: u8| ["", "\"model\":\"m\","][usize::from(n)];
            let tail = |n: u8| ["", ",\"tools\":[1]", ",\"tools\":[22],\"z\":{\"messages\":[]}"][usize::from(n)];
            let space = |n: u8| ["", " ", "\n\t"][usize::from(n)];
            let old: Vec<String> = first.iter().map(quote).collect();
            let mut new = old[..keep.min(old.len())].to_vec();
            new.extend(second.iter().map(quote));
            let old_bytes = spelled(head(heads[0]), &old, tail(tails[0]), space(spaces[0]), space(ends[0]));
            let new_bytes = spelled(head(heads[1]), &new, tail(tails[1]), space(spaces[1]), space(ends[1]));
            let wrap = |bytes: Vec<u8>, n: u8| match wraps {
                true => wrapped(&bytes, ["", " ", ",\"project\":\"p\""][usize::from(n)]),
                false => bytes,
            };
            let (old_bytes, new_bytes) = (wrap(old_bytes, behind[0]), wrap(new_bytes, behind[1]));
            let wire: &'static dyn Wire = if wraps { &Gemini } else { &Anthropic };
            let mut old_body = Body::parse(old_bytes.clone(), wire).unwrap();
            let mut arriving = Arriving::alone();
            if compared {
                // While it passed.
                let mut whole = Arriving::alone();
                whole.push(&old_bytes);
                old_body.in_pieces = whole.finish().with_end(old_body.spans.array.end - 1);
                arriving = Arriving::after(old_body.in_pieces.clone());
            }
            new_bytes.chunks(chunk).for_each(|bytes| {
                arriving.push(bytes);
            });
            let pieces = arriving.finish();
            let old_request = old_body.spans.clone();
            let (body, shared) = old_body.advance(&pieces).unwrap();
            prop_assert_eq!(&body.bytes, &new_bytes);
            prop_assert_eq!(&body.spans, &super::parse(&new_bytes, wire.shape()).unwrap());
            prop_assert_eq!(put_together(&new_bytes, &body.spans), new_bytes.clone());
            prop_assert!(shared.messages <= new.len() && new[..shared.messages] == old[..shared.messages]);
            if shared.envelope {
                let ((old_head, old_tail), (head, tail)) = (old_request.envelope(), body.spans.envelope());
                prop_assert_eq!(&old_bytes[old_head], &new_bytes[head]);
                prop_assert_eq!(&old_bytes[old_tail], &new_bytes[tail]);
            }
            // A repetition is recognised as a whole.
            let (again, shared) = body.advance(&pieces).unwrap();
            prop_assert_eq!(&again.bytes, &new_bytes);
            prop_assert_eq!(shared.messages, if new.is_empty() { 0 } else { new.len() });
            prop_assert!(shared.envelope || new.is_empty());
        }

        #[test]
        fn never_panics_on_any_bytes(bytes in proptest::collection::vec(prop::sample::select(br#"{}[]",:\mesag1 "#.to_vec()), 0..60)) {
            let _ = parse(&bytes);
            let body = Body::parse(b"{\"messages\":[1,2]}".to_vec(), &Anthropic).unwrap();
            let _ = body.advance(&Arc::new(bytes.into()));
        }
    }
}
