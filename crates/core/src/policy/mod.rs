//! Policies: the tool results to clear before the next request of a conversation. All of it is pure.
//!
//! A decision of the automatic editor starts in [`choose`]. Its input is a [`Look`]: the results of a request as it
//! would be sent ([`candidates`]), with the [`settings`] and the facts of each call. `eligible` applies the settings
//! once: protected results ([`protect`]), released ones (searches beyond their budget, ended phases), and the [`target`]
//! of clearable ones. Then follow the reasons to clear: it pays ([`Auto`]), a phase has ended, the `limit` is near.
//! [`stub`] and [`trim`] write the replacement texts. [`diet`] decides about tools, apart from the rest. `tally` and
//! [`worth`] report clearable content to people.

mod auto;
pub mod candidates;
mod choose;
pub mod cut;
pub mod diet;
mod eligible;
mod limit;
pub mod outline;
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

pub use auto::{Auto, Outlook};
pub use candidates::{CachedPlace, CachedPlaces, Input, Item, Look, PlaceFinder, SentContent, Texts, Thought, Words};
pub use choose::{Force, choose, outlook};
pub use cut::{CutKind, CutText, Cuts};
pub use diet::{Diet, DietMode, ToolFigures};
pub use eligible::{Fact, Facts};
pub use phases::{Moment, Phase, Phases};
pub use price::{PossibleCut, Price};
pub use proposal::{Action, Proposal};
pub use protect::{Artifact, Call};
pub use searches::is_search;
pub use settings::{Budget, Mode, Rules, Settings};
pub use stub::StubForm;
pub use tally::{Tally, tally};
pub use target::Target;
pub use trim::Trims;
pub use worth::{Worth, worth};

/// Proposes edits before each request, based only on its [`Look`].
pub trait Policy: Send + Sync {
    /// The name by which the lab selects it.
    fn name(&self) -> &str;

    /// A one-line description.
    fn about(&self) -> &str;

    /// The edits before the next request.
    fn propose(&self, look: &Look) -> Vec<Proposal>;

    /// These settings with the policy's parameters, if it is that of the automatic editor: it then runs with all its
    /// other rules.
    fn editor(&self, _: Settings) -> Option<Settings> {
        None
    }
}
