//! The ports of the engine. The service implements them; tests and the lab have simpler implementations.

mod authors;
mod editor;
pub mod handles;
mod offload_folder;
pub mod provider;

pub use authors::Authors;
pub use editor::{About, Automatic, Batch, ClearedDestination, Limit, NoEditor, Plain, Removal};
pub use offload_folder::OffloadFolder;
pub use provider::{NoProvider, Provider, ProviderKnowledge, ProviderRefusal};
