//! JSON as bytes: where values begin and end, never what they would look like re-written.
//!
//! Nothing here allocates a tree, and nothing here writes JSON. A [`Span`] is a range of the
//! original bytes; that is all the rest of the program needs to splice instead of re-serialise.

mod scan;
mod text;

pub use scan::{Elements, Member, Members, Syntax, elements, members, value};
pub use text::{decode, string_value};

/// A range of bytes in the text that was scanned.
pub type Span = std::ops::Range<usize>;

/// Whether a raw key (without its quotes) spells `name`, escapes included.
pub fn key_is(raw: &[u8], name: &str) -> bool {
    raw == name.as_bytes() || (raw.contains(&b'\\') && decode(raw) == name)
}
