//! The control API, `/control/v1/…`: thin handlers over the service, which builds the views.

mod automatic;
mod bounded;
mod edit;
mod explain;
mod helper;
mod live;
mod login;
mod metrics;
mod openapi;
mod phases;
mod plan;
mod read;
mod search;
mod signed;
mod stats;
mod team;
mod transfer;
mod waiting;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRequestParts};
use axum::middleware;
use ctx_api::cache::Misses;
use ctx_api::context::{ContextView, WorthView};
use ctx_api::conversations::{Conversations, ImportResult};
use ctx_api::edit::{EditRequest, EditResult};
use ctx_api::frames::Frames;
use ctx_api::history::{Branches, Diff, HistoryRequest, HistoryView, Tags};
use ctx_api::map::ContextMap;
use ctx_api::models::ModelsView;
use ctx_api::offloaded::{OffloadedQuery, OffloadedView};
use ctx_api::phases::{PhaseRequest, PhasesView};
use ctx_api::plan::{Plan, PlanView};
use ctx_api::requests::SentView;
use ctx_api::search::SearchResults;
use ctx_api::show::ContentView;
use ctx_api::stats::Stats;
use ctx_api::timeline::Timeline;
use ctx_api::waiting::{PendingOutcome, WaitView, WaitingView};
use ctx_engine::Refusal;
use ctx_service::{Recorder, Service};
use ctx_team::Scopes;
use http::request::Parts;

pub(crate) use self::helper::resume_summaries;
use self::openapi::{Routes, told};
use crate::helper::{Helper, Jobs};
use crate::local::ControlError;
use crate::metrics::Metrics;
use crate::observer::Traffic;
use crate::team::{Guest, KeyLimits, Seat};
use ctx_api::cache::MissesQuery;
use ctx_api::conversations::{ImportQuery, Purge, PurgeResult};
use ctx_api::edit::{Clear, Heal};
use ctx_api::explain::{Term, Terms};
use ctx_api::frames::{AtQuery, FramesQuery};
use ctx_api::helper::{HelperTest, HelperView, JobView};
use ctx_api::history::{DiffQuery, HistoryQuery};
use ctx_api::live::{After, LiveEvent};
use ctx_api::requests::Explanation;
use ctx_api::search::SearchQuery;
use ctx_api::stats::StatsQuery;
use ctx_api::status::{Status, UpstreamView};
use ctx_api::team::{
    AllShares, Audit, AuditQuery, Keys, LoginDecision, LoginView, MadeKey, Me, NewKey, NewPerson, Notices,
    OpenConversation, People, PersonChange, PersonConversations, Reason, ShareRequest, Shares,
};
use ctx_api::timeline::TimelineQuery;
use ctx_api::waiting::{Cancel, Several};
use ctx_core::ErrorCode;

/// The time to wait until earlier requests are visible to a reader.
const SETTLE: Duration = Duration::from_millis(500);

/// The largest request that a provider accepts.
const LARGEST_BODY: usize = 32 * 1024 * 1024;

/// The routes' view of the daemon, for one caller.
#[derive(Clone)]
pub struct Api(Arc<Inside>, Option<Guest>, Scopes, KeyLimits);

struct Inside {
    service: Arc<Service>,
    recorder: Recorder,
    traffic: Arc<Traffic>,
    around: Surroundings,
    jobs: Jobs,
    /// The owner of these conversations, in a team.
    seat: Option<Seat>,
}

/// State shared by all desks of a daemon.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) upstream: String,
    pub(crate) upstreams: Vec<UpstreamView>,
    /// Shown by `ctx status`; empty for people who do not run the daemon.
    pub(crate) home: PathBuf,
    pub(crate) store_path: PathBuf,
    pub(crate) started_at: u64,
    /// Known once the port is open.
    pub(crate) listen: Arc<OnceLock<SocketAddr>>,
    pub(crate) helper: Arc<Helper>,
    pub(crate) mcp: crate::mcp::Settings,
    pub(crate) metrics: Arc<Metrics>,
}

impl Surroundings {
    /// Known once the port is open.
    pub(crate) fn listens_on(&self, address: SocketAddr) {
        let _ = self.listen.set(address);
        self.helper.listens_on(address);
    }

    /// Without the operator's paths.
    pub(crate) fn of_person(&self) -> Surroundings {
        Surroundings { home: PathBuf::new(), store_path: PathBuf::new(), ..self.clone() }
    }
}

