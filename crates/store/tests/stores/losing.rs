//! Acknowledged records are on the disk, and a loss is noticed.
#![cfg(unix)]

use std::fs;
use std::path::Path;

use crate::common::{append, step};
use ctx_store::{FindingKind, Reader, SqliteStore, Step, Store, StoreError};

fn durable(body: &str) -> Step {
    Step { durable: true, ..step("one", body, &[]) }
}

/// What a power cut or a copying tool would leave: the files as they are, without their index.
fn copy(from: &Path, to: &Path) {
    for name in ["ctx.db", "ctx.db-wal", "ctx.acknowledged"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

#[test]
fn nothing_is_acknowledged_once_the_file_is_removed_or_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    store.append(vec![durable("kept")]).unwrap();
    let database = folder.path().join("ctx.db");
    fs::rename(&database, folder.path().join("away")).unwrap();
    let refused = store.append(vec![durable("lost")]).unwrap_err();
    assert!(matches!(refused, StoreError::Gone { .. }), "{refused}");
    fs::write(&database, b"another").unwrap();
    assert!(store.append(vec![durable("lost")]).is_err());
    assert!(store.append(vec![step("one", "observed", &[])]).is_ok(), "that may be lost");
    fs::rename(folder.path().join("away"), &database).unwrap();
    assert!(store.append(vec![durable("kept")]).is_ok());
}

#[test]
fn a_removed_lock_lets_no_second_daemon_in() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    fs::remove_file(folder.path().join("ctx.lock")).unwrap();
    assert!(matches!(SqliteStore::open(folder.path()), Err(StoreError::InUse { .. })));
    drop(store);
    assert!(SqliteStore::open(folder.path()).is_ok());
}

#[test]
fn commits_that_a_damaged_log_takes_along_are_noticed() {
    let damages: [fn(&mut Vec<u8>); 2] =
        [|log| log.truncate(log.len() / 2), |log| log.iter_mut().for_each(|byte| *byte ^= 4)];
    for damage in damages {
        let (folder, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = SqliteStore::open(folder.path()).unwrap();
        for number in 0..20 {
            store.append(vec![durable(&format!("commit {number}"))]).unwrap();
        }
        copy(folder.path(), copied.path());
        drop(store);
        let log = copied.path().join("ctx.db-wal");
        let mut bytes = fs::read(&log).unwrap();
        damage(&mut bytes);
        fs::write(&log, bytes).unwrap();

        let found = SqliteStore::open_reader(copied.path()).map(|reader| reader.check().unwrap());
        if let Ok(health) = found {
            assert!(health.findings.iter().any(|finding| finding.kind == FindingKind::LostRecords), "before a start");
        }
        let store = SqliteStore::open(copied.path()).unwrap();
        let Some(lost) = store.opened().lost.clone() else {
            assert!(store.opened().created, "or nothing at all was left");
            continue;
        };
        assert_eq!(lost.end, 21);
        let found = store.check().unwrap();
        assert!(!found.is_sound());
        assert_eq!(SqliteStore::losses(copied.path()).len(), 1);
        assert_eq!(append(&store, vec![durable("later")]), [21], "no number is given twice");
        drop(store);
        let store = SqliteStore::open(copied.path()).unwrap();
        assert_eq!(store.opened().lost, None, "it is told once");
        assert!(!store.check().unwrap().is_sound(), "until somebody has read it");
        fs::remove_file(&SqliteStore::losses(copied.path())[0]).unwrap();
        assert!(store.check().unwrap().is_sound());
    }
}

#[test]
fn a_sound_log_of_a_daemon_that_was_killed_has_lost_nothing() {
    let (folder, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = SqliteStore::open(folder.path()).unwrap();
    store.append(vec![durable("one")]).unwrap();
    store.append(vec![step("one", "observed", &[])]).unwrap();
    store.append(vec![durable("two")]).unwrap();
    copy(folder.path(), copied.path());
    let store = SqliteStore::open(copied.path()).unwrap();
    assert_eq!(store.opened().lost, None);
    store.purge(&["one".to_owned()]).unwrap();
    drop(store);
    assert_eq!(SqliteStore::open(copied.path()).unwrap().opened().lost, None, "what is purged is not lost");
}
