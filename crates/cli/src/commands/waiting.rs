//! `ctx waiting`: lists, accepts and cancels deferred edits.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ctx_api::edit::When;
use ctx_api::waiting::{Cancel, PendingOutcome, Several, WaitView, WaitingView};

use crate::arguments::{ConversationArguments, JsonArguments, author, non_empty};
use crate::client::{encoded, of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, text, words};

/// List, accept or cancel deferred edits and proposals
#[derive(Args, Debug)]
#[command(
    override_usage = "ctx waiting [--all]\n       ctx waiting accept ID…\n       ctx waiting cancel ID…",
    after_help = "An edit with --when cold waits until the provider's cache has expired; with --when near-limit, until the context nears
the model's limit. A proposal of the automatic editor (mode = \"ask\") waits for you.

Examples:
  ctx delete t3 --when cold
  ctx waiting accept w2 w3                applies them now
  ctx waiting cancel all"
)]
pub struct Arguments {
    /// list, accept (apply now) or cancel
    #[arg(value_enum, value_name = "ACTION", default_value_t = What::List, hide_possible_values = true)]
    what: What,
    /// Deferred edits: w2 w3, w2..w5, or all
    #[arg(value_name = "ID", value_parser = non_empty, required_if_eq_any([("what", "cancel"), ("what", "accept")]))]
    ids: Vec<String>,
    /// Include applied and cancelled ones
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// List deferred and failed edits
    List,
    /// Cancel deferred edits, decline proposals, dismiss failed ones
    Cancel,
    /// Apply them now
    Accept,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let client = context.client()?;
    let conversation = &arguments.conversation.conversation;
    let output = &context.output;
    let answer = match arguments.what {
        What::List => client.get(&of_conversation(conversation, "waiting"))?,
        What::Cancel | What::Accept => {
            let verb = if arguments.what == What::Accept { "accept" } else { "cancel" };
            let author = author(&context.environment).to_owned();
            if let Some(id) = lone(&arguments.ids) {
                let path = of_conversation(conversation, &format!("waiting/{}/{verb}", encoded(id, "")));
                client.post(&path, &Cancel { author })?
            } else {
                let body = Several { ids: arguments.ids.clone(), author };
                let answer = client.post(&of_conversation(conversation, &format!("waiting/{verb}")), &body)?;
                return many(&answer, &arguments.format, output);
            }
        }
    };
    if arguments.format.json {
        output.json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    output.print(&match arguments.what {
        What::List => render(&understood(&answer)?, arguments.all, ctx_service::now(), output),
        What::Cancel | What::Accept => {
            let deferred: WaitView = understood(&answer)?;
            format!("{}{}", outcome_line(&deferred), remark_lines(&deferred.remarks))
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The id, if exactly one is named.
fn lone(ids: &[String]) -> Option<&str> {
    match ids {
        [id] if id != "all" && !id.contains("..") && !id.contains(',') => Some(id),
        _ => None,
    }
}

/// The outcome for several edits. Fails if one of them failed.
fn many(answer: &[u8], format: &JsonArguments, output: &Output) -> Result<ExitCode, Failure> {
    let outcome: PendingOutcome = understood(answer)?;
    let code = if outcome.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if format.json {
        output.json(answer)?;
        return Ok(code);
    }
    let mut lines = String::new();
    for deferred in &outcome.done {
        lines.push_str(&outcome_line(deferred));
    }
    lines.push_str(&remark_lines(&outcome.remarks));
    for refused in &outcome.refused {
        let why = text::line(&format!("{} is unchanged: {} {}", refused.id, refused.message, refused.hint));
        lines.push_str(&format!("{}\n", output.paint.warning(&why)));
    }
    output.print(&lines)?;
    Ok(code)
}

fn outcome_line(deferred: &WaitView) -> String {
    let state = if deferred.state == "made" { "committed" } else { &deferred.state };
    format!("{} is {state}: {}\n", text::line(&deferred.id), text::line(&words::grouped(&deferred.summary)))
}

fn remark_lines(remarks: &[String]) -> String {
    remarks.iter().map(|remark| format!("  {}\n", text::line(remark))).collect()
}

/// The condition of a deferred edit, and how close it is.
pub fn moment(when: When, cold_at: u64, now: u64) -> String {
    match when {
        When::Now => "applied at once".to_owned(),
        When::Cold if cold_at > now => {
            format!("waits until the cache is cold, at {}, unless a request comes first", words::clock(cold_at))
        }
        When::Cold => "waits until the cache is cold".to_owned(),
        When::NearLimit => "waits until the context nears the model's limit".to_owned(),
        When::Accepted => {
            "proposed; `ctx waiting accept ID` applies it, `ctx waiting cancel ID` declines it".to_owned()
        }
    }
}

fn render(view: &WaitingView, all: bool, now: u64, output: &Output) -> String {
    let paint = &output.paint;
    let is_shown = |deferred: &&WaitView| all || deferred.state == "waiting" || deferred.state == "failed";
    let shown: Vec<&WaitView> = view.wishes.iter().filter(is_shown).collect();
    if shown.is_empty() {
        return "No deferred edits or proposals.\n".to_owned();
    }
    let mut lines = String::new();
    for deferred in shown {
        let what = text::line(&words::grouped(&deferred.summary));
        let by = format!("by {}, {}", deferred.author, words::ago(now, deferred.at));
        lines.push_str(&format!(
            "{}  {what}  {}\n",
            paint.id(&text::line(&deferred.id)),
            paint.faint(&text::line(&by))
        ));
        let mut told = vec![match (deferred.state.as_str(), deferred.when) {
            ("waiting", When::Accepted) => {
                let id = text::line(&deferred.id);
                format!("proposed; `ctx waiting accept {id}` applies it, `ctx waiting cancel {id}` declines it")
            }
            ("waiting", When::NearLimit) => format!(
                "{}: {} tokens, now {}",
                moment(deferred.when, view.cold_at, now),
                words::count(view.limit),
                words::count(view.tokens)
            ),
            ("waiting", when) => moment(when, view.cold_at, now),
            ("made", _) => {
                let commit = deferred.commit.map(|commit| commit.to_string()).unwrap_or_default();
                format!("committed as {commit}, {}", words::ago(now, deferred.ended.unwrap_or(now)))
            }
            ("failed", _) => {
                let why = deferred.failure.as_ref().map(|why| why.message.as_str()).unwrap_or_default();
                format!("failed {}: {why}", words::ago(now, deferred.ended.unwrap_or(now)))
            }
            (state, _) => format!("{state} {}", words::ago(now, deferred.ended.unwrap_or(now))),
        }];
        told.extend(deferred.failure.as_ref().map(|why| why.hint.clone()));
        told.extend(deferred.note.clone());
        for line in told {
            lines.push_str(&format!("    {}\n", paint.faint(&text::line(&line))));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_waits_is_told_with_its_moment_and_what_failed_with_its_reason() {
        let deferred = |id: &str, state: &str, when: &str| {
            json!({"id": id, "state": state, "when": when, "at": 1_000, "ended": (state != "waiting").then_some(61_000),
                "author": "cli", "note": null, "branch": "main", "operations": [], "reasons": [],
                "summary": "delete t3, 4120 tokens less", "tokens_before": 9000, "tokens_after": 4880,
                "commit": (state == "made").then_some("0123456789"),
                "failure": (state == "failed").then(|| json!({"code": "gone", "message": "\u{1b}[2Jt3 is gone.", "hint": "Look at `ctx list`."}))})
        };
        let view: WaitingView = serde_json::from_value(json!({
            "conversation": "c1", "cold_at": 200_000, "tokens": 9000, "limit": 160_000,
            "wishes": [deferred("w4", "made", "cold"), deferred("w3", "failed", "cold"), deferred("w2", "waiting", "near-limit"),
                deferred("w1", "waiting", "cold")],
        }))
        .expect("a list");
        insta::assert_snapshot!(render(&view, true, 121_000, &Output::plain()), @r"
        w4  delete t3, 4,120 tokens less  by cli, 2 min ago
            committed as 0123456789, 1 min ago
        w3  delete t3, 4,120 tokens less  by cli, 2 min ago
            failed 1 min ago: \x1b[2Jt3 is gone.
            Look at `ctx list`.
        w2  delete t3, 4,120 tokens less  by cli, 2 min ago
            waits until the context nears the model's limit: 160,000 tokens, now 9,000
        w1  delete t3, 4,120 tokens less  by cli, 2 min ago
            waits until the cache is cold, at 00:03:20Z, unless a request comes first
        ");
        assert!(!render(&view, false, 121_000, &Output::plain()).contains("w4"));
        let none = WaitingView { wishes: Vec::new(), ..view };
        assert_eq!(render(&none, true, 0, &Output::plain()), "No deferred edits or proposals.\n");
    }
}
