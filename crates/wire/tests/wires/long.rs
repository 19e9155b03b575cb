//! Long conversations with many operations.

use std::time::{Duration, Instant};

use ctx_core::content::{Content, WireId};
use serde_json::{Value, json};

use crate::case::Case;
use crate::effects::{delete, replace, replace_result};

/// A request with a question and the steps of one tool loop.
pub fn body(wire: WireId, steps: usize) -> String {
    let step = |at: usize| -> [Value; 2] {
        let (id, path) = (format!("call_{at}"), format!("/src/{at}.rs"));
        match wire {
            WireId::Gemini => [
                json!({"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"path": path}}}]}),
                json!({"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": id}}}]}),
            ],
            WireId::OpenaiResponses => [
                json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"}),
                json!({"type": "function_call_output", "call_id": id, "output": path}),
            ],
            _ => {
                let function = json!({"name": "read", "arguments": "{}"});
                [
                    json!({"role": "assistant", "content": null,
                        "tool_calls": [{"id": id, "type": "function", "function": function}]}),
                    json!({"role": "tool", "tool_call_id": id, "content": path}),
                ]
            }
        }
    };
    let question = match wire {
        WireId::Gemini => json!({"role": "user", "parts": [{"text": "work"}]}),
        _ => json!({"role": "user", "content": "work"}),
    };
    let messages: Vec<Value> = std::iter::once(question).chain((0..steps).flat_map(step)).collect();
    let list = match wire {
        WireId::Gemini => "contents",
        WireId::OpenaiResponses => "input",
        _ => "messages",
    };
    json!({"model": "gemini-3-pro", list: messages}).to_string()
}

/// Measures the processor's time of this thread where the system tells it, so that other tests do not count.
struct Stopwatch(Instant, Option<Duration>);

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch(Instant::now(), Self::of_processor())
    }

    fn of_processor() -> Option<Duration> {
        let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(Duration::from_nanos(told.split(' ').next()?.parse().ok()?))
    }

    fn taken(&self) -> Duration {
        let own = self.1.zip(Self::of_processor()).map(|(began, now)| now.saturating_sub(began));
        own.filter(|own| !own.is_zero()).unwrap_or_else(|| self.0.elapsed())
    }
}

/// The number of steps that are composed to measure one length. The system counts a thread's time in ticks of some
/// milliseconds, so a short conversation is composed more often.
const MEASURED: usize = 18_000;

/// The time to compose it once, with an operation on every fourth step.
fn time(wire: WireId, steps: usize) -> Duration {
    let mut case = Case::of(body(wire, steps).as_bytes(), ctx_wire::wire(wire));
    for at in (0..steps - 1).step_by(4) {
        let (call, result) = (1 + 2 * at, 2 + 2 * at);
        let effect = match at / 4 % 3 {
            0 => delete(&case, &[(call, 0), (result, 0)]),
            1 => replace_result(&case, result, "short"),
            _ => replace(&case, &[(call, 0), (result, 0)], None, vec![Content::text("of no use")]),
        };
        case.effects.push(effect);
    }
    let times = MEASURED / steps;
    case.with(|input, view| {
        let began = Stopwatch::start();
        for _ in 0..times {
            let composed = case.body.wire().compose(input, view);
            assert!(composed.bytes(case.body.bytes()).len() < case.body.bytes().len());
        }
        began.taken() / times as u32
    })
}

/// Eight times the length would take 64 times as long if each message were compared with each.
#[test]
fn composing_takes_as_long_as_the_conversation_is() {
    for wire in [WireId::OpenaiChat, WireId::OpenaiResponses, WireId::Gemini] {
        let (short, long) = (time(wire, 250), time(wire, 2_000));
        let factor = long.as_secs_f64() / short.as_secs_f64();
        println!("{wire:?}: {short:?}, eight times as long {long:?}: {factor:.1} times the time");
        assert!(factor < 40.0, "{wire:?}: {short:?}, eight times as long {long:?}");
    }
}
