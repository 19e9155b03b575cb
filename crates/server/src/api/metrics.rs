//! The metrics of the daemon, for the people who operate it.

use axum::response::IntoResponse;
use http::header;

use super::Api;
use crate::local::ControlError;
use crate::metrics::{MEDIA, Page};

/// In a team, for those who may see figures of everyone.
pub async fn metrics(api: Api) -> Result<impl IntoResponse, ControlError> {
    if api.0.seat.is_some() {
        api.auditor()?;
    }
    Ok(([(header::CONTENT_TYPE, MEDIA)], api.page().into_text()))
}

impl Api {
    /// Everything known without asking the store.
    fn page(&self) -> Page {
        let (inside, mut page) = (&self.0, Page::default());
        page.begin("ctx_build_info", "The version of the daemon.", "gauge");
        page.sample("ctx_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
        let started = inside.around.started_at as f64 / 1000.0;
        page.gauge("ctx_start_time_seconds", "The start, in seconds since 1970.", started);
        if let Some(bytes) = super::read::memory() {
            page.gauge("ctx_resident_memory_bytes", "The memory of the process.", bytes as f64);
        }
        inside.around.metrics.write(&mut page);
        let mut sums = inside.around.metrics.closed();
        match inside.seat.as_ref().and_then(|seat| seat.team()) {
            None => sums.add(&inside.service, &inside.recorder),
            Some(team) => {
                let desks = team.open_desks();
                page.gauge("ctx_open_people", "People whose conversations are open.", desks.len() as f64);
                desks.iter().for_each(|desk| sums.add(&desk.service, &desk.recorder));
            }
        }
        sums.write(&mut page);
        let presence = inside.service.presence().unwrap_or_default();
        let away = presence.away.unwrap_or_default().as_secs_f64();
        page.gauge("ctx_store_away_seconds", "For how long the database is out of reach; 0 while it answers.", away);
        let age = presence.lease_age.as_secs_f64();
        page.gauge("ctx_lease_age_seconds", "Time since the other daemons last heard of this one.", age);
        let blind = f64::from(u8::from(presence.is_blind()));
        page.gauge("ctx_blind", "1 while edits elsewhere are acknowledged without this daemon.", blind);
        page.counter(
            "ctx_store_late_calls_total",
            "Calls of the database that did not end in time.",
            presence.late_calls,
        );
        let (running, silent): (Vec<_>, Vec<_>) =
            presence.others.into_iter().map(super::read::other_daemon).partition(|other| !other.is_silent());
        page.begin("ctx_other_daemons", "The other daemons on the same database.", "gauge");
        page.sample("ctx_other_daemons", &[("state", "running")], running.len() as f64);
        page.sample("ctx_other_daemons", &[("state", "silent")], silent.len() as f64);
        page
    }
}
