//! The policies of the lab: the automatic editor's own, simple ones for comparison, and one that knows the future. A
//! new policy is a file here and a line in [`all`].

mod cold;
pub mod foresight;
mod keep;
mod none;
mod old;
pub mod provider;
mod size;
pub mod summaries;
mod superseded;
mod variant;

pub use cold::Cold;
pub use foresight::Foresight;
pub use keep::Keep;
pub use none::Nothing;
pub use old::Old;
pub use provider::Provider;
pub use size::Size;
pub use summaries::Summaries;
pub use superseded::Superseded;
pub use variant::Variant;

use ctx_core::policy::{Auto, Policy};
use std::sync::Arc;

/// The policy with this name, or a variant of one.
pub fn named(name: &str) -> Result<Arc<dyn Policy>, String> {
    if let Some(provider) = Provider::named(name) {
        return Ok(Arc::new(provider?));
    }
    match name.split_once(':') {
        Some(("auto", changes)) => Ok(Arc::new(Variant::of(name, changes)?)),
        _ => {
            let mut all = all();
            let names = || self::all().iter().map(|policy| policy.name().to_owned()).collect::<Vec<_>>().join(", ");
            let at = all.iter().position(|policy| policy.name() == name);
            at.map(|at| all.swap_remove(at)).ok_or_else(|| format!("policies: {}", names()))
        }
    }
}

/// All policies.
pub fn all() -> Vec<Arc<dyn Policy>> {
    let mut all: Vec<Arc<dyn Policy>> = vec![
        Arc::new(Nothing),
        Arc::new(Keep::above(100_000, 3)),
        Arc::new(Keep::above(60_000, 5)),
        Arc::new(Keep::above(0, 3)),
        Arc::new(Old),
        Arc::new(Superseded),
        Arc::new(Size),
        Arc::new(Cold),
        Arc::new(Auto::default()),
        Arc::new(Summaries),
        Arc::new(Foresight::default()),
        Arc::new(Foresight::early()),
    ];
    all.extend(Provider::all().map(|policy| Arc::new(policy) as Arc<dyn Policy>));
    all
}
