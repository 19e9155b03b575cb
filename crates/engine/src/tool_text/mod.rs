//! The texts of tool calls: results, long texts of inputs, and an index of the words.

pub mod index;
pub mod input;
pub mod result;

pub use index::TextIndex;
