//! Policies: which tool results of a conversation should go before its next request. All of it is pure.
//!
//! A decision of the automatic editor reads from [`choose`] down. Its input is a [`Look`]: the results of a request as it
//! would be sent ([`candidates`]), with the [`settings`] and the facts of each call. [`protect`] names results that must
//! stay, [`target`] those that may go; [`Auto`] decides when clearing pays. [`stub`] and [`trim`] write the text that
//! takes a result's place.

mod auto;
pub mod candidates;
mod choose;
pub mod phases;
mod price;
mod proposal;
pub mod protect;
mod searches;
pub mod settings;
pub mod stub;
pub mod target;
pub mod trim;
mod worth;

pub use auto::Auto;
pub use candidates::{Input, Item, Look, Texts, Words};
pub use choose::{Fact, Facts, Force, Tally, choose, tally};
pub use phases::{Moment, Phase, Phases};
pub use price::{Cut, Price};
pub use proposal::{Action, Proposal};
pub use protect::{Artifact, Call};
pub use searches::is_search;
pub use settings::{Budget, Layer, Mode, Settings};
pub use target::Target;
pub use worth::{Worth, worth};

/// Proposes edits before each request, from the look of the conversation alone.
pub trait Policy: Send + Sync {
    /// The name by which the lab selects it.
    fn name(&self) -> &str;

    /// One line for people.
    fn about(&self) -> &str;

    /// The edits to make before the next request.
    fn propose(&self, look: &Look) -> Vec<Proposal>;
}
