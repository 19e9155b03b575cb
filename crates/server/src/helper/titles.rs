//! Rewrites the titles of frames that have grown much, once, in the background.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ctx_engine::log;
use ctx_service::Service;
use tokio::sync::mpsc;

use super::Helper;

/// The queue of conversations; later ones come up again.
const WAITING: usize = 64;
/// A working agent sends a request every few seconds: titles wait for a pause.
const PAUSE: Duration = Duration::from_secs(2);

/// Runs from now on, until the service ends.
pub(crate) fn retitle(helper: Arc<Helper>, service: Arc<Service>) {
    let (send, mut heard) = mpsc::channel::<String>(WAITING);
    service.listen(move |record| {
        if record.kind == log::ANSWERED {
            let _ = send.try_send(record.conversation.clone());
        }
        !send.is_closed()
    });
    let service = Arc::downgrade(&service);
    tokio::spawn(async move {
        // Each title is requested once per run of the daemon.
        let mut asked = HashSet::new();
        while let Some(first) = heard.recv().await {
            tokio::time::sleep(PAUSE).await;
            let mut names = HashSet::from([first]);
            while let Ok(name) = heard.try_recv() {
                names.insert(name);
            }
            for name in names {
                let Some(service) = service.upgrade() else { return };
                let (of, looker) = (name.clone(), service.clone());
                let looked = tokio::task::spawn_blocking(move || looker.grown(&of)).await;
                for grown in looked.ok().and_then(Result::ok).unwrap_or_default() {
                    if !asked.insert((name.clone(), grown.slot)) {
                        continue;
                    }
                    match helper.words(&grown.question).await {
                        Ok(title) => {
                            let (of, writer) = (name.clone(), service.clone());
                            let put = tokio::task::spawn_blocking(move || writer.put_title(&of, grown.slot, title));
                            let _ = put.await;
                        }
                        Err(refusal) => tracing::info!(code = %refusal.code, "no title: {}", refusal.message),
                    }
                }
            }
        }
    });
}
