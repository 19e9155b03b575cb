//! `ctx_preview`, `ctx_apply` and `ctx_undo`: operations in the JSON that the command line, the API and the log have
//! too. Whoever changes something says which head it saw, so that nobody overwrites what a person has just done.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{Answer, short};
use super::ask::{Ask, Refusal, encoded};
use super::list::head;
use super::own::Own;
use super::settings::{OPERATIONS, Settings, WAYS};

/// Who makes the commits.
pub(super) const AUTHOR: &str = "mcp";
/// Commits that are told when the head has moved on.
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
    when: Option<String>,
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
    /// A wish that waits, to be taken back.
    cancel: Option<String>,
}

/// What operations would do. Looking is free: only `ctx_apply` asks whether they are allowed.
pub async fn preview(ask: &impl Ask, own: &Own, arguments: &Arguments) -> Result<Answer, Refusal> {
    let operations = operations(&arguments.operations)?;
    let plan = json!({"operations": operations, "author": AUTHOR, "expect": arguments.expect, "when": arguments.when});
    let applied = wished(ask, own, "plan", plan).await?;
    let mut answer = told(own, &applied);
    answer.add("risks", risks(&applied));
    Ok(answer)
}

/// What each operation puts at risk. What loses nothing is left out.
fn risks(plan: &Value) -> Value {
    let operations = plan["operations"].as_array().into_iter().flatten();
    let risks = operations.filter_map(|operation| {
        let what: Vec<Value> =
            operation["risks"].as_array().into_iter().flatten().map(|risk| short(risk["what"].clone())).collect();
        let nothing = &operation["nothing"];
        match (what.is_empty(), nothing.is_null()) {
            (true, true) => None,
            (_, false) => Some(json!({"operation": operation["number"], "nothing": short(nothing.clone())})),
            _ => Some(json!({"operation": operation["number"], "risk": operation["risk"], "what": what})),
        }
    });
    risks.collect()
}

pub async fn apply(ask: &impl Ask, own: &Own, settings: &Settings, arguments: &Arguments) -> Result<Answer, Refusal> {
    let operations = operations(&arguments.operations)?;
    for operation in &operations {
        settings.check(name(operation))?;
    }
    let expect = expected(own, arguments.expect.as_deref())?;
    let (note, when) = (&arguments.note, &arguments.when);
    let plan = json!({
        "operations": operations, "author": AUTHOR, "note": note, "expect": expect, "when": when, "apply": true,
    });
    let applied = wished(ask, own, "plan", plan).await?;
    Ok(told(own, &applied))
}

pub async fn undo(ask: &impl Ask, own: &Own, settings: &Settings, given: &UndoArguments) -> Result<Answer, Refusal> {
    if let Some(wish) = &given.cancel {
        return cancel(ask, own, settings, wish).await;
    }
    let action = given.action.as_deref().unwrap_or("undo");
    if !WAYS.contains(&action) {
        return Err(Refusal::new("bad-action", format!("There is no action `{action}`."), list_of(&WAYS)));
    }
    settings.check(action)?;
    let expect = expected(own, given.expect.as_deref())?;
    let mut way = json!({"author": AUTHOR, "note": given.note, "expect": expect, "dry_run": given.dry_run});
    let path = if action == "heal" { "heal" } else { "history" };
    if action != "heal" {
        way["action"] = action.into();
        way["target"] = given.target.clone().into();
        way["name"] = given.name.clone().into();
        way["cascade"] = given.cascade.into();
    }
    let applied = wished(ask, own, path, way).await?;
    Ok(told(own, &applied))
}

/// Takes back a wish that waits. As the way back it is always allowed to whoever may change something.
async fn cancel(ask: &impl Ask, own: &Own, settings: &Settings, wish: &str) -> Result<Answer, Refusal> {
    settings.check("undo")?;
    let path = format!("/conversations/{}/waiting/{}/cancel", encoded(&own.id), encoded(wish));
    let cancelled = ask.ask(path, Some(json!({ "author": AUTHOR }))).await?;
    let rest = json!({"head": head(own), "id": cancelled["id"], "state": cancelled["state"], "summary": short(cancelled["summary"].clone())});
    let words = format!("{wish} is cancelled: {}", cancelled["summary"].as_str().unwrap_or_default());
    Ok(Answer::about(own, rest).in_words(words))
}

