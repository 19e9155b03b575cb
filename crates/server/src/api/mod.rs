//! The control API, `/control/v1/…`: thin handlers over the service. What they show is made there.

mod automatic;
mod edit;
mod explain;
mod helper;
mod live;
mod openapi;
mod phases;
mod plan;
mod read;
mod search;
mod stats;
mod transfer;
mod waiting;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use ctx_api::cache::Misses;
use ctx_api::context::{ContextView, WorthView};
use ctx_api::conversations::{Conversations, Imported};
use ctx_api::edit::{Applied, Wish};
use ctx_api::frames::Frames;
use ctx_api::history::{Branches, Diff, HistoryView, Tags, Way};
use ctx_api::map::ContextMap;
use ctx_api::models::ModelsView;
use ctx_api::phases::{PhaseWish, PhasesView};
use ctx_api::plan::{Plan, PlanView};
use ctx_api::requests::SentView;
use ctx_api::search::Found;
use ctx_api::show::Shown;
use ctx_api::stats::Stats;
use ctx_api::timeline::Timeline;
use ctx_api::waiting::{PendingOutcome, WaitView, WaitingView};
use ctx_engine::Refusal;
use ctx_service::{Recorder, Service, now};

use self::openapi::{Routes, told};
use crate::helper::{Helper, Jobs};
use crate::local::ControlError;
use crate::observer::Traffic;
use ctx_api::cache::MissesQuery;
use ctx_api::conversations::{ImportQuery, Purge, Purged};
use ctx_api::edit::{Clear, Heal};
use ctx_api::explain::{Term, Terms};
use ctx_api::frames::{AtQuery, FramesQuery};
use ctx_api::helper::{HelperTested, HelperView, JobView};
use ctx_api::history::{DiffQuery, HistoryQuery};
use ctx_api::live::{After, LiveEvent};
use ctx_api::requests::Explanation;
use ctx_api::search::SearchQuery;
use ctx_api::stats::StatsQuery;
use ctx_api::status::{Status, UpstreamView};
use ctx_api::timeline::TimelineQuery;
use ctx_api::waiting::{Cancel, Several};
use ctx_core::ErrorCode;

/// A reader sees all that passed before it asked, unless the disk is slower than this.
const SETTLE: Duration = Duration::from_millis(500);

/// The provider takes no request half as large.
const LARGEST_BODY: usize = 64 * 1024 * 1024;

#[derive(Clone)]
pub struct Api(Arc<Inside>);

struct Inside {
    service: Arc<Service>,
    recorder: Recorder,
    traffic: Arc<Traffic>,
    upstream: String,
    upstreams: Vec<UpstreamView>,
    home: PathBuf,
    store_path: PathBuf,
    started_at: u64,
    listen: OnceLock<SocketAddr>,
    helper: Arc<Helper>,
    jobs: Jobs,
}

impl Api {
    pub fn new(
        service: Arc<Service>,
        recorder: Recorder,
        traffic: Arc<Traffic>,
        (upstream, upstreams): (String, Vec<UpstreamView>),
        home: PathBuf,
        store_path: PathBuf,
        helper: Arc<Helper>,
    ) -> Api {
        Api(Arc::new(Inside {
            service,
            recorder,
            traffic,
            upstream,
            upstreams,
            home,
            store_path,
            started_at: now(),
            listen: OnceLock::new(),
            helper,
            jobs: Jobs::default(),
        }))
    }

    /// Known only once the port is open.
    pub fn listens_on(&self, address: SocketAddr) {
        let _ = self.0.listen.set(address);
        self.0.helper.listens_on(address);
    }

    /// Runs `ask` where it may block, after everything that has passed is known.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Service) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, ControlError> {
        let api = self.clone();
        let asked = tokio::task::spawn_blocking(move || {
            api.0.recorder.settle(SETTLE);
            ask(&api.0.service)
        });
        match asked.await {
            Ok(answer) => answer.map_err(refused),
            Err(_) => Err(ControlError::new(
                ErrorCode::Internal,
                "The daemon could not finish this; this is a defect.",
                "Forwarding goes on. Please report it with the daemon's log.",
            )),
        }
    }
}

