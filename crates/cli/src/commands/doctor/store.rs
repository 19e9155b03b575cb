//! Checks that every record of the store is readable, even while a daemon writes to it.

use ctx_store::{FindingKind, PostgresAddress, SqliteStore, StoreError};

use super::{Finding, Level};
use crate::failure::Failure;
use crate::home::Home;
use crate::output::busy::Busy;
use crate::output::words;
use crate::owners::{self, Stores, StoresHealth};

pub(super) fn check(home: &Home, database: Option<&PostgresAddress>) -> Vec<Finding> {
    let busy = Busy::start("reading the whole store");
    let checked = Stores::open(home.path(), database).and_then(|stores| stores.check(&busy.progress()));
    drop(busy);
    let StoresHealth { health, people } = match checked {
        Ok(checked) => checked,
        Err(StoreError::Absent { .. }) if SqliteStore::had_commits(home.path()) => {
            let words = "the file is missing, although it contained edits";
            let hint = "Restore the file from a backup; otherwise the next start creates an empty store.";
            return vec![Finding::new("store", Level::Wrong, words).hint(hint)];
        }
        Err(StoreError::Absent { .. }) => return vec![Finding::new("store", Level::Note, "does not exist yet")],
        Err(error) => return vec![unreadable(error)],
    };
    let counts = &health.counts;
    let size = format!(
        "{} of {} and {}{} were read, {} on disk",
        words::plural(counts.records, "record"),
        words::plural(counts.conversations, "conversation"),
        words::plural(counts.blobs, "blob"),
        owners::of_people(people),
        words::bytes(health.size.bytes()),
    );
    let size = database.map_or_else(|| size.clone(), |address| format!("{address}: {size}"));
    let mut findings = Vec::new();
    if health.is_sound() {
        findings.push(Finding::new("store", Level::Good, size));
    }
    for found in &health.findings {
        let is_wrong =
            found.is_damage() || matches!(found.kind, FindingKind::Permissions | FindingKind::ServerSettings);
        let level = if is_wrong { Level::Wrong } else { Level::Note };
        findings.push(Finding::new("store", level, found.sentence.clone()).hint(found.advice));
    }
    findings
}

/// The usual hints for damage name this very command.
fn unreadable(error: StoreError) -> Finding {
    let hint = match &error {
        StoreError::Damaged(_) => "stop the daemon and restore the file from a backup, or move it away to start over",
        StoreError::DamagedBlob { .. } => "the next request with the same content restores it",
        StoreError::Database(_) => "",
        other => other.hint(),
    };
    Finding::new("store", Level::Wrong, Failure::from(error).message).hint(hint)
}
