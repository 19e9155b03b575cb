//! The store in memory: the simplest implementation of the contract, for tests and for running without a disk. Nothing
//! here is durable, and nothing can be damaged.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::model::{Blob, ConversationRow, PurgeReport, Record, Records, Size, Step};
use crate::{Counts, Hash, Health, Reader, Store, StoreError};

#[derive(Debug, Default)]
pub struct MemoryStore {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    last_seq: u64,
    records: BTreeMap<u64, Record>,
    blobs: HashMap<Hash, Vec<u8>>,
    /// By name, then by conversation.
    notes: BTreeMap<(String, String), Vec<u8>>,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Checks every condition before anything is changed.
    fn refuse(&self, steps: &[Step]) -> Result<(), StoreError> {
        let mut known = HashSet::new();
        for step in steps {
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
        }
        Ok(())
    }

    fn keep(&mut self, step: Step) -> u64 {
        for (hash, bytes) in step.blobs {
            self.blobs.entry(hash).or_insert(bytes);
        }
        for record in step.records {
            self.last_seq += 1;
            let record = record.numbered(self.last_seq);
            self.records.insert(self.last_seq, record);
        }
        for note in step.notes {
            let key = (note.name, note.conversation);
            match note.body {
                Some(body) => self.notes.insert(key, body),
                None => self.notes.remove(&key),
            };
        }
        self.last_seq
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
        let state = self.read();
        let later = state.records.values().filter(|record| record.seq > after);
        let ours = later.filter(|record| record.conversation == conversation);
        Ok(Records { records: ours.cloned().collect(), skipped: Vec::new() })
    }

    fn log(&self, after: u64, limit: usize) -> Result<Records, StoreError> {
        let state = self.read();
        let later = state.records.values().filter(|record| record.seq > after);
        Ok(Records { records: later.take(limit).cloned().collect(), skipped: Vec::new() })
    }

    fn blobs(&self, hashes: &[Hash]) -> Result<Vec<Blob>, StoreError> {
        let state = self.read();
        let found = hashes.iter().map(|hash| match state.blobs.get(hash) {
            Some(bytes) => Blob::Present(bytes.clone()),
            None => Blob::Missing,
        });
        Ok(found.collect())
    }

    fn notes(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let state = self.read();
        let named = state.notes.iter().filter(|((own, _), _)| own == name);
        Ok(named.map(|((_, conversation), body)| (conversation.clone(), body.clone())).collect())
    }

    fn note(&self, conversation: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let key = (name.to_owned(), conversation.to_owned());
        Ok(self.read().notes.get(&key).cloned())
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        Ok(self.read().last_seq)
    }

    fn conversations(&self) -> Result<Vec<ConversationRow>, StoreError> {
        Ok(self.read().conversations())
    }

    fn conversations_with(&self, kinds: &[&str]) -> Result<Vec<String>, StoreError> {
        let state = self.read();
        let ours = state.records.values().filter(|record| kinds.contains(&record.kind.as_str()));
        let names: BTreeSet<&str> = ours.map(|record| record.conversation.as_str()).collect();
        Ok(names.into_iter().map(str::to_owned).collect())
    }

    fn size(&self) -> Result<Size, StoreError> {
        Ok(self.read().size())
    }

    fn check(&self) -> Result<Health, StoreError> {
        let state = self.read();
        Ok(Health {
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
        })
    }
}

impl Store for MemoryStore {
    fn append(&self, steps: Vec<Step>) -> Result<Vec<u64>, StoreError> {
        let mut state = self.write();
        state.refuse(&steps)?;
        Ok(steps.into_iter().map(|step| state.keep(step)).collect())
    }

    fn remove(&self, conversations: &[String]) -> Result<PurgeReport, StoreError> {
        Ok(self.write().remove(conversations))
    }

    fn sweep(&self) -> Result<PurgeReport, StoreError> {
        Ok(self.write().sweep())
    }
}
