//! Recovery when the provider refuses sealed reasoning (R43): the same request without reasoning.

use super::item::{Item, Sort};
use super::rewrite::Rewrite;
use crate::answer::FirstEvent;
use crate::body::Body;
use crate::tap::fields::{pick, text};

/// Whether the provider could not verify or open the sealed reasoning of a request (R41, R42).
pub(super) fn is_unbound(status: u16, body: &[u8]) -> bool {
    let says = |words: &[u8]| memchr::memmem::find(body, words).is_some();
    let is_sealed = || says(b"encrypted content") || says(b"encrypted_content") || says(b"Encrypted content");
    status == 400
        && (says(b"invalid_encrypted_content")
            || (is_sealed() && (says(b"could not be") || says(b"not issued to this"))))
}

/// The meaning of an event at the beginning of a stream (R62). The announcements come before the input is read.
pub(super) fn first_event(data: &str) -> FirstEvent {
    let kind = pick(data, ["type"]).and_then(|[kind]| kind).and_then(text);
    match kind.as_deref() {
        Some("response.created" | "response.queued" | "response.in_progress") => FirstEvent::Announcement,
        Some("response.failed" | "error") if is_unbound(400, data.as_bytes()) => FirstEvent::Unbound,
        _ => FirstEvent::Answer,
    }
}

/// The body without reasoning and without item ids, all or nothing: half of it is refused again. `None` if it contains
/// no reasoning.
pub(super) fn without_reasoning(body: &Body) -> Option<Vec<u8>> {
    let (bytes, spans) = (body.bytes(), body.spans());
    let mut kept: Vec<Vec<u8>> = Vec::new();
    let mut dropped = 0;
    for span in spans.lead.iter().chain(&spans.messages) {
        let element = &bytes[span.clone()];
        let item = Item::read(element);
        match item.sort {
            Sort::Reasoning => dropped += 1,
            _ => kept.push(Rewrite::of(element, &item).done()),
        }
    }
    let (before, behind) = (&bytes[..spans.array.start], &bytes[spans.array.end..]);
    let list = kept.join(b",".as_slice());
    (dropped > 0).then(|| [before, b"[", &list, b"]", behind].concat())
}
