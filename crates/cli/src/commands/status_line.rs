//! `ctx status-line`: prints one line for the agent's status line. The agent runs it often and shows its whole output,
//! so it is fast, and silent if it has nothing to report.

use std::io::Read;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use clap::Args;
use ctx_api::call::of_session;
use ctx_api::context::ContextView;
use ctx_clients::StatusLineInput;

use crate::client::{Client, of_conversation, understood};
use crate::context::Context;
use crate::env;
use crate::failure::Failure;

/// A later line is useless.
const PATIENCE: Duration = Duration::from_millis(500);
/// The agent sends a few kilobytes.
const MOST: u64 = 1024 * 1024;

/// Print context usage in one line, for the agent's status line
#[derive(Args, Debug)]
#[command(
    after_help = "Reads Claude Code's status-line input from stdin. Without a daemon, prints nothing and exits with 0.

Example, in settings.json (`ctx install claude-code --status-line` writes it):
  \"statusLine\": { \"type\": \"command\", \"command\": \"ctx status-line\" }"
)]
pub struct Arguments {}

pub fn run(_: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let mut said = Vec::new();
    let _ = std::io::stdin().lock().take(MOST).read_to_end(&mut said);
    let told: StatusLineInput = serde_json::from_slice(&said).unwrap_or_default();
    let session = told.session_id.clone().or_else(|| context.environment.text(env::AGENT_SESSION));
    let line = session.and_then(|session| view(&session, context)).map(|view| render(&told, &view));
    if let Some(line) = line {
        // An error would have no reader here.
        let _ = context.output.print_lines(&format!("{line}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The daemon's data about a session, if they arrive in time.
fn view(session: &str, context: &Context) -> Option<ContextView> {
    let whereabouts = context.whereabouts().ok()?;
    let question = of_conversation(&of_session(session), "context");
    let (answer, answered) = mpsc::channel();
    std::thread::Builder::new()
        .spawn(move || {
            let asked = Client::find(&whereabouts).and_then(|client| understood(&client.get(&question)?));
            let _ = answer.send(asked.ok());
        })
        .ok()?;
    answered.recv_timeout(PATIENCE).ok().flatten()
}

fn render(told: &StatusLineInput, view: &ContextView) -> String {
    let about = if view.calibrated { "" } else { "≈" };
    let (tokens, window) = (short(view.tokens), short(view.window));
    let mut line = format!("ctx {about}{tokens} of {window} ({}%) {}", view.percent, view.status.in_words());
    if view.saved > 0 {
        line.push_str(&format!(" · saved {}", short(view.saved)));
    }
    if let Some(share) = told.cached_percent() {
        line.push_str(&format!(" · cached {share}%"));
    }
    let waiting = view.project_settings.as_ref().map_or(0, |project| project.waiting.len());
    if waiting > 0 {
        let settings = if waiting == 1 { "setting waits" } else { "settings wait" };
        line.push_str(&format!(" · {waiting} project {settings}: ctx trust"));
    }
    line
}

/// `940`, `12.8k`, `1M`.
fn short(number: u64) -> String {
    let (size, unit) = match number {
        0..1_000 => return number.to_string(),
        1_000..999_950 => (number as f64 / 1e3, "k"),
        _ => (number as f64 / 1e6, "M"),
    };
    let said = format!("{size:.1}");
    format!("{}{unit}", said.strip_suffix(".0").unwrap_or(&said))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(told: &str, tokens: u64, calibrated: bool, saved: u64) -> String {
        let told = serde_json::from_str(told).expect("what the agent tells");
        let view = serde_json::json!({"conversation": "c1", "tokens": tokens, "calibrated": calibrated, "window": 200_000,
            "percent": tokens / 2_000, "threshold_percent": 80, "status": if tokens < 160_000 { "normal" } else { "near-limit" },
            "mode": "off", "provider_edits": false, "preserved": 0, "clearable": [], "saved": saved,
            "saved_automatically": 0, "left_out": 0, "noted": 0, "proposals": 0, "hindrances": [], "phases": [], "cache": null});
        render(&told, &serde_json::from_value(view).expect("a view"))
    }

    #[test]
    fn the_line_tells_used_saved_and_cached() {
        let told = r#"{"session_id":"s","model":{"id":"m"},"context_window":{"context_window_size":200000,
            "current_usage":{"input_tokens":100,"output_tokens":9,"cache_creation_input_tokens":900,"cache_read_input_tokens":9000}}}"#;
        assert_eq!(line(told, 12_822, true, 5_188), "ctx 12.8k of 200k (6%) NORMAL · saved 5.2k · cached 90%");
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        assert_eq!(line("{}", 940, false, 0), "ctx ≈940 of 200k (0%) NORMAL");
        let told = r#"{"context_window":{"current_usage":{"input_tokens":0}}}"#;
        assert_eq!(line(told, 170_000, true, 0), "ctx 170k of 200k (85%) NEAR LIMIT");
    }

    #[test]
    fn settings_that_wait_for_trust_are_told() {
        let setting = serde_json::json!({"file": "/p/ctx.toml", "line": 2, "key": "context_editing.mode", "value": "on", "why": ""});
        let waiting = |number: usize| {
            let view = serde_json::json!({"conversation": "c1", "tokens": 940, "calibrated": true, "window": 200_000,
                "percent": 0, "threshold_percent": 80, "status": "normal", "mode": "off", "provider_edits": false,
                "preserved": 0, "clearable": [], "saved": 0, "saved_automatically": 0, "left_out": 0, "noted": 0,
                "proposals": 0, "hindrances": [], "phases": [], "cache": null,
                "project_settings": {"folder": "/p", "waiting": vec![setting.clone(); number], "ignored": []}});
            render(&StatusLineInput::default(), &serde_json::from_value(view).expect("a view"))
        };
        assert_eq!(waiting(0), "ctx 940 of 200k (0%) NORMAL");
        assert_eq!(waiting(1), "ctx 940 of 200k (0%) NORMAL · 1 project setting waits: ctx trust");
        assert_eq!(waiting(2), "ctx 940 of 200k (0%) NORMAL · 2 project settings wait: ctx trust");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0, 999, 1_000, 12_822, 999_949, 999_950, 1_000_000].map(short),
            ["0", "999", "1k", "12.8k", "999.9k", "1M", "1M"]
        );
    }
}
