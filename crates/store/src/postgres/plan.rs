//! The plan of an append, made between its two round trips.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tokio_postgres::types::Type;
use zstd::bulk::Compressor;

use super::pool::Link;
use super::read::{note_checksum, record_checksum};
use super::text;
use crate::encode::{compressor, pack};
use crate::model::{NewRecord, Step};
use crate::{Hash, StoreError};

/// Far below the limit of one value and of one message.
const LARGEST_BODY: usize = 256 << 20;

/// The bytes of blobs in one statement.
const TOGETHER: usize = 8 << 20;

/// A conversation's row.
#[derive(Clone, Copy)]
pub struct Place {
    pub id: i64,
    /// Before the append.
    pub version: u64,
}

/// Packed bodies, as columns.
#[derive(Default)]
struct Bodies {
    codecs: Vec<i16>,
    sizes: Vec<i32>,
    bodies: Vec<Vec<u8>>,
}

impl Bodies {
    fn push(&mut self, compressor: &mut Compressor<'static>, body: &[u8]) -> Result<(), StoreError> {
        if body.len() > LARGEST_BODY {
            return Err(StoreError::TooLarge { bytes: body.len(), limit: LARGEST_BODY });
        }
        let packed = pack(compressor, body)?;
        self.codecs.push(packed.codec as i16);
        self.sizes.push(body.len() as i32);
        self.bodies.push(packed.bytes.into_owned());
        Ok(())
    }
}

/// New blobs in the order of their hashes, as columns.
#[derive(Default)]
struct Blobs {
    hashes: Vec<Vec<u8>>,
    bodies: Bodies,
}

/// New records in their order, as columns.
#[derive(Default)]
struct Records {
    conversations: Vec<i64>,
    times: Vec<i64>,
    kinds: Vec<String>,
    versions: Vec<i32>,
    uses: Vec<Vec<u8>>,
    checksums: Vec<i64>,
    bodies: Bodies,
}

/// Changed notes, as columns: those to set, and those to delete.
#[derive(Default)]
struct Notes {
    conversations: Vec<i64>,
    names: Vec<String>,
    checksums: Vec<i64>,
    bodies: Vec<Vec<u8>>,
    deleted: (Vec<i64>, Vec<String>),
}

#[derive(Default)]
pub struct Plan {
    /// For each step in conflict, the version that it meets.
    pub conflicts: Vec<Option<u64>>,
    blobs: Vec<Blobs>,
    records: Records,
    notes: Notes,
    /// The conversations with announced steps.
    announced: Vec<String>,
}

impl Plan {
    /// `None` if a conversation that must exist has gone. An error refuses the whole append.
    pub fn of(
        steps: &[Step],
        places: &HashMap<String, Place>,
        known: &HashSet<Hash>,
        damaged: &HashSet<Hash>,
    ) -> Result<Option<Self>, StoreError> {
        let mut compressor = compressor().map_err(StoreError::Compression)?;
        let mut plan = Self::default();
        let mut new: BTreeMap<Hash, &[u8]> = BTreeMap::new();
        let mut notes: BTreeMap<(&str, &str), Option<&[u8]>> = BTreeMap::new();
        let mut announced: BTreeSet<&str> = BTreeSet::new();
        for step in steps {
            let met = step.expect.as_ref().map(|expect| {
                let version = places.get(&expect.conversation).map_or(0, |place| place.version);
                (expect.version, version)
            });
            let conflict = met.filter(|(expected, version)| expected != version).map(|(_, version)| version);
            plan.conflicts.push(conflict);
            if conflict.is_some() {
                continue;
            }
            for (hash, bytes) in &step.blobs {
                if (known.contains(hash) && !damaged.contains(hash)) || new.contains_key(hash) {
                    continue;
                }
                let actual = Hash::of(bytes);
                if actual != *hash {
                    return Err(StoreError::WrongHash { given: *hash, actual });
                }
                new.insert(*hash, bytes);
            }
            for hash in step.records.iter().flat_map(|record| &record.uses) {
                if !known.contains(hash) && !new.contains_key(hash) {
                    return Err(StoreError::UnknownBlob(*hash));
                }
            }
            for record in &step.records {
                let Some(place) = places.get(&record.conversation) else { return Ok(None) };
                plan.records.push(&mut compressor, record, place.id)?;
            }
            notes.extend(step.notes.iter().map(|note| ((&*note.conversation, &*note.name), note.body.as_deref())));
            if step.is_announced {
                announced.extend(step.records.iter().map(|record| record.conversation.as_str()));
                announced.extend(step.notes.iter().map(|note| note.conversation.as_str()));
            }
        }
        for ((conversation, name), body) in notes {
            match (places.get(conversation), body) {
                (Some(place), Some(body)) => plan.notes.set(place.id, conversation, name, body),
                (Some(place), None) => plan.notes.delete(place.id, name),
                (None, Some(_)) => return Ok(None),
                (None, None) => {}
            }
        }
        plan.announced = announced.into_iter().map(text::encode).collect();
        plan.pack(&mut compressor, new)?;
        Ok(Some(plan))
    }

