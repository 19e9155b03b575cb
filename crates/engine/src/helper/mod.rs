//! Texts that an edit lacks: summaries and titles. Either [`local`] picks the telling lines, or a helper model is asked
//! outside of the engine. Its answer is cleaned and recorded in the operation, so that a replay asks no model.

pub mod clean;
pub mod local;
pub mod material;
pub mod prompt;
pub mod questions;

pub use clean::{Nonsense, clean};
pub use material::{Material, Piece};
pub use prompt::{Prompt, prompt};
pub use questions::FilledWish;
pub use questions::{Open, Question};

/// Who finds words when no helper does.
pub const SELF: &str = "ctx";
