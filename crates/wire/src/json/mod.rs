//! JSON as bytes: finds where values begin and end, and never rewrites them.
//!
//! Nothing here allocates a tree, and nothing here writes JSON. A [`Span`] is a range of the original bytes; the rest
//! of the program splices spans instead of re-serialising.

mod scan;
mod text;

pub use scan::{Elements, Member, Members, Syntax, elements, members, value};
pub use text::{decode, string_value};

/// A byte range in the scanned text.
pub type Span = std::ops::Range<usize>;

/// Whether a raw key (without quotes) spells `name`, considering escapes.
pub fn key_is(raw: &[u8], name: &str) -> bool {
    raw == name.as_bytes() || (raw.contains(&b'\\') && decode(raw) == name)
}
