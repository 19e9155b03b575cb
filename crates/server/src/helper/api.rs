//! Calls the helper model over HTTP. Keys go into headers that no `Debug` prints.

use bytes::Bytes;
use ctx_wire::question::{Question, QuestionAnswer, Questions};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{StatusCode, Uri};
use serde_json::Value;

use super::Trouble;
use crate::proxy::Target;
use crate::proxy::call::{self, CallError};
use crate::secret::Secret;

/// A meaningful response is never longer.
const LONGEST: usize = 1024 * 1024;

pub(super) async fn ask(
    questions: &dyn Questions,
    target: &Target,
    key: Option<&Secret>,
    question: &Question<'_>,
) -> Result<QuestionAnswer, Trouble> {
    let call = questions.ask(question);
    let mut headers = common();
    for (name, value) in call.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(key) = key {
        let (name, before) = call.key;
        headers.insert(HeaderName::from_static(name), secret(&format!("{before}{}", key.expose_secret()))?);
    }
    let answer = post(target, call.path, headers, &call.body).await?;
    questions.answer(&answer).ok_or(Trouble::Nonsense("it has no content"))
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
