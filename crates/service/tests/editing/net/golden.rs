//! The lines of the net: computed side by side, compared with the committed ones or written anew.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Computes the hash of each case and compares them with the lines of a file beside this one.
pub fn compare<T: Sync>(file: &str, cases: &[(String, T)], hash: impl Fn(&str, &T) -> String + Sync) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/editing/net").join(file);
    let wanted = std::env::var("CTX_NET").ok();
    let cases: Vec<&(String, T)> =
        cases.iter().filter(|(name, _)| wanted.as_ref().is_none_or(|wanted| wanted == name)).collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((name, case)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let hash = hash(name, case);
                    found.lock().expect("no case fails").insert(name.clone(), hash);
                }
            });
        }
    });
    let found = found.into_inner().expect("no case fails");
    let known = read(&path);
    if std::env::var("CTX_BLESS").is_ok_and(|value| value != "0") {
        let all: BTreeMap<String, String> = known.into_iter().chain(found).collect();
        let lines: Vec<String> = all.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect();
        return std::fs::write(&path, lines.concat()).expect("written");
    }
    let torn: Vec<&String> =
        found.iter().filter(|(name, hash)| known.get(*name) != Some(hash)).map(|(name, _)| name).collect();
    println!("{} of {} lines compared", found.len(), known.len());
    assert!(
        torn.is_empty(),
        "{} of {} lines of {file} are not what they were: {torn:?}\n\
         CTX_NET=<name> prints what goes into one; CTX_BLESS=1 takes the new ones if the change is meant",
        torn.len(),
        found.len(),
    );
}

fn read(path: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, hash)| (name.to_owned(), hash.to_owned()))
        .collect()
}
