//! Routes requests to replies, without I/O, and holds the state that all connections share.

use super::messages::{self, Memory};
use super::records::{Outcome, RequestRecord};
use super::stream::Move;
use super::{Options, QueuedAnswer};
use crate::observed::ObservedValue;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) struct Provider {
    pub(crate) options: Options,
    pub(crate) records: ObservedValue<RequestRecord>,
    pub(crate) started: Instant,
    numbers: AtomicU64,
    memory: Mutex<Memory>,
}

/// The reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The delay before the head.
    pub(crate) delay: Duration,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    Json(Value),
    Stream { moves: Vec<Move>, slow: Duration },
}

impl Reply {
    pub(crate) fn json(status: u16, value: Value) -> Self {
        Self { status, delay: Duration::ZERO, content: Content::Json(value) }
    }

    pub(crate) fn stream(moves: Vec<Move>, slow: Duration) -> Self {
        Self { status: 200, delay: Duration::ZERO, content: Content::Stream { moves, slow } }
    }

    /// An error in the API's format.
    pub(crate) fn error(status: u16, sentence: &str) -> Self {
        let kind = error_kind(status).unwrap_or("api_error");
        let error = json!({
            "type": "error",
            "error": {"type": kind, "message": sentence},
            "request_id": "req_fake",
        });
        Self::json(status, error)
    }

    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

pub(crate) fn error_kind(status: u16) -> Option<&'static str> {
    Some(match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        500 | 502 | 503 => "api_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        _ => return None,
    })
}

impl Provider {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            records: ObservedValue::new(),
            started: Instant::now(),
            numbers: AtomicU64::new(1),
            memory: Mutex::default(),
        }
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enqueue(&self, answer: QueuedAnswer) -> usize {
        let queue = &mut self.memory().script.queue;
        queue.push_back(answer);
        queue.len()
    }

    pub(crate) fn reset(&self) {
        *self.memory() = Memory::default();
        self.records.change(Vec::clear);
    }

    /// The reply to a request of the provider's own API, with its record.
    pub(crate) fn reply(&self, request: &RequestRecord, body: Option<&Value>) -> (Reply, Option<Value>) {
        let reply = match (request.method.as_str(), request.path()) {
            ("POST", "/v1/messages") => {
                let headers = &request.headers;
                let (reply, answer) = messages::reply(&self.options, &mut self.memory(), headers, body);
                return (reply, Some(answer));
            }
            ("POST", "/v1/messages/count_tokens") => {
                let empty = json!({});
                let counted = body.filter(|body| super::json::is_truthy(Some(body)));
                let json = super::json::compact(counted.unwrap_or(&empty));
                Reply::json(200, json!({"input_tokens": super::json::tokens(&json)}))
            }
            ("GET", "/v1/models") => Reply::json(200, models(&self.options)),
            ("GET", path) if path.starts_with("/v1/models/") => {
                let id = path.rsplit('/').next().unwrap_or_default();
                Reply::json(200, model(id, "Fake Opus"))
            }
            ("GET" | "HEAD", "/" | "/api/hello") => Reply::json(200, json!({})),
            _ if self.options.unknown_ok => Reply::json(200, json!({})),
            _ => Reply::error(404, "Not found"),
        };
        (reply, None)
    }

    /// The reply to a request of a test that controls the provider.
    pub(crate) fn control(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        match (method, path) {
            ("POST", "/_fake/reset") => {
                self.reset();
                Reply::json(200, json!({"ok": true}))
            }
            ("POST", "/_fake/enqueue") => {
                let answer =
                    body.map_or_else(|| Ok(QueuedAnswer::default()), |body| serde_json::from_value(body.clone()));
                match answer {
                    Ok(answer) => Reply::json(200, json!({"queued": self.enqueue(answer)})),
                    Err(error) => Reply::error(400, &format!("not an answer: {error}")),
                }
            }
            ("GET", "/_fake/requests") => {
                let records = self.records.all();
                Reply::json(200, records.iter().map(RequestRecord::summary).collect())
            }
            ("GET", path) => {
                let number = path.strip_prefix("/_fake/requests/");
                let wanted = |record: &RequestRecord| Some(&*record.number.to_string()) == number;
                match self.records.all().into_iter().find(wanted) {
                    Some(record) => Reply::json(200, record.whole()),
                    None => Reply::error(404, "Not found"),
                }
            }
            _ => Reply::error(404, "Not found"),
        }
    }

    pub(crate) fn received(&self, record: RequestRecord) {
        record.save(&self.options);
        self.records.change(|records| records.push(record));
    }

    pub(crate) fn decided(&self, number: u64, answer: Value) {
        self.update(number, |record| {
            record.answer = Some(answer);
            record.save_answer(&self.options);
        });
    }

    pub(crate) fn ended(&self, number: u64, outcome: Outcome) {
        self.update(number, |record| {
            record.outcome = Some(outcome);
            if self.options.forget_bodies {
                record.body = bytes::Bytes::new();
            }
        });
    }

    fn update(&self, number: u64, change: impl FnOnce(&mut RequestRecord)) {
        self.records.change(|records| {
            let found = records.iter_mut().rev().find(|record| record.number == number);
            if let Some(record) = found {
                change(record);
            }
        });
    }
}

fn model(id: &str, name: &str) -> Value {
    json!({
        "type": "model", "id": id, "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
    })
}

fn models(options: &Options) -> Value {
    let told = options.models.iter().map(|(id, more)| {
        let mut told = model(id, id);
        more.as_object().into_iter().flatten().for_each(|(key, value)| told[key] = value.clone());
        told
    });
    let usual = [model("claude-opus-fake", "Fake Opus"), model("claude-haiku-fake", "Fake Haiku")];
    let data: Vec<Value> = usual.into_iter().chain(told).collect();
    json!({
        "data": data,
        "has_more": false,
        "first_id": "claude-opus-fake",
        "last_id": "claude-haiku-fake",
    })
}
