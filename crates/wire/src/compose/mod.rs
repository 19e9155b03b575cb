//! Turns a view into the bytes to send: the part shared by all wires.
//!
//! [`layout`] lays a view out as messages of pieces; each wire repairs what its provider would refuse and writes the
//! result as ranges of the client's bytes with synthetic bytes between them. A wire without bound reasoning implements
//! [`Dialect`] and calls [`compose()`] and [`go_on`].

mod composed;
pub(crate) mod continued;
pub(crate) mod dialect;
pub(crate) mod generic;
mod head;
mod input;
pub(crate) mod layout;
mod memo;
pub mod nameless;
pub(crate) mod opaque_pairs;
mod out;
mod pairs;
mod placement;
mod repair;
pub(crate) mod settled;
pub mod spell;
mod write;
pub(crate) mod writer;

pub use composed::{ComposedRequest, Segment, untouched_prefix};
pub use continued::go_on;
pub use dialect::{Dialect, Element, KeptBlock, MadeBlock, Plan, Tag};
pub use generic::compose;
pub use input::{Continuation, Input};
pub use memo::Memo;
pub(crate) use memo::Memory;
pub use out::{Out, Piece};
pub(crate) use placement::{HeadParts, MadeSources, Part};
pub use placement::{Placement, Places};
pub use repair::Repair;
