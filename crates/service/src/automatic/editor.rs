//! The switched-on editor: its proposals within the settings, its files, and its messages.

use super::keep;
use crate::edit::Folder;
use crate::lookup::Lookup;
use crate::threads::lock;
use ctx_api::context::ProjectSettings;
use ctx_core::policy::{Facts, Force, Look, Mode, Proposal, Settings, choose};
use ctx_engine::automatic::{Rules, ledger_line};
use ctx_engine::edit::handle::{self, Handles};
use ctx_engine::ports::{About, Automatic, ClearedDestination, Limit, Removal};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const UNANSWERED: &str = "the disk with the folder for its content does not answer";

/// Whether the provider itself edits a conversation.
pub type ProviderEdits = Box<dyn Fn(&About<'_>) -> bool + Send + Sync>;

pub struct Editor {
    rules: Arc<dyn Rules>,
    destination: Destination,
    provider_edits: ProviderEdits,
    /// Whether all conversations are watched, as of the last read of the settings: the proxy asks before it reads a
    /// body, and waits for no file.
    holds_all: AtomicBool,
    /// Errors already reported; each is logged once.
    complained: Mutex<HashSet<String>>,
    /// Why a conversation could not be cleared at the last attempt.
    hindered: Mutex<HashMap<String, String>>,
    /// The request, time and reason of each conversation's newest line in the ledger.
    noted: Mutex<HashMap<String, (u32, u64, String)>>,
    /// Where each conversation files its content, with the ledger that is kept beside it, if that is possible.
    places: Lookup<(String, Option<LedgerName>), Result<PathBuf, String>>,
    /// Lines that are still to be written to ledgers.
    lines: Mutex<Vec<(LedgerName, String)>>,
    /// The conversations whose files or lines could not be written, each with the reason. Nothing more is cleared from
    /// them until they are.
    unwritten: Mutex<HashMap<String, String>>,
}

/// The destination of cleared content.
enum Destination {
    /// To files, with a ledger.
    Folder(Folder),
    /// Nowhere: the message that it is cleared from is in the store, and the history says why it was.
    Store(Handles),
}

/// Names the ledger of a conversation: its project, and the path in the settings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct LedgerName {
    conversation: String,
    project: Option<PathBuf>,
    path: String,
}

impl LedgerName {
    fn of(about: &About<'_>, settings: &Settings) -> LedgerName {
        LedgerName {
            conversation: about.conversation.to_owned(),
            project: about.folder.map(PathBuf::from),
            path: settings.ledger.clone(),
        }
    }

    fn ledger(&self, offload: &Folder) -> keep::Ledger {
        keep::ledger(&self.path, self.project.as_deref(), offload, &self.conversation)
    }
}

impl Editor {
    pub fn new(rules: Arc<dyn Rules>, folder: Folder, provider_edits: ProviderEdits) -> Editor {
        Self::with(rules, Destination::Folder(folder), provider_edits)
    }

    /// For a daemon whose clients run on other machines: they cannot read its files, and it opens no folder of theirs.
    pub fn in_store(rules: Arc<dyn Rules>, handles: Handles, provider_edits: ProviderEdits) -> Editor {
        Self::with(rules, Destination::Store(handles), provider_edits)
    }

    fn with(rules: Arc<dyn Rules>, destination: Destination, provider_edits: ProviderEdits) -> Editor {
        let holds_all = AtomicBool::new(is_on(&*rules));
        Editor {
            rules,
            destination,
            provider_edits,
            holds_all,
            complained: Mutex::default(),
            hindered: Mutex::default(),
            noted: Mutex::default(),
            places: Lookup::default(),
            lines: Mutex::default(),
            unwritten: Mutex::default(),
        }
    }

    /// The sentence that names stored content to the agent.
    fn named_by_handle(&self, handles: Handles, about: &About<'_>, text: &str) -> Result<String, String> {
        let reader = handles.reader(about.conversation, about.tools).ok_or_else(|| handle::UNREADABLE.to_owned());
        let reader = reader.inspect_err(|why| self.complain(about.conversation, why))?;
        lock(&self.hindered).remove(about.conversation);
        Ok(reader.sentence(&handle::of(text)))
    }

    /// The folder for a conversation's files. Both it and the ledger, if `noted`, are checked once, and the disk is
    /// awaited only for a moment.
    fn place(&self, folder: &Folder, about: &About<'_>, settings: &Settings, noted: bool) -> Result<PathBuf, String> {
        if let Some(why) = lock(&self.unwritten).get(about.conversation) {
            return Err(why.clone());
        }
        let place = (about.conversation.to_owned(), noted.then(|| LedgerName::of(about, settings)));
        let check = {
            let (folder, place) = (folder.clone(), place.clone());
            move || checked(&folder, &place.0, place.1.as_ref())
        };
        let path = self.places.get(&place, Duration::MAX, check).ok_or_else(|| UNANSWERED.to_owned())?;
        match &path {
            Ok(_) => drop(lock(&self.hindered).remove(about.conversation)),
            Err(_) => self.places.forget(|other| *other == place),
        }
        path
    }

    /// Writes the queued lines. Those that cannot be written stay queued; returns their conversations, each with the
    /// reason.
    fn write_lines(&self, folder: &Folder) -> Vec<(String, String)> {
        let lines = std::mem::take(&mut *lock(&self.lines));
        let mut failures = Vec::new();
        for of_one in lines.chunk_by(|(one, _), (next, _)| one == next) {
            let texts: Vec<&str> = of_one.iter().map(|(_, line)| line.as_str()).collect();
            let name = &of_one[0].0;
            if let Err(why) = name.ledger(folder).note(&texts) {
                failures.push((name.conversation.clone(), why));
                lock(&self.lines).extend_from_slice(of_one);
            }
        }
        failures
    }

