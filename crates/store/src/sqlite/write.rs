//! Writing: one transaction for all steps of an append, on the only writing connection.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use rusqlite::{Connection, TransactionBehavior, params};
use zstd::bulk::Compressor;

use super::log::record_checksum;
use super::open::PAGE_BYTES;
use super::read::{conversation_id, find_blob, last_seq, note_checksum, version};
use crate::encode::{compressor, encode_uses, pack};
use crate::model::{AppendOutcome, NewRecord, Note, Step};
use crate::{Hash, StoreError};

/// Thirty-two pieces fill a page except for a few bytes.
const PIECE_BYTES: usize = 500;

/// From this size on, a body is one piece: it fills whole pages, and the rest of the last one no longer matters.
const ONE_PIECE_FROM: usize = 16 * PAGE_BYTES as usize;

pub struct Writer {
    pub connection: Connection,
    compressor: Compressor<'static>,
    /// Numbers of known conversations. Cleared when a transaction fails or removes some.
    conversations: HashMap<String, i64>,
    /// Unknown at first and after a failed transaction: then read from the file.
    next: Option<Next>,
    /// Whether commits currently wait for the disk.
    synchronous: Option<bool>,
}

/// The next numbers to assign.
#[derive(Clone, Copy)]
struct Next {
    seq: i64,
    blob: i64,
    piece: i64,
}

impl Writer {
    pub fn new(connection: Connection) -> Result<Self, StoreError> {
        Ok(Self {
            connection,
            compressor: compressor().map_err(StoreError::Compression)?,
            conversations: HashMap::new(),
            next: None,
            synchronous: None,
        })
    }

    /// Clears the known conversations, because some may have been removed with their numbers.
    pub fn forget_conversations(&mut self) {
        self.conversations.clear();
    }

    /// Clears everything remembered about the file's content.
    pub fn forget(&mut self) {
        self.conversations.clear();
        self.next = None;
    }

    /// The highest number assigned, known after an append.
    pub fn last_assigned(&self) -> u64 {
        self.next.map_or(0, |next| next.seq.saturating_sub(1).cast_unsigned())
    }

    /// The missing acknowledged numbers. They are not reused.
    pub fn find_loss(&mut self, acknowledged: u64) -> Result<Option<Range<u64>>, StoreError> {
        let last = last_seq(&self.connection)?.cast_unsigned();
        if last >= acknowledged {
            return Ok(None);
        }
        let sql = "INSERT OR REPLACE INTO facts (name, value) VALUES ('last-seq', ?1)";
        self.connection.execute(sql, [acknowledged.cast_signed()])?;
        Ok(Some(last + 1..acknowledged + 1))
    }

    /// Stores the steps, or none on an error. `damaged` are blobs whose stored bytes are known to be bad: they are rewritten when
    /// their bytes are passed again.
    pub fn append(&mut self, steps: Vec<Step>, damaged: &HashSet<Hash>) -> Result<Vec<AppendOutcome>, StoreError> {
        self.wait_for_disk(steps.iter().any(|step| step.durable))?;
        let outcome = self.try_append(steps, damaged);
        if outcome.is_err() {
            self.forget();
        }
        outcome
    }

    /// With `synchronous = NORMAL` a commit goes to the operating system; with `FULL` the log is also flushed to disk,
    /// with everything written to it before. The setting belongs to the connection and can change between transactions,
    /// not within one.
    pub fn wait_for_disk(&mut self, wait: bool) -> Result<(), StoreError> {
        if self.synchronous != Some(wait) {
            let level = if wait { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.synchronous = Some(wait);
        }
        Ok(())
    }

    fn try_append(&mut self, steps: Vec<Step>, damaged: &HashSet<Hash>) -> Result<Vec<AppendOutcome>, StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let next = match self.next {
            Some(next) => next,
            None => Next::ask(&transaction)?,
        };
        let mut appending = Appending {
            first: next.seq,
            next,
            connection: &transaction,
            compressor: &mut self.compressor,
            conversations: &mut self.conversations,
            known: HashMap::new(),
            damaged,
        };
        let mut outcomes = Vec::with_capacity(steps.len());
        for step in steps {
            outcomes.push(appending.step(step)?);
        }
        let next = appending.next;
        transaction.commit()?;
        self.next = Some(next);
        Ok(outcomes)
    }
}

impl Next {
    fn ask(connection: &Connection) -> Result<Self, StoreError> {
        let after_last = |sql| -> Result<i64, StoreError> {
            let last: Option<i64> = connection.query_row(sql, [], |row| row.get(0))?;
            Ok(last.unwrap_or(0).saturating_add(1))
        };
        Ok(Self {
            seq: last_seq(connection)?.saturating_add(1),
            blob: after_last("SELECT max(id) FROM blobs")?,
            piece: after_last("SELECT max(id) FROM pieces")?,
        })
    }
}

/// Yields the processor. Packing and inserting make no system calls, and a kernel that preempts lazily would let the
/// writer run to the next tick while others wait.
fn give_way() {
    std::thread::yield_now();
}

/// A transaction in progress.
struct Appending<'a> {
    connection: &'a Connection,
    compressor: &'a mut Compressor<'static>,
    conversations: &'a mut HashMap<String, i64>,
    /// The number that its first record gets.
    first: i64,
    next: Next,
    /// Blobs seen in this transaction, by number.
    known: HashMap<Hash, i64>,
    damaged: &'a HashSet<Hash>,
}

