//! The plan of an answer: its blocks, its end, and its failures. It follows from queued answers, from directives of the
//! prompt, or from the kind of the request.
//!
//! Signing, counting and sending are elsewhere.

use super::directives::{self, Directive, WrittenDirective};
use super::json::{Fields, compact};
use super::prompt::{self, Side};
use super::request::Request;
use super::tool_search;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// An explicit answer for the next request, or for the next one that contains `matching`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct QueuedAnswer {
    /// Content blocks as they are sent; thinking is signed on the way out.
    pub blocks: Vec<Fields>,
    pub stop_reason: Option<String>,
    /// An HTTP error instead of an answer.
    pub status: Option<u16>,
    /// The message of that error.
    pub message: String,
    /// Text that the compact JSON of the request must contain.
    #[serde(rename = "match")]
    pub matching: String,
}

#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) blocks: Vec<Fields>,
    pub(crate) stop: Option<String>,
    /// Input tokens to report instead of the counted ones.
    pub(crate) usage: Option<i64>,
    pub(crate) delay: Duration,
    /// An HTTP error and its message.
    pub(crate) failure: Option<(u16, String)>,
    pub(crate) course: Course,
}

/// The course of a stream: the event after its first delta, and its speed.
#[derive(Debug, Default, Clone)]
pub(crate) struct Course {
    pub(crate) slow: Duration,
    pub(crate) hang: Duration,
    pub(crate) mid_error: Option<String>,
    pub(crate) cut: bool,
}

/// The state between requests that answers depend on.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) queue: VecDeque<QueuedAnswer>,
    /// How often a failing directive was reached: (as written, prompt, messages since).
    attempts: HashMap<(String, String, usize), u64>,
    oks: u64,
}

impl Script {
    pub(crate) fn plan(&mut self, request: &Request<'_>, tool_id: impl FnMut() -> String) -> Plan {
        if let Some(queued) = self.dequeue(request.body) {
            return Plan {
                blocks: queued.blocks,
                stop: queued.stop_reason,
                failure: queued.status.map(|status| (status, queued.message)),
                ..Plan::default()
            };
        }
        let sides = prompt::sides(request);
        let (text, since) = prompt::find(&request.messages);
        let mut steps = match sides[..] {
            [] => directives::parse(&text),
            _ => Vec::new(),
        };
        let mut plan = Plan::default();
        if since < steps.len() {
            self.obey(&mut plan, request, steps.swap_remove(since), (&text, since), tool_id);
        }
        if plan.blocks.is_empty() {
            plan.blocks.push(text_block(&self.default_text(request.body, &sides)));
        }
        plan
    }

    fn dequeue(&mut self, body: &Fields) -> Option<QueuedAnswer> {
        if self.queue.is_empty() {
            return None;
        }
        let json = compact(body);
        let fits = |queued: &QueuedAnswer| json.contains(&queued.matching);
        self.queue.remove(self.queue.iter().position(fits)?)
    }

    fn obey(
        &mut self,
        plan: &mut Plan,
        request: &Request<'_>,
        step: Vec<WrittenDirective>,
        (prompt, since): (&str, usize),
        mut tool_id: impl FnMut() -> String,
    ) {
        for WrittenDirective { raw, directive } in step {
            let mut first_times = |times: u64| {
                let key = (raw.clone(), prompt.to_owned(), since);
                let done = self.attempts.entry(key).or_default();
                *done += 1;
                *done <= times
            };
            match directive {
                Directive::Say(text) => plan.blocks.push(text_block(&text)),
                Directive::Big(size) => plan.blocks.push(text_block(&filler(size))),
                Directive::Think(text) => {
                    plan.blocks.push(fields(json!({"type": "thinking", "thinking": text, "signature": ""})))
                }
                Directive::Redacted => plan.blocks.push(fields(json!({"type": "redacted_thinking", "data": ""}))),
                Directive::UseTool { name, argument } => {
                    plan.blocks.push(match tool_input(&name, &argument) {
                        Ok(input) => fields(json!({
                            "type": "tool_use", "id": tool_id(), "name": name, "input": input
                        })),
                        Err(why) => text_block(&format!("bad directive: {why}")),
                    });
                }
                Directive::FindTool(query) => match tool_search::find(request, &query, &tool_id()) {
                    Some(found) => plan.blocks.extend(found),
                    None => plan.blocks.push(text_block("there is no tool search")),
                },
                Directive::Usage(tokens) => plan.usage = Some(tokens),
                Directive::Stop(reason) => plan.stop = Some(reason),
                Directive::Delay(time) => plan.delay = time,
                Directive::Slow(time) => plan.course.slow = time,
                Directive::Hang(time) => plan.course.hang = time,
                Directive::Fail { status, times, message } => {
                    if first_times(times) {
                        plan.failure = Some((status, message));
                    }
                }
                Directive::MidError { kind, times } => {
                    if first_times(times) {
                        plan.course.mid_error = Some(kind);
                    }
                }
                Directive::Cut { times } => plan.course.cut = first_times(times),
                Directive::Bad(written) => plan
                    .blocks
                    .push(text_block(&format!("bad directive: {written} has an argument that cannot be read"))),
            }
        }
    }

    /// The text of an unscripted answer.
    fn default_text(&mut self, body: &Fields, sides: &[Side]) -> String {
        let schema = prompt::output_format(body).and_then(|format| format.get("schema"));
        if let Some(schema) = schema.filter(|schema| super::json::is_truthy(Some(schema))) {
            return prompt::example_text(schema);
        }
        if sides.contains(&Side::Compaction) {
            self.oks += 1;
            return format!("<analysis>fake analysis</analysis>\n<summary>fake summary {}</summary>", self.oks);
        }
        if sides.contains(&Side::Classifier) {
            return "<block>no</block>".to_owned();
        }
        self.oks += 1;
        format!("ok {}", self.oks)
    }
}

/// A JSON object as it is, anything else as the main argument of the tool.
fn tool_input(tool: &str, argument: &str) -> Result<Value, serde_json::Error> {
    if argument.starts_with('{') {
        return serde_json::from_str(argument);
    }
    let key = match tool {
        "Read" => "file_path",
        "Bash" => "command",
        "Glob" | "Grep" => "pattern",
        "WebFetch" => "url",
        "WebSearch" | "ToolSearch" => "query",
        "Skill" => "skill",
        _ => "input",
    };
    Ok(json!({key: argument}))
}

fn text_block(text: &str) -> Fields {
    fields(json!({"type": "text", "text": text}))
}

fn fields(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    }
}

fn filler(size: usize) -> String {
    "lorem ipsum dolor sit amet ".chars().cycle().take(size).collect()
}
