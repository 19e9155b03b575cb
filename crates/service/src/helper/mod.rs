//! Words that somebody has to find: a summary, a title. Either ctx takes the telling lines itself ([`local`]), or a
//! helper model is asked by whoever has a network; what it says is cleaned ([`clean`]) and recorded in the operation,
//! so that replaying the log asks nobody. Nothing here talks to anybody.

mod budget;
mod clean;
mod local;
mod material;
mod prompt;
mod questions;
pub mod titles;

pub use budget::{Budget, Reserved};
pub use clean::{Nonsense, clean};
pub use material::{Material, Piece};
pub use prompt::{Prompt, prompt};
pub(crate) use questions::Filled;
pub use questions::{Open, Question};

/// Who finds words when no helper does.
pub const SELF: &str = "ctx";
