//! Checks the measure of harm against reality: in some recordings the client itself removed content, by clearing old
//! tool results or by a summary of the whole conversation. Did the agent fetch again what later steps relied on?
//!
//! Every need after a removal, within some steps, is counted once, at its first use. It was *removed* if the client no
//! longer sent any of its earlier sources, and *visible* otherwise. Then a new result has it (fetched again), or only a
//! new text, such as the summary (told again), or nothing (used anyway: the agent guessed it, or does not need it).

use crate::needs::{Kind, Need, Place, needs};
use crate::recording::{Labels, Recording, Turn};
use crate::request::Script;
use crate::sizes::prompt;
use ctx_core::Content;
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// Later steps depend on the removal less and less.
const STEPS: usize = 40;
/// Smaller drops are thinking, reminders and the like.
const LEAST: f64 = 5_000.0;
/// Clients that clear results keep the newest.
const KEPT: usize = 3;

/// The outcome of needs after a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Uses {
    pub fetched_again: usize,
    pub told_again: usize,
    pub used_anyway: usize,
}

impl Uses {
    /// The share that was fetched again, of what was not told again.
    pub fn fetched_share(&self) -> Option<f64> {
        let all = self.fetched_again + self.used_anyway;
        (all > 0).then(|| self.fetched_again as f64 / all as f64)
    }

    fn add(&mut self, other: Uses) {
        self.fetched_again += other.fetched_again;
        self.told_again += other.told_again;
        self.used_anyway += other.used_anyway;
    }
}

/// The needs of one kind after removals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KindUses {
    pub kind: &'static str,
    /// The removals were summaries of everything before.
    pub summarized: bool,
    pub removed: Uses,
    pub visible: Uses,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct HarmCheck {
    /// Clearings of old results, and summaries.
    pub clearings: usize,
    pub summaries: usize,
    /// Steps within reach of a removal.
    pub steps: usize,
    pub uses: Vec<KindUses>,
    /// Steps that the lab counts as harmed, had `ctx` made these removals: they relied on removed content, and no
    /// text told it again.
    pub harmed: usize,
    /// Those among them, or before them, for which the agent fetched it again, and the tokens of these results.
    pub harmed_fetched: usize,
    pub fetched_tokens: u64,
}

/// Content that a client removed before a turn.
struct Removal {
    turn: usize,
    hidden: HashSet<Place>,
    summarized: bool,
}

/// Checks all recordings. A recording that begins with a summary continues the one whose name has the number before.
pub fn check(recordings: &[Recording]) -> HarmCheck {
    let mut sums: HashMap<(Kind, bool), (Uses, Uses)> = HashMap::new();
    let mut check = HarmCheck::default();
    let by_name: HashMap<&str, &Recording> = recordings.iter().map(|one| (&*one.name, one)).collect();
    for recording in recordings {
        let cleared = clearings(recording);
        check.clearings += cleared.len();
        if !cleared.is_empty() {
            let script = Script::of(recording);
            count(recording, &cleared, &|place| script.tokens(place), &mut check, &mut sums);
        }
        if let Some(before) = earlier(recording).and_then(|name| by_name.get(&*name)) {
            let (joined, removal) = join(before, recording);
            let script = Script::of(recording);
            let start = before.messages.len();
            let tokens = |place: Place| match place.message.checked_sub(start) {
                Some(message) => script.tokens(Place { message, ..place }),
                None => 0.0,
            };
            check.summaries += 1;
            count(&joined, &[removal], &tokens, &mut check, &mut sums);
        }
    }
    for (kind, name) in [(Kind::Edit, "edit"), (Kind::Name, "name")] {
        for summarized in [false, true] {
            let (removed, visible) = sums.get(&(kind, summarized)).copied().unwrap_or_default();
            check.uses.push(KindUses { kind: name, summarized, removed, visible });
        }
    }
    check
}

/// The name of the recording that this one continues.
fn earlier(recording: &Recording) -> Option<String> {
    let first = recording.messages.first()?.get();
    let contents = recording.wire().contents(first.as_bytes());
    let is_summary = |text: &str| ctx_clients::lexicon().is_summary(text);
    let summarized = contents.iter().filter_map(Content::as_text).any(is_summary);
    let stem = recording.name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let number: u32 = recording.name.get(stem.len()..)?.parse().ok()?;
    summarized.then(|| number.checked_sub(1).map(|before| format!("{stem}{before}"))).flatten()
}

/// Both recordings as one. Everything of the first is hidden from the second.
fn join(first: &Recording, second: &Recording) -> (Recording, Removal) {
    let start = first.messages.len();
    let messages: Vec<_> = first.messages.iter().chain(&second.messages).cloned().collect();
    let moved = second.turns.iter().map(|turn| Turn { answer: turn.answer + start, ..turn.clone() });
    let turns: Vec<Turn> = first.turns.iter().cloned().chain(moved).collect();
    let blocks = |message: usize| {
        let json = first.messages.get(message).map_or("", |message| message.get());
        (0..first.wire().contents(json.as_bytes()).len().max(1)).map(move |block| Place { message, block })
    };
    let hidden = (0..start).flat_map(blocks).collect();
    let joined = Recording {
        name: second.name.clone(),
        wire: second.wire,
        model: second.model.clone(),
        head: second.head.clone(),
        lead: Vec::new(),
        messages,
        turns,
        labels: Labels::default(),
    };
    (joined, Removal { turn: first.turns.len(), hidden, summarized: true })
}

