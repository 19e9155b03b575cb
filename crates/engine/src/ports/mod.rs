//! What the engine asks of others. The service answers; tests and the lab answer more simply.

mod editor;
mod offload_folder;
pub mod provider;

pub use editor::{About, Automatic, Batch, Keeping, Limit, NoEditor, Plain, Removal};
pub use offload_folder::OffloadFolder;
pub use provider::{NoProvider, Provider, ProviderKnowledge, ProviderRefusal};
