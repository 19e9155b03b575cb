//! What arrived and what the provider reported, in order.

use super::Refusal;
use crate::Composer;
use crate::log::{self, Answered, Arrived, Opened};
use ctx_core::edit::Commit;
use ctx_store::Record;
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    pub conversation: String,
    pub events: Vec<Value>,
    /// Records that could not be read.
    pub skipped: u64,
}

impl Composer {
    /// The newest `most` events, oldest first.
    pub fn timeline(&self, name: &str, most: usize) -> Result<Timeline, Refusal> {
        let id = self.meant(name)?;
        let found = self.store.records(&id, 0)?;
        let mut skipped = found.skipped.len() as u64;
        let mut events = Vec::new();
        for record in &found.records {
            match event(record) {
                Some(event) => events.push(event),
                None => skipped += 1,
            }
        }
        events.drain(..events.len().saturating_sub(most));
        Ok(Timeline { conversation: id, events, skipped })
    }
}

/// A record as people see it; `None` when it cannot be read.
pub fn event(record: &Record) -> Option<Value> {
    if record.version != log::VERSION {
        return None;
    }
    let mut event = match record.kind.as_str() {
        log::OPENED => {
            let opened: Opened = serde_json::from_slice(&record.body).ok()?;
            json!({"kind": "opened", "class": opened.class, "session": opened.session, "agent": opened.agent, "client": opened.client, "parent": opened.parent, "forked_from": opened.forked_from})
        }
        log::ARRIVED => {
            let arrived: Arrived = serde_json::from_slice(&record.body).ok()?;
            json!({"kind": "request", "request": arrived.request, "class": arrived.class, "verdict": arrived.verdict, "known": arrived.known, "new": arrived.new, "changed": arrived.changed, "detail": arrived.detail, "model": arrived.model, "bytes": arrived.bytes})
        }
        log::ANSWERED => {
            let answered: Answered = serde_json::from_slice(&record.body).ok()?;
            json!({"kind": "answer", "request": answered.request, "status": answered.status, "ending": answered.ending, "stop_reason": answered.stop_reason, "usage": answered.usage, "error": answered.error, "applied_edits": answered.applied_edits, "transformations": answered.transformations, "repairs": answered.repairs, "cache_miss_reason": answered.cache_miss_reason, "first_byte_ms": answered.first_byte_ms, "total_ms": answered.total_ms, "undecodable": answered.undecodable})
        }
        log::COMMIT => {
            let commit: Commit = serde_json::from_slice(&record.body).ok()?;
            let mut event = serde_json::to_value(crate::edit::shown(&commit)).ok()?;
            event["change"] = event["kind"].take();
            event["kind"] = "commit".into();
            event
        }
        log::LINE => json!({"kind": "line", "line": serde_json::from_slice::<Value>(&record.body).ok()?}),
        log::RECOVERY => json!({"kind": "recovery"}),
        _ => return None,
    };
    event["seq"] = record.seq.into();
    event["at"] = record.at.into();
    event["conversation"] = record.conversation.clone().into();
    Some(event)
}
