//! Finds conversations: by the client's ids, otherwise by the longest known path.
//!
//! Every listed conversation has a card, a small projection kept with the store, so nothing is replayed at start.
//! Conversations are loaded on demand.

mod index;

use crate::activity;
use ctx_core::content::WireId;
use ctx_core::{Class, Key};
use ctx_engine::card::{Beginning, CARD, Card};
use ctx_engine::conversation::Conversation;
use ctx_engine::log::OpeningRecord;
use ctx_store::{Reader, StoreError};
use index::Index;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub type SharedConversation = Arc<Mutex<Conversation>>;

/// Memory for conversations during work; beyond this the least recently used one is unloaded. Many agents with long
/// histories fit in: one that is reloaded with every request costs more than all the others.
const MEMORY: usize = 384 * 1024 * 1024;

/// The number of conversations in memory: each costs more than its bytes, and a small one is quickly reloaded.
const MANY: usize = 256;

/// A larger one is unloaded after a while without a request, even while others are at work.
const GIANT: usize = 64 * 1024 * 1024;
const A_WHILE: Duration = Duration::from_secs(60);

/// A larger one is freed on a separate thread.
const LONG: usize = 4 * 1024 * 1024;

/// The digits of an id that is unique without asking others.
const LONG_ID: usize = 16;

/// Memory for conversations when idle.
const RESTING: usize = 16 * 1024 * 1024;

/// The number of remembered conversations per beginning. A script may ask the same thing forever, each time anew.
const ALIKE: usize = 32;

/// The number of loaded conversations that count as at work.
const AT_WORK: u64 = 256;

/// Conversations by their beginning, and whether their client names a session.
type Alike = Index<(String, bool), ALIKE>;

#[derive(Default)]
pub struct Directory {
    cards: BTreeMap<String, Card>,
    by_session: Index<(String, Option<String>), 1>,
    /// The same for sessions that moved to another format.
    by_wire: Index<(String, Option<String>, WireId), 1>,
    by_start: Alike,
    by_opening: Alike,
    /// Ids in use or reserved.
    given: HashSet<String>,
    /// Other daemons give ids too, so short ones might be given twice.
    has_long_ids: bool,
    loaded: HashMap<String, LoadedConversation>,
    clock: u64,
    dropped: u64,
    /// The number of steps that could not be stored, per conversation and in total.
    losses: HashMap<String, u64>,
    lost_all: u64,
    /// The number of edits by other daemons, per conversation.
    changes: HashMap<String, u64>,
    attic: Attic,
    /// No card is later than this.
    latest: u64,
    /// Conversations whose newest requests could not be stored.
    incomplete: HashSet<String>,
}

struct LoadedConversation {
    shared: SharedConversation,
    /// The time of its last use, in ticks of the directory.
    used: u64,
    last: Instant,
    weight: usize,
}

/// Unloaded conversations that are not freed yet.
#[derive(Default)]
pub struct Attic(Vec<LoadedConversation>);

impl Attic {
    /// Frees them, on a separate thread: freeing a long conversation takes longer than a held request should wait.
    pub fn free(self) {
        if self.0.iter().all(|loaded| loaded.weight < LONG) {
            return;
        }
        let freeing = std::thread::Builder::new().name("ctx-freeing".into()).spawn(move || {
            crate::threads::step_back();
            drop(self);
        });
        if let Err(error) = freeing {
            tracing::debug!(%error, "cannot start a thread; freed the memory at once");
        }
    }
}

impl Directory {
    pub fn open(store: &dyn Reader) -> Result<Directory, StoreError> {
        let mut directory = Directory::default();
        let notes = store.notes(CARD)?;
        let mut cards: Vec<Card> = notes.iter().filter_map(|(_, body)| serde_json::from_slice(body).ok()).collect();
        let rows = store.conversations()?;
        let known: HashSet<String> = cards.iter().map(|card| card.id.clone()).collect();
        cards.extend(rebuilt(store, rows.iter().map(|row| &row.id).filter(|id| !known.contains(*id)))?);
        activity::correct(&mut cards, &rows, crate::clock::now());
        cards.sort_by_key(|card| card.last_activity);
        cards.into_iter().for_each(|card| directory.put(card));
        Ok(directory)
    }

