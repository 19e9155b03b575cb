//! Knowledge about the models of all providers: the catalogue with prices and context windows, and the arithmetic on them.
//! Everything here is pure and knows no wire format.

pub mod catalogue;
pub mod price;

pub use catalogue::{Lookup, Model, Models, Setting};
pub use price::{Billed, Price};
