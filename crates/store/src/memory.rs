//! The store in memory: the simplest implementation of the contract, for tests and for running without a disk. Nothing
//! here is durable, and nothing can be damaged.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::{
    AppendOutcome, Blob, ConversationRow, Expectation, Owner, PurgeReport, Record, Records, Size, Step,
};
use crate::{Counts, Cursor, Feed, Hash, Health, Progress, Reader, Store, StoreError};

/// The store of one owner. Its clones for other owners share the numbers of records, and nothing else.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    owners: Arc<Mutex<Owners>>,
    owner: Owner,
}

#[derive(Debug, Default)]
struct Owners {
    /// Shared by all owners.
    last_seq: u64,
    states: HashMap<Owner, State>,
}

/// The content of one owner.
#[derive(Debug, Default)]
struct State {
    records: BTreeMap<u64, Record>,
    blobs: HashMap<Hash, Vec<u8>>,
    /// By name, then by conversation.
    notes: BTreeMap<(String, String), Vec<u8>>,
}

/// The epoch of every store in memory: a cursor of one is not kept beyond its process.
const EPOCH: u64 = 1;

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// The store of another owner.
    pub fn of(&self, owner: Owner) -> Self {
        Self { owners: self.owners.clone(), owner }
    }

    fn owners(&self) -> MutexGuard<'_, Owners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(self.owners().states.entry(self.owner).or_default())
    }

    fn write<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        write(self.owners().states.entry(self.owner).or_default())
    }
}

impl State {
    /// Checks every condition before anything is changed. Returns which steps are in conflict, each with the version
    /// that it meets.
    fn conflicts(&self, steps: &[Step]) -> Result<Vec<Option<u64>>, StoreError> {
        let mut known = HashSet::new();
        let mut conflicts = Vec::with_capacity(steps.len());
        for step in steps {
            let met = step.expect.as_ref().map(|expect| (expect.version, self.version(&expect.conversation)));
            if let Some((_, version)) = met.filter(|(expected, version)| expected != version) {
                conflicts.push(Some(version));
                continue;
            }
            for (hash, bytes) in &step.blobs {
                let actual = Hash::of(bytes);
                if *hash != actual && !self.blobs.contains_key(hash) && !known.contains(hash) {
                    return Err(StoreError::WrongHash { given: *hash, actual });
                }
                known.insert(*hash);
            }
            for hash in step.records.iter().flat_map(|record| &record.uses) {
                if !known.contains(hash) && !self.blobs.contains_key(hash) {
                    return Err(StoreError::UnknownBlob(*hash));
                }
            }
            conflicts.push(None);
        }
        Ok(conflicts)
    }

    fn version(&self, conversation: &str) -> u64 {
        let newest = self.records.values().rev().find(|record| record.conversation == conversation);
        newest.map_or(0, |record| record.seq)
    }

    fn keep(&mut self, step: Step, last_seq: &mut u64) -> AppendOutcome {
        for (hash, bytes) in step.blobs {
            self.blobs.entry(hash).or_insert(bytes);
        }
        let mut numbers = Vec::with_capacity(step.records.len());
        for record in step.records {
            *last_seq += 1;
            self.records.insert(*last_seq, record.numbered(*last_seq));
            numbers.push(*last_seq);
        }
        for note in step.notes {
            let key = (note.name, note.conversation);
            match note.body {
                Some(body) => self.notes.insert(key, body),
                None => self.notes.remove(&key),
            };
        }
        AppendOutcome::Stored { numbers }
    }

    fn remove(&mut self, conversations: &[String]) -> PurgeReport {
        let mut purged = PurgeReport::default();
        let gone: HashSet<&str> = conversations.iter().map(String::as_str).collect();
        self.records.retain(|_, record| {
            let stays = !gone.contains(record.conversation.as_str());
            if !stays {
                purged.records += 1;
                purged.bytes += record.body.len() as u64;
            }
            stays
        });
        self.notes.retain(|(_, conversation), body| {
            let stays = !gone.contains(conversation.as_str());
            if !stays {
                purged.bytes += body.len() as u64;
            }
            stays
        });
        purged
    }

    fn sweep(&mut self) -> PurgeReport {
        let mut purged = PurgeReport::default();
        let used: HashSet<Hash> = self.uses().collect();
        self.blobs.retain(|hash, bytes| {
            let stays = used.contains(hash);
            if !stays {
                purged.blobs += 1;
                purged.bytes += bytes.len() as u64;
            }
            stays
        });
        purged
    }

    fn uses(&self) -> impl Iterator<Item = Hash> + '_ {
        self.records.values().flat_map(|record| record.uses.iter().copied())
    }

    fn size(&self) -> Size {
        let records = self.records.values().map(|record| record.body.len());
        let bytes = records.chain(self.blobs.values().map(Vec::len));
        Size {
            records: self.records.len() as u64,
            blobs: self.blobs.len() as u64,
            database_bytes: bytes.map(|length| length as u64).sum(),
            waiting_bytes: 0,
        }
    }

    fn conversations(&self) -> Vec<ConversationRow> {
        let mut rows: BTreeMap<&str, ConversationRow> = BTreeMap::new();
        for record in self.records.values() {
            let row = rows.entry(&record.conversation).or_insert_with(|| ConversationRow {
                id: record.conversation.clone(),
                records: 0,
                first_at: record.at,
                last_at: record.at,
                last_seq: record.seq,
            });
            row.records += 1;
            row.last_at = record.at;
            row.last_seq = record.seq;
        }
        rows.into_values().collect()
    }
}

