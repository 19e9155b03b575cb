//! `ctx status`: how the daemon is.

use std::process::ExitCode;

use clap::Args;

use crate::arguments::JsonArguments;
use crate::client::{Status, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::terminal::{Output, text, words};

/// Show how the daemon is: where it listens, what it forwarded, what it keeps
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx status
  ctx status --json | jq .requests")]
pub struct Arguments {
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let client = context.found()?;
    let answer = client.get("/status")?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        let status: Status = understood(&answer)?;
        let listen = client.address().to_string();
        context.output.print(&render(&status, &listen, ctx_composer::now(), &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(status: &Status, listen: &str, now: u64, output: &Output) -> String {
    let paint = &output.paint;
    let listen = status.listen.as_deref().unwrap_or(listen);
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| {
        let name = paint.faint(&format!("{name:<16}"));
        lines.push(format!("{name}{}\n", text::line(&value)));
    };
    line(
        "daemon",
        format!("version {}, process {}, started {}", status.version, status.pid, words::ago(now, status.started_at)),
    );
    line("listens on", listen.to_owned());
    line("forwards to", status.upstream.clone());
    let requests = &status.requests;
    line(
        "requests",
        format!(
            "{}, {} under way, {} without a whole answer",
            words::count(requests.total),
            words::count(requests.in_flight),
            words::count(requests.failed)
        ),
    );
    line("conversations", words::count(status.conversations));
    let store = &status.store;
    line(
        "store",
        format!(
            "{} in {} and {}, {}",
            words::bytes(store.bytes),
            words::plural(store.records, "record"),
            words::plural(store.blobs, "blob"),
            store.path
        ),
    );
    if let Some(memory) = status.memory_bytes {
        line("memory", words::bytes(memory));
    }
    let recorder = &status.recorder;
    if recorder.queued > 0 {
        line(
            "to be recorded",
            format!("{} ({})", words::plural(recorder.queued, "event"), words::bytes(recorder.queued_bytes)),
        );
    }
    let mut trouble = Vec::new();
    let mut count = |number: u64, what: &str| {
        if number > 0 {
            trouble.push(format!("{} {what}", words::count(number)));
        }
    };
    count(recorder.dropped, "copies were dropped because the recorder could not keep up");
    count(recorder.unreadable, "requests could not be read (they were forwarded)");
    count(store.unsaved, "steps could not be stored");
    count(store.skipped, "damaged records are skipped");
    for trouble in trouble {
        lines.push(format!("{}\n", paint.warning(&format!("note: {trouble}; `ctx doctor` may know more"))));
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_told_in_lines() {
        let status: Status = understood(
            br#"{"version":"0.1.0","pid":7,"listen":"127.0.0.1:8788","upstream":"https://api.anthropic.com","home":"/h",
                 "started_at":1000,"conversations":3,"requests":{"total":1234,"in_flight":1,"failed":0},
                 "recorder":{"queued":2,"queued_bytes":5000,"dropped":4},
                 "store":{"path":"/h/ctx.db","bytes":123456,"records":10,"blobs":1},"memory_bytes":12000000,"page":true}"#,
        )
        .expect("a status");
        insta::assert_snapshot!(render(&status, "", 301_000, &Output::plain()), @r"
        daemon          version 0.1.0, process 7, started 5 min ago
        listens on      127.0.0.1:8788
        forwards to     https://api.anthropic.com
        requests        1,234, 1 under way, 0 without a whole answer
        conversations   3
        store           123.5 KB in 10 records and 1 blob, /h/ctx.db
        memory          12.0 MB
        to be recorded  2 events (5.0 KB)
        note: 4 copies were dropped because the recorder could not keep up; `ctx doctor` may know more
        ");
    }
}
