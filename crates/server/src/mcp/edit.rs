//! `ctx_preview`, `ctx_apply` and `ctx_undo`: operations in the JSON of the command line, the API and the log. Each
//! edit names the head that the caller saw, so that it never overwrites a newer edit of a person.

use ctx_api::call::{Call, Conversation};
use ctx_api::edit::{EditResult, Heal, When};
use ctx_api::history::{Action, CommitView, HistoryQuery, HistoryRequest};
use ctx_api::plan::{Plan, PlanView, PlannedOperation, PlannedView};
use ctx_api::waiting::Cancel;
use ctx_core::ErrorCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, short};
use super::ask::{Ask, Refusal, call};
use super::list::head;
use super::own::Own;
use super::settings::{OPERATIONS, Settings, WAYS};

/// The author of the commits.
pub(super) const AUTHOR: &str = "mcp";
/// The number of newer commits to report.
const SINCE: usize = 5;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    #[serde(default)]
    pub conv: Option<String>,
    operations: Value,
    #[serde(default)]
    note: Option<String>,
    #[serde(default)]
    expect: Option<String>,
    #[serde(default)]
    when: When,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UndoArguments {
    pub conv: Option<String>,
    action: Option<String>,
    target: Option<String>,
    name: Option<String>,
    cascade: bool,
    dry_run: bool,
    note: Option<String>,
    expect: Option<String>,
    /// A deferred edit to cancel.
    cancel: Option<String>,
}

/// The effect of operations. Previews are always allowed: only `ctx_apply` checks the permissions.
pub async fn preview(ask: &impl Ask, own: &Own, arguments: &Arguments) -> Result<Answer, Refusal> {
    let plan = plan(arguments, operations(&arguments.operations)?)?;
    let view = planned(ask, &own.id, &plan).await?;
    let mut answer = told(own, &view.applied);
    answer.add("risks", view.operations.iter().filter_map(risks).collect());
    Ok(answer)
}

/// The risk of an operation, if any.
fn risks(operation: &PlannedView) -> Option<Value> {
    let what: Vec<Value> = operation.risks.iter().map(|risk| short(risk.what.clone().into())).collect();
    match &operation.nothing {
        Some(nothing) => Some(json!({"operation": operation.number, "nothing": short(nothing.clone().into())})),
        None if what.is_empty() => None,
        None => Some(json!({"operation": operation.number, "risk": operation.risk, "what": what})),
    }
}

pub async fn apply(ask: &impl Ask, own: &Own, settings: &Settings, arguments: &Arguments) -> Result<Answer, Refusal> {
    let operations = operations(&arguments.operations)?;
    for operation in &operations {
        settings.check(name(operation))?;
    }
    expected(own, arguments.expect.as_deref())?;
    let plan = Plan { note: arguments.note.clone(), apply: true, ..plan(arguments, operations)? };
    let view = planned(ask, &own.id, &plan).await?;
    Ok(told(own, &view.applied))
}

/// The plan of a call.
fn plan(arguments: &Arguments, operations: Vec<Value>) -> Result<Plan, Refusal> {
    let operations: Result<Vec<PlannedOperation>, Refusal> = operations
        .into_iter()
        .enumerate()
        .map(|(at, operation)| {
            PlannedOperation::read(operation).map_err(|error| {
                let hint = "See the schema of ctx_preview.";
                Refusal::new(ErrorCode::BadRequest, format!("operations[{at}]: {error}"), hint)
            })
        })
        .collect();
    Ok(Plan {
        operations: operations?,
        note: None,
        expect: arguments.expect.clone(),
        only: Vec::new(),
        author: AUTHOR.to_owned(),
        apply: false,
        when: arguments.when,
    })
}

pub async fn undo(ask: &impl Ask, own: &Own, settings: &Settings, given: &UndoArguments) -> Result<Answer, Refusal> {
    if let Some(edit) = &given.cancel {
        return cancel(ask, own, settings, edit).await;
    }
    let action = given.action.as_deref().unwrap_or("undo");
    if !WAYS.contains(&action) {
        return Err(Refusal::new(ErrorCode::BadAction, format!("No action `{action}`."), list_of(&WAYS)));
    }
    settings.check(action)?;
    let expect = Some(expected(own, given.expect.as_deref())?.to_owned());
    let (author, note, dry_run, when) = (AUTHOR.to_owned(), given.note.clone(), given.dry_run, When::Now);
    let call = match serde_json::from_value::<Action>(action.into()) {
        Ok(action) => {
            let (target, name, cascade) = (given.target.clone(), given.name.clone(), given.cascade);
            let request = HistoryRequest { action, target, name, cascade, author, note, expect, dry_run, when };
            Conversation(&own.id).go(&request)
        }
        Err(_) => Conversation(&own.id).heal(&Heal { author, note, expect, dry_run, when }),
    };
    let applied = changed(ask, own, call).await?;
    Ok(told(own, &applied))
}

