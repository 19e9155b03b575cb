//! Editing a conversation: each verb on the way from the command line to what the provider really gets.

mod arranging;
mod helping;
mod looking_back;
mod plans;
mod refusals;
pub mod scene;
mod telling;
mod waiting;
mod writing;
