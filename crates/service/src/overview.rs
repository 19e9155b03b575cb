//! What memory knows of all conversations. It is read at the start, from a shared store while requests pass: those of
//! conversations that may be edited are held until it is known.

use crate::automatic::ToolUses;
use crate::directory::Directory;
use crate::parts::Parts;
use crate::service::Service;
use crate::threads::lock;
use ctx_engine::card::Card;
use ctx_engine::conversation::policy::tool_use;
use ctx_engine::conversation::titles::{self, Titles};
use ctx_engine::conversation::waiting::WAITING;
use ctx_engine::{EDITED, NO, log};
use ctx_store::{Store, StoreError};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Duration;

/// The pause before a store out of reach is asked again.
const RETRY: Duration = Duration::from_millis(200);

/// The store's answer about all conversations.
#[derive(Default)]
pub(crate) struct Overview {
    pub directory: Directory,
    /// The conversations whose requests are held.
    pub edited: HashSet<String>,
    /// The conversations with pending changes.
    pub waiting: HashSet<String>,
    pub titles: HashMap<String, Titles>,
    pub tool_uses: ToolUses,
}

impl Overview {
    pub fn read(store: &dyn Store) -> Result<Overview, StoreError> {
        Ok(Overview {
            directory: Directory::open(store)?,
            edited: marked(store, EDITED, &log::EDITS)?,
            waiting: marked(store, WAITING, &[log::WAIT])?,
            titles: titles::read(store.notes(titles::TITLES)?),
            tool_uses: ToolUses::read(store.notes(tool_use::TOOLS)?),
        })
    }

    /// Only the edited conversations.
    pub fn read_edited(store: &dyn Store) -> Result<Overview, StoreError> {
        let edited = marked(store, EDITED, &log::EDITS)?;
        Ok(Overview { directory: Directory::open_some(store, &edited)?, edited, ..Overview::default() })
    }

    /// Only the edited conversations, while the store is out of reach.
    pub fn of_edited(cards: Vec<Card>) -> Overview {
        let edited = cards.iter().map(|card| card.id.clone()).collect();
        let mut overview = Overview { edited, ..Overview::default() };
        cards.into_iter().for_each(|card| overview.directory.put(card));
        overview
    }
}

/// How much memory knows.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All conversations, or all that can be known without the store.
    #[default]
    All,
    /// The edited ones. Nothing is being read yet.
    Edited,
    /// The edited ones, while the others are read.
    Reading,
}

/// Lets those who ask about any conversation wait until all are known.
#[derive(Debug, Default)]
pub(crate) struct Knowledge {
    extent: Mutex<Extent>,
    changed: Condvar,
}

impl Knowledge {
    pub fn of_edited() -> Knowledge {
        Knowledge { extent: Mutex::new(Extent::Edited), ..Knowledge::default() }
    }

    /// Waits while conversations are read, at most for `most`.
    pub fn wait(&self, most: Duration) {
        let extent = lock(&self.extent);
        if *extent == Extent::Reading {
            drop(self.changed.wait_timeout_while(extent, most, |extent| *extent == Extent::Reading));
        }
    }

    /// Whether the others are to be read now.
    fn begin(&self) -> bool {
        let mut extent = lock(&self.extent);
        let begins = *extent == Extent::Edited;
        if begins {
            *extent = Extent::Reading;
        }
        begins
    }

    fn complete(&self) {
        *lock(&self.extent) = Extent::All;
        self.changed.notify_all();
    }

    fn is_complete(&self) -> bool {
        *lock(&self.extent) == Extent::All
    }
}

impl Service {
    /// Reads the conversations that [`Service::open_early`] left out, on a thread of its own.
    pub(crate) fn read_others(self: &Arc<Self>) -> std::io::Result<()> {
        if !self.parts.knowledge.begin() {
            return Ok(());
        }
        let service = Arc::downgrade(self);
        std::thread::Builder::new().name("ctx-overview".into()).spawn(move || read_others(&service)).map(drop)
    }
}

fn read_others(service: &Weak<Service>) {
    while let Some(service) = service.upgrade() {
        let parts = &service.parts;
        // After an outage everything was read by other means.
        if parts.knowledge.is_complete() {
            return;
        }
        match Overview::read(&*parts.store) {
            // An edit of another daemon that arrived meanwhile may be newer than what was read.
            Ok(overview) => return parts.take_overview(overview, |directory, id| directory.changes(id) > 0),
            Err(error) => tracing::warn!(%error, "the conversations cannot be listed yet"),
        }
        drop(service);
        std::thread::sleep(RETRY);
    }
}

