//! Copies one store into another, of any backend. An interrupted copy is completed by the next one.

use std::collections::{HashMap, HashSet};

use crate::model::{AppendOutcome, Blob, Expectation, NewRecord, Note, Record, Step};
use crate::{Hash, Progress, Reader, Snapshot, Store, StoreError};

/// The number of records to read and to store at once.
const TOGETHER: usize = 64;

/// Bytes with their hashes.
type NewBlobs = Vec<(Hash, Vec<u8>)>;

/// The outcome of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// The conversations that were compared afterwards, and are equal.
    pub conversations: u64,
    /// The records that were copied; those already there are not counted.
    pub records: u64,
    pub notes: u64,
    /// The damaged records of the source, which are not copied.
    pub skipped: u64,
}

impl std::ops::AddAssign for CopyReport {
    fn add_assign(&mut self, other: Self) {
        self.conversations += other.conversations;
        self.records += other.records;
        self.notes += other.notes;
        self.skipped += other.skipped;
    }
}

/// Copies all records in their order, with the blobs they use, and compares; then copies all notes. Records get new
/// numbers. Snapshots name numbers, so they are left out; they are rebuilt.
///
/// `progress` hears how far the log has been read, then how many conversations have been compared.
pub fn copy(from: &dyn Reader, to: &dyn Store, progress: &Progress) -> Result<CopyReport, StoreError> {
    let end = from.last_seq()?;
    let mut copying =
        Copying { from, to, report: CopyReport::default(), places: HashMap::new(), known: HashSet::new() };
    for row in to.conversations()? {
        let present = to.records(&row.id, 0)?.records;
        copying.places.insert(row.id, Place { version: row.last_seq, present, ..Place::default() });
    }
    let mut after = 0;
    loop {
        let found = from.log(after, TOGETHER)?;
        let Some(last) = found.last_seq() else { break };
        after = last;
        copying.report.skipped += found.skipped.len() as u64;
        copying.records(found.records)?;
        progress.report(last.min(end), end);
    }
    copying.compare(progress)?;
    copying.notes()?;
    Ok(copying.report)
}

/// A conversation of the target.
#[derive(Default)]
struct Place {
    version: u64,
    /// The records that were there before.
    present: Vec<Record>,
    /// The number of valid records of the source so far.
    met: usize,
    /// Those of them with a damaged blob.
    left_out: usize,
}

struct Copying<'a> {
    from: &'a dyn Reader,
    to: &'a dyn Store,
    report: CopyReport,
    places: HashMap<String, Place>,
    /// Blobs that the target has.
    known: HashSet<Hash>,
}

