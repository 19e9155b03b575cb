//! The control API, `/control/v1/…`: thin handlers over the composer. What they show is made there.

mod edit;
mod live;
mod read;
mod search;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use ctx_composer::view::Refusal;
use ctx_composer::{Composer, Recorder, now};
use http::StatusCode;

use crate::observer::Traffic;
use crate::rooms::ControlError;

/// A reader sees all that passed before it asked, unless the disk is slower than this.
const SETTLE: Duration = Duration::from_millis(500);

/// The provider takes no request half as large.
const LARGEST_BODY: usize = 64 * 1024 * 1024;

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
        .route("/conversations/{conversation}/explain", get(read::explain))
        .route("/conversations/{conversation}/diff", get(read::diff))
        .route("/conversations/{conversation}/history", get(read::history).post(edit::history))
        .route("/conversations/{conversation}/branches", get(read::branches))
        .route("/conversations/{conversation}/tags", get(read::tags))
        .route("/conversations/{conversation}/operations", post(edit::operations))
        .route("/conversations/{conversation}/heal", post(edit::heal))
        .route("/conversations/{conversation}/timeline", get(read::timeline))
        .route("/search", get(search::search))
        .route("/events", get(live::events))
        .route("/purge", post(read::purge))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(api)
}

fn refused(refusal: Refusal) -> ControlError {
    ControlError::new(status_of(refusal.code), refusal.code, refusal.message, refusal.hint)
}

fn status_of(code: &str) -> StatusCode {
    match code {
        "store" | "not-written" => StatusCode::INTERNAL_SERVER_ERROR,
        "not-stored" => StatusCode::INSUFFICIENT_STORAGE,
        "stale" | "taken" | "incomplete" | "credential" => StatusCode::CONFLICT,
        "no-conversation" => StatusCode::NOT_FOUND,
        code if code.starts_with("unknown-") => StatusCode::NOT_FOUND,
        code if code.starts_with("ambiguous-") || code.starts_with("bad-") => StatusCode::BAD_REQUEST,
        // It was understood, and cannot be done to this conversation.
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}
