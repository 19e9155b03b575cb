//! Damage is skipped, counted and reported; it is never fatal and never returned as if it were sound.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::common::{Noise, append, note, step};
use ctx_store::{
    Blob, Damage, FindingKind, Hash, Health, Reader, Record, SkippedRecord, SqliteStore, Store, StoreError,
};
use proptest::prelude::*;
use tempfile::TempDir;

/// A closed store with these many records, each with a blob of its own.
fn filled(count: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    for number in 1..=count {
        let name = if number.is_multiple_of(2) { "even" } else { "odd" };
        let mut step = step(name, body(number), &[&content(number)]);
        step.notes = vec![note(name, "head", &number.to_string())];
        store.append(vec![step]).unwrap();
    }
    folder
}

fn body(number: u64) -> Vec<u8> {
    Noise::new(number).bytes(250)
}

fn content(number: u64) -> Vec<u8> {
    Noise::new(number + 1_000_000).bytes(700)
}

/// Changes the file behind the store's back.
fn tamper(folder: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(folder.join("ctx.db")).unwrap();
    connection.execute_batch(sql).unwrap();
}

fn kinds(health: &Health) -> Vec<FindingKind> {
    health.findings.iter().map(|finding| finding.kind).collect()
}

fn numbers(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.seq).collect()
}

#[test]
fn any_changed_field_of_a_record_is_noticed() {
    for change in [
        "body = cast(substr(body, 1, 100) || x'00' || substr(body, 102) AS BLOB)",
        "body = x''",
        "at = at + 1",
        "kind = 'answer'",
        "version = 2",
        "version = 70000",
        "uses = x'0801'",
        "uses = x''",
        "uses = x'ff'",
        "conversation = 2",
        "checksum = checksum + 1",
        "codec = 1",
        "codec = 9",
        "codec = 1, size = 8000000000000",
        "size = 3",
    ] {
        let folder = filled(5);
        tamper(folder.path(), &format!("UPDATE records SET {change} WHERE seq = 3"));
        let store = SqliteStore::open(folder.path()).unwrap();
        let found = store.log(0, 99).unwrap();
        assert_eq!(numbers(&found.records), [1, 2, 4, 5], "{change}");
        assert_eq!(found.skipped.len(), 1, "{change}");
        assert_eq!(found.skipped[0].seq, 3, "{change}");
        let health = store.check().unwrap();
        assert!(kinds(&health).contains(&FindingKind::DamagedRecords), "{change}");
        assert_eq!(health.counts.damaged_records, 1, "{change}");
        assert!(!health.is_sound(), "{change}");
        assert_eq!(append(&store, vec![step("odd", "goes on", &[])]), [6]);
    }
}

#[test]
fn a_record_with_a_changed_number_is_not_returned_under_it() {
    let folder = filled(3);
    tamper(folder.path(), "UPDATE records SET seq = 7 WHERE seq = 2");
    let store = SqliteStore::open(folder.path()).unwrap();
    let found = store.log(0, 99).unwrap();
    assert_eq!(numbers(&found.records), [1, 3]);
    assert_eq!(found.skipped, [SkippedRecord { seq: 7, kind: Some("request".into()), why: Damage::Checksum }]);
}

#[test]
fn a_record_whose_blob_is_gone_is_skipped_and_named() {
    let folder = filled(4);
    tamper(folder.path(), "DELETE FROM blobs WHERE id = 2");
    let store = SqliteStore::open(folder.path()).unwrap();
    let found = store.records("even", 0).unwrap();
    assert_eq!(numbers(&found.records), [4]);
    let why = Damage::MissingBlob;
    assert_eq!(found.skipped, [SkippedRecord { seq: 2, kind: Some("request".into()), why }]);
    let health = store.check().unwrap();
    assert_eq!(kinds(&health), [FindingKind::DanglingUses]);
    let finding = &health.findings[0];
    assert_eq!(finding.sentence, "1 record was found to use a blob that is gone: 2");
    assert!(!finding.advice.is_empty());
}

#[test]
fn a_record_whose_blob_changed_its_name_is_skipped() {
    let folder = filled(3);
    tamper(folder.path(), "UPDATE blobs SET hash = randomblob(32) WHERE id = 2");
    let store = SqliteStore::open(folder.path()).unwrap();
    let found = store.log(0, 99).unwrap();
    assert_eq!(numbers(&found.records), [1, 3]);
    let why = Damage::Checksum;
    assert_eq!(found.skipped, [SkippedRecord { seq: 2, kind: Some("request".into()), why }]);
}

#[test]
fn a_damaged_blob_is_told_apart_from_a_missing_one_and_heals() {
    let changes = [
        ("UPDATE pieces SET body = x'00' WHERE id = 1", Damage::Hash),
        ("DELETE FROM pieces WHERE id = 2", Damage::Pieces),
        ("UPDATE blobs SET codec = 1, size = 5 WHERE id = 1", Damage::Packing),
        ("UPDATE blobs SET first = 3 WHERE id = 1", Damage::Hash),
    ];
    for (change, why) in changes {
        let folder = filled(3);
        tamper(folder.path(), change);
        let store = SqliteStore::open(folder.path()).unwrap();
        let hash = Hash::of(&content(1));
        let ask = [hash, Hash::of(&content(2)), Hash::of(b"never stored")];
        assert_eq!(
            store.blobs(&ask).unwrap(),
            [Blob::Damaged(why), Blob::Present(content(2)), Blob::Missing],
            "{change}"
        );
        let error = store.blob(hash).unwrap_err();
        assert!(matches!(error, StoreError::DamagedBlob { .. }), "{error}");
        let health = store.check().unwrap();
        assert_eq!(kinds(&health), [FindingKind::DamagedBlobs], "{change}");
        assert!(health.findings[0].sentence.contains(&hash.to_string()));
        // The agent resends everything, so the bytes come by again.
        let again = step("odd", "again", &[&content(1)]);
        store.append(vec![again]).unwrap();
        assert_eq!(store.blob(hash).unwrap(), Some(content(1)), "{change}");
        assert_eq!(store.check().unwrap().findings, [], "{change}");
        assert_eq!(store.size().unwrap().blobs, 3, "{change}");
    }
}

