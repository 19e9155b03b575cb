//! Replays a conversation from its log, and rebuilds its newest body.

use super::facts::{Facts, StoredMessage};
use super::messages::split;
use super::{Conversation, SlotVersion};
use crate::envelope::{self, Whole};
use crate::log::{self, AnswerRecord, ArrivalRecord, OpeningRecord, SIDE, Turn, Version};
use ctx_core::{SlotId, Verdict};
use ctx_models::Models;
use ctx_models::cache::Writes;
use ctx_store::{Blob, Hash, Reader, Record, Records, Snapshot, StoreError};
use ctx_wire::WireId;
use ctx_wire::body::Body;
use ctx_wire::dress::{Dress, dress};
use ctx_wire::envelope::Envelope;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Conversation {
    /// Replays a conversation from the store. `None` if the store does not have it. If much had to be read, the log's
    /// state has a snapshot to be stored.
    pub fn load(id: &str, store: &dyn Reader) -> Result<Option<Conversation>, StoreError> {
        let found = store.records(id, 0)?;
        if found.records.is_empty() && found.skipped.is_empty() {
            return Ok(None);
        }
        let (snapshot, pending) = (store.snapshot(id)?, store.note(id, "pending")?);
        let restored = |snapshot: Option<&Snapshot>| -> Result<Conversation, StoreError> {
            let log = ReadLog::of(&found, snapshot, store)?;
            let mut conversation = Conversation::replayed_from(id, &log, &mut |_, _| {});
            if let Some(bytes) = &pending {
                conversation.restore_pending(split(bytes.clone()));
            }
            conversation.restore_body(&log.facts.read, store)?;
            conversation.log.version = found.last_seq().unwrap_or(0);
            let old = log.messages_without(&conversation);
            conversation.log.snapshot = log.facts.is_worth_keeping(&old).then(|| log.snapshot(&old)).flatten();
            Ok(conversation)
        };
        let mut conversation = restored(snapshot.as_ref())?;
        // A damaged message on the path is noticed by reading it.
        if snapshot.is_some() && conversation.newest.packed.is_some() && conversation.newest.last.body.is_none() {
            conversation = restored(None)?;
        }
        Ok(Some(conversation))
    }

    /// A snapshot with all messages of a conversation. A load returns one with those that have left the path, if that
    /// is worth storing.
    pub fn snapshot(id: &str, store: &dyn Reader) -> Result<Option<Snapshot>, StoreError> {
        let found = store.records(id, 0)?;
        let log = ReadLog::of(&found, None, store)?;
        Ok(log.snapshot(&log.messages()))
    }

    /// Replays a conversation from the first records of its log. `meet` is called for each request.
    pub fn replayed(
        id: &str,
        found: &Records,
        store: &dyn Reader,
        meet: &mut dyn FnMut(&Record, &ArrivalRecord),
    ) -> Result<Conversation, StoreError> {
        Ok(Conversation::replayed_from(id, &ReadLog::of(found, store.snapshot(id)?.as_ref(), store)?, meet))
    }

    fn replayed_from(id: &str, log: &ReadLog<'_>, meet: &mut dyn FnMut(&Record, &ArrivalRecord)) -> Conversation {
        let ReadLog { found, arrivals, .. } = log;
        let mut conversation = Conversation::new(id.to_owned(), OpeningRecord::unknown());
        let mut damaged = found.skipped.iter().peekable();
        for (record, arrival) in found.records.iter().zip(arrivals) {
            while let Some(skipped) = damaged.next_if(|skipped| skipped.seq < record.seq) {
                conversation.skip(skipped.kind.as_deref());
            }
            if conversation.replay(record, arrival.as_ref(), &log.facts, meet).is_none() {
                conversation.skip(Some(&record.kind));
            }
        }
        damaged.for_each(|skipped| conversation.skip(skipped.kind.as_deref()));
        conversation
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
        arrival: Option<&Arrival>,
        facts: &Facts,
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
                let Arrival { arrived, wire, versions } = arrival?;
                meet(record, arrived);
                self.progress.requests = self.progress.requests.max(arrived.request);
                self.progress.heard = self.progress.heard.max(record.at);
                self.cache.forecast.asked(arrived, record.at);
                self.progress.elsewhere |= arrived.elsewhere;
                if arrived.thread {
                    self.replay_thread(arrived.request);
                }
                if arrived.verdict == SIDE {
                    self.usage.sides.came(arrived.request, &arrived.class, record.at);
                }
                if let Some(turn) = &arrived.turn {
                    arrived.model.iter().for_each(|model| self.usage.calibration.expects(model));
                    self.cache.keep_for(self.stored_lifetime(arrived));
                    let message = |(slot, version): &(SlotId, SlotVersion)| {
                        Some((*slot, version.clone(), facts.get((*wire, version))?))
                    };
                    let versions = versions.as_ref()?.iter().map(message).collect::<Option<_>>()?;
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

    /// The lifetime of the cache when a request came: the account of its answer depends on it.
    fn stored_lifetime(&self, arrived: &ArrivalRecord) -> Option<u64> {
        // Older records do not have it. On wires with breakpoints, answers report it.
        let is_old = arrived.kept_for.is_none() && self.wire().cache_rules().writes != Writes::AtBreakpoints;
        let listed = || Models::listed().cache_seconds_of(arrived.model.as_deref(), None);
        arrived.kept_for.or_else(|| listed().filter(|_| is_old))
    }

    /// The exact bytes of the newest request on the current path, from the store; `None` if a part is missing or
    /// damaged.
    pub fn rebuild(&self, store: &dyn Reader) -> Result<Option<Whole>, StoreError> {
        self.rebuild_with(&HashMap::new(), store)
    }

    /// The same with messages that were read already.
    fn rebuild_with(&self, read: &HashMap<Hash, Vec<u8>>, store: &dyn Reader) -> Result<Option<Whole>, StoreError> {
        let Some(packed) = self.newest.packed else { return Ok(None) };
        let versions: Vec<&SlotVersion> =
            self.messages.tree.path().filter_map(|slot| self.messages.versions.get(&slot.id)).collect();
        let mut hashes: Vec<Hash> = versions.iter().map(|version| version.blob).collect();
        hashes.retain(|hash| !read.contains_key(hash));
        hashes.push(packed);
        let Some(own) = present(&hashes, store)? else { return Ok(None) };
        let mut messages = Vec::new();
        for (index, version) in versions.iter().enumerate() {
            if index > 0 {
                messages.extend_from_slice(self.separator(index).as_bytes());
            }
            let bare = read.get(&version.blob).or_else(|| own.get(&version.blob));
            let Some(exact) = bare.and_then(|bare| dress(bare, &version.dress)) else { return Ok(None) };
            messages.extend_from_slice(&exact);
        }
        let Some(packed) = own.get(&packed) else { return Ok(None) };
        let Some(named) = present(&envelope::named(packed), store)? else { return Ok(None) };
        Ok(envelope::unpack(packed, &messages, |hash| named.get(&hash).cloned()))
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

    fn restore_body(&mut self, read: &HashMap<Hash, Vec<u8>>, store: &dyn Reader) -> Result<(), StoreError> {
        let whole = self.rebuild_with(read, store)?;
        self.newest.last.body = whole.and_then(|whole| Body::parse(whole.bytes, self.wire()).ok());
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

/// These blobs; `None` if one is missing or damaged.
fn present(hashes: &[Hash], store: &dyn Reader) -> Result<Option<HashMap<Hash, Vec<u8>>>, StoreError> {
    let found = hashes.iter().zip(store.blobs(hashes)?).map(|(hash, blob)| match blob {
        Blob::Present(bytes) => Some((*hash, bytes)),
        _ => None,
    });
    Ok(found.collect())
}

/// The records of a log with everything that a replay needs.
struct ReadLog<'a> {
    found: &'a Records,
    /// The requests among them, in their places.
    arrivals: Vec<Option<Arrival>>,
    facts: Facts,
}

/// The record of a request.
struct Arrival {
    arrived: ArrivalRecord,
    wire: WireId,
    /// The message versions that it brought; `None` if the record contradicts itself.
    versions: Option<Vec<(SlotId, SlotVersion)>>,
}

impl<'a> ReadLog<'a> {
    fn of(found: &'a Records, snapshot: Option<&Snapshot>, store: &dyn Reader) -> Result<ReadLog<'a>, StoreError> {
        let mut wire = OpeningRecord::unknown().wire;
        let mut arrivals = Vec::with_capacity(found.records.len());
        for record in &found.records {
            let is_readable = log::is_readable(record.version);
            if is_readable && record.kind == log::OPENED {
                let opened = serde_json::from_slice(&record.body);
                wire = opened.map_or(wire, |opened: OpeningRecord| opened.wire);
            }
            let arrived =
                (is_readable && record.kind == log::ARRIVED).then(|| serde_json::from_slice(&record.body).ok());
            arrivals.push(arrived.flatten().map(|arrived: ArrivalRecord| {
                let versions =
                    arrived.turn.as_ref().map_or_else(|| Some(Vec::new()), |turn| versions_of(turn, &record.uses));
                Arrival { arrived, wire, versions }
            }));
        }
        let mut log = ReadLog { found, arrivals, facts: Facts::default() };
        let facts = Facts::of(&log.messages(), snapshot, store)?;
        log.facts = facts;
        Ok(log)
    }

    fn messages(&self) -> Vec<StoredMessage<'_>> {
        let arrivals = self.arrivals.iter().flatten();
        let versions =
            arrivals.flat_map(|arrival| arrival.versions.iter().flatten().map(|(_, version)| (arrival.wire, version)));
        versions.collect()
    }

    /// The messages that are not on the current path.
    fn messages_without(&self, conversation: &Conversation) -> Vec<StoredMessage<'_>> {
        let Conversation { messages, .. } = conversation;
        let on_path = messages.tree.path().filter_map(|slot| messages.versions.get(&slot.id));
        let present: HashSet<Hash> = on_path.map(|version| version.blob).collect();
        let mut old = self.messages();
        old.retain(|(_, version)| !present.contains(&version.blob));
        old
    }

    fn snapshot(&self, messages: &[StoredMessage<'_>]) -> Option<Snapshot> {
        self.facts.snapshot(messages, self.found.last_seq().unwrap_or(0))
    }
}

fn versions_of(turn: &Turn, uses: &[Hash]) -> Option<Vec<(SlotId, SlotVersion)>> {
    let version = |version: &Version| {
        let blob = *uses.get(version.blob as usize)?;
        let dress = Dress(version.dress.iter().map(|(at, text)| (*at, text.as_bytes().into())).collect());
        Some((SlotId(version.slot), SlotVersion { blob, dress }))
    };
    turn.versions.iter().map(version).collect()
}
