//! The switched-on editor: its proposals within the settings, its files, and its messages.

use super::keep;
use crate::edit::Folder;
use ctx_api::context::ProjectSettings;
use ctx_core::policy::{Facts, Force, Look, Mode, Proposal, Settings, choose};
use ctx_engine::automatic::{Rules, ledger_line};
use ctx_engine::ports::{About, Automatic, Keeping, Limit, Removal};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Whether the provider itself edits a conversation.
pub type ProviderEdits = Box<dyn Fn(&About<'_>) -> bool + Send + Sync>;

pub struct Editor {
    rules: Arc<dyn Rules>,
    folder: Folder,
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
}

impl Editor {
    pub fn new(rules: Arc<dyn Rules>, folder: Folder, provider_edits: ProviderEdits) -> Editor {
        let holds_all = AtomicBool::new(is_on(&*rules));
        Editor {
            rules,
            folder,
            provider_edits,
            holds_all,
            complained: Mutex::default(),
            hindered: Mutex::default(),
            noted: Mutex::default(),
        }
    }

    fn ledger(&self, about: &About<'_>, settings: &Settings) -> keep::Ledger {
        keep::ledger(&settings.ledger, about.folder.map(Path::new), &self.folder, about.conversation)
    }

    /// The reason, unless the previous line of this batch has it; and whether the line is the first of its batch.
    fn reason_of_line<'r>(&self, about: &About<'_>, reason: &'r str) -> (Option<&'r str>, bool) {
        let noted = (about.request, about.at, reason.to_owned());
        let before = crate::threads::lock(&self.noted).insert(about.conversation.to_owned(), noted);
        let before = before.filter(|(request, at, _)| (*request, *at) == (about.request, about.at));
        let is_same = before.as_ref().is_some_and(|(_, _, before)| before == reason);
        ((!is_same).then_some(reason), before.is_none())
    }

    fn complain(&self, about: &About<'_>, why: &str) {
        crate::threads::lock(&self.hindered).insert(about.conversation.to_owned(), why.to_owned());
        let is_new = crate::threads::lock(&self.complained).insert(format!("{} {why}", about.conversation));
        if is_new {
            tracing::warn!(conversation = %about.conversation, %why, "nothing is cleared automatically");
        }
    }
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
        let hindered = crate::threads::lock(&self.hindered).get(about.conversation).cloned();
        all.extend(hindered.map(|why| format!("nothing is cleared: {why}")));
        all
    }

    fn project_settings(&self, about: &About<'_>, skills: &[&str]) -> Option<ProjectSettings> {
        self.rules.project(about.folder.map(Path::new), skills)
    }

    fn note(&self, about: &About<'_>, settings: &Settings, line: &str) -> Result<(), String> {
        self.ledger(about, settings).note(line)
    }

    fn keep(
        &self,
        about: &About<'_>,
        settings: &Settings,
        (removed, what): (&Removal<'_>, &str),
        keeping: Keeping,
    ) -> Result<Option<String>, String> {
        if keeping == Keeping::Nowhere {
            return Ok(None);
        }
        // Nothing is cleared without a line in the ledger, so that is tried before a file is written.
        let ledger = match keeping {
            Keeping::Noted => self.ledger(about, settings).may_note(),
            Keeping::Filed | Keeping::Nowhere => Ok(()),
        };
        let kept = ledger.and_then(|()| keep::to_file(&self.folder, about, removed)).and_then(|file| {
            if keeping == Keeping::Noted {
                let why = self.reason_of_line(about, removed.reason);
                let line = ledger_line::line(about, (&ledger_line::named(removed), what), why, &file);
                self.note(about, settings, &line)?;
                crate::threads::lock(&self.hindered).remove(about.conversation);
            }
            Ok(Some(ledger_line::sentence(&file)))
        });
        kept.inspect_err(|why| self.complain(about, why))
    }

    fn secure(&self) {
        self.folder.sync();
    }
}