    /// Only these conversations.
    pub fn open_some(store: &dyn Reader, ids: &HashSet<String>) -> Result<Directory, StoreError> {
        let mut directory = Directory::default();
        let names: Vec<&str> = ids.iter().map(String::as_str).collect();
        let notes = store.notes_among(CARD, &names)?;
        let mut cards: Vec<Card> = notes.iter().filter_map(|(_, body)| serde_json::from_slice(body).ok()).collect();
        let known: HashSet<String> = cards.iter().map(|card| card.id.clone()).collect();
        cards.extend(rebuilt(store, ids.difference(&known))?);
        cards.sort_by_key(|card| card.last_activity);
        cards.into_iter().for_each(|card| directory.put(card));
        Ok(directory)
    }

    pub fn cards(&self) -> impl Iterator<Item = &Card> {
        self.cards.values()
    }

    /// Least recently active first.
    pub fn into_cards(self) -> Vec<Card> {
        let mut cards: Vec<Card> = self.cards.into_values().collect();
        cards.sort_by_key(|card| card.last_activity);
        cards
    }

    pub fn card(&self, id: &str) -> Option<&Card> {
        self.cards.get(id)
    }

    /// The conversation that `active` means: the main conversation with the newest activity.
    pub fn active(&self) -> Option<&Card> {
        let mains = self.cards.values().filter(|card| card.class == Class::Main.name());
        mains
            .max_by_key(|card| card.last_activity)
            .or_else(|| self.cards.values().max_by_key(|card| card.last_activity))
    }

    pub fn put(&mut self, mut card: Card) {
        self.correct_clock(&mut card, crate::clock::now());
        if let Some(session) = &card.session {
            self.by_session.put((session.clone(), card.agent.clone()), &card.id);
        }
        for (map, key) in [(&mut self.by_start, &card.start), (&mut self.by_opening, &card.opening)] {
            if let Some(key) = key {
                map.put((key.clone(), card.session.is_some()), &card.id);
            }
        }
        self.given.insert(card.id.clone());
        self.cards.insert(card.id.clone(), card);
    }

    /// The cost does not depend on the number of other conversations.
    pub fn forget(&mut self, id: &str) {
        self.unload(id);
        self.cards.remove(id);
        self.given.remove(id);
        self.incomplete.remove(id);
        self.by_session.forget(id);
        self.by_wire.forget(id);
        self.by_start.forget(id);
        self.by_opening.forget(id);
    }

    /// Drops a conversation from memory; it is replayed on demand. It goes into the attic: freeing a long one takes
    /// longer than others should wait for the directory.
    pub fn unload(&mut self, id: &str) {
        self.attic.0.extend(self.loaded.remove(id));
        self.dropped += 1;
    }

    pub fn unload_all(&mut self) {
        self.attic.0.extend(self.loaded.drain().map(|(_, loaded)| loaded));
        self.dropped += 1;
    }

    /// Records that a step of this conversation could not be stored: state built on it is invalid.
    pub fn lose(&mut self, id: &str) {
        *self.losses.entry(id.to_owned()).or_default() += 1;
        self.incomplete.insert(id.to_owned());
        self.unload(id);
    }

    /// Records that another daemon has edited this conversation: what was read before is outdated.
    pub fn change(&mut self, id: &str) {
        *self.changes.entry(id.to_owned()).or_default() += 1;
    }

    /// Increases with every edit by another daemon.
    pub fn changes(&self, id: &str) -> u64 {
        self.changes.get(id).copied().unwrap_or(0)
    }

    /// Records that another daemon has continued this conversation: state in memory is outdated.
    pub fn outdate(&mut self, id: &str) {
        *self.losses.entry(id.to_owned()).or_default() += 1;
        self.unload(id);
    }

    pub fn lose_all(&mut self) {
        self.lost_all += 1;
        self.unload_all();
    }

    /// Records that a stored request contains everything that was lost.
    pub fn complete(&mut self, id: &str) {
        self.incomplete.remove(id);
    }

