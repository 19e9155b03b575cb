//! Calls the helper model over HTTP in two formats: the request, and the text in the response. Keys go into headers
//! that no `Debug` prints.

use bytes::Bytes;
use ctx_engine::helper::Prompt;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{StatusCode, Uri};
use serde_json::{Value, json};

use super::{HelperReply, Trouble};
use crate::proxy::Target;
use crate::proxy::call::{self, CallError};
use crate::secret::Secret;

/// A meaningful response is never longer.
const LONGEST: usize = 1024 * 1024;
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

pub(super) async fn anthropic(
    target: &Target,
    key: &Secret,
    model: &str,
    prompt: &Prompt,
) -> Result<HelperReply, Trouble> {
    let mut headers = common();
    headers.insert(X_API_KEY, secret(key.expose_secret())?);
    headers.insert(ANTHROPIC_VERSION, HeaderValue::from_static("2023-06-01"));
    let body = json!({
        "model": model,
        "max_tokens": prompt.max_tokens,
        "system": prompt.system,
        "messages": [{"role": "user", "content": prompt.user}],
    });
    let answer = post(target, "/v1/messages", headers, &body).await?;
    let blocks = answer["content"].as_array().ok_or(Trouble::Nonsense("it has no content"))?;
    let texts = blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
    let usage = &answer["usage"];
    let counts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    let tokens = usage.is_object().then(|| counts.iter().filter_map(|name| usage[*name].as_u64()).sum());
    Ok(HelperReply { text: texts.collect(), tokens })
}

pub(super) async fn openai(
    target: &Target,
    key: Option<&Secret>,
    model: &str,
    prompt: &Prompt,
) -> Result<HelperReply, Trouble> {
    let mut headers = common();
    if let Some(key) = key {
        headers.insert(header::AUTHORIZATION, secret(&format!("Bearer {}", key.expose_secret()))?);
    }
    let body = json!({
        "model": model,
        "max_tokens": prompt.max_tokens,
        "stream": false,
        "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
    });
    let answer = post(target, "/v1/chat/completions", headers, &body).await?;
    let text = answer["choices"][0]["message"]["content"].as_str().ok_or(Trouble::Nonsense("it has no content"))?;
    // Models that think aloud put the text after that.
    let text = text.rsplit_once("</think>").map_or(text, |(_, words)| words);
    Ok(HelperReply { text: text.to_owned(), tokens: answer["usage"]["total_tokens"].as_u64() })
}

async fn post(target: &Target, path: &str, headers: HeaderMap, body: &Value) -> Result<Value, Trouble> {
    // Addresses come with and without the version.
    let path = if target.base_path().ends_with("/v1") { path.trim_start_matches("/v1") } else { path };
    let credentials = crate::secret::credentials(&Uri::default(), &headers);
    let (status, body) = call::post(target, path, headers, Bytes::from(body.to_string()), LONGEST).await?;
    let answer: Option<Value> = serde_json::from_slice(&body).ok();
    if status.is_success() {
        return answer.ok_or(Trouble::Nonsense("it is not JSON"));
    }
    let said = answer.as_ref().and_then(|answer| answer["error"]["message"].as_str());
    // Foreign text: one line suffices, without the key that it may repeat.
    let said = said.map(|said| credentials.hide(said).chars().filter(|c| !c.is_control()).take(200).collect());
    Err(Trouble::Refused { status, said })
}

fn common() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("ctx/", env!("CARGO_PKG_VERSION"))));
    headers
}

fn secret(text: &str) -> Result<HeaderValue, Trouble> {
    let mut value = HeaderValue::from_str(text).map_err(|_| Trouble::Settings {
        what: "The helper model's key contains invalid characters.".to_owned(),
        hint: "Check the variable that `key_env` names.".into(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Unreachable(why) => Trouble::Down(why),
            CallError::Broken(why) => Trouble::Down(format!("it broke off ({why})")),
            CallError::TooLong(_) => Trouble::Nonsense("it is too long"),
        }
    }
}

/// Whether a retry may succeed.
pub(super) fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}
