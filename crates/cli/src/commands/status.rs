//! `ctx status`: shows the state of the daemon and the usage of the context.

use std::process::ExitCode;

use clap::Args;
use ctx_api::call::Conversation;
use ctx_api::context::{AccountView, ContextView, WorthRemoving};
use ctx_api::context::{ProjectSetting, ProjectSettings};
use ctx_api::status::{ProviderView, RefusedView, Status};
use serde::Serialize;

use crate::arguments::{ConversationArguments, JsonArguments};
use crate::commands::lab;
use crate::context::Context;
use crate::failure::Failure;
use crate::gateway::GatewayUrl;
use crate::output::{Output, text, words};

/// Show the state of the daemon and of the context
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx status
  ctx status --json | jq .context.percent")]
pub struct Arguments {
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

/// The output of `--json`: the daemon's status, and the context of a conversation.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    status: &'a Status,
    /// The address of a daemon on another machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
    context: Option<ContextView>,
    worth: Option<WorthRemoving>,
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let client = context.found()?;
    let status = client.status()?;
    // Without any conversation there is no context; that is not an error.
    let asked = Conversation(&arguments.conversation.conversation);
    let filled = client.call(&asked.context()).ok();
    if arguments.format.json {
        let worth = client.call(&asked.worth()).ok().and_then(|view| view.worth);
        let gateway = client.gateway().map(ToString::to_string);
        let all = Whole { status: &status, gateway, context: filled, worth };
        context.output.json(&serde_json::to_vec(&all).unwrap_or_default())?;
    } else {
        let listen = client.place();
        let mut words = client.gateway().map(|url| gateway_in_words(url, &status, &context.output)).unwrap_or_default();
        words += &render(&status, &listen, ctx_service::now(), &context.output);
        if let Some(view) = filled {
            words.push_str(&context_in_words(&view, &context.output));
            let moved = super::list::moved_line(context, &view.conversation);
            let worth = super::list::worth_line(context, &view.conversation);
            words.extend(
                [moved, worth]
                    .into_iter()
                    .flatten()
                    .map(|line| format!("{}\n", context.output.paint.warning(&text::line(&line)))),
            );
        }
        context.output.print(&words)?;
    }
    let lost_commits = status.store.gone || !status.store.losses.is_empty();
    Ok(if lost_commits { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Where the user is signed in, and as whom.
fn gateway_in_words(url: &GatewayUrl, status: &Status, output: &Output) -> String {
    let me = status.me.as_ref().map(|me| format!(", signed in as {} ({})", me.name, me.role)).unwrap_or_default();
    format!("{}{}\n", output.paint.faint(&format!("{:<16}", "gateway")), text::line(&format!("{url}{me}")))
}

/// The usage of the context.
fn context_in_words(view: &ContextView, output: &Output) -> String {
    let paint = &output.paint;
    let mut lines = String::from("\n");
    let mut line = |name: &str, value: String| {
        lines.push_str(&format!("{}{}\n", paint.faint(&format!("{name:<16}")), text::line(&value)));
    };
    let count = words::count;
    line(
        "context",
        format!(
            "{} of {} tokens ({}%), {}",
            words::tokens(view.tokens, view.calibrated),
            count(view.window),
            view.percent,
            view.conversation
        ),
    );
    let clearing = match (view.mode.name(), view.provider_edits) {
        (mode, true) => format!("automatic editing {mode}, provider editing on"),
        (mode, false) => format!("automatic editing {mode}"),
    };
    line("status", format!("{}, threshold {}%; {clearing}", view.status.in_words(), view.threshold_percent));
    line("preserved", format!("{} of results", words::plural(view.preserved, "token")));
    let clearable: u64 = view.clearable.iter().map(|one| one.tokens).sum();
    let kinds = view.clearable.iter().filter(|one| one.tokens > 0);
    let kinds: Vec<String> = kinds.map(|one| format!("{} {}", one.target.name(), count(one.tokens))).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
    line("clearable", format!("{}{kinds}", words::plural(clearable, "token")));
    line(
        "saved",
        format!(
            "{} per request, {} by automatic editing",
            words::plural(view.saved, "token"),
            count(view.saved_automatically)
        ),
    );
    if let Some(AccountView { spent, saved, credit, bound, exceptions, exceptions_cost, help, next }) = &view.account {
        let money = words::dollars;
        let line_of = |what, amount: f64| format!("{} {what}", money(amount));
        let balance = if *saved < 0.0 { line_of("owed by edits", -saved) } else { line_of("saved by edits", *saved) };
        line("account", format!("{}, {balance}; at most {} may be owed", line_of("spent", *spent), money(*credit)));
        if *help > 0.0 {
            line("helper", format!("{} of it for summaries of phases", money(*help)));
        }
        if *exceptions > 0 {
            let edits = words::plural(*exceptions, "edit");
            let beyond = format!("beyond the bound of {:.0}%", bound * 100.0);
            line(
                "exceptions",
                format!("{edits} near the limit of the window {beyond}, costing {}", money(*exceptions_cost)),
            );
        }
        line("next", next.clone());
    }
    if view.left_out > 0 {
        line("cleared", format!("{} by the provider", words::plural(view.left_out, "token")));
    }
    if view.noted > 0 {
        line("would save", format!("{} in mode \"on\"", words::number_of(view.noted, "more token", "more tokens")));
    }
    if view.proposals > 0 {
        line("proposed", format!("{}: `ctx waiting` lists them", words::plural(view.proposals, "change")));
    }
    if !view.phases.is_empty() {
        line("phases", view.phases.join(", "));
    }
    if let Some(cache) = &view.cache {
        let state = if cache.warm { "warm" } else { "cold" };
        line("cache", format!("{} tokens, {state}", count(cache.tokens)));
    }
    if let Some(project) = &view.project_settings {
        lines.push_str(&project_in_words(project, output));
    }
    for hindrance in &view.hindrances {
        lines.push_str(&format!("{}\n", paint.warning(&format!("note: {}", text::line(hindrance)))));
    }
    lines
}

/// Settings of the project that are not in force, with advice.
fn project_in_words(project: &ProjectSettings, output: &Output) -> String {
    let place = |setting: &ProjectSetting| match setting.line {
        Some(line) => format!("{}, line {line}", setting.file),
        None => setting.file.clone(),
    };
    let waiting = project.waiting.iter().map(|setting| {
        let value = setting.value.as_deref().unwrap_or_default();
        format!("`{}` = {value} needs your trust ({})", setting.key, place(setting))
    });
    let ignored = project.ignored.iter().map(|setting| format!("{}: {}", place(setting), setting.why));
    let mut told: Vec<String> = waiting.chain(ignored).collect();
    if !project.waiting.is_empty() {
        told.push(format!("to trust this project's settings, run `ctx trust {}`", project.folder));
    }
    let line = |told: String| format!("{}\n", output.paint.warning(&format!("note: {}", text::line(&told))));
    told.into_iter().map(line).collect()
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
    if !status.upstreams.is_empty() {
        let named = status.upstreams.iter().map(|upstream| format!("{} {}", upstream.name, upstream.url));
        line("and to", named.collect::<Vec<_>>().join(", "));
    }
    let requests = &status.requests;
    line(
        "requests",
        format!(
            "{}, {} in progress, {} incomplete{}{}{}",
            words::count(requests.total),
            words::count(requests.in_flight),
            words::count(requests.failed),
            match requests.cancelled {
                0 => String::new(),
                cancelled => format!(", {} cancelled by the client", words::count(cancelled)),
            },
            match requests.unread {
                0 => String::new(),
                unread => format!(", {} in a format that ctx does not read", words::count(unread)),
            },
            match requests.elsewhere {
                0 => String::new(),
                elsewhere => format!(", {} with the history kept by the provider", words::count(elsewhere)),
            }
        ),
    );
    line("conversations", words::count(status.conversations as u64));
    let store = &status.store;
    line(
        "store",
        format!(
            "{} in {} and {}, {}",
            words::bytes(store.bytes),
            words::plural(store.records, "record"),
            words::plural(store.blobs, "blob"),
            store.path.display()
        ),
    );
    if !store.others.is_empty() {
        let names: Vec<&str> = store.others.iter().map(|other| other.name.as_str()).collect();
        line("other daemons", names.join(", "));
    }
    let provider = &status.provider;
    if provider.enabled || provider.clearings > 0 {
        line("provider edits", provider_in_words(provider));
    }
    for refused in &provider.refused {
        let days = words::plural(refused.until.saturating_sub(now).div_ceil(DAY_MS).max(1), "day");
        let RefusedView { model, edit, words, .. } = refused;
        line("  refused", format!("{edit} by {model}, retried in {days}: {words}"));
    }
    if let Some(week) = &status.week {
        line("automatic", format!("{} ({})", lab::week::in_words(week), words::ago(now, week.at)));
    }
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
    let mut count = |number: u64, (one, many): (&str, &str), what: &str| {
        if number > 0 {
            trouble.push(format!("{} {what}", words::number_of(number, one, many)));
        }
    };
    let unread = "could not be parsed and";
    let (was, were) = (format!("request {unread} was"), format!("requests {unread} were"));
    count(recorder.dropped, ("copy was", "copies were"), "dropped because the recorder could not keep up");
    count(recorder.unreadable.saturating_sub(recorder.refused), (&was, &were), "forwarded");
    count(recorder.refused, (&was, &were), "refused");
    count(store.unsaved, ("step", "steps"), "could not be stored");
    if let Some(since) = store.away_since {
        let waiting = match store.waiting_bytes {
            0 => String::new(),
            bytes => format!("; {} wait to be stored", words::bytes(bytes)),
        };
        trouble.push(format!(
            "the database has been out of reach for {} s: requests pass, edits are refused{waiting}",
            now.saturating_sub(since) / 1000
        ));
    }
    for other in store.others.iter().filter(|other| other.is_silent()) {
        trouble.push(format!("the daemon {} has not been heard of for {} s", other.name, other.silent_ms / 1000));
    }
    if store.gone {
        trouble.push("the store's file was removed, so edits are refused; restart the daemon".to_owned());
    }
    trouble.extend(
        store.losses.iter().map(|file| format!("acknowledged edits are missing: {} lists them", file.display())),
    );
    for trouble in trouble {
        lines.push(format!("{}\n", paint.warning(&format!("note: {trouble}; run `ctx doctor`"))));
    }
    lines.concat()
}

/// The provider's own edits since the start.
fn provider_in_words(provider: &ProviderView) -> String {
    let switch = if provider.enabled { "on" } else { "off" };
    let mut parts = vec![format!("{switch}, requested in {}", words::plural(provider.asked, "request"))];
    if provider.clearings > 0 {
        let mut what = vec![words::plural(provider.cleared_tool_uses, "tool result")];
        if provider.cleared_thinking_turns > 0 {
            what.push(format!("the thinking of {}", words::plural(provider.cleared_thinking_turns, "turn")));
        }
        what.push(format!("{} tokens", words::count(provider.cleared_tokens)));
        let requests = words::plural(provider.clearings, "request");
        parts.push(format!("omitted from {requests}, counted each time: {}", what.join(", ")));
    }
    if provider.summaries > 0 {
        let summaries = if provider.summaries == 1 { "summary" } else { "summaries" };
        parts.push(format!("{} {summaries}", words::count(provider.summaries)));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::understood;
    use serde_json::json;

    #[test]
    fn how_full_the_context_is_is_told_in_lines() {
        let view: ContextView = serde_json::from_value(json!({
            "conversation": "c1", "tokens": 142_000, "calibrated": true, "window": 200_000, "percent": 71, "threshold_percent": 80,
            "status": "normal", "mode": "observe", "provider_edits": true, "preserved": 45_000,
            "clearable": [{"target": "stale_tool_results", "tokens": 40_000}, {"target": "verbose_debug", "tokens": 0}],
            "saved": 9_000, "saved_automatically": 0, "left_out": 700, "noted": 40_000, "proposals": 1, "phases": ["testing"],
            "account": {"spent": 12.5, "saved": -0.06, "credit": 0.25, "bound": 0.02, "exceptions": 1, "exceptions_cost": 0.31, "help": 0.004,
                "next": "nothing is old enough to clear"},
            "cache": null, "hindrances": ["ctx.toml, line 3: 140 is too much; its previous settings stay in force"],
        }))
        .expect("a view");
        insta::assert_snapshot!(context_in_words(&view, &Output::plain()), @r#"

        context         142,000 of 200,000 tokens (71%), c1
        status          NORMAL, threshold 80%; automatic editing observe, provider editing on
        preserved       45,000 tokens of results
        clearable       40,000 tokens: stale_tool_results 40,000
        saved           9,000 tokens per request, 0 by automatic editing
        account         $12.50 spent, $0.060 owed by edits; at most $0.250 may be owed
        helper          $0.0040 of it for summaries of phases
        exceptions      1 edit near the limit of the window beyond the bound of 2%, costing $0.310
        next            nothing is old enough to clear
        cleared         700 tokens by the provider
        would save      40,000 more tokens in mode "on"
        proposed        1 change: `ctx waiting` lists them
        phases          testing
        note: ctx.toml, line 3: 140 is too much; its previous settings stay in force
        "#);
    }

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
        requests        1,234, 1 in progress, 0 incomplete
        conversations   3
        store           123.5 KB in 10 records and 1 blob, /h/ctx.db
        memory          12.0 MB
        to be recorded  2 events (5.0 KB)
        note: 4 copies were dropped because the recorder could not keep up; run `ctx doctor`
        ");
    }

    #[test]
    fn requests_that_were_refused_and_forwarded_are_counted_apart_and_one_is_one() {
        let told = |recorder: &str, unsaved: u64| {
            let status = format!(r#"{{"recorder":{recorder},"store":{{"unsaved":{unsaved}}}}}"#);
            let status: Status = understood(status.as_bytes()).expect("a status");
            let told = render(&status, "", 1_000, &Output::plain());
            told.lines().filter_map(|line| Some(line.strip_prefix("note: ")?.split_once(';')?.0.to_owned())).collect()
        };
        let some: Vec<String> = told(r#"{"unreadable":28,"refused":15}"#, 2);
        let expected = [
            "13 requests could not be parsed and were forwarded",
            "15 requests could not be parsed and were refused",
            "2 steps could not be stored",
        ];
        assert_eq!(some, expected);
        let one: Vec<String> = told(r#"{"dropped":1,"unreadable":1,"refused":1}"#, 1);
        let expected = [
            "1 copy was dropped because the recorder could not keep up",
            "1 request could not be parsed and was refused",
            "1 step could not be stored",
        ];
        assert_eq!(one, expected);
    }

    #[test]
    fn missing_commits_are_told() {
        let status: Status = understood(br#"{"store":{"losses":["/h/ctx.lost-3-9"],"gone":true}}"#).expect("a status");
        let told = render(&status, "", 1_000, &Output::plain());
        assert!(told.contains("acknowledged edits are missing: /h/ctx.lost-3-9 lists them"), "{told}");
        assert!(told.contains("the store's file was removed"), "{told}");
    }

    #[test]
    fn what_the_provider_edits_by_itself_is_told_where_it_is_switched_on() {
        let status: Status = understood(
            br#"{"provider":{"enabled":true,"asked":12,"clearings":2,"cleared_tool_uses":31,"cleared_tokens":52000,
                 "refused":[{"model":"claude-x","edit":"compact_20260112","at":1,"until":500000000,"words":"not here"}]}}"#,
        )
        .expect("a status");
        let told = render(&status, "", 1_000, &Output::plain());
        let lines: Vec<&str> =
            told.lines().filter(|line| line.contains("provider") || line.contains("refused")).collect();
        assert_eq!(
            lines,
            [
                "provider edits  on, requested in 12 requests; omitted from 2 requests, counted each time: 31 tool results, 52,000 tokens",
                "  refused       compact_20260112 by claude-x, retried in 6 days: not here",
            ]
        );
    }
}