    pub fn is_incomplete(&self, id: &str) -> bool {
        self.incomplete.contains(id)
    }

    /// Increases with every loss, compared with `LogState::losses`.
    pub fn losses(&self, id: &str) -> u64 {
        self.lost_all + self.losses.get(id).copied().unwrap_or(0)
    }

    /// The unloaded conversations, to be freed after the directory is unlocked.
    #[must_use]
    pub fn empty_attic(&mut self) -> Attic {
        std::mem::take(&mut self.attic)
    }

    /// Whether this is still the conversation in memory, neither purged nor replaced.
    pub fn is_current(&self, id: &str, shared: &SharedConversation) -> bool {
        self.loaded.get(id).is_some_and(|loaded| Arc::ptr_eq(&loaded.shared, shared))
    }

    /// Increases with every unloading: content read before may be outdated.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn is_loaded(&self, id: &str) -> bool {
        self.loaded.contains_key(id)
    }

    /// Whether a session, or an agent of it, is active right now.
    pub fn is_live(&self, session: &str, agent: Option<&str>) -> bool {
        let id = self.by_session.newest(&(session.to_owned(), agent.map(str::to_owned)));
        id.is_some_and(|id| self.loaded.contains_key(id))
    }

    /// The place of a conversation in memory; empty if it is not loaded.
    pub fn place(&mut self, id: &str) -> SharedConversation {
        self.touch(id).unwrap_or_else(|| self.keep(Conversation::new(id.to_owned(), OpeningRecord::unknown())))
    }

    /// Reserves a place for a future conversation, until [`Directory::release`].
    pub fn reserve(&mut self, id: &str, whose: Option<(String, Option<String>)>, place: SharedConversation) {
        if let Some(whose) = whose {
            self.by_session.put(whose, id);
        }
        self.given.insert(id.to_owned());
        self.loaded.insert(
            id.to_owned(),
            LoadedConversation { shared: place, used: self.clock, last: Instant::now(), weight: 0 },
        );
    }

    pub fn release(&mut self, id: &str) {
        self.unload(id);
        if !self.cards.contains_key(id) {
            self.given.remove(id);
            self.by_session.forget(id);
        }
    }

    /// The id of the conversation of a session, or of one of its agents.
    pub fn id_of_session(&mut self, session: &str, agent: Option<&str>) -> String {
        let key = (session.to_owned(), agent.map(str::to_owned));
        if let Some(id) = self.by_session.newest(&key) {
            return id.clone();
        }
        let id = self.free_id(&[session, agent.unwrap_or_default()]);
        self.by_session.put(key, &id);
        id
    }

    /// All conversations of a session, or of one of its agents, most recently active first.
    pub fn of_session(&self, (session, agent): (&str, Option<&str>)) -> Vec<String> {
        let is_own = |card: &&Card| card.session.as_deref() == Some(session) && card.agent.as_deref() == agent;
        let mut cards: Vec<&Card> = self.cards.values().filter(is_own).collect();
        cards.sort_by_key(|card| std::cmp::Reverse(card.last_activity));
        cards.into_iter().map(|card| card.id.clone()).collect()
    }

    /// The id of a session's conversation in another format.
    pub fn id_of_wire(&mut self, (session, agent): (&str, Option<&str>), wire: WireId) -> String {
        let key = (session.to_owned(), agent.map(str::to_owned), wire);
        if let Some(id) = self.by_wire.newest(&key) {
            return id.clone();
        }
        let id = self.free_id(&[session, agent.unwrap_or_default(), wire.name()]);
        self.by_wire.put(key, &id);
        id
    }

    /// Makes new ids long enough that no two daemons give the same one to different conversations.
    pub fn use_long_ids(&mut self) {
        self.has_long_ids = true;
    }

    /// A short, unused id.
    pub fn free_id(&mut self, seed: &[&str]) -> String {
        let key = key_of(seed);
        let mut length = if self.has_long_ids { LONG_ID } else { 6 };
        while length < key.len() && self.given.contains(&format!("c{}", &key[..length])) {
            length += 2;
        }
        let id = format!("c{}", &key[..length]);
        self.given.insert(id.clone());
        id
    }

    /// The id that every daemon on a shared store gives to the conversation of a session.
    pub fn long_id(session: &str) -> String {
        format!("c{}", &key_of(&[session, ""])[..LONG_ID])
    }

    pub fn touch(&mut self, id: &str) -> Option<SharedConversation> {
        self.clock += 1;
        let clock = self.clock;
        self.loaded.get_mut(id).map(|loaded| {
            loaded.used = clock;
            loaded.last = Instant::now();
            loaded.shared.clone()
        })
    }

    /// The recently active conversations in memory.
    pub fn at_work(&self) -> Vec<SharedConversation> {
        let lately = |loaded: &&LoadedConversation| loaded.used + AT_WORK > self.clock;
        self.loaded.values().filter(lately).map(|loaded| loaded.shared.clone()).collect()
    }

    /// Keeps a conversation in memory. One that another thread has loaded meanwhile wins.
    pub fn keep(&mut self, mut conversation: Conversation) -> SharedConversation {
        if let Some(found) = self.touch(conversation.id()) {
            return found;
        }
        conversation.log.losses = self.losses(conversation.id());
        let (id, weight) = (conversation.id().to_owned(), conversation.weight());
        let shared: SharedConversation = Arc::new(Mutex::new(conversation));
        self.loaded
            .insert(id, LoadedConversation { shared: shared.clone(), used: self.clock, last: Instant::now(), weight });
        shared
    }

    /// Records the size of a conversation, and frees memory if necessary.
    pub fn weigh(&mut self, id: &str, weight: usize) {
        if let Some(loaded) = self.loaded.get_mut(id) {
            loaded.weight = weight;
        }
        self.make_room(MEMORY, Some(id));
        self.drop_giants(A_WHILE);
    }

    /// Unloads giants that were not used for a while.
    fn drop_giants(&mut self, after: Duration) {
        let is_idle =
            |loaded: &LoadedConversation| loaded.last.elapsed() > after && Arc::strong_count(&loaded.shared) == 1;
        let giants = self.loaded.iter().filter(|(_, loaded)| loaded.weight > GIANT && is_idle(loaded));
        let giants: Vec<String> = giants.map(|(id, _)| id.clone()).collect();
        giants.iter().for_each(|id| self.unload(id));
    }

    /// Unloads most conversations when idle.
    pub fn rest(&mut self) {
        self.make_room(RESTING, None);
    }

    /// Whether there is memory to free.
    pub fn is_heavy(&self) -> bool {
        self.weight() > RESTING
    }

    /// The number of conversations in memory, and their bytes.
    pub fn loaded(&self) -> (usize, usize) {
        (self.loaded.len(), self.weight())
    }

    fn weight(&self) -> usize {
        self.loaded.values().map(|loaded| loaded.weight).sum()
    }

    fn make_room(&mut self, most: usize, but: Option<&str>) {
        let mut total = self.weight();
        while total > most || self.loaded.len() > MANY {
            // One in use by a thread stays: its newest step may not have reached the writer yet.
            let is_free = |loaded: &LoadedConversation| Arc::strong_count(&loaded.shared) == 1;
            let others = self.loaded.iter().filter(|(id, loaded)| Some(id.as_str()) != but && is_free(loaded));
            let oldest = others.min_by_key(|(_, loaded)| loaded.used);
            let Some((oldest, weight)) = oldest.map(|(id, loaded)| (id.clone(), loaded.weight)) else { return };
            self.unload(&oldest);
            total -= weight;
        }
    }

    /// Most recently active first. `named`: whether their clients name a session.
    pub fn recent(&self, named: bool, most: usize) -> Vec<String> {
        let mut cards: Vec<&Card> = self.cards.values().filter(|card| card.session.is_some() == named).collect();
        cards.sort_by(|one, other| other.last_activity.cmp(&one.last_activity).then_with(|| one.id.cmp(&other.id)));
        cards.into_iter().take(most).map(|card| card.id.clone()).collect()
    }

    /// Conversations with this beginning, most recently active first. `named`: whether their clients name a session.
    pub fn beginning_with(&self, path: &Beginning, named: bool, most: usize) -> Vec<String> {
        let find = |map: &Alike, key: &Option<String>| {
            key.as_ref().map(|key| map.all(&(key.clone(), named)).to_vec()).unwrap_or_default()
        };
        let mut ids = find(&self.by_opening, &path.opening);
        ids.extend(find(&self.by_start, &path.start));
        let recent = |id: &str| self.cards.get(id).map_or(0, |card| card.last_activity);
        ids.sort_by(|one, other| recent(other).cmp(&recent(one)).then_with(|| one.cmp(other)));
        ids.dedup();
        ids.truncate(most);
        ids
    }
}

