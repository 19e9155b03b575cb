//! The policies of the lab: the automatic editor's own, simple ones for comparison, and one that knows the future. A
//! new policy is a file here and a line in [`all`].

mod cold;
pub mod foresight;
mod keep;
mod none;
mod old;
mod size;
mod superseded;

pub use cold::Cold;
pub use foresight::Foresight;
pub use keep::Keep;
pub use none::Nothing;
pub use old::Old;
pub use size::Size;
pub use superseded::Superseded;

use ctx_core::policy::{Auto, Policy};
use std::sync::Arc;

/// All policies.
pub fn all() -> Vec<Arc<dyn Policy>> {
    vec![
        Arc::new(Nothing),
        Arc::new(Keep::above(100_000, 3)),
        Arc::new(Keep::above(60_000, 5)),
        Arc::new(Keep::above(0, 3)),
        Arc::new(Old),
        Arc::new(Superseded),
        Arc::new(Size),
        Arc::new(Cold),
        Arc::new(Auto::default()),
        Arc::new(Foresight::default()),
        Arc::new(Foresight::early()),
    ]
}
