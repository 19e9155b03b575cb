//! Cache breakpoints that a request sets itself: members of one name, which differs between the formats.

use crate::body::Body;
use crate::envelope::Envelope;
use crate::json;
use ctx_models::cache::Breakpoints;

/// Whether these bytes hold a breakpoint. `name`: that of the member, in quotes.
pub(crate) fn is_marked(bytes: &[u8], name: &[u8]) -> bool {
    memchr::memmem::find_iter(bytes, name).any(|at| is_set(bytes, at + name.len()))
}

/// The value of the first breakpoint in these bytes.
pub(crate) fn value<'b>(bytes: &'b [u8], name: &[u8]) -> Option<&'b [u8]> {
    let behind = memchr::memmem::find_iter(bytes, name).map(|at| at + name.len()).find(|at| is_set(bytes, *at))?;
    let start = behind + bytes.get(behind..)?.iter().position(|byte| *byte == b'{')?;
    bytes.get(json::value(bytes, start).ok()?)
}

/// Whether the value behind a name is a breakpoint; `null` is not.
fn is_set(bytes: &[u8], behind: usize) -> bool {
    let value = bytes.get(behind..).unwrap_or_default();
    value.iter().copied().find(|byte| !byte.is_ascii_whitespace() && *byte != b':') == Some(b'{')
}

/// Whether the tools or the system prompt have a breakpoint.
pub(crate) fn is_head_marked(body: &Body, envelope: &Envelope, name: &[u8]) -> bool {
    let pieces = envelope.system.iter().chain(envelope.tools.iter().flatten());
    let mut bytes = pieces.filter_map(|piece| body.bytes().get(piece.at.clone()));
    bytes.any(|bytes| is_marked(bytes, name))
}

/// The cache breakpoints of a request.
pub(crate) fn breakpoints(body: &Body, envelope: &Envelope, name: &[u8]) -> Breakpoints {
    let (bytes, messages) = (body.bytes(), &body.spans().messages);
    let mut marks = Breakpoints::default();
    // A quote inside a text is escaped, so this is a name.
    for at in memchr::memmem::find_iter(bytes, name).filter(|at| is_set(bytes, at + name.len())) {
        let behind = messages.partition_point(|message| message.end <= at);
        let inside = messages.get(behind).is_some_and(|message| message.start <= at);
        let mut pieces = envelope.system.iter().chain(envelope.tools.iter().flatten());
        if inside {
            marks.messages.push(behind);
        } else if pieces.any(|piece| piece.at.contains(&at)) {
            marks.head = true;
        } else {
            // The provider sets one at the end itself.
            marks.messages.extend(messages.len().checked_sub(1));
        }
    }
    marks.messages.sort_unstable();
    marks.messages.dedup();
    marks
}
