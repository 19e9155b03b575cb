//! The timeline: requests, answers, edits and signals, in order.

use super::misses::{Around, Story, came_true};
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::cache::{MissView, Misses};
use ctx_api::timeline::{Event, Line, Timeline, What};
use ctx_core::edit::FrameId;
use ctx_core::edit::fold::Unit;
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, SlotId, hint};
use ctx_engine::Refusal;
use ctx_engine::compose::Ground;
use ctx_engine::log::{self, AnswerRecord, ArrivalRecord, Automatic, OpeningRecord, RefusedEdits, Wait};
use ctx_engine::view::map::money;
use ctx_models::Models;
use ctx_store::Record;
use std::collections::{HashMap, HashSet};

impl Parts {
    pub(crate) fn timeline(&self, name: &str, most: usize) -> Result<Timeline, Refusal> {
        let id = self.meant(name)?;
        let found = self.store.records(&id, 0)?;
        let mut skipped = found.skipped.len() as u64;
        let mut events = Vec::new();
        let mut story = Story::new(self.engine.moments.cache_seconds).with_frames(self.frames_by_slot(&id));
        let mut end = None;
        for record in &found.records {
            match self.event(record) {
                Some(mut event) => {
                    self.explain_answer(&mut story, record, &mut event);
                    if let What::Request { frame, .. } = &mut event.what {
                        end = ends_in(record, end);
                        *frame = end.and_then(|slot| story.frame(slot));
                    }
                    events.push(event);
                }
                None if is_silent(record) => {}
                None => skipped += 1,
            }
        }
        // A growing proposal appears once, in its current state.
        let mut told = HashSet::new();
        events.reverse();
        events.retain(|event| match &event.what {
            What::Waiting { id, state, .. } if state == "waiting" => told.insert(id.clone()),
            _ => true,
        });
        events.reverse();
        events.drain(..events.len().saturating_sub(most));
        Ok(Timeline { conversation: id, events, skipped })
    }
}

impl Parts {
    pub(crate) fn misses(&self, name: &str, request: Option<u32>, most: usize) -> Result<Misses, Refusal> {
        self.settle(self.patience());
        let Timeline { conversation, events, .. } = self.timeline(name, usize::MAX)?;
        let mut all = Vec::new();
        for event in events {
            let What::Answer { request, usage: Some(usage), expected, cache_miss, .. } = event.what else { continue };
            let (read, prompt) = (usage.cache_read, usage.prompt());
            all.push(MissView { request, at: event.at, expected, read, prompt, miss: cache_miss.map(|miss| *miss) });
        }
        if let Some(wanted) = request.filter(|wanted| !all.iter().any(|view| view.request == *wanted)) {
            let numbers = all.first().zip(all.last()).map(|(first, last)| (first.request, last.request));
            let there = numbers.map_or("There is no response yet.".into(), |(first, last)| {
                hint![Command::Misses, format!(" lists the misses; requests {first} to {last} have responses.")]
            });
            let message = format!("Request {wanted} of {conversation} has no recorded response.");
            return Err(Refusal::new(ErrorCode::UnknownRequest, message, there));
        }
        let foreseen = all.iter().filter_map(|view| Some((view.expected?, view.read)));
        let true_ones = foreseen.clone().filter(|(expected, read)| came_true(*expected, *read)).count() as u64;
        let foreseen = foreseen.count() as u64;
        let is_wanted = |view: &MissView| match request {
            Some(request) => view.request == request,
            None => view.miss.is_some(),
        };
        let mut misses: Vec<MissView> = all.into_iter().rev().filter(is_wanted).collect();
        let more = misses.len().saturating_sub(most) as u64;
        misses.truncate(most);
        Ok(Misses { conversation, foreseen, came_true: true_ones, misses, more })
    }
}

/// Whether a record is only for the automatic editor.
fn is_silent(record: &Record) -> bool {
    record.kind == log::AUTOMATIC
        && matches!(
            serde_json::from_slice(&record.body),
            Ok(Automatic::Kept { .. } | Automatic::Helped(_) | Automatic::Summary(_))
        )
}

/// The slot of the last message of a request. A retry adds none: it ends where the previous one did.
fn ends_in(record: &Record, before: Option<SlotId>) -> Option<SlotId> {
    let ArrivalRecord { turn, verdict, .. } = serde_json::from_slice(&record.body).ok()?;
    match turn?.slots.last() {
        Some(slot) => Some(SlotId(*slot)),
        None => before.filter(|_| verdict == "retry"),
    }
}

impl Parts {
    /// The frame of every message, on the current path or left; that of its end, if a border is inside it.
    fn frames_by_slot(&self, id: &str) -> HashMap<SlotId, FrameId> {
        let Ok(shared) = self.conversation(id) else { return HashMap::new() };
        let conversation = lock(&shared);
        let ground = Ground::with_left(&conversation, &conversation.left_frames());
        let view = ground.lay(conversation.effects(conversation.history.head()));
        let mut found: HashMap<SlotId, (usize, FrameId)> = HashMap::new();
        for frame in &view.frames {
            for laid in view.units(frame, &ground.messages) {
                let Unit::Source { message, block } = laid.unit else { continue };
                let Some(slot) = ground.slots.get(message) else { continue };
                let place = block.unwrap_or(0);
                if found.get(slot).is_none_or(|(other, _)| *other <= place) {
                    found.insert(*slot, (place, frame.id.clone()));
                }
            }
        }
        found.into_iter().map(|(slot, (_, frame))| (slot, frame)).collect()
    }

