//! What is wanted while the daemon runs: files are looked at again, at most once a second, and read when they have changed. One
//! that has become wrong is told of once, and its previous settings stay in force.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ctx_composer::automatic::{ProjectSettings, Rules};
use ctx_composer::provider::ProviderRules;
use ctx_core::automatic::Settings;
use ctx_wire::anthropic::context_management;

use super::said::{Remark, Said};
use super::sources::{Places, Source, Stamp};
use super::voices::{self, Voice};
use crate::Flags;
use crate::env::Environment;
use crate::home::Home;
use crate::trust::Trust;

const EVERY: Duration = Duration::from_secs(1);
/// Beyond so many, what nobody has asked for in a while is forgotten.
const MOST: usize = 500;
const A_WHILE: Duration = Duration::from_secs(3_600);

/// The rules of this machine's files.
pub struct LiveRules {
    places: Places,
    every: Duration,
    /// Nobody holds these while a disk is waited for, only an entry.
    files: Mutex<HashMap<PathBuf, Arc<Mutex<Kept>>>>,
    found: Mutex<HashMap<Who, Found>>,
    made: Mutex<HashMap<Who, Made<Settings>>>,
    asked: Mutex<HashMap<Who, Made<context_management::Rules>>>,
    trust: Mutex<KnownTrust>,
}

/// A folder, and the skills that are active.
type Who = (Option<PathBuf>, Vec<String>);

/// The sources for somebody.
#[derive(Clone)]
struct Found {
    at: Instant,
    sources: Arc<[Source]>,
}

/// What came of what they said.
struct Made<T> {
    at: Instant,
    of: Vec<Option<Arc<Said>>>,
    trust: Arc<Trust>,
    what: Arc<T>,
}

/// What people trust, as of the last look.
#[derive(Default)]
struct KnownTrust {
    looked: Option<Instant>,
    changed: Option<(SystemTime, u64)>,
    trust: Arc<Trust>,
}

/// One file.
#[derive(Default)]
struct Kept {
    looked: Option<Instant>,
    stamp: Option<Result<Option<Stamp>, String>>,
    /// What it said when it was last right.
    good: Option<Arc<Said>>,
    /// What is wrong with it now, and what holds meanwhile.
    wrong: Vec<String>,
}

impl LiveRules {
    pub fn new(flags: &Flags, environment: &Environment, home: &Home) -> LiveRules {
        LiveRules {
            places: Places::new(flags, environment, home),
            every: EVERY,
            files: Mutex::default(),
            found: Mutex::default(),
            made: Mutex::default(),
            asked: Mutex::default(),
            trust: Mutex::default(),
        }
    }

    fn trust(&self, now: Instant) -> Arc<Trust> {
        let mut known = lock(&self.trust);
        if !known.looked.is_some_and(|looked| is_fresh(looked, now, self.every)) {
            known.look(self.places.home());
            known.looked = Some(now);
        }
        Arc::clone(&known.trust)
    }

    fn sources(&self, who: &Who, now: Instant) -> Arc<[Source]> {
        if let Some(found) = lock(&self.found).get(who).filter(|found| is_fresh(found.at, now, self.every)) {
            return Arc::clone(&found.sources);
        }
        let (folder, skills) = who;
        let project = folder.iter().flat_map(|folder| self.places.project(folder));
        let skills = skills.iter().filter_map(|name| self.places.skill(folder.as_deref(), name));
        let sources: Arc<[Source]> = std::iter::once(self.places.general()).chain(project).chain(skills).collect();
        let mut all = lock(&self.found);
        forget(&mut all, now, |found| found.at);
        all.insert(who.clone(), Found { at: now, sources: Arc::clone(&sources) });
        sources
    }

    fn said(&self, source: &Source, now: Instant) -> Option<Arc<Said>> {
        lock(&self.kept(source, now)).good.clone()
    }

    /// A file as it was within the last moment.
    fn kept(&self, source: &Source, now: Instant) -> Arc<Mutex<Kept>> {
        let shared = {
            let mut files = lock(&self.files);
            forget(&mut files, now, |kept| kept.try_lock().ok().and_then(|kept| kept.looked).unwrap_or(now));
            Arc::clone(files.entry(source.path.clone()).or_default())
        };
        let mut kept = lock(&shared);
        if !kept.looked.is_some_and(|looked| is_fresh(looked, now, self.every)) {
            kept.look(source);
            kept.looked = Some(now);
        }
        drop(kept);
        shared
    }

