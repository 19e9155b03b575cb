//! Which conversation is meant: by the client's ids, else by the longest known path.
//!
//! Every listed conversation has a card, a small projection kept with the store so that nothing
//! has to be replayed at start. The conversations themselves are loaded when somebody asks.

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

/// What conversations may take in memory while they are at work; beyond this the longest unused one goes.
/// Many agents at once with long histories fit in: one that goes and comes back with every request costs
/// more than all the others.
const MEMORY: usize = 384 * 1024 * 1024;

/// How many may be in memory, however small: beside its bytes each one costs what is known of its messages, and a
/// small one is quickly read again.
const MANY: usize = 256;

/// One that takes more than this alone goes after a while without a request, also while others are at work.
const GIANT: usize = 64 * 1024 * 1024;
const A_WHILE: Duration = Duration::from_secs(60);

/// One that takes more than this is freed on a thread of its own.
const LONG: usize = 4 * 1024 * 1024;

/// What they may take when nothing has happened for a while.
const RESTING: usize = 16 * 1024 * 1024;

/// How many conversations that begin alike are remembered for it. A script may ask the same thing
/// for ever, each time anew.
const ALIKE: usize = 32;

/// How many of the conversations in memory count as being at work.
const AT_WORK: u64 = 256;

/// Conversations by how they begin and whether their client names them.
type Alike = Index<(String, bool), ALIKE>;

#[derive(Default)]
pub struct Directory {
    cards: BTreeMap<String, Card>,
    by_session: Index<(String, Option<String>), 1>,
    /// The same for sessions that moved to another format.
    by_wire: Index<(String, Option<String>, WireId), 1>,
    by_start: Alike,
    by_opening: Alike,
    /// Ids that name a conversation, or soon will.
    given: HashSet<String>,
    loaded: HashMap<String, LoadedConversation>,
    clock: u64,
    dropped: u64,
    /// How many times a step of each conversation, and of all, could not be stored.
    losses: HashMap<String, u64>,
    lost_all: u64,
    attic: Attic,
    /// No card is later than this.
    latest: u64,
    /// Conversations whose newest requests could not be stored.
    incomplete: HashSet<String>,
}

/// A conversation in memory.
struct LoadedConversation {
    shared: SharedConversation,
    /// When it was asked for last, in counts of the directory's clock.
    used: u64,
    last: Instant,
    weight: usize,
}

/// Conversations that were unloaded and are not freed yet.
#[derive(Default)]
pub struct Attic(Vec<LoadedConversation>);

