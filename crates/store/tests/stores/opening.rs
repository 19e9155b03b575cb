//! Opening: new folders, wrong permissions, files that are not ours, and who else is there.

use std::fs;
use std::path::Path;

use crate::common::{Noise, step};
use ctx_core::ErrorCode;
use ctx_store::{FindingKind, Hash, Reader, SCHEMA_VERSION, SqliteStore, Store, StoreError};

fn kept(folder: &Path) -> SqliteStore {
    let store = SqliteStore::open(folder).unwrap();
    let mut step = step("a", "body", &[b"blob"]);
    step.durable = true;
    store.append(vec![step]).unwrap();
    store
}

fn refused(folder: &Path) -> StoreError {
    match SqliteStore::open(folder) {
        Ok(_) => panic!("the store opened"),
        Err(error) => error,
    }
}

#[test]
fn what_was_kept_is_there_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = kept(folder.path());
    assert!(store.opened().created);
    drop(store);
    let store = SqliteStore::open(folder.path()).unwrap();
    assert!(!store.opened().created);
    assert_eq!(store.records("a", 0).unwrap().records.len(), 1);
    assert_eq!(store.check().unwrap().schema, SCHEMA_VERSION);
}

#[test]
fn closing_leaves_no_log_beside_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = kept(folder.path());
    store.records("a", 0).unwrap();
    drop(store);
    let entries = fs::read_dir(folder.path()).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["ctx.acknowledged", "ctx.db", "ctx.lock"]);
}

#[test]
fn a_checkpoint_empties_the_log_though_the_store_stays_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = kept(folder.path());
    store.last_seq().expect("a reader that rests");
    let log = folder.path().join("ctx.db-wal");
    let length = || fs::metadata(&log).map_or(0, |log| log.len());
    assert!(length() > 0);
    store.checkpoint().expect("done");
    assert_eq!(length(), 0);
}

#[test]
fn a_second_daemon_is_refused_and_told_who_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = kept(folder.path());
    let error = refused(folder.path());
    assert_eq!(error.code(), ErrorCode::StoreInUse);
    let process = std::process::id().to_string();
    assert!(error.to_string().contains(&process), "{error}");
    drop(store);
    SqliteStore::open(folder.path()).unwrap();
}

#[test]
fn a_reader_looks_on_while_a_daemon_writes_and_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = kept(folder.path());
    let reader = SqliteStore::open_reader(folder.path()).unwrap();
    assert_eq!(reader.last_seq().unwrap(), 1);
    store.append(vec![step("a", "more", &[])]).unwrap();
    assert_eq!(reader.last_seq().unwrap(), 2);
    assert_eq!(reader.blob(Hash::of(b"blob")).unwrap().unwrap(), b"blob");
    drop(reader);
    drop(store);
    let reader = SqliteStore::open_reader(folder.path()).unwrap();
    assert_eq!(reader.records("a", 0).unwrap().records.len(), 2);
    assert_eq!(reader.check().unwrap().findings, []);
    // A reader does not keep the daemon from starting.
    SqliteStore::open(folder.path()).unwrap();
}

#[test]
fn a_reader_does_not_make_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let error = SqliteStore::open_reader(folder.path()).err().unwrap();
    assert_eq!(error.code(), ErrorCode::StoreAbsent);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_no_database_is_moved_aside_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = Noise::new(1).bytes(100_000);
    fs::write(folder.path().join("ctx.db"), &garbage).unwrap();
    let store = kept(folder.path());
    let aside = store.opened().moved_aside.clone().unwrap();
    let name = aside.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("ctx.db.damaged-"), "{name}");
    assert_eq!(fs::read(&aside).unwrap(), garbage);
    assert_eq!(store.last_seq().unwrap(), 1);
    let findings = store.check().unwrap().findings;
    assert_eq!(findings[0].kind, FindingKind::MovedAside);
    assert!(!findings[0].is_damage());
}

#[test]
fn a_file_cut_short_or_without_its_tables_is_moved_aside() {
    let cut = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 3]).unwrap();
    };
    let drop_table = |path: &Path| {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.execute_batch("DROP TABLE pieces").unwrap();
    };
    for damage in [&cut as &dyn Fn(&Path), &drop_table] {
        let folder = tempfile::tempdir().unwrap();
        drop(kept(folder.path()));
        damage(&folder.path().join("ctx.db"));
        let store = kept(folder.path());
        assert!(store.opened().moved_aside.is_some());
        // The loss is told, and its number is not given again.
        assert_eq!(store.opened().lost, Some(1..2));
        assert_eq!(SqliteStore::losses(folder.path()).len(), 1);
        assert_eq!(store.last_seq().unwrap(), 2);
    }
}