impl Appending<'_> {
    fn step(&mut self, step: Step) -> Result<AppendOutcome, StoreError> {
        if let Some(expect) = &step.expect {
            let version = match self.known_conversation(&expect.conversation)? {
                Some(id) => version(self.connection, id, self.first)?,
                None => 0,
            };
            if version != expect.version {
                return Ok(AppendOutcome::Conflict { version });
            }
        }
        let first = self.next.seq.cast_unsigned();
        for (hash, bytes) in &step.blobs {
            self.blob(*hash, bytes)?;
            give_way();
        }
        for record in step.records {
            self.record(record)?;
            give_way();
        }
        for note in &step.notes {
            self.note(note)?;
        }
        Ok(AppendOutcome::Stored { numbers: (first..self.next.seq.cast_unsigned()).collect() })
    }

    fn blob(&mut self, hash: Hash, bytes: &[u8]) -> Result<(), StoreError> {
        if self.known.contains_key(&hash) {
            return Ok(());
        }
        let stored = find_blob(self.connection, &hash)?.map(|place| place.id);
        if let Some(id) = stored.filter(|_| !self.damaged.contains(&hash)) {
            self.known.insert(hash, id);
            return Ok(());
        }
        let actual = Hash::of(bytes);
        if actual != hash {
            return Err(StoreError::WrongHash { given: hash, actual });
        }
        let id = stored.unwrap_or(self.next.blob);
        let packed = pack(self.compressor, bytes)?;
        let first = self.next.piece;
        self.pieces(&packed.bytes)?;
        // Replaces only damaged blobs, whose old pieces may be unreachable.
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO blobs (id, hash, first, pieces, codec, size) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![id, hash.as_bytes(), first, self.next.piece - first, packed.codec, packed.size])?;
        if stored.is_none() {
            self.next.blob = self.next.blob.saturating_add(1);
        }
        self.known.insert(hash, id);
        Ok(())
    }

    fn pieces(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let mut insert = self.connection.prepare_cached("INSERT INTO pieces (id, body) VALUES (?1, ?2)")?;
        let length = if bytes.len() < ONE_PIECE_FROM { PIECE_BYTES } else { bytes.len() };
        let mut rest = bytes;
        loop {
            // Even an empty body has one piece, to distinguish it from a lost one.
            let (piece, later) = rest.split_at(length.min(rest.len()));
            insert.execute(params![self.next.piece, piece])?;
            self.next.piece = self.next.piece.saturating_add(1);
            rest = later;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    fn record(&mut self, record: NewRecord) -> Result<(), StoreError> {
        let record = record.numbered(self.next.seq.cast_unsigned());
        let mut ids = Vec::with_capacity(record.uses.len());
        for hash in &record.uses {
            ids.push(self.blob_id(*hash)?);
        }
        let conversation = self.conversation(&record.conversation)?;
        let packed = pack(self.compressor, &record.body)?;
        self.connection
            .prepare_cached(
                "INSERT INTO records \
                 (seq, conversation, at, kind, version, uses, checksum, codec, size, body) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                self.next.seq,
                conversation,
                record.at.cast_signed(),
                record.kind,
                record.version,
                encode_uses(&ids),
                record_checksum(&record),
                packed.codec,
                packed.size,
                packed.bytes
            ])?;
        self.next.seq = self.next.seq.saturating_add(1);
        Ok(())
    }

    fn blob_id(&mut self, hash: Hash) -> Result<i64, StoreError> {
        if let Some(id) = self.known.get(&hash) {
            return Ok(*id);
        }
        let place = find_blob(self.connection, &hash)?;
        let id = place.ok_or(StoreError::UnknownBlob(hash))?.id;
        self.known.insert(hash, id);
        Ok(id)
    }

    fn conversation(&mut self, name: &str) -> Result<i64, StoreError> {
        if let Some(id) = self.known_conversation(name)? {
            return Ok(id);
        }
        self.connection.prepare_cached("INSERT INTO conversations (name) VALUES (?1)")?.execute([name])?;
        let id = self.connection.last_insert_rowid();
        self.conversations.insert(name.to_owned(), id);
        Ok(id)
    }

    fn known_conversation(&mut self, name: &str) -> Result<Option<i64>, StoreError> {
        if let Some(id) = self.conversations.get(name) {
            return Ok(Some(*id));
        }
        let found = conversation_id(self.connection, name)?;
        if let Some(id) = found {
            self.conversations.insert(name.to_owned(), id);
        }
        Ok(found)
    }

    fn note(&mut self, note: &Note) -> Result<(), StoreError> {
        match &note.body {
            Some(body) => {
                let conversation = self.conversation(&note.conversation)?;
                let checksum = note_checksum(&note.conversation, &note.name, body);
                self.connection
                    .prepare_cached(
                        "INSERT INTO notes (name, conversation, checksum, body) \
                         VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE \
                         SET checksum = excluded.checksum, body = excluded.body",
                    )?
                    .execute(params![note.name, conversation, checksum, body])?;
            }
            None => {
                if let Some(conversation) = self.known_conversation(&note.conversation)? {
                    self.connection
                        .prepare_cached("DELETE FROM notes WHERE name = ?1 AND conversation = ?2")?
                        .execute(params![note.name, conversation])?;
                }
            }
        }
        Ok(())
    }
}
