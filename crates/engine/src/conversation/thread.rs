//! A history that the provider keeps: a request names the answer that it continues, and carries only new messages.
//! As long as each continues the newest answer, its messages follow the pending reply.

use super::Conversation;
use super::messages::{PendingMessage, join};
use crate::log::AnswerRecord;
use ctx_core::edit::effect::PENDING;
use ctx_store::Note;
use ctx_wire::body::Body;

/// The size of the largest chain to keep.
const LARGEST: usize = 16 << 20;

/// The end of the known chain.
#[derive(Debug, Default)]
pub struct Thread {
    /// The answer that the pending messages end with.
    answer: Option<String>,
    /// The number of pending messages up to its end.
    length: usize,
    /// The newest request of the chain.
    request: Option<u32>,
}

impl Conversation {
    /// Adds the messages of a request that continues the newest answer. False if it continues another one.
    pub fn continue_thread(&mut self, request: u32, continues: Option<&str>, body: &Body) -> bool {
        let size: usize = self.newest.pending.iter().map(|message| message.bytes.len()).sum();
        if continues.is_none()
            || self.newest.thread.answer.as_deref() != continues
            || size + body.bytes().len() > LARGEST
        {
            return false;
        }
        // A request that was not answered comes again.
        self.newest.pending.truncate(self.newest.thread.length);
        let wire = self.wire();
        let new = (0..body.spans().messages.len()).map(|at| body.message(at).to_vec());
        self.newest.pending.extend(new.map(|bytes| PendingMessage::new(wire, bytes)));
        self.name_pending();
        self.newest.thread.request = Some(request);
        true
    }

    /// Takes the reply to the newest turn, or to the newest request of the chain behind it.
    pub fn take_reply(&mut self, request: u32, reply: Vec<Vec<u8>>) {
        if self.newest.thread.request != Some(request) {
            self.newest.pending.clear();
        }
        let wire = self.wire();
        self.newest.pending.extend(reply.into_iter().map(|bytes| PendingMessage::new(wire, bytes)));
        self.name_pending();
    }

    /// Gives the pending calls ids that no call of the path has.
    fn name_pending(&mut self) {
        for message in &mut self.newest.pending {
            self.messages.tree.name_pending(&mut message.facts, PENDING);
        }
    }

    /// Whether a request is the newest turn, or the newest of the chain behind it.
    pub fn awaits_reply(&self, request: u32) -> bool {
        self.newest.thread.request.unwrap_or(self.progress.last_turn) == request
    }

    /// Notes the answer that the chain ends with. Used live and in replay.
    pub fn extend_thread(&mut self, answered: &AnswerRecord) {
        if answered.status == 200 && self.awaits_reply(answered.request) {
            self.newest.thread.answer = answered.message_id.clone();
            self.newest.thread.length = self.newest.pending.len();
        }
    }

    /// Ends the chain: a request carries the whole history.
    pub fn end_thread(&mut self) {
        self.newest.thread = Thread::default();
    }

    /// Notes in replay that a request belongs to the chain.
    pub fn replay_thread(&mut self, request: u32) {
        self.newest.thread.request = Some(request);
    }

    /// Restores the pending messages.
    pub fn restore_pending(&mut self, messages: Vec<Vec<u8>>) {
        self.newest.pending = messages.into_iter().map(|bytes| PendingMessage::new(self.wire(), bytes)).collect();
        self.newest.thread.length = self.newest.pending.len();
        self.name_pending();
    }

    /// The pending messages as they are stored; none if they have been sent back.
    pub fn pending_note(&self) -> Note {
        let messages: Vec<&[u8]> = self.newest.pending.iter().map(|message| message.bytes.as_slice()).collect();
        let body = (!messages.is_empty()).then(|| join(&messages));
        Note { conversation: self.id().to_owned(), name: "pending".into(), body }
    }
}
