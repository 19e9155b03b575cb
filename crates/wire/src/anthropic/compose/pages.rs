//! The page limit of PDF documents (A83). Only synthetic documents are removed: the client is responsible for its own.

use super::plan::{Piece, Plan, pieces};
use super::{Input, Repair, spell};
use crate::anthropic::pdf;
use ctx_core::message::Kind;
use ctx_models::Models;

const MOST: u32 = 600;
/// The limit for a window of up to [`SMALL`] tokens.
const FEW: u32 = 100;
const SMALL: u64 = 200_000;

/// Removes synthetic documents beyond the limit, last ones first.
pub(super) fn repair(plan: &mut Plan<'_>) {
    let ours: Vec<u32> =
        (0..).zip(plan.made.iter()).filter(|(_, made)| made.kind == "document").map(|(at, _)| at).collect();
    if ours.is_empty() {
        return;
    }
    let mut left = most(plan.input).saturating_sub(own(plan));
    let mut gone: Vec<u32> = Vec::new();
    for at in ours {
        let json = plan.made.get(at as usize).map_or("", |made| &made.json);
        let pages = pages(json.as_bytes(), 0);
        match pages {
            Some(pages) if pages <= left => left -= pages,
            Some(pages) => {
                let what =
                    format!("a document of ours with {pages} pages is left out: the request has room for {left}");
                plan.repairs.push(Repair::new("A83", what));
                gone.push(at);
            }
            None => {
                plan.repairs.push(Repair::new("A83", "a document of ours is left out: it asks for a password"));
                gone.push(at);
            }
        }
    }
    let is_gone = |piece: &Piece| matches!(piece, Piece::Made(at) if gone.contains(at));
    for out in &mut plan.outs {
        out.pieces.iter_mut().for_each(|pieces| pieces.retain(|piece| !is_gone(piece)));
    }
    plan.outs.retain(|out| out.pieces.as_ref().is_none_or(|pieces| !pieces.is_empty()));
}

fn most(input: &Input<'_>) -> u32 {
    let model = input.envelope.model.as_deref().and_then(|name| Models::listed().of(name).model());
    match model.and_then(|model| model.window) {
        Some(window) if window > SMALL => MOST,
        _ => FEW,
    }
}

/// The pages of the client's sent documents.
fn own(plan: &Plan<'_>) -> u32 {
    let input = plan.input;
    let is_document = |message: u32, block: u32| {
        let message = input.messages.get(message as usize);
        message.and_then(|message| message.blocks.get(block as usize)).is_some_and(|b| b.kind == Kind::Document)
    };
    let sent = plan.outs.iter().flat_map(|out| pieces(input, out)).filter_map(|piece| match piece {
        Piece::Client { message, block, .. } if is_document(message, block) => Some((message, block)),
        _ => None,
    });
    let count = |(message, block): (u32, u32)| {
        let at = input.body.spans().messages.get(message as usize)?.start;
        match spell::content(input.body.bytes(), at, block as usize + 1) {
            spell::Content::List(list) => pages(input.body.bytes(), list.blocks.get(block as usize)?.start),
            _ => None,
        }
    };
    sent.filter_map(count).sum()
}

/// The pages of a document; zero without a PDF. `None`: it cannot be opened.
fn pages(bytes: &[u8], at: usize) -> Option<u32> {
    let Some(source) = spell::member(bytes, at, "source") else { return Some(0) };
    let source = source.value.start;
    if spell::text(bytes, source, "media_type").is_none_or(|kind| kind != "application/pdf") {
        return Some(0);
    }
    spell::text(bytes, source, "data").map_or(Some(0), |data| pdf::pages(&data))
}
