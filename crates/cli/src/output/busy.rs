//! A spinner on stderr for slow operations; none in a pipe.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Faster operations need no spinner.
const LONG: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(120);
const FRAMES: [char; 8] = ['⣾', '⣽', '⣻', '⢿', '⡿', '⣟', '⣯', '⣷'];

/// Spins until it is dropped, then clears the line.
pub struct Busy {
    /// The task in progress.
    words: Arc<Mutex<String>>,
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Busy {
    pub fn start(with: impl Into<String>) -> Self {
        let words = Arc::new(Mutex::new(with.into()));
        let is_dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        if is_dumb || !io::stderr().is_terminal() {
            return Self { words, running: None };
        }
        let (stop, stopped) = mpsc::channel();
        let begun = Instant::now();
        let shown = words.clone();
        let turn = move || {
            let mut wait = LONG;
            for frame in FRAMES.iter().cycle() {
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                wait = TICK;
                // The cursor stays at the start of the line, so that the next output overwrites it.
                let words = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let _ = write!(io::stderr(), "\r{frame} {words}, {} s\x1b[K\r", begun.elapsed().as_secs());
            }
            if wait == TICK {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        };
        let thread = std::thread::Builder::new().name("busy".to_owned()).spawn(turn);
        Self { words, running: thread.ok().map(|thread| (stop, thread)) }
    }

    /// Changes the words beside the spinner, such as the progress.
    pub fn say(&self, words: impl Into<String>) {
        *self.words.lock().unwrap_or_else(PoisonError::into_inner) = words.into();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}
