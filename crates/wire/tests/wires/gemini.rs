//! Gemini, before a strict judge: recorded bodies, requests at random, and each rule alone.

use crate::case::Case;
use crate::effects::{self, any, cover};
use ctx_core::content::{CallInput, Content};
use ctx_core::edit::effect::{Cover, Effect, NewMessage, Why};
use ctx_core::frames;
use ctx_core::key::Key;
use ctx_core::message::{Kind, Message, Role};
use ctx_wire::{WireId, wire};
use serde_json::{Value, json};
use testkit::judges::gemini::{Demands, judge};
use testkit::{Random, is_long, recorded_bodies};

fn case(contents: Value) -> Case {
    let functions = json!([{"name": "read", "description": "reads"}, {"name": "list"}]);
    let body = json!({
        "contents": contents, "systemInstruction": {"parts": [{"text": "You are kind."}, {"text": "Be brief."}]},
        "tools": [{"functionDeclarations": functions}, {"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    });
    Case::of(body.to_string().as_bytes(), wire(WireId::Gemini))
}

fn called(path: &str) -> Value {
    json!({"functionCall": {"name": "read", "args": {"path": path}}})
}

fn found(path: &str) -> Value {
    json!({"functionResponse": {"name": "read", "response": {"of": path, "text": format!("text of {path}")}}})
}

fn with(mut part: Value, signature: &str) -> Value {
    part["thoughtSignature"] = signature.into();
    part
}

/// Two frames; the first has a loop of one step with two calls, none of them with an id.
fn talk() -> Case {
    case(json!([
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [{"text": "I look."}, with(called("a"), "s1"), called("b")]},
        {"role": "user", "parts": [found("a"), found("b")]},
        {"role": "model", "parts": [with(json!({"text": "Seen."}), "s2")]},
        {"role": "user", "parts": [{"text": "and now?"}]},
    ]))
}

const STRICT: Demands = Demands { asks: true, signs: true };

fn sent(case: &Case) -> Value {
    let (text, composed) = case.compose();
    judge(&text, STRICT).unwrap_or_else(|error| panic!("{error}\n{text}\n{:?}", composed.repairs));
    serde_json::from_str(&text).expect("JSON")
}

fn rules(case: &Case) -> Vec<&'static str> {
    case.compose().1.repairs.iter().map(|repair| repair.rule).collect()
}

#[test]
fn calls_without_ids_belong_to_their_results_and_to_one_step() {
    let case = talk();
    let messages: Vec<&Message> = case.facts.iter().collect();
    let frames = frames::frames(&messages);
    assert_eq!(frames.iter().map(|frame| frame.steps.len()).collect::<Vec<_>>(), [2, 0]);
    let title = frames::step_title(&messages, &frames[0].steps[0]);
    assert!(title.starts_with("read") && title.ends_with("(+1)"), "{title}");
    let ids = |at: usize, kind: Kind| -> Vec<&str> {
        let blocks = messages[at].blocks.iter().filter(|block| block.kind == kind);
        blocks.filter_map(|block| block.tool_use_id.as_deref()).collect()
    };
    assert_eq!(ids(1, Kind::ToolUse).len(), 2);
    assert_eq!(ids(1, Kind::ToolUse), ids(2, Kind::ToolResult));
}

#[test]
fn the_head_is_the_system_prompt_and_the_declared_functions() {
    let envelope = talk().body.envelope(ctx_clients::lexicon());
    assert_eq!(envelope.system.iter().map(|piece| &*piece.label).collect::<Vec<_>>(), ["You are kind.", "Be brief."]);
    let tools = envelope.tools.expect("tools");
    let named: Vec<(&str, bool)> = tools.iter().map(|tool| (&*tool.name, tool.server)).collect();
    assert_eq!(named, [("read", false), ("list", false), ("googleSearch", true)]);
}

#[test]
fn a_request_that_nothing_touches_leaves_as_it_came() {
    let case = talk();
    assert_eq!(case.compose().0.as_bytes(), case.body.bytes());
}

#[test]
fn a_result_gets_another_text_and_stays_an_object() {
    let mut case = talk();
    case.effects.push(effects::replace_result(&case, 2, "[cleared]"));
    let sent = sent(&case);
    let cleared = json!({"functionResponse": {"name": "read", "response": {"output": "[cleared]"}}});
    assert_eq!(sent["contents"][2]["parts"], json!([cleared, found("b")]));
    assert_eq!(sent["contents"][1]["parts"][1]["thoughtSignature"], "s1", "signatures stay where they are");
}

#[test]
fn images_of_a_result_count_and_go_with_its_text() {
    let picture = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}});
    let text = json!({"output": "Binary content provided (1 item(s))."});
    let response = json!({"id": "c", "name": "read", "response": text, "parts": [picture, picture]});
    let call = json!({"functionCall": {"id": "c", "name": "read", "args": {"path": "a.png"}}});
    let mut case = case(json!([
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [with(call, "s")]},
        {"role": "user", "parts": [{"functionResponse": response}]},
        {"role": "model", "parts": [{"text": "Seen."}]},
        {"role": "user", "parts": [{"text": "and now?"}]},
    ]));
    assert_eq!(case.facts[2].blocks[0].fixed_tokens, 2 * 258);
    case.effects.push(effects::replace_result(&case, 2, "[cleared]"));
    let cleared = json!({"id": "c", "name": "read", "response": {"output": "[cleared]"}});
    assert_eq!(sent(&case)["contents"][2]["parts"], json!([{"functionResponse": cleared}]));
}

