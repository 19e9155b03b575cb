//! A service on a store, requests that pass it, and answers that come back.
//!
//! Bodies come from the kit's [`Session`]; what other clients or side requests look like is in
//! [`sides`]. Nothing here checks anything.

#![allow(dead_code)] // each test binary uses a part of it

use ctx_engine::attribution::SeenRequest;
use ctx_engine::request::Ticket;
use ctx_engine::response::Timing;
pub mod answers;
pub mod growing;
pub mod leaving;
pub mod sides;
pub mod stores;

use ctx_clients::Hints;
use ctx_service::Service;
use ctx_store::{MemoryStore, Store};
use ctx_wire::answer::{Answer, Ending};
use ctx_wire::rope::Arriving;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use testkit::Session;

pub const LONG: Duration = Duration::from_secs(60);

/// A service on a store, with a clock that always goes on.
pub struct House {
    pub service: Arc<Service>,
    pub store: Arc<dyn Store>,
    clock: AtomicU64,
}

pub type Headers = Vec<(String, String)>;

impl House {
    pub fn new() -> House {
        House::on(Arc::new(MemoryStore::new()))
    }

    pub fn on(store: Arc<dyn Store>) -> House {
        House::of(Service::open(store.clone()).expect("a service"), store)
    }

    pub fn of(service: Service, store: Arc<dyn Store>) -> House {
        House { service: Arc::new(service), store, clock: AtomicU64::new(1_000) }
    }

    /// Everything is dropped from memory; only what is stored remains.
    pub fn restart(self) -> House {
        let store = self.close();
        House::on(store)
    }

    /// The store, after the service is gone and all of it is written.
    pub fn close(self) -> Arc<dyn Store> {
        self.service.settle(LONG);
        self.store
    }

    pub fn now(&self) -> u64 {
        self.clock.fetch_add(10, Ordering::Relaxed)
    }

    pub fn pass(&self, headers: &Headers, body: &[u8]) -> Result<Option<Ticket>, ctx_engine::Problem> {
        let hints = hints(headers);
        let mut arriving = self.service.newest().get(&hints).map_or_else(Arriving::alone, Arriving::after);
        body.chunks(8000).for_each(|chunk| {
            arriving.push(chunk);
        });
        let body = arriving.finish();
        self.service.newest().passed(&hints, &body);
        self.service.observe(SeenRequest {
            wire: &ctx_wire::anthropic::Anthropic,
            hints,
            pieces: body,
            at: self.now(),
            counting: false,
        })
    }

    /// A request that must be understood.
    pub fn see(&self, headers: &Headers, body: &[u8]) -> Ticket {
        self.pass(headers, body).expect("readable").expect("belongs to a conversation")
    }

    /// The request that the session would send now.
    pub fn send(&self, session: &Session) -> Ticket {
        self.see(&session.headers(), &session.body())
    }

    /// The request that the session would send now, held until it is composed.
    pub fn hold(&self, session: &Session) -> (Ticket, Option<ctx_engine::compose::OutgoingRequest>) {
        self.hold_body(&session.headers(), &session.body())
    }

    /// The same for any body.
    pub fn hold_body(&self, headers: &Headers, body: &[u8]) -> (Ticket, Option<ctx_engine::compose::OutgoingRequest>) {
        let mut arriving = Arriving::alone();
        arriving.push(body);
        let (hints, pieces) = (hints(headers), arriving.finish());
        let seen =
            SeenRequest { wire: &ctx_wire::anthropic::Anthropic, hints, pieces, at: self.now(), counting: false };
        let mut leaves = None;
        let ticket = self.service.hold(seen, &mut |outgoing| leaves = outgoing).expect("readable");
        (ticket.expect("belongs to a conversation"), leaves)
    }

    pub fn send_value(&self, headers: &Headers, body: &Value) -> Ticket {
        self.see(headers, body.to_string().as_bytes())
    }

    pub fn answer(&self, ticket: &Ticket, answer: Answer) {
        let timing = Timing { at: self.now(), first_byte_ms: Some(5), total_ms: 20 };
        self.service.answered(ticket, Some(answer.ending), Some(answer), timing).expect("noted");
    }

    /// A plain text answer, complete.
    pub fn reply(&self, ticket: &Ticket, text: &str) {
        self.answer(ticket, answers::text(text, 1000));
    }

    pub fn fail(&self, ticket: &Ticket, ending: Option<Ending>) {
        let timing = Timing { at: self.now(), first_byte_ms: None, total_ms: 20 };
        self.service.answered(ticket, ending, None, timing).expect("noted");
    }

    pub fn compose(&self, conversation: &str) -> Vec<u8> {
        self.service.compose(conversation, None).expect("composes")
    }

