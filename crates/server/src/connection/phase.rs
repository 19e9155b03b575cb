//! The phase of a client connection. The socket wrapper, the service and the reply's body each see only a part of it.
//! All run in one task; the atomics only make it shareable.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Just opened, without a byte.
    New,
    /// Part of a request's head has arrived.
    ReadingHead,
    /// A request is being served.
    Serving,
    /// The reply has been produced, but not completely written to the socket.
    Finishing,
    /// A reply of our own is ready as a whole; only the client's reading takes time now.
    ReplyingOwn,
    /// It has been produced, but not completely written to the socket.
    FinishingOwn,
    /// Between two requests.
    Resting,
    /// The parser refused the input, and our own response is being written.
    Refusing,
    /// It speaks another protocol now.
    Upgraded,
}

pub(super) struct PhaseCell {
    phase: AtomicU8,
    changes: AtomicU32,
    flushes: AtomicU32,
    writes: AtomicU32,
    /// In milliseconds since the first connection of this process.
    idle_since: AtomicU64,
}

impl Default for PhaseCell {
    fn default() -> Self {
        Self {
            phase: AtomicU8::new(Phase::New as u8),
            changes: AtomicU32::new(0),
            flushes: AtomicU32::new(0),
            writes: AtomicU32::new(0),
            idle_since: AtomicU64::new(0),
        }
    }
}

impl PhaseCell {
    pub(super) fn get(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            code if code == Phase::New as u8 => Phase::New,
            code if code == Phase::ReadingHead as u8 => Phase::ReadingHead,
            code if code == Phase::Serving as u8 => Phase::Serving,
            code if code == Phase::Finishing as u8 => Phase::Finishing,
            code if code == Phase::ReplyingOwn as u8 => Phase::ReplyingOwn,
            code if code == Phase::FinishingOwn as u8 => Phase::FinishingOwn,
            code if code == Phase::Resting as u8 => Phase::Resting,
            code if code == Phase::Upgraded as u8 => Phase::Upgraded,
            _ => Phase::Refusing,
        }
    }

    /// Increases with every change, so that an observer can tell "still" from "again".
    pub(super) fn changes(&self) -> u32 {
        self.changes.load(Ordering::Relaxed)
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// A reply that was being written is written.
    pub(super) fn finished(&self) {
        self.step(Phase::Finishing, Phase::Resting);
        self.step(Phase::FinishingOwn, Phase::Resting);
    }

    /// The socket took some bytes.
    pub(super) fn wrote(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn writes(&self) -> u32 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Everything produced so far has been written to the socket.
    pub(super) fn flushed(&self) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
    }

    /// Closing the connection now would lose nothing.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.get(), Phase::New | Phase::Resting)
    }

    /// The time since when it could be closed for others, if at all. A new client is about to send a request.
    pub(super) fn could_leave_since(&self) -> Option<u64> {
        const ABOUT_TO_ASK: Duration = Duration::from_secs(1);
        let since = self.idle_since.load(Ordering::Relaxed);
        let could = match self.get() {
            Phase::Resting => true,
            Phase::New => clock(Instant::now()).saturating_sub(since) >= ABOUT_TO_ASK.as_millis() as u64,
            _ => false,
        };
        could.then_some(since)
    }

    pub(super) fn idle(&self, since: Instant) {
        self.idle_since.store(clock(since), Ordering::Relaxed);
    }

    pub(super) fn step(&self, from: Phase, to: Phase) {
        if self.get() == from {
            self.enter(to);
        }
    }
}

/// Milliseconds since the first connection of this process.
fn clock(at: Instant) -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    at.saturating_duration_since(*FIRST.get_or_init(|| at)).as_millis() as u64
}

/// Travels with a reply's body. Its drop means that the reply has been produced.
pub(crate) struct Turn(Arc<PhaseCell>);

impl Turn {
    pub(super) fn new(phase: Arc<PhaseCell>) -> Self {
        Self(phase)
    }

    /// The reply is our own, and ready as a whole.
    pub(crate) fn reply_own(&self) {
        self.0.step(Phase::Serving, Phase::ReplyingOwn);
    }

    /// Increases whenever everything produced has been written.
    pub(crate) fn flushes(&self) -> u32 {
        self.0.flushes.load(Ordering::Relaxed)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.step(Phase::Serving, Phase::Finishing);
        self.0.step(Phase::ReplyingOwn, Phase::FinishingOwn);
    }
}