#[test]
fn a_text_without_words_goes_with_the_call_beside_it() {
    let mut case = case(json!([
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [with(json!({"text": ""}), "s"), called("a")]},
        {"role": "user", "parts": [found("a")]},
        {"role": "model", "parts": [{"text": "Seen."}]},
        {"role": "user", "parts": [{"text": "and now?"}]},
    ]));
    case.effects.push(effects::delete(&case, &[(2, 0)]));
    let sent = sent(&case);
    assert_eq!(sent["contents"][1], json!({"role": "model", "parts": [{"text": "Seen."}]}));
}

#[test]
fn a_call_goes_with_its_result_and_the_next_one_is_signed_in_its_place() {
    let mut case = talk();
    case.effects.push(effects::delete(&case, &[(1, 1)]));
    let sent = sent(&case);
    assert_eq!(sent["contents"][1]["parts"][1]["functionCall"]["args"]["path"], "b");
    assert_eq!(sent["contents"][1]["parts"][1]["thoughtSignature"], "skip_thought_signature_validator");
    assert_eq!(sent["contents"][2]["parts"], json!([found("b")]));
}

#[test]
fn a_result_goes_with_its_call() {
    let mut case = talk();
    case.effects.push(effects::delete(&case, &[(2, 1)]));
    let sent = sent(&case);
    assert_eq!(sent["contents"][1]["parts"].as_array().map(Vec::len), Some(2), "{sent}");
    assert_eq!(sent["contents"][2]["parts"], json!([found("a")]));
}

#[test]
fn an_edited_text_loses_the_signature_of_the_old_one() {
    let mut case = talk();
    case.effects.push(effects::replace(&case, &[(3, 0)], None, vec![Content::text("Read.")]));
    assert_eq!(sent(&case)["contents"][3], json!({"role": "model", "parts": [{"text": "Read."}]}));
}

#[test]
fn words_behind_results_get_a_content_of_their_own_once_they_are_touched() {
    let mut case = case(json!([
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [with(called("a"), "s")]},
        {"role": "user", "parts": [found("a"), {"text": "also this"}]},
    ]));
    assert_eq!(case.facts[2].speaks, Some(1), "a frame begins inside the content");
    case.effects.push(effects::replace(&case, &[(2, 1)], None, vec![Content::text("also that")]));
    let sent = sent(&case);
    assert_eq!(sent["contents"][2], json!({"role": "user", "parts": [found("a")]}));
    assert_eq!(sent["contents"][3], json!({"role": "user", "parts": [{"text": "also that"}]}));
}

#[test]
fn neighbours_of_one_role_become_one_content() {
    let mut case = talk();
    case.effects.push(effects::delete(&case, &[(1, 0), (1, 1), (1, 2), (3, 0)]));
    let sent = sent(&case);
    let parts = json!([{"text": "look"}, {"text": "and now?"}]);
    assert_eq!(sent["contents"], json!([{"role": "user", "parts": parts}]));
}

