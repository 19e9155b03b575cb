//! The automatic editor: inspects a held request as it would leave, and applies a policy's proposals as one ordinary
//! commit before it leaves. Results that were never sent are in reach then: changing them costs neither cache nor
//! thinking.
//!
//! Without an editor this module does nothing. The replacement of a result is stored with its commit, so every later
//! request sends the same text, even after a restart.

pub mod ask;
pub mod candidates;
pub mod diet;
pub mod facts;
pub mod fill;
pub mod ledger_line;
pub mod restored;
pub mod rules;
pub mod run;
pub mod signal;
pub mod status;
pub mod worth;

use crate::ports::Automatic;
use ctx_core::policy::Settings;
pub use rules::Rules;
pub use run::Moment;
pub use status::Now;

/// The editor that makes a change, with its settings.
pub struct By<'b> {
    pub editor: &'b dyn Automatic,
    pub settings: &'b Settings,
    /// A user asked to clear everything that may be cleared, with this reason.
    pub by_hand: Option<&'b str>,
}
