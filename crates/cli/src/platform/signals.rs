//! The signals that stop a daemon. Windows has Ctrl-C only.

use crate::failure::Failure;

/// The signals that stop a daemon: interrupt, terminate, hang-up.
#[cfg(unix)]
pub struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    outlives_terminal: bool,
}

#[cfg(unix)]
impl Signals {
    /// Registers the signals, so that none is lost before the daemon waits for them.
    pub fn listen(outlives_terminal: bool) -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let hear = |kind| {
            signal(kind).map_err(|error| {
                Failure::new(ctx_core::ErrorCode::Signals, format!("cannot listen for signals: {error}"))
            })
        };
        Ok(Self {
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
            hang_up: hear(SignalKind::hangup())?,
            outlives_terminal,
        })
    }

    pub async fn received(mut self) {
        self.next().await;
        // Running requests may finish; a second signal aborts them.
        tokio::spawn(async move {
            self.next().await;
            std::process::exit(130);
        });
    }

    async fn next(&mut self) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => if !self.outlives_terminal { return },
            }
        }
    }
}

#[cfg(not(unix))]
pub struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub fn listen(_outlives_terminal: bool) -> Result<Self, Failure> {
        Ok(Self)
    }

    pub async fn received(self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
