//! Killed in the middle of writing, a store opens again and has everything it acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Noise, append, note, step};
use ctx_store::{FindingKind, Reader, SqliteStore, Step, Store};

const ROUNDS: u64 = 20;
const FOLDER: &str = "CTX_STORE_CRASH_TEST_FOLDER";

#[test]
fn what_was_acknowledged_survives_being_killed() {
    // The test starts itself as the process that is killed.
    if let Ok(folder) = std::env::var(FOLDER) {
        write_until_killed(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut chance = Noise::new(7);
    for round in 0..ROUNDS {
        let acknowledged = kill_a_writer(folder.path(), 1 + chance.number() % 25);
        if round.is_multiple_of(2) {
            // A reader may come before the daemon restarts.
            let reader = SqliteStore::open_reader(folder.path()).unwrap();
            assert!(reader.last_seq().unwrap() >= acknowledged, "round {round}");
        }
        let store = SqliteStore::open(folder.path()).unwrap();
        assert_eq!(store.opened().moved_aside, None, "round {round}");
        assert!(store.last_seq().unwrap() >= acknowledged, "round {round}");
        // A purge works in slices: killed between two of them, it leaves blobs that the next purge removes.
        let found = store.check().unwrap().findings;
        assert!(found.iter().all(|finding| finding.kind == FindingKind::UnusedBlobs), "round {round}: {found:?}");
        if !found.is_empty() {
            store.purge(&[]).unwrap();
            assert_eq!(store.check().unwrap().findings, [], "round {round}");
        }
        assert_complete(&store, acknowledged);
    }
}

/// Lets a child write until it has acknowledged `count` steps, kills it, and returns the number of the
/// last record that it acknowledged.
fn kill_a_writer(folder: &Path, count: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::what_was_acknowledged_survives_being_killed", "--exact"])
        .args(["--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut numbers = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("kept ")?.parse().ok());
    let last = numbers.nth(usize::try_from(count).unwrap()).unwrap();
    child.kill().unwrap();
    // What it said after that and before it died counts as well.
    let last = numbers.last().unwrap_or(last);
    child.wait().unwrap();
    last
}

/// Each record's body is the number it must get, and so is its blob.
fn write_until_killed(folder: &Path) -> ! {
    let store = SqliteStore::open(folder).unwrap();
    store.purge(&["fleeting".to_owned()]).unwrap();
    let mut next = store.last_seq().unwrap() + 1;
    loop {
        let steps = (0..next % 4).map(|offset| numbered(next + offset));
        let steps: Vec<Step> = steps.collect();
        next += steps.len() as u64;
        let given = append(&store, steps);
        if let Some(last) = given.last() {
            assert_eq!(*last + 1, next);
            println!("kept {last}");
            std::io::stdout().flush().unwrap();
        } else {
            // A purge in between: of a conversation that loses its records over and over.
            let fleeting = step("fleeting", "", &[&next.to_le_bytes(), &[9; 3000]]);
            next = append(&store, vec![fleeting])[0] + 1;
            store.purge(&["fleeting".to_owned()]).unwrap();
        }
    }
}

fn numbered(number: u64) -> Step {
    let mut step = step("kept", number.to_string(), &[&content(number)]);
    step.notes = vec![note("kept", "head", &number.to_string())];
    step.durable = number.is_multiple_of(3);
    step
}

fn content(number: u64) -> Vec<u8> {
    Noise::new(number).bytes(3_000)
}

fn assert_complete(store: &SqliteStore, acknowledged: u64) {
    let kept = store.records("kept", 0).unwrap().records;
    let fleeting = store.records("fleeting", 0).unwrap().records;
    assert!(fleeting.len() <= 1, "purged records are back");
    for record in &kept {
        assert_eq!(record.body, record.seq.to_string().into_bytes());
        let blob = store.blob(record.uses[0]).unwrap();
        assert_eq!(blob, Some(content(record.seq)));
    }
    let last = kept.last().unwrap();
    assert!(last.seq >= acknowledged);
    let head = store.note("kept", "head").unwrap();
    assert_eq!(head.as_ref(), Some(&last.body));
    // Every number was given to one or the other: the purged ones are the steps of a zero remainder.
    let missing = (1..=last.seq).filter(|seq| kept.binary_search_by_key(seq, |record| record.seq).is_err());
    assert!(missing.into_iter().all(|seq| seq.is_multiple_of(4)), "lost records");
}
