//! Conversations to send: prompts with every directive, side requests, live sessions, built and recorded ones.

use crate::reference::shared;
use crate::twins::{Pair, Twins};
use crate::violations::BETA;
use serde_json::{Value, json};
use testkit::{Family, Random, Session};

pub const PROMPTS: &[&str] = &[
    "hello",
    "SAY:plain",
    "SAY: spaces kept inside  ;; SAY:",
    "THINK:a thought;;SAY:said",
    "THINK:;;REDACTED;;SAY:x",
    "REDACTED",
    "USE_TOOL:Read:/tmp/a:b",
    "USE_TOOL:Bash:ls;;USE_TOOL:Glob:*;;USE_TOOL:Grep:x;;USE_TOOL:WebFetch:http://x",
    "USE_TOOL:WebSearch:q;;USE_TOOL:ToolSearch:q;;USE_TOOL:Skill:s;;USE_TOOL:Other:v;;USE_TOOL:Bare",
    "USE_TOOL:Agent:{\"prompt\": \"SAY:é \\ud83d\\ude00\\nTHEN\", \"n\": [1, 2.50, 1e20, true, null, {}]}",
    "USE_TOOL:Agent: {\"not\": \"an object\"}",
    "BIG:0",
    "BIG:27;;BIG:41;;BIG:2001",
    "BIG:12345",
    "SAY:ünïcödé 😀 text that is longer than one delta of forty characters, so that it is split",
    "USAGE:123456;;SAY:x",
    "USAGE:0",
    "USAGE:-5",
    "STOP:max_tokens;;SAY:x",
    "STOP:",
    "STOP:refusal;;USE_TOOL:Read:/a",
    "DELAY:0.01;;SAY:late",
    "SLOW:0.002;;SAY:slow",
    "HANG:0.01;;SAY:silent",
    "FAIL:529",
    "FAIL:429:2;;SAY:x",
    "FAIL:400:1:prompt is too long: 5 tokens > 4 maximum",
    "FAIL:413::too large",
    "FAIL:401;;FAIL:403",
    "FAIL:418",
    "FAIL:500:0",
    "MIDERR:overloaded_error",
    "MIDERR:api_error:2;;BIG:500",
    "MIDERR:x;;REDACTED;;SAY:no delta in the first block",
    "CUT",
    "CUT:2;;THINK:x;;SAY:y",
    "CUT;;USE_TOOL:Read:/a",
    "MIDERR:api_error;;CUT",
    "line one\nSAY:a\r\nSAY:b\u{2028}SAY:c\u{85}SAY:d\u{b}SAY:e\u{1c}SAY:f",
    "<system-reminder>SAY:hidden</system-reminder>SAY:shown",
    "<system-reminder>open SAY:not a line",
    "SAY:one;;THEN;;SAY:two",
    "THEN;;SAY:later",
    "say:lower;; SAYING:x;;CUT:x;;CUT: 1;;REDACTED:1;;THEN:",
];

