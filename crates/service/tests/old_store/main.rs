//! A store of an earlier version is read for ever: what is sent and what is shown of it stay the same.
//!
//! `ctx.db` and `expected.json.gz` were written by `make.py` with the binaries of commit `d32bad5`. The store holds
//! every operation, branches, a fork, a rewind, a sub-agent, a deferred edit and an automatic commit.

use ctx_api::stats::Grouping;
use ctx_service::Service;
use ctx_service::view::StatsScope;
use ctx_store::SqliteStore;
use flate2::read::GzDecoder;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/old_store");

fn expected() -> Map<String, Value> {
    let file = std::fs::File::open(Path::new(FOLDER).join("expected.json.gz")).expect("the fixture is there");
    serde_json::from_reader(GzDecoder::new(file)).expect("the fixture is JSON")
}

/// Opens a copy of the store and calls `check` with every conversation and the values expected of it.
fn each(check: impl Fn(&Service, &str, &Value)) {
    let home = tempfile::tempdir().expect("a folder");
    std::fs::copy(Path::new(FOLDER).join("ctx.db"), home.path().join("ctx.db")).expect("a copy");
    let store = SqliteStore::open(home.path()).expect("the old store opens");
    let service = Service::open(Arc::new(store)).expect("the old log is read");
    let expected = expected();
    assert_eq!(expected.len(), 8);
    expected.iter().for_each(|(id, values)| check(&service, id, values));
}

/// Panics unless `new` says all that `old` says, but for the fields called `changed`. It may say more.
fn says_all_of(new: &Value, old: &Value, changed: &[&str], place: &str) {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            for (name, old) in old.iter().filter(|(name, _)| !changed.contains(&name.as_str())) {
                let place = format!("{place}.{name}");
                says_all_of(new.get(name).unwrap_or(&Value::Null), old, changed, &place);
            }
        }
        (Value::Array(new), Value::Array(old)) => {
            // Files that were offloaded are no part of the fixture, so they may be missing.
            let new: Vec<&Value> = new.iter().filter(|value| **value != "file-missing").collect();
            assert_eq!(new.len(), old.len(), "{place}");
            for (index, (new, old)) in new.into_iter().zip(old).enumerate() {
                says_all_of(new, old, changed, &format!("{place}[{index}]"));
            }
        }
        (Value::Number(new), Value::Number(old)) => {
            let (new, old) = (new.as_f64().unwrap_or(f64::NAN), old.as_f64().unwrap_or(f64::NAN));
            // Lists weigh what an edit wrote as the model reads it, no longer with the quotes and names of its JSON.
            let allowed = if place.contains(" list.") && place.ends_with(".tokens") { 40.0 + old * 0.02 } else { 1e-9 };
            assert!((new - old).abs() < allowed, "{place}: {new} is not {old}");
        }
        _ => assert_eq!(new, old, "{place}"),
    }
}

fn json(view: impl serde::Serialize) -> Value {
    serde_json::to_value(view).expect("a view is JSON")
}

#[test]
fn what_an_old_store_sends_is_the_same_to_the_byte() {
    each(|service, id, expected| {
        let dump = service.compose(id, None).expect("it composes");
        let expected = expected["dump"].as_str().expect("a dump");
        assert!(dump == expected.as_bytes(), "{id}: {}\n\nis not\n\n{expected}", String::from_utf8_lossy(&dump));
    });
}

#[test]
fn what_an_old_store_shows_is_the_same() {
    each(|service, id, expected| {
        let frames = service.frames(id, true, None).expect("its frames");
        // Whether the provider's cache is still warm depends on the time; titles follow edits now.
        let mut changed = vec!["cache", "title"];
        let other = match id {
            // It was rewound: the frame that came then has a number of its own. Its requests became too small to
            // rescale its estimates.
            "c935455" => vec!["id", "frame", "tokens", "source_tokens"],
            // Imported frames have steps now.
            "c0b0c7d" => vec!["steps", "step_list"],
            _ => Vec::new(),
        };
        changed.extend(&other);
        says_all_of(&json(frames), &expected["list"], &changed, &format!("{id} list"));
        let history = service.history(id, usize::MAX).expect("its history");
        says_all_of(&json(history), &expected["history"], &[], &format!("{id} history"));
        let timeline = service.timeline(id, usize::MAX).expect("its timeline");
        says_all_of(
            &json(timeline),
            &expected["timeline"],
            &[vec!["words"], other].concat(),
            &format!("{id} timeline"),
        );
        let waiting = service.waiting(id).expect("its deferred edits");
        says_all_of(&json(waiting)["wishes"], &expected["waiting"]["wishes"], &[], &format!("{id} waiting"));
    });
}

#[test]
fn what_an_old_store_cost_is_the_same() {
    each(|service, id, expected| {
        let asked = StatsScope { by: Grouping::Request, since: None, conversation: Some(id.into()), most: None };
        let stats = service.stats(&asked).expect("its costs");
        // What edits saved is no longer scaled by requests that are too small to tell.
        let changed = ["removed", "saved"];
        says_all_of(&json(stats)["groups"], &expected["stats"]["groups"], &changed, &format!("{id} stats"));
    });
}

#[test]
fn programs_of_the_old_version_refuse_the_store_from_now_on() {
    assert_eq!(ctx_store::SCHEMA_VERSION, i64::from(ctx_engine::log::VERSION), "they rise together");
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("ctx.db");
    std::fs::copy(Path::new(FOLDER).join("ctx.db"), &path).expect("a copy");
    drop(SqliteStore::open(home.path()).expect("the old store opens"));
    let database = rusqlite::Connection::open(path).expect("the file opens");
    let version: i64 = database.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a version");
    assert_eq!(version, ctx_store::SCHEMA_VERSION);
}
