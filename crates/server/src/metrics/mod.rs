//! Figures about the daemon as a whole, for `/metrics`. Labels have few values, none of which a client chooses: no
//! person, key, conversation or path is in them.

mod histogram;
mod listener;
mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ctx_api::requests::Usage;
use ctx_core::{Class, ErrorCode};
use ctx_service::recorder::{Composition, Withheld};
use ctx_service::{Meter, Recorder, Service};
use ctx_wire::answer;
use http::StatusCode;

use self::histogram::Histogram;
pub(crate) use self::listener::serve;
pub(crate) use self::text::{MEDIA, Page};
use crate::watch::Ending;

/// The kind of a forwarded request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestKind {
    Model,
    Count,
    Other,
}

/// Counters since the start, shared by all desks.
#[derive(Default)]
pub(crate) struct Metrics {
    kinds: [AtomicU64; 3],
    endings: [AtomicU64; 4],
    /// By the first digit of the status.
    statuses: [AtomicU64; 5],
    /// Composed, unchanged, refused.
    held: [AtomicU64; 3],
    in_flight: AtomicU64,
    /// By class and outcome.
    classes: [[AtomicU64; 4]; 4],
    added: Histogram,
    composing: Histogram,
    first_byte: Histogram,
    confirming: Histogram,
    loading: Histogram,
    found: AtomicU64,
    expired: AtomicU64,
    due: AtomicU64,
    refused: Mutex<BTreeMap<&'static str, u64>>,
    tokens: Mutex<BTreeMap<String, Usage>>,
    closed: Mutex<ServiceSums>,
}

const KINDS: [&str; 3] = ["model", "count", "other"];
const ENDINGS: [&str; 4] = ["complete", "cut", "cancelled", "unreachable"];
const STATUSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
const HELD: [&str; 3] = ["composed", "unchanged", "refused"];
const CLASSES: [Class; 4] = [Class::Main, Class::Subagent, Class::Compaction, Class::Auxiliary];

fn count(counters: &[AtomicU64], index: usize) {
    if let Some(counter) = counters.get(index) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Metrics {
    pub(crate) fn requested(&self, kind: RequestKind) {
        count(&self.kinds, kind as usize);
    }

    /// An observed exchange begins.
    pub(crate) fn began(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// A model call leaves. `after`: what the daemon itself took for it.
    pub(crate) fn left(&self, after: Duration) {
        self.added.add(after);
    }

    pub(crate) fn responded(&self, status: StatusCode, after: Duration) {
        count(&self.statuses, usize::from(status.as_u16() / 100).wrapping_sub(1));
        self.first_byte.add(after);
    }

    pub(crate) fn ended(&self, ending: Ending) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        count(&self.endings, ending as usize);
    }

    /// A held request was composed, or must not leave.
    pub(crate) fn composed(&self, composed: &Result<Composition, Withheld>, after: Duration) {
        let outcome = match composed {
            Ok(Composition { outgoing: Some(_), .. }) => 0,
            Ok(_) => 1,
            Err(_) => 2,
        };
        if composed.is_ok() {
            self.left(after);
        }
        count(&self.held, outcome);
        self.composing.add(after);
    }

    /// The daemon answered a request in place of the provider.
    pub(crate) fn refused(&self, code: ErrorCode) {
        *lock(&self.refused).entry(code.as_str()).or_default() += 1;
    }

    /// Old conversations were removed, and some are still there.
    pub(crate) fn retained(&self, removed: u64, remaining: u64) {
        self.expired.fetch_add(removed, Ordering::Relaxed);
        self.due.store(remaining, Ordering::Relaxed);
    }

    /// The service of a person is about to be closed; its counters go on counting.
    pub(crate) fn closing(&self, service: &Service, recorder: &Recorder) {
        lock(&self.closed).add_counters(service, recorder);
    }

    /// The sums of services that are no longer open.
    pub(crate) fn closed(&self) -> ServiceSums {
        *lock(&self.closed)
    }

    /// Writes everything that is counted here.
    pub(crate) fn write(&self, page: &mut Page) {
        page.counters("ctx_requests_total", "Forwarded requests.", "kind", &KINDS, &self.kinds);
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        page.gauge("ctx_requests_in_flight", "Model calls without a complete response.", in_flight as f64);
        page.counters("ctx_exchanges_total", "Ended model calls.", "outcome", &ENDINGS, &self.endings);
        page.counters("ctx_responses_total", "Responses to model calls.", "status", &STATUSES, &self.statuses);
        page.begin("ctx_classified_requests_total", "Ended model calls by the class of their request.", "counter");
        for (class, counters) in CLASSES.iter().zip(&self.classes) {
            for (ending, counter) in ENDINGS.iter().zip(counters) {
                let labels = [("class", class.name()), ("outcome", *ending)];
                page.sample("ctx_classified_requests_total", &labels, counter.load(Ordering::Relaxed) as f64);
            }
        }
        page.histogram(
            "ctx_added_seconds",
            "Time that the daemon itself takes before a model call leaves.",
            &self.added,
        );
        page.histogram(
            "ctx_first_byte_seconds",
            "Time from the head of a model call to the head of its response.",
            &self.first_byte,
        );
        page.counters("ctx_held_requests_total", "Requests that waited for edits.", "outcome", &HELD, &self.held);
        page.histogram(
            "ctx_compose_seconds",
            "Time from the last byte of a held request until it was composed.",
            &self.composing,
        );
        page.histogram(
            "ctx_confirm_seconds",
            "Time that an edit waits until the other daemons know it.",
            &self.confirming,
        );
        page.histogram("ctx_load_seconds", "Time for reading a conversation from the store.", &self.loading);
        let found = self.found.load(Ordering::Relaxed);
        page.counter("ctx_memory_hits_total", "Conversations that were needed and in memory.", found);
        let expired = self.expired.load(Ordering::Relaxed);
        page.counter("ctx_retention_removed_total", "Conversations removed because of their age.", expired);
        let due = self.due.load(Ordering::Relaxed);
        page.gauge("ctx_retention_remaining", "Conversations that are due and still there.", due as f64);
        page.begin("ctx_refused_requests_total", "Requests that the daemon answered with an error.", "counter");
        for (code, number) in &*lock(&self.refused) {
            page.sample("ctx_refused_requests_total", &[("code", code)], *number as f64);
        }
        page.begin("ctx_tokens_total", "Tokens that the providers counted.", "counter");
        for (model, usage) in &*lock(&self.tokens) {
            let Usage { input, cache_read, cache_write, output, .. } = *usage;
            let kinds =
                [("input", input), ("cache_read", cache_read), ("cache_write", cache_write), ("output", output)];
            for (kind, number) in kinds {
                page.sample("ctx_tokens_total", &[("model", model), ("kind", kind)], number as f64);
            }
        }
    }
}

impl Meter for Metrics {
    fn used(&self, model: &str, usage: &Usage) {
        let mut tokens = lock(&self.tokens);
        if !tokens.contains_key(model) {
            tokens.insert(model.to_owned(), Usage::default());
        }
        let Some(sum) = tokens.get_mut(model) else { return };
        sum.input += usage.input;
        sum.cache_read += usage.cache_read;
        sum.cache_write += usage.cache_write;
        sum.output += usage.output;
    }

    fn answered(&self, class: Class, ending: Option<answer::Ending>) {
        let Some(counters) = CLASSES.iter().position(|known| *known == class).and_then(|at| self.classes.get(at))
        else {
            return;
        };
        let ending = match ending {
            Some(answer::Ending::Complete) => Ending::Complete,
            Some(answer::Ending::Cut) => Ending::Cut,
            Some(answer::Ending::Cancelled) => Ending::Cancelled,
            None => Ending::Unreachable,
        };
        count(counters, ending as usize);
    }

    fn found(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }

    fn loaded(&self, after: Duration) {
        self.loading.add(after);
    }

    fn confirmed(&self, after: Duration) {
        self.confirming.add(after);
    }
}

/// Figures of services, summed over people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServiceSums {
    conversations: u64,
    edited: u64,
    queued_bytes: u64,
    waiting_bytes: u64,
    dropped: u64,
    unreadable: u64,
    unsaved: u64,
    conflicts: u64,
    appends: u64,
    loaded: u64,
    loaded_bytes: u64,
    oldest_waiting: Duration,
}

