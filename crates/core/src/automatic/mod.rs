//! The automatic editor, as far as it is pure: what somebody wants of it ([`settings`]), which results may go and in what
//! order ([`targets`]), which never ([`artifacts`]), and which belong to work that is done ([`phases`]). When it pays, a
//! policy says.

pub mod artifacts;
mod choose;
pub mod phases;
mod searches;
pub mod settings;
pub mod targets;
mod worth;

pub use artifacts::{Artifact, Call};
pub use choose::{Fact, Facts, Force, Tally, choose, tally};
pub use phases::{Moment, Phase, Phases};
pub use searches::is_search;
pub use settings::{Budget, Mode, Settings};
pub use targets::Target;
pub use worth::{Worth, worth};
