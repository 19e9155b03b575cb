//! Compares our provider with the reference implementation in Python: the same requests to both, and everything that a
//! client can see must be equal, except inherently unique values (ids, signatures, times). Conversations continue with
//! each server's own answers.
//!
//! The reference and the corpus are next to the project; without them, the tests say so and compare nothing, and in CI
//! a missing interpreter is an error.

mod compare;
mod conversations;
mod mutations;
mod reference;
mod twins;
mod violations;

use reference::Flags;
use serde_json::{Value, json};
use testkit::Random;
use twins::{Pair, Twins};

fn question(text: &str) -> Value {
    json!({
        "model": "claude-opus-fake", "max_tokens": 4096,
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": text}],
    })
}

#[tokio::test]
async fn the_plain_endpoints_answer_alike() {
    let Some(mut pair) = Pair::start(Flags::default()).await else {
        return;
    };
    for (method, target, body) in [
        ("GET", "/", ""),
        ("HEAD", "/", ""),
        ("HEAD", "/api/hello", ""),
        ("GET", "/api/hello?x=1", ""),
        ("POST", "/api/hello", "{}"),
        ("GET", "/v1/models", ""),
        ("GET", "/v1/models?limit=1000", ""),
        ("GET", "/v1/models/claude-any", ""),
        ("GET", "/nowhere", ""),
        ("DELETE", "/v1/messages", ""),
        ("POST", "/v1/messages", ""),
        ("POST", "/v1/messages", "not json"),
        ("POST", "/v1/messages", "[1]"),
        ("POST", "/v1/messages", r#"{"model":"m"}"#),
        ("POST", "/v1/messages", r#"{"messages":"x"}"#),
        ("POST", "/v1/messages/count_tokens", ""),
        ("POST", "/v1/messages/count_tokens", "{}"),
        ("POST", "/v1/messages/count_tokens?beta=true", r#"{"é":[1.0,1e30,1E-7,"\u00e9\n"]}"#),
        ("GET", "/_fake/nowhere", ""),
        ("GET", "/_fake/requests/999", ""),
    ] {
        let label = format!("{method} {target} {body}");
        pair.bytes(&label, method, target, &[], body.as_bytes()).await;
    }
    pair.records("/_fake/requests").await;
    pair.finish(20);
}

#[tokio::test]
async fn unknown_paths_can_be_accepted_alike() {
    let flags = Flags { unknown_ok: true, ..Flags::default() };
    let Some(mut pair) = Pair::start(flags).await else {
        return;
    };
    pair.bytes("unknown", "POST", "/v1/any", &[], b"{}").await;
    pair.bytes("unknown", "GET", "/x?y", &[], b"").await;
    pair.finish(2);
}

#[tokio::test]
async fn every_directive_is_obeyed_alike() {
    let Some(mut pair) = Pair::start(Flags::default()).await else {
        return;
    };
    for prompt in conversations::PROMPTS {
        for stream in [true, false] {
            let mut body = question(prompt);
            body["stream"] = stream.into();
            let twins = Twins::both(body);
            // Several attempts: some directives fail only the first times.
            for attempt in 0..4 {
                let label = format!("{prompt:?} stream {stream} attempt {attempt}");
                pair.send(&label, &twins).await;
            }
        }
    }
    for (label, body) in conversations::side_requests() {
        pair.send(&label, &Twins::both(body)).await;
    }
    pair.finish(250);
}

#[tokio::test]
async fn enqueued_answers_are_given_alike() {
    let Some(mut pair) = Pair::start(Flags::default()).await else {
        return;
    };
    for answer in [
        json!({"blocks": [{"type": "text", "text": "one"}], "match": "needle"}),
        json!({"status": 503, "message": "gone", "match": "nowhere"}),
        json!({"blocks": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "text", "text": "two", "citations": []},
            {"type": "tool_use", "id": "toolu_1", "name": "X", "input": {"é": [1, 2.5]}},
        ], "stop_reason": "max_tokens"}),
        json!({"blocks": []}),
        json!({"status": 418}),
        json!({}),
    ] {
        let body = answer.to_string();
        let target = "/_fake/enqueue";
        pair.bytes("enqueue", "POST", target, &[], body.as_bytes()).await;
    }
    for text in ["plain", "needle", "SAY:x", "four", "five", "six", "seven"] {
        let mut body = question(text);
        body["stream"] = (text.len() % 2 == 0).into();
        pair.send(text, &Twins::both(body)).await;
    }
    pair.records("/_fake/requests").await;
    pair.bytes("reset", "POST", "/_fake/reset", &[], b"").await;
    pair.send("after a reset", &Twins::both(question("hello"))).await;
    pair.records("/_fake/requests").await;
    pair.finish(17);
}

#[tokio::test]
async fn compressed_answers_say_the_same() {
    let flags = Flags { gzip: true, retry_after: 9, header: Some("x-more: yes"), ..Flags::default() };
    let Some(mut pair) = Pair::start(flags).await else {
        return;
    };
    let accept = [("Accept-Encoding".to_owned(), "gzip, br".to_owned())];
    for stream in [true, false] {
        for prompt in ["SAY:hello;;BIG:5000", "FAIL:429", "FAIL:529", "FAIL:500", "MIDERR:api_error"] {
            let mut body = question(prompt);
            body["stream"] = stream.into();
            let body = body.to_string();
            for headers in [&accept[..], &[]] {
                let target = "/v1/messages?beta=true";
                pair.bytes(prompt, "POST", target, headers, body.as_bytes()).await;
            }
        }
    }
    pair.finish(20);
}

#[tokio::test]
async fn every_rule_refuses_alike() {
    let Some(mut pair) = Pair::start(Flags::strict()).await else {
        return;
    };
    let loops = conversations::tool_loop(&mut pair).await;
    pair.expect("the untouched loop", &loops, "").await;
    for violation in violations::all() {
        let mut twins = loops.clone();
        twins.edit(violation.edit);
        twins.headers = violation.headers();
        pair.expect(violation.name, &twins, violation.refusal).await;
    }
    pair.finish(75);
}

#[tokio::test]
async fn long_sessions_with_thinking_and_marks_go_alike() {
    let Some(mut pair) = Pair::start(Flags::strict()).await else {
        return;
    };
    for seed in 0..8 {
        conversations::session(&mut pair, seed).await;
    }
    pair.finish(80);
}

#[tokio::test]
async fn random_changes_to_real_conversations_are_judged_alike() {
    let Some(mut pair) = Pair::start(Flags::strict()).await else {
        return;
    };
    let mut bases = vec![conversations::tool_loop(&mut pair).await];
    bases.extend(conversations::built());
    bases.extend(conversations::corpus());
    let mut random = Random::new(20_261_115);
    for round in 0..400 {
        let Some(base) = random.pick(&bases) else {
            break;
        };
        let mut twins = base.clone();
        let changes = random.between(0, 4);
        let seed = random.number();
        twins.edit(|body| mutations::mutate(body, &mut Random::new(seed), changes));
        if random.chance(50) {
            twins.headers = vec![("anthropic-beta".to_owned(), violations::BETA.to_owned())];
        }
        pair.send_leniently(&format!("round {round}, seed {seed}"), &twins).await;
    }
    pair.finish_mixed(380, 60);
}

#[tokio::test]
async fn lenient_servers_take_anything_alike() {
    let Some(mut pair) = Pair::start(Flags::default()).await else {
        return;
    };
    let bases: Vec<Twins> = conversations::built().into_iter().chain(conversations::corpus()).collect();
    let mut random = Random::new(7);
    for round in 0..80 {
        let Some(base) = random.pick(&bases) else {
            break;
        };
        let mut twins = base.clone();
        let seed = random.number();
        twins.edit(|body| mutations::mutate(body, &mut Random::new(seed), 3));
        pair.send_leniently(&format!("round {round}, seed {seed}"), &twins).await;
    }
    pair.finish(70);
}