impl ServiceSums {
    pub(crate) fn add(&mut self, service: &Service, recorder: &Recorder) {
        let load = recorder.load();
        self.conversations += service.conversation_count() as u64;
        self.edited += service.edited_count() as u64;
        self.queued_bytes += load.queued_bytes;
        self.waiting_bytes += service.waiting_bytes();
        self.oldest_waiting = self.oldest_waiting.max(service.oldest_waiting());
        let (loaded, bytes) = service.loaded();
        self.loaded += loaded as u64;
        self.loaded_bytes += bytes as u64;
        self.add_counters(service, recorder);
    }

    fn add_counters(&mut self, service: &Service, recorder: &Recorder) {
        let load = recorder.load();
        self.dropped += load.dropped;
        self.unreadable += load.unreadable;
        self.unsaved += service.unsaved();
        self.conflicts += service.conflicts();
        self.appends += service.appends();
    }

    pub(crate) fn write(&self, page: &mut Page) {
        page.gauge("ctx_conversations", "Conversations of the people served now.", self.conversations as f64);
        page.gauge("ctx_edited_conversations", "Those with edits.", self.edited as f64);
        page.gauge("ctx_loaded_conversations", "Conversations in memory.", self.loaded as f64);
        page.gauge("ctx_loaded_bytes", "Their bytes, about.", self.loaded_bytes as f64);
        page.gauge("ctx_recorder_queue_bytes", "Copies that wait to be read.", self.queued_bytes as f64);
        page.counter("ctx_recorder_dropped_total", "Copies dropped for lack of memory.", self.dropped);
        page.counter("ctx_recorder_unreadable_total", "Requests that could not be parsed.", self.unreadable);
        page.gauge("ctx_store_waiting_bytes", "Bytes that wait for the store.", self.waiting_bytes as f64);
        let oldest = self.oldest_waiting.as_secs_f64();
        page.gauge("ctx_store_oldest_waiting_seconds", "For how long the oldest of them waits.", oldest);
        page.counter("ctx_store_appends_total", "Steps that were stored.", self.appends);
        page.counter("ctx_store_unsaved_total", "Records that could not be stored.", self.unsaved);
        page.counter("ctx_store_conflicts_total", "Steps that another daemon overtook.", self.conflicts);
    }
}
