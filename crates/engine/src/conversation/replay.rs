//! Replays a conversation from its log, and rebuilds its newest body.

use super::messages::split;
use super::{Conversation, SlotVersion};
use crate::envelope::{self, Whole};
use crate::log::{self, AnswerRecord, ArrivalRecord, OpeningRecord, SIDE, Turn, Version};
use ctx_core::message::Message;
use ctx_core::{SlotId, Verdict};
use ctx_store::{Blob, Hash, Reader, Record, Records, StoreError};
use ctx_wire::Wire;
use ctx_wire::body::Body;
use ctx_wire::dress::{Dress, dress};
use ctx_wire::envelope::Envelope;
use std::collections::HashMap;
use std::sync::Arc;

impl Conversation {
    /// Replays a conversation from the store. `None` if the store does not have it.
    pub fn load(id: &str, store: &dyn Reader) -> Result<Option<Conversation>, StoreError> {
        let found = store.records(id, 0)?;
        if found.records.is_empty() && found.skipped.is_empty() {
            return Ok(None);
        }
        let mut conversation = Conversation::replayed(id, &found, store, &mut |_, _| {})?;
        if let Some(bytes) = store.note(id, "pending")? {
            conversation.restore_pending(split(bytes));
        }
        conversation.restore_body(store)?;
        conversation.log.version = found.last_seq().unwrap_or(0);
        Ok(Some(conversation))
    }

    /// Replays a conversation from the first records of its log. `meet` is called for each request.
    pub fn replayed(
        id: &str,
        found: &Records,
        store: &dyn Reader,
        meet: &mut dyn FnMut(&Record, &ArrivalRecord),
    ) -> Result<Conversation, StoreError> {
        let blobs = messages_of(&found.records, store)?;
        let mut conversation = Conversation::new(id.to_owned(), OpeningRecord::unknown());
        let mut damaged = found.skipped.iter().peekable();
        for record in &found.records {
            while let Some(skipped) = damaged.next_if(|skipped| skipped.seq < record.seq) {
                conversation.skip(skipped.kind.as_deref());
            }
            if conversation.replay(record, &blobs, meet).is_none() {
                conversation.skip(Some(&record.kind));
            }
        }
        damaged.for_each(|skipped| conversation.skip(skipped.kind.as_deref()));
        Ok(conversation)
    }

    /// Skips an unreadable record of this kind; `None`: of any kind. The next request repeats a turn, but a commit is
    /// lost, and commits that name messages of a lost turn have no effect.
    fn skip(&mut self, kind: Option<&str>) {
        self.log.skipped += 1;
        self.log.broken = true;
        self.log.lost_edits |= match kind {
            None | Some(log::COMMIT | log::LINE) => true,
            Some(log::ARRIVED) => self.history.is_sent(),
            Some(_) => false,
        };
    }

    /// `None` if the record cannot be understood; it then changes nothing.
    fn replay(
        &mut self,
        record: &Record,
        blobs: &HashMap<Hash, Vec<u8>>,
        meet: &mut dyn FnMut(&Record, &ArrivalRecord),
    ) -> Option<()> {
        if !log::is_readable(record.version) {
            return None;
        }
        match record.kind.as_str() {
            log::OPENED => {
                self.introduce(serde_json::from_slice(&record.body).ok()?);
                self.log.introduced = true;
            }
            log::ARRIVED => {
                let arrived: ArrivalRecord = serde_json::from_slice(&record.body).ok()?;
                meet(record, &arrived);
                self.progress.requests = self.progress.requests.max(arrived.request);
                self.progress.heard = self.progress.heard.max(record.at);
                self.cache.forecast.asked(&arrived, record.at);
                self.progress.elsewhere |= arrived.elsewhere;
                if arrived.thread {
                    self.replay_thread(arrived.request);
                }
                if arrived.verdict == SIDE {
                    self.usage.sides.came(arrived.request, &arrived.class, record.at);
                }
                if let Some(turn) = &arrived.turn {
                    arrived.model.iter().for_each(|model| self.usage.calibration.expects(model));
                    let versions = versions_of(self.wire(), turn, &record.uses, blobs)?;
                    let compacted = arrived.verdict == Verdict::Compaction.name();
                    self.grow(turn, versions, record.uses.get(turn.envelope as usize).copied()?, compacted)?;
                    self.reasoning.strayed |= arrived.composed;
                    if arrived.composed && turn.current {
                        self.cache.rewritten();
                    }
                    if turn.current {
                        Arc::make_mut(&mut self.newest.envelope).model = arrived.model.as_deref().map(Into::into);
                        self.policy.next = arrived.next;
                        self.progress.last_turn = arrived.request;
                        self.progress.elsewhere = false;
                        self.end_thread();
                        self.progress.last_activity = record.at;
                    }
                }
            }
            log::ANSWERED => {
                let answered: AnswerRecord = serde_json::from_slice(&record.body).ok()?;
                self.usage.sides.answered(&answered);
                self.learn(&answered, record.at.saturating_sub(answered.total_ms));
                let signatures = answered.signatures.iter().filter_map(|signature| signature.parse().ok());
                self.bind(signatures, &answered);
                self.extend_thread(&answered);
            }
            log::COMMIT => self.take(log::commit(record)?),
            log::LINE => self.line(&serde_json::from_slice(&record.body).ok()?),
            log::RECOVERY => self.reasoning.is_dropped_by_provider = true,
            // Refusals are kept outside the conversations.
            log::REFUSED => {}
            log::WAIT => self.wait(&serde_json::from_slice(&record.body).ok()?, record.at),
            log::AUTOMATIC => self.automatic(&serde_json::from_slice(&record.body).ok()?),
            _ => return None,
        }
        Some(())
    }

