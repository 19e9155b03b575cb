//! The port for the people who may edit a conversation.

pub trait Authors: Send + Sync {
    /// Whether an author may edit a conversation now. People may lose that while an edit of theirs is deferred.
    fn may_edit(&self, conversation: &str, author: &str) -> bool;
}