impl Parts {
    /// Takes what the store knows into account, but for conversations of which memory is newer.
    pub(crate) fn take_overview(&self, overview: Overview, is_newer: impl Fn(&Directory, &str) -> bool) {
        let Overview { directory, edited, waiting, titles, tool_uses } = overview;
        *lock(&self.titles) = titles;
        *lock(&self.tool_uses) = tool_uses;
        for card in directory.into_cards() {
            let mut known = lock(&self.directory);
            let edited = edited.contains(&card.id);
            let is_newer = is_newer(&known, &card.id);
            // One in memory may have been edited here a moment ago.
            if !is_newer && (edited || !known.is_loaded(&card.id)) {
                self.held.mark(&card, edited);
            }
            let newest = known.card(&card.id).filter(|known| is_newer || known.last_activity > card.last_activity);
            let newest = newest.cloned();
            // What is gone by now stays so.
            if newest.is_some() || !is_newer {
                known.put(newest.unwrap_or(card));
            }
        }
        waiting.iter().for_each(|id| self.alarm.set(id, Some(0)));
        self.knowledge.complete();
    }
}

/// The conversations whose mark says yes. If a mark is lost, a record of one of these kinds counts as yes.
fn marked(store: &dyn Store, name: &str, kinds: &[&str]) -> Result<HashSet<String>, StoreError> {
    let marks: HashMap<String, bool> = store.notes(name)?.into_iter().map(|(id, body)| (id, body != NO)).collect();
    let logged = store.conversations_with(kinds)?.into_iter().filter(|id| !marks.contains_key(id));
    let yes = marks.iter().filter(|(_, is_so)| **is_so).map(|(id, _)| id.clone());
    Ok(yes.chain(logged).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_store::MemoryStore;

    fn card(id: &str, last_activity: u64) -> Card {
        Card { id: id.into(), session: Some("s".into()), last_activity, ..Card::default() }
    }

    fn overview(cards: &[Card], edited: &[&str]) -> Overview {
        let edited = edited.iter().map(|id| (*id).to_owned()).collect();
        let mut overview = Overview { edited, ..Overview::default() };
        cards.iter().for_each(|card| overview.directory.put(card.clone()));
        overview
    }

    #[test]
    fn what_other_daemons_changed_while_it_was_read_stays() {
        let service = Service::open_early(Arc::new(MemoryStore::new())).expect("a service");
        let parts = &service.parts;
        assert!(parts.knowledge.begin() && !parts.knowledge.begin());
        // Meanwhile one was edited and one was purged.
        lock(&parts.directory).change("edited");
        parts.held.mark(&card("edited", 20), true);
        lock(&parts.directory).put(card("edited", 20));
        lock(&parts.directory).change("purged");
        let read = overview(&[card("edited", 10), card("purged", 11), card("other", 30)], &["other"]);
        parts.take_overview(read, |directory, id| directory.changes(id) > 0);
        assert!(parts.knowledge.is_complete());
        let directory = lock(&parts.directory);
        let known: Vec<_> = directory.cards().map(|card| (card.id.as_str(), card.last_activity)).collect();
        assert_eq!(known, [("edited", 20), ("other", 30)]);
        assert!(parts.held.is_edited("edited") && parts.held.is_edited("other") && !parts.held.is_edited("purged"));
    }

    #[test]
    fn a_session_is_its_most_recent_conversation_whatever_the_ids() {
        let service = Service::open(Arc::new(MemoryStore::new())).expect("a service");
        lock(&service.parts.directory).put(card("z", 1));
        service.parts.take_overview(overview(&[card("z", 1), card("a", 2)], &[]), |_, _| false);
        assert_eq!(lock(&service.parts.directory).id_of_session("s", None), "a");
    }

    #[test]
    fn nobody_waits_before_something_is_read_or_for_ever() {
        let knowledge = Knowledge::of_edited();
        let waited = |most| {
            let began = std::time::Instant::now();
            knowledge.wait(most);
            began.elapsed()
        };
        assert!(waited(Duration::from_secs(60)) < Duration::from_secs(1));
        knowledge.begin();
        assert!(waited(Duration::from_millis(30)) >= Duration::from_millis(30));
        knowledge.complete();
        assert!(waited(Duration::from_secs(60)) < Duration::from_secs(1));
    }
}
