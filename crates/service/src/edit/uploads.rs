//! Remarks on requests that are on their way without the newest edit.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::edit::Applied;

impl Parts {
    /// Adds how many requests of the conversation are on their way without the commit that was just made.
    pub(crate) fn noting_uploads(&self, mut applied: Applied) -> Applied {
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
