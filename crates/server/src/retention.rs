//! Removes old conversations in the background, a few at a time, and for at most a tenth of the time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx_service::{Retention, RetentionBatch, Service};
use ctx_team::{Actor, Event};

use crate::metrics::Metrics;
use crate::team::{Desk, Team};

/// The pause after a batch, as a multiple of the time that it took.
const REST: u32 = 9;
const SHORTEST_REST: Duration = Duration::from_millis(20);
/// The first run comes soon: not every daemon runs for hours.
const FIRST: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionSettings {
    pub rules: Retention,
    /// The pause between two runs.
    pub every: Duration,
}

impl RetentionSettings {
    pub fn new(rules: Retention) -> Self {
        Self { rules, every: Duration::from_secs(3600) }
    }
}

/// Runs until it is dropped.
pub(crate) async fn run(settings: RetentionSettings, desk: Arc<Desk>, team: Option<Arc<Team>>, metrics: Arc<Metrics>) {
    let mut pause = settings.every.min(FIRST);
    loop {
        tokio::time::sleep(pause).await;
        pause = settings.every;
        let Some(team) = &team else {
            remove_old(&settings.rules, desk.service.clone(), &metrics).await;
            continue;
        };
        let everyone = team.registry().state().everyone();
        for person in everyone.into_iter().chain([Actor::OPERATOR.id]) {
            let desk = match team.desk(person).await {
                Ok(desk) => desk,
                Err(error) => {
                    tracing::warn!(%error, "old conversations of a person were not removed; the next run does it");
                    continue;
                }
            };
            let removed = remove_old(&settings.rules, desk.service.clone(), &metrics).await;
            if removed > 0 {
                note(team, person, removed).await;
            }
        }
    }
}

/// Removes all old conversations of one store.
async fn remove_old(rules: &Retention, service: Arc<Service>, metrics: &Metrics) -> u64 {
    let mut removed = 0;
    loop {
        let (began, rules, service) = (Instant::now(), *rules, service.clone());
        let batch = match tokio::task::spawn_blocking(move || service.retain(&rules)).await {
            Ok(Ok(batch)) => batch,
            Ok(Err(error)) => {
                tracing::warn!(error = %error.message, "old conversations were not removed; the next run does it");
                return removed;
            }
            Err(error) => {
                tracing::error!(%error, "removing old conversations failed");
                return removed;
            }
        };
        let RetentionBatch { removed: some, remaining } = batch;
        removed += some;
        metrics.retained(some, remaining);
        if remaining == 0 {
            return removed;
        }
        tokio::time::sleep((began.elapsed() * REST).max(SHORTEST_REST)).await;
    }
}

async fn note(team: &Arc<Team>, owner: u32, conversations: u64) {
    let registry = team.registry().clone();
    let noted = tokio::task::spawn_blocking(move || {
        let event = Event::Taken { owner, action: "expired".to_owned(), conversations };
        registry.change(&Actor::OPERATOR, |_| Ok((event.clone(), ())))
    });
    if let Ok(Err(error)) = noted.await {
        tracing::warn!(%error, "the removal of old conversations could not be entered into the audit log");
    }
}