impl Attic {
    /// Frees them. Freeing a long conversation takes longer than a held request should wait, so it runs on a thread of
    /// its own.
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
        // A card that is lost is written anew from the log.
        for row in rows.iter().filter(|row| !known.contains(&row.id)) {
            if let Some(conversation) = Conversation::load(&row.id, store)?
                && !conversation.tree.is_empty()
            {
                cards.push(ctx_engine::card::of(&conversation));
            }
        }
        activity::correct(&mut cards, &rows, crate::clock::now());
        cards.sort_by_key(|card| card.last_activity);
        cards.into_iter().for_each(|card| directory.put(card));
        Ok(directory)
    }

    pub fn cards(&self) -> impl Iterator<Item = &Card> {
        self.cards.values()
    }

    pub fn card(&self, id: &str) -> Option<&Card> {
        self.cards.get(id)
    }

    /// The conversation that people most likely mean: the newest main activity.
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

    /// Costs as much as what is known of this conversation, however many others there are.
    pub fn forget(&mut self, id: &str) {
        self.unload(id);
        self.cards.remove(id);
        self.given.remove(id);
        self.losses.remove(id);
        self.incomplete.remove(id);
        self.by_session.forget(id);
        self.by_wire.forget(id);
        self.by_start.forget(id);
        self.by_opening.forget(id);
    }

    /// Drops a conversation from memory only; it is replayed when it is needed again. It goes into the attic: to free
    /// a long one takes longer than others should wait for the directory.
    pub fn unload(&mut self, id: &str) {
        self.attic.0.extend(self.loaded.remove(id));
        self.dropped += 1;
    }

    pub fn unload_all(&mut self) {
        self.attic.0.extend(self.loaded.drain().map(|(_, loaded)| loaded));
        self.dropped += 1;
    }

    /// A step of this conversation could not be stored: what was built on it does not count any more.
    pub fn lose(&mut self, id: &str) {
        *self.losses.entry(id.to_owned()).or_default() += 1;
        self.incomplete.insert(id.to_owned());
        self.unload(id);
    }

    pub fn lose_all(&mut self) {
        self.lost_all += 1;
        self.unload_all();
    }

    /// A request of it was stored again, and says all that was lost.
    pub fn complete(&mut self, id: &str) {
        self.incomplete.remove(id);
    }

    pub fn is_incomplete(&self, id: &str) -> bool {
        self.incomplete.contains(id)
    }

    /// Grows with every loss, see [`Conversation::losses`].
    pub fn losses(&self, id: &str) -> u64 {
        self.lost_all + self.losses.get(id).copied().unwrap_or(0)
    }

    /// What was unloaded, to be freed after the directory is let go.
    #[must_use]
    pub fn empty_attic(&mut self) -> Attic {
        std::mem::take(&mut self.attic)
    }

    /// Whether this is still the conversation in memory: it was neither forgotten nor replaced.
    pub fn is_current(&self, id: &str, shared: &SharedConversation) -> bool {
        self.loaded.get(id).is_some_and(|loaded| Arc::ptr_eq(&loaded.shared, shared))
    }

    /// How many times something was dropped from memory: what was read before that may be old.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn is_loaded(&self, id: &str) -> bool {
        self.loaded.contains_key(id)
    }

    /// Whether a session, or an agent of it, speaks right now.
    pub fn is_live(&self, session: &str, agent: Option<&str>) -> bool {
        let id = self.by_session.newest(&(session.to_owned(), agent.map(str::to_owned)));
        id.is_some_and(|id| self.loaded.contains_key(id))
    }

    /// The place of a conversation in memory; an empty one where it is not loaded.
    pub fn place(&mut self, id: &str) -> SharedConversation {
        self.touch(id).unwrap_or_else(|| self.keep(Conversation::new(id.to_owned(), OpeningRecord::unknown())))
    }

    /// Keeps a place for a conversation that is not there yet, until [`Directory::release`].
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

    /// The id of a session's conversation, or of one of its agents'.
    pub fn id_of_session(&mut self, session: &str, agent: Option<&str>) -> String {
        let key = (session.to_owned(), agent.map(str::to_owned));
        if let Some(id) = self.by_session.newest(&key) {
            return id.clone();
        }
        let id = self.free_id(&[session, agent.unwrap_or_default()]);
        self.by_session.put(key, &id);
        id
    }

    /// All conversations of a session, or of one of its agents, the most recently active first.
    pub fn of_session(&self, (session, agent): (&str, Option<&str>)) -> Vec<String> {
        let is_own = |card: &&Card| card.session.as_deref() == Some(session) && card.agent.as_deref() == agent;
        let mut cards: Vec<&Card> = self.cards.values().filter(is_own).collect();
        cards.sort_by_key(|card| std::cmp::Reverse(card.last_activity));
        cards.into_iter().map(|card| card.id.clone()).collect()
    }

    /// The id of a session's conversation in another format than the one that it has.
    pub fn id_of_wire(&mut self, (session, agent): (&str, Option<&str>), wire: WireId) -> String {
        let key = (session.to_owned(), agent.map(str::to_owned), wire);
        if let Some(id) = self.by_wire.newest(&key) {
            return id.clone();
        }
        let id = self.free_id(&[session, agent.unwrap_or_default(), wire.name()]);
        self.by_wire.put(key, &id);
        id
    }

    /// A short id that no other conversation has.
    pub fn free_id(&mut self, seed: &[&str]) -> String {
        let key = Key::of(seed.iter().map(|part| part.as_bytes())).to_string();
        let mut length = 6;
        while length < key.len() && self.given.contains(&format!("c{}", &key[..length])) {
            length += 2;
        }
        let id = format!("c{}", &key[..length]);
        self.given.insert(id.clone());
        id
    }

    /// A conversation that is in memory.
    pub fn touch(&mut self, id: &str) -> Option<SharedConversation> {
        self.clock += 1;
        let clock = self.clock;
        self.loaded.get_mut(id).map(|loaded| {
            loaded.used = clock;
            loaded.last = Instant::now();
            loaded.shared.clone()
        })
    }

    /// The conversations in memory that were at work lately.
    pub fn at_work(&self) -> Vec<SharedConversation> {
        let lately = |loaded: &&LoadedConversation| loaded.used + AT_WORK > self.clock;
        self.loaded.values().filter(lately).map(|loaded| loaded.shared.clone()).collect()
    }

    /// Keeps a conversation in memory. One that somebody else has put there meanwhile wins.
    pub fn keep(&mut self, mut conversation: Conversation) -> SharedConversation {
        if let Some(found) = self.touch(&conversation.id) {
            return found;
        }
        conversation.log.losses = self.losses(&conversation.id);
        let (id, weight) = (conversation.id.clone(), conversation.weight());
        let shared: SharedConversation = Arc::new(Mutex::new(conversation));
        self.loaded
            .insert(id, LoadedConversation { shared: shared.clone(), used: self.clock, last: Instant::now(), weight });
        shared
    }

    /// Notes how heavy a conversation has become, and makes room if it is too much.
    pub fn weigh(&mut self, id: &str, weight: usize) {
        if let Some(loaded) = self.loaded.get_mut(id) {
            loaded.weight = weight;
        }
        self.make_room(MEMORY, Some(id));
        self.drop_giants(A_WHILE);
    }

    /// Gives back the memory of giants that nobody has asked for in a while.
    fn drop_giants(&mut self, after: Duration) {
        let is_idle =
            |loaded: &LoadedConversation| loaded.last.elapsed() > after && Arc::strong_count(&loaded.shared) == 1;
        let giants = self.loaded.iter().filter(|(_, loaded)| loaded.weight > GIANT && is_idle(loaded));
        let giants: Vec<String> = giants.map(|(id, _)| id.clone()).collect();
        giants.iter().for_each(|id| self.unload(id));
    }

    /// Nothing has happened for a while: most of the memory is given back.
    pub fn rest(&mut self) {
        self.make_room(RESTING, None);
    }

    /// Whether there is something to give back.
    pub fn is_heavy(&self) -> bool {
        self.weight() > RESTING
    }

    fn weight(&self) -> usize {
        self.loaded.values().map(|loaded| loaded.weight).sum()
    }

    fn make_room(&mut self, most: usize, but: Option<&str>) {
        let mut total = self.weight();
        while total > most || self.loaded.len() > MANY {
            // One that a thread works on stays: its newest step may not be with the writer yet.
            let is_free = |loaded: &LoadedConversation| Arc::strong_count(&loaded.shared) == 1;
            let others = self.loaded.iter().filter(|(id, loaded)| Some(id.as_str()) != but && is_free(loaded));
            let oldest = others.min_by_key(|(_, loaded)| loaded.used);
            let Some((oldest, weight)) = oldest.map(|(id, loaded)| (id.clone(), loaded.weight)) else { return };
            self.unload(&oldest);
            total -= weight;
        }
    }

    /// Conversations of clients that name no session, the most recently active first.
    pub fn nameless(&self, most: usize) -> Vec<String> {
        let mut cards: Vec<&Card> = self.cards.values().filter(|card| card.session.is_none()).collect();
        cards.sort_by(|one, other| other.last_activity.cmp(&one.last_activity).then_with(|| one.id.cmp(&other.id)));
        cards.into_iter().take(most).map(|card| card.id.clone()).collect()
    }

    /// Conversations whose path begins like this, the most recently active first. `named`: of
    /// clients that name their session, or of those that do not.
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
    /// A clock may have been ahead. Nothing is active later than now, and nothing was active later than a
    /// conversation that is active right now.
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
