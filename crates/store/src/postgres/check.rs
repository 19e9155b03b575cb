//! The check: reads and verifies everything of one owner, page by page in one snapshot, and asks the server for settings
//! that could lose acknowledged commits.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::pool::{Link, Pool};
use super::read::{self, Value};
use super::{SIZE, schema, size, wall};
use crate::model::{Blob, Records};
use crate::{Counts, Finding, FindingKind, Hash, Health, Progress, Size, StoreError};

/// A check takes time in proportion to the store.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The number of rows to read at once.
const PAGE: usize = 1000;

pub fn check(pool: &Arc<Pool>, owner: i32, progress: &Progress) -> Result<(Health, Vec<Hash>), StoreError> {
    let (reading, progress) = (pool.clone(), progress.clone());
    pool.run(PATIENCE, move |link| {
        let (pool, progress) = (reading.clone(), progress.clone());
        async move {
            let begin = pool.begin_reading_of(owner, &link, PATIENCE).await?;
            link.client.batch_execute(&begin).await?;
            let mut checking = Checking { owner, ..Checking::on(&link, progress) };
            checking.count().await?;
            checking.records().await?;
            checking.conversations().await?;
            checking.blobs().await?;
            checking.notes().await?;
            checking.server().await?;
            if !pool.has_reader() {
                checking.wall().await?;
            }
            let size = checking.ask(SIZE, &[]).await?.first().map_or_else(|| Ok(Size::default()), size)?;
            let Checking { findings, counts, damaged, .. } = checking;
            let schema = schema::fact(&link, "schema").await?;
            link.client.batch_execute("COMMIT").await?;
            Ok((Health { findings, counts, size, schema }, damaged))
        }
    })
}

struct Checking<'a> {
    link: &'a Link,
    owner: i32,
    findings: Vec<Finding>,
    counts: Counts,
    /// The hashes that records use.
    used: HashSet<Hash>,
    damaged: Vec<Hash>,
    progress: Progress,
    /// The records and blobs to be read.
    total: u64,
}

impl<'a> Checking<'a> {
    fn on(link: &'a Link, progress: Progress) -> Self {
        Self {
            link,
            owner: 0,
            findings: Vec::new(),
            counts: Counts::default(),
            used: HashSet::new(),
            damaged: Vec::new(),
            progress,
            total: 0,
        }
    }

    fn find(&mut self, kind: FindingKind, sentence: String) {
        self.findings.push(Finding::new(kind, sentence));
    }

    async fn ask(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let own: Value<'_> = (&self.owner, Type::INT4);
        let values: Vec<Value<'_>> = std::iter::once(own).chain(values.iter().cloned()).collect();
        Ok(self.link.client.query_typed(sql, &values).await?)
    }