impl Copying<'_> {
    fn records(&mut self, records: Vec<Record>) -> Result<(), StoreError> {
        let mut new = Vec::new();
        for record in records {
            let place = self.places.entry(record.conversation.clone()).or_default();
            place.met += 1;
            match place.present.get(place.met - 1) {
                Some(present) if is_equal(present, &record) => {}
                Some(_) => return Err(StoreError::OtherContent { conversation: record.conversation }),
                None => new.push(record),
            }
        }
        let mut steps = Vec::with_capacity(new.len());
        for record in new {
            match self.blobs(&record)? {
                Some(blobs) => steps.push(self.step(record, blobs)),
                None => {
                    self.report.skipped += 1;
                    self.places.entry(record.conversation).or_default().left_out += 1;
                }
            }
        }
        let names: Vec<String> =
            steps.iter().flat_map(|step| &step.records).map(|record| record.conversation.clone()).collect();
        for (name, outcome) in names.into_iter().zip(self.to.append(steps)?) {
            match outcome {
                AppendOutcome::Stored { numbers } => {
                    self.report.records += 1;
                    let place = self.places.entry(name).or_default();
                    place.version = numbers.last().copied().unwrap_or(place.version);
                }
                AppendOutcome::Conflict { .. } => return Err(StoreError::OtherContent { conversation: name }),
            }
        }
        Ok(())
    }

    fn step(&self, record: Record, blobs: NewBlobs) -> Step {
        let Record { conversation, at, kind, version, uses, body, .. } = record;
        let before = self.places.get(&conversation).map_or(0, |place| place.version);
        let expect = Some(Expectation { conversation: conversation.clone(), version: before });
        let records = vec![NewRecord { conversation, at, kind, version, uses, body }];
        Step { blobs, records, expect, durable: true, ..Step::default() }
    }

    /// The blobs of a record that the target does not have yet; `None` if one is damaged.
    fn blobs(&mut self, record: &Record) -> Result<Option<NewBlobs>, StoreError> {
        let mut new: Vec<Hash> = record.uses.iter().copied().filter(|hash| !self.known.contains(hash)).collect();
        new.sort_unstable();
        new.dedup();
        let mut blobs = Vec::with_capacity(new.len());
        for (hash, blob) in new.iter().zip(self.from.blobs(&new)?) {
            let Blob::Present(bytes) = blob else { return Ok(None) };
            blobs.push((*hash, bytes));
        }
        self.known.extend(new);
        Ok(Some(blobs))
    }

    fn notes(&mut self) -> Result<(), StoreError> {
        for name in self.from.note_names()?.into_iter().filter(|name| name != Snapshot::NOTE) {
            let present: HashMap<String, Vec<u8>> = self.to.notes(&name)?.into_iter().collect();
            let own = self.from.notes(&name)?;
            let new = own.into_iter().filter(|(conversation, body)| present.get(conversation) != Some(body));
            let notes: Vec<Note> =
                new.map(|(conversation, body)| Note { conversation, name: name.clone(), body: Some(body) }).collect();
            self.report.notes += notes.len() as u64;
            if !notes.is_empty() {
                // Running daemons learn of the copied conversations.
                self.to.append(vec![Step { notes, durable: true, is_announced: true, ..Step::default() }])?;
            }
        }
        Ok(())
    }

    /// Reads everything again from both. The source may have grown meanwhile.
    fn compare(&mut self, progress: &Progress) -> Result<(), StoreError> {
        let mut own: Vec<(&String, &Place)> = self.places.iter().filter(|(_, place)| place.met > 0).collect();
        own.sort_unstable_by_key(|(id, _)| *id);
        let all = own.len() as u64;
        for (id, place) in own {
            let (expected, found) = (self.from.records(id, 0)?, self.to.records(id, 0)?);
            let mut rest = found.records.as_slice();
            for record in expected.records.iter().take(place.met) {
                if let Some((first, others)) = rest.split_first()
                    && is_equal(first, record)
                {
                    rest = others;
                }
            }
            let is_complete = found.records.len() == place.met - place.left_out && rest.is_empty();
            if !is_complete || !found.skipped.is_empty() || !self.has_blobs(&found.records)? {
                return Err(StoreError::OtherContent { conversation: id.clone() });
            }
            self.report.conversations += 1;
            progress.report(self.report.conversations, all);
        }
        Ok(())
    }

    /// Whether the target can read every blob of these records.
    fn has_blobs(&self, records: &[Record]) -> Result<bool, StoreError> {
        let uses: HashSet<Hash> = records.iter().flat_map(|record| record.uses.iter().copied()).collect();
        let uses: Vec<Hash> = uses.into_iter().collect();
        for some in uses.chunks(TOGETHER) {
            if !self.to.blobs(some)?.iter().all(|blob| matches!(blob, Blob::Present(_))) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether two records say the same; their numbers may differ.
fn is_equal(one: &Record, other: &Record) -> bool {
    let Record { conversation, at, kind, version, uses, body, .. } = one;
    *conversation == other.conversation
        && *at == other.at
        && *kind == other.kind
        && *version == other.version
        && *uses == other.uses
        && *body == other.body
}