/// The routes, relative to `/control/v1`, with the description of each.
fn routes() -> Routes {
    Routes::default()
        .get("/status", read::status, told("status", "What the daemon is, and how it is doing").answers::<Status>())
        .get(
            "/openapi.json",
            openapi::serve,
            told("openapi", "This description").answers_with("application/json", "An OpenAPI 3.1 document"),
        )
        .get(
            "/conversations",
            read::conversations,
            told("conversations", "All conversations, the newest activity first").answers::<Conversations>(),
        )
        .get(
            "/conversations/{conversation}/frames",
            read::frames,
            told("frames", "The frames of a conversation as they are sent").query::<FramesQuery>().answers::<Frames>(),
        )
        .get(
            "/conversations/{conversation}/frames/{*id}",
            read::show,
            told("show", "One frame, step, message or block, with its content").query::<AtQuery>().answers::<Shown>(),
        )
        .get(
            "/conversations/{conversation}/compose",
            read::compose,
            told("compose", "The request that would be sent, to the byte")
                .query::<AtQuery>()
                .answers_with("application/json", "The body of a request to the provider"),
        )
        .get(
            "/conversations/{conversation}/requests/{request}",
            read::sent,
            told("sent", "A request that left, and what came back").answers::<SentView>(),
        )
        .get(
            "/conversations/{conversation}/requests/{request}/body",
            read::sent_body,
            told("sentBody", "The body that really left for a request, to the byte")
                .answers_with("application/json", "The body of a request to the provider"),
        )
        .get(
            "/conversations/{conversation}/explain",
            read::explain,
            told("explain", "What differs from what the client sent, and why")
                .query::<AtQuery>()
                .answers::<Explanation>(),
        )
        .get(
            "/conversations/{conversation}/diff",
            read::diff,
            told("diff", "Two points of the history compared").query::<DiffQuery>().answers::<Diff>(),
        )
        .get(
            "/conversations/{conversation}/history",
            read::history,
            told("history", "The commits of the checked-out branch, or of all, newest first")
                .query::<HistoryQuery>()
                .answers::<HistoryView>(),
        )
        .post(
            "/conversations/{conversation}/history",
            edit::history,
            told("go", "Goes back or forth in the history, or names a point of it").body::<Way>().answers::<Applied>(),
        )
        .get(
            "/conversations/{conversation}/branches",
            read::branches,
            told("branches", "The branches of the history").answers::<Branches>(),
        )
        .get(
            "/conversations/{conversation}/tags",
            read::tags,
            told("tags", "The tags of the history").answers::<Tags>(),
        )
        .post(
            "/conversations/{conversation}/operations",
            edit::operations,
            told("apply", "Makes operations, all as one commit or none").body::<Wish>().answers::<Applied>(),
        )
        .post(
            "/conversations/{conversation}/plan",
            plan::plan,
            told(
                "plan",
                "What operations would do, each and as a whole, and what is at risk; with `apply` they are made",
            )
            .body::<Plan>()
            .answers::<PlanView>(),
        )
        .get(
            "/conversations/{conversation}/waiting",
            waiting::waiting,
            told(
                "waiting",
                "Pending changes (deferred edits and proposals), and what became of others, the newest first",
            )
            .answers::<WaitingView>(),
        )
        .post(
            "/conversations/{conversation}/waiting/accept",
            waiting::accept_many,
            told("accept_many", "Makes several pending changes, or all, each as a commit of its own")
                .body::<Several>()
                .answers::<PendingOutcome>(),
        )
        .post(
            "/conversations/{conversation}/waiting/cancel",
            waiting::cancel_many,
            told("cancel_many", "Takes back several pending changes, or all")
                .body::<Several>()
                .answers::<PendingOutcome>(),
        )
        .post(
            "/conversations/{conversation}/waiting/{wish}/cancel",
            waiting::cancel,
            told("cancel", "Takes back a pending change, or puts away one that failed")
                .body::<Cancel>()
                .answers::<WaitView>(),
        )
        .post(
            "/conversations/{conversation}/waiting/{wish}/accept",
            waiting::accept,
            told("accept", "Makes a pending change, whatever it waits for").body::<Cancel>().answers::<WaitView>(),
        )
        .get(
            "/conversations/{conversation}/context",
            automatic::context,
            told("context", "How full the context is, and what of it may be cleared").answers::<ContextView>(),
        )
        .get(
            "/conversations/{conversation}/worth",
            automatic::worth,
            told(
                "worth",
                "What of the context is stale or superseded, what removing it saves and costs, and the plan for it",
            )
            .answers::<WorthView>(),
        )
        .post(
            "/conversations/{conversation}/clear",
            automatic::clear,
            told("clear", "Clears all that the automatic editor may clear, now").body::<Clear>().answers::<Applied>(),
        )
        .get(
            "/conversations/{conversation}/phases",
            phases::phases,
            told("phases", "The phases of the work, in the order in which they began").answers::<PhasesView>(),
        )
        .post(
            "/conversations/{conversation}/phases",
            phases::phase,
            told("phase", "Begins or ends a phase of the work").body::<PhaseWish>().answers::<PhasesView>(),
        )
        .get(
            "/conversations/{conversation}/export",
            transfer::export,
            told("export", "The conversation with its history as one file")
                .answers_with(transfer::MEDIA, "Lines of JSON, as `/import` takes them"),
        )
        .post(
            "/conversations/{conversation}/helper",
            helper::begin,
            told("find_words", "Finds the words that operations lack, in the background, and then makes them")
                .body::<Wish>()
                .answers::<JobView>(),
        )
        .get(
            "/helper",
            helper::status,
            told("helper", "Who finds words, its budget and its jobs").answers::<HelperView>(),
        )
        .post(
            "/helper/test",
            helper::test,
            told("helper_test", "Asks the helper for a word, to see whether it answers").answers::<HelperTested>(),
        )
        .get("/helper/jobs/{job}", helper::job, told("helper_job", "How far a job is").answers::<JobView>())
        .post(
            "/helper/jobs/{job}/cancel",
            helper::cancel,
            told("helper_cancel", "Stops a job; nothing is changed then").answers::<JobView>(),
        )
        .post(
            "/helper/jobs/{job}/retry",
            helper::retry,
            told("helper_retry", "Starts a job again, with the same operations").answers::<JobView>(),
        )
        .post(
            "/conversations/{conversation}/heal",
            edit::heal,
            told("heal", "Finds and makes the operation that the provider accepts again")
                .body::<Heal>()
                .answers::<Applied>(),
        )
        .get(
            "/conversations/{conversation}/map",
            read::map,
            told("map", "What the context is made of, and what each turn took")
                .query::<AtQuery>()
                .answers::<ContextMap>(),
        )
        .get(
            "/conversations/{conversation}/timeline",
            read::timeline,
            told("timeline", "What happened in a conversation, oldest first")
                .query::<TimelineQuery>()
                .answers::<Timeline>(),
        )
        .get(
            "/conversations/{conversation}/misses",
            stats::misses,
            told("misses", "What the provider's cache missed and why, and whether what was foreseen came true")
                .query::<MissesQuery>()
                .answers::<Misses>(),
        )
        .get(
            "/stats",
            stats::stats,
            told("stats", "What requests took and cost, and what operations saved")
                .query::<StatsQuery>()
                .answers::<Stats>(),
        )
        .get(
            "/models",
            stats::models,
            told("models", "What is known of models: prices, windows, and what their caches ask for")
                .answers::<ModelsView>(),
        )
        .get(
            "/explain",
            explain::all,
            told("terms", "All rules of the provider and all error codes, explained").answers::<Terms>(),
        )
        .get(
            "/explain/{name}",
            explain::one,
            told("term", "What a rule or an error code means, and what to do about it").answers::<Term>(),
        )
        .get(
            "/search",
            search::search,
            told("search", "Words found again, in all conversations or in one")
                .query::<SearchQuery>()
                .answers::<Found>(),
        )
        .get(
            "/events",
            live::events,
            told("events", "What happens, as it happens: server-sent events")
                .query::<After>()
                .header("Last-Event-ID", "The id of the last event that was read, as `after`.")
                .answers_with("text/event-stream", live::DESCRIPTION)
                .tells::<LiveEvent>(),
        )
        .post(
            "/import",
            transfer::import,
            told("import", "Takes in a conversation that was exported, as one of its own")
                .query::<ImportQuery>()
                .takes(transfer::MEDIA)
                .answers::<Imported>(),
        )
        .post(
            "/purge",
            read::purge,
            told("purge", "Forgets conversations for good").body::<Purge>().answers::<Purged>(),
        )
}

pub fn router(api: Api) -> Router {
    routes().router().layer(DefaultBodyLimit::max(LARGEST_BODY)).with_state(api)
}

fn refused(refusal: Refusal) -> ControlError {
    refusal.into()
}
