//! Changes of files: planned completely, then made all or none.

use std::fs;
use std::path::{Path, PathBuf};

use ctx_core::ErrorCode;
use serde_json::Value;

use super::journal::{Base, Entry, Journal, Original};
use super::jsonc::Broken;
use super::jsonc::splice::Draft;
use super::{Host, Plan, SetupError, Syntax, file};

/// What shall stand in a file.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// All of it is ours.
    Whole(String),
    /// Entries by their paths.
    Entries(Syntax, Vec<(Vec<String>, Value)>),
}

/// What becomes of one file.
#[derive(Clone, Debug)]
pub struct Change {
    pub path: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
    /// What must be remembered afterwards.
    kept: Option<Original>,
    /// That go with the file, if they are empty then; the outermost first.
    folders: Vec<PathBuf>,
    /// What somebody has changed since we wrote it, and that stays.
    pub stays: Vec<String>,
}

impl Change {
    /// Puts what is wanted into the file as it would be without us, so that doing it twice changes nothing.
    pub fn install(path: &Path, wanted: &Wanted, journal: &Journal, force: bool) -> Result<Self, SetupError> {
        let before = file::read(path)?;
        let known = journal.files.get(path);
        let base = base(path, before.as_deref(), known)?;
        let mut change = Self {
            path: path.to_owned(),
            before: before.clone(),
            after: before,
            kept: known.cloned(),
            folders: Vec::new(),
            stays: base.stays.clone(),
        };
        let mut draft = Draft::of(base.text.as_deref().unwrap_or_default());
        let mut written = Syntax::default();
        let entries = match wanted {
            Wanted::Whole(_) if !base.stays.is_empty() && !force => return Ok(change),
            Wanted::Whole(text) => {
                draft.replace(0..draft.text.len(), text);
                Vec::new()
            }
            Wanted::Entries(syntax, wanted) => {
                written = *syntax;
                set(*syntax, &mut draft, wanted).map_err(|broken| SetupError::unreadable(path, &broken))?
            }
        };
        let is_ours = !draft.steps.is_empty() && base.text.as_deref() != Some(&draft.text);
        let mut folders = known.map(|kept| kept.folders.clone()).unwrap_or_default();
        folders.extend(
            file::missing_folders(path).into_iter().filter(|folder| !folders.contains(folder)).collect::<Vec<_>>(),
        );
        change.kept = is_ours.then(|| Original {
            existed: base.text.is_some(),
            folders,
            hash: Original::hash_of(&draft.text),
            steps: draft.steps,
            syntax: written,
            entries,
        });
        change.after = Some(draft.text).filter(|_| is_ours).or(base.text);
        change.stays.clear();
        Ok(change)
    }

    /// The file without us. `None`: we never touched it.
    pub fn uninstall(path: &Path, journal: &Journal, force: bool) -> Result<Option<Self>, SetupError> {
        let Some(kept) = journal.files.get(path) else { return Ok(None) };
        let before = file::read(path)?;
        let Base { text, stays } = kept.base(path, before.as_deref())?;
        // A file that is ours altogether goes, whatever was done to it, if that is what is wished.
        let goes = force && kept.entries.is_empty() && !stays.is_empty();
        Ok(Some(Self {
            path: path.to_owned(),
            before,
            after: text.filter(|_| !goes),
            kept: None,
            folders: kept.folders.clone(),
            stays: if goes { Vec::new() } else { stays },
        }))
    }

    pub fn is_needed(&self) -> bool {
        self.before != self.after
    }

    /// For programs.
    pub fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (before, after) if before == after => "none",
            (None, _) => "made",
            (_, None) => "removed",
            _ => "changed",
        }
    }
}

fn base(path: &Path, current: Option<&str>, known: Option<&Original>) -> Result<Base, SetupError> {
    match known {
        Some(kept) => kept.base(path, current),
        None => Ok(Base { text: current.map(str::to_owned), stays: Vec::new() }),
    }
}

fn set(syntax: Syntax, draft: &mut Draft, wanted: &[(Vec<String>, Value)]) -> Result<Vec<Entry>, Broken> {
    let mut entries = Vec::new();
    for (path, value) in wanted {
        let there = syntax.find(&draft.text, path)?;
        if there.as_ref().is_some_and(|entry| entry.value.as_ref() == Some(value)) {
            // It was there already, so it is not ours.
            continue;
        }
        let made = syntax.set(draft, path, value)?;
        let before = there.map(|entry| entry.raw);
        entries.push(Entry { path: path.clone(), ours: value.clone(), before, made });
    }
    Ok(entries)
}

/// Makes all changes of a plan, or none.
pub fn make(plan: &Plan, host: &dyn Host) -> Result<(), SetupError> {
    let needed: Vec<&Change> = plan.changes.iter().filter(|change| change.is_needed()).collect();
    for change in &needed {
        file::check_writable(&change.path)?;
        if file::read(&change.path)? != change.before {
            let message = format!("{} has changed meanwhile", change.path.display());
            let hint = format!("{} may be running; run this again", plan.client);
            return Err(SetupError::new(ErrorCode::ChangedMeanwhile, message, hint));
        }
    }
    let journal = &plan.journal;
    let mut after = journal.clone();
    for change in &plan.changes {
        match &change.kept {
            Some(kept) => after.files.insert(change.path.clone(), kept.clone()),
            None => after.files.remove(&change.path),
        };
    }
    // Before the files for what is added, behind them for what is taken away: a crash in between loses nothing.
    let mut both = journal.clone();
    both.files.extend(after.files.clone());
    both.save(host)?;
    for (index, change) in needed.iter().enumerate() {
        if let Err(error) = file::write(&change.path, change.after.as_deref()) {
            for made in needed.iter().take(index) {
                let _ = file::write(&made.path, made.before.as_deref());
            }
            let _ = journal.save(host);
            return Err(error);
        }
    }
    after.save(host)?;
    let removed = plan.changes.iter().filter(|change| change.after.is_none());
    for folder in removed.flat_map(|change| change.folders.iter().rev()) {
        // Only if it is empty; whatever else lies there keeps it.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}