    /// The reason, unless the previous line of this batch has it; and whether the line is the first of its batch.
    fn reason_of_line<'r>(&self, about: &About<'_>, reason: &'r str) -> (Option<&'r str>, bool) {
        let noted = (about.request, about.at, reason.to_owned());
        let before = lock(&self.noted).insert(about.conversation.to_owned(), noted);
        let before = before.filter(|(request, at, _)| (*request, *at) == (about.request, about.at));
        let is_same = before.as_ref().is_some_and(|(_, _, before)| before == reason);
        ((!is_same).then_some(reason), before.is_none())
    }

    fn complain(&self, conversation: &str, why: &str) {
        lock(&self.hindered).insert(conversation.to_owned(), why.to_owned());
        if lock(&self.complained).insert(format!("{conversation} {why}")) {
            tracing::warn!(%conversation, %why, "nothing is cleared automatically");
        }
    }
}

/// The folder of a conversation, after checking that files can be created in it and lines added to the ledger.
fn checked(folder: &Folder, conversation: &str, ledger: Option<&LedgerName>) -> Result<PathBuf, String> {
    if let Some(ledger) = ledger {
        ledger.ledger(folder).may_note()?;
    }
    folder.checked(conversation).map_err(|error| keep::unwritable(folder, conversation, &error))
}

/// Whether it is on for all clients.
fn is_on(rules: &dyn Rules) -> bool {
    rules.of(None, &[]).mode != Mode::Off
}

impl Automatic for Editor {
    fn holds_all(&self) -> bool {
        self.holds_all.load(Ordering::Relaxed)
    }

    fn settings(&self, about: &About<'_>, skills: &[&str]) -> Arc<Settings> {
        self.holds_all.store(is_on(&*self.rules), Ordering::Relaxed);
        self.rules.of(about.folder.map(Path::new), skills)
    }

    fn propose(
        &self,
        about: &About<'_>,
        look: &Look<'_>,
        (settings, facts): (&Settings, Facts<'_>),
        all: bool,
    ) -> Vec<Proposal> {
        let force = match all {
            true => Force::All,
            false => Force::Usual {
                provider_edits: (self.provider_edits)(about),
                cleared: about.cleared,
                provider_first: about.provider_first,
            },
        };
        choose(settings, look, facts, force)
    }

    fn limit(&self, about: &About<'_>, settings: &Settings, window: u64) -> Limit {
        let percent = settings.threshold((self.provider_edits)(about));
        Limit { percent, tokens: window / 100 * percent }
    }

    fn provider_edits(&self, about: &About<'_>) -> bool {
        (self.provider_edits)(about)
    }

    fn hindrances(&self, about: &About<'_>, skills: &[&str]) -> Vec<String> {
        let mut all = self.rules.wrong(about.folder.map(Path::new), skills);
        let hindered = lock(&self.hindered).get(about.conversation).cloned();
        all.extend(hindered.map(|why| format!("nothing is cleared: {why}")));
        all
    }

    fn project_settings(&self, about: &About<'_>, skills: &[&str]) -> Option<ProjectSettings> {
        self.rules.project(about.folder.map(Path::new), skills)
    }

    fn note(&self, about: &About<'_>, settings: &Settings, line: &str) -> Result<(), String> {
        let Destination::Folder(folder) = &self.destination else { return Ok(()) };
        self.place(folder, about, settings, true)?;
        lock(&self.lines).push((LedgerName::of(about, settings), line.to_owned()));
        Ok(())
    }

    fn keep(
        &self,
        about: &About<'_>,
        settings: &Settings,
        (removed, what): (&Removal<'_>, &str),
        keeping: ClearedDestination,
    ) -> Result<Option<String>, String> {
        let folder = match &self.destination {
            Destination::Folder(folder) => folder,
            Destination::Store(handles) => return self.named_by_handle(*handles, about, removed.text).map(Some),
        };
        if keeping == ClearedDestination::Nowhere {
            return Ok(None);
        }
        let is_noted = keeping == ClearedDestination::Noted;
        let place = self.place(folder, about, settings, is_noted);
        let place = place.inspect_err(|why| self.complain(about.conversation, why))?;
        let name = keep::file_name(removed);
        let file = place.join(&name);
        folder.queue(about.conversation, &name, removed.text);
        if is_noted {
            let why = self.reason_of_line(about, removed.reason);
            let line = ledger_line::line(about, (&ledger_line::named(removed), what), why, &file);
            lock(&self.lines).push((LedgerName::of(about, settings), line));
        }
        Ok(Some(ledger_line::sentence(&file)))
    }

    fn secure(&self) {
        let Destination::Folder(folder) = &self.destination else { return };
        let files = folder.write_queued().into_iter();
        let files = files.map(|(id, error)| {
            let why = keep::unwritable(folder, &id, &error);
            (id, why)
        });
        let failed: HashMap<String, String> = files.chain(self.write_lines(folder)).collect();
        for (conversation, why) in &failed {
            self.complain(conversation, why);
            // Whether it is possible again is to be checked again.
            self.places.forget(|(of, _)| of == conversation);
        }
        let before = std::mem::replace(&mut *lock(&self.unwritten), failed.clone());
        let written = before.into_keys().filter(|conversation| !failed.contains_key(conversation));
        written.for_each(|conversation| drop(lock(&self.hindered).remove(&conversation)));
    }
}
