//! The control API, `/control/v1/…`: thin handlers over the composer. What they show is made there.

mod live;
mod read;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use ctx_composer::view::Refusal;
use ctx_composer::{Composer, Recorder, now};
use http::StatusCode;

use crate::observer::Traffic;
use crate::rooms::ControlError;

/// A reader sees all that passed before it asked, unless the disk is slower than this.
const SETTLE: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub struct Api(Arc<Inside>);

struct Inside {
    composer: Arc<Composer>,
    recorder: Recorder,
    traffic: Arc<Traffic>,
    upstream: String,
    home: PathBuf,
    store_path: PathBuf,
    started_at: u64,
    listen: OnceLock<SocketAddr>,
}

impl Api {
    pub fn new(
        composer: Arc<Composer>,
        recorder: Recorder,
        traffic: Arc<Traffic>,
        upstream: String,
        home: PathBuf,
        store_path: PathBuf,
    ) -> Api {
        Api(Arc::new(Inside {
            composer,
            recorder,
            traffic,
            upstream,
            home,
            store_path,
            started_at: now(),
            listen: OnceLock::new(),
        }))
    }

    /// Known only once the port is open.
    pub fn listens_on(&self, address: SocketAddr) {
        let _ = self.0.listen.set(address);
    }

    /// Runs `ask` where it may block, after everything that has passed is known.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Composer) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, ControlError> {
        let api = self.clone();
        let asked = tokio::task::spawn_blocking(move || {
            api.0.recorder.settle(SETTLE);
            ask(&api.0.composer)
        });
        match asked.await {
            Ok(answer) => answer.map_err(refused),
            Err(_) => Err(ControlError::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "The daemon could not finish this; it is a defect.",
                "Forwarding goes on. Please report it with the daemon's log.",
            )),
        }
    }
}

/// The routes, relative to `/control/v1`.
pub fn router(api: Api) -> Router {
    Router::new()
        .route("/status", get(read::status))
        .route("/conversations", get(read::conversations))
        .route("/conversations/{conversation}/frames", get(read::frames))
        .route("/conversations/{conversation}/frames/{*id}", get(read::show))
        .route("/conversations/{conversation}/compose", get(read::compose))
        .route("/conversations/{conversation}/timeline", get(read::timeline))
        .route("/events", get(live::events))
        .route("/purge", post(read::purge))
        .with_state(api)
}

fn refused(refusal: Refusal) -> ControlError {
    let status = match refusal.code {
        "unknown-conversation" | "no-conversation" | "unknown-id" => StatusCode::NOT_FOUND,
        "ambiguous-conversation" => StatusCode::BAD_REQUEST,
        "incomplete" | "credential" => StatusCode::CONFLICT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    ControlError::new(status, refusal.code, refusal.message, refusal.hint)
}
