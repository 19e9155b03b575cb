//! The settings of a running daemon: files are checked at most once a second, and reread when they have changed. A file
//! that has become invalid is logged once, and its previous settings stay in force.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ctx_api::context::ProjectSettings;
use ctx_core::policy::Settings;
use ctx_engine::automatic::Rules;
use ctx_service::provider::ProviderRules;
use ctx_wire::provider_edits;

use crate::Flags;
use crate::env::Environment;
use crate::home::Home;
use crate::layer::{Layer, Origin, Remark};
use crate::merge::{self, SourceLayer};
use crate::sources::{Places, Source, Stamp};
use crate::trust::Trust;

const EVERY: Duration = Duration::from_secs(1);
/// Beyond this many entries, unused ones are removed.
const MOST: usize = 500;
const A_WHILE: Duration = Duration::from_secs(3_600);

/// The rules of this machine's files.
pub struct LiveRules {
    places: Places,
    every: Duration,
    /// Folders that clients name are on other machines: nothing there is read.
    ignores_folders: bool,
    /// Locked only for a lookup; an entry has its own lock, held while its file is read.
    files: Mutex<HashMap<PathBuf, Arc<Mutex<CachedFile>>>>,
    sources: Mutex<HashMap<Who, CachedSources>>,
    settings: Mutex<HashMap<Who, CachedMerge<Settings>>>,
    rules: Mutex<HashMap<Who, CachedMerge<provider_edits::Rules>>>,
    trust: Mutex<KnownTrust>,
}

/// A folder, and the active skills.
type Who = (Option<PathBuf>, Vec<String>);

/// The sources for a folder and its skills.
#[derive(Clone)]
struct CachedSources {
    at: Instant,
    sources: Arc<[Source]>,
}

/// A result, and the layers it was merged from.
struct CachedMerge<T> {
    at: Instant,
    of: Vec<Option<Arc<Layer>>>,
    trust: Arc<Trust>,
    what: Arc<T>,
}

/// The trusted files, as of the last check.
#[derive(Default)]
struct KnownTrust {
    looked: Option<Instant>,
    changed: Option<(SystemTime, u64)>,
    trust: Arc<Trust>,
}

/// One file.
#[derive(Default)]
struct CachedFile {
    looked: Option<Instant>,
    stamp: Option<Result<Option<Stamp>, String>>,
    /// Its last valid layer.
    good: Option<Arc<Layer>>,
    /// Its current errors; the last valid settings stay in force.
    wrong: Vec<String>,
}

impl LiveRules {
    pub fn new(flags: &Flags, environment: &Environment, home: &Home) -> LiveRules {
        LiveRules {
            places: Places::new(flags, environment, home),
            every: EVERY,
            ignores_folders: false,
            files: Mutex::default(),
            sources: Mutex::default(),
            settings: Mutex::default(),
            rules: Mutex::default(),
            trust: Mutex::default(),
        }
    }

    /// For a daemon whose clients run on other machines.
    pub fn ignoring_folders(self) -> LiveRules {
        LiveRules { ignores_folders: true, ..self }
    }

