//! Conversations of an agent, independent of a format, and their requests in each format.
//!
//! Every text has a mark such as `~u1~`, so that it can be found in any format.

use ctx_core::WireId;
use serde_json::{Value, json};

pub struct Story {
    pub name: &'static str,
    pub frames: Vec<Frame>,
}

/// A question with its tool loop. Without a reply, the loop goes on, or has not begun.
#[derive(Clone, Default)]
pub struct Frame {
    pub question: String,
    pub steps: Vec<Step>,
    pub reply: Option<String>,
}

/// What the model says and calls at once.
#[derive(Clone, Default)]
pub struct Step {
    pub words: Option<String>,
    pub calls: Vec<Call>,
}

#[derive(Clone)]
pub struct Call {
    pub tool: &'static str,
    pub argument: String,
    pub result: String,
}

const TOOLS: [&str; 2] = ["read_file", "run_command"];
const SYSTEM: &str = "You are an agent. ~system~";

impl Story {
    /// The request with all frames.
    pub fn whole(&self, wire: WireId) -> String {
        body(wire, &self.frames)
    }

    /// An earlier request: it ends with the question before the last one.
    pub fn earlier(&self, wire: WireId) -> String {
        let mut frames = self.frames.clone();
        frames.pop();
        if let Some(Frame { steps, reply, .. }) = frames.last_mut() {
            (*steps, *reply) = (Vec::new(), None);
        }
        body(wire, &frames)
    }
}

fn body(wire: WireId, frames: &[Frame]) -> String {
    let body = match wire {
        WireId::Anthropic => messages(frames),
        WireId::OpenaiChat => chat(frames),
        WireId::OpenaiResponses => responses(frames),
        WireId::Gemini => gemini(frames),
        WireId::Custom => flat(frames),
    };
    body.to_string()
}

fn parameters() -> Value {
    json!({"type": "object", "properties": {"argument": {"type": "string"}}})
}

fn id(frame: usize, step: usize, call: usize) -> String {
    format!("call_{frame}_{step}_{call}")
}

fn messages(frames: &[Frame]) -> Value {
    let mut messages = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        messages.push(json!({"role": "user", "content": frame.question}));
        for (step_at, step) in frame.steps.iter().enumerate() {
            let words = step.words.iter().map(|words| json!({"type": "text", "text": words}));
            let calls = step.calls.iter().enumerate().map(|(call_at, call)| {
                let input = json!({"argument": call.argument});
                json!({"type": "tool_use", "id": id(at, step_at, call_at), "name": call.tool, "input": input})
            });
            messages.push(json!({"role": "assistant", "content": words.chain(calls).collect::<Vec<_>>()}));
            let results = step.calls.iter().enumerate().map(|(call_at, call)| {
                json!({"type": "tool_result", "tool_use_id": id(at, step_at, call_at), "content": call.result})
            });
            messages.push(json!({"role": "user", "content": results.collect::<Vec<_>>()}));
        }
        messages.extend(frame.reply.iter().map(|reply| json!({"role": "assistant", "content": reply})));
    }
    let tools = TOOLS.map(|name| json!({"name": name, "input_schema": parameters()}));
    json!({"model": "claude-opus-4-5", "max_tokens": 1000, "system": SYSTEM, "tools": tools, "messages": messages})
}

fn chat(frames: &[Frame]) -> Value {
    let mut messages = vec![json!({"role": "system", "content": SYSTEM})];
    for (at, frame) in frames.iter().enumerate() {
        messages.push(json!({"role": "user", "content": frame.question}));
        for (step_at, step) in frame.steps.iter().enumerate() {
            let calls = step.calls.iter().enumerate().map(|(call_at, call)| {
                let function = json!({"name": call.tool, "arguments": json!({"argument": call.argument}).to_string()});
                json!({"id": id(at, step_at, call_at), "type": "function", "function": function})
            });
            let calls: Vec<Value> = calls.collect();
            messages.push(json!({"role": "assistant", "content": step.words, "tool_calls": calls}));
            messages.extend(step.calls.iter().enumerate().map(|(call_at, call)| {
                json!({"role": "tool", "tool_call_id": id(at, step_at, call_at), "content": call.result})
            }));
        }
        messages.extend(frame.reply.iter().map(|reply| json!({"role": "assistant", "content": reply})));
    }
    let tools = TOOLS.map(|name| json!({"type": "function", "function": {"name": name, "parameters": parameters()}}));
    json!({"model": "gpt-5.5", "messages": messages, "tools": tools})
}

fn responses(frames: &[Frame]) -> Value {
    let said = |text: &str| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    let mut items = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let question = json!([{"type": "input_text", "text": frame.question}]);
        items.push(json!({"type": "message", "role": "user", "content": question}));
        for (step_at, step) in frame.steps.iter().enumerate() {
            items.extend(step.words.iter().map(|words| said(words)));
            items.extend(step.calls.iter().enumerate().map(|(call_at, call)| {
                let arguments = json!({"argument": call.argument}).to_string();
                let id = id(at, step_at, call_at);
                json!({"type": "function_call", "call_id": id, "name": call.tool, "arguments": arguments})
            }));
            items.extend(step.calls.iter().enumerate().map(|(call_at, call)| {
                let id = id(at, step_at, call_at);
                json!({"type": "function_call_output", "call_id": id, "output": call.result})
            }));
        }
        items.extend(frame.reply.iter().map(|reply| said(reply)));
    }
    let tools = TOOLS.map(|name| json!({"type": "function", "name": name, "parameters": parameters()}));
    json!({"model": "gpt-5.5", "instructions": SYSTEM, "store": false, "input": items, "tools": tools})
}

