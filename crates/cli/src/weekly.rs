//! Replays the home's conversations once a week while the automatic editor only observes. A process of its own does the
//! work, so that no request waits for it and its memory goes back.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ctx_api::status::WeekView;
use ctx_core::policy::Mode;
use ctx_engine::automatic::Rules;

use crate::home::Home;

/// The time between two looks at the clock. A daemon that lives shorter replays nothing.
const PAUSE: Duration = Duration::from_secs(60 * 60);
const WEEK_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// Starts the watch; it ends with the process.
pub fn start(home: Home, rules: Arc<dyn Rules>) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(PAUSE);
            if is_due(rules.of(None, &[]).mode, last(&home), ctx_service::now()) {
                replay(&home);
            }
        }
    });
}

fn is_due(mode: Mode, last: Option<u64>, now: u64) -> bool {
    mode == Mode::Observe && last.is_none_or(|last| now.saturating_sub(last) >= WEEK_MS)
}

/// The time of the last replay.
fn last(home: &Home) -> Option<u64> {
    let told = std::fs::read(home.path().join(WeekView::FILE)).ok()?;
    serde_json::from_slice::<WeekView>(&told).ok().map(|week| week.at)
}

fn replay(home: &Home) {
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    command.arg("--home").arg(home.path()).args(["lab", "week", "--background"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => tracing::info!("the week's conversations were replayed"),
        Ok(_) => tracing::debug!("no conversation could be replayed"),
        Err(error) => tracing::warn!(%error, "the week's conversations cannot be replayed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_observing_editor_replays_and_only_once_a_week() {
        let now = 100 * WEEK_MS;
        assert!(is_due(Mode::Observe, None, now) && is_due(Mode::Observe, Some(now - WEEK_MS), now));
        assert!(!is_due(Mode::Observe, Some(now - WEEK_MS + 1), now), "not twice a week");
        assert!(!is_due(Mode::Observe, Some(now + 5), now), "a clock that was ahead");
        for mode in [Mode::Off, Mode::Ask, Mode::On] {
            assert!(!is_due(mode, None, now), "{mode:?}");
        }
    }
}
