//! What the provider should read from its cache: what earlier requests wrote there, as far as a new one begins alike.
//! Said before the answer, so that it can be compared with it.

use crate::conversation::{Conversation, estimate};
use crate::edit::Ground;
use crate::log::{Answered, Arrived, Differs};
use ctx_core::edit::CommitId;
use ctx_core::edit::effect::{Cover, Effect, MessageRef};
use ctx_core::edit::fold::Unit;
use ctx_core::edit::history::Change;
use ctx_core::edit::layout::layout;
use ctx_core::message::{Block, Kind, Message};
use ctx_core::quick::{QuickMap, QuickSet};
use ctx_core::{Key, SlotId};
use ctx_wire::anthropic::cache;
use ctx_wire::anthropic::compose::Kept;
use ctx_wire::anthropic::envelope::Envelope;
use ctx_wire::anthropic::request::Body;
use std::collections::{HashMap, VecDeque};

/// How much is remembered.
const ENTRIES: usize = 128;
const UNDER_WAY: usize = 64;
/// Seconds, until an answer tells.
const SHORT: u64 = 300;

/// What the provider's cache should hold of a conversation.
#[derive(Debug, Default)]
pub struct Shelf {
    /// The newest last.
    entries: VecDeque<Entry>,
    under_way: HashMap<u32, Asked>,
    /// Seconds that it lives, as far as answers told.
    ttl: Option<u64>,
    /// An answer has told something of the cache.
    told: bool,
    /// Seconds that it lives, as somebody said.
    kept_for: Option<u64>,
}

#[derive(Debug, Clone)]
struct Entry {
    prefix: Key,
    model: Option<String>,
    manner: Option<Key>,
    /// As the provider counted; nothing where it did not.
    tokens: Option<u64>,
    used: u64,
    /// When a mark stood there last.
    marked: u64,
    ttl: u64,
}

#[derive(Debug)]
struct Asked {
    at: u64,
    model: Option<String>,
    manner: Option<Key>,
    writes: Vec<Key>,
}

/// What is said of a request before its answer comes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Foreseen {
    pub expects: Option<u64>,
    pub writes: Vec<Key>,
}

/// A request as the cache sees it.
struct Outline<'a> {
    model: Option<&'a str>,
    manner: Option<Key>,
    /// What identifies all before the first message, and after each.
    around: Key,
    after: &'a [Key],
    marks: cache::Marks,
    look_back: usize,
    /// How many places a message takes when a mark looks back.
    places: &'a dyn Fn(usize) -> usize,
    /// About how many tokens stand before the first message, or up to the end of one.
    tokens: &'a dyn Fn(Option<usize>) -> u64,
}

impl Shelf {
    /// A request has been sent.
    pub fn asked(&mut self, arrived: &Arrived, at: u64) {
        if arrived.writes.is_empty() {
            return;
        }
        if self.under_way.len() >= UNDER_WAY {
            // They will not be answered any more.
            self.under_way.clear();
        }
        let Arrived { model, manner, writes, .. } = arrived;
        let asked = Asked { at, model: model.clone(), manner: *manner, writes: writes.clone() };
        self.under_way.insert(arrived.request, asked);
    }

    /// How many seconds it lives, where somebody says so.
    pub fn keep_for(&mut self, seconds: Option<u64>) {
        self.kept_for = seconds;
        if let Some(seconds) = seconds {
            self.entries.iter_mut().for_each(|entry| entry.ttl = seconds);
        }
    }

    /// Whether something may be there that was written for a model.
    pub fn holds(&self, model: Option<&str>, at: u64) -> bool {
        let lives = |entry: &Entry| at <= entry.used.saturating_add(entry.ttl * 1000);
        self.entries.iter().any(|entry| entry.model.as_deref() == model && lives(entry))
    }

    /// What it wrote is there from now on.
    pub fn answered(&mut self, answered: &Answered) {
        let Some(usage) = answered.usage.filter(|_| answered.status == 200) else { return };
        let Some(asked) = self.under_way.remove(&answered.request) else { return };
        self.told = true;
        self.ttl = usage.ttl().or(self.ttl);
        if usage.cached() == 0 {
            return;
        }
        let last = asked.writes.len() - 1;
        for (at, prefix) in asked.writes.into_iter().enumerate() {
            let tokens = (at == last).then(|| usage.cached());
            let is_it =
                |entry: &Entry| (entry.prefix, &entry.model, entry.manner) == (prefix, &asked.model, asked.manner);
            let known = self.entries.iter().position(is_it);
            let before = known.and_then(|known| self.entries.remove(known)).and_then(|entry| entry.tokens);
            let (model, ttl) = (asked.model.clone(), self.kept_for.or(self.ttl).unwrap_or(SHORT));
            self.entries.push_back(Entry {
                prefix,
                model,
                manner: asked.manner,
                tokens: tokens.or(before),
                used: asked.at,
                marked: asked.at,
                ttl,
            });
        }
        self.entries.drain(..self.entries.len().saturating_sub(ENTRIES));
    }

