//! `ctx_list`: the frames, a row each. However many there are, the list stays within its budget: the more rows, the
//! shorter the titles.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, line};
use super::ask::{Ask, Refusal, encoded};
use super::own::Own;

/// Characters of a whole answer: about 5,000 tokens.
const BUDGET: usize = 15_000;
/// What a row has beside its title.
const FRAME_OF_ROW: usize = 24;
const SHORTEST_TITLE: usize = 12;
const LONGEST_TITLE: usize = 60;
const MOST_ROWS: usize = 250;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    pub conv: Option<String>,
    larger_than: Option<u64>,
    steps_of: Option<String>,
    from: Option<String>,
    limit: Option<usize>,
    all: bool,
}

pub async fn list(ask: &impl Ask, own: &Own, arguments: &Arguments, copies: usize) -> Result<Answer, Refusal> {
    let steps = arguments.steps_of.is_some();
    let mut list = ask
        .ask(format!("/conversations/{}/frames?steps={steps}&all={}", encoded(&own.id), arguments.all), None)
        .await?;
    let all = match &arguments.steps_of {
        Some(frame) => steps_of(&mut list, frame)?,
        None => taken(&mut list, "frames"),
    };
    let count = all.len();
    let wanted = |row: &&Value| arguments.larger_than.is_none_or(|least| row["tokens"].as_u64().unwrap_or(0) > least);
    let start = match &arguments.from {
        Some(from) => all.iter().position(|row| row["id"] == from.as_str()).ok_or_else(|| unknown(from))?,
        None => 0,
    };
    let limit = arguments.limit.unwrap_or(MOST_ROWS).clamp(1, MOST_ROWS);
    let rows: Vec<&Value> = all.iter().skip(start).filter(wanted).collect();
    let next = rows.get(limit).map(|row| row["id"].clone());
    let rows = rows.get(..limit).unwrap_or(&rows);
    let room = BUDGET / copies.max(1) / rows.len().max(1);
    let width = room.saturating_sub(FRAME_OF_ROW).clamp(SHORTEST_TITLE, LONGEST_TITLE);
    let columns: &[&str] =
        if steps { &["id", "tokens", "title", "state"] } else { &["id", "tokens", "steps", "title", "state"] };
    let rows: Vec<Value> = rows.iter().map(|row| self::row(row, columns, width)).collect();
    let shown = rows.len();
    let what = if steps { "steps" } else { "frames" };
    let words = format!("{shown} of {count} {what}, {} tokens in all", list["tokens"]);
    let answer = json!({
        "head": head(own),
        "tokens": list["tokens"],
        "window": list["window"],
        "count": count,
        "left_frames": list["left_frames"],
        "columns": columns,
        "rows": rows,
        "next": next,
    });
    Ok(Answer::about(own, answer).in_words(words))
}

/// What `expect` wants to hear.
pub fn head(own: &Own) -> &str {
    own.head.as_deref().unwrap_or("none")
}

/// The cells in the order of the columns; the last one is left out where there is nothing to tell.
fn row(row: &Value, columns: &[&str], width: usize) -> Value {
    let mut cells: Vec<Value> = Vec::with_capacity(columns.len());
    for column in columns {
        match *column {
            "title" => cells.push(line(row["title"].as_str().unwrap_or_default(), width).into()),
            "state" => cells.extend(state(row).map(Value::from)),
            other => cells.push(row[other].clone()),
        }
    }
    Value::Array(cells)
}

fn state(row: &Value) -> Option<String> {
    let chips = row["state"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let flags = ["pinned", "pending"].into_iter().filter(|flag| row[*flag] == true);
    let state = chips.chain(flags).collect::<Vec<_>>().join(" ");
    (!state.is_empty()).then_some(state)
}

fn steps_of(list: &mut Value, frame: &str) -> Result<Vec<Value>, Refusal> {
    let frames = taken(list, "frames");
    let mut found = frames.into_iter().find(|one| one["id"] == frame).ok_or_else(|| unknown(frame))?;
    Ok(taken(&mut found, "step_list"))
}

fn taken(value: &mut Value, name: &str) -> Vec<Value> {
    match value[name].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

fn unknown(id: &str) -> Refusal {
    Refusal::new("unknown-id", format!("There is no `{id}` in the list."), "ctx_list without arguments shows the ids.")
}
