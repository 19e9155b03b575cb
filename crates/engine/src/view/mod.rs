//! Views of one conversation, as types of the control API. Nothing here is stored.

pub mod cache;
pub mod frames;
pub mod map;
pub mod models;
pub mod readable;
pub mod search;
pub mod show;
pub mod titles;

pub use search::terms;