    /// Takes out what may have expired: no mark stood there for as long as it lives. That more than it was read since
    /// may have kept it alive, or not.
    pub fn leave_what_lives(&self, written: &mut QuickSet<Key>, at: u64) {
        let is_old = |entry: &Entry| at > entry.marked.saturating_add(entry.ttl * 1000);
        // Of several entries the newest counts, which stands last.
        let newest: QuickMap<Key, bool> = self.entries.iter().map(|entry| (entry.prefix, is_old(entry))).collect();
        for (prefix, _) in newest.iter().filter(|(_, is_old)| **is_old) {
            written.remove(prefix);
        }
    }

    /// What a request should find there. All that it uses lives on from now.
    fn expect(&mut self, outline: &Outline<'_>, at: u64) -> Option<u64> {
        if !self.told {
            return None;
        }
        let is_alive = |entry: &Entry| {
            // Tools and the system prompt are found under any manner.
            let is_like = entry.manner == outline.manner || entry.prefix == outline.around;
            is_like && entry.model.as_deref() == outline.model && at <= entry.used.saturating_add(entry.ttl * 1000)
        };
        let alive = self.entries.iter().enumerate().filter(|(_, entry)| is_alive(entry));
        let alive: QuickMap<Key, usize> = alive.map(|(at, entry)| (entry.prefix, at)).collect();
        let behind = outline.after.iter().enumerate().rev();
        let mut found = behind.filter_map(|(at, prefix)| Some((Some(at), *alive.get(prefix)?)));
        let around = alive.get(&outline.around).map(|entry| (None, *entry));
        let read = found.find(|(at, _)| outline.reaches(*at)).or(around.filter(|_| outline.reaches(None)));
        let Some((until, entry)) = read else { return Some(0) };
        let used = outline.after.iter().take(until.map_or(0, |until| until + 1)).chain([&outline.around]);
        for entry in used.filter_map(|prefix| alive.get(prefix)) {
            self.entries.get_mut(*entry).into_iter().for_each(|entry| entry.used = at);
        }
        Some(self.entries.get(entry).and_then(|entry| entry.tokens).unwrap_or_else(|| (outline.tokens)(until)))
    }
}

impl Outline<'_> {
    /// Whether a mark finds what ends after this message; `None`: before the first.
    fn reaches(&self, end: Option<usize>) -> bool {
        if end.is_none() && self.marks.around {
            return true;
        }
        let next = end.map_or(0, |end| end + 1);
        let Some(mark) = self.marks.messages.iter().find(|mark| **mark + 1 >= next) else { return false };
        let mut places = 0;
        (next..=*mark).all(|message| {
            places += (self.places)(message);
            places < self.look_back
        })
    }
}

/// Calls beside each other count as one when a mark looks back, and so do results.
fn places(message: &Message) -> usize {
    let is_run = |pair: &[Block]| {
        pair.iter().all(|block| block.kind == Kind::ToolUse) || pair.iter().all(|block| block.kind == Kind::ToolResult)
    };
    message.blocks.len() - message.blocks.windows(2).filter(|pair| is_run(pair)).count()
}

impl Conversation {
    /// What is foreseen of the request that is the newest of the path now.
    pub(crate) fn foresee(&mut self, body: &Body, envelope: &Envelope, at: u64, look_back: usize) -> Foreseen {
        // Composing knows the marks of the messages: the body need not be looked through again.
        let composed = self.sent.get_mut(&self.requests).map(|sent| {
            let after = std::mem::take(&mut sent.after);
            let is_mark = |(_, prefix): &(usize, &Key)| sent.marks.contains(prefix);
            let messages = after.iter().enumerate().filter(is_mark).map(|(at, _)| at).collect();
            let marks = cache::Marks { around: cache::marks_around(body, envelope), messages };
            (marks, sent.around, after, Some(std::mem::take(&mut sent.kept)))
        });
        let (marks, around, after, kept) = composed.unwrap_or_else(|| {
            self.own_prefixes();
            let mut prefixes = self.chain.after(envelope.digest, self.chain.digests());
            (cache::marks(body, envelope), prefixes.remove(0), prefixes, None)
        });
        if marks == cache::Marks::default() {
            return Foreseen { expects: self.shelf.told.then_some(0), writes: Vec::new() };
        }
        let ends = marks.messages.iter().filter_map(|mark| after.get(*mark)).copied();
        let writes = marks.around.then_some(around).into_iter().chain(ends).collect();
        let mut shelf = std::mem::take(&mut self.shelf);
        let own = |at: usize| self.tree.current().get(at).map_or(1, |node| places(&self.tree.slot_at(*node).message));
        let places: &dyn Fn(usize) -> usize = if kept.is_some() { &|_| 1 } else { &own };
        let tokens = |until: Option<usize>| {
            let count = until.map_or(0, |until| until + 1);
            self.calibration.tokens(match &kept {
                Some(kept) => self.weigh_first(envelope, kept, (count, after.len())),
                None => estimate(envelope, self.tree.path().take(count).map(|slot| &slot.message)),
            })
        };
        let model = envelope.model.as_deref();
        let manner = envelope.manner.key();
        let outline = Outline { model, manner, around, after: &after, marks, look_back, places, tokens: &tokens };
        let expects = shelf.expect(&outline, at);
        self.shelf = shelf;
        Foreseen { expects, writes }
    }