    /// The folder and the skills whose files count.
    fn who(&self, folder: Option<&Path>, skills: &[&str]) -> Who {
        match self.ignores_folders {
            true => (None, Vec::new()),
            false => who(folder, skills),
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
        if let Some(found) = lock(&self.sources).get(who).filter(|found| is_fresh(found.at, now, self.every)) {
            return Arc::clone(&found.sources);
        }
        let (folder, skills) = who;
        let project = folder.iter().flat_map(|folder| self.places.project(folder));
        let skills = skills.iter().filter_map(|name| self.places.skill(folder.as_deref(), name));
        let sources: Arc<[Source]> = std::iter::once(self.places.general()).chain(project).chain(skills).collect();
        let mut all = lock(&self.sources);
        forget(&mut all, now, |found| found.at);
        all.insert(who.clone(), CachedSources { at: now, sources: Arc::clone(&sources) });
        sources
    }

    fn layer(&self, source: &Source, now: Instant) -> Option<Arc<Layer>> {
        lock(&self.file(source, now)).good.clone()
    }

    /// The state of a file, at most a second old.
    fn file(&self, source: &Source, now: Instant) -> Arc<Mutex<CachedFile>> {
        let shared = {
            let mut files = lock(&self.files);
            forget(&mut files, now, |file| file.try_lock().ok().and_then(|file| file.looked).unwrap_or(now));
            Arc::clone(files.entry(source.path.clone()).or_default())
        };
        let mut file = lock(&shared);
        if !file.looked.is_some_and(|looked| is_fresh(looked, now, self.every)) {
            file.look(source);
            file.looked = Some(now);
        }
        drop(file);
        shared
    }

    /// The cached result for the same layers, or a new one.
    fn cached<T>(
        &self,
        before: &Mutex<HashMap<Who, CachedMerge<T>>>,
        who: Who,
        make: impl FnOnce(&[SourceLayer<'_>], &Trust) -> T,
    ) -> Arc<T> {
        let now = Instant::now();
        let (sources, trust) = (self.sources(&who, now), self.trust(now));
        let layers: Vec<Option<Arc<Layer>>> = sources.iter().map(|source| self.layer(source, now)).collect();
        let mut all = lock(before);
        let is_same = |made: &&mut CachedMerge<T>| are_same(&made.of, &layers) && Arc::ptr_eq(&made.trust, &trust);
        if let Some(made) = all.get_mut(&who).filter(is_same) {
            made.at = now;
            return Arc::clone(&made.what);
        }
        let what = Arc::new(make(&source_layers(&sources, &layers), &trust));
        forget(&mut all, now, |made| made.at);
        all.insert(who, CachedMerge { at: now, of: layers, trust, what: Arc::clone(&what) });
        what
    }
}

fn source_layers<'v>(sources: &'v [Source], layers: &'v [Option<Arc<Layer>>]) -> Vec<SourceLayer<'v>> {
    sources.iter().zip(layers).map(|(source, layer)| SourceLayer { source, layer: layer.as_deref() }).collect()
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

impl CachedFile {
    fn look(&mut self, source: &Source) {
        let stamp = source.stamp();
        if self.stamp.as_ref() == Some(&stamp) {
            return;
        }
        self.stamp = Some(stamp);
        self.wrong.clear();
        let Some(mut layer) = source.read() else {
            self.good = None;
            return;
        };
        let words =
            |remarks: &[Remark]| remarks.iter().map(|remark| remark.at(&source.path)).collect::<Vec<_>>().join("; ");
        if !layer.provider_wrong.is_empty() {
            let why = words(&layer.provider_wrong);
            self.wrong.push(format!("{why}; its previous provider settings stay in force"));
            let before = self.good.as_ref().map(|good| good.config.context_editing.provider.clone());
            layer.config.context_editing.provider = before.unwrap_or_default();
        }
        // A trusted file stays in force as a whole: the changed one is not trusted yet.
        let stays = !layer.provider_wrong.is_empty() && layer.print.is_some() && self.good.is_some();
        if layer.wrong.is_empty() && !stays {
            // Remarks about the user's own file are logged when the daemon starts.
            if !layer.ignored.is_empty() && source.origin != Origin::User {
                tracing::info!("{}", words(&layer.ignored));
            }
            self.good = Some(Arc::new(layer));
        } else if !layer.wrong.is_empty() {
            let meanwhile = match &self.good {
                Some(_) => "its previous settings stay in force",
                None => "it is ignored",
            };
            self.wrong.push(format!("{}; {meanwhile}", words(&layer.wrong)));
        }
        for wrong in &self.wrong {
            tracing::warn!("{wrong}. `ctx config check` has details.");
        }
    }
}

impl Rules for LiveRules {
    fn of(&self, folder: Option<&Path>, skills: &[&str]) -> Arc<Settings> {
        self.cached(&self.settings, self.who(folder, skills), |layers, trust| merge::settings(layers, trust).0)
    }

    fn wrong(&self, folder: Option<&Path>, skills: &[&str]) -> Vec<String> {
        let now = Instant::now();
        let sources = self.sources(&self.who(folder, skills), now);
        sources.iter().flat_map(|source| lock(&self.file(source, now)).wrong.clone()).collect()
    }

    fn project(&self, folder: Option<&Path>, skills: &[&str]) -> Option<ProjectSettings> {
        let now = Instant::now();
        let (sources, trust) = (self.sources(&self.who(folder, skills), now), self.trust(now));
        let layers: Vec<Option<Arc<Layer>>> = sources.iter().map(|source| self.layer(source, now)).collect();
        let folder = folder.filter(|_| !self.ignores_folders);
        merge::of_project(folder?, &source_layers(&sources, &layers), &trust)
    }
}

impl ProviderRules for LiveRules {
    fn provider(&self, folder: Option<&Path>) -> Arc<provider_edits::Rules> {
        let folder = folder.filter(|_| !self.ignores_folders);
        self.cached(&self.rules, self.who(folder, &[]), |layers, trust| merge::provider_rules(folder, layers, trust).0)
    }
}

fn who(folder: Option<&Path>, skills: &[&str]) -> Who {
    (folder.map(Path::to_owned), skills.iter().map(|&name| name.to_owned()).collect())
}

fn is_fresh(at: Instant, now: Instant, every: Duration) -> bool {
    now.saturating_duration_since(at) < every
}

fn are_same(one: &[Option<Arc<Layer>>], other: &[Option<Arc<Layer>>]) -> bool {
    let same = |(one, other): (&Option<Arc<Layer>>, &Option<Arc<Layer>>)| match (one, other) {
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

/// Every value is complete whenever its lock is free, so a poisoned lock is harmless.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

mod waitless;
pub use waitless::WaitlessRules;

#[cfg(test)]
mod tests;
