//! Taking requests apart: never a panic, every span inside the bytes, and a body that is read as the
//! successor of another gives what reading it alone gives.
//!
//! An input is one body, or two with a byte `0xff` between them, which no JSON text holds.
#![no_main]

use ctx_wire::anthropic::{Anthropic, SHAPE};
use ctx_wire::body::{self, Body, Spans, Unreadable};
use ctx_wire::rope::Arriving;
use ctx_wire::{Wire, dress};
use libfuzzer_sys::fuzz_target;

const BETWEEN: u8 = 0xff;

fuzz_target!(|input: &[u8]| {
    let (before, body) = match input.iter().position(|byte| *byte == BETWEEN) {
        Some(at) => (Some(&input[..at]), &input[at + 1..]),
        None => (None, input),
    };
    let alone = body::parse(body, &SHAPE);
    match &alone {
        Ok(request) => look_at(body, request),
        Err(Unreadable::Syntax(_) | Unreadable::Trailing(_)) => assert!(!is_json(body)),
        Err(_) => {}
    }
    if let Some(before) = before.and_then(|before| Body::parse(before.to_vec(), &Anthropic).ok()) {
        let mut arriving = Arriving::after(before.in_pieces().clone());
        body.chunks(body.len() / 3 + 1).for_each(|bytes| {
            arriving.push(bytes);
        });
        match (before.advance(&arriving.finish()), alone) {
            (Ok((after, shared)), Ok(request)) => {
                assert_eq!(after.bytes(), body);
                assert_eq!(after.spans(), &request);
                assert!(shared.messages <= request.messages.len());
            }
            (after, alone) => assert!(after.is_err() && alone.is_err()),
        }
    }
});

fn look_at(body: &[u8], request: &Spans) {
    let _ = Anthropic.envelope(body, request, ctx_clients::lexicon());
    for span in &request.messages {
        let bytes = body.get(span.clone()).expect("a span inside the body");
        let cuts = Anthropic.read(bytes, ctx_clients::lexicon()).cuts;
        let (bare, worn) = dress::undress(bytes, &cuts);
        assert_eq!(dress::dress(&bare, &worn).as_deref(), Some(bytes));
    }
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}
