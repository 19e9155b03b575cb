//! Recovery when the provider refuses a signature (G35): the same request without signatures.

use super::turns;
use crate::body::Body;

/// Whether the provider refused or missed a signature.
pub(super) fn is_unbound(status: u16, body: &[u8]) -> bool {
    let says = |words: &[u8]| memchr::memmem::find(body, words).is_some();
    status == 400 && (says(b"thought signature") || says(b"Thought signature") || says(b"thought_signature"))
}

/// The body without the model's signatures. `None` if that changes nothing.
pub(super) fn without_reasoning(body: &Body) -> Option<Vec<u8>> {
    let (bytes, spans) = (body.bytes(), body.spans());
    let contents: Vec<&[u8]> = (0..spans.messages.len()).map(|at| body.message(at)).collect();
    let list = turns::resigned(&contents);
    if list.iter().map(Vec::as_slice).eq(contents) {
        return None;
    }
    let list = list.join(b",".as_slice());
    Some([&bytes[..spans.array.start], b"[", &list, b"]", &bytes[spans.array.end..]].concat())
}
