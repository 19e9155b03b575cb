//! Replies while they grow, for whoever watches. Nothing of it is stored, and nobody is waited for.

use crate::directory::lock;
use crate::now;
use crate::observe::Ticket;
use ctx_wire::answer::{Growth, Progress, Tap};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A reply is told at most so often.
pub const PAUSE: Duration = Duration::from_millis(200);

/// What came of a reply since it was told last. Once it is there as a whole, an `answer` is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Streaming {
    #[schemars(extend("const" = "streaming"))]
    pub kind: &'static str,
    pub conversation: String,
    pub request: u32,
    /// Counts what is told of this reply, from 0. One that is missing was dropped, or told before anybody listened.
    pub piece: u32,
    /// The block of the reply, counted from 0.
    pub block: u64,
    /// `text`, `thinking` or `tool`: the arguments of a call.
    pub part: &'static str,
    pub tool: Option<String>,
    /// What was added to it.
    pub text: String,
    pub at: u64,
}

type Listener = Box<dyn Fn(&Streaming) + Send>;

#[derive(Default)]
pub struct Streams {
    count: AtomicUsize,
    next: AtomicU64,
    listeners: Mutex<Vec<(u64, Listener)>>,
}

/// Somebody watches until it is dropped.
pub struct Watching {
    streams: Arc<Streams>,
    number: u64,
}

impl Streams {
    /// Calls `listener` with all that is told. It must not wait.
    pub fn watch(self: &Arc<Self>, listener: impl Fn(&Streaming) + Send + 'static) -> Watching {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.listeners).push((number, Box::new(listener)));
        self.count.fetch_add(1, Ordering::Relaxed);
        Watching { streams: self.clone(), number }
    }

    pub fn are_watched(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.streams.count.fetch_sub(1, Ordering::Relaxed);
        lock(&self.streams.listeners).retain(|(number, _)| *number != self.number);
    }
}

/// How much of a reply was told.
#[derive(Default)]
pub struct Telling {
    told: Progress,
    pieces: u32,
}

impl Telling {
    /// Tells what is new.
    pub fn tell(&mut self, streams: &Streams, ticket: &Ticket, tap: &dyn Tap) {
        for Growth { block, part, tool, text } in tap.grown(&mut self.told) {
            let streaming = Streaming {
                kind: "streaming",
                conversation: ticket.conversation.clone(),
                request: ticket.request,
                piece: self.pieces,
                block,
                part,
                tool,
                text,
                at: now(),
            };
            self.pieces += 1;
            lock(&streams.listeners).iter().for_each(|(_, listener)| listener(&streaming));
        }
    }
}
