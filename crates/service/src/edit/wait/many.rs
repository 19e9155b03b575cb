//! Several pending changes at once: ids, a range of them, or all.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::face::Face;
use ctx_api::waiting::{PendingOutcome, PendingRefusal, WaitView};
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::Refusal;
use ctx_engine::conversation::Conversation;
use ctx_engine::conversation::waiting::State;

impl Parts {
    pub(crate) fn accept_many(
        &self,
        name: &str,
        ids: &[String],
        author: &str,
        face: Face,
    ) -> Result<PendingOutcome, Refusal> {
        let mut outcome = self.each((name, face), ids, State::can_be_accepted, &|conversation, id| {
            self.make_now(conversation, id, author)
        })?;
        if !outcome.done.is_empty() {
            outcome.remarks.extend(self.upload_remark(&outcome.conversation));
        }
        Ok(outcome)
    }

    pub(crate) fn cancel_many(
        &self,
        name: &str,
        ids: &[String],
        author: &str,
        face: Face,
    ) -> Result<PendingOutcome, Refusal> {
        self.each((name, face), ids, State::can_be_cancelled, &|conversation, id| self.cancel(conversation, id, author))
    }

    fn each(
        &self,
        (name, face): (&str, Face),
        ids: &[String],
        is_open: fn(&State) -> bool,
        act: &dyn Fn(&str, &str) -> Result<WaitView, Refusal>,
    ) -> Result<PendingOutcome, Refusal> {
        let shared = self.stored(name)?;
        let (conversation, chosen) = {
            let conversation = lock(&shared);
            (conversation.id().to_owned(), chosen(&conversation, ids, is_open)?)
        };
        let (mut done, mut refused) = (Vec::new(), Vec::new());
        for id in chosen {
            match act(&conversation, &id) {
                Ok(view) => done.push(view),
                Err(Refusal { code, message, hint, .. }) => {
                    refused.push(PendingRefusal { id, code: code.into(), message, hint: face.words(&hint) });
                }
            }
        }
        Ok(PendingOutcome { conversation, done, refused, remarks: Vec::new() })
    }
}

/// The chosen ids. A range and `all` select open changes; a single id must exist.
fn chosen(conversation: &Conversation, ids: &[String], is_open: fn(&State) -> bool) -> Result<Vec<String>, Refusal> {
    let open = || conversation.waiting.iter().filter(|waiting| is_open(&waiting.state)).map(|waiting| &waiting.edit.id);
    let mut chosen: Vec<String> = Vec::new();
    for id in ids.iter().flat_map(|ids| ids.split([',', ' '])).map(str::trim).filter(|id| !id.is_empty()) {
        match (id, id.split_once("..")) {
            ("all", _) => chosen.extend(open().cloned()),
            (_, Some((from, to))) => {
                conversation.waiting.find(from, is_open)?;
                conversation.waiting.find(to, is_open)?;
                let range = number(from)..=number(to);
                chosen.extend(open().filter(|id| range.contains(&number(id))).cloned());
            }
            (id, None) => chosen.push(conversation.waiting.find(id, is_open)?.edit.id.clone()),
        }
    }
    let mut seen = std::collections::HashSet::new();
    chosen.retain(|id| seen.insert(id.clone()));
    if chosen.is_empty() {
        return Err(Refusal::new(
            ErrorCode::NotWaiting,
            "This conversation has no deferred edits.",
            hint![Command::Waiting.with("--all"), " shows earlier ones."],
        ));
    }
    Ok(chosen)
}

/// `w12` → 12.
fn number(id: &str) -> u64 {
    id.trim_start_matches('w').parse().unwrap_or(0)
}
