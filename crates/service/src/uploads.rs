//! Requests that leave while they still arrive. The first edit of a conversation cannot change those, and says so.

use crate::threads::lock;
use ctx_clients::Hints;
use ctx_core::Class;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The session and the agent of a request.
type Sender = (Option<Box<str>>, Option<Box<str>>);

#[derive(Debug, Default)]
pub(crate) struct Uploads(Mutex<HashMap<Sender, usize>>);

/// An arriving request, until this is dropped.
#[derive(Debug)]
pub(crate) struct Upload {
    uploads: Arc<Uploads>,
    sender: Sender,
}

impl Uploads {
    /// `None`: the client marks the request as no part of a conversation.
    pub fn begin(self: &Arc<Self>, hints: &Hints) -> Option<Upload> {
        if hints.class == Some(Class::Auxiliary) {
            return None;
        }
        let sender = (hints.session.clone(), hints.agent.clone());
        *lock(&self.0).entry(sender.clone()).or_default() += 1;
        Some(Upload { uploads: self.clone(), sender })
    }

    /// The number of a sender's requests that leave while they arrive.
    pub fn of(&self, session: Option<&str>, agent: Option<&str>) -> usize {
        lock(&self.0).get(&(session.map(Into::into), agent.map(Into::into))).copied().unwrap_or(0)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let mut uploads = lock(&self.uploads.0);
        if let Some(count) = uploads.get_mut(&self.sender) {
            *count -= 1;
            if *count == 0 {
                uploads.remove(&self.sender);
            }
        }
    }
}
