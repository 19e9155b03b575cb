//! Waits for texts that the helper model writes in the background, or cancels the job.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use ctx_api::helper::{JobView, State};
use ctx_core::ErrorCode;

use super::{Client, understood};
use crate::failure::Failure;
use crate::output::busy::Busy;

const QUICK: Duration = Duration::from_millis(10);
const SLOW: Duration = Duration::from_millis(300);

type Interruption = Pin<Box<dyn Future<Output = ()>>>;

impl Client {
    /// Runs an edit whose texts must be written first. Ctrl-C cancels it without a change.
    pub fn find_words(&self, path: &str, edit: &str) -> Result<Bytes, Failure> {
        // Registered before the job starts, so that an interrupt in between does not leave it running.
        let interrupted = self.interrupted();
        let begun: JobView = understood(&self.ask(path, Some(edit))?)?;
        self.wait_unless(begun, interrupted)
    }

    /// Waits until the job ends.
    pub fn wait(&self, job: JobView) -> Result<Bytes, Failure> {
        self.wait_unless(job, self.interrupted())
    }

    /// Resolves with the next Ctrl-C.
    fn interrupted(&self) -> Interruption {
        let mut interrupted: Interruption = Box::pin(async {
            // If it cannot be caught, Ctrl-C ends the program as usual.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        });
        // The first poll registers the handler.
        let at_once = self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = &mut interrupted => true,
                () = std::future::ready(()) => false,
            }
        });
        if at_once { Box::pin(std::future::ready(())) } else { interrupted }
    }

    fn wait_unless(&self, mut job: JobView, mut interrupted: Interruption) -> Result<Bytes, Failure> {
        let waited = self.runtime.block_on(async {
            let (mut busy, mut told, mut pause) = (None, usize::MAX, QUICK);
            while job.state == State::Asking {
                if told != job.found {
                    told = job.found;
                    drop(busy.take());
                    busy = Some(Busy::start(asking(&job)));
                }
                let stop = tokio::select! {
                    () = &mut interrupted => true,
                    () = tokio::time::sleep(pause) => false,
                };
                pause = (pause * 2).min(SLOW);
                let asked = match stop {
                    true => ctx_api::call::cancel_job(&job.job),
                    false => ctx_api::call::job(&job.job),
                };
                job = self.api.call(&asked).await?;
                if stop {
                    break;
                }
            }
            Ok(job)
        });
        let job: JobView = waited.map_err(|error| self.found.explain(error))?;
        match (job.applied, job.error) {
            (Some(applied), _) => Ok(serde_json::to_vec(&applied).unwrap_or_default().into()),
            (None, Some(error)) => Err(Failure::new(error.code, error.message).hint(error.hint)),
            (None, None) => {
                Err(Failure::new(ErrorCode::HelperUnderWay, "Too late to cancel: the commit is being made.")
                    .hint("`ctx undo` undoes it"))
            }
        }
    }
}

fn asking(job: &JobView) -> String {
    match job.wanted {
        0 | 1 => format!("asking {}", job.by),
        wanted => format!("asking {}, {} of {wanted}", job.by, job.found + 1),
    }
}
