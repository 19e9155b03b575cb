//! Words that somebody has to find: a summary, a title. Either ctx takes the telling lines itself ([`local`]), or a
//! helper model is asked by whoever has a network; what it says is cleaned ([`clean`]) and recorded in the operation,
//! so that replaying the log asks nobody. Nothing here talks to anybody.

pub mod clean;
pub mod local;
pub mod material;
pub mod prompt;
pub mod questions;
pub mod titles;

pub use clean::{Nonsense, clean};
pub use material::{Material, Piece};
pub use prompt::{Prompt, prompt};
pub use questions::Filled;
pub use questions::{Open, Question};

/// Who finds words when no helper does.
pub const SELF: &str = "ctx";
