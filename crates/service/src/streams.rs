//! Growing replies, for watchers. They are not stored, and never wait for a watcher.

use crate::clock::now;
use crate::threads::lock;
use ctx_api::live::Streaming;
use ctx_engine::request::Ticket;
use ctx_wire::answer::{Growth, Progress, Tap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The minimum time between two updates of a reply.
pub const PAUSE: Duration = Duration::from_millis(200);

type Listener = Box<dyn Fn(&Streaming) + Send>;

#[derive(Default)]
pub struct Streams {
    count: AtomicUsize,
    next: AtomicU64,
    listeners: Mutex<Vec<(u64, Listener)>>,
}

/// Keeps a watcher registered until it is dropped.
pub struct Watching {
    streams: Arc<Streams>,
    number: u64,
}

impl Streams {
    /// Calls `listener` with all updates. It must not wait.
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

/// The published part of a reply.
#[derive(Default)]
pub struct Telling {
    told: Progress,
    pieces: u32,
}

impl Telling {
    /// Publishes the new part.
    pub fn tell(&mut self, streams: &Streams, ticket: &Ticket, tap: &dyn Tap) {
        for Growth { block, part, tool, text } in tap.grown(&mut self.told) {
            let streaming = Streaming {
                kind: "streaming".to_owned(),
                conversation: ticket.conversation.clone(),
                request: ticket.request,
                piece: self.pieces,
                block,
                part: part.to_owned(),
                tool,
                text,
                at: now(),
            };
            self.pieces += 1;
            lock(&streams.listeners).iter().for_each(|(_, listener)| listener(&streaming));
        }
    }
}
