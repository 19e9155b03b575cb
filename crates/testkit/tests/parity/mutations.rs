//! Random changes to a request, determined by the seed and independent of ids.

use crate::conversations::strip_thinking;
use serde_json::{Value, json};
use testkit::Random;

pub fn mutate(body: &mut Value, random: &mut Random, changes: usize) {
    body["stream"] = random.chance(50).into();
    for _ in 0..changes {
        change(body, random);
    }
    if random.chance(40) {
        let prompt = random.pick(&["SAY:x;;THINK:y", "USE_TOOL:Read:/a", "USAGE:99999", "BIG:300"]);
        push(body, json!({"role": "user", "content": prompt}));
    }
}

fn change(body: &mut Value, random: &mut Random) {
    match random.below(12) {
        0 => structure(body, random),
        1 => remove_or_repeat(body, random),
        2 | 3 => mark(body, random),
        4 => surroundings(body, random),
        5 => settings(body, random),
        6 => strip_thinking(body),
        _ => block(body, random),
    }
}

fn messages(body: &mut Value) -> &mut Vec<Value> {
    static NOT_A_LIST: &str = "bases have messages";
    body["messages"].as_array_mut().expect(NOT_A_LIST)
}

fn push(body: &mut Value, message: Value) {
    messages(body).push(message);
}

/// Messages swap places or roles.
fn structure(body: &mut Value, random: &mut Random) {
    let messages = messages(body);
    let (one, two) = (random.below(messages.len()), random.below(messages.len()));
    match random.below(4) {
        0 => messages.swap(one, two),
        1 => messages.truncate(one.max(1)),
        2 => {
            let role = random.pick(&["user", "assistant", "system"]);
            messages[one]["role"] = json!(role);
        }
        _ => {
            let message = json!({"role": "system", "content": "told in between"});
            messages.insert(one, message);
        }
    }
}

fn remove_or_repeat(body: &mut Value, random: &mut Random) {
    let messages = messages(body);
    let place = random.below(messages.len());
    if random.chance(50) && messages.len() > 1 {
        messages.remove(place);
    } else if let Some(message) = messages.get(place).cloned() {
        messages.insert(place, message);
    }
}

/// Changes inside one message.
fn block(body: &mut Value, random: &mut Random) {
    let messages = messages(body);
    let place = random.below(messages.len());
    let message = &mut messages[place];
    if let Some(text) = message["content"].as_str().map(str::to_owned) {
        message["content"] = match random.below(3) {
            0 => "".into(),
            1 => format!("{text} and more").into(),
            _ => json!([{"type": "text", "text": text}]),
        };
        return;
    }
    let Some(blocks) = message["content"].as_array_mut() else {
        return;
    };
    let at = random.below(blocks.len());
    let Some(block) = blocks.get_mut(at) else {
        return;
    };
    match random.below(9) {
        0 => {
            blocks.remove(at);
        }
        1 => {
            let copy = block.clone();
            blocks.push(copy);
        }
        2 => blocks.reverse(),
        3 if block["type"] == "text" => {
            let texts = ["", "  ", "\u{2003}", "other words", "SAY:scripted"];
            block["text"] = json!(random.pick(&texts));
        }
        4 if block["type"] == "tool_use" => {
            let input = random.pick(&["id", "name"]).copied().unwrap_or("id");
            block[input] = "changed".into();
        }
        5 if block["type"] == "tool_result" => {
            let contents = [
                json!(""),
                json!([{"type": "tool_reference", "tool_name": "Nowhere"}]),
                json!([{"type": "text", "text": "cleared"}]),
            ];
            block["content"] = json!(random.pick(&contents));
        }
        6 if block["type"] == "tool_result" => block["tool_use_id"] = "changed".into(),
        7 if block["type"] == "thinking" => {
            let (key, value) = [("thinking", "altered"), ("signature", "AAAA")][random.below(2)];
            block[key] = value.into();
        }
        _ => blocks.insert(at, json!({"type": "text", "text": "inserted"})),
    }
}

/// Another breakpoint, anywhere.
fn mark(body: &mut Value, random: &mut Random) {
    let marks = [
        json!({"type": "ephemeral"}),
        json!({"type": "ephemeral", "ttl": "5m"}),
        json!({"type": "ephemeral", "ttl": "1h"}),
    ];
    let chosen = json!(random.pick(&marks));
    let place = random.below(messages(body).len());
    let target = match random.below(6) {
        0 => body["tools"].as_array_mut().and_then(|tools| tools.last_mut()),
        1 => body["system"].as_array_mut().and_then(|system| system.last_mut()),
        _ => {
            let content = messages(body)[place]["content"].as_array_mut();
            content.and_then(|blocks| blocks.last_mut())
        }
    };
    if let Some(target) = target {
        target["cache_control"] = chosen;
    }
}

/// System and tools.
fn surroundings(body: &mut Value, random: &mut Random) {
    match random.below(6) {
        0 => body["system"] = "another system".into(),
        1 => {
            body.as_object_mut().map(|fields| fields.shift_remove("tools"));
        }
        2 => body["tools"] = json!([]),
        3 => {
            if let Some(tool) = body["tools"].as_array_mut().and_then(|tools| tools.first_mut()) {
                tool["defer_loading"] = true.into();
            }
        }
        4 => {
            if let Some(tools) = body["tools"].as_array_mut() {
                tools.extend(tools.first().cloned());
            }
        }
        _ => {
            if let Some(system) = body["system"].as_array_mut() {
                system.push(json!({"type": "text", "text": random.pick(&["", "more"])}));
            }
        }
    }
}

fn settings(body: &mut Value, random: &mut Random) {
    let number = random.below(40_000);
    match random.below(6) {
        0 => body["thinking"] = json!({"type": "enabled", "budget_tokens": number}),
        1 => body["model"] = "another-model".into(),
        2 => body["stop_sequences"] = json!(["k", "lorem"]),
        3 => {
            let block_binding = json!({"prefix_mismatch_behavior": "drop_block"});
            body["thinking"] = json!({"type": "adaptive", "block_binding": block_binding});
        }
        4 => {
            let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
            body["output_config"] = json!({"format": {"schema": schema}});
        }
        _ => body["temperature"] = json!(number as f64 * 1e-9),
    }
}