impl Directory {
    /// A clock may have been ahead. No activity is later than now, or than that of a conversation active right now.
    fn correct_clock(&mut self, card: &mut Card, now: u64) {
        if card.last_activity > now + activity::SLACK {
            card.last_activity = self.cards.get(&card.id).map_or(now, |known| known.last_activity.min(now));
        }
        let is_now = card.last_activity + activity::SLACK > now;
        let latest = card.last_activity + activity::SLACK;
        if is_now && self.latest > latest {
            let ahead = self.cards.values_mut().filter(|other| other.last_activity > latest);
            ahead.for_each(|other| other.last_activity = card.last_activity - 1);
            self.latest = latest;
        }
        self.latest = self.latest.max(card.last_activity);
    }
}

/// Lost cards, from the log.
fn rebuilt<'i>(store: &dyn Reader, ids: impl Iterator<Item = &'i String>) -> Result<Vec<Card>, StoreError> {
    let mut cards = Vec::new();
    for id in ids {
        let conversation = Conversation::load(id, store)?;
        let conversation = conversation.filter(|conversation| !conversation.messages.tree.is_empty());
        cards.extend(conversation.map(|conversation| ctx_engine::card::of(&conversation)));
    }
    Ok(cards)
}

fn key_of(seed: &[&str]) -> String {
    Key::of(seed.iter().map(|part| part.as_bytes())).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_giant_goes_after_a_while_unless_a_thread_works_on_it() {
        let mut directory = Directory::default();
        let keep = |directory: &mut Directory, id: &str, weight| {
            let shared = directory.keep(Conversation::new(id.to_owned(), OpeningRecord::unknown()));
            directory.weigh(id, weight);
            shared
        };
        drop(keep(&mut directory, "small", GIANT / 2));
        drop(keep(&mut directory, "giant", GIANT + 1));
        let busy = keep(&mut directory, "busy", GIANT + 1);
        directory.drop_giants(A_WHILE);
        assert!(directory.is_loaded("giant"), "it was asked for just now");
        directory.drop_giants(Duration::ZERO);
        assert!(!directory.is_loaded("giant") && directory.is_loaded("small"));
        assert!(directory.is_current("busy", &busy));
        assert_eq!(directory.empty_attic().0.len(), 1, "it is freed by whoever let it go");
    }

    /// Two passes over all of them are linear. A pass for every few of them would take hundreds of times as long.
    #[test]
    fn forgetting_costs_the_same_however_many_others_there_are() {
        const MANY: usize = 20_000;
        let name = |number: usize| Some(format!("{number}"));
        let mut directory = Directory::default();
        let begun = Instant::now();
        for number in 0..MANY {
            let (start, opening, session) = (name(number), name(number), name(number));
            directory.put(Card { id: format!("c{number}"), session, start, opening, ..Card::default() });
        }
        let putting = begun.elapsed();
        let begun = Instant::now();
        (0..MANY).for_each(|number| directory.forget(&format!("c{number}")));
        assert!(begun.elapsed() < putting * 10, "{putting:?} to put them, {:?} to forget them", begun.elapsed());
        assert!(directory.active().is_none() && directory.given.is_empty());
        assert_eq!(directory.by_session.newest(&("7".into(), None)), None);
        let path = Beginning { start: name(7), opening: name(7) };
        assert!(directory.beginning_with(&path, true, 9).is_empty());
    }
}