    pub fn events(&self, conversation: &str) -> Vec<Value> {
        self.service.settle(LONG);
        let timeline = self.service.timeline(conversation, usize::MAX).expect("a timeline");
        let Value::Array(events) = serde_json::to_value(timeline.events).expect("JSON") else { return Vec::new() };
        events
    }

    /// What the newest request of a conversation was found to be.
    pub fn last(&self, conversation: &str) -> Sight {
        let events = self.events(conversation);
        let event = events.iter().rfind(|event| event["kind"] == "request").expect("a request");
        Sight {
            class: event["class"].as_str().unwrap_or_default().to_owned(),
            verdict: event["verdict"].as_str().unwrap_or_default().to_owned(),
            counts: [&event["known"], &event["new"], &event["changed"]].map(|count| count.as_u64().unwrap_or(u64::MAX)),
            detail: event["detail"].as_str().map(str::to_owned),
        }
    }

    /// Sends what the session would send now and tells how it was taken.
    pub fn judge(&self, session: &Session) -> Sight {
        let ticket = self.send(session);
        self.last(&ticket.conversation)
    }

    /// `(id, title)` of the turns.
    pub fn turns(&self, conversation: &str) -> Vec<(String, String)> {
        let frames = self.service.frames(conversation, false, None).expect("frames").frames;
        frames.into_iter().filter(|frame| frame.kind == "turn").map(|frame| (frame.id, frame.title)).collect()
    }

    pub fn titles(&self, conversation: &str) -> Vec<String> {
        self.turns(conversation).into_iter().map(|(_, title)| title).collect()
    }

    /// How many blobs and records are stored.
    pub fn stored(&self) -> (u64, u64) {
        self.service.settle(LONG);
        let size = self.store.size().expect("a size");
        (size.blobs, size.records)
    }

    pub fn ids(&self) -> Vec<String> {
        self.service.conversations().conversations.into_iter().map(|conversation| conversation.id).collect()
    }
}

/// What the timeline says of a request: counts of known, new and changed messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    pub class: String,
    pub verdict: String,
    pub counts: [u64; 3],
    pub detail: Option<String>,
}

impl Sight {
    pub fn is(&self, verdict: &str, counts: [u64; 3]) -> bool {
        self.verdict == verdict && self.counts == counts
    }
}

pub fn hints(headers: &Headers) -> Hints {
    let get = |name: &str| headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| &**value);
    Hints::read(get)
}

/// Sends a turn in pieces, held if it has to be. Returns its ticket, whether it was held, and the bytes that leave.
pub fn send(service: &Service, hints: Hints, body: &[u8], at: u64) -> (Ticket, bool, Vec<u8>) {
    let held = service.holds(&hints);
    let mut arriving = service.newest().get(&hints).map_or_else(Arriving::alone, Arriving::after);
    body.chunks(8000).for_each(|chunk| {
        arriving.push(chunk);
    });
    let wire = &ctx_wire::anthropic::Anthropic;
    let seen = SeenRequest { wire, hints, pieces: arriving.finish(), at, counting: false };
    let mut outgoing = None;
    let ticket = match held {
        true => service.hold(seen, &mut |ready| outgoing = ready),
        false => service.observe(seen),
    };
    let sent = outgoing.map_or_else(|| body.to_vec(), |outgoing| outgoing.bytes(body));
    (ticket.expect("readable").expect("a turn"), held, sent)
}

pub fn with(mut headers: Headers, name: &str, value: &str) -> Headers {
    headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    headers.push((name.to_owned(), value.to_owned()));
    headers
}

pub fn without(mut headers: Headers, name: &str) -> Headers {
    headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    headers
}

/// Headers of a script without a session.
pub fn nameless() -> Headers {
    vec![("user-agent".into(), "Anthropic/Python 2.8.0".into())]
}

/// The slots of the conversation's path, read from its log the way the log is meant.
pub fn slots(house: &House, conversation: &str) -> Vec<u64> {
    house.service.settle(LONG);
    let mut nodes: Vec<(Option<usize>, u64)> = Vec::new();
    let mut tip = None;
    for record in house.store.records(conversation, 0).expect("records").records {
        let body: Value = serde_json::from_slice(&record.body).expect("JSON");
        let turn = &body["turn"];
        if !turn.is_object() {
            continue;
        }
        if turn["restart"] == true {
            nodes.clear();
        }
        let mut at = turn["base"].as_u64().map(|node| node as usize);
        for slot in turn["slots"].as_array().expect("slots").iter().filter_map(Value::as_u64) {
            let known = nodes.iter().position(|node| *node == (at, slot));
            at = known.or_else(|| {
                nodes.push((at, slot));
                Some(nodes.len() - 1)
            });
        }
        if turn["current"] == true {
            tip = at;
        }
    }
    let mut path: Vec<u64> = Vec::new();
    while let Some(node) = tip {
        path.push(nodes[node].1);
        tip = nodes[node].0;
    }
    path.reverse();
    path
}
