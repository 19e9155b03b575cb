//! Texts that an edit lacks: summaries and titles. Either [`local`] picks the informative lines, or a helper model is
//! asked outside the engine. Its answer is cleaned and recorded in the operation, so a replay asks no model.

pub mod clean;
pub mod local;
pub mod material;
pub mod phases;
pub mod prompt;
pub mod questions;

pub use clean::{Nonsense, clean};
pub use material::{Material, Piece};
pub use prompt::{Prompt, prompt};
pub use questions::FilledRequest;
pub use questions::{OpenQuestions, Question};

/// The author of texts that no helper wrote.
pub const SELF: &str = "ctx";
