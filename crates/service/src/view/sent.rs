//! A sent request: the body that the provider got, and the answer.
//!
//! The client's own bytes are in the store, message by message. For a changed request, its record has the ranges that
//! were sent and the insertions between them ([`log::SentBody`]). Rebuilt bytes are checked by a recorded checksum.

use crate::parts::Parts;
use ctx_api::requests::{SentAnswer, SentView};
use ctx_core::edit::Commit;
use ctx_core::edit::history::Change;
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::Refusal;
use ctx_engine::compose::OutgoingRequest;
use ctx_engine::conversation::Conversation;
use ctx_engine::conversation::sent_parts::{SentParts, checksum};
use ctx_engine::log::{self, AnswerRecord, ArrivalRecord, RefusedEdits};
use ctx_store::{Reader, Record};

struct LoggedRequest {
    arrived: ArrivalRecord,
    record: Record,
    parts: SentParts,
    conversation: Conversation,
    answer: Option<AnswerRecord>,
    remarks: Vec<String>,
}

impl Parts {
    pub(crate) fn sent(&self, name: &str, request: u32) -> Result<SentView, Refusal> {
        let recorded = self.recorded(name, request)?;
        let body = recorded.body(&*self.store)?;
        let LoggedRequest { arrived, record, conversation, answer, remarks, .. } = recorded;
        Ok(SentView {
            conversation: conversation.id().to_owned(),
            request: format!("r{request}"),
            number: request,
            at: record.at,
            class: arrived.class,
            verdict: arrived.verdict,
            model: arrived.model,
            client_bytes: arrived.bytes,
            bytes: body.as_ref().ok().map(|bytes| bytes.len() as u64),
            changed: arrived.composed || arrived.sent.is_some(),
            head: conversation.history.head().map(|head| head.to_string()),
            asks: arrived.asks,
            missing: body.err().map(|missing| missing.message),
            answer: answer.map(|answer| SentAnswer {
                status: answer.status,
                ending: answer.ending,
                stop_reason: answer.stop_reason,
                usage: answer.usage,
                error: answer.error,
                first_byte_ms: answer.first_byte_ms,
                total_ms: answer.total_ms,
            }),
            remarks,
        })
    }

    pub(crate) fn sent_body(&self, name: &str, request: u32) -> Result<Vec<u8>, Refusal> {
        self.recorded(name, request)?.body(&*self.store)?
    }

    fn recorded(&self, name: &str, request: u32) -> Result<LoggedRequest, Refusal> {
        let id = self.meant(name)?;
        self.settle(self.patience());
        let mut found = self.store.records(&id, 0)?;
        let Some(at) = found.records.iter().position(|record| number(record) == Some(request)) else {
            let last = found.records.iter().filter_map(number).max().unwrap_or(0);
            return Err(Refusal::new(
                ErrorCode::UnknownRequest,
                format!("No request r{request} in this conversation."),
                match last {
                    0 => hint![Command::Timeline, " lists its requests."],
                    last => hint![format!("Its requests are r1 to r{last}; "), Command::Timeline, " lists them."],
                },
            ));
        };
        let after = found.records.split_off(at + 1);
        let Some(record) = found.records.last().cloned() else { return Err(damaged()) };
        found.skipped.retain(|skipped| skipped.seq < record.seq);
        let (mut parts, mut arrived) = (SentParts::default(), None);
        let mut conversation = Conversation::replayed(&id, &found, &*self.store, &mut |met, request| {
            request.sent.iter().for_each(|sent| parts.follow(sent, &met.uses));
            arrived = (met.seq == record.seq).then(|| request.clone());
        })?;
        let Some(arrived) = arrived else { return Err(damaged()) };
        for commit in after.iter().filter_map(commit).filter(|commit| counts_in(commit, &arrived, record.at)) {
            conversation.take(commit);
        }
        let is_answer = |record: &Record| {
            let answered: AnswerRecord = read(record, log::ANSWERED)?;
            (answered.request == request).then_some(answered)
        };
        let remarks = after.iter().filter_map(|record| remark(record, request)).collect();
        Ok(LoggedRequest { answer: after.iter().find_map(is_answer), remarks, arrived, record, parts, conversation })
    }
}

