//! What the composer makes of the traffic it sees, from outside.

#[path = "../support/mod.rs"]
mod support;

mod nameless;
mod sides;
mod speaking;
mod untouched;