    /// The exact bytes of the newest request on the current path, from the store; `None` if a part is missing or
    /// damaged.
    pub fn rebuild(&self, store: &dyn Reader) -> Result<Option<Whole>, StoreError> {
        let Some(packed) = self.newest.packed else { return Ok(None) };
        let versions: Vec<&SlotVersion> =
            self.messages.tree.path().filter_map(|slot| self.messages.versions.get(&slot.id)).collect();
        let hashes: Vec<Hash> = versions.iter().map(|version| version.blob).collect();
        let mut messages = Vec::new();
        for (index, (version, blob)) in versions.iter().zip(store.blobs(&hashes)?).enumerate() {
            let Blob::Present(bare) = blob else { return Ok(None) };
            if index > 0 {
                messages.extend_from_slice(self.separator(index).as_bytes());
            }
            let Some(exact) = dress(&bare, &version.dress) else { return Ok(None) };
            messages.extend_from_slice(&exact);
        }
        let mut failure = None;
        let mut find = |hash: Hash| match store.blob(hash) {
            Ok(found) => found,
            Err(StoreError::DamagedBlob { .. }) => None,
            Err(error) => {
                failure = Some(error);
                None
            }
        };
        let whole = find(packed).and_then(|own| envelope::unpack(&own, &messages, &mut find));
        failure.map_or(Ok(whole), Err)
    }

    fn separator(&self, index: usize) -> &str {
        match self.newest.between.as_deref() {
            None => ",",
            Some([one]) => one,
            Some(each) => each.get(index - 1).map_or(",", String::as_str),
        }
    }

    /// Reads everything in a body except the history. The model defaults to that of the newest request.
    pub fn envelope_of(&self, body: &Body) -> Envelope {
        let envelope = body.envelope(ctx_clients::lexicon());
        let model = envelope.model.clone().or_else(|| self.newest.envelope.model.clone());
        Envelope { model, ..envelope }
    }

    fn restore_body(&mut self, store: &dyn Reader) -> Result<(), StoreError> {
        self.newest.last.body = self.rebuild(store)?.and_then(|whole| Body::parse(whole.bytes, self.wire()).ok());
        if let Some(body) = &self.newest.last.body {
            self.identity.folder = body.folder(ctx_clients::lexicon());
            self.newest.last.aligned = body.spans().messages.len();
            self.newest.envelope = Arc::new(self.envelope_of(body));
            self.newest.last.envelope = self.newest.envelope.clone();
            self.newest.last.packed = self.newest.packed;
        }
        Ok(())
    }
}

/// The blobs of all message versions in these records.
fn messages_of(records: &[Record], store: &dyn Reader) -> Result<HashMap<Hash, Vec<u8>>, StoreError> {
    let mut hashes: Vec<Hash> = records
        .iter()
        .filter(|record| record.kind == log::ARRIVED)
        .flat_map(|record| record.uses.iter().copied())
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    let blobs = store.blobs(&hashes)?;
    Ok(hashes
        .into_iter()
        .zip(blobs)
        .filter_map(|(hash, blob)| match blob {
            Blob::Present(bytes) => Some((hash, bytes)),
            _ => None,
        })
        .collect())
}

fn versions_of(
    wire: &dyn Wire,
    turn: &Turn,
    uses: &[Hash],
    blobs: &HashMap<Hash, Vec<u8>>,
) -> Option<Vec<(SlotId, SlotVersion, Message)>> {
    let version = |version: &Version| {
        let blob = *uses.get(version.blob as usize)?;
        let own = Dress(version.dress.iter().map(|(at, text)| (*at, text.as_bytes().into())).collect());
        let exact = dress(blobs.get(&blob)?, &own)?;
        Some((SlotId(version.slot), SlotVersion { blob, dress: own }, wire.read(&exact, ctx_clients::lexicon()).facts))
    };
    turn.versions.iter().map(version).collect()
}
