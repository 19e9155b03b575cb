//! Health checks for container runtimes and load balancers. They need no credentials and never ask the database: a
//! daemon that lost it still forwards, and must not be taken out of rotation.

use std::sync::Arc;

use axum::body::Body;
use ctx_service::Service;
use http::{Response, StatusCode};
use serde_json::json;

use super::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// The process answers.
    Live,
    /// It forwards requests and will go on doing so.
    Ready,
    /// It can reach its store, so edits and new conversations are stored.
    Store,
}

impl Probe {
    pub(super) fn of(path: &str) -> Option<Probe> {
        match path {
            "/control/health" | "/control/health/live" => Some(Probe::Live),
            "/control/health/ready" => Some(Probe::Ready),
            "/control/health/store" => Some(Probe::Store),
            _ => None,
        }
    }

    pub(super) fn answer(self, is_draining: bool, service: Option<&Arc<Service>>) -> Response<Body> {
        let away = service.and_then(|service| service.presence()).and_then(|presence| presence.away);
        let store = if away.is_some() { "away" } else { "present" };
        let state = if is_draining { "draining" } else { "serving" };
        let (is_well, value) = match self {
            Probe::Live => (true, json!({ "healthy": true })),
            Probe::Ready => (!is_draining, json!({ "ready": !is_draining, "state": state, "store": store })),
            Probe::Store => {
                let seconds = away.map(|away| away.as_secs());
                (away.is_none(), json!({ "store": store, "away_seconds": seconds }))
            }
        };
        json(if is_well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &value)
    }
}
