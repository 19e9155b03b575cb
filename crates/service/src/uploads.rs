//! Requests that leave while they still arrive. The first edit of a conversation cannot catch those, and says so.

use crate::Service;
use crate::directory::lock;
use ctx_api::edit::Applied;
use ctx_clients::Hints;
use ctx_core::Class;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The session and the agent that a request names.
type Sender = (Option<Box<str>>, Option<Box<str>>);

#[derive(Debug, Default)]
pub(crate) struct Uploads(Mutex<HashMap<Sender, usize>>);

/// One request that is arriving. It is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Upload {
    uploads: Arc<Uploads>,
    sender: Sender,
}

impl Uploads {
    /// `None`: the client says that the request is no part of a conversation.
    pub fn begin(self: &Arc<Self>, hints: &Hints) -> Option<Upload> {
        if hints.class == Some(Class::Auxiliary) {
            return None;
        }
        let sender = (hints.session.clone(), hints.agent.clone());
        *lock(&self.0).entry(sender.clone()).or_default() += 1;
        Some(Upload { uploads: self.clone(), sender })
    }

    fn of(&self, session: Option<&str>, agent: Option<&str>) -> usize {
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

impl Service {
    /// Adds how many requests of the conversation are on their way without the commit that was just made.
    pub fn noting_uploads(&self, mut applied: Applied) -> Applied {
        if applied.commit.is_some() {
            applied.on_their_way = self.uploading(&applied.conversation);
            applied.remarks.extend(remark(applied.on_their_way));
        }
        applied
    }

    /// The same for a pending change that was just accepted.
    pub(crate) fn upload_remark(&self, conversation: &str) -> Option<String> {
        remark(self.uploading(conversation))
    }

    /// Requests of a conversation that are leaving while they still arrive.
    fn uploading(&self, conversation: &str) -> usize {
        let card = lock(&self.directory).card(conversation).cloned();
        card.map_or(0, |card| self.uploads.of(card.session.as_deref(), card.agent.as_deref()))
    }
}

fn remark(uploading: usize) -> Option<String> {
    match uploading {
        0 => None,
        1 => Some("1 request was already sent without this edit; the next one includes it".to_owned()),
        many => Some(format!("{many} requests were already sent without this edit; the next one includes it")),
    }
}
