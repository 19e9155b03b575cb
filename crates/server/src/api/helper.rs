//! The helper model: writes missing texts of operations in the background.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use ctx_api::edit::{EditRequest, EditResult};
use ctx_api::helper::{HelperTest, HelperView, Kind};
use ctx_core::ErrorCode;
use ctx_engine::Refusal;
use ctx_engine::helper::phases::AUTHOR;
use ctx_engine::helper::{Material, OpenQuestions, Piece, Question};
use ctx_engine::log::{self, HelperUse, PhaseSummary};
use ctx_service::Service;
use ctx_team::Scopes;
use http::HeaderMap;
use std::sync::Arc;
use tokio::sync::mpsc;

use super::read::Answer;
use super::{Api, refused};
use crate::helper::{Handle, Helper, Work};
use crate::local::{ControlError, face_of};
use crate::team::KeyLimits;
use ctx_api::helper::JobView;

pub async fn status(api: Api, headers: HeaderMap) -> Answer<HelperView> {
    let (helper, jobs) = (&api.0.around.helper, api.0.jobs.all(face_of(&headers)));
    let settings = helper.settings();
    Ok(Json(HelperView {
        provider: settings.provider.name().to_owned(),
        model: Some(settings.model().to_owned()).filter(|model| !model.is_empty()),
        url: settings.url.as_ref().map(ToString::to_string),
        key_env: settings.key_env.clone(),
        has_key: settings.key.is_some(),
        used_today: helper.budget().used(),
        budget_per_day: settings.budget_per_day,
        timeout_seconds: settings.timeout.as_secs_f32(),
        max_chars: settings.max_chars,
        titles: settings.titles,
        phases: settings.phases,
        jobs,
    }))
}

/// A test request that costs next to nothing.
pub async fn test(api: Api) -> Answer<HelperTest> {
    let helper = &api.0.around.helper;
    if !helper.is_on() {
        return Err(refused(Refusal::new(
            ErrorCode::HelperSettings,
            "No helper model is configured; ctx extracts titles and summaries itself.",
            "Set `provider` under [helper] in the home's ctx.toml.",
        )));
    }
    let text = "Please add a test for the parser of dates. — Done: three cases, all pass.".to_owned();
    let piece = Piece { role: "user".into(), kind: "text".into(), text, ..Piece::default() };
    let material = Material { pieces: vec![piece], ..Material::default() };
    let begun = std::time::Instant::now();
    let said = helper.words(&Question::new(Kind::Title, material)).await.map_err(refused)?;
    let took_ms = begun.elapsed().as_millis() as u64;
    Ok(Json(HelperTest { by: helper.name(), said, took_ms, used_today: helper.budget().used() }))
}

pub async fn begin(
    api: Api,
    Path(name): Path<String>,
    headers: HeaderMap,
    edit: Result<Json<EditRequest>, JsonRejection>,
) -> Answer<JobView> {
    let edit = api.signed(edit)?;
    Ok(Json(start(&api, name, edit).await?.view(face_of(&headers))))
}

pub async fn job(api: Api, Path(job): Path<String>, headers: HeaderMap) -> Answer<JobView> {
    Ok(Json(api.0.jobs.find(&job).map_err(refused)?.view(face_of(&headers))))
}

pub async fn cancel(api: Api, Path(job): Path<String>, headers: HeaderMap) -> Answer<JobView> {
    let job = api.0.jobs.find(&job).map_err(refused)?;
    job.cancel();
    Ok(Json(job.view(face_of(&headers))))
}

pub async fn retry(api: Api, Path(job): Path<String>, headers: HeaderMap) -> Answer<JobView> {
    let job = api.0.jobs.find(&job).map_err(refused)?;
    let face = face_of(&headers);
    Ok(Json(start(&api, job.view(face).conversation, job.edit()).await?.view(face)))
}

/// Whether the helper model is called. A preview does not call it and uses extracts as placeholders. To read the
/// model's texts before a commit, start a job.
pub fn is_wanted(api: &Api, edit: &EditRequest) -> bool {
    !edit.dry_run && can_help(api, edit)
}

fn can_help(api: &Api, edit: &EditRequest) -> bool {
    api.0.around.helper.is_on() && edit.operations.iter().any(|operation| operation.is_open())
}

/// Waits for the commit.
pub async fn apply(api: &Api, name: String, edit: EditRequest) -> Answer<EditResult> {
    start(api, name, edit).await?.outcome().await.map(Json).map_err(refused)
}