    async fn count(&mut self) -> Result<(), StoreError> {
        let sql = "SELECT (SELECT count(*) FROM ctx.records WHERE owner = $1) \
                   + (SELECT count(*) FROM ctx.blobs WHERE owner = $1)";
        let rows = self.ask(sql, &[]).await?;
        self.total = rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>(0))?.cast_unsigned();
        Ok(())
    }

    fn report(&self) {
        self.progress.report(self.counts.records + self.counts.blobs, self.total);
    }

    async fn records(&mut self) -> Result<(), StoreError> {
        let sql = format!("{} WHERE r.owner = $1 AND r.seq > $2 ORDER BY r.seq LIMIT {PAGE}", read::RECORDS);
        let (mut after, mut damaged) = (0, Vec::new());
        loop {
            let rows = self.ask(&sql, &[(&after, Type::INT8)]).await?;
            let found: Records = read::records(&rows)?;
            self.counts.records += rows.len() as u64;
            self.report();
            self.used.extend(found.records.iter().flat_map(|record| record.uses.iter().copied()));
            damaged.extend(found.skipped.iter().map(|skipped| skipped.seq.to_string()));
            after = found.last_seq().map_or(after, u64::cast_signed);
            if rows.len() < PAGE {
                break;
            }
        }
        self.counts.damaged_records = damaged.len() as u64;
        if !damaged.is_empty() {
            let sentence = format!("{} of the records are damaged: {}", damaged.len(), some(&damaged));
            self.find(FindingKind::DamagedRecords, sentence);
        }
        Ok(())
    }

    /// The rows of conversations, and whether they agree with the log.
    async fn conversations(&mut self) -> Result<(), StoreError> {
        let sql = "SELECT c.name, c.records = coalesce(l.records, 0) AND c.version = coalesce(l.last, 0) \
                   FROM ctx.conversations c LEFT JOIN (SELECT conversation, count(*) AS records, max(seq) AS last \
                   FROM ctx.records WHERE owner = $1 GROUP BY conversation) l ON l.conversation = c.id \
                   WHERE c.owner = $1 AND (c.records > 0 OR l.records > 0)";
        let rows = self.ask(sql, &[]).await?;
        self.counts.conversations = rows.len() as u64;
        let mut wrong = Vec::new();
        for row in &rows {
            if !row.try_get::<_, bool>(1)? {
                wrong.push(row.try_get::<_, String>(0)?);
            }
        }
        if !wrong.is_empty() {
            let sentence = format!("the rows of some conversations do not agree with the log: {}", some(&wrong));
            self.find(FindingKind::DamagedRecords, sentence);
        }
        Ok(())
    }

    async fn blobs(&mut self) -> Result<(), StoreError> {
        let sql = format!("{} WHERE owner = $1 AND hash > $2 ORDER BY hash LIMIT {}", read::BLOBS, PAGE / 10);
        let mut after: Vec<u8> = Vec::new();
        let (mut nameless, mut unused) = (0, 0_u64);
        loop {
            let rows = self.ask(&sql, &[(&after, Type::BYTEA)]).await?;
            for row in &rows {
                self.counts.blobs += 1;
                match read::blob(row)? {
                    (Some(hash), Blob::Damaged(_)) => self.damaged.push(hash),
                    (None, _) => nameless += 1,
                    (Some(hash), _) => unused += u64::from(!self.used.remove(&hash)),
                }
            }
            self.report();
            match rows.last() {
                Some(row) if rows.len() == PAGE / 10 => after = row.try_get(0)?,
                _ => break,
            }
        }
        self.counts.damaged_blobs = self.damaged.len() as u64 + nameless;
        if self.counts.damaged_blobs > 0 {
            let named: Vec<String> = self.damaged.iter().map(Hash::to_string).collect();
            let sentence = format!("{} of the blobs are damaged: {}", self.counts.damaged_blobs, some(&named));
            self.find(FindingKind::DamagedBlobs, sentence);
        }
        self.used.retain(|hash| !self.damaged.contains(hash));
        if !self.used.is_empty() {
            let sentence = format!("records use {} blobs that are gone", self.used.len());
            self.find(FindingKind::DanglingUses, sentence);
        }
        if unused > 0 {
            self.find(FindingKind::UnusedBlobs, format!("no record uses {unused} of {} blobs", self.counts.blobs));
        }
        Ok(())
    }

    async fn notes(&mut self) -> Result<(), StoreError> {
        let rows = self.ask(&format!("{} WHERE c.owner = $1", read::NOTES), &[]).await?;
        for row in &rows {
            self.counts.notes += 1;
            self.counts.damaged_notes += u64::from(read::note(row)?.is_none());
        }
        if self.counts.damaged_notes > 0 {
            let sentence = format!("{} of {} notes are damaged", self.counts.damaged_notes, self.counts.notes);
            self.find(FindingKind::DamagedNotes, sentence);
        }
        Ok(())
    }

    /// Settings of the server under which an acknowledged commit can be lost.
    async fn server(&mut self) -> Result<(), StoreError> {
        let sql =
            "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'";
        for row in self.link.client.query_typed(sql, &[]).await? {
            let name: String = row.try_get(0)?;
            let sentence = format!("the database server runs with {name} = off: a crash may damage the store");
            self.find(FindingKind::ServerSettings, sentence);
        }
        Ok(())
    }

    /// Reads rely on their queries alone, which matters where there are several owners.
    async fn wall(&mut self) -> Result<(), StoreError> {
        if let Some(role) = wall::missing(self.link, self.owner).await? {
            let sentence = format!(
                "nothing but its queries keeps a person from reading what others own: the role {role} is missing, or \
                 this login cannot become it"
            );
            self.find(FindingKind::NoReaderRole, sentence);
        }
        Ok(())
    }
}

fn some(items: &[String]) -> String {
    let shown = items.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    if items.len() > 5 { format!("{shown}, …") } else { shown }
}
