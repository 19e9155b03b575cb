//! JSON as bytes: finds where values begin and end, and never rewrites them.
//!
//! Nothing here allocates a tree, and nothing here writes JSON. A [`Span`] is a range of the original bytes; the rest
//! of the program splices spans instead of re-serialising.

mod scan;
mod text;

pub use scan::{Elements, Member, Members, Span, Syntax, elements, members, value};
pub use text::{decode, key, key_is, string_value};
