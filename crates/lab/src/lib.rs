//! The laboratory: recorded conversations are played again, turn by turn, through the engine that edits live ones, and
//! what a policy would have done to tokens, money and quality is counted.

mod charge;
pub mod editor;
pub mod frames;
pub mod harm;
pub mod needs;
pub mod policies;
pub mod recording;
pub mod replay;
pub mod report;
pub mod request;
pub mod run;
