//! Remarks on requests that are leaving without the newest edit.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::edit::EditResult;

impl Parts {
    pub(crate) fn noting_uploads(&self, mut applied: EditResult) -> EditResult {
        if applied.commit.is_some() {
            applied.on_their_way = self.uploading(&applied.conversation);
            applied.remarks.extend(remark(applied.on_their_way));
        }
        applied
    }

    /// The remark for a pending change that was just accepted.
    pub(crate) fn upload_remark(&self, conversation: &str) -> Option<String> {
        remark(self.uploading(conversation))
    }

    /// The number of requests of a conversation that leave while they arrive.
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
