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

use serde::{Deserialize, Serialize};

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Of a part of the conversation, in its place.
    Summary,
    /// Of what one tool answered.
    Result,
    Title,
}

impl Kind {
    /// The most characters that an answer may have.
    pub fn longest(self) -> usize {
        match self {
            Kind::Summary => 6_000,
            Kind::Result => 3_000,
            Kind::Title => 80,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Summary | Kind::Result => "summary",
            Kind::Title => "title",
        }
    }
}

/// Words that were found for an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Written {
    pub kind: Kind,
    /// What they are about.
    pub of: String,
    /// Who found them: `ctx` itself, or a model.
    pub by: String,
    pub text: String,
}

/// Who finds words when no helper does.
pub const SELF: &str = "ctx";
