//! One file a series: what is sent, what is timed, and the goal beside it.

pub mod beside;
pub mod daemon;
pub mod editing;
pub mod growth;
pub mod latency;
pub mod parallel;
pub mod scale;
pub mod streaming;
pub mod throughput;