impl Reader for MemoryStore {
    fn records(&self, conversation: &str, after: u64) -> Result<Records, StoreError> {
        Ok(self.read(|state| {
            let later = state.records.values().filter(|record| record.seq > after);
            let ours = later.filter(|record| record.conversation == conversation);
            Records { records: ours.cloned().collect(), skipped: Vec::new() }
        }))
    }

    fn log(&self, after: u64, limit: usize) -> Result<Records, StoreError> {
        Ok(self.read(|state| {
            let later = state.records.values().filter(|record| record.seq > after);
            Records { records: later.take(limit).cloned().collect(), skipped: Vec::new() }
        }))
    }

    fn feed(&self, after: &Cursor, limit: usize) -> Result<Feed, StoreError> {
        if !after.is_of(EPOCH) {
            return Err(StoreError::ForeignCursor(*after));
        }
        let found = self.log(after.seq, limit)?;
        let seq = found.last_seq().unwrap_or(after.seq);
        Ok(Feed { found, next: Cursor { epoch: EPOCH, transaction: 0, seq } })
    }

    fn newest(&self) -> Result<Cursor, StoreError> {
        Ok(Cursor { epoch: EPOCH, transaction: 0, seq: self.last_seq()? })
    }

    fn blobs(&self, hashes: &[Hash]) -> Result<Vec<Blob>, StoreError> {
        Ok(self.read(|state| {
            let found = hashes.iter().map(|hash| match state.blobs.get(hash) {
                Some(bytes) => Blob::Present(bytes.clone()),
                None => Blob::Missing,
            });
            found.collect()
        }))
    }

    fn notes(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        Ok(self.read(|state| {
            let named = state.notes.iter().filter(|((own, _), _)| own == name);
            named.map(|((_, conversation), body)| (conversation.clone(), body.clone())).collect()
        }))
    }

    fn note_names(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.read(|state| {
            let names: BTreeSet<&str> = state.notes.keys().map(|(name, _)| name.as_str()).collect();
            names.into_iter().map(str::to_owned).collect()
        }))
    }

    fn note(&self, conversation: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let key = (name.to_owned(), conversation.to_owned());
        Ok(self.read(|state| state.notes.get(&key).cloned()))
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        Ok(self.owners().last_seq)
    }

    fn conversations(&self) -> Result<Vec<ConversationRow>, StoreError> {
        Ok(self.read(State::conversations))
    }

    fn conversations_with(&self, kinds: &[&str]) -> Result<Vec<String>, StoreError> {
        Ok(self.read(|state| {
            let ours = state.records.values().filter(|record| kinds.contains(&record.kind.as_str()));
            let names: BTreeSet<&str> = ours.map(|record| record.conversation.as_str()).collect();
            names.into_iter().map(str::to_owned).collect()
        }))
    }

    fn size(&self) -> Result<Size, StoreError> {
        Ok(self.read(State::size))
    }

    fn check_with(&self, _: &Progress) -> Result<Health, StoreError> {
        Ok(self.read(|state| Health {
            findings: Vec::new(),
            counts: Counts {
                conversations: state.conversations().len() as u64,
                records: state.records.len() as u64,
                blobs: state.blobs.len() as u64,
                notes: state.notes.len() as u64,
                ..Counts::default()
            },
            size: state.size(),
            schema: 0,
        }))
    }
}

impl Store for MemoryStore {
    fn append(&self, steps: Vec<Step>) -> Result<Vec<AppendOutcome>, StoreError> {
        let mut owners = self.owners();
        let Owners { last_seq, states } = &mut *owners;
        let state = states.entry(self.owner).or_default();
        let conflicts = state.conflicts(&steps)?;
        let outcomes = steps.into_iter().zip(conflicts).map(|(step, conflict)| match conflict {
            Some(version) => AppendOutcome::Conflict { version },
            None => state.keep(step, last_seq),
        });
        Ok(outcomes.collect())
    }

    fn remove(&self, conversations: &[String]) -> Result<PurgeReport, StoreError> {
        Ok(self.write(|state| state.remove(conversations)))
    }

    fn remove_if(&self, expect: &Expectation) -> Result<Option<PurgeReport>, StoreError> {
        Ok(self.write(|state| {
            let is_same = state.version(&expect.conversation) == expect.version;
            is_same.then(|| state.remove(std::slice::from_ref(&expect.conversation)))
        }))
    }

    fn sweep(&self) -> Result<PurgeReport, StoreError> {
        Ok(self.write(State::sweep))
    }
}