    /// The estimate of the first messages of those that were sent, and of what is before them.
    fn weigh_first(&self, envelope: &Envelope, kept: &Kept, (first, all): (usize, usize)) -> f64 {
        let ground = Ground::of(self, false);
        let view = ground.lay(self.effects(self.history.head()));
        ground.weigh_up_to(&view, envelope, &kept.places(), all).get(first).copied().unwrap_or_default()
    }

    /// The first message of the path that commits change, as people name it.
    pub(crate) fn first_changed(&self, commits: &[CommitId]) -> Option<String> {
        // Nearly always.
        if commits.is_empty() {
            return None;
        }
        let effects =
            commits.iter().filter_map(|commit| self.history.get(*commit)).flat_map(|commit| match &commit.change {
                Change::Edit { effects, .. } => effects.as_slice(),
                Change::Revert { .. } | Change::Inherit { .. } => &[],
            });
        let mut changed: QuickSet<SlotId> = QuickSet::default();
        for effect in effects {
            let mut note = |of: &MessageRef| match of {
                MessageRef::Slot(slot) => drop(changed.insert(*slot)),
                MessageRef::Reply { .. } => {}
            };
            match effect {
                Effect::Results { results, .. } => results.iter().for_each(|result| note(&result.of)),
                Effect::Replace { covers, .. } => covers.iter().for_each(|cover| {
                    if let Cover::Blocks(covered) = cover {
                        note(&covered.of)
                    }
                }),
                _ => {}
            }
        }
        let first = self.tree.path().position(|slot| changed.contains(&slot.id))?;
        self.named(first, None).map(|named| named.place)
    }

    /// The message of the path, or a block of it, as people name it.
    pub(crate) fn named(&self, message: usize, block: Option<usize>) -> Option<Differs> {
        let ground = Ground::of(self, false);
        let view = ground.lay(self.effects(self.history.head()));
        let facts = ground.messages.get(message)?;
        let what = match block.and_then(|block| facts.blocks.get(block)) {
            Some(block) => match (block.kind, block.tool.as_deref()) {
                (Kind::ToolUse, Some(tool)) => format!("a call of {tool}"),
                (kind, _) => format!("a block of kind {}", kind.name()),
            },
            None => format!("a message of the {}", facts.role.name()),
        };
        for frame in &view.frames {
            let layout = layout(&view, frame, &ground.messages);
            let is_it = |unit: &Unit| match unit {
                Unit::Source { message: at, block: own } => *at == message && (block.is_none() || *own == block),
                Unit::Made(_) => false,
            };
            for group in &layout.groups {
                if layout.units.get(group.units.clone()).unwrap_or_default().iter().any(|laid| is_it(&laid.unit)) {
                    let block = block.map(|block| format!(".{block}")).unwrap_or_default();
                    return Some(Differs { place: format!("{}#{}{block}", frame.id, group.number), what });
                }
            }
        }
        None
    }
}

