//! Bounds the memory for bodies. A parsed value takes far more memory than its text: a body full of tiny values would take
//! gigabytes.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ctx_core::ErrorCode;
use http::{StatusCode, header};

use super::LARGEST_BODY;
use super::read::too_large;
use super::transfer::IMPORT;
use crate::local::ControlError;
use crate::proxy::EarlyEnd;

/// The most values in a body. Edits of whole conversations have a tenth of it.
const MOST_VALUES: usize = 500_000;

/// Refuses bodies with too many values before they are parsed. An imported file has its own limit and is read line by
/// line, whatever its type is called.
pub async fn bounded(request: Request, next: Next) -> Response {
    let media = request.headers().get(header::CONTENT_TYPE).map(|media| media.as_bytes());
    let is_json = media.is_some_and(|media| media.starts_with(b"application/json"));
    if !is_json || request.uri().path() == IMPORT {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let body = match to_bytes(body, LARGEST_BODY).await {
        Ok(body) => body,
        Err(error) if ended_early(&error) => {
            return ControlError {
                status: StatusCode::REQUEST_TIMEOUT,
                ..ControlError::new(
                    ErrorCode::RequestStalled,
                    "The request body stalled, or ended early.",
                    "Send it again.",
                )
            }
            .into_response();
        }
        Err(_) => return too_large().into_response(),
    };
    if has_more_values(&body, MOST_VALUES) {
        return ControlError::new(
            ErrorCode::TooLarge,
            format!("The request has more than {MOST_VALUES} values."),
            "Split it into several requests, or write what it lists as text.",
        )
        .into_response();
    }
    next.run(Request::from_parts(head, Body::from(body))).await
}

fn ended_early(error: &axum::Error) -> bool {
    let error: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(error), |error| error.source()).any(|error| error.is::<EarlyEnd>())
}

/// Counts without parsing: each value but the first follows a comma, a colon or a bracket.
fn has_more_values(json: &[u8], most: usize) -> bool {
    // A value takes at least one byte, and its separator another.
    if json.len() / 2 <= most {
        return false;
    }
    let (mut count, mut in_string, mut is_escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' | b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count > most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_texts() {
        let has_more = |json: &str| has_more_values(json.as_bytes(), 4);
        assert!(has_more("[1,2,3,4,5]") && has_more("[[],[],[],[]]") && has_more(r#"{"a":[1,2,3]}"#));
        assert!(!has_more(r#"["a,b,[c],{d}","\",[,:\\"]"#) && !has_more("[1,2]"));
    }
}