/// Every handler gets the API together with its caller.
impl FromRequestParts<Api> for Api {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &Api) -> Result<Api, Infallible> {
        let scopes = parts.extensions.get::<Scopes>().copied().unwrap_or_default();
        let limits = parts.extensions.get::<KeyLimits>().copied().unwrap_or_default();
        Ok(Api(state.0.clone(), parts.extensions.get::<Guest>().cloned(), scopes, limits))
    }
}

impl Api {
    pub(crate) fn new(
        service: Arc<Service>,
        recorder: Recorder,
        traffic: Arc<Traffic>,
        around: Surroundings,
        seat: Option<Seat>,
    ) -> Api {
        let inside = Inside { service, recorder, traffic, around, jobs: Jobs::default(), seat };
        Api(Arc::new(inside), None, Scopes::ALL, KeyLimits::default())
    }

    /// The number of references to it: more than at rest while something uses it.
    pub(crate) fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Runs `ask` where it may block, after all earlier requests are recorded.
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
                "The daemon failed; this is a bug.",
                "Requests still pass. Please report it with the daemon's log.",
            )),
        }
    }
}

/// The routes, relative to `/control/v1`, each with its description.
fn routes() -> Routes {
    Routes::default()
        .get("/status", read::status, told("status", "The state of the daemon").answers::<Status>())
        .get(
            "/metrics",
            metrics::metrics,
            told("metrics", "Figures about the daemon, without names")
                .answers_with("text/plain", "The text format of Prometheus"),
        )
        .get(
            "/openapi.json",
            openapi::serve,
            told("openapi", "This description").answers_with("application/json", "An OpenAPI 3.1 document"),
        )
        .get(
            "/conversations",
            read::conversations,
            told("conversations", "All conversations, most recently active first").answers::<Conversations>(),
        )
        .get(
            "/conversations/{conversation}/frames",
            read::frames,
            told("frames", "The frames of a conversation, as sent").query::<FramesQuery>().answers::<Frames>(),
        )
        .get(
            "/conversations/{conversation}/frames/{*id}",
            read::show,
            told("show", "A frame, step, message or block with its content")
                .query::<AtQuery>()
                .answers::<ContentView>(),
        )
        .get(
            "/conversations/{conversation}/offloaded/{handle}",
            read::offloaded,
            told("offloaded", "Offloaded content that is kept in the store")
                .query::<OffloadedQuery>()
                .answers::<OffloadedView>(),
        )
        .get(
            "/conversations/{conversation}/compose",
            read::compose,
            told("compose", "The exact body that would be sent now")
                .query::<AtQuery>()
                .answers_with("application/json", "The body of a request to the provider"),
        )
        .get(
            "/conversations/{conversation}/requests/{request}",
            read::sent,
            told("sent", "A sent request and its response").answers::<SentView>(),
        )
        .get(
            "/conversations/{conversation}/requests/{request}/body",
            read::sent_body,
            told("sentBody", "The exact body that was sent for a request")
                .answers_with("application/json", "The body of a request to the provider"),
        )
        .get(
            "/conversations/{conversation}/explain",
            read::explain,
            told("explain", "The differences from the client's own request, with reasons")
                .query::<AtQuery>()
                .answers::<Explanation>(),
        )
        .get(
            "/conversations/{conversation}/diff",
            read::diff,
            told("diff", "Compares two commits").query::<DiffQuery>().answers::<Diff>(),
        )
        .get(
            "/conversations/{conversation}/history",
            read::history,
            told("history", "The commits of the checked-out branch, or of all branches, newest first")
                .query::<HistoryQuery>()
                .answers::<HistoryView>(),
        )
        .post(
            "/conversations/{conversation}/history",
            edit::history,
            told("go", "Undoes, redoes, reverts or rolls back; manages branches and tags")
                .body::<HistoryRequest>()
                .answers::<EditResult>(),
        )
        .get(
            "/conversations/{conversation}/branches",
            read::branches,
            told("branches", "The branches").answers::<Branches>(),
        )
        .get("/conversations/{conversation}/tags", read::tags, told("tags", "The tags").answers::<Tags>())
        .post(
            "/conversations/{conversation}/operations",
            edit::operations,
            told("apply", "Applies operations as one commit, all or nothing")
                .body::<EditRequest>()
                .answers::<EditResult>(),
        )
        .post(
            "/conversations/{conversation}/plan",
            plan::plan,
            told("plan", "The effect and risk of operations, one by one and together; `apply` applies them")
                .body::<Plan>()
                .answers::<PlanView>(),
        )
        .get(
            "/conversations/{conversation}/waiting",
            waiting::waiting,
            told("waiting", "Deferred edits and proposals, and the outcome of earlier ones, newest first")
                .answers::<WaitingView>(),
        )
        .post(
            "/conversations/{conversation}/waiting/accept",
            waiting::accept_many,
            told("accept_many", "Applies several deferred edits, or all, each as its own commit")
                .body::<Several>()
                .answers::<PendingOutcome>(),
        )
        .post(
            "/conversations/{conversation}/waiting/cancel",
            waiting::cancel_many,
            told("cancel_many", "Cancels several deferred edits, or all").body::<Several>().answers::<PendingOutcome>(),
        )
        .post(
            "/conversations/{conversation}/waiting/{edit}/cancel",
            waiting::cancel,
            told("cancel", "Cancels a deferred edit, or dismisses a failed one").body::<Cancel>().answers::<WaitView>(),
        )
        .post(
            "/conversations/{conversation}/waiting/{edit}/accept",
            waiting::accept,
            told("accept", "Applies a deferred edit now").body::<Cancel>().answers::<WaitView>(),
        )
        .get(
            "/conversations/{conversation}/context",
            automatic::context,
            told("context", "Usage of the context window, and content that may be cleared").answers::<ContextView>(),
        )
        .get(
            "/conversations/{conversation}/worth",
            automatic::worth,
            told("worth", "Stale and superseded content, the cost and savings of removing it, and the plan")
                .answers::<WorthView>(),
        )
        .post(
            "/conversations/{conversation}/clear",
            automatic::clear,
            told("clear", "Clears everything that the automatic editor may clear")
                .body::<Clear>()
                .answers::<EditResult>(),
        )
        .get(
            "/conversations/{conversation}/phases",
            phases::phases,
            told("phases", "The phases of the work, oldest first").answers::<PhasesView>(),
        )
        .post(
            "/conversations/{conversation}/phases",
            phases::phase,
            told("phase", "Begins or ends a phase of the work").body::<PhaseRequest>().answers::<PhasesView>(),
        )
        .get(
            "/conversations/{conversation}/export",
            transfer::export,
            told("export", "Exports the conversation with its history")
                .answers_with(transfer::MEDIA, "JSON lines, as `/import` takes them"),
        )
        .post(
            "/conversations/{conversation}/helper",
            helper::begin,
            told("find_words", "Writes missing texts in the background, then applies the operations")
                .body::<EditRequest>()
                .answers::<JobView>(),
        )
        .get(
            "/helper",
            helper::status,
            told("helper", "The helper model, its budget and its jobs").answers::<HelperView>(),
        )
        .post("/helper/test", helper::test, told("helper_test", "Tests the helper model").answers::<HelperTest>())
        .get("/helper/jobs/{job}", helper::job, told("helper_job", "The progress of a job").answers::<JobView>())
        .post(
            "/helper/jobs/{job}/cancel",
            helper::cancel,
            told("helper_cancel", "Cancels a job; nothing is changed").answers::<JobView>(),
        )
        .post(
            "/helper/jobs/{job}/retry",
            helper::retry,
            told("helper_retry", "Retries a job with the same operations").answers::<JobView>(),
        )
        .post(
            "/conversations/{conversation}/heal",
            edit::heal,
            told("heal", "Repairs a conversation that the provider refuses").body::<Heal>().answers::<EditResult>(),
        )
        .get(
            "/conversations/{conversation}/map",
            read::map,
            told("map", "The composition of the context, and the usage of each turn")
                .query::<AtQuery>()
                .answers::<ContextMap>(),
        )
        .get(
            "/conversations/{conversation}/timeline",
            read::timeline,
            told("timeline", "The events of a conversation, oldest first")
                .query::<TimelineQuery>()
                .answers::<Timeline>(),
        )
        .get(
            "/conversations/{conversation}/misses",
            stats::misses,
            told("misses", "Cache misses with their causes, and the accuracy of the cache forecast")
                .query::<MissesQuery>()
                .answers::<Misses>(),
        )
        .get(
            "/stats",
            stats::stats,
            told("stats", "Usage, costs and savings").query::<StatsQuery>().answers::<Stats>().of_a_team(),
        )
        .get(
            "/models",
            stats::models,
            told("models", "Models with prices, windows and cache rules").answers::<ModelsView>(),
        )
        .get("/explain", explain::all, told("terms", "Explains all provider rules and error codes").answers::<Terms>())
        .get(
            "/explain/{name}",
            explain::one,
            told("term", "Explains a provider rule or an error code").answers::<Term>(),
        )
        .get(
            "/search",
            search::search,
            told("search", "Searches all conversations, or one").query::<SearchQuery>().answers::<SearchResults>(),
        )
        .get(
            "/events",
            live::events,
            told("events", "Live events, as server-sent events")
                .query::<After>()
                .header("Last-Event-ID", "The id of the last event received, like `after`.")
                .answers_with("text/event-stream", live::DESCRIPTION)
                .tells::<LiveEvent>(),
        )
        .post(
            transfer::IMPORT,
            transfer::import,
            told("import", "Imports an exported conversation as a new one")
                .query::<ImportQuery>()
                .takes(transfer::MEDIA)
                .answers::<ImportResult>(),
        )
        .post(
            "/purge",
            read::purge,
            told("purge", "Deletes conversations permanently").body::<Purge>().answers::<PurgeResult>(),
        )
        .and(team_routes())
}

