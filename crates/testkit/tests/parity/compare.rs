//! The visible parts of a response, without inherently unique values.

use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read;
use testkit::client::Response;

/// A comparable response, line by line: status, ending, headers in order, and the body as JSON or as the sequence of
/// its events, including key order.
pub fn seen(response: &Response) -> Vec<String> {
    let compressed = response.header("content-encoding").is_some();
    let mut lines = vec![format!("status {}, {:?}", response.status, response.ending)];
    lines.extend(response.headers.iter().map(|(name, value)| {
        let unique = name == "request-id" || (compressed && name == "content-length");
        format!("{name}: {}", if unique { "..." } else { value })
    }));
    lines.extend(body(response));
    lines
}

/// The first lines that differ.
pub fn difference(ours: &[String], theirs: &[String]) -> Option<String> {
    let longest = ours.len().max(theirs.len());
    let at = (0..longest).find(|at| ours.get(*at) != theirs.get(*at))?;
    Some(format!("\n   ours: {:?}\n theirs: {:?}", ours.get(at), theirs.get(at)))
}

fn body(response: &Response) -> Vec<String> {
    let plain = plain(response);
    let streamed = response.header("content-type") != Some("application/json");
    if !streamed {
        return vec![normal_text(&plain)];
    }
    let event = |event: &str| match event.split_once("\ndata: ") {
        Some((name, data)) => format!("{name} | {}", normal_text(data)),
        None => event.to_owned(),
    };
    plain.split("\n\n").map(event).collect()
}

/// The body without its coding.
pub fn plain(response: &Response) -> String {
    if response.header("content-encoding") == Some("gzip") {
        let mut plain = String::new();
        let decoded = GzDecoder::new(&response.body[..]).read_to_string(&mut plain);
        decoded.expect("gzip");
        return plain;
    }
    String::from_utf8(response.body.to_vec()).expect("text")
}

/// The content blocks of an answer, streamed or not.
pub fn content(response: &Response) -> Vec<Value> {
    let plain = plain(response);
    if let Ok(message) = serde_json::from_str::<Value>(&plain) {
        let content = message["content"].as_array();
        return content.cloned().unwrap_or_default();
    }
    let mut blocks: Vec<Value> = Vec::new();
    let mut inputs = String::new();
    for data in plain.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(data).expect("JSON");
        if event["type"] == "content_block_start" {
            blocks.push(event["content_block"].clone());
            inputs.clear();
        }
        let Some(block) = blocks.last_mut() else {
            continue;
        };
        let delta = &event["delta"];
        for key in ["text", "thinking", "signature"] {
            if let (Some(more), Some(before)) = (delta[key].as_str(), block[key].as_str()) {
                block[key] = format!("{before}{more}").into();
            }
        }
        inputs.push_str(delta["partial_json"].as_str().unwrap_or_default());
        if event["type"] == "content_block_stop" && !inputs.is_empty() {
            block["input"] = serde_json::from_str(&inputs).expect("JSON");
            inputs.clear();
        }
    }
    blocks
}

fn normal_text(json: &str) -> String {
    match serde_json::from_str(json) {
        Ok(value) => normal(value).to_string(),
        Err(_) => json.to_owned(),
    }
}

/// Ids and signatures are reduced to their length; times are removed.
fn normal(value: Value) -> Value {
    match value {
        Value::String(text) => without_ids(&text).into(),
        Value::Array(items) => items.into_iter().map(normal).collect(),
        Value::Object(fields) => {
            let field = |(key, value): (String, Value)| {
                let value = match (key.as_str(), value) {
                    ("signature" | "data", Value::String(made)) if made.len() > 16 => {
                        format!("signature of {}", made.len()).into()
                    }
                    ("t", Value::Number(_)) => "time".into(),
                    (_, value) => normal(value),
                };
                (key, value)
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        plain => plain,
    }
}

fn without_ids(text: &str) -> String {
    let mut normal = text.to_owned();
    for prefix in ["toolu_fake", "msg_fake"] {
        let mut parts = normal.split(prefix);
        let mut joined = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let rest = part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit());
            joined.push_str(&format!("<{prefix} {}>", part.len() - rest.len()));
            joined.push_str(rest);
        }
        normal = joined;
    }
    normal
}
