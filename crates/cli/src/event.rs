//! Formats events for the timeline and the live view.

use ctx_api::requests::AnswerError;
use ctx_api::timeline::{ProviderEdit, What};
use ctx_wire::rules;

use crate::output::words;

/// The name of a request, or of the request of a response: `r17`.
pub fn request_name(number: u32) -> String {
    format!("r{number}")
}

/// Events other than requests and responses.
pub fn aside(what: &What) -> Option<String> {
    Some(match what {
        What::Commit { id, author, summary, tokens_before, tokens_after, .. } => {
            let (before, after) = (words::count(*tokens_before), words::count(*tokens_after));
            format!("{id} by {author}: {} ({before} → {after} tokens)", words::grouped(summary))
        }
        What::Line { line } => {
            let (action, name) = line.action();
            format!("{action} {name}")
        }
        What::Waiting { id, state, .. } => format!("{id} {state} {}", waiting(what)).trim_end().to_owned(),
        What::Phase { name, ended, author } => {
            format!("the phase {name} {}, by {author}", if *ended { "ends" } else { "begins" })
        }
        What::Noted { summary, .. } => format!("would have been cleared: {}", words::grouped(summary)),
        What::Signal(told) => {
            let (tokens, window) = (words::count(told.figures.tokens), words::count(told.figures.window));
            format!("{}: {tokens} of {window} tokens", told.signal.name())
        }
        What::Refused { edits, words, model, .. } => {
            format!("{} is no longer requested from {model}: the provider refused it: {words}", edits.join(", "))
        }
        What::Access(told) => {
            let with = told.with.as_ref().map(|with| format!(" with {with}")).unwrap_or_default();
            let reason = told.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{}{with} by {}{reason}", told.action.name(), told.by)
        }
        What::Recovery => "the provider refused thinking; from now on it drops invalid thinking".to_owned(),
        What::Opened { .. } | What::Request { .. } | What::Answer { .. } | What::Unknown => return None,
    })
}

/// The outcome of a deferred edit.
fn waiting(what: &What) -> String {
    let What::Waiting { state, when, author, summary, commit, failure, .. } = what else { return String::new() };
    match state.as_str() {
        "waiting" => format!(
            "until {}, by {}: {}",
            when.map(|when| when.name()).unwrap_or_default(),
            author.as_deref().unwrap_or_default(),
            words::grouped(summary.as_deref().unwrap_or_default())
        ),
        "made" => format!("as {}", commit.map(|commit| commit.to_string()).unwrap_or_default()),
        _ => failure.as_ref().map(|failure| failure.message.clone()).unwrap_or_default(),
    }
}

/// The HTTP status; none without a response.
pub fn status_in_words(answer: &What) -> String {
    match answer {
        What::Answer { status, .. } if *status != 0 => status.to_string(),
        _ => "none".to_owned(),
    }
}

pub fn is_failure(answer: &What) -> bool {
    let What::Answer { status, ending, error, .. } = answer else { return false };
    error.is_some() || !(200..400).contains(status) || ending != "complete"
}

/// The ending of a response if it is unusual, otherwise the stop reason.
pub fn ending_in_words(answer: &What) -> String {
    match answer {
        What::Answer { ending, stop_reason, .. } if ending == "complete" => stop_reason.clone().unwrap_or_default(),
        What::Answer { ending, .. } => ending.clone(),
        _ => String::new(),
    }
}

/// Notable facts about a response: errors, the provider's own edits, anomalies.
pub fn remarks(answer: &What) -> Vec<String> {
    let What::Answer {
        error, applied_edits, compacted, transformations, repairs, cache_miss_reason, undecodable, ..
    } = answer
    else {
        return Vec::new();
    };
    let mut remarks = Vec::new();
    remarks.extend(error.as_ref().map(|AnswerError { kind, message }| format!("error {kind}: {message}")));
    remarks.extend(applied_edits.iter().map(edit_in_words));
    if *compacted {
        remarks.push("the provider summarised earlier content".to_owned());
    }
    if !transformations.is_empty() {
        let transformations = words::plural(transformations.len() as u64, "transformation");
        remarks.push(format!("the provider made {transformations}"));
    }
    let mut rules: Vec<&str> = repairs.iter().map(|(rule, _)| rule.as_str()).collect();
    rules.dedup();
    if !rules.is_empty() {
        let rules: Vec<String> = rules.into_iter().map(rules::named).collect();
        remarks.push(format!("repaired by rule {}", rules.join(", ")));
    }
    remarks.extend(cache_miss_reason.as_ref().map(|reason| format!("cache missed: {reason}")));
    remarks.extend(undecodable.as_ref().map(|why| format!("the response could not be parsed: {why}")));
    remarks
}

