//! A leaving request: ranges of the client's body and inserted bytes, in order.

use crate::conversation::sent_parts::Part;
use ctx_wire::body::Body;
use ctx_wire::compose::Segment;
use ctx_wire::provider_edits::{Kind, Splice};
use ctx_wire::{Insertion, Wire};
use std::ops::Range;

/// A leaving request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingRequest {
    pub parts: Vec<Part>,
    /// Betas that the request needs beyond those it names.
    pub betas: Vec<&'static str>,
    /// The provider is asked to drop thinking that does not fit.
    pub asks_to_drop: bool,
    /// The fallback if the provider rejects the additional edits.
    pub otherwise: Option<Box<Otherwise>>,
}

/// A request without the additional edits asked of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Otherwise {
    /// The kinds of edits that were asked for.
    pub kinds: Vec<Kind>,
    pub model: Box<str>,
    /// `None`: unchanged.
    pub outgoing: Option<OutgoingRequest>,
}

impl OutgoingRequest {
    pub fn of(parts: Vec<Part>) -> OutgoingRequest {
        OutgoingRequest { parts, betas: Vec::new(), asks_to_drop: false, otherwise: None }
    }

    /// An unchanged body of this length.
    pub fn whole(length: usize) -> OutgoingRequest {
        OutgoingRequest::of(vec![Part::Source(0..length)])
    }

    /// The request without any reasoning, if the wire can omit it; `source`: the client's body.
    pub fn without_reasoning(self, source: &[u8], wire: &'static dyn Wire) -> Option<OutgoingRequest> {
        let mut sent = Vec::with_capacity(source.len());
        for part in &self.parts {
            sent.extend_from_slice(match part {
                Part::Source(range) => source.get(range.clone())?,
                Part::Made(bytes) => bytes,
            });
        }
        let without = wire.without_reasoning(&Body::parse(sent, wire).ok()?)?;
        Some(OutgoingRequest { parts: vec![Part::Made(without)], ..self })
    }

    /// Asks the provider to drop thinking that does not fit, if the request uses thinking.
    pub fn ask_to_drop(&mut self, body: &Body) {
        let Some(Insertion { at, bytes, beta }) = body.wire().drop_unbound(body) else { return };
        if self.splice(&Splice { at: at..at, bytes }) {
            self.name_beta(beta);
            self.asks_to_drop = true;
        }
    }

    pub fn name_beta(&mut self, beta: &'static str) {
        if !self.betas.contains(&beta) {
            self.betas.push(beta);
        }
    }

    /// Replaces some of the client's bytes. False if those are not sent.
    pub fn splice(&mut self, Splice { at, bytes }: &Splice) -> bool {
        // An insertion comes behind the byte before it.
        let has = |range: &Range<usize>| {
            let begins = if at.is_empty() { range.start < at.start } else { range.start <= at.start };
            begins && at.end <= range.end
        };
        let found = self.parts.iter().enumerate().find_map(|(index, part)| match part {
            Part::Source(range) if has(range) => Some((index, range.clone())),
            _ => None,
        });
        let Some((index, range)) = found else { return false };
        let parts = [Part::Source(range.start..at.start), Part::Made(bytes.clone()), Part::Source(at.end..range.end)];
        self.parts.splice(index..=index, parts);
        true
    }

    /// The whole body.
    pub fn bytes(&self, source: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(source.len());
        for part in &self.parts {
            match part {
                Part::Source(range) => out.extend_from_slice(source.get(range.clone()).unwrap_or_default()),
                Part::Made(bytes) => out.extend_from_slice(bytes),
            }
        }
        out
    }
}

impl From<Segment> for Part {
    fn from(segment: Segment) -> Part {
        match segment {
            Segment::Source(range) => Part::Source(range),
            Segment::Made(bytes) => Part::Made(bytes),
        }
    }
}
