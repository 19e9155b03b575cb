//! `ctx helper`: shows the helper model, its budget and its jobs.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ctx_api::edit::When;
use ctx_api::helper::{HelperTest, HelperView, JobView};

use crate::arguments::{JsonArguments, non_empty};
use crate::client::{encoded, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, text, words};

/// Show or test the helper model, which writes summaries and titles
#[derive(Args, Debug)]
#[command(
    after_help = "Configure it under [helper] in the home's ctx.toml. Without a helper model, ctx extracts key lines.

Examples:
  ctx helper
  ctx helper test
  ctx helper retry h2"
)]
pub struct Arguments {
    /// status, test (request a title), cancel or retry
    #[arg(value_enum, value_name = "ACTION", default_value_t = What::Status, hide_possible_values = true)]
    what: What,
    /// Job to cancel or retry
    #[arg(value_name = "JOB", value_parser = non_empty, required_if_eq_any = [("what", "cancel"), ("what", "retry")])]
    job: Option<String>,
    #[command(flatten)]
    pub format: JsonArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Show the helper, its budget and its jobs
    Status,
    /// Request a title, to see whether the model answers
    Test,
    /// Stop a job
    Cancel,
    /// Retry a job
    Retry,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let client = context.client()?;
    let job = || format!("/helper/jobs/{}", encoded(arguments.job.as_deref().unwrap_or_default(), ""));
    let nothing = serde_json::json!({});
    let (answer, output) = (
        match arguments.what {
            What::Status => client.get("/helper")?,
            What::Test => client.post("/helper/test", &nothing)?,
            What::Cancel => client.post(&format!("{}/cancel", job()), &nothing)?,
            What::Retry => client.wait(understood(&client.post(&format!("{}/retry", job()), &nothing)?)?)?,
        },
        &context.output,
    );
    if arguments.format.json {
        output.json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let words = match arguments.what {
        What::Status => render(&understood(&answer)?, ctx_service::now(), output),
        What::Test => {
            let HelperTest { by, said, took_ms, .. } = understood(&answer)?;
            let took = words::duration(took_ms);
            format!("{} answers in {took}: {}\n", text::line(&by), text::line(&said))
        }
        What::Cancel => {
            let job: JobView = understood(&answer)?;
            format!("{} is {}\n", text::line(&job.job), job.state.name())
        }
        What::Retry => super::change::applied_in_words(&understood(&answer)?, false, When::Now, output),
    };
    output.print(&words)?;
    Ok(ExitCode::SUCCESS)
}

fn render(view: &HelperView, now: u64, output: &Output) -> String {
    let paint = &output.paint;
    let mut lines = String::new();
    let mut line = |name: &str, value: String| {
        lines.push_str(&format!("{}{}\n", paint.faint(&format!("{name:<10}")), text::line(&value)));
    };
    if view.provider == "none" {
        line("helper", "none; ctx extracts summaries and titles".to_owned());
        return lines;
    }
    let model = view.model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
    line("helper", format!("{}{model}", view.provider));
    view.url.iter().for_each(|url| line("url", url.clone()));
    if let Some(name) = &view.key_env {
        line("key", format!("{name}{}", if view.has_key { "" } else { ", which was not set when the daemon started" }));
    }
    line("today", format!("{} of {} tokens", words::count(view.used_today), words::count(view.budget_per_day)));
    let background = |is_on: bool| if is_on { "written in the background" } else { "only on request" }.to_owned();
    line("titles", background(view.titles));
    line("phases", background(view.phases));
    for job in view.jobs.iter().take(10) {
        let why = job.error.as_ref().map(|error| format!(": {}", error.message)).unwrap_or_default();
        let so_far = if job.wanted > 1 { format!(" {} of {}", job.found, job.wanted) } else { String::new() };
        let JobView { job, conversation, state, by, started_at, .. } = job;
        let state = state.name();
        line(job, format!("{state}{so_far} by {by}, {}, {conversation}{why}", words::ago(now, *started_at)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_tells_who_it_is_what_it_cost_and_what_it_did() {
        let view = r#"{"provider":"openai","model":"qwen","url":"http://localhost:1","key_env":"MY_KEY","has_key":false,
            "used_today":1234,"budget_per_day":200000,"timeout_seconds":60,"max_chars":6000,"titles":false,"jobs":[{"job":"h1","conversation":"c1",
            "state":"failed","by":"qwen","found":1,"wanted":3,"started_at":1000,"error":{"code":"helper-failed","hint":"","message":"it is \u001b[2J down"}}]}"#;
        let view: HelperView = serde_json::from_str(view).expect("a view");
        insta::assert_snapshot!(render(&view, 61_000, &Output::plain()), @r"
        helper    openai, qwen
        url       http://localhost:1
        key       MY_KEY, which was not set when the daemon started
        today     1,234 of 200,000 tokens
        titles    only on request
        phases    only on request
        h1        failed 1 of 3 by qwen, 1 min ago, c1: it is \x1b[2J down
        ");
    }
}
