//! Several daemons on one database, in one process. Any request may pass through any of them.

#[path = "../support/mod.rs"]
mod support;

mod away;
mod checker;
mod early;
mod edits;
mod retention;
mod stage;
