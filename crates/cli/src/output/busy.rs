//! A spinner or a progress bar on stderr for slow operations; none in a pipe.

use super::bar::bar;
use ctx_store::Progress;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Faster operations show nothing.
const LONG: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(120);
const FRAMES: [char; 8] = ['⣾', '⣽', '⣻', '⢿', '⡿', '⣟', '⣯', '⣷'];
/// The width of a bar.
const COLUMNS: usize = 24;

/// Runs until it is dropped, then clears the line.
pub struct Busy {
    shown: Arc<Mutex<StatusLine>>,
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

struct StatusLine {
    /// The task in progress.
    words: String,
    /// How many of how many are done, where that is known.
    done: Option<(u64, u64)>,
}

impl Busy {
    pub fn start(with: impl Into<String>) -> Self {
        let shown = Arc::new(Mutex::new(StatusLine { words: with.into(), done: None }));
        let is_dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        if is_dumb || !io::stderr().is_terminal() {
            return Self { shown, running: None };
        }
        let (stop, stopped) = mpsc::channel();
        let begun = Instant::now();
        let looked_at = shown.clone();
        let turn = move || {
            let mut wait = LONG;
            for frame in FRAMES.iter().cycle() {
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                wait = TICK;
                // The cursor stays at the start of the line, so that the next output overwrites it.
                let line = guard(&looked_at).line(*frame, begun.elapsed());
                let _ = write!(io::stderr(), "\r{line}\x1b[K\r");
            }
            if wait == TICK {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        };
        let thread = std::thread::Builder::new().name("busy".to_owned()).spawn(turn);
        Self { shown, running: thread.ok().map(|thread| (stop, thread)) }
    }

    /// Changes the words beside the spinner.
    pub fn say(&self, words: impl Into<String>) {
        guard(&self.shown).words = words.into();
    }

    /// Moves the bar.
    pub fn progress(&self) -> Progress {
        let shown = self.shown.clone();
        Progress::new(move |done, total| guard(&shown).done = Some((done, total)))
    }
}

impl StatusLine {
    fn line(&self, frame: char, taken: Duration) -> String {
        let (words, seconds) = (&self.words, taken.as_secs());
        match self.done {
            Some((done, total)) if total > 0 => {
                let (full, rest) = bar(done, total, total, COLUMNS);
                format!("{frame} {words} {full}{rest} {done} of {total}, {seconds} s")
            }
            _ => format!("{frame} {words}, {seconds} s"),
        }
    }
}

fn guard(shown: &Mutex<StatusLine>) -> MutexGuard<'_, StatusLine> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_drawn_where_the_total_is_known() {
        let line = |done| StatusLine { words: "reading".into(), done }.line('⣾', Duration::from_secs(3));
        assert_eq!(line(None), "⣾ reading, 3 s");
        assert_eq!(line(Some((0, 0))), "⣾ reading, 3 s");
        assert_eq!(line(Some((1, 4))), "⣾ reading ██████░░░░░░░░░░░░░░░░░░ 1 of 4, 3 s");
        assert_eq!(line(Some((5, 4))), "⣾ reading ████████████████████████ 5 of 4, 3 s");
    }
}
