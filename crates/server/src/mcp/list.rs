//! `ctx_list`: the frames, one row each. The list stays within its budget: the more rows, the shorter the titles.

use ctx_api::call::Conversation;
use ctx_api::frames::{FrameView, Frames, FramesQuery, StepView};
use ctx_core::ErrorCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, line};
use super::ask::{Ask, Refusal, call};
use super::own::Own;

/// Characters of a whole answer: about 5,000 tokens.
const BUDGET: usize = 15_000;
/// Characters of a row without its title.
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
    let query = FramesQuery { steps, all: arguments.all, at: None };
    let list = call(ask, Conversation(&own.id).frames(&query)).await?;
    let all = match &arguments.steps_of {
        Some(frame) => steps_of(&list, frame)?,
        None => list.frames.iter().map(Row::from).collect(),
    };
    let count = all.len();
    let wanted = |row: &&Row| arguments.larger_than.is_none_or(|least| row.tokens > least);
    let start = match &arguments.from {
        Some(from) => all.iter().position(|row| row.id == *from).ok_or_else(|| unknown(from))?,
        None => 0,
    };
    let limit = arguments.limit.unwrap_or(MOST_ROWS).clamp(1, MOST_ROWS);
    let rows: Vec<&Row> = all.iter().skip(start).filter(wanted).collect();
    let next = rows.get(limit).map(|row| row.id.clone());
    let rows = rows.get(..limit).unwrap_or(&rows);
    let room = BUDGET / copies.max(1) / rows.len().max(1);
    let width = room.saturating_sub(FRAME_OF_ROW).clamp(SHORTEST_TITLE, LONGEST_TITLE);
    let columns: &[&str] =
        if steps { &["id", "tokens", "title", "state"] } else { &["id", "tokens", "steps", "title", "state"] };
    let rows: Vec<Value> = rows.iter().map(|row| row.cells(steps, width)).collect();
    let shown = rows.len();
    let what = if steps { "steps" } else { "frames" };
    let words = format!("{shown} of {count} {what}, {} tokens in total", list.tokens);
    let answer = json!({
        "head": head(own),
        "tokens": list.tokens,
        "window": list.window,
        "count": count,
        "left_frames": list.left_frames,
        "columns": columns,
        "rows": rows,
        "next": next,
    });
    Ok(Answer::about(own, answer).in_words(words))
}

/// The value for `expect`.
pub fn head(own: &Own) -> &str {
    own.head.as_deref().unwrap_or("none")
}

/// A frame or a step of the list.
struct Row {
    id: String,
    tokens: u64,
    /// Only for frames.
    steps: usize,
    title: String,
    state: String,
}

impl From<&FrameView> for Row {
    fn from(frame: &FrameView) -> Row {
        let flags = [(frame.pinned, "pinned"), (frame.pending, "pending")];
        let flags = flags.into_iter().filter_map(|(is_so, flag)| is_so.then_some(flag));
        let state: Vec<&str> = frame.state.iter().map(String::as_str).chain(flags).collect();
        let (id, title) = (frame.id.clone(), frame.title.clone());
        Row { id, tokens: frame.tokens, steps: frame.steps, title, state: state.join(" ") }
    }
}

impl From<&StepView> for Row {
    fn from(step: &StepView) -> Row {
        let (id, title) = (step.id.clone(), step.title.clone());
        Row { id, tokens: step.tokens, steps: 0, title, state: step.state.join(" ") }
    }
}

impl Row {
    /// The cells in the order of the columns; an empty last one is omitted.
    fn cells(&self, is_step: bool, width: usize) -> Value {
        let mut cells = vec![json!(self.id), json!(self.tokens)];
        cells.extend((!is_step).then(|| json!(self.steps)));
        cells.push(line(&self.title, width).into());
        cells.extend((!self.state.is_empty()).then(|| json!(self.state)));
        Value::Array(cells)
    }
}

fn steps_of(list: &Frames, frame: &str) -> Result<Vec<Row>, Refusal> {
    let found = list.frames.iter().find(|one| one.id == frame).ok_or_else(|| unknown(frame))?;
    Ok(found.step_list.iter().flatten().map(Row::from).collect())
}

fn unknown(id: &str) -> Refusal {
    Refusal::new(ErrorCode::UnknownId, format!("No `{id}` in the list."), "ctx_list without arguments lists the ids.")
}
