//! Several daemons on one store: takes the edits of the others into account, and waits until they know ours.
//!
//! Requests are composed from memory and never wait for this. An edit is acknowledged when every other daemon has it in
//! memory, or has no lease any more. Turns that passed elsewhere are not needed to compose: they only spare a conflict.

use crate::directory::Directory;
use crate::overview::Overview;
use crate::parts::Parts;
use crate::service::Service;
use crate::threads::lock;
use ctx_api::edit::EditResult;
use ctx_core::ErrorCode;
use ctx_engine::card::{CARD, Card};
use ctx_engine::conversation::waiting::WAITING;
use ctx_engine::{EDITED, NO, Refusal};
use ctx_store::{Absent, News, Replica, StoreError};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The longest pause between two beats. A notification ends it.
const BEAT: Duration = Duration::from_millis(250);
/// The pause after a failed beat.
const RETRY: Duration = Duration::from_millis(100);
/// The longest wait for steps of a conversation that is read again.
const SETTLE: Duration = Duration::from_millis(500);
/// Attempts at an edit that conflicts with those of other daemons.
const TRIES: usize = 5;

/// Conversations that grew elsewhere, with their versions.
type Growth = Vec<(String, u64)>;

impl Service {
    /// Starts to follow the other daemons on the store, if there can be any.
    pub(crate) fn follow_replicas(self: &Arc<Self>) -> std::io::Result<()> {
        let Some(replica) = self.parts.replica.clone() else { return Ok(()) };
        // Edits that were announced since the overview was read: no request may pass before they are in effect.
        let news = replica.catch_up();
        if !news.edited.is_empty() {
            self.parts.take_news(&News { is_incomplete: false, ..news }).map_err(std::io::Error::other)?;
        }
        let (send, receive) = channel();
        let (edits, growth) = (Arc::downgrade(self), Arc::downgrade(self));
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        thread("ctx-replica").spawn(move || follow_edits(&edits, &*replica, &send))?;
        thread("ctx-growth").spawn(move || follow_growth(&growth, &receive))?;
        self.read_others()
    }
}

/// Polls, applies and beats until the service ends.
fn follow_edits(service: &Weak<Service>, replica: &dyn Replica, growth: &Sender<Growth>) {
    let mut is_away = false;
    loop {
        let news = replica.poll(BEAT);
        let Some(service) = service.upgrade() else { return };
        let taken = news.and_then(|news| {
            service.parts.take_news(&news)?;
            replica.beat()?;
            service.parts.held.set_outdated(false);
            Ok(news.grown)
        });
        if taken.is_err() && replica.is_outdated() {
            service.parts.forget_all();
        }
        drop(service);
        match taken {
            Ok(grown) => {
                if std::mem::replace(&mut is_away, false) {
                    tracing::info!("the database is back, and its edits are in effect");
                }
                let _ = growth.send(grown);
            }
            Err(error) => {
                if !std::mem::replace(&mut is_away, true) {
                    tracing::warn!(%error, "the edits of other daemons cannot be followed");
                }
                std::thread::sleep(RETRY);
            }
        }
    }
}

fn follow_growth(service: &Weak<Service>, growth: &Receiver<Growth>) {
    crate::threads::step_back();
    for grown in growth {
        let Some(service) = service.upgrade() else { return };
        service.parts.wait_until_known();
        let is_new = !grown.is_empty();
        for (id, version) in grown {
            if let Err(error) = service.parts.take_growth(&id, version) {
                tracing::debug!(%error, conversation = %id, "could not follow a conversation; its next request does");
            }
        }
        if is_new {
            lock(&service.parts.growth).retain(|listener| listener());
        }
    }
}

impl Parts {
    /// Takes announced edits into account. After an error nothing may be acknowledged.
    fn take_news(&self, news: &News) -> Result<(), StoreError> {
        if news.is_incomplete {
            self.read_all()?;
            self.keep_held();
            return Ok(());
        }
        for id in &news.edited {
            if let Err(error) = self.take_edit(id) {
                // The copy in memory is outdated: a request must read it again or be withheld.
                let card = lock(&self.directory).card(id).cloned();
                card.iter().for_each(|card| self.held.mark(card, true));
                self.with_directory(|directory| directory.unload(id));
                return Err(error);
            }
        }
        if !news.edited.is_empty() {
            self.keep_held();
        }
        Ok(())
    }

