//! A purge gives way to others, costs in proportion to what goes, and makes the file smaller.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::step;
use ctx_store::{Note, Reader, SqliteStore, Step, Store};

fn names(from: usize, to: usize) -> Vec<String> {
    (from..to).map(|number| format!("conversation {number}")).collect()
}

/// Conversations with a few records, notes and blobs each.
fn fill(store: &SqliteStore, names: &[String]) {
    for names in names.chunks(200) {
        let steps = names.iter().flat_map(|name| {
            (0..3).map(move |number| {
                let body = format!("{name}, {number}");
                let mut step = step(name, body.clone(), &[format!("{body}: {}", "x".repeat(600)).as_bytes()]);
                for note in ["card", "pending", "edited"] {
                    let body = Some(body.clone().into_bytes());
                    step.notes.push(Note { conversation: name.clone(), name: note.into(), body });
                }
                step
            })
        });
        store.append(steps.collect()).unwrap();
    }
}

#[test]
fn commits_go_on_while_a_purge_runs() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let all = names(0, 1500);
    fill(&store, &all);
    let is_done = AtomicBool::new(false);
    let (mut commits, mut longest) = (0, Duration::ZERO);
    let took = std::thread::scope(|scope| {
        let purging = scope.spawn(|| {
            let start = Instant::now();
            store.purge(&all).unwrap();
            is_done.store(true, Ordering::SeqCst);
            start.elapsed()
        });
        while !is_done.load(Ordering::SeqCst) {
            let start = Instant::now();
            store.append(vec![Step { durable: true, ..step("other", "a commit", &[b"a blob"]) }]).unwrap();
            longest = longest.max(start.elapsed());
            commits += 1;
        }
        purging.join().unwrap()
    });
    assert!(commits > 5, "{commits} commits in {took:?}");
    assert!(longest < took / 2, "one commit waited {longest:?} of {took:?}");
    assert_eq!(store.records("other", 0).unwrap().records.len(), commits);
    assert!(store.check().unwrap().is_sound());
    assert_eq!(store.conversations().unwrap().len(), 1);
}

#[test]
fn the_file_is_smaller_afterwards_and_nothing_is_left_of_what_went() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    fill(&store, &names(0, 400));
    store.checkpoint().unwrap();
    let before = fs::metadata(store.path()).unwrap().len();
    let purged = store.purge(&names(0, 390)).unwrap();
    assert_eq!((purged.records, purged.blobs), (390 * 3, 390 * 3));
    let size = store.size().unwrap();
    assert!(size.database_bytes < before / 2, "{before} bytes became {}", size.database_bytes);
    assert_eq!(fs::metadata(folder.path().join("ctx.db-wal")).unwrap().len(), 0);
    assert_eq!((size.records, size.blobs), (30, 30));
    assert_eq!(store.notes("card").unwrap().len(), 10);
}
