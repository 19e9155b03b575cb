//! Timeouts of a client connection: short for a request's head (slow loris), long for an idle connection, and for a client
//! that does not read what we write.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::phase::{Phase, PhaseCell};
use crate::config::Limits;

pub(super) struct Patience {
    head: Duration,
    rest: Duration,
    reading: Duration,
    /// Changes of the phase, and writes.
    seen: (u32, u32),
    since: Instant,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            head: limits.head_timeout,
            rest: limits.client_idle_timeout,
            reading: limits.body_idle_timeout,
            seen: (0, 0),
            since: Instant::now(),
            alarm: None,
        }
    }

    pub(super) fn is_over(&mut self, phase: &PhaseCell, context: &mut Context<'_>) -> bool {
        let limit = match phase.get() {
            Phase::New | Phase::ReadingHead => self.head,
            Phase::Resting => self.rest,
            Phase::ReplyingOwn | Phase::FinishingOwn => self.reading,
            // The upstream may take any time, an agent may be suspended, and bodies have their own limit.
            Phase::Serving | Phase::Finishing | Phase::Refusing | Phase::Upgraded => return false,
        };
        let seen = (phase.changes(), phase.writes());
        if self.seen != seen {
            self.seen = seen;
            self.since = Instant::now();
            phase.idle(self.since);
        }
        let deadline = self.since + limit;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        // A timer that fires too early is set again; only one that would fire too late is moved.
        if alarm.deadline() > deadline {
            alarm.as_mut().reset(deadline);
        }
        while alarm.as_mut().poll(context).is_ready() {
            if Instant::now() >= deadline {
                return true;
            }
            alarm.as_mut().reset(deadline);
        }
        false
    }
}