/// Requests in which directives are only quoted, and other special forms.
pub fn side_requests() -> Vec<(String, Value)> {
    let ask = |text: &str| json!({"model": "m", "messages": [{"role": "user", "content": text}]});
    let mut requests = Vec::new();
    for schema in [
        json!({"type": "object", "properties": {"title": {"type": "string"}, "n": {"type": "integer"}}}),
        json!({"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {"const": 5}},
               "required": ["b", "missing", "a"]}),
        json!({"anyOf": [{"type": ["array", "null"]}, {"type": "string"}]}),
        json!({"oneOf": [{"type": "object", "properties": {"x": {"type": "boolean"},
               "y": {"type": "null"}, "z": {"type": "number"}, "w": {}}}]}),
        json!({"type": "string"}),
        json!({}),
    ] {
        let mut body = ask("SAY:quoted");
        body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
        requests.push((format!("schema {schema}"), body));
    }
    for text in [
        "SAY:quoted\nWrite <analysis> and <summary> tags",
        "SAY:not quoted <analysis> alone",
        "SAY:x\nsay <block>yes or <block>no",
        "<analysis> <summary> <block>",
    ] {
        requests.push((text.to_owned(), ask(text)));
    }
    let mut stops = ask("SAY:one two three;;SAY:four two;;THINK:two");
    stops["stop_sequences"] = json!([" two", "one", "absent"]);
    requests.push(("stop sequences".to_owned(), stops.clone()));
    stops["stream"] = true.into();
    requests.push(("streamed stop sequences".to_owned(), stops));
    let mut both = ask("STOP:max_tokens;;SAY:one two");
    both["stop_sequences"] = json!([" two"]);
    requests.push(("a stop sequence and a stop reason".to_owned(), both));
    let beside = json!({"model": "m", "messages": [
        {"role": "user", "content": "SAY:first;;THEN;;SAY:second"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "R", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "SAY:result"},
            {"type": "text", "text": "words beside it"}]},
    ]});
    requests.push(("text beside a result".to_owned(), beside.clone()));
    let mut scripted = beside;
    scripted["messages"][2]["content"][1]["text"] = "SAY:scripted".into();
    requests.push(("directives beside a result".to_owned(), scripted));
    let system = json!({"model": "m", "system": "a string", "messages": [
        {"role": "user", "content": [{"type": "text", "text": "SAY:a"}, {"type": "text", "text": "SAY:b"}]},
        {"role": "system", "content": "SAY:from the system"},
    ]});
    requests.push(("a system message at the end".to_owned(), system));
    requests
}

/// A finished loop with thinking, two parallel calls and a system message, and an open question.
pub async fn tool_loop(pair: &mut Pair) -> Twins {
    let prompt = "THINK:hm;;SAY:let me look;;USE_TOOL:Read:/a;;USE_TOOL:Bash:ls;;\
        THEN;;THINK:so;;SAY:done";
    let mut twins = Twins::both(json!({
        "model": "claude-opus-fake", "max_tokens": 4096, "stream": false,
        "system": [{"type": "text", "text": "x-anthropic-billing-header: v=1;"},
                   {"type": "text", "text": "be good"}],
        "tools": [{"name": "Read", "input_schema": {"type": "object"}},
                  {"name": "Bash", "input_schema": {"type": "object"}},
                  {"name": "Later", "input_schema": {"type": "object"}, "defer_loading": true}],
        "thinking": {"type": "adaptive"},
        "messages": [{"role": "user", "content": prompt}],
    }));
    let answers = pair.send("the loop begins", &twins).await;
    twins.carry_on(&answers);
    twins.push(&json!({"role": "system", "content": "a file changed"}));
    let answers = pair.send("the loop ends", &twins).await;
    twins.carry_on(&answers);
    twins.push(&json!({"role": "user", "content": [{"type": "text", "text": "and now?"}]}));
    twins
}

/// Built sessions without thinking: signatures are specific to each server.
pub fn built() -> Vec<Twins> {
    let mut sessions = Vec::new();
    for (seed, family) in [(1, Family::A), (2, Family::B), (3, Family::A), (4, Family::B)] {
        let mut session = Session::new(seed).family(family).thinking(false).lean();
        session.grow_to(30_000);
        sessions.push(Twins::both(session.body_value()));
    }
    sessions
}

/// The smaller recorded conversations, with and without their foreign thinking.
pub fn corpus() -> Vec<Twins> {
    let Ok(folder) = std::fs::read_dir(shared().join("corpus/conversations")) else {
        eprintln!("SKIPPED: the corpus is not beside this project");
        return Vec::new();
    };
    let paths = folder.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> = paths.filter(|path| path.metadata().is_ok_and(|file| file.len() < 100_000)).collect();
    paths.sort();
    let mut conversations = Vec::new();
    for path in paths {
        let bytes = std::fs::read(path).expect("a file");
        let body: Value = serde_json::from_slice(&bytes).expect("JSON");
        let mut bare = Twins::both(body.clone());
        bare.edit(strip_thinking);
        conversations.push(bare);
        conversations.push(Twins::both(body));
    }
    conversations
}