#[test]
fn a_damaged_note_is_left_out() {
    let folder = filled(2);
    tamper(folder.path(), "UPDATE notes SET body = x'31' WHERE conversation = 2");
    let store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(store.note("even", "head").unwrap(), None);
    let notes = store.notes("head").unwrap();
    assert_eq!(notes, [("odd".to_owned(), b"1".to_vec())]);
    let health = store.check().unwrap();
    assert_eq!(kinds(&health), [FindingKind::DamagedNotes]);
    assert_eq!(health.counts.damaged_notes, 1);
}

#[test]
fn an_index_that_lost_rows_is_found() {
    let folder = filled(3);
    tamper(
        folder.path(),
        "PRAGMA writable_schema = ON; \
         DROP INDEX record_by_conversation; \
         CREATE INDEX record_by_conversation ON records (conversation) WHERE seq <> 3; \
         UPDATE sqlite_schema \
         SET sql = 'CREATE INDEX record_by_conversation ON records (conversation)' \
         WHERE name = 'record_by_conversation';",
    );
    let store = SqliteStore::open(folder.path()).unwrap();
    let health = store.check().unwrap();
    assert!(kinds(&health).contains(&FindingKind::DamagedFile), "{health:?}");
}

/// The numbers of the pages that hold the rows of a table.
fn leaf_pages(folder: &Path, table: &str) -> Vec<u64> {
    let connection = rusqlite::Connection::open(folder.join("ctx.db")).unwrap();
    let sql = "SELECT pageno FROM dbstat WHERE name = ?1 AND pagetype = 'leaf' ORDER BY path";
    let mut statement = connection.prepare(sql).unwrap();
    let pages = statement.query_map([table], |row| row.get::<_, i64>(0));
    pages.unwrap().map(|page| page.unwrap() as u64).collect()
}

fn overwrite(folder: &Path, offset: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(folder.join("ctx.db")).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn a_destroyed_page_costs_only_what_was_on_it() {
    const PAGE: u64 = 16_384;
    let folder = filled(400);
    let pages = leaf_pages(folder.path(), "records");
    assert!(pages.len() >= 4, "{pages:?}");
    let noise = Noise::new(3).bytes(PAGE as usize);
    overwrite(folder.path(), (pages[1] - 1) * PAGE, &noise);
    let store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(store.opened().moved_aside, None);
    for (name, first) in [("odd", 1), ("even", 2)] {
        let found = store.records(name, 0).unwrap();
        assert!(!found.skipped.is_empty() && found.skipped.len() < 60);
        assert!(found.records.len() > 140, "{}", found.records.len());
        let mut all = numbers(&found.records);
        all.extend(found.skipped.iter().map(|skipped| skipped.seq));
        all.sort_unstable();
        assert_eq!(all, (first..=400).step_by(2).collect::<Vec<u64>>());
        assert!(found.skipped.iter().all(|skipped| skipped.why == Damage::Page));
    }
    let health = store.check().unwrap();
    assert!(kinds(&health).contains(&FindingKind::DamagedFile));
    assert!(kinds(&health).contains(&FindingKind::DamagedRecords));
    assert_eq!(append(&store, vec![step("odd", "goes on", &[])]), [401]);
}

fn flip(folder: &Path, offset: u64, mask: u8) {
    let path = folder.join("ctx.db");
    let mut file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    let mut byte = [0];
    file.seek(SeekFrom::Start(offset % length)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(offset % length)).unwrap();
    file.write_all(&[byte[0] ^ mask]).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever happens to the bytes of the file: no panic, and nothing that was not written.
    #[test]
    fn a_store_with_changed_bytes_never_lies(
        flips in prop::collection::vec((any::<u64>(), 1..=255_u8), 1..200),
        near_the_start in any::<bool>(),
    ) {
        let folder = filled(60);
        for (offset, mask) in flips {
            let offset = if near_the_start { offset % 8192 } else { offset };
            flip(folder.path(), offset, mask);
        }
        let Ok(store) = SqliteStore::open(folder.path()) else { return Ok(()) };
        for records in [store.log(0, 999), store.records("odd", 0)].into_iter().flatten() {
            for record in records.records {
                prop_assert_eq!(&record.body, &body(record.seq));
                prop_assert_eq!(&record.uses, &[Hash::of(&content(record.seq))]);
            }
        }
        for number in 1..=60 {
            if let Ok(Some(bytes)) = store.blob(Hash::of(&content(number))) {
                prop_assert_eq!(bytes, content(number));
            }
        }
        for (name, head) in [("odd", "59"), ("even", "60")] {
            if let Ok(Some(note)) = store.note(name, "head") {
                prop_assert_eq!(note, head.as_bytes());
            }
        }
        let _ = (store.check(), store.conversations(), store.notes("head"), store.size());
        let _ = store.append(vec![step("odd", "more", &[b"more"])]);
        let _ = store.purge(&["even".to_owned()]);
        let _ = store.check();
    }
}
