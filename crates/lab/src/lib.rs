//! The lab: replays recorded conversations, turn by turn, through the engine that edits live ones, and measures the
//! effect of a policy on tokens, cost and quality.

pub mod causes;
mod charge;
pub mod editor;
pub mod frames;
pub mod harm;
pub mod harm_check;
pub mod needs;
pub mod policies;
pub mod provider_clearing;
pub mod recording;
pub mod replay;
pub mod report;
pub mod request;
pub mod run;
pub mod sizes;
pub mod week;
