//! Editing: each verb from the command line to the request that the provider receives.

mod arranging;
pub mod helping;
mod looking_back;
mod plans;
mod refusals;
pub mod scene;
mod telling;
mod waiting;
mod writing;
