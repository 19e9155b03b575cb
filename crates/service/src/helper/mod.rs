//! Texts by a helper: its budget, the open questions and its titles.

mod budget;
mod questions;
pub mod titles;

pub use budget::{Budget, Reservation};