    /// Cut off for too long, this daemon knows nothing any more: its edits may have been changed, and others made. Until
    /// it has read everything again, no request passes that may be edited.
    fn forget_all(&self) {
        if !self.held.set_outdated(true) {
            tracing::warn!("cut off from the database for too long: requests are refused until it is back");
        }
        self.with_directory(|directory| directory.unload_all());
    }

    /// A daemon that is killed now and starts while the database is away must know which conversations are edited.
    fn keep_held(&self) {
        self.keeper.get().iter().for_each(|keep| keep());
    }

    /// Reads everything again that memory has of the store.
    fn read_all(&self) -> Result<(), StoreError> {
        let overview = Overview::read(&*self.store)?;
        let mut gone: Vec<String> = lock(&self.directory).cards().map(|card| card.id.clone()).collect();
        gone.retain(|id| overview.directory.card(id).is_none() && !self.writer.has_backlog(id));
        self.take_overview(overview, |_, _| false);
        // Only now: until here an edited one was known and withheld.
        self.start_over();
        gone.iter().for_each(|id| self.forget(id));
        Ok(())
    }

    /// The cards of conversations whose requests are held, without any content.
    pub(crate) fn edited_cards(&self) -> Vec<Card> {
        let directory = lock(&self.directory);
        let bare = |card: &Card| Card {
            id: card.id.clone(),
            class: card.class.clone(),
            session: card.session.clone(),
            agent: card.agent.clone(),
            parent: card.parent.clone(),
            edited: true,
            last_activity: card.last_activity,
            start: card.start.clone(),
            opening: card.opening.clone(),
            ..Card::default()
        };
        directory.cards().filter(|card| self.held.is_held(&card.id)).map(bare).collect()
    }

    fn take_edit(&self, id: &str) -> Result<(), StoreError> {
        lock(&self.directory).change(id);
        self.read_marks(id, true)?;
        if lock(&self.directory).is_loaded(id) { self.refresh(id) } else { Ok(()) }
    }

    /// A conversation that other daemons may have continued.
    fn take_growth(&self, id: &str, version: u64) -> Result<(), StoreError> {
        if self.writer.version(id).is_some_and(|known| known >= version) || self.writer.has_backlog(id) {
            return Ok(());
        }
        let is_loaded = lock(&self.directory).is_loaded(id);
        match is_loaded {
            // In memory it is composed even while the database is away.
            true if self.held.is_held(id) => self.refresh(id),
            true => {
                self.with_directory(|directory| directory.unload(id));
                self.read_marks(id, false)
            }
            false => self.read_marks(id, false),
        }
    }