    /// What was made of the same words before, or what is made of them now.
    fn made<T>(
        &self,
        before: &Mutex<HashMap<Who, Made<T>>>,
        who: Who,
        make: impl FnOnce(&[Voice<'_>], &Trust) -> T,
    ) -> Arc<T> {
        let now = Instant::now();
        let (sources, trust) = (self.sources(&who, now), self.trust(now));
        let said: Vec<Option<Arc<Said>>> = sources.iter().map(|source| self.said(source, now)).collect();
        let mut all = lock(before);
        let is_same = |made: &&mut Made<T>| are_same(&made.of, &said) && Arc::ptr_eq(&made.trust, &trust);
        if let Some(made) = all.get_mut(&who).filter(is_same) {
            made.at = now;
            return Arc::clone(&made.what);
        }
        let what = Arc::new(make(&voices_of(&sources, &said), &trust));
        forget(&mut all, now, |made| made.at);
        all.insert(who, Made { at: now, of: said, trust, what: Arc::clone(&what) });
        what
    }
}

fn voices_of<'v>(sources: &'v [Source], said: &'v [Option<Arc<Said>>]) -> Vec<Voice<'v>> {
    sources.iter().zip(said).map(|(source, said)| Voice { source, said: said.as_deref() }).collect()
}

impl KnownTrust {
    fn look(&mut self, home: &Home) {
        let stamp = |file: std::fs::Metadata| Some((file.modified().ok()?, file.len()));
        let changed = std::fs::metadata(Trust::path(home)).ok().and_then(stamp);
        if self.looked.is_some() && changed == self.changed {
            return;
        }
        self.changed = changed;
        let trust = Trust::load(home).unwrap_or_else(|failure| {
            tracing::warn!("{failure}; no project is trusted");
            Trust::default()
        });
        if trust != *self.trust {
            self.trust = Arc::new(trust);
        }
    }
}

impl Kept {
    fn look(&mut self, source: &Source) {
        let stamp = source.stamp();
        if self.stamp.as_ref() == Some(&stamp) {
            return;
        }
        self.stamp = Some(stamp);
        self.wrong.clear();
        let Some(mut said) = source.read() else {
            self.good = None;
            return;
        };
        if !said.provider_wrong.is_empty() {
            let why = said.provider_wrong.join("; ");
            self.wrong.push(format!("{why}; its previous settings of the provider stay in force"));
            said.provider = self.good.as_ref().map(|good| good.provider.clone()).unwrap_or_default();
        }
        let words =
            |remarks: &[Remark]| remarks.iter().map(|remark| remark.at(&source.path)).collect::<Vec<_>>().join("; ");
        // What was trusted stays in force as a whole: the changed file is not trusted yet.
        let stays = !said.provider_wrong.is_empty() && said.print.is_some() && self.good.is_some();
        if said.wrong.is_empty() && !stays {
            if !said.ignored.is_empty() {
                tracing::info!("{}", words(&said.ignored));
            }
            self.good = Some(Arc::new(said));
        } else if !said.wrong.is_empty() {
            let meanwhile = match &self.good {
                Some(_) => "its previous settings stay in force",
                None => "it is ignored",
            };
            self.wrong.push(format!("{}; {meanwhile}", words(&said.wrong)));
        }
        for wrong in &self.wrong {
            tracing::warn!("{wrong}. `ctx config check` has details.");
        }
    }
}

impl Rules for LiveRules {
    fn of(&self, folder: Option<&Path>, skills: &[&str]) -> Arc<Settings> {
        self.made(&self.made, who(folder, skills), |voices, trust| voices::settings(voices, trust).0)
    }

    fn wrong(&self, folder: Option<&Path>, skills: &[&str]) -> Vec<String> {
        let now = Instant::now();
        let sources = self.sources(&who(folder, skills), now);
        sources.iter().flat_map(|source| lock(&self.kept(source, now)).wrong.clone()).collect()
    }

    fn project(&self, folder: Option<&Path>, skills: &[&str]) -> Option<ProjectSettings> {
        let now = Instant::now();
        let (sources, trust) = (self.sources(&who(folder, skills), now), self.trust(now));
        let said: Vec<Option<Arc<Said>>> = sources.iter().map(|source| self.said(source, now)).collect();
        voices::of_project(folder?, &voices_of(&sources, &said), &trust)
    }
}

impl ProviderRules for LiveRules {
    fn provider(&self, folder: Option<&Path>) -> Arc<context_management::Rules> {
        self.made(&self.asked, who(folder, &[]), |voices, trust| voices::provider_rules(folder, voices, trust).0)
    }
}

fn who(folder: Option<&Path>, skills: &[&str]) -> Who {
    (folder.map(Path::to_owned), skills.iter().map(|&name| name.to_owned()).collect())
}

fn is_fresh(at: Instant, now: Instant, every: Duration) -> bool {
    now.saturating_duration_since(at) < every
}

fn are_same(one: &[Option<Arc<Said>>], other: &[Option<Arc<Said>>]) -> bool {
    let same = |(one, other): (&Option<Arc<Said>>, &Option<Arc<Said>>)| match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn forget<K: std::hash::Hash + Eq, V>(all: &mut HashMap<K, V>, now: Instant, at: impl Fn(&V) -> Instant) {
    if all.len() >= MOST {
        all.retain(|_, one| is_fresh(at(one), now, A_WHILE));
    }
}

/// What is kept is whole at any time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