    fn pack(&mut self, compressor: &mut Compressor<'static>, new: BTreeMap<Hash, &[u8]>) -> Result<(), StoreError> {
        let mut together = 0;
        for (hash, bytes) in new {
            if self.blobs.is_empty() || together > TOGETHER {
                self.blobs.push(Blobs::default());
                together = 0;
            }
            if let Some(blobs) = self.blobs.last_mut() {
                blobs.hashes.push(hash.as_bytes().to_vec());
                blobs.bodies.push(compressor, bytes)?;
                together += bytes.len();
            }
        }
        Ok(())
    }

    /// The checksums of the records, in order.
    pub fn checksums(&self) -> &[i64] {
        &self.records.checksums
    }

    /// False if all steps are in conflict, or there is none.
    pub fn stores_something(&self) -> bool {
        self.conflicts.iter().any(Option::is_none)
    }

    /// Stores everything and commits; returns the numbers of the records. `replica`: the daemon that does so.
    pub async fn store(&self, link: &Link, owner: i32, replica: i64) -> Result<Vec<u64>, StoreError> {
        let (last, earlier) = match self.blobs.split_last() {
            Some((last, earlier)) => (Some(last), earlier),
            None => (None, [].as_slice()),
        };
        for blobs in earlier {
            blobs.store(link, owner).await?;
        }
        let (blobs, numbers, notes, deleted, announced, committed) = tokio::join!(
            async {
                match last {
                    Some(blobs) => blobs.store(link, owner).await,
                    None => Ok(()),
                }
            },
            self.records.store(link, owner),
            self.notes.store(link),
            self.notes.remove(link),
            announce(link, owner, replica, &self.announced),
            link.client.batch_execute("COMMIT"),
        );
        // The first error is the cause of the others.
        blobs?;
        let numbers = numbers?;
        notes?;
        deleted?;
        announced?;
        committed?;
        Ok(numbers)
    }
}

/// Announces edits of these conversations to the other daemons. Only edits are announced: a notification takes a lock of
/// the whole database when its transaction commits.
pub async fn announce(link: &Link, owner: i32, replica: i64, conversations: &[String]) -> Result<(), StoreError> {
    if conversations.is_empty() {
        return Ok(());
    }
    let sql = "WITH new AS (INSERT INTO ctx.edits (owner, conversation, replica) SELECT $1, n, $3 FROM unnest($2) AS n) \
               SELECT pg_notify('ctx_edits', '')";
    let values = [(&owner as _, Type::INT4), (&conversations as _, Type::TEXT_ARRAY), (&replica as _, Type::INT8)];
    link.client.query_typed(sql, &values).await?;
    Ok(())
}

impl Blobs {
    /// A blob that another transaction stored meanwhile, or that is damaged, is replaced by the same bytes.
    async fn store(&self, link: &Link, owner: i32) -> Result<(), StoreError> {
        let sql = "INSERT INTO ctx.blobs (owner, hash, codec, size, body) \
                   SELECT $1, t.hash, t.codec, t.size, t.body FROM unnest($2, $3, $4, $5) AS t(hash, codec, size, body) \
                   ON CONFLICT (owner, hash) DO UPDATE SET codec = excluded.codec, size = excluded.size, \
                   body = excluded.body";
        let Bodies { codecs, sizes, bodies } = &self.bodies;
        let values = [
            (&owner as _, Type::INT4),
            (&self.hashes as _, Type::BYTEA_ARRAY),
            (codecs as _, Type::INT2_ARRAY),
            (sizes as _, Type::INT4_ARRAY),
            (bodies as _, Type::BYTEA_ARRAY),
        ];
        link.client.execute_typed(sql, &values).await?;
        Ok(())
    }
}

impl Records {
    fn push(&mut self, compressor: &mut Compressor<'static>, record: &NewRecord, id: i64) -> Result<(), StoreError> {
        let NewRecord { conversation, at, kind, version, uses, body } = record;
        let uses: Vec<u8> = uses.iter().flat_map(|hash| *hash.as_bytes()).collect();
        self.checksums.push(record_checksum(conversation, *at, kind, *version, &uses, body));
        self.bodies.push(compressor, body)?;
        self.conversations.push(id);
        self.times.push(at.cast_signed());
        self.kinds.push(text::encode(kind));
        self.versions.push(i32::from(*version));
        self.uses.push(uses);
        Ok(())
    }