/// The routes about people, keys and shares.
fn team_routes() -> Routes {
    Routes::default()
        .get("/me", team::me, told("me", "The person that the key belongs to").answers::<Me>().of_a_team())
        .get("/people", team::people, told("people", "The people of the team").answers::<People>().of_a_team())
        .post("/people", team::add, told("add_person", "Adds a person").body::<NewPerson>().answers::<People>())
        .post(
            "/people/{person}",
            team::change,
            told("change_person", "Changes a person's role or groups").body::<PersonChange>().answers::<People>(),
        )
        .post(
            "/people/{person}/remove",
            team::remove,
            told("remove_person", "Removes a person with their keys and shares").answers::<People>(),
        )
        .get(
            "/people/{person}/conversations",
            team::conversations_of,
            told("conversations_of", "A person's conversations, without their words").answers::<PersonConversations>(),
        )
        .post(
            "/people/{person}/conversations/{conversation}/open",
            team::open,
            told("open", "Opens a conversation for an hour, for a reason that its owner is told")
                .body::<Reason>()
                .answers::<OpenConversation>(),
        )
        .get("/keys", team::keys, told("keys", "Keys, without their texts").answers::<Keys>().of_a_team())
        .post("/keys", team::make_key, told("make_key", "Makes a key").body::<NewKey>().answers::<MadeKey>())
        .post("/keys/{key}/revoke", team::revoke, told("revoke_key", "Revokes a key").answers::<Keys>())
        .get(
            "/logins/{code}",
            login::look,
            told("login", "A machine that asks to sign in").answers::<LoginView>().of_a_team(),
        )
        .post(
            "/logins/{code}/approve",
            login::approve,
            told("approve_login", "Lets a machine sign in as the reader; only the page can").answers::<LoginDecision>(),
        )
        .post(
            "/logins/{code}/refuse",
            login::refuse,
            told("refuse_login", "Refuses a machine; only the page can").answers::<LoginDecision>(),
        )
        .get(
            "/conversations/{conversation}/shares",
            team::shares,
            told("shares", "The people and groups that may open a conversation").answers::<Shares>(),
        )
        .post(
            "/conversations/{conversation}/share",
            team::share,
            told("share", "Shares a conversation").body::<ShareRequest>().answers::<Shares>(),
        )
        .post(
            "/conversations/{conversation}/unshare",
            team::unshare,
            told("unshare", "Ends a share").body::<ShareRequest>().answers::<Shares>(),
        )
        .get("/shares", team::all_shares, told("all_shares", "Shared conversations").answers::<AllShares>().of_a_team())
        .get(
            "/notices",
            team::notices,
            told("notices", "Who opened your conversations, and why").answers::<Notices>().of_a_team(),
        )
        .get(
            "/audit",
            team::audit,
            told("audit", "Changes of people, keys and shares, and opened conversations")
                .query::<AuditQuery>()
                .answers::<Audit>()
                .of_a_team(),
        )
}

/// `/metrics` alone.
pub fn metrics_router(api: Api) -> Router {
    Router::new().route("/metrics", axum::routing::get(metrics::metrics)).with_state(api)
}

pub fn router(api: Api) -> Router {
    let routes = routes().router().layer(middleware::from_fn(bounded::bounded));
    routes.layer(DefaultBodyLimit::max(LARGEST_BODY)).with_state(api)
}

fn refused(refusal: Refusal) -> ControlError {
    refusal.into()
}