#[test]
fn the_user_begins() {
    let mut case = talk();
    case.effects.push(effects::delete(&case, &[(0, 0)]));
    assert_eq!(sent(&case)["contents"][0], json!({"role": "user", "parts": [{"text": "[continued]"}]}));
    assert_eq!(rules(&case), ["G6"]);
}

#[test]
fn results_are_sorted_like_their_calls() {
    let mut case = talk();
    let id = case.facts[1].blocks[1].tool_use_id.as_deref().map(str::to_owned);
    let text = Content::Result { id, parts: vec![Content::text("ours")], error: false };
    // The first result goes, and ours stands behind the second.
    case.effects.push(effects::delete(&case, &[(2, 0)]));
    case.effects.push(effects::replace(&case, &[(3, 0)], Some(Role::User), vec![text]));
    let sent = sent(&case);
    let ours = json!({"functionResponse": {"name": "read", "response": {"output": "ours"}}});
    assert_eq!(sent["contents"][2]["parts"], json!([ours, found("b")]), "{sent}");
    assert!(rules(&case).contains(&"G13"));
}

#[test]
fn a_call_of_ours_has_no_id_where_the_clients_have_none() {
    let ours = |id: &str| {
        let id = Some(id.to_owned());
        let input = CallInput::Json("{\"path\":\"x\"}".into());
        let call = Content::Call { id: id.clone(), name: "read".into(), input };
        let result = Content::Result { id, parts: vec![Content::text("y")], error: true };
        let made = |role, content| NewMessage { role: Some(role), content: vec![content] };
        vec![made(Role::Assistant, call), made(Role::User, result)]
    };
    let mut case = talk();
    let covers = vec![cover(&case, 3, 0..1)];
    case.effects.push(Effect::Replace { why: Why::Edited, covers, by: ours("ours-1") });
    let without = sent(&case);
    assert!(!without.to_string().contains("ours-1"));
    assert!(
        without.to_string().contains(r#"{"functionResponse":{"name":"read","response":{"error":"y"}}}"#),
        "{without}"
    );

    let text = String::from_utf8(case.body.bytes().to_vec()).expect("text");
    let mut case = Case::of(
        text.replace("\"name\":\"read\",\"args\"", "\"id\":\"c\",\"name\":\"read\",\"args\"").as_bytes(),
        wire(WireId::Gemini),
    );
    case.effects.push(Effect::Replace { why: Why::Edited, covers: vec![cover(&case, 0, 0..1)], by: ours("ours-1") });
    let (text, _) = case.compose();
    assert_eq!(text.matches("\"id\":\"ours-1\"").count(), 2, "{text}");
}

#[test]
fn tools_and_the_system_prompt_are_edited_in_their_lists() {
    let mut case = talk();
    let key = |at: usize| case.body.envelope(ctx_clients::lexicon()).system[at].key;
    let system = Cover::System { at: 0, key: key(0) };
    let by = vec![NewMessage::text(None, "Be kind.")];
    let tool = |name: &str| Cover::Tool { name: name.into() };
    case.effects.push(Effect::Replace { why: Why::Edited, covers: vec![system], by });
    case.effects.push(Effect::Replace { why: Why::Deleted, covers: vec![tool("list")], by: vec![] });
    let edited = sent(&case);
    assert_eq!(edited["systemInstruction"]["parts"], json!([{"text": "Be kind."}, {"text": "Be brief."}]));
    let functions = json!([{"functionDeclarations": [{"name": "read", "description": "reads"}]}, {"googleSearch": {}}]);
    assert_eq!(edited["tools"], functions);

    case.effects.push(Effect::Replace { why: Why::Deleted, covers: vec![tool("read")], by: vec![] });
    assert_eq!(sent(&case)["tools"], json!([{"googleSearch": {}}]), "no empty list of functions stays");
    case.effects.push(Effect::Replace { why: Why::Deleted, covers: vec![tool("googleSearch")], by: vec![] });
    let covers = (0..2).map(|at| Cover::System { at, key: Key([0; 16]) }).collect();
    case.effects.push(Effect::Replace { why: Why::Deleted, covers, by: vec![] });
    let sent = sent(&case);
    let members: Vec<&str> = sent.as_object().expect("a body").keys().map(String::as_str).collect();
    assert_eq!(members, ["contents"]);
}

#[test]
fn system_prompt_and_tools_go_together_wherever_they_stand() {
    let contents = r#""contents":[{"role":"user","parts":[{"text":"go"}]}]"#;
    let system = r#""systemInstruction":{"parts":[{"text":"x"}]}"#;
    let tools = r#""tools":[{"functionDeclarations":[{"name":"f"}]}]"#;
    for members in [[system, tools, contents], [tools, system, contents], [contents, tools, system]] {
        for (before, behind) in [("{", "}"), ("{\"model\":\"m\",\"request\":{", "},\"project\":\"p\"}")] {
            let body = format!("{before}{}{behind}", members.join(","));
            let mut case = Case::of(body.as_bytes(), wire(WireId::Gemini));
            let covers = vec![Cover::System { at: 0, key: Key([0; 16]) }, Cover::Tool { name: "f".into() }];
            let delete = |covers| Effect::Replace { why: Why::Deleted, covers, by: vec![] };
            case.effects.extend(covers.into_iter().map(|cover| delete(vec![cover])));
            assert_eq!(case.compose().0, format!("{before}{contents}{behind}"), "{members:?}");
        }
    }
}

#[test]
fn a_result_has_the_name_of_the_call_that_is_sent() {
    let mut case = talk();
    let id = case.facts[1].blocks[1].tool_use_id.as_deref().map(str::to_owned);
    let call = Content::Call { id, name: "list".into(), input: CallInput::Json("{}".into()) };
    case.effects.push(effects::replace(&case, &[(1, 1)], None, vec![call]));
    let sent = sent(&case);
    assert_eq!(sent["contents"][2]["parts"][0]["functionResponse"]["name"], "list");
}

#[test]
fn a_hosted_call_goes_with_its_result() {
    let mut case = case(json!([
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [
            {"toolCall": {"id": "h", "toolType": "GOOGLE_SEARCH"}}, {"toolResponse": {"id": "h"}}, {"text": "Seen."}]},
        {"role": "user", "parts": [{"text": "and now?"}]},
    ]));
    case.effects.push(effects::delete(&case, &[(1, 0)]));
    assert_eq!(sent(&case)["contents"][1]["parts"], json!([{"text": "Seen."}]));
    assert_eq!(rules(&case), ["G17"]);
}