/// Cancels a deferred edit. Like undo, this is allowed to everyone who may edit.
async fn cancel(ask: &impl Ask, own: &Own, settings: &Settings, edit: &str) -> Result<Answer, Refusal> {
    settings.check("undo")?;
    let cancelled = call(ask, Conversation(&own.id).cancel(edit, &Cancel { author: AUTHOR.to_owned() })).await?;
    let summary = short(cancelled.summary.as_str().into());
    let rest = json!({"head": head(own), "id": cancelled.id, "state": cancelled.state, "summary": summary});
    Ok(Answer::about(own, rest).in_words(format!("cancelled {edit}: {}", cancelled.summary)))
}

/// Applies or previews a plan. The refusal of a stale one lists the newer commits itself, with the frames they touch.
async fn planned(ask: &impl Ask, conversation: &str, plan: &Plan) -> Result<PlanView, Refusal> {
    call(ask, Conversation(conversation).plan(plan)).await.map_err(|refusal| match refusal.code == ErrorCode::Stale {
        true => Refusal { hint: LOOK_AGAIN.to_owned(), ..refusal },
        false => refusal,
    })
}

/// Makes an edit. If it is stale, its refusal lists the newest commits.
async fn changed(ask: &impl Ask, own: &Own, change: Call<EditResult>) -> Result<EditResult, Refusal> {
    match call(ask, change).await {
        Err(refusal) if refusal.code == ErrorCode::Stale => {
            Err(Refusal { hint: LOOK_AGAIN.to_owned(), since: newest_commits(ask, own).await, ..refusal })
        }
        outcome => outcome,
    }
}

const LOOK_AGAIN: &str = "Check ctx_list, then retry with the new head.";

/// The newer commits, which the caller must see before it continues.
async fn newest_commits(ask: &impl Ask, own: &Own) -> Vec<Value> {
    let query = HistoryQuery { limit: Some(SINCE), ..HistoryQuery::default() };
    let history = call(ask, Conversation(&own.id).history(&query)).await;
    let commits = history.map(|history| history.commits).unwrap_or_default();
    let told = |commit: &CommitView| json!({"id": commit.id, "author": commit.author, "summary": commit.summary});
    commits.iter().map(told).map(short).collect()
}

fn told(own: &Own, applied: &EditResult) -> Answer {
    let mut rest = json!({
        "head": applied.commit.as_deref().unwrap_or(head(own)),
        "commit": applied.commit,
        "waiting": applied.waiting,
        "summary": applied.summary,
        "tokens_before": applied.tokens_before,
        "tokens_after": applied.tokens_after,
        "frames": applied.frames,
        "preview": applied.preview,
        "problem": applied.problem,
        "remarks": applied.remarks,
        "files": applied.files,
    });
    if let Some(fields) = rest.as_object_mut() {
        fields.retain(|_, value| value.as_array().is_none_or(|items| !items.is_empty()));
    }
    let done = match (&applied.commit, &applied.waiting) {
        (Some(commit), _) => format!("commit {commit}"),
        (None, Some(edit)) => format!("{edit} is deferred"),
        (None, None) => "preview".to_owned(),
    };
    let EditResult { summary, tokens_before, tokens_after, .. } = applied;
    let words = format!("{done}: {summary}, {tokens_before} → {tokens_after} tokens");
    Answer::about(own, short(rest)).in_words(words)
}

fn expected<'a>(own: &Own, expect: Option<&'a str>) -> Result<&'a str, Refusal> {
    expect.filter(|expect| !expect.trim().is_empty()).ok_or_else(|| {
        Refusal::new(
            ErrorCode::ExpectNeeded,
            "`expect` is missing.",
            format!("Pass the `head` you saw; it is now {}.", head(own)),
        )
    })
}

/// Models also send a single operation, or the list as a string.
fn operations(given: &Value) -> Result<Vec<Value>, Refusal> {
    let list = match given {
        Value::Array(list) => list.clone(),
        Value::Object(_) => vec![given.clone()],
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Array(list)) => list,
            Ok(one @ Value::Object(_)) => vec![one],
            _ => return Err(no_operations("`operations` is a string that is not JSON.")),
        },
        _ => return Err(no_operations("`operations` is not a list.")),
    };
    if list.is_empty() {
        return Err(no_operations("`operations` is empty."));
    }
    for operation in &list {
        let name = name(operation);
        if !OPERATIONS.contains(&name) {
            return Err(Refusal::new(ErrorCode::BadOperation, format!("No operation `{name}`."), list_of(&OPERATIONS)));
        }
    }
    Ok(list)
}

fn name(operation: &Value) -> &str {
    operation["op"].as_str().unwrap_or_default()
}

fn no_operations(why: &str) -> Refusal {
    Refusal::new(ErrorCode::BadOperation, why, r#"Pass a list such as [{"op":"drop-results","ids":["t3"]}]."#)
}

fn list_of(names: &[&str]) -> String {
    format!("Use one of {}.", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_as_a_list_as_one_or_as_a_text() {
        let one = json!({"op": "delete", "ids": ["t3"]});
        for given in [json!([one]), one.clone(), json!(json!([one]).to_string()), json!(one.to_string())] {
            assert_eq!(operations(&given), Ok(vec![one.clone()]), "{given}");
        }
        for bad in [json!([]), json!(3), json!("delete t3"), json!([{"op": "delte"}]), json!(["delete"])] {
            assert_eq!(operations(&bad).expect_err("refused").code, ErrorCode::BadOperation, "{bad}");
        }
    }
}