/// The content that the provider cleared, its size and its place.
fn edit_in_words(edit: &ProviderEdit) -> String {
    let count = |count: Option<u64>| count.filter(|count| *count > 0);
    let mut parts = Vec::new();
    parts.extend(count(edit.cleared_tool_uses).map(|results| words::plural(results, "tool result")));
    parts.extend(
        count(edit.cleared_thinking_turns).map(|turns| format!("the thinking of {}", words::plural(turns, "turn"))),
    );
    parts.extend(count(edit.cleared_input_tokens).map(|tokens| format!("{} tokens", words::count(tokens))));
    if parts.is_empty() {
        return "the provider made 1 edit".to_owned();
    }
    let place = match (&edit.first, &edit.last) {
        (Some(first), Some(last)) if first == last => format!(", in {first}"),
        (Some(first), Some(last)) => format!(", from {first} to {last}"),
        _ => String::new(),
    };
    format!("the provider cleared {}{place}", parts.join(", "))
}

#[cfg(test)]
pub mod tests {
    use ctx_api::timeline::Event;
    use serde_json::{Value, json};

    use super::*;

    /// An event with these fields and defaults for the others.
    pub fn event(given: &str) -> Event {
        let given: Value = serde_json::from_str(given).expect("JSON");
        let mut event = match given["kind"].as_str() {
            Some("request") => {
                json!({"request": 1, "class": "main", "verdict": "next", "known": 0, "new": 0, "changed": 0, "bytes": 0})
            }
            Some("answer") => json!({"request": 1, "status": 200, "ending": "complete", "applied_edits": [],
                "transformations": [], "repairs": [], "total_ms": 0}),
            Some("commit") => json!({"change": "edit", "operations": [], "reasons": [], "reverts": []}),
            _ => json!({}),
        };
        let fields = [json!({"seq": 1, "at": 0, "conversation": "c1"}), given];
        for (name, value) in fields.iter().filter_map(Value::as_object).flatten() {
            event[name] = value.clone();
        }
        serde_json::from_value(event).expect("an event")
    }

    #[test]
    fn errors_and_the_providers_edits_are_told() {
        let remark = |json: &str| remarks(&event(json).what).join("|");
        assert_eq!(
            remark(r#"{"kind":"answer","error":{"kind":"overloaded_error","message":"Overloaded"}}"#),
            "error overloaded_error: Overloaded"
        );
        assert_eq!(
            remark(r#"{"kind":"answer","error":null,"applied_edits":[{}],"new_field":{}}"#),
            "the provider made 1 edit"
        );
        let edits = r#"[{"cleared_tool_uses":12,"cleared_input_tokens":34000,"first":"t1/2","last":"t3/1"},{"cleared_thinking_turns":1}]"#;
        assert_eq!(
            remark(&format!(r#"{{"kind":"answer","applied_edits":{edits}}}"#)),
            "the provider cleared 12 tool results, 34,000 tokens, from t1/2 to t3/1|the provider cleared the thinking of 1 turn"
        );
    }

    #[test]
    fn what_happens_beside_requests_is_told() {
        let aside = |json: &str| aside(&event(json).what).unwrap_or_default();
        assert_eq!(aside(r#"{"kind":"line","line":{"branch":{"name":"trial","at":null}}}"#), "branch trial");
        assert!(aside(r#"{"kind":"recovery"}"#).contains("thinking"));
        let commit = r#"{"kind":"commit","id":"00000000a1","author":"cli","summary":"delete t1, 12345 tokens less",
            "tokens_before":20000,"tokens_after":7655}"#;
        assert_eq!(aside(commit), "00000000a1 by cli: delete t1, 12,345 tokens less (20,000 → 7,655 tokens)");
        assert_eq!(aside(r#"{"kind":"request"}"#), "");
        assert_eq!(aside(r#"{"kind":"of a newer daemon"}"#), "");
        let waits = r#"{"kind":"waiting","id":"w1","state":"waiting","when":"cold","author":"cli","summary":"delete t1, 1200 tokens less"}"#;
        assert_eq!(aside(waits), "w1 waiting until cold, by cli: delete t1, 1,200 tokens less");
        assert_eq!(
            aside(r#"{"kind":"waiting","id":"w1","state":"made","commit":"0123456789"}"#),
            "w1 made as 0123456789"
        );
        let failed = r#"{"kind":"waiting","id":"w1","state":"failed","failure":{"code":"gone","message":"t1 is gone.","hint":""}}"#;
        assert_eq!(aside(failed), "w1 failed t1 is gone.");
        assert_eq!(aside(r#"{"kind":"waiting","id":"w1","state":"cancelled","author":"cli"}"#), "w1 cancelled");
        let repaired = event(r#"{"kind":"answer","repairs":[["A30","x"],["A30","y"],["A41","z"]]}"#);
        assert_eq!(
            remarks(&repaired.what),
            ["repaired by rule A30 (every tool call has its result), A41 (a running server tool stays defined)"]
        );
    }

    #[test]
    fn a_cut_or_unanswered_exchange_is_a_failure() {
        let is_failure = |json: &str| is_failure(&event(json).what);
        assert!(!is_failure(r#"{"kind":"answer","status":200,"ending":"complete"}"#));
        assert!(is_failure(r#"{"kind":"answer","status":200,"ending":"cut"}"#));
        assert!(is_failure(r#"{"kind":"answer","status":529,"ending":"complete"}"#));
        assert!(is_failure(r#"{"kind":"answer","status":0,"ending":"unreachable"}"#));
    }
}
