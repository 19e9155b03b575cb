//! One file per series: its load, its measurement and its goal.

pub mod beside;
pub mod daemon;
pub mod editing;
pub mod formats;
pub mod growth;
pub mod latency;
pub mod parallel;
pub mod scale;
pub mod streaming;
pub mod team;
pub mod team_load;
pub mod team_start;
pub mod throughput;
