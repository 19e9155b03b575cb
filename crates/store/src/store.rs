//! The contract of every backend, tested for all of them in `tests/stores/contract.rs`.

use std::sync::Arc;

use crate::{
    AppendOutcome, Blob, ConversationRow, Cursor, Expectation, Feed, Hash, Health, Progress, PurgeReport, Records,
    Replica, Size, Snapshot, Step, StoreError, Trouble,
};

/// The reading half: never waits for a writer and never changes anything.
pub trait Reader: Send + Sync {
    /// The records of one conversation with a number above `after`, in order.
    fn records(&self, conversation: &str, after: u64) -> Result<Records, StoreError>;

    /// The records of all conversations with a number above `after`, in order, at most `limit` of
    /// them (skipped ones count). With several writers, a record may appear behind one with a higher number: a reader
    /// that follows the log uses [`Reader::feed`].
    fn log(&self, after: u64, limit: usize) -> Result<Records, StoreError>;

    /// The records of all conversations behind a cursor, at most `limit` of them (skipped ones count), and the cursor
    /// behind them. A reader that goes on from there gets every record exactly once, on any replica, also after a
    /// restart. A new record may appear a moment after its append.
    fn feed(&self, after: &Cursor, limit: usize) -> Result<Feed, StoreError>;

    /// A cursor from which the feed delivers all later records, and no record that was appended long ago.
    fn newest(&self) -> Result<Cursor, StoreError>;

    /// The cursor behind the record with this number.
    fn cursor_behind(&self, seq: u64) -> Result<Cursor, StoreError> {
        Ok(Cursor { transaction: 0, seq, ..self.newest()? })
    }

    /// The named blobs in the requested order, each verified against its hash.
    fn blobs(&self, hashes: &[Hash]) -> Result<Vec<Blob>, StoreError>;

    /// One blob; `None` if it is missing. A damaged one is an error.
    fn blob(&self, hash: Hash) -> Result<Option<Vec<u8>>, StoreError> {
        match self.blobs(&[hash])?.pop() {
            Some(Blob::Present(bytes)) => Ok(Some(bytes)),
            Some(Blob::Damaged(why)) => Err(StoreError::DamagedBlob { hash, why }),
            Some(Blob::Missing) | None => Ok(None),
        }
    }

    /// The notes of this name as (conversation, body), ordered by conversation. Damaged notes are omitted: they can be
    /// rebuilt.
    fn notes(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError>;

    /// The same for these conversations only.
    fn notes_among(&self, name: &str, conversations: &[&str]) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let mut conversations = conversations.to_vec();
        conversations.sort_unstable();
        conversations.dedup();
        let note = |id: &str| Ok(self.note(id, name)?.map(|body| (id.to_owned(), body)));
        conversations.into_iter().filter_map(|id| note(id).transpose()).collect()
    }

    /// The names of all notes, in order.
    fn note_names(&self) -> Result<Vec<String>, StoreError>;

    fn note(&self, conversation: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Several notes of a conversation, in the order of `names`.
    fn notes_of(&self, conversation: &str, names: &[&str]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        names.iter().map(|name| self.note(conversation, name)).collect()
    }

    /// The conversation's snapshot, if it has one.
    fn snapshot(&self, conversation: &str) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.note(conversation, Snapshot::NOTE)?.and_then(|body| Snapshot::parse(&body)))
    }

    /// The highest number ever assigned to a record; 0 before the first.
    fn last_seq(&self) -> Result<u64, StoreError>;

    /// The conversations that have records, ordered by id.
    fn conversations(&self) -> Result<Vec<ConversationRow>, StoreError>;

    /// The conversations with a record of one of these kinds, ordered by id. Damaged records count too, so that none is
    /// missed.
    fn conversations_with(&self, kinds: &[&str]) -> Result<Vec<String>, StoreError>;

    fn size(&self) -> Result<Size, StoreError>;

    /// Threats to acknowledged commits, found without reading the store.
    fn trouble(&self) -> Trouble {
        Trouble::default()
    }

    /// Reads and verifies everything. Takes time in proportion to the store.
    fn check(&self) -> Result<Health, StoreError> {
        self.check_with(&Progress::default())
    }

    /// The same, and reports how many of the records and blobs have been read.
    fn check_with(&self, progress: &Progress) -> Result<Health, StoreError>;
}

/// A store that can be written to.
pub trait Store: Reader {
    /// Stores the given steps in order and returns the outcome of each. If a step has an
    /// [`Expectation`] that does not hold, this one step is not stored. On an
    /// error none is stored, except on [`StoreError::Unavailable`]: then they may be stored after all, and an append of
    /// the same steps finds them instead of repeating them. If any of the steps is durable, all of them, and everything
    /// appended before, are on disk when this returns.
    ///
    /// The numbers of a conversation's records ascend. Its version is the number of its last record.
    fn append(&self, steps: Vec<Step>) -> Result<Vec<AppendOutcome>, StoreError>;

    /// Removes the records and notes of these conversations and all blobs that no remaining record uses, durably.
    /// Unknown conversations are ignored. Numbers are not reused.
    fn purge(&self, conversations: &[String]) -> Result<PurgeReport, StoreError> {
        let mut purged = self.remove(conversations)?;
        purged += self.sweep()?;
        Ok(purged)
    }

    /// The first half of a purge: removes records and notes. It works in small transactions, one conversation at a
    /// time, so that an append never waits long.
    fn remove(&self, conversations: &[String]) -> Result<PurgeReport, StoreError>;

    /// Removes a conversation unless it has grown: another daemon may have edited it meanwhile. `None` if it stays.
    fn remove_if(&self, expect: &Expectation) -> Result<Option<PurgeReport>, StoreError>;

    /// The second half: removes unused blobs, whatever left them behind, and releases the space.
    fn sweep(&self) -> Result<PurgeReport, StoreError>;

    /// Where removed content may still be.
    fn residue(&self) -> &'static str {
        ""
    }

    /// This daemon among those that share the store; `None` if no other can use it.
    fn replica(&self) -> Option<Arc<dyn Replica>> {
        None
    }
}
