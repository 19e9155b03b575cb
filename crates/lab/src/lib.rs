//! The laboratory: recorded conversations are played again, turn by turn, through the engine that edits live ones, and
//! what a policy would have done to tokens, money and quality is counted.

mod charge;
pub mod editor;
mod foresight;
pub mod frames;
pub mod harm;
pub mod needs;
pub mod recording;
pub mod replay;
pub mod report;
pub mod request;
pub mod run;

use ctx_core::policy::{self, Policy};
use std::sync::Arc;

/// Every policy that can be played: those of the engine, and one that only the lab can have.
pub fn policies() -> Vec<Arc<dyn Policy>> {
    let mut all = policy::all();
    all.push(Arc::new(foresight::Foresight::default()));
    all
}
