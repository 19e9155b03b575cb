//! The Responses API over a WebSocket (R52–R57): a request is a message of type `response.create`, and each event of
//! the answer is a message.

use super::Responses;
use crate::body::Body;
use crate::compose::spell::{cut, spliced};
use crate::json::{Member, key_is};
use crate::openai;
use crate::socket::{Socket, SocketEvent, SocketMessage, SocketRequest};
use crate::tap::fields::{count, pick, text};
use crate::wire::LocalError;
use serde_json::{Value, json};

impl Socket for Responses {
    fn message<'m>(&self, message: &'m str) -> SocketMessage<'m> {
        let names = ["type", "previous_response_id", "generate", "stream_id", "client_metadata"];
        let Some([kind, previous, generate, stream, metadata]) = pick(message, names) else {
            return SocketMessage::Unreadable;
        };
        if kind.and_then(text).as_deref() != Some("response.create") {
            return SocketMessage::Other;
        }
        let metadata = metadata.and_then(|metadata| serde_json::from_str(metadata).ok());
        let headers = match metadata {
            Some(Value::Object(members)) => members
                .into_iter()
                .filter(|(name, _)| name.starts_with("x-"))
                .filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))
                .collect(),
            _ => Vec::new(),
        };
        SocketMessage::Request(SocketRequest {
            continues: previous.and_then(text),
            is_warm_up: generate == Some("false"),
            is_multiplexed: stream.is_some(),
            headers,
        })
    }

    fn event<'m>(&self, message: &'m str) -> SocketEvent<'m> {
        let names = ["type", "item", "response", "status", "stream_id"];
        let Some([kind, item, response, status, stream]) = pick(message, names) else { return SocketEvent::default() };
        let kind = kind.and_then(text).unwrap_or_default();
        let is_complete = matches!(kind.as_ref(), "response.completed" | "response.incomplete");
        let id = response.filter(|_| is_complete).and_then(|response| pick(response, ["id"]));
        SocketEvent {
            item: item.filter(|_| kind == "response.output_item.done"),
            is_last: is_complete || matches!(kind.as_ref(), "response.failed" | "error"),
            answer: id.and_then(|[id]| id).and_then(text),
            status: status.filter(|_| kind == "error").and_then(count).and_then(|status| status.try_into().ok()),
            is_multiplexed: stream.is_some(),
        }
    }

    fn items<'m>(&self, message: &'m str) -> Option<&'m str> {
        let [input] = pick(message, ["input"])?;
        match input {
            None => Some(""),
            Some(input) => input.strip_prefix('[')?.strip_suffix(']').map(str::trim),
        }
    }

    fn whole(&self, message: &str, before: &[&str]) -> Option<String> {
        let new = self.items(message)?;
        let body = Body::parse(message.as_bytes().to_vec(), &Responses).ok()?;
        let (bytes, spans) = (body.bytes(), body.spans());
        let is_previous = |member: &Member| key_is(&bytes[member.key.clone()], "previous_response_id");
        let wholes: Vec<_> = spans.members.iter().map(Member::whole).collect();
        let previous = spans.members.iter().position(is_previous).map(|at| (cut(&wholes, at), Vec::new()));
        let items: Vec<&str> = before.iter().copied().chain([new]).filter(|items| !items.is_empty()).collect();
        let input = (spans.array.clone(), format!("[{}]", items.join(",")).into_bytes());
        String::from_utf8(spliced(bytes, previous.into_iter().chain([input]).collect())).ok()
    }

    fn unknown_history(&self, id: &str) -> String {
        let message = format!("Previous response with id '{id}' not found.");
        let error = json!({ "type": "invalid_request_error", "code": "previous_response_not_found", "message": message,
            "param": "previous_response_id" });
        json!({ "type": "error", "status": 400, "error": error }).to_string()
    }

    fn error(&self, status: u16, error: &LocalError<'_>) -> String {
        let body = openai::error_body(status, error);
        format!(r#"{{"type":"error","status":{status},{}"#, body.strip_prefix('{').unwrap_or("}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELTA: &str = r#"{"type":"response.create","previous_response_id":"resp_1", "model":"m","input":[{"role":"user","content":"more"}],"client_metadata":{"x-codex-turn-metadata":"{}","x-n":1,"session_id":"s"}}"#;

    #[test]
    fn only_a_create_message_is_a_request() {
        let SocketMessage::Request(request) = Responses.message(DELTA) else { panic!("no request") };
        assert_eq!(request.continues.as_deref(), Some("resp_1"));
        assert_eq!(request.headers, [("x-codex-turn-metadata".to_owned(), "{}".to_owned())]);
        assert!(!request.is_warm_up && !request.is_multiplexed);
        let warm = Responses.message(r#"{"type":"response.create","generate":false,"stream_id":"a","input":[]}"#);
        let SocketMessage::Request(warm) = warm else { panic!("no request") };
        assert!(warm.is_warm_up && warm.is_multiplexed && warm.continues.is_none());
        for other in [r#"{"type":"response.cancel"}"#, "{}"] {
            assert_eq!(Responses.message(other), SocketMessage::Other, "{other}");
        }
        for other in ["no JSON", r#"["response.create"]"#, r#"{"type":"response.create""#] {
            assert_eq!(Responses.message(other), SocketMessage::Unreadable, "{other}");
        }
    }

    #[test]
    fn a_message_is_completed_with_the_history_that_it_continues() {
        let whole = Responses.whole(DELTA, &["", r#"{"role":"user","content":"a"},{"type":"x"}"#, r#"{"type":"y"}"#]);
        let whole = whole.expect("a whole request");
        let read: Value = serde_json::from_str(&whole).expect("JSON");
        assert_eq!(read.get("previous_response_id"), None);
        assert_eq!(read["input"].as_array().map(Vec::len), Some(4));
        assert_eq!((&read["input"][3]["content"], &read["model"]), (&json!("more"), &json!("m")));
        let text = r#"{"type":"response.create","previous_response_id":"r","input":"more"}"#;
        assert_eq!(Responses.whole(text, &[]), None, "a bare text is not completed");
        let last = r#"{"type":"response.create","input":[],"previous_response_id":"r"}"#;
        let whole = Responses.whole(last, &[r#"{"type":"y"}"#]);
        assert_eq!(whole.as_deref(), Some(r#"{"type":"response.create","input":[{"type":"y"}]}"#));
    }

    #[test]
    fn events_tell_the_items_and_the_end() {
        let done = Responses.event(r#"{"type":"response.output_item.done","item":{"type":"message"}}"#);
        assert_eq!((done.item, done.is_last), (Some(r#"{"type":"message"}"#), false));
        let last = Responses.event(r#"{"type":"response.completed","response":{"id":"resp_2","output":[]}}"#);
        assert_eq!((last.is_last, last.answer.as_deref()), (true, Some("resp_2")));
        let failed = Responses.event(r#"{"type":"response.failed","response":{"id":"resp_2"}}"#);
        assert_eq!((failed.is_last, failed.answer), (true, None));
        let error = Responses.event(r#"{"type":"error","status":400,"error":{"code":"x"}}"#);
        assert_eq!((error.is_last, error.status), (true, Some(400)));
        assert!(!Responses.event(r#"{"type":"response.created","response":{"id":"r"}}"#).is_last);
    }

    #[test]
    fn errors_have_the_providers_form() {
        let error = LocalError { kind: "api_error", code: "store-unavailable", message: "no" };
        let read: Value = serde_json::from_str(&Responses.error(503, &error)).expect("JSON");
        assert_eq!((&read["type"], &read["status"]), (&json!("error"), &json!(503)));
        assert_eq!(read["error"]["code"], "store-unavailable");
        let unknown: Value = serde_json::from_str(&Responses.unknown_history("resp_9")).expect("JSON");
        assert_eq!(unknown["error"]["code"], "previous_response_not_found");
        assert_eq!(unknown["status"], 400);
    }
}