    /// Reads a conversation that another daemon began since the last poll, named by its id or session. Whether there is one.
    pub(crate) fn read_new(&self, name: &str) -> Result<bool, StoreError> {
        if self.replica.is_none() {
            return Ok(false);
        }
        for id in [name.to_owned(), Directory::long_id(name)] {
            if self.store.note(&id, CARD)?.is_some() {
                self.read_marks(&id, false)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the card of a conversation, and whether its requests are held. Only after an edit it may be held no longer.
    fn read_marks(&self, id: &str, is_edit: bool) -> Result<(), StoreError> {
        let mut marks = self.store.notes_of(id, &[CARD, EDITED, WAITING])?.into_iter();
        let mut mark = || marks.next().flatten();
        let (card, edited, waits) = (mark(), mark(), mark());
        let Some(card) = card.and_then(|body| serde_json::from_slice::<Card>(&body).ok()) else {
            if self.store.records(id, 0)?.last_seq().is_none() {
                self.forget(id);
            }
            return Ok(());
        };
        let is_yes = |mark: Option<Vec<u8>>| mark.is_some_and(|body| body != NO);
        let (edited, waits) = (is_yes(edited), is_yes(waits));
        // Growth may be read before an edit that is already known here. One in memory may also be held for reasons that
        // are not stored.
        if edited || (is_edit && !lock(&self.directory).is_loaded(id)) {
            self.held.mark(&card, edited);
        } else {
            self.held.meet(&card);
        }
        if waits {
            self.alarm.set(id, Some(0));
        }
        lock(&self.directory).put(card);
        Ok(())
    }

    /// Reads a conversation in memory again, with the records of other daemons. It is locked only to be replaced: a
    /// request meets the old one or the new one, and never waits for the store.
    fn refresh(&self, id: &str) -> Result<(), StoreError> {
        let end = Instant::now() + SETTLE;
        loop {
            self.writer.settle_conversation(id, SETTLE);
            let Some(mut fresh) = self.load(id)? else {
                self.forget(id);
                return Ok(());
            };
            let Some(shared) = lock(&self.directory).touch(id) else { return Ok(()) };
            let mut conversation = lock(&shared);
            if !self.is_current(id, &shared) {
                continue;
            }
            let known = self.writer.version(id).unwrap_or(0);
            // Our own newest steps may be on their way, or a commit is about to take effect.
            if self.writer.has_backlog(id) || self.storing.is_locked(id) || fresh.log.version < known {
                drop(conversation);
                if Instant::now() > end {
                    return Err(StoreError::Slow);
                }
                std::thread::sleep(Duration::from_millis(2));
                continue;
            }
            if fresh.log.version == known {
                return Ok(());
            }
            fresh.log.losses = lock(&self.directory).losses(id);
            // Only this daemon knows how the requests under way were sent.
            fresh.composing.sent = std::mem::take(&mut conversation.composing.sent);
            self.writer.set_version(id, fresh.log.version);
            *conversation = fresh;
            self.update_hold(&conversation);
            self.weighed.forget(id);
            let weight = conversation.weight();
            drop(conversation);
            self.weigh_loaded(id, &shared, weight);
            return Ok(());
        }
    }

    /// Repeats an edit that another daemon overtook, on the state that it left.
    pub(crate) fn on_newest<T>(&self, mut edit: impl FnMut() -> Result<T, Refusal>) -> Result<T, Refusal> {
        for _ in 1..TRIES {
            match edit() {
                Err(refusal) if self.replica.is_some() && refusal.code == ErrorCode::Stale => {}
                outcome => return outcome,
            }
        }
        edit()
    }

    /// Makes an edit, and waits until the other daemons know it.
    pub(crate) fn confirmed(&self, edit: impl FnMut() -> Result<EditResult, Refusal>) -> Result<EditResult, Refusal> {
        let mut applied = self.on_newest(edit)?;
        self.warn(&mut applied);
        Ok(applied)
    }

    /// Waits until the other daemons know an edit, and adds warnings about those that may not.
    pub(crate) fn warn(&self, applied: &mut EditResult) {
        if applied.commit.is_some() || applied.waiting.is_some() {
            applied.warnings.extend(self.confirm(&applied.conversation));
        }
    }

    /// The same for a conversation by its name.
    pub(crate) fn confirm_named(&self, name: &str) -> Vec<String> {
        if self.replica.is_none() {
            return Vec::new();
        }
        self.meant(name).map(|id| self.confirm(&id)).unwrap_or_default()
    }

    /// Waits until the other daemons know the newest edit of a conversation. Returns warnings about those that may not.
    pub(crate) fn confirm(&self, id: &str) -> Vec<String> {
        let Some(replica) = &self.replica else { return Vec::new() };
        self.keep_held();
        let began = Instant::now();
        let awaited = replica.await_others(id);
        self.meter.get().iter().for_each(|meter| meter.confirmed(began.elapsed()));
        match awaited {
            Ok(absent) => absent.iter().map(in_words).collect(),
            Err(error) => vec![format!(
                "The change is stored, but other daemons may not know it yet: {error}. Requests that pass through them may \
                 leave without it."
            )],
        }
    }
}

fn in_words(Absent { name, silent }: &Absent) -> String {
    format!(
        "The daemon {name} has not been heard of for {:.0} s. If it still runs, or starts while the database is away, \
         requests that pass through it leave without this change.",
        silent.as_secs_f64()
    )
}
