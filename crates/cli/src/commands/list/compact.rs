//! The compact list: what an agent needs to choose a frame.

use ctx_api::frames::{FrameView, Frames, StepView};
use serde_json::{Map, Value, json};

use crate::output::text;

/// Characters of one entry: forty tokens by the estimate of `ctx_models::tokens`.
const MOST: usize = 115;

pub fn of(list: &Frames) -> Value {
    let frames: Vec<Value> = list.frames.iter().map(frame).collect();
    json!({ "conversation": list.conversation, "tokens": list.tokens, "head": list.head, "frames": frames })
}

fn frame(frame: &FrameView) -> Value {
    let own = [(frame.pinned, "pinned"), (frame.pending, "pending")];
    let own = own.iter().filter(|(holds, _)| *holds).map(|(_, chip)| *chip);
    let state: Vec<&str> = frame.state.iter().map(String::as_str).chain(own).collect();
    let mut short = entry(&frame.id, frame.tokens, frame.source_tokens, &state, &frame.title);
    if let Some(steps) = &frame.step_list {
        short.insert("step_list".into(), steps.iter().map(step).collect());
    }
    short.into()
}

fn step(step: &StepView) -> Value {
    let state: Vec<&str> = step.state.iter().map(String::as_str).collect();
    entry(&step.id, step.tokens, step.source_tokens.max(step.tokens), &state, &step.title).into()
}

/// Omits defaults; the title takes the remaining space.
fn entry(id: &str, tokens: u64, source: u64, state: &[&str], title: &str) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("id".into(), id.into());
    entry.insert("tokens".into(), tokens.into());
    if source != tokens {
        entry.insert("source".into(), source.into());
    }
    if !state.is_empty() {
        entry.insert("state".into(), state.into());
    }
    entry.insert("title".into(), "".into());
    let taken = Value::from(entry.clone()).to_string().chars().count();
    let mut room = MOST.saturating_sub(taken);
    let title = text::line(title);
    let cut: String = title
        .chars()
        .take_while(|letter| {
            // A quote or a backslash takes two characters in JSON.
            let size = if matches!(letter, '"' | '\\') { 2 } else { 1 };
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        })
        .collect();
    let cut = match cut.len() < title.len() && !cut.is_empty() {
        true => cut.chars().take(cut.chars().count() - 1).chain(['…']).collect(),
        false => cut,
    };
    entry.insert("title".into(), cut.into());
    entry
}

#[cfg(test)]
mod tests {
    use ctx_core::tokens;

    use super::*;

    fn view(title: &str, state: &[&str], tokens: u64, source: u64) -> FrameView {
        serde_json::from_value(json!({"id": "t1234", "kind": "turn", "title": title, "tokens": tokens,
            "source_tokens": source, "messages": 4, "steps": 2, "state": state, "pinned": false, "pending": false,
            "step_list": [{"id": "t1234/567", "title": title, "tokens": tokens, "source_tokens": source, "messages": 2,
                "tools": ["Read"], "state": state}]}))
        .expect("a frame")
    }

    /// The token estimate without the overhead of a block.
    fn weight(entry: &Value) -> f64 {
        let chars = entry.to_string().chars().count() as u32;
        tokens::estimate(chars + 1, 0) - tokens::estimate(0, 0)
    }

    #[test]
    fn an_entry_takes_at_most_forty_tokens() {
        let long = "Fix the \"parser\" \\ and 日本語 then tell me everything about it, at length, please. ".repeat(4);
        for title in ["", "short", &long, &"\"".repeat(200), &"\u{1b}".repeat(90)] {
            for state in [&[][..], &["edited"], &["compacted", "results-dropped", "moved"]] {
                for (tokens, source) in [(7, 7), (0, 123_456), (1_234_567, 7_654_321)] {
                    let mut short = frame(&view(title, state, tokens, source));
                    let steps = short["step_list"].take();
                    short.as_object_mut().expect("an object").remove("step_list");
                    assert!(weight(&short) <= 40.0, "{} {short}", weight(&short));
                    assert!(weight(&steps[0]) <= 40.0, "{} {steps}", weight(&steps[0]));
                }
            }
        }
    }

    #[test]
    fn what_goes_without_saying_is_not_said() {
        let list: Frames = serde_json::from_value(json!({"conversation": "c1", "model": "m", "calibrated": true,
            "tokens": 12, "window": null, "head": "00000000a1", "frames": []}))
        .expect("frames");
        let plain = FrameView { step_list: None, ..view("Fix it", &[], 12, 12) };
        let edited = FrameView { step_list: None, pinned: true, ..view("Fix it", &["edited"], 3, 12) };
        insta::assert_snapshot!(of(&Frames { frames: vec![plain, edited], ..list }).to_string(), @r#"{"conversation":"c1","tokens":12,"head":"00000000a1","frames":[{"id":"t1234","tokens":12,"title":"Fix it"},{"id":"t1234","tokens":3,"source":12,"state":["edited","pinned"],"title":"Fix it"}]}"#);
    }
}
