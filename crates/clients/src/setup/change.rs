//! Changes of files: planned completely, then applied all or none.

use std::fs;
use std::path::{Path, PathBuf};

use ctx_core::ErrorCode;
use serde_json::Value;

use super::journal::{Base, Entry, Journal, Original};
use super::jsonc::Broken;
use super::jsonc::splice::Draft;
use super::{Host, Plan, SetupError, Syntax, file};

/// The desired content of a file.
#[derive(Clone, Debug)]
pub enum WantedContent {
    /// The whole file belongs to `ctx`.
    Whole(String),
    /// Entries by path.
    Entries(Syntax, Vec<(Vec<String>, Value)>),
}

/// The change of one file.
#[derive(Clone, Debug)]
pub struct Change {
    pub path: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
    /// The state to record afterwards.
    kept: Option<Original>,
    /// Folders to remove with the file if they are empty then; outermost first.
    folders: Vec<PathBuf>,
    /// Entries that the user has changed since; they stay.
    pub stays: Vec<String>,
}

impl Change {
    /// Applies the desired content to the file without earlier changes, so that a second installation changes nothing.
    pub fn install(path: &Path, wanted: &WantedContent, journal: &Journal, force: bool) -> Result<Self, SetupError> {
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
        let mut entries = match wanted {
            WantedContent::Whole(_) if !base.stays.is_empty() && !force => return Ok(change),
            WantedContent::Whole(text) => {
                draft.replace(0..draft.text.len(), text);
                Vec::new()
            }
            WantedContent::Entries(syntax, wanted) => {
                written = *syntax;
                set(*syntax, &mut draft, wanted).map_err(|broken| SetupError::unreadable(path, &broken))?
            }
        };
        // A section of an earlier installation that the user has added to was still created for `ctx`.
        for entry in &mut entries {
            let before = known.and_then(|known| known.entries.iter().find(|before| before.path == entry.path));
            entry.made = entry.made.take().or_else(|| before?.made.clone());
        }
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

    /// Restores the file. `None` if it was never changed.
    pub fn uninstall(path: &Path, journal: &Journal, force: bool) -> Result<Option<Self>, SetupError> {
        let Some(kept) = journal.files.get(path) else { return Ok(None) };
        let before = file::read(path)?;
        let Base { text, stays } = kept.uninstalled(path, before.as_deref(), force)?;
        // With `force`, a file that belongs to `ctx` is removed even if it was changed.
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

    /// The kind of change, for programs.
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
            // It existed before, so it does not belong to `ctx`.
            continue;
        }
        let made = syntax.set(draft, path, value)?;
        let before = there.map(|entry| entry.raw);
        entries.push(Entry { path: path.clone(), ours: value.clone(), before, made });
    }
    Ok(entries)
}

/// Reports beforehand why a plan cannot be made: a file is read-only, or has changed since.
pub fn check(plan: &Plan) -> Result<(), SetupError> {
    for change in plan.changes.iter().filter(|change| change.is_needed()) {
        file::check_writable(&change.path)?;
        if file::read(&change.path)? != change.before {
            let message = format!("{} has changed in the meantime", change.path.display());
            let hint = format!("{} may be running; run this again", plan.client);
            return Err(SetupError::new(ErrorCode::ChangedMeanwhile, message, hint));
        }
    }
    Ok(())
}

/// Applies all changes of a plan, or none.
pub fn make(plan: &Plan, host: &dyn Host) -> Result<(), SetupError> {
    check(plan)?;
    let needed: Vec<&Change> = plan.changes.iter().filter(|change| change.is_needed()).collect();
    let journal = &plan.journal;
    let mut after = journal.clone();
    for change in &plan.changes {
        match &change.kept {
            Some(kept) => after.files.insert(change.path.clone(), kept.clone()),
            None => after.files.remove(&change.path),
        };
    }
    // Saved before files are written, and after they are restored, so that a crash in between loses nothing.
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
        // Only if it is empty.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}
