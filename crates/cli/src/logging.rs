//! The daemon's log on stderr or in a file, filtered by CTX_LOG. Other verbs log nothing.
//!
//! Each event is one line: a newline in a model's name or a session id must not start another.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use ctx_core::ErrorCode;
use ctx_core::clean::is_invisible;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::env::{self, Environment};
use crate::failure::Failure;

const USUAL: &str = "info";

/// Starts the log, on stderr or in a file.
pub fn start(environment: &Environment, file: Option<File>) -> Result<(), Failure> {
    let filter = filter(&environment.text(env::LOG).unwrap_or_else(|| USUAL.to_owned()))?;
    let log = tracing_subscriber::fmt().compact().with_max_level(LevelFilter::TRACE);
    let started = match file.map(Arc::new) {
        Some(file) => log.with_ansi(false).with_writer(move || OneLine(file.clone())).finish().with(filter).try_init(),
        None => {
            let is_coloured = io::stderr().is_terminal() && environment.get(env::NO_COLOR).is_none();
            log.with_ansi(is_coloured).with_writer(|| OneLine(io::stderr())).finish().with(filter).try_init()
        }
    };
    started.map_err(|error| Failure::new(ErrorCode::Log, format!("the log cannot be started: {error}")))
}

/// The events to log: a level, or levels by module.
fn filter(wanted: &str) -> Result<Targets, Failure> {
    let parts: Vec<&str> = wanted.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let filter = parts.join(",").parse::<Targets>().map_err(|error| {
        Failure::new(ErrorCode::Environment, format!("{} is invalid: {error}", env::LOG.name()))
            .hint("use a level (error, warn, info, debug, trace), or levels by module: ctx_server=debug,warn")
    })?;
    // It logs whole messages, which contain people's conversations.
    Ok(filter.with_target("rmcp", LevelFilter::OFF))
}

/// Writes each event as one line; the log passes it whole.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.0.write_all(one_line(&String::from_utf8_lossy(event)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Escape characters are the log's own colours: it escapes those in its input.
fn one_line(event: &str) -> String {
    let text = event.strip_suffix('\n').unwrap_or(event);
    let mut line = String::with_capacity(event.len());
    for letter in text.chars().filter(|letter| !is_invisible(*letter)) {
        line.push(if letter.is_control() && letter != '\x1b' { ' ' } else { letter });
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn levels_are_for_all_or_by_module_and_never_show_whole_messages() {
        let shows = |wanted: &str, target, level| filter(wanted).expect("a filter").would_enable(target, &level);
        assert!(shows("info", "ctx_server", Level::INFO) && !shows("info", "ctx_server", Level::DEBUG));
        assert!(shows("ctx_server=trace, warn", "ctx_server::proxy", Level::TRACE));
        assert!(shows("ctx_server=trace,warn", "hyper", Level::WARN));
        assert!(!shows("ctx_server=trace,warn,", "hyper", Level::INFO));
        assert!(!shows("trace", "rmcp::service", Level::ERROR) && !shows("rmcp=trace", "rmcp", Level::ERROR));
        assert!(filter("ctx=loud").is_err());
    }

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let mut log = OneLine(Vec::new());
        log.write_all("WARN x: model=a\n2026 INFO forged\r\u{2028}b\u{202e}c\u{200b}d\n".as_bytes()).expect("written");
        log.write_all(b"next\n").expect("written");
        assert_eq!(String::from_utf8(log.0).expect("text"), "WARN x: model=a 2026 INFO forged bcd\nnext\n");
    }
}
