//! A stored conversation, for replay elsewhere.

use ctx_api::requests::Usage;
use ctx_engine::conversation::Conversation;
use ctx_engine::log::{self, AnswerRecord, ArrivalRecord};
use ctx_store::{Reader, StoreError};
use std::collections::HashMap;

/// A conversation as its client last sent it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedConversation {
    /// Its newest request.
    pub body: Vec<u8>,
    /// Its answer, if the client has not sent it back yet.
    pub reply: Vec<Vec<u8>>,
    pub asked: Vec<RecordedRequest>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRequest {
    /// The number of its messages: the answer is the next one.
    pub messages: usize,
    pub at: u64,
    pub model: Option<String>,
    /// The provider's usage report; `None` for an edited request, whose count differs from the client's.
    pub usage: Option<Usage>,
}

/// Reads a conversation. `None` if there is none, or if parts of it are missing.
pub fn recorded(store: &dyn Reader, id: &str) -> Result<Option<RecordedConversation>, StoreError> {
    let Some(conversation) = Conversation::load(id, store)? else { return Ok(None) };
    let Some(whole) = conversation.rebuild(store)? else { return Ok(None) };
    let mut asked: Vec<RecordedRequest> = Vec::new();
    let mut open: HashMap<u32, usize> = HashMap::new();
    for record in store.records(id, 0)?.records {
        match record.kind.as_str() {
            log::ARRIVED => {
                let Ok(arrived) = serde_json::from_slice::<ArrivalRecord>(&record.body) else { continue };
                if arrived.turn.as_ref().is_none_or(|turn| !turn.current) {
                    continue;
                }
                let messages = (arrived.known + arrived.new) as usize;
                // For a retry or another path from there, the newest counts.
                asked.retain(|asked| asked.messages < messages);
                open.retain(|_, at| *at < asked.len());
                open.insert(arrived.request, asked.len());
                asked.push(RecordedRequest { messages, at: record.at, model: arrived.model, usage: None });
            }
            log::ANSWERED => {
                let Ok(answered) = serde_json::from_slice::<AnswerRecord>(&record.body) else { continue };
                let asked = open.remove(&answered.request).and_then(|at| asked.get_mut(at));
                if let Some(asked) = asked.filter(|_| answered.edited.is_none()) {
                    asked.usage = answered.usage;
                }
            }
            _ => {}
        }
    }
    let reply = conversation.newest.pending.into_iter().map(|message| message.bytes).collect();
    Ok(Some(RecordedConversation { body: whole.bytes, reply, asked }))
}