    /// Adds facts to an answer that follow from earlier records.
    fn explain_answer(&self, story: &mut Story, record: &Record, event: &mut Event) {
        match (record.kind.as_str(), &mut event.what) {
            (log::OPENED, _) => drop(story.opened(record)),
            (log::ARRIVED, _) => drop(story.arrived(record)),
            (log::COMMIT, _) => {
                log::commit(record).iter().for_each(|commit| story.committed(commit));
            }
            (log::LINE, What::Line { line: Line::Checkout { .. } }) => story.moved(),
            (log::ANSWERED, What::Answer { money: dollars, priced_as, cache_miss, expected, request, .. }) => {
                let Ok(answered) = serde_json::from_slice::<AnswerRecord>(&record.body) else { return };
                // Older records do not name the answering model.
                let asked = money(&self.engine.models, story.model(*request), &answered);
                if let Some((asked, stand_in)) = asked.filter(|_| dollars.is_none()) {
                    (*dollars, *priced_as) = (Some(asked), stand_in);
                }
                let wire = story.wire();
                let told = story
                    .answered(&answered, &self.engine.models, |envelope| Around::stored(&*self.store, wire?, envelope));
                (*cache_miss, *expected) = (told.miss.map(Box::new), told.expects);
            }
            _ => {}
        }
    }
}

fn automatic(said: Automatic) -> Option<What> {
    Some(match said {
        Automatic::PhaseBegan { name, author, .. } => What::Phase { name, ended: false, author },
        Automatic::PhaseEnded { name, author, .. } => What::Phase { name, ended: true, author },
        Automatic::Kept { .. } | Automatic::Helped(_) | Automatic::Summary(_) => return None,
        Automatic::Noted { request, summary, note, tokens_before, tokens_after, .. } => {
            What::Noted { request, summary, note, tokens_before, tokens_after }
        }
        Automatic::Signal(told) => What::Signal(told),
        Automatic::Access(told) => What::Access(told),
    })
}

impl Parts {
    pub(crate) fn event(&self, record: &Record) -> Option<Event> {
        event(&self.engine.models, record)
    }
}

fn event(models: &Models, record: &Record) -> Option<Event> {
    if !log::is_readable(record.version) {
        return None;
    }
    let what = match record.kind.as_str() {
        log::OPENED => {
            let OpeningRecord { class, session, agent, client, parent, forked_from, .. } =
                serde_json::from_slice(&record.body).ok()?;
            What::Opened { class, session, agent, client, parent, forked_from }
        }
        log::ARRIVED => {
            let ArrivalRecord { request, class, verdict, known, new, changed, detail, model, bytes, asks, .. } =
                serde_json::from_slice(&record.body).ok()?;
            What::Request { request, class, verdict, known, new, changed, detail, model, bytes, asks, frame: None }
        }
        log::ANSWERED => {
            let answered: AnswerRecord = serde_json::from_slice(&record.body).ok()?;
            let cost = money(models, answered.model.as_deref(), &answered);
            let (money, priced_as) = cost.map_or((None, None), |(money, stand_in)| (Some(money), stand_in));
            What::Answer {
                cache_miss: None,
                expected: None,
                money,
                priced_as,
                request: answered.request,
                status: answered.status,
                ending: answered.ending,
                stop_reason: answered.stop_reason,
                usage: answered.usage,
                error: answered.error,
                applied_edits: answered.applied_edits,
                compacted: answered.summary.is_some(),
                transformations: answered.transformations,
                repairs: answered.repairs,
                cache_miss_reason: answered.cache_miss_reason,
                first_byte_ms: answered.first_byte_ms,
                total_ms: answered.total_ms,
                undecodable: answered.undecodable,
            }
        }
        log::COMMIT => {
            let commit = log::commit(record)?;
            let shown = ctx_engine::edit::shown(&commit);
            What::Commit {
                id: shown.id,
                parent: shown.parent,
                author: shown.author,
                note: shown.note,
                change: shown.kind,
                operations: shown.operations,
                reasons: shown.reasons,
                reverts: shown.reverts,
                summary: shown.summary,
                tokens_before: shown.tokens_before,
                tokens_after: shown.tokens_after,
            }
        }
        log::LINE => What::Line { line: serde_json::from_slice(&record.body).ok()? },
        log::RECOVERY => What::Recovery,
        log::AUTOMATIC => automatic(serde_json::from_slice(&record.body).ok()?)?,
        log::REFUSED => {
            let RefusedEdits { request, model, edits, words } = serde_json::from_slice(&record.body).ok()?;
            What::Refused { request, model, edits, words }
        }
        log::WAIT => waiting(serde_json::from_slice(&record.body).ok()?),
        _ => return None,
    };
    Some(Event { what, seq: record.seq, at: record.at, conversation: record.conversation.clone() })
}

fn waiting(wait: Wait) -> What {
    let (id, state, commit, failure, author) = match wait {
        Wait::Deferred(deferred) => {
            return What::Waiting {
                id: deferred.id,
                state: "waiting".to_owned(),
                when: Some(deferred.when),
                author: Some(deferred.author),
                note: deferred.note,
                summary: Some(deferred.summary),
                commit: None,
                failure: None,
            };
        }
        Wait::Made { id, commit, .. } => (id, "made", Some(commit), None, None),
        Wait::Failed { id, why } => (id, "failed", None, Some(why), None),
        Wait::Cancelled { id, author } => (id, "cancelled", None, None, Some(author)),
    };
    What::Waiting { id, state: state.to_owned(), when: None, author, note: None, summary: None, commit, failure }
}