/// Starts the summary of an ended phase, if the settings ask for one. If the account does not allow its price yet, the
/// summary waits.
pub async fn summarize_phase(api: &Api, conversation: &str, summary: PhaseSummary) {
    if !summarizes_phases(&api.0.around.helper) {
        return;
    }
    if let Err(error) = start_summary(api, conversation, &summary).await {
        tracing::info!(code = %error.code, "no summary of the phase: {}", error.message);
        // It is not tried again: the next answer would fail as well.
        if summary.waits_for.is_some() {
            let _ = note_summary(api, conversation, PhaseSummary { waits_for: None, ..summary }).await;
        }
    }
}

fn summarizes_phases(helper: &Helper) -> bool {
    helper.is_on() && helper.settings().phases
}

async fn start_summary(api: &Api, conversation: &str, summary: &PhaseSummary) -> Result<(), ControlError> {
    let waited = summary.waits_for.is_some();
    let done = || PhaseSummary { waits_for: None, ..summary.clone() };
    let (name, of) = (conversation.to_owned(), summary.clone());
    let Some(edit) = api.ask(move |service| service.phase_summary(&name, &of)).await? else {
        if waited {
            note_summary(api, conversation, done()).await?;
        }
        return Ok(());
    };
    let (name, again) = (conversation.to_owned(), edit.clone());
    let open = api.ask(move |service| service.questions(&name, edit)).await?;
    let most = api.0.around.helper.most(&open.questions);
    let (name, price) = (conversation.to_owned(), most.clone());
    if !api.ask(move |service| service.allows_help(&name, &price)).await? {
        tracing::info!("the summary of the phase waits: its price is more than the account allows");
        return note_summary(api, conversation, PhaseSummary { waits_for: Some(most), ..done() }).await.map(drop);
    }
    // The model is asked at most once: only the daemon that ends the waiting asks.
    if !waited || note_summary(api, conversation, done()).await? {
        begin_job(api, again, open);
    }
    Ok(())
}

async fn note_summary(api: &Api, conversation: &str, summary: PhaseSummary) -> Result<bool, ControlError> {
    let name = conversation.to_owned();
    api.ask(move |service| service.note_summary(&name, &summary)).await
}

/// The queue of conversations; later ones come up again.
const WAITING: usize = 64;

/// Starts waiting summaries as soon as the account allows them, which may be after any answer. Runs until the service
/// ends.
pub(crate) fn resume_summaries(api: &Api) {
    if !summarizes_phases(&api.0.around.helper) {
        return;
    }
    let (send, mut heard) = mpsc::channel::<String>(WAITING);
    api.0.service.listen(move |record| {
        if record.kind == log::ANSWERED {
            let _ = send.try_send(record.conversation.clone());
        }
        !send.is_closed()
    });
    // An unused desk closes: this must not keep it.
    let inside = Arc::downgrade(&api.0);
    tokio::spawn(async move {
        while let Some(name) = heard.recv().await {
            let Some(inside) = inside.upgrade() else { return };
            let (of, looker) = (name.clone(), inside.service.clone());
            let due = tokio::task::spawn_blocking(move || looker.due_summaries(&of)).await;
            let api = Api(inside, None, Scopes::ALL, KeyLimits::default());
            for summary in due.ok().and_then(Result::ok).unwrap_or_default() {
                summarize_phase(&api, &name, summary).await;
            }
        }
    });
}

async fn start(api: &Api, name: String, edit: EditRequest) -> Result<Handle, ControlError> {
    let again = edit.clone();
    // Reports errors in the request before calling the model.
    let open = api.ask(move |service| service.questions(&name, edit)).await?;
    Ok(begin_job(api, again, open))
}

fn begin_job(api: &Api, edit: EditRequest, open: OpenQuestions) -> Handle {
    let helper = can_help(api, &edit).then(|| api.0.around.helper.clone());
    let work = TextsOfEdit { api: api.clone(), is_automatic: edit.author == AUTHOR };
    api.0.jobs.begin(helper, edit, open, work)
}

/// The texts go into an edit. Those of automatic edits are paid from the account.
struct TextsOfEdit {
    api: Api,
    is_automatic: bool,
}

impl Work for TextsOfEdit {
    async fn paid(&self, conversation: &str, used: HelperUse) {
        if !self.is_automatic || used.input + used.output == 0 {
            return;
        }
        let name = conversation.to_owned();
        if let Err(error) = self.api.ask(move |service| service.helped(&name, used)).await {
            tracing::warn!(code = %error.code, "the price of a helper is not in the account: {}", error.message);
        }
    }

    async fn apply(self, conversation: String, edit: EditRequest) -> Result<EditResult, Refusal> {
        let apply =
            move |service: &Service| service.apply(&conversation, edit).map(|done| service.noting_uploads(done));
        let applied = self.api.ask(apply).await;
        applied.map_err(|ControlError { code, message, hint, about, .. }| Refusal { code, message, hint, about })
    }
}
