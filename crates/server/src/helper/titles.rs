//! Frames that have grown much get another title, once, while nobody waits for it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ctx_engine::log;
use ctx_service::Service;
use tokio::sync::mpsc;

use super::Helper;

/// Conversations that wait; more than these will be heard of again.
const WAITING: usize = 64;
/// An agent at work answers every few seconds: what it does is looked at when it pauses.
const PAUSE: Duration = Duration::from_secs(2);

/// Listens from now on, until the service ends.
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
        // Each is asked for once in a daemon's life, whatever came of it.
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