/// The clearings of a recording: the prompt shrank although messages were added. The oldest results make up for it.
fn clearings(recording: &Recording) -> Vec<Removal> {
    let counted = recording.turns.iter().enumerate();
    let counted: Vec<(usize, f64)> = counted
        .filter_map(|(at, turn)| Some((at, prompt(turn.usage.as_ref()?))))
        .filter(|(_, all)| *all > 0.0)
        .collect();
    let drops = counted.windows(2).filter_map(|pair| match pair {
        [(_, before), (turn, after)] if before - after > LEAST => Some((*turn, before - after)),
        _ => None,
    });
    let drops: Vec<(usize, f64)> = drops.collect();
    if drops.is_empty() {
        return Vec::new();
    }
    let script = Script::of(recording);
    let mut results: Vec<Place> = Vec::new();
    for (message, json) in recording.messages.iter().enumerate() {
        let contents = recording.wire().contents(json.get().as_bytes());
        let found = contents.iter().enumerate().filter(|(_, content)| content.answers().is_some());
        results.extend(found.map(|(block, _)| Place { message, block }));
    }
    let mut hidden: HashSet<Place> = HashSet::new();
    let mut removals = Vec::new();
    for (turn, drop) in drops {
        let answer = recording.turns.get(turn).map_or(0, |turn| turn.answer);
        let sent = results.partition_point(|place| place.message < answer);
        let (mut left, oldest) = (drop, results.iter().take(sent.saturating_sub(KEPT)));
        for place in oldest {
            if left > 0.0 && hidden.insert(*place) {
                left -= script.tokens(*place);
            }
        }
        removals.push(Removal { turn, hidden: hidden.clone(), summarized: false });
    }
    removals
}

/// Counts the needs after these removals.
fn count(
    recording: &Recording,
    removals: &[Removal],
    tokens: &dyn Fn(Place) -> f64,
    check: &mut HarmCheck,
    sums: &mut HashMap<(Kind, bool), (Uses, Uses)>,
) {
    let needs = needs(recording);
    let is_result = |place: &Place| {
        let json = recording.messages.get(place.message).map_or("", |message| message.get());
        let contents = recording.wire().contents(json.as_bytes());
        contents.get(place.block).is_some_and(|content| content.answers().is_some())
    };
    for (number, removal) in removals.iter().enumerate() {
        let next = removals.get(number + 1).map_or(usize::MAX, |next| next.turn);
        let end = next.min(removal.turn + STEPS).min(recording.turns.len());
        check.steps += end.saturating_sub(removal.turn);
        let answer = recording.turns.get(removal.turn).map_or(0, |turn| turn.answer);
        let start = if removal.summarized { removal.hidden.iter().map(|place| place.message + 1).max() } else { None };
        let start = start.unwrap_or(answer);
        let mut met: HashSet<(Kind, &str)> = HashSet::new();
        let mut harmed: HashMap<usize, (bool, HashSet<Place>)> = HashMap::new();
        let in_reach = |need: &&Need| (removal.turn..end).contains(&need.turn);
        for need in needs.iter().filter(in_reach).filter(|need| matches!(need.kind, Kind::Edit | Kind::Name)) {
            let (old, new): (Vec<Place>, Vec<Place>) = need.sources.iter().partition(|place| place.message < start);
            if old.is_empty() || !met.insert((need.kind, &need.text)) {
                continue;
            }
            let fetched: Vec<Place> = new.iter().copied().filter(|place| is_result(place)).collect();
            let told = Uses { told_again: usize::from(fetched.is_empty() && !new.is_empty()), ..Uses::default() };
            let uses = Uses {
                fetched_again: usize::from(!fetched.is_empty()),
                used_anyway: usize::from(new.is_empty()),
                ..told
            };
            let (removed, visible) = sums.entry((need.kind, removal.summarized)).or_default();
            let is_removed = old.iter().all(|place| removal.hidden.contains(place));
            if is_removed { removed } else { visible }.add(uses);
            if is_removed && uses.told_again == 0 {
                let (is_fetched, places) = harmed.entry(need.turn).or_default();
                *is_fetched |= !fetched.is_empty();
                places.extend(fetched);
            }
        }
        check.harmed += harmed.len();
        check.harmed_fetched += harmed.values().filter(|(is_fetched, _)| *is_fetched).count();
        let places: HashSet<Place> = harmed.into_values().flat_map(|(_, places)| places).collect();
        check.fetched_tokens += places.into_iter().map(tokens).sum::<f64>().round() as u64;
    }
}