#[test]
fn a_store_that_was_removed_is_told_as_lost() {
    let folder = tempfile::tempdir().unwrap();
    drop(kept(folder.path()));
    assert!(SqliteStore::had_commits(folder.path()));
    fs::remove_file(folder.path().join("ctx.db")).unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!((store.opened().created, store.opened().lost.clone()), (true, Some(1..2)));
    drop(store);
    let store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(store.opened().lost, None, "once");
}

#[test]
fn a_file_from_the_future_is_refused_and_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    drop(kept(folder.path()));
    let path = folder.path().join("ctx.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let error = refused(folder.path());
    assert_eq!(error.code(), ErrorCode::StoreFromTheFuture);
    assert!(error.to_string().contains("999"), "{error}");
    assert!(error.hint().contains("newer version"));
    let error = SqliteStore::open_reader(folder.path()).err().unwrap();
    assert_eq!(error.code(), ErrorCode::StoreFromTheFuture);
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn a_file_of_an_earlier_version_is_raised_to_ours_by_a_writer_only() {
    let folder = tempfile::tempdir().unwrap();
    drop(kept(folder.path()));
    let path = folder.path().join("ctx.db");
    let version = |new: Option<i64>| -> i64 {
        let connection = rusqlite::Connection::open(&path).unwrap();
        new.iter().for_each(|new| connection.pragma_update(None, "user_version", new).unwrap());
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    assert_eq!(version(Some(1)), 1);
    drop(SqliteStore::open_reader(folder.path()).unwrap());
    assert_eq!(version(None), 1);
    drop(SqliteStore::open(folder.path()).unwrap());
    assert_eq!(version(None), SCHEMA_VERSION);
}

#[test]
fn a_database_of_another_program_is_refused_and_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ctx.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE theirs (x)").unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    assert_eq!(refused(folder.path()).code(), ErrorCode::StoreOfAnotherProgram);
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn a_home_that_is_a_file_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("home");
    fs::write(&path, "").unwrap();
    let error = refused(&path);
    assert_eq!(error.code(), ErrorCode::StoreFile);
    assert!(error.to_string().contains("home"), "{error}");
}

#[cfg(unix)]
mod permissions {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn assert_private(home: &Path) {
        assert_eq!(mode(home), 0o700);
        let files: Vec<_> = fs::read_dir(home).unwrap().flatten().collect();
        assert!(files.len() >= 4, "the files of an open store: {files:?}");
        for file in files {
            assert_eq!(mode(&file.path()), 0o600, "{:?}", file.path());
        }
    }

    #[test]
    fn a_new_home_and_all_its_files_are_for_the_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("some/home");
        let store = kept(&home);
        store.records("a", 0).unwrap();
        assert_private(&home);
        assert!(store.opened().fixed_permissions.is_empty());
    }

    #[test]
    fn a_home_that_others_can_read_is_corrected_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        drop(kept(&home));
        set(&home, 0o755);
        set(&home.join("ctx.db"), 0o644);
        let reader = SqliteStore::open_reader(&home).unwrap();
        let findings = reader.check().unwrap().findings;
        let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
        assert!(kinds.len() >= 2, "{findings:?}");
        assert!(kinds.iter().all(|kind| *kind == FindingKind::Permissions));
        drop(reader);
        let store = kept(&home);
        let fixed = &store.opened().fixed_permissions;
        // What the reader left beside the file has taken over its mode.
        assert_eq!(fixed[..2], [home.clone(), home.join("ctx.db")]);
        assert_private(&home);
    }

    #[test]
    fn a_folder_full_of_other_things_is_not_changed_but_refused() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("notes.txt"), "mine").unwrap();
        set(&home, 0o755);
        assert_eq!(refused(&home).code(), ErrorCode::StoreOpenToOthers);
        assert_eq!(mode(&home), 0o755);
        assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_with_settings_and_nothing_else_is_made_private() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("ctx.toml"), "").unwrap();
        set(&home, 0o755);
        kept(&home);
        assert_eq!(mode(&home), 0o700);
    }

    #[test]
    fn a_folder_for_everyone_is_never_changed() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        set(&home, 0o1777);
        assert_eq!(refused(&home).code(), ErrorCode::StoreOpenToOthers);
        assert_eq!(mode(&home), 0o1777);
    }
}

#[test]
fn a_file_of_an_earlier_version_gets_an_identity_and_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    drop(kept(folder.path()));
    let connection = rusqlite::Connection::open(folder.path().join("ctx.db")).unwrap();
    assert_eq!(connection.execute("DELETE FROM facts WHERE name = 'epoch'", []).unwrap(), 1);
    drop(connection);
    let cursor = SqliteStore::open(folder.path()).unwrap().newest().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(store.newest().unwrap(), cursor);
    store.append(vec![step("a", "later", &[])]).unwrap();
    assert_eq!(store.feed(&cursor, 9).unwrap().found.records.len(), 1);
    assert!(!cursor.to_string().starts_with("0-"), "{cursor}");
}
