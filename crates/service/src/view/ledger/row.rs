//! One answered request in the ledger, and its unedited counterpart.

use super::super::misses::{Around, CacheAnswer, Story};
use ctx_api::requests::Usage;
use ctx_api::stats::Spending;
use ctx_api::timeline::Line;
use ctx_core::day::Day;
use ctx_core::tokens::Calibration;
use ctx_engine::log::{self, AnswerRecord};
use ctx_models::{Models, Price};
use ctx_store::{Reader, Record};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The state of a conversation while its records are read.
#[derive(Default)]
pub struct Talk {
    story: Story,
    /// Tokens that the cache would hold of it unedited.
    held: u64,
    /// Converts its estimates to tokens.
    calibration: Calibration,
    /// By day and model.
    pub days: BTreeMap<(Day, Option<String>), Sum>,
}

pub struct Row {
    pub request: u32,
    pub at: u64,
    pub model: Option<String>,
    pub sum: Sum,
}

/// Figures that can be summed. Money in billionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sum {
    pub at: u64,
    requests: u64,
    input: u64,
    read: u64,
    written: u64,
    output: u64,
    cleared: u64,
    clearings: u64,
    removed: i64,
    pub cost: i64,
    saved: i64,
    nearest: u64,
    unpriced: u64,
    unweighed: u64,
}

pub struct Unreadable;

impl Talk {
    pub fn new(kept_for: Option<u64>) -> Talk {
        Talk { story: Story::new(kept_for), ..Talk::default() }
    }

    /// Reads a record; an answer yields a row.
    pub fn take(&mut self, store: &dyn Reader, models: &Models, record: &Record) -> Result<Option<Row>, Unreadable> {
        if !log::is_readable(record.version) {
            return Err(Unreadable);
        }
        match record.kind.as_str() {
            log::OPENED => self.story.opened(record).ok_or(Unreadable)?,
            log::ARRIVED => self.story.arrived(record).ok_or(Unreadable)?,
            log::COMMIT => {
                let commit = log::commit(record).ok_or(Unreadable)?;
                self.story.committed(&commit);
            }
            log::LINE => {
                if let Ok(Line::Checkout { .. }) = serde_json::from_slice(&record.body) {
                    self.story.moved();
                }
            }
            log::ANSWERED => {
                let answered: AnswerRecord = serde_json::from_slice(&record.body).map_err(|_| Unreadable)?;
                let wire = self.story.wire();
                let around = |envelope| Around::stored(store, wire?, envelope);
                let told = self.story.answered(&answered, models, around);
                return Ok(self.row(models, record, &answered, told));
            }
            _ => {}
        }
        Ok(None)
    }

    fn row(&mut self, models: &Models, record: &Record, answered: &AnswerRecord, told: CacheAnswer) -> Option<Row> {
        let usage = answered.usage?;
        let removed = self.removed(answered, &usage, &told);
        let counted = answered.counted()?;
        let unedited = self.unedited(&counted, removed, &told);
        if told.turn && answered.status == 200 {
            self.held = unedited.cached();
        }
        let mut sum = Sum {
            at: told.at.unwrap_or(record.at),
            requests: 1,
            input: usage.input,
            read: usage.cache_read,
            written: usage.cache_write,
            output: usage.output,
            cleared: answered.cleared(),
            clearings: u64::from(answered.clears()),
            removed,
            // Older records only say that something was edited.
            unweighed: u64::from(told.composed && answered.edited.is_none() && !answered.marks.is_empty()),
            ..Sum::default()
        };
        let price = |usage: &ctx_models::Usage| models.price(told.model.as_deref()?, usage.input);
        match (price(&counted), price(&unedited)) {
            (Some((own, stand_in)), Some((other, _))) => {
                sum.cost = billionths(&own, &counted);
                sum.saved = billionths(&other, &unedited) - sum.cost;
                sum.nearest = u64::from(stand_in.is_some());
            }
            _ => sum.unpriced = 1,
        }
        Some(Row { request: answered.request, at: sum.at, model: told.model, sum })
    }

    /// Tokens that operations removed from the request. The estimate is scaled by the newest request of sufficient
    /// size; the rest after deleting nearly everything is too small.
    fn removed(&mut self, answered: &AnswerRecord, usage: &Usage, told: &CacheAnswer) -> i64 {
        let counted = usage.prompt().saturating_add(answered.cleared());
        let sent = answered.edited.map(|edited| edited.sent).or(answered.estimated);
        if let Some(sent) = sent.filter(|_| told.turn && answered.summary.is_none() && !answered.summarised) {
            told.model.iter().for_each(|model| self.calibration.is_for(model));
            self.calibration.learn(sent, counted);
        }
        let Some(edited) = answered.edited else { return 0 };
        let (own, sent) = (self.calibration.tokens(edited.own), self.calibration.tokens(edited.sent));
        own as i64 - sent as i64
    }

    /// The same request without operations, under the same cache.
    fn unedited(&self, usage: &ctx_models::Usage, removed: i64, told: &CacheAnswer) -> ctx_models::Usage {
        if removed == 0 && !told.edited {
            return *usage;
        }
        let prompt = usage.input.saturating_add_signed(removed);
        // A client without caching pays for all of it as input.
        if usage.cached() == 0 && self.held == 0 {
            return ctx_models::Usage { input: prompt, ..*usage };
        }
        let most = prompt.saturating_sub(usage.fresh());
        // The removed content is cached in the same proportion as the rest.
        let share = match told.held.unwrap_or(0) {
            0 => f64::from(u8::from(usage.cache_read > 0)),
            held => (usage.cache_read as f64 / held as f64).min(1.0),
        };
        let found = usage.cache_read.saturating_add_signed((removed as f64 * share).round() as i64);
        // Nothing would have been written again, however much of the edited request was.
        let read = if told.edited { found.max(self.held) } else { found };
        let read = read.min(most);
        usage.with_cache(read, most - read, self.story.ttl())
    }
}

fn billionths(price: &Price, usage: &ctx_models::Usage) -> i64 {
    (price.dollars(usage) * 1e9).round() as i64
}

pub fn dollars(billionths: i64) -> f64 {
    billionths as f64 / 1e9
}

impl Sum {
    pub fn add(&mut self, other: &Sum) {
        self.at = self.at.max(other.at);
        self.requests += other.requests;
        self.input += other.input;
        self.read += other.read;
        self.written += other.written;
        self.output += other.output;
        self.cleared += other.cleared;
        self.clearings += other.clearings;
        self.removed += other.removed;
        self.cost += other.cost;
        self.saved += other.saved;
        self.nearest += other.nearest;
        self.unpriced += other.unpriced;
        self.unweighed += other.unweighed;
    }

    pub fn spent(&self) -> Spending {
        Spending {
            requests: self.requests,
            input: self.input,
            cache_read: self.read,
            cache_write: self.written,
            output: self.output,
            cleared: self.cleared,
            clearings: self.clearings,
            removed: self.removed,
            cost: dollars(self.cost),
            saved: dollars(self.saved),
            nearest: self.nearest,
            unpriced: self.unpriced,
            unweighed: self.unweighed,
        }
    }
}
