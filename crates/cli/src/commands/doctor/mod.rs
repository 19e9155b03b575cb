//! `ctx doctor`: checks everything the daemon depends on, and suggests fixes.

mod checks;
mod gateway;
mod store;
mod upstream;

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::arguments::{DaemonArguments, JsonArguments};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, text};

/// Check the home, the store, the daemon and the connection; suggest fixes
#[derive(Args, Debug)]
#[command(after_help = "Exits with 1 if there is a problem.

Examples:
  ctx doctor
  ctx doctor --json | jq '.findings[] | select(.level == \"wrong\")'")]
pub struct Arguments {
    #[command(flatten)]
    daemon: DaemonArguments,
    /// Do not contact the upstream
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    pub format: JsonArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Good,
    /// Worth knowing, but not a problem.
    Note,
    Wrong,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    about: &'static str,
    level: Level,
    message: String,
    /// Advice.
    hint: Option<String>,
}

impl Finding {
    fn new(about: &'static str, level: Level, message: impl Into<String>) -> Self {
        Self { about, level, message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }

    fn wrong(about: &'static str, failure: Failure) -> Self {
        Self { about, level: Level::Wrong, message: failure.message, hint: failure.hint }
    }
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let home = context.home()?;
    let mut findings = checks::home(&home);
    if let Some(about_gateway) = gateway::check(context, &home) {
        findings.extend(about_gateway);
        return report(&findings, arguments.format.json, context);
    }
    let (settings, configuration) = checks::configuration(&arguments.daemon.flags(&context.place)?, context, &home);
    findings.extend(configuration);
    findings.extend(checks::token(&home));
    let (daemon, about_daemon) = checks::daemon(context, &home);
    findings.extend(about_daemon);
    findings.extend(store::check(&home, settings.as_ref().and_then(|settings| settings.store.as_ref())));
    findings.extend(checks::leftovers(&home));
    if !arguments.offline {
        findings.extend(upstream::check(daemon.as_ref(), settings.as_ref(), &home));
    }
    report(&findings, arguments.format.json, context)
}

fn report(findings: &[Finding], json: bool, context: &Context) -> Result<ExitCode, Failure> {
    let is_healthy = findings.iter().all(|finding| finding.level != Level::Wrong);
    if json {
        let answer = json!({ "healthy": is_healthy, "findings": findings });
        context.output.json(answer.to_string().as_bytes())?;
    } else {
        context.output.print(&render(findings, &context.output))?;
    }
    Ok(if is_healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn render(findings: &[Finding], output: &Output) -> String {
    let paint = &output.paint;
    let mut lines = String::new();
    for finding in findings {
        let level = match finding.level {
            Level::Good => paint.good("ok   "),
            Level::Note => paint.warning("note "),
            Level::Wrong => paint.bad("wrong"),
        };
        let about = paint.strong(&format!("{:<9}", finding.about));
        lines.push_str(&format!("{level} {about} {}\n", text::line(&finding.message)));
        if let Some(hint) = &finding.hint {
            lines.push_str(&format!("{:16}{}\n", "", paint.faint(&format!("→ {}", text::line(hint)))));
        }
    }
    let wrong = findings.iter().filter(|finding| finding.level == Level::Wrong).count();
    lines.push_str(&match wrong {
        0 => "No problems found.\n".to_owned(),
        1 => "1 problem.\n".to_owned(),
        more => format!("{more} problems.\n"),
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_say_what_to_do_and_are_counted() {
        let findings = [
            Finding::new("home", Level::Good, "/h is private"),
            Finding::new("daemon", Level::Note, "none runs").hint("start it with `ctx up`"),
            Finding::new("store", Level::Wrong, "2 records\nare damaged").hint("purge them"),
        ];
        insta::assert_snapshot!(render(&findings, &Output::plain()), @r"
        ok    home      /h is private
        note  daemon    none runs
                        → start it with `ctx up`
        wrong store     2 records are damaged
                        → purge them
        1 problem.
        ");
        assert!(render(&findings[..2], &Output::plain()).ends_with("No problems found.\n"));
    }
}