impl LoggedRequest {
    /// The sent body; the inner error says why it cannot be rebuilt.
    fn body(&self, store: &dyn Reader) -> Result<Result<Vec<u8>, Refusal>, Refusal> {
        let missing = |why: &str| {
            Ok(Err(Refusal::new(
                ErrorCode::NotRebuilt,
                why,
                hint![Command::Sent.with("REQUEST"), " shows the rest of it."],
            )))
        };
        let arrived = &self.arrived;
        match &arrived.turn {
            None => return missing("The bodies of side requests (titles, summaries, probes) are not stored."),
            Some(turn) if !turn.current => {
                return missing("This request was not recognised as a turn, so its body is incomplete in the store.");
            }
            Some(_) => {}
        }
        let Some(whole) = self.conversation.rebuild(store)?.filter(|_| !self.conversation.log.broken) else {
            return missing("Part of this request is missing from the store or damaged.");
        };
        if !whole.exact {
            return missing("The body of this request contains a credential, and credentials are never stored.");
        }
        let Some(sent) = &arrived.sent else {
            return match arrived.composed || !arrived.asks.is_empty() {
                true => missing("An older version of ctx recorded this request without its final form."),
                false if whole.bytes.len() as u64 != arrived.bytes => missing(DIFFERS),
                false => Ok(Ok(whole.bytes)),
            };
        };
        let Some(parts) = self.parts.read(store)? else {
            return missing("Part of this request is missing from the store or damaged.");
        };
        match checksum(&parts, &whole.bytes) == sent.checksum {
            true => Ok(Ok(OutgoingRequest::of(parts).bytes(&whole.bytes))),
            false => missing(DIFFERS),
        }
    }
}

const DIFFERS: &str = "The rebuilt body does not match the checksum of the one that was sent.";

fn read<T: serde::de::DeserializeOwned>(record: &Record, kind: &str) -> Option<T> {
    (record.kind == kind).then(|| serde_json::from_slice(&record.body).ok())?
}

/// The request number of a record. It comes first, so the rest is not parsed: this reads all records of a conversation.
fn number(record: &Record) -> Option<u32> {
    let rest = record.body.strip_prefix(b"{\"request\":").filter(|_| record.kind == log::ARRIVED)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(rest.get(..digits)?).ok()?.parse().ok()
}

fn commit(record: &Record) -> Option<Commit> {
    (record.kind == log::COMMIT).then(|| log::commit(record))?
}

/// Whether a commit was made on the arrival of a request: its record follows.
fn counts_in(commit: &Commit, arrived: &ArrivalRecord, at: u64) -> bool {
    let inherited = matches!(commit.change, Change::Inherit { .. }) && commit.at == at;
    arrived.made.contains(&commit.id) || inherited
}

/// Why the proxy sent a request again.
fn remark(record: &Record, request: u32) -> Option<String> {
    if let Some(refused) = read::<RefusedEdits>(record, log::REFUSED).filter(|refused| refused.request == request) {
        let edits = refused.edits.join(", ");
        return Some(format!(
            "The provider refused {edits} ({}), so the request was sent again without. This body is that of the \
             first attempt.",
            refused.words
        ));
    }
    let recovery: serde_json::Value = read(record, log::RECOVERY)?;
    (recovery["request"] == request).then(|| {
        "The provider refused its thinking, so the request was sent again, asking the provider to drop invalid \
         thinking. This body is that of the first attempt."
            .to_owned()
    })
}

fn damaged() -> Refusal {
    Refusal::new(
        ErrorCode::Store,
        "The record of this request cannot be read.",
        hint!["Run ", Command::Doctor, " to find the cause."],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_request_is_told_by_the_beginning_of_its_record() {
        let arrived = serde_json::json!({"request": 17, "class": "main", "verdict": "next", "known": 0, "new": 1,
            "changed": 0, "bytes": 1});
        let arrived: ArrivalRecord = serde_json::from_value(arrived).expect("a request");
        let of = |kind: &str, body: Vec<u8>| {
            let (conversation, kind) = ("c".to_owned(), kind.to_owned());
            number(&Record { seq: 1, conversation, at: 1, kind, version: 1, uses: Vec::new(), body })
        };
        let body = serde_json::to_vec(&arrived).expect("JSON");
        assert_eq!(of(log::ARRIVED, body.clone()), Some(17));
        assert_eq!(of(log::ANSWERED, body.clone()), None);
        assert_eq!(of(log::ARRIVED, body[..14].to_vec()), Some(17), "the rest is not read");
        assert_eq!(of(log::ARRIVED, b"{}".to_vec()), None);
    }
}
