//! The texts of tool calls: what a result says, the long texts of an input, and an index of the words.

pub mod index;
pub mod input;
pub mod result;

pub use index::TextIndex;