/// The first block in which two versions of a message differ, as far as their facts tell.
pub fn first_difference(old: &Message, new: &Message) -> Option<usize> {
    let same = |(one, other): &(&Block, &Block)| {
        (one.kind, one.chars, one.fixed_tokens, &one.tool_use_id, &one.label, one.signature)
            == (other.kind, other.chars, other.fixed_tokens, &other.tool_use_id, &other.label, other.signature)
    };
    let alike = old.blocks.iter().zip(&new.blocks).take_while(same).count();
    (alike < new.blocks.len()).then_some(alike)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Usage;
    use serde_json::json;

    fn key(number: u8) -> Key {
        Key::of([&[number][..]])
    }

    struct Told {
        shelf: Shelf,
        request: u32,
        model: &'static str,
        manner: Option<Key>,
    }

    impl Told {
        fn new() -> Told {
            Told { shelf: Shelf::default(), request: 0, model: "m", manner: None }
        }

        /// Asks with a mark at the end, and says what was expected; then it is answered.
        fn ask(&mut self, at: u64, path: &[u8], read: u64, written: u64) -> Option<u64> {
            let after: Vec<Key> = path.iter().map(|number| key(*number)).collect();
            let marks = cache::Marks { around: true, messages: vec![path.len() - 1] };
            let (around, model) = (key(0), Some(self.model));
            let (after, tokens) = (after.as_slice(), &|_| 50);
            let (manner, look_back) = (self.manner, 20);
            let outline = Outline { model, manner, around, after, marks, look_back, places: &|_| 2, tokens };
            let expects = self.shelf.expect(&outline, at * 1000);
            self.request += 1;
            let writes = vec![around, after[after.len() - 1]];
            let arrived = json!({"request": self.request, "class": "main", "verdict": "next", "known": 0, "new": 1,
                "changed": 0, "bytes": 1, "model": self.model, "manner": self.manner, "writes": writes});
            self.shelf.asked(&serde_json::from_value(arrived).expect("a request"), at * 1000);
            let usage = Usage { cache_read: read, cache_write: written, ..Usage::default() };
            let answered = json!({"request": self.request, "status": 200, "ending": "complete", "usage": usage,
                "total_ms": 1});
            self.shelf.answered(&serde_json::from_value(answered).expect("an answer"));
            expects
        }
    }

    #[test]
    fn what_was_written_is_expected_as_long_as_it_lives_and_the_beginning_is_the_same() {
        let mut told = Told::new();
        assert_eq!(told.ask(1, &[1], 0, 100), None, "nobody can tell yet");
        assert_eq!(told.ask(2, &[1, 2, 3], 100, 40), Some(100));
        assert_eq!(told.ask(3, &[1, 2, 3], 140, 0), Some(140), "the same again");
        assert_eq!(told.ask(4, &[1, 8, 9], 100, 20), Some(100), "another way from there");
        assert_eq!(told.ask(5, &[7, 8], 50, 20), Some(50), "the system prompt is the same");
        assert_eq!(told.ask(299, &[1, 2, 3], 140, 0), Some(140), "it lives on when it is used");
        assert_eq!(told.ask(600, &[1, 2, 3], 0, 140), Some(0), "too long ago");
        told.model = "n";
        assert_eq!(told.ask(601, &[1, 2, 3], 0, 140), Some(0), "each model has its own");
    }

    #[test]
    fn under_another_manner_only_what_stands_before_the_messages_is_expected() {
        let mut told = Told::new();
        told.ask(1, &[1], 0, 100);
        told.manner = Some(key(99));
        assert_eq!(told.ask(2, &[1, 2], 50, 90), Some(50));
        assert_eq!(told.ask(3, &[1, 2, 3], 140, 10), Some(140), "it has a cache of its own");
        told.manner = None;
        assert_eq!(told.ask(4, &[1, 2, 3], 100, 50), Some(100), "and so has the other");
    }

    #[test]
    fn how_long_it_lives_is_what_somebody_said() {
        let mut told = Told::new();
        told.ask(1, &[1], 0, 100);
        told.shelf.keep_for(Some(15));
        assert_eq!(told.ask(10, &[1, 2], 100, 10), Some(100));
        assert_eq!(told.ask(26, &[1, 2, 3], 0, 120), Some(0));
    }

    #[test]
    fn a_mark_reaches_twenty_places_and_no_more() {
        let mut told = Told::new();
        told.ask(1, &[1], 0, 100);
        let near: Vec<u8> = (1..=10).collect();
        assert_eq!(told.ask(2, &near, 100, 1), Some(100));
        let mut told = Told::new();
        told.ask(1, &[1], 0, 100);
        let far: Vec<u8> = (1..=11).collect();
        assert_eq!(told.ask(2, &far, 50, 1), Some(50), "only what the mark before finds");
    }

    #[test]
    fn what_no_mark_kept_alive_is_not_counted_on() {
        let keys = ["old", "marked again", "never told of"].map(|name| Key::of([name.as_bytes()]));
        let entry = |prefix: Key, marked| Entry {
            prefix,
            model: None,
            manner: None,
            tokens: None,
            used: marked,
            marked,
            ttl: 300,
        };
        let entries = [entry(keys[0], 0), entry(keys[1], 0), entry(keys[1], 200_000)];
        let shelf = Shelf { entries: entries.into(), ..Shelf::default() };
        let living = |at: u64| {
            let mut written: QuickSet<Key> = keys.into_iter().collect();
            shelf.leave_what_lives(&mut written, at);
            keys.map(|key| written.contains(&key))
        };
        assert_eq!(living(300_000), [true, true, true]);
        assert_eq!(living(300_001), [false, true, true]);
        assert_eq!(living(500_001), [false, false, true]);
    }
}
