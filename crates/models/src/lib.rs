//! All providers' models: the catalogue with prices and context windows, the rules of their prompt caches, and the
//! arithmetic on both. Everything here is pure and knows no wire format.

pub mod cache;
pub mod catalogue;
mod model;
mod names;
mod price;
mod provider;
mod rates;
mod setting;
pub mod tokens;
mod usage;

pub use cache::CacheRules;
pub use catalogue::{Lookup, Models};
pub use model::{Model, Surcharge};
pub use names::bare;
pub use price::{Price, WritePrice};
pub use provider::Provider;
pub use rates::{BreakEven, CacheState, EditCost, EditRates, Rates, Sizes};
pub use setting::Setting;
pub use usage::{CacheWrite, Usage};