#[test]
fn a_step_that_an_edit_brings_into_the_current_turn_is_signed() {
    let mut case = case(json!([
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [called("a")]},
        {"role": "user", "parts": [found("a")]},
        {"role": "model", "parts": [{"text": "Seen."}]},
        {"role": "user", "parts": [{"text": "more"}]},
        {"role": "model", "parts": [with(called("b"), "s")]},
        {"role": "user", "parts": [found("b")]},
    ]));
    case.effects.push(effects::delete(&case, &[(4, 0)]));
    let sent = sent(&case);
    assert_eq!(sent["contents"][1]["parts"][0]["thoughtSignature"], "skip_thought_signature_validator");
}

#[test]
fn recorded_conversations_are_whole_and_edits_of_them_are_accepted() {
    let mut random = Random::new(23);
    let (mut slots, mut steps, mut count, mut pairs) = (0, 0, 0, 0);
    let rounds = if is_long() { 400 } else { 20 };
    for (name, bytes) in recorded_bodies("gemini") {
        let case = Case::of(&bytes, wire(WireId::Gemini));
        let messages: Vec<&Message> = case.facts.iter().collect();
        let cut = frames::frames(&messages);
        slots += messages.len();
        count += cut.len();
        steps += cut.iter().map(|frame| frame.steps.len()).sum::<usize>();
        pairs += linked_in_one_step(&name, &messages, &cut);
        assert_eq!(case.compose().0.as_bytes(), bytes, "{name}");
        for round in 0..rounds {
            let mut case = Case::of(&bytes, wire(WireId::Gemini));
            for _ in 0..random.between(1, 5) {
                let effect = any(&mut random, &case);
                case.effects.push(effect);
            }
            let (text, composed) = case.compose();
            let asks = case.facts.last().is_some_and(|last| last.role == Role::User);
            judge(&text, Demands { asks, signs: false }).unwrap_or_else(|error| {
                panic!("{name}, round {round}: {error}\n{text}\n{:#?}\n{:?}", case.effects, composed.repairs)
            });
        }
    }
    if slots > 0 {
        assert_eq!((slots, steps, count, pairs), (102, 45, 15, 40));
    }
}