    /// Numbers are drawn in the order of insertion. The conversations' rows follow in the same statement.
    async fn store(&self, link: &Link, owner: i32) -> Result<Vec<u64>, StoreError> {
        if self.conversations.is_empty() {
            return Ok(Vec::new());
        }
        let sql = "WITH new AS (\
                INSERT INTO ctx.records (conversation, owner, at, kind, version, uses, checksum, codec, size, body) \
                SELECT t.conversation, $1, t.at, t.kind, t.version, t.uses, t.checksum, t.codec, t.size, t.body \
                FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10) WITH ORDINALITY \
                AS t(conversation, at, kind, version, uses, checksum, codec, size, body, place) ORDER BY t.place \
                RETURNING conversation, seq, at, kind), \
            sums AS (SELECT conversation, max(seq) AS last, count(*) AS count, array_agg(DISTINCT kind) AS kinds, \
                (array_agg(at ORDER BY seq))[1] AS first_at, (array_agg(at ORDER BY seq DESC))[1] AS last_at \
                FROM new GROUP BY conversation), \
            grown AS (UPDATE ctx.conversations c SET version = s.last, records = c.records + s.count, \
                first_at = CASE WHEN c.records = 0 THEN s.first_at ELSE c.first_at END, last_at = s.last_at, \
                kinds = CASE WHEN c.kinds @> s.kinds THEN c.kinds \
                    ELSE (SELECT array_agg(DISTINCT k) FROM unnest(c.kinds || s.kinds) AS k) END \
                FROM sums s WHERE c.id = s.conversation) \
            SELECT seq FROM new ORDER BY seq";
        let Bodies { codecs, sizes, bodies } = &self.bodies;
        let values = [
            (&owner as _, Type::INT4),
            (&self.conversations as _, Type::INT8_ARRAY),
            (&self.times as _, Type::INT8_ARRAY),
            (&self.kinds as _, Type::TEXT_ARRAY),
            (&self.versions as _, Type::INT4_ARRAY),
            (&self.uses as _, Type::BYTEA_ARRAY),
            (&self.checksums as _, Type::INT8_ARRAY),
            (codecs as _, Type::INT2_ARRAY),
            (sizes as _, Type::INT4_ARRAY),
            (bodies as _, Type::BYTEA_ARRAY),
        ];
        let rows = link.client.query_typed(sql, &values).await?;
        rows.iter().map(|row| Ok(row.try_get::<_, i64>(0)?.cast_unsigned())).collect()
    }
}

impl Notes {
    fn set(&mut self, id: i64, conversation: &str, name: &str, body: &[u8]) {
        self.checksums.push(note_checksum(conversation, name, body));
        self.conversations.push(id);
        self.names.push(text::encode(name));
        self.bodies.push(body.to_vec());
    }

    fn delete(&mut self, id: i64, name: &str) {
        self.deleted.0.push(id);
        self.deleted.1.push(text::encode(name));
    }

    async fn store(&self, link: &Link) -> Result<(), StoreError> {
        if self.conversations.is_empty() {
            return Ok(());
        }
        let sql = "INSERT INTO ctx.notes (conversation, name, checksum, body) SELECT * FROM unnest($1, $2, $3, $4) \
                   ON CONFLICT (conversation, name) DO UPDATE SET checksum = excluded.checksum, body = excluded.body";
        let values = [
            (&self.conversations as _, Type::INT8_ARRAY),
            (&self.names as _, Type::TEXT_ARRAY),
            (&self.checksums as _, Type::INT8_ARRAY),
            (&self.bodies as _, Type::BYTEA_ARRAY),
        ];
        link.client.execute_typed(sql, &values).await?;
        Ok(())
    }

    async fn remove(&self, link: &Link) -> Result<(), StoreError> {
        let (conversations, names) = &self.deleted;
        if conversations.is_empty() {
            return Ok(());
        }
        let sql = "DELETE FROM ctx.notes n USING unnest($1, $2) AS d(conversation, name) \
                   WHERE n.conversation = d.conversation AND n.name = d.name";
        let values = [(conversations as _, Type::INT8_ARRAY), (names as _, Type::TEXT_ARRAY)];
        link.client.execute_typed(sql, &values).await?;
        Ok(())
    }
}
