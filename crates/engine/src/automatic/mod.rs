//! The automatic editor: when a held request arrives it is looked at as it would leave, and what a policy wants is made
//! as one ordinary commit before it leaves. Results that were never sent are in reach then: to change them costs no
//! cache and no thinking.
//!
//! Without an editor nothing happens here. What takes the place of a result is stored with
//! its commit, so that every later request, also after a restart, leaves with the same.

pub mod ask;
pub mod candidates;
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

/// Who wants something.
pub struct By<'b> {
    pub editor: &'b dyn Automatic,
    pub settings: &'b Settings,
    /// Somebody wants all that may go to go now, and said why.
    pub by_hand: Option<&'b str>,
}
