//! A request as it leaves: ranges of what came, and bytes of ours, in order.

use crate::conversation::sent_parts::Part;
use ctx_wire::anthropic::context_management::{Kind, Splice};
use ctx_wire::body::Body;
use ctx_wire::compose::Segment;
use ctx_wire::{Insertion, Wire};
use std::ops::Range;

/// How a request leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    pub parts: Vec<Part>,
    /// Betas that the request needs beside those it names.
    pub betas: Vec<&'static str>,
    /// The provider is asked to drop thinking that does not fit.
    pub asks_to_drop: bool,
    /// How it leaves if the provider does not take what is asked beside the client.
    pub otherwise: Option<Box<Otherwise>>,
}

/// A request without what is asked of the provider beside the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Otherwise {
    /// What was asked.
    pub kinds: Vec<Kind>,
    pub model: Box<str>,
    /// `None`: as it came.
    pub outgoing: Option<Outgoing>,
}

impl Outgoing {
    pub fn of(parts: Vec<Part>) -> Outgoing {
        Outgoing { parts, betas: Vec::new(), asks_to_drop: false, otherwise: None }
    }

    /// All of so many bytes, as they came.
    pub fn whole(length: usize) -> Outgoing {
        Outgoing::of(vec![Part::Source(0..length)])
    }

    /// The request without any reasoning, where the wire can leave it out; `source`: what the client sent.
    pub fn without_reasoning(self, source: &[u8], wire: &'static dyn Wire) -> Option<Outgoing> {
        let mut sent = Vec::with_capacity(source.len());
        for part in &self.parts {
            sent.extend_from_slice(match part {
                Part::Source(range) => source.get(range.clone())?,
                Part::Made(bytes) => bytes,
            });
        }
        let without = wire.without_reasoning(&Body::parse(sent, wire).ok()?)?;
        Some(Outgoing { parts: vec![Part::Made(without)], ..self })
    }

    /// Asks the provider to drop thinking that does not fit, where the request thinks at all.
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

    /// Puts bytes in the place of some of the client's. False when those are not sent.
    pub fn splice(&mut self, Splice { at, bytes }: &Splice) -> bool {
        // What is inserted comes behind the byte before it.
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