/// Calls have no ids, as from older models.
fn gemini(frames: &[Frame]) -> Value {
    let text = |text: &str| json!({"text": text});
    let mut contents = Vec::new();
    for frame in frames {
        contents.push(json!({"role": "user", "parts": [text(&frame.question)]}));
        for step in &frame.steps {
            let words = step.words.iter().map(|words| text(words));
            let calls = step
                .calls
                .iter()
                .map(|call| json!({"functionCall": {"name": call.tool, "args": {"argument": call.argument}}}));
            contents.push(json!({"role": "model", "parts": words.chain(calls).collect::<Vec<_>>()}));
            let results = step
                .calls
                .iter()
                .map(|call| json!({"functionResponse": {"name": call.tool, "response": {"output": call.result}}}));
            contents.push(json!({"role": "user", "parts": results.collect::<Vec<_>>()}));
        }
        contents.extend(frame.reply.iter().map(|reply| json!({"role": "model", "parts": [text(reply)]})));
    }
    let functions = TOOLS.map(|name| json!({"name": name, "parameters": parameters()}));
    let system = json!({"parts": [text(SYSTEM)]});
    json!({"systemInstruction": system, "contents": contents, "tools": [{"functionDeclarations": functions}]})
}

/// The made-up format of the test kit. Everything is an item, and calls have no ids.
fn flat(frames: &[Frame]) -> Value {
    let said = |kind: &str, text: &str| json!({"kind": kind, "text": text});
    let mut items = Vec::new();
    for frame in frames {
        items.push(said("user", &frame.question));
        for step in &frame.steps {
            items.extend(step.words.iter().map(|words| said("model", words)));
            let call = |call: &Call| json!({"kind": "call", "tool": call.tool, "input": {"argument": call.argument}});
            items.extend(step.calls.iter().map(call));
            let result = |call: &Call| json!({"kind": "result", "tool": call.tool, "text": call.result});
            items.extend(step.calls.iter().map(result));
        }
        items.extend(frame.reply.iter().map(|reply| said("model", reply)));
    }
    let tools = TOOLS.map(|name| json!({"name": name, "about": "A tool."}));
    json!({"model": "flat-1", "system": SYSTEM, "tools": tools, "items": items})
}

pub fn question(text: &str) -> Frame {
    Frame { question: text.into(), ..Frame::default() }
}

fn call(tool: &'static str, mark: &str) -> Call {
    let result = format!("~r{mark}~ {}", "The output has many lines. ".repeat(30));
    Call { tool, argument: format!("/src/~c{mark}~.rs"), result }
}

fn step(words: Option<&str>, calls: Vec<Call>) -> Step {
    Step { words: words.map(str::to_owned), calls }
}

/// A loop of `steps` steps with one call each, and a reply.
fn work(number: usize, steps: usize) -> Frame {
    let one = |at: usize| step(None, vec![call(TOOLS[at % 2], &format!("{number}.{at}"))]);
    Frame {
        question: format!("Do part {number}. ~u{number}~"),
        steps: (0..steps).map(one).collect(),
        reply: Some(format!("Part {number} is done. ~a{number}~")),
    }
}

fn talk(number: usize) -> Frame {
    work(number, 0)
}

pub fn stories() -> Vec<Story> {
    let story = |name, mut frames: Vec<Frame>| {
        for (asked, said) in [("Can you hear me? ~hear~", "Yes. ~yes~"), ("Really? ~really~", "Really. ~so~")] {
            frames.insert(frames.len() - 1, Frame { reply: Some(said.into()), ..question(asked) });
        }
        Story { name, frames }
    };
    let next = || question("And now? ~next~");
    let again = || Call { tool: TOOLS[0], argument: "/src/~same~.rs".into(), result: "~twin~ nothing".into() };
    let alike =
        |number: usize| Frame { steps: (0..3).map(|_| step(None, vec![again(), again()])).collect(), ..talk(number) };
    let parallel = |number: usize| Frame {
        steps: vec![
            step(
                Some("I look at three files. ~w1~"),
                (0..3).map(|at| call(TOOLS[0], &format!("{number}.a{at}"))).collect(),
            ),
            step(Some("And run two. ~w2~"), (0..2).map(|at| call(TOOLS[1], &format!("{number}.b{at}"))).collect()),
        ],
        ..talk(number)
    };
    let open = |number: usize| Frame { reply: None, ..work(number, 2) };
    let long: Vec<Frame> = (1..30).map(|number| work(number, number % 4)).chain([next()]).collect();
    let empty = Call { tool: TOOLS[1], argument: "~silent~".into(), result: "~r0~".into() };
    let odd = Frame { steps: vec![step(None, vec![empty])], ..talk(1) };
    let foreign = Frame { question: "Schönen Gruß \"\\\u{1f980}\u{0}\n\t ~u2~".into(), ..work(2, 1) };
    vec![
        story("talk without tools", vec![talk(1), talk(2), talk(3), next()]),
        story("one call", vec![work(1, 1), next()]),
        story("loops of several steps", vec![work(1, 3), talk(2), work(3, 4), next()]),
        story("calls at once, with words", vec![talk(1), parallel(2), work(3, 1), next()]),
        story("the same calls again", vec![alike(1), alike(2), work(3, 1), next()]),
        story("an open loop", vec![work(1, 1), talk(2), open(3)]),
        story("two open loops", vec![open(1), open(2)]),
        story("a short result", vec![odd, work(2, 2), next()]),
        story("unusual characters", vec![work(1, 1), foreign, work(3, 1), next()]),
        story("many frames", long),
        story("one long loop", vec![work(1, 40), work(2, 2), next()]),
    ]
}
