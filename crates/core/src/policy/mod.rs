//! Policies: which tool results of a conversation should go before its next request. All of it is pure.
//!
//! A decision of the automatic editor reads from [`choose`] down. Its input is a [`Look`]: the results of a request as it
//! would be sent ([`candidates`]), with the [`settings`] and the facts of each call. `eligible` applies the settings once:
//! results that must stay ([`protect`]), and the [`target`] of those that may go. Then follow the reasons to clear: it
//! pays ([`Auto`]), searches exceed their budget, a phase has ended, the `limit` is near. [`stub`] and [`trim`] write the
//! text that takes a result's place. `tally` and [`worth`] tell people what could go.

mod auto;
pub mod candidates;
mod choose;
mod eligible;
mod limit;
pub mod phases;
mod price;
mod proposal;
pub mod protect;
mod searches;
pub mod settings;
pub mod stub;
mod tally;
pub mod target;
pub mod trim;
mod worth;

pub use auto::Auto;
pub use candidates::{Input, Item, Look, Texts, Words};
pub use choose::{Force, choose};
pub use eligible::{Fact, Facts};
pub use phases::{Moment, Phase, Phases};
pub use price::{Cut, Price};
pub use proposal::{Action, Proposal};
pub use protect::{Artifact, Call};
pub use searches::is_search;
pub use settings::{Budget, Mode, Settings};
pub use tally::{Tally, tally};
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
