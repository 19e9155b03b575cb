//! What is counted of all conversations together. No call names a person or a conversation.

use ctx_api::requests::Usage;
use ctx_core::Class;
use ctx_wire::answer::Ending;
use std::time::Duration;

/// Counts events. Called from the threads of requests: it must return at once.
pub trait Meter: Send + Sync {
    /// The usage of a response. `model` is a name in the catalogue, or `other`.
    fn used(&self, model: &str, usage: &Usage);

    /// A request of this class has ended. `None`: the provider could not be reached.
    fn answered(&self, class: Class, ending: Option<Ending>);

    /// A conversation was needed and was in memory.
    fn found(&self);

    /// A conversation was needed and was read from the store.
    fn loaded(&self, after: Duration);

    /// An edit has waited for the other daemons on the store.
    fn confirmed(&self, after: Duration);
}
