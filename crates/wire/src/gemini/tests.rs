//! The wire on small requests and answers.

use super::*;
use crate::answer::{Ending, Progress, Usage};
use crate::body::Body;
use ctx_core::content::{CallInput, Origin};
use ctx_core::message::Kind;

fn read(message: &Value) -> ctx_core::Message {
    Gemini.read(message.to_string().as_bytes(), ctx_clients::lexicon()).facts
}

#[test]
fn the_address_names_the_call_and_the_model() {
    let generate = Some(Call::Generate);
    for (path, call, model) in [
        ("/v1beta/models/gemini-3-pro:streamGenerateContent", generate, Some("gemini-3-pro")),
        ("/v1beta/models/gemini-3-pro:generateContent", generate, Some("gemini-3-pro")),
        ("/v1/projects/p/locations/l/publishers/google/models/g:generateContent", generate, Some("g")),
        ("/v1beta/models/gemini-3-pro:countTokens", Some(Call::Count), Some("gemini-3-pro")),
        ("/v1beta/models/gemini-3-pro:embedContent", None, Some("gemini-3-pro")),
        ("/v1internal:streamGenerateContent", generate, None),
        ("/v1internal:countTokens", Some(Call::Count), None),
        ("/v1internal:loadCodeAssist", None, None),
        ("/v1beta/models", None, None),
    ] {
        assert_eq!((Gemini.route("POST", path), Gemini.model(path)), (call, model), "{path}");
    }
    assert_eq!(Gemini.route("GET", "/v1beta/models/g:generateContent"), None);
}

#[test]
fn results_that_are_sent_twice_are_the_same_message() {
    let result = json!({"functionResponse": {"name": "read_file", "response": {"output": "found"}}});
    let other = json!({"functionResponse": {"name": "read_file", "response": {"output": "more"}}});
    let once = read(&json!({"role": "user", "parts": [result, other]}));
    let twice = read(&json!({"role": "user", "parts": [result, other, result, other]}));
    assert_eq!((twice.key, twice.blocks.len()), (once.key, 4));
    assert_ne!(read(&json!({"role": "user", "parts": [result]})).key, once.key);
}

#[test]
fn parts_are_blocks_in_both_spellings() {
    let camel = json!({"role": "model", "parts": [
        {"text": "hm", "thought": true}, {"text": "I look."},
        {"functionCall": {"name": "read_file", "args": {"file_path": "/a"}, "id": "c"}, "thoughtSignature": "s"}]});
    let snake = json!({"role": "model", "parts": [
        {"text": "hm", "thought": true}, {"text": "I look."},
        {"function_call": {"name": "read_file", "args": {"file_path": "/a"}, "id": "c"}, "thought_signature": "s"}]});
    let facts = read(&camel);
    let kinds: Vec<Kind> = facts.blocks.iter().map(|block| block.kind).collect();
    assert_eq!(kinds, [Kind::Thinking, Kind::Text, Kind::ToolUse]);
    assert_eq!(facts.blocks[2].label.as_deref(), Some("/a"));
    assert_eq!((facts.key, facts.anchors.len()), (read(&snake).key, 2));
    let shown = json!({"role": "user", "parts": [
        {"functionResponse": {"name": "read_file", "response": {"output": "0123456789"}}},
        {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}, {"fileData": {"fileUri": "files/1"}}, {"text": "see"}]});
    let facts = read(&shown);
    let kinds: Vec<Kind> = facts.blocks.iter().map(|block| block.kind).collect();
    assert_eq!(kinds, [Kind::ToolResult, Kind::Image, Kind::Document, Kind::Text]);
    assert_eq!((facts.speaks, facts.blocks[0].tool.as_deref()), (Some(1), Some("read_file")));
    assert_eq!(facts.blocks[1].fixed_tokens, 258);
    assert_eq!(read(&json!({"parts": [{"text": "hi"}]})).role, Role::User, "a content without a role is the user's");
}

