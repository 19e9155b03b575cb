//! The automatic editor.

pub mod rules;

pub use rules::Rules;
