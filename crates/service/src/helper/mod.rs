//! Words that a helper finds: its budget, the questions that are open, and the titles it gave.

mod budget;
mod questions;
pub mod titles;

pub use budget::{Budget, Reservation};