pub fn strip_thinking(body: &mut Value) {
    let messages = body["messages"].as_array_mut().into_iter().flatten();
    for content in messages.filter_map(|message| message["content"].as_array_mut()) {
        content.retain(|block| block["type"] != "thinking");
        if content.is_empty() {
            content.push(json!({"type": "text", "text": "(thought only)"}));
        }
    }
}

/// A session of several turns with moving breakpoints and occasional changes of earlier content.
pub async fn session(pair: &mut Pair, seed: u64) {
    let mut random = Random::new(seed);
    let mut built = Session::new(seed).thinking(false).lean();
    built.user("SAY:welcome");
    let mut twins = Twins::both(built.body_value());
    for turn in 0..4 {
        let thought = if random.chance(70) { "THINK:hm;;" } else { "" };
        let redacted = if random.chance(30) { "REDACTED;;" } else { "" };
        let prompt = format!(
            "{thought}{redacted}SAY:turn {turn};;USE_TOOL:Read:/f{turn};;USE_TOOL:Bash:ls;;\
             THEN;;{thought}SAY:over"
        );
        if turn > 0 {
            twins.push(&json!({"role": "user", "content": prompt}));
        }
        for step in 0..2 {
            twins.edit(move_mark);
            let stream = random.chance(50);
            twins.edit(|body| body["stream"] = stream.into());
            let label = format!("session {seed}, turn {turn}, step {step}");
            let answers = pair.send(&label, &twins).await;
            if answers.0.status != 200 {
                return;
            }
            twins.carry_on(&answers);
            if turn == 0 {
                break;
            }
        }
        // An edit of the past: refused with bound thinking, or dropped on request.
        let mut edited = twins.clone();
        edited.push(&json!({"role": "user", "content": "SAY:edited"}));
        let mut gap = edited.clone();
        gap.edit(|body| leave_gap(body, random.clone().below(12)));
        pair.send("a gap", &gap).await;
        edited.edit(|body| body["messages"][0]["content"] = "another first question".into());
        pair.send("edited", &edited).await;
        let block_binding = json!({"prefix_mismatch_behavior": "drop_block"});
        edited.edit(|body| body["thinking"]["block_binding"] = block_binding.clone());
        pair.send("edited, drop, no beta", &edited).await;
        edited.headers = vec![("anthropic-beta".to_owned(), format!("other-beta,{BETA}"))];
        pair.send("edited, drop, beta", &edited).await;
        gap.edit(|body| body["thinking"]["block_binding"] = block_binding.clone());
        gap.headers.clone_from(&edited.headers);
        pair.send("a gap, drop, beta", &gap).await;
    }
}

/// Removes the nth thinking block and keeps the others.
fn leave_gap(body: &mut Value, nth: usize) {
    let mut count = 0;
    let messages = body["messages"].as_array_mut().into_iter().flatten();
    for content in messages.filter_map(|message| message["content"].as_array_mut()) {
        content.retain(|block| {
            let thinking = matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
            count += usize::from(thinking);
            !thinking || count != nth + 1
        });
    }
}

/// Moves the breakpoint of the messages to the last block, like a client.
fn move_mark(body: &mut Value) {
    let Some(messages) = body["messages"].as_array_mut() else {
        return;
    };
    for message in messages.iter_mut() {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            if let Some(fields) = block.as_object_mut() {
                fields.shift_remove("cache_control");
            }
        }
    }
    let Some(last) = messages.last_mut() else {
        return;
    };
    if let Some(text) = last["content"].as_str() {
        last["content"] = json!([{"type": "text", "text": text}]);
    }
    if let Some(block) = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}