/// Every call and its result fall into one step.
fn linked_in_one_step(name: &str, messages: &[&Message], frames: &[frames::Frame]) -> usize {
    let mut pairs = 0;
    for step in frames.iter().flat_map(|frame| &frame.steps) {
        let ids = |kind: Kind| -> Vec<&str> {
            let inside = step.start.message..step.end.message + usize::from(step.end.block > 0);
            let blocks = inside.flat_map(|at| &messages[at].blocks).filter(|block| block.kind == kind);
            blocks.filter_map(|block| block.tool_use_id.as_deref()).collect()
        };
        let (calls, results) = (ids(Kind::ToolUse), ids(Kind::ToolResult));
        assert!(results.is_empty() || calls == results, "{name}: {calls:?} {results:?}");
        pairs += results.len();
    }
    pairs
}

/// A request at random: with and without ids and signatures, parallel calls, words behind results.
pub fn anything(random: &mut Random) -> Case {
    let (has_ids, is_signed) = (random.chance(30), random.chance(70));
    let mut contents: Vec<Value> = Vec::new();
    let mut next = 0;
    for _ in 0..random.between(1, 5) {
        let words = json!({"text": format!("words {}", random.hex(6))});
        let picture = json!({"inlineData": {"mimeType": "image/png", "data": "iVBO"}});
        let parts = if random.chance(30) { json!([picture, words]) } else { json!([words]) };
        let last = contents.last_mut().filter(|last| last["parts"][0].get("functionResponse").is_some());
        match last.filter(|_| random.chance(30)) {
            Some(last) => last["parts"].as_array_mut().expect("parts").push(words),
            None => contents.push(json!({"role": "user", "parts": parts})),
        }
        for _ in 0..random.below(4) {
            let paths: Vec<String> = (0..random.between(1, 4)).map(|at| format!("p{}", next + at)).collect();
            next += paths.len();
            step(random, &mut contents, &paths, (has_ids, is_signed));
        }
        if random.chance(70) {
            contents.push(json!({"role": "model", "parts": [{"text": "done"}]}));
        }
    }
    contents.push(json!({"role": "user", "parts": [{"text": "newest"}]}));
    if random.chance(30) {
        step(random, &mut contents, &["q".to_owned()], (has_ids, is_signed));
    }
    case(Value::Array(contents))
}

/// A step with these calls; `(ids, signatures)`.
fn step(random: &mut Random, contents: &mut Vec<Value>, paths: &[String], (has_ids, is_signed): (bool, bool)) {
    let mut parts: Vec<Value> = Vec::new();
    if random.chance(20) {
        parts.push(json!({"text": "a thought", "thought": true}));
    }
    if random.chance(50) {
        parts.push(json!({"text": "said"}));
    }
    let mut calls: Vec<Value> = paths.iter().map(|path| called(path)).collect();
    let mut results: Vec<Value> = paths.iter().map(|path| found(path)).collect();
    if has_ids {
        for (path, (call, result)) in paths.iter().zip(calls.iter_mut().zip(&mut results)) {
            call["functionCall"]["id"] = path.as_str().into();
            result["functionResponse"]["id"] = path.as_str().into();
        }
    }
    if is_signed {
        calls[0] = with(calls[0].clone(), "s");
    }
    if !parts.is_empty() && random.chance(20) {
        contents.push(json!({"role": "model", "parts": std::mem::take(&mut parts)}));
    }
    parts.extend(calls);
    contents.push(json!({"role": "model", "parts": parts}));
    contents.push(json!({"role": "user", "parts": results}));
}

#[test]
fn whatever_is_done_the_api_takes_it() {
    let rounds = if is_long() { 30_000 } else { 3_000 };
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let mut case = anything(&mut random);
        let own = String::from_utf8_lossy(case.body.bytes()).into_owned();
        let signs = own.contains("thoughtSignature");
        judge(&own, Demands { asks: true, signs }).unwrap_or_else(|error| panic!("the case itself: {error}\n{own}"));
        for _ in 0..random.between(1, 6) {
            let effect = any(&mut random, &case);
            case.effects.push(effect);
        }
        let (text, composed) = case.compose();
        judge(&text, Demands { asks: true, signs }).unwrap_or_else(|error| {
            panic!("seed {seed}: {error}\n{own}\n{text}\n{:#?}\n{:?}", case.effects, composed.repairs)
        });
    }
}