#[test]
fn a_message_is_the_same_without_its_signatures() {
    let spelled = |text: &str| Gemini.read(text.as_bytes(), ctx_clients::lexicon()).facts.key;
    let one = r#"{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1,"b":2}}}]}"#;
    let other = r#"{"parts":[{"functionCall":{"args": {"b": 2, "a": 1}, "name":"f"}}],"role":"model"}"#;
    assert_eq!(spelled(one), spelled(other), "a client may write the call of an answer in another order");
    assert_ne!(spelled(one), spelled(&one.replace('2', "3")));
    let call = json!({"functionCall": {"name": "read", "args": {}}});
    let mut signed = call.clone();
    signed["thoughtSignature"] = "s".into();
    let of = |part: &Value| read(&json!({"role": "model", "parts": [part]}));
    assert_eq!(of(&call).key, of(&signed).key);
    signed["thoughtSignature"] = "skip_thought_signature_validator".into();
    assert!(of(&signed).anchors.is_empty(), "what everybody may write identifies nothing");
}

#[test]
fn content_is_neutral_and_never_takes_a_signature_along() {
    let content = |value: Value| Gemini.content(&value.to_string()).expect("content");
    assert_eq!(content(json!({"text": "a", "thoughtSignature": "s"})), Content::text("a"));
    let call = json!({"functionCall": {"name": "f", "args": {"b": 1, "a": 2}}, "thoughtSignature": "s"});
    let input = call["functionCall"]["args"].to_string();
    assert_eq!(content(call), Content::Call { id: None, name: "f".into(), input: CallInput::Json(input) });
    let result = content(json!({"functionResponse": {"name": "f", "response": {"error": "no"}}}));
    assert_eq!(result, Content::Result { id: None, parts: vec![Content::text("no")], error: true });
    let image = content(json!({"inlineData": {"mimeType": "image/png", "data": "iVBO"}}));
    assert_eq!(image, Content::Image { from: Origin::Base64 { media: "image/png".into(), data: "iVBO".into() } });
    let other = content(json!({"executableCode": {"code": "1"}, "thoughtSignature": "s"}));
    assert!(matches!(&other, Content::Raw { json, .. } if !json.contains("thoughtSignature")), "{other:?}");
    let odd = json!({"functionResponse": {"name": "f", "response": {"rows": [1]}}});
    let written = Gemini.write(&content(odd)).into_owned();
    assert!(written.contains(r#""response":{"rows":[1]}"#), "{written}");
    let shown = Gemini.contents(br#"{"parts":[{"functionResponse":{"name":"f","response":{"rows":[1]}}}]}"#);
    assert_eq!(shown, [Content::Result { id: None, parts: vec![Content::text(r#"{"rows":[1]}"#)], error: false }]);
}

#[test]
fn a_result_with_images_is_shown_with_them_and_written_as_it_is() {
    let picture = json!({"inlineData": {"mimeType": "image/png", "data": "iVBO"}});
    let response = json!({"id": "c", "name": "read", "response": {"output": "one item"}, "parts": [picture]});
    let block = json!({"functionResponse": response}).to_string();
    let image = Content::Image { from: Origin::Base64 { media: "image/png".into(), data: "iVBO".into() } };
    let parts = vec![Content::text("one item"), image];
    let shown = Content::Result { id: Some("c".into()), parts, error: false };
    assert_eq!(Gemini.contents(format!(r#"{{"parts":[{block}]}}"#).as_bytes()), [shown]);
    assert_eq!(Gemini.result(block.as_bytes()), response.to_string().as_bytes(), "a file of it has the image");
    let content = Gemini.content(&block).expect("content");
    assert_eq!((content.answers(), Gemini.write(&content).as_ref()), (Some("c"), block.as_str()));
    let copy = Gemini.copied(content, "salt");
    let id = copy.answers().expect("an id");
    assert_ne!(id, "c");
    assert_eq!(Gemini.write(&copy), block.replace(r#""id":"c""#, &format!(r#""id":"{id}""#)));
}

#[test]
fn drafts_are_linked_by_order_and_refused_by_rule() {
    let draft = |raw: Value| Gemini.draft(&raw, DraftScope::Messages);
    let call = |name: &str| json!({"functionCall": {"name": name, "args": {}}});
    let result = |name: &str| json!({"functionResponse": {"name": name, "response": {"output": "x"}}});
    let made = draft(json!([
        {"role": "model", "parts": [call("a"), call("b")]}, {"role": "user", "parts": [result("a"), result("b")]},
    ]))
    .expect("messages");
    let (calls, answers): (Vec<&str>, Vec<&str>) = (made[0].calls().collect(), made[1].answers().collect());
    assert_eq!((calls.len(), &calls), (2, &answers));
    for (raw, rule) in [
        (json!({"role": "system", "parts": [{"text": "x"}]}), "G1"),
        (json!({"role": "user", "parts": []}), "G3"),
        (json!({"role": "user", "parts": [{"text": "x"}], "id": 1}), "G4"),
        (json!({"role": "user", "parts": [{"functionResponse": {"name": "a", "response": "x"}}]}), "G8"),
        (json!({"role": "user", "parts": [{"what": 1}]}), "G2"),
    ] {
        let refusal = draft(raw).expect_err(rule);
        assert!(refusal.message.contains(&format!("rule {rule}")), "{refusal:?}");
    }
}

#[test]
fn a_body_tells_its_head_and_what_lives_with_the_provider() {
    let envelope = |body: Value| {
        Body::parse(body.to_string().into_bytes(), &Gemini).expect("a body").envelope(ctx_clients::lexicon())
    };
    let plain = envelope(json!({"contents": [], "system_instruction": {"parts": [{"text": "Be kind."}]}}));
    assert_eq!((plain.system.len(), plain.threaded, plain.wants_format, plain.tools), (1, false, false, None));
    let cached =
        json!({"contents": [], "cachedContent": "cachedContents/1", "generationConfig": {"responseSchema": {}}});
    let cached = envelope(cached);
    assert!(cached.threaded && cached.wants_format);
}

#[test]
fn a_wrapped_request_is_read_like_any_other() {
    let request = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "session_id": "s1",
        "systemInstruction": {"parts": [{"text": "Be kind."}]}, "tools": [{"functionDeclarations": [{"name": "read"}]}]});
    let body = json!({"model": "gemini-3-pro", "project": "p", "user_prompt_id": "s1#1", "request": request});
    let body = Body::parse(body.to_string().into_bytes(), &Gemini).expect("a body");
    let envelope = body.envelope(ctx_clients::lexicon());
    assert_eq!((envelope.model.as_deref(), envelope.session.as_deref()), (Some("gemini-3-pro"), Some("s1")));
    assert_eq!((envelope.system.len(), envelope.tools.map(|tools| tools.len())), (1, Some(1)));
    assert_eq!(body.message(0), br#"{"role":"user","parts":[{"text":"hi"}]}"#);
    // A request that merely has a member of that name is not wrapped.
    let plain = Body::parse(br#"{"request":{"contents":[1]},"contents":[]}"#.to_vec(), &Gemini).expect("a body");
    assert_eq!((plain.spans().messages.len(), plain.spans().wrapper.is_none()), (0, true));
}

fn tapped(status: u16, kind: &str, body: &str) -> crate::answer::Answer {
    let mut tap = Gemini.tap(status, Some(kind), None);
    body.as_bytes().chunks(7).for_each(|chunk| tap.feed(chunk));
    tap.finish(Ending::Complete)
}

/// An answer in three objects.
fn objects() -> [Value; 3] {
    let candidate = |parts: Value| json!({"content": {"role": "model", "parts": parts}, "index": 0});
    let mut last = candidate(json!([{"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "s"}]));
    last["finishReason"] = "STOP".into();
    let usage = json!({"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 5, "thoughtsTokenCount": 7});
    [
        json!({"candidates": [candidate(json!([{"text": "hm", "thought": true}]))], "modelVersion": "gemini-3-pro"}),
        json!({"candidates": [candidate(json!([{"text": "I "}]))]}),
        json!({"candidates": [last], "usageMetadata": usage, "responseId": "r1"}),
    ]
}

#[test]
fn an_answer_is_the_same_in_all_three_forms() {
    let [one, mut two, three] = objects();
    let rest = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "\"look\"."}]}}]});
    let events: String = [&one, &two, &rest, &three].map(|object| format!("data: {object}\r\n\r\n")).concat();
    let wrap = |object: &Value| format!("data: {}\n\n", json!({"response": object, "traceId": "t"}));
    let wrapped = [&one, &two, &rest, &three].map(wrap).concat();
    let list = json!([one, two, rest, three]).to_string();
    two["candidates"][0]["content"]["parts"] = json!([
        {"text": "hm", "thought": true}, {"text": "I \"look\"."},
        {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "s"}]);
    let mut whole = three.clone();
    whole["candidates"][0]["content"] = two["candidates"][0]["content"].clone();
    whole["modelVersion"] = "gemini-3-pro".into();
    let expected = &whole["candidates"][0]["content"];
    for (kind, body) in [
        ("text/event-stream", events.as_str()),
        ("application/json; charset=UTF-8", list.as_str()),
        ("application/json", whole.to_string().as_str()),
        ("text/event-stream", wrapped.as_str()),
    ] {
        let answer = tapped(200, kind, body);
        let reply: Value = serde_json::from_slice(&answer.reply[0]).expect("JSON");
        assert_eq!(&reply, expected, "{kind}");
        let usage = Usage { input: 40, cache_read: 60, output: 12, thinking: Some(7), ..Usage::default() };
        assert_eq!(answer.usage, Some(usage), "{kind}");
        assert_eq!((answer.stop_reason.as_deref(), answer.whole_message), (Some("STOP"), true), "{kind}");
        assert_eq!((answer.model.as_deref(), answer.message_id.as_deref()), (Some("gemini-3-pro"), Some("r1")));
        assert_eq!((answer.broken_events, answer.undecodable), (0, None), "{kind}");
    }
}

#[test]
fn an_answer_is_told_as_it_grows() {
    let mut tap = Gemini.tap(200, Some("text/event-stream"), None);
    let mut told = Progress::default();
    let mut all = Vec::new();
    for object in objects() {
        tap.feed(format!("data: {object}\n\n").as_bytes());
        all.extend(tap.grown(&mut told).into_iter().map(|grown| (grown.block, grown.part, grown.text)));
    }
    let expected = [(0, "thinking", "hm"), (1, "text", "I "), (2, "tool", "{}")];
    assert_eq!(all, expected.map(|(block, part, text)| (block, part, text.to_owned())));
}

#[test]
fn a_list_is_told_as_it_grows() {
    let mut tap = Gemini.tap(200, Some("application/json"), None);
    let mut told = Progress::default();
    let mut all = Vec::new();
    let list = json!(objects()).to_string();
    for piece in list.as_bytes().chunks(50) {
        tap.feed(piece);
        all.push(tap.grown(&mut told).into_iter().map(|grown| grown.text).collect::<String>());
    }
    assert_eq!(all.concat(), "hmI {}");
    assert!(all.iter().filter(|text| !text.is_empty()).count() == 3, "each when it comes: {all:?}");
    let answer = tap.finish(Ending::Complete);
    assert_eq!((answer.events, answer.broken_events, answer.undecodable), (3, 0, None));

    let mut cut = Gemini.tap(200, Some("application/json"), None);
    cut.feed(&list.as_bytes()[..list.len() - 4]);
    let cut = cut.finish(Ending::Cut);
    assert!(!cut.whole_message && !cut.reply.is_empty(), "the parts that came are kept: {cut:?}");

    let mut failed = Gemini.tap(200, Some("application/json"), None);
    failed.feed(br#"[{"candidates":[]},{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]"#);
    assert_eq!(failed.finish(Ending::Complete).error.map(|error| error.message).as_deref(), Some("busy"));
}

#[test]
fn a_count_of_a_whole_request_is_read_like_the_request() {
    let request = json!({"model": "models/gemini-3-pro", "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"parts": [{"text": "Be kind."}]}});
    for name in ["generateContentRequest", "generate_content_request"] {
        let body = Body::parse(json!({name: request}).to_string().into_bytes(), &Gemini).expect("a body");
        let envelope = body.envelope(ctx_clients::lexicon());
        assert_eq!((body.spans().messages.len(), envelope.system.len()), (1, 1), "{name}");
        assert_eq!(envelope.model.as_deref(), Some("gemini-3-pro"));
    }
}

#[test]
fn refusals_and_blocks_are_read() {
    let error = r#"{"error":{"code":400,"message":"Invalid thought signature.","status":"INVALID_ARGUMENT"}}"#;
    for body in [error.to_owned(), format!("[{error}]")] {
        let read = tapped(400, "application/json", &body).error.expect("an error");
        assert_eq!((read.kind.as_deref(), read.code.as_deref()), (Some("INVALID_ARGUMENT"), Some("400")), "{body}");
        assert_eq!(read.message, "Invalid thought signature.");
    }
    let blocked = tapped(200, "application/json", r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#);
    assert_eq!((blocked.stop_reason.as_deref(), blocked.reply), (Some("SAFETY"), Vec::new()));
    assert!(Gemini.is_unbound(400, error.as_bytes()) && !Gemini.is_unbound(400, b"{\"error\":{}}"));
}

#[test]
fn a_request_goes_again_without_the_signatures_that_were_refused() {
    let call = |path: &str| json!({"functionCall": {"name": "read", "args": {"path": path}}, "thoughtSignature": "s"});
    let result = json!({"functionResponse": {"name": "read", "response": {}}});
    let body = json!({"contents": [
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [call("a")]}, {"role": "user", "parts": [result]},
        {"role": "user", "parts": [{"text": "more"}]},
        {"role": "model", "parts": [call("b")]}, {"role": "user", "parts": [result]},
    ]});
    let body = Body::parse(body.to_string().into_bytes(), &Gemini).expect("a body");
    let again = Gemini.without_reasoning(&body).expect("another body");
    let sent: Value = serde_json::from_slice(&again).expect("JSON");
    assert_eq!(sent["contents"][1]["parts"][0].get("thoughtSignature"), None, "an old turn is not checked");
    assert_eq!(sent["contents"][4]["parts"][0]["thoughtSignature"], part::DUMMY);
    assert_eq!(
        Gemini.without_reasoning(
            &Body::parse(br#"{"contents":[{"parts":[{"text":"a"}]}]}"#.to_vec(), &Gemini).expect("a body")
        ),
        None
    );
}

#[test]
fn an_error_of_ours_has_the_providers_shape() {
    let error = LocalError { kind: "api_error", code: "withheld", message: "not sent" };
    let body: Value = serde_json::from_str(&Gemini.error_body(503, &error)).expect("JSON");
    assert_eq!((&body["error"]["code"], &body["error"]["status"]), (&json!(503), &json!("UNAVAILABLE")));
    assert_eq!(body["error"]["details"][0]["reason"], "withheld");

    let told = |target: &str| -> Value {
        serde_json::from_str(&crate::registry::error_body(target, 503, &error)).expect("JSON")
    };
    let stream = "/v1beta/models/gemini-3-pro:streamGenerateContent";
    assert_eq!(told(stream)[0]["error"]["code"], 503, "a list like the answer (G40)");
    assert_eq!(told(&format!("{stream}?key=a&alt=sse"))["error"]["code"], 503);
    assert_eq!(told("/v1beta/models/gemini-3-pro:generateContent")["error"]["code"], 503);
    let assist = told("/v1internal:streamGenerateContent?alt=sse");
    assert_eq!(
        assist["error"]["errors"],
        json!([{"message": "not sent", "domain": "global", "reason": "backendError"}])
    );
    assert!(body["error"].get("errors").is_none(), "only behind a login (G42)");
}
