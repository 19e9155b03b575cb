//! What the service makes of the traffic it sees, from outside.

#[path = "../support/mod.rs"]
mod support;

mod agents;
mod automatic;
mod compaction;
mod damage;
mod day;
mod editor;
mod failing;
mod figures;
mod frames;
mod keeping;
mod nameless;
mod recorder;
mod restarting;
mod returning;
mod rewritten;
mod sent;
mod sides;
mod speaking;
mod thinking_sizes;
mod untouched;
mod waiting;
mod withheld;
