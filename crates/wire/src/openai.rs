//! Code shared by OpenAI's two wires.

use crate::wire::LocalError;
use ctx_core::content::Origin;
use serde_json::json;

/// The origin of an image: a data URL contains it, any other URL names it.
pub(crate) fn origin(url: &str) -> Origin {
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match data {
        Some((media, data)) => Origin::Base64 { media: media.to_owned(), data: data.to_owned() },
        None => Origin::Url(url.to_owned()),
    }
}

pub(crate) fn error_body(status: u16, error: &LocalError<'_>) -> String {
    let kind = if status >= 500 { "server_error" } else { "invalid_request_error" };
    let error = json!({ "message": error.message, "type": kind, "param": null, "code": error.code });
    json!({ "error": error }).to_string()
}