async fn wished(ask: &impl Ask, own: &Own, path: &str, mut wish: Value) -> Result<Value, Refusal> {
    if let Some(wish) = wish.as_object_mut() {
        wish.retain(|_, value| !value.is_null());
    }
    let path = format!("/conversations/{}/{path}", encoded(&own.id));
    let refusal = match ask.ask(path, Some(wish)).await {
        Ok(applied) => return Ok(applied),
        Err(refusal) => refusal,
    };
    Err(match refusal.code.as_str() {
        "stale" => {
            let hint = "Look at it with ctx_list, then say it again with the new head.".to_owned();
            // A plan tells the commits since then in its message, with what they touch.
            let since = if refusal.message.contains('\n') { Vec::new() } else { newest_commits(ask, own).await };
            Refusal { hint, since, ..refusal }
        }
        "bad-request" => {
            let message = refusal.message.replace("Failed to deserialize the JSON body into the target type: ", "");
            Refusal { message, hint: "The schema of ctx_preview says what each operation takes.".into(), ..refusal }
        }
        _ => refusal,
    })
}

/// What somebody else did meanwhile: the caller must see it before it goes on.
async fn newest_commits(ask: &impl Ask, own: &Own) -> Vec<Value> {
    let path = format!("/conversations/{}/history?limit={SINCE}", encoded(&own.id));
    let history = ask.ask(path, None).await.unwrap_or_default();
    let commits = history["commits"].as_array().into_iter().flatten();
    commits
        .map(|commit| json!({"id": commit["id"], "author": commit["author"], "summary": commit["summary"]}))
        .map(short)
        .collect()
}

fn told(own: &Own, applied: &Value) -> Answer {
    let numbers = |name: &str| applied[name].as_u64().unwrap_or(0);
    let (before, after) = (numbers("tokens_before"), numbers("tokens_after"));
    let commit = applied["commit"].as_str();
    let mut rest: Map<String, Value> = Map::new();
    rest.insert("head".into(), commit.unwrap_or(head(own)).into());
    let kept = [
        "commit",
        "waiting",
        "summary",
        "tokens_before",
        "tokens_after",
        "frames",
        "preview",
        "problem",
        "remarks",
        "files",
    ];
    for name in kept {
        let is_empty = applied[name].as_array().is_some_and(Vec::is_empty);
        if !is_empty {
            rest.insert(name.into(), short(applied[name].clone()));
        }
    }
    let done = match (commit, applied["waiting"].as_str()) {
        (Some(commit), _) => format!("commit {commit}"),
        (None, Some(wish)) => format!("{wish} waits for its moment"),
        (None, None) => "would be".to_owned(),
    };
    let words = format!("{done}: {}, {before} → {after} tokens", applied["summary"].as_str().unwrap_or_default());
    Answer::about(own, Value::Object(rest)).in_words(words)
}

fn expected<'a>(own: &Own, expect: Option<&'a str>) -> Result<&'a str, Refusal> {
    expect.filter(|expect| !expect.trim().is_empty()).ok_or_else(|| {
        Refusal::new(
            "expect-needed",
            "The head that this was made against is missing.",
            format!("Give `expect`: the `head` that you saw. It is {} now.", head(own)),
        )
    })
}

/// Models also send a single operation, or the list as a text.
fn operations(given: &Value) -> Result<Vec<Value>, Refusal> {
    let list = match given {
        Value::Array(list) => list.clone(),
        Value::Object(_) => vec![given.clone()],
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Array(list)) => list,
            Ok(one @ Value::Object(_)) => vec![one],
            _ => return Err(no_operations("`operations` is a text that is not JSON.")),
        },
        _ => return Err(no_operations("`operations` is not a list.")),
    };
    if list.is_empty() {
        return Err(no_operations("There is no operation."));
    }
    for operation in &list {
        let name = name(operation);
        if !OPERATIONS.contains(&name) {
            return Err(Refusal::new(
                "bad-operation",
                format!("There is no operation `{name}`."),
                list_of(&OPERATIONS),
            ));
        }
    }
    Ok(list)
}

fn name(operation: &Value) -> &str {
    operation["op"].as_str().unwrap_or_default()
}

fn no_operations(why: &str) -> Refusal {
    Refusal::new("bad-operation", why, r#"Give a list such as [{"op":"drop-results","ids":["t3"]}]."#)
}

fn list_of(names: &[&str]) -> String {
    format!("There are {}.", names.join(", "))
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
            assert_eq!(operations(&bad).expect_err("refused").code, "bad-operation", "{bad}");
        }
    }
}
