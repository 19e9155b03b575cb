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
            remove_old(&settings.rules, desk.service.clone(), None, &metrics).await;
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
            let owner = Some((team, person));
            let removed = remove_old(&settings.rules, desk.service.clone(), owner, &metrics).await;
            if removed > 0 {
                let action = "expired".to_owned();
                enter(team, Event::Taken { owner: person, action, conversations: removed }).await;
            }
        }
    }
}

/// Removes all old conversations of one store.
async fn remove_old(
    rules: &Retention,
    service: Arc<Service>,
    owner: Option<(&Arc<Team>, u32)>,
    metrics: &Metrics,
) -> u64 {
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
        let count = some.len() as u64;
        removed += count;
        metrics.retained(count, remaining);
        if let Some((team, owner)) = owner {
            end_access(team, owner, &some).await;
        }
        if remaining == 0 {
            return removed;
        }
        tokio::time::sleep((began.elapsed() * REST).max(SHORTEST_REST)).await;
    }
}

/// Ends every access of others to conversations that are removed.
async fn end_access(team: &Arc<Team>, owner: u32, removed: &[String]) {
    let opened = team.registry().state().opened_to_others(owner, removed);
    if !opened.is_empty() {
        enter(team, Event::AccessEnded { owner, conversations: opened }).await;
    }
}

async fn enter(team: &Arc<Team>, event: Event) {
    let registry = team.registry().clone();
    let entered = tokio::task::spawn_blocking(move || registry.change(&Actor::OPERATOR, |_| Ok((event.clone(), ()))));
    if let Ok(Err(error)) = entered.await {
        tracing::warn!(%error, "the removal of old conversations could not be entered into the audit log");
    }
}
