//! Background jobs of the helper model: progress, cancelling, retrying.

use ctx_api::helper::{JobError, JobView, State};
use ctx_engine::Refusal;
use ctx_engine::helper::{OpenQuestions, SELF};
use ctx_engine::log::HelperUse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ctx_api::edit::{EditRequest, EditResult};
use ctx_api::face::Face;
use ctx_core::hint::{Argument, Command};
use ctx_core::{ErrorCode, hint};
use ctx_service::now;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::Helper;

/// Finished jobs to keep.
const KEPT: usize = 100;

struct Job {
    /// For a retry.
    edit: EditRequest,
    view: watch::Sender<JobView>,
    error: Mutex<Option<Refusal>>,
    phase: Mutex<Phase>,
}

#[derive(Default)]
enum Phase {
    #[default]
    Beginning,
    /// It can be cancelled.
    Asking(AbortHandle),
    /// It can no longer be cancelled: the commit is being made.
    Committing,
    Stopped,
}

#[derive(Default)]
pub(crate) struct Jobs(Mutex<Inside>);

#[derive(Default)]
struct Inside {
    last: u64,
    jobs: BTreeMap<u64, Arc<Job>>,
}

/// The use of the texts.
pub(crate) trait Work: Send + Sync + 'static {
    /// The helper has taken these tokens, whether its texts can be used or not.
    fn paid(&self, conversation: &str, used: HelperUse) -> impl Future<Output = ()> + Send;

    fn apply(self, conversation: String, edit: EditRequest)
    -> impl Future<Output = Result<EditResult, Refusal>> + Send;
}

impl Jobs {
    /// Starts writing the texts, and applies the edit with them. Without a helper model, ctx extracts them.
    pub(crate) fn begin(
        &self,
        helper: Option<Arc<Helper>>,
        edit: EditRequest,
        open: OpenQuestions,
        work: impl Work,
    ) -> Handle {
        let mut inside = lock(&self.0);
        inside.last += 1;
        let view = JobView {
            job: format!("h{}", inside.last),
            conversation: open.conversation.clone(),
            state: State::Asking,
            by: name(helper.as_deref()),
            found: 0,
            wanted: open.questions.len(),
            started_at: now(),
            applied: None,
            error: None,
        };
        let job =
            Arc::new(Job { edit, view: watch::Sender::new(view), error: Mutex::default(), phase: Mutex::default() });
        let number = inside.last;
        inside.jobs.insert(number, job.clone());
        while inside.jobs.len() > KEPT {
            inside.jobs.pop_first();
        }
        drop(inside);
        let running = job.clone();
        let task = tokio::spawn(async move {
            let outcome = run(helper.as_deref(), &running, open, work).await;
            running.end(outcome);
        });
        let mut phase = lock(&job.phase);
        if matches!(*phase, Phase::Beginning) {
            *phase = Phase::Asking(task.abort_handle());
        }
        drop(phase);
        Handle(job)
    }

    pub(crate) fn find(&self, name: &str) -> Result<Handle, Refusal> {
        let number = name.strip_prefix('h').and_then(|number| number.parse().ok());
        let found = number.and_then(|number: u64| lock(&self.0).jobs.get(&number).cloned());
        found.map(Handle).ok_or_else(|| {
            Refusal::new(
                ErrorCode::UnknownJob,
                format!("No job `{name}`."),
                hint![Command::Helper, " lists them; a restart of the daemon ends all jobs."],
            )
        })
    }

    /// Newest first.
    pub(crate) fn all(&self, face: Face) -> Vec<JobView> {
        lock(&self.0).jobs.values().rev().map(|job| job.view(face)).collect()
    }
}

fn name(helper: Option<&Helper>) -> String {
    helper.map_or_else(|| SELF.to_owned(), Helper::name)
}

async fn run(helper: Option<&Helper>, job: &Job, open: OpenQuestions, work: impl Work) -> Result<EditResult, Refusal> {
    let mut words = Vec::new();
    for question in &open.questions {
        words.push(match helper {
            Some(helper) => {
                let (text, used) = helper.answer(question).await;
                work.paid(&open.conversation, helper.used(used)).await;
                text?
            }
            None => question.local()?,
        });
        job.view.send_modify(|view| view.found += 1);
    }
    let conversation = open.conversation.clone();
    let (edit, written) = open.filled(words, &name(helper), helper.is_some());
    job.commits();
    let mut applied = work.apply(conversation, edit).await?;
    applied.written = written;
    Ok(applied)
}

impl Job {
    fn commits(&self) {
        *lock(&self.phase) = Phase::Committing;
    }

    /// Cancels it, if that is still possible.
    fn stop(&self) -> bool {
        let mut phase = lock(&self.phase);
        if let Phase::Asking(task) = &*phase {
            task.abort();
        }
        let stops = matches!(*phase, Phase::Asking(_));
        if stops {
            *phase = Phase::Stopped;
        }
        stops
    }

    fn view(&self, face: Face) -> JobView {
        let mut view = self.view.borrow().clone();
        if let (Some(shown), Some(refusal)) = (&mut view.error, &*lock(&self.error)) {
            shown.hint = face.words(&refusal.hint);
        }
        view
    }

    fn end(&self, outcome: Result<EditResult, Refusal>) {
        self.view.send_modify(|view| match outcome {
            _ if view.state != State::Asking => {}
            Ok(applied) => (view.state, view.applied) = (State::Done, Some(applied)),
            Err(refusal) => {
                view.state = if refusal.code == ErrorCode::HelperCancelled { State::Cancelled } else { State::Failed };
                let Refusal { code, message, hint, .. } = refusal.clone();
                view.error = Some(JobError { code: code.into(), message, hint: Face::default().words(&hint) });
                *lock(&self.error) = Some(refusal);
            }
        });
    }
}

/// A job, as callers see it.
pub(crate) struct Handle(Arc<Job>);

impl Handle {
    /// Its state, in the words of this reader.
    pub(crate) fn view(&self, face: Face) -> JobView {
        self.0.view(face)
    }

    pub(crate) fn edit(&self) -> EditRequest {
        self.0.edit.clone()
    }

    pub(crate) fn cancel(&self) {
        if !self.0.stop() {
            return;
        }
        self.0.end(Err(Refusal::new(
            ErrorCode::HelperCancelled,
            "The job was cancelled. Nothing was changed.",
            hint!["Start it again, or write the text with ", Argument::new("text"), "."],
        )));
    }

    /// Waits until it ends.
    pub(crate) async fn outcome(self) -> Result<EditResult, Refusal> {
        let mut views = self.0.view.subscribe();
        let _ = views.wait_for(|view| view.state != State::Asking).await;
        let view = self.0.view.borrow().clone();
        let error = lock(&self.0.error).clone();
        view.applied.ok_or_else(|| {
            error.unwrap_or_else(|| {
                Refusal::new(
                    ErrorCode::Internal,
                    "The job ended without a result; this is a bug.",
                    "Please report it with the daemon's log.",
                )
            })
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
