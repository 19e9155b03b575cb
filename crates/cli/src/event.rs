//! What happened in a conversation, as the control API tells it, and the words that the timeline and the live
//! view share. Unknown kinds and fields are left alone.

use ctx_wire::rules;
use serde::Deserialize;
use serde_json::Value;

use crate::commit::Commit;
use crate::output::words;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Event {
    pub seq: u64,
    pub at: u64,
    pub kind: String,
    pub conversation: Option<String>,
    /// Which request: its own number, or that of the request an answer belongs to.
    pub request: Option<u64>,
    // Of a request.
    pub class: Option<String>,
    pub verdict: Option<String>,
    pub known: Option<u64>,
    pub new: Option<u64>,
    pub changed: Option<u64>,
    pub detail: Option<String>,
    pub model: Option<String>,
    pub bytes: Option<u64>,
    // Of a refusal of what was asked of the provider.
    pub edits: Option<Vec<String>>,
    pub words: Option<String>,
    // Of an answer.
    pub status: Option<u16>,
    pub stop_reason: Option<String>,
    pub usage: Option<Usage>,
    pub total_ms: Option<u64>,
    pub error: Option<Value>,
    pub applied_edits: Option<Vec<Value>>,
    pub compacted: Option<bool>,
    pub transformations: Option<Vec<Value>>,
    pub repairs: Option<Vec<Value>>,
    pub cache_miss_reason: Option<String>,
    pub ending: Option<String>,
    pub undecodable: Option<String>,
    // Of a beginning.
    pub parent: Option<String>,
    pub forked_from: Option<String>,
    pub client: Option<String>,
    /// Of a commit: what kind of change it is.
    pub change: Option<String>,
    #[serde(flatten)]
    pub commit: Commit,
    // Of a wish that waits.
    pub state: Option<String>,
    pub when: Option<String>,
    #[serde(rename = "commit")]
    pub made_as: Option<String>,
    pub failure: Option<Value>,
    // Of a signal.
    pub signal: Option<String>,
    pub tokens: Option<u64>,
    pub window: Option<u64>,
    // Of a phase.
    pub name: Option<String>,
    pub ended: Option<bool>,
    /// Of a move between branches.
    pub line: Option<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
}

impl Event {
    /// Of a request or its answer: `r17`.
    pub fn name_of_request(&self) -> Option<String> {
        self.request.map(|number| format!("r{number}"))
    }

    /// Does this answer belong to that request?
    pub fn answers(&self, request: &Event) -> bool {
        self.kind == "answer" && self.request.is_some_and(|number| number == request.request.unwrap_or(request.seq))
    }

    /// What happened beside requests and answers.
    pub fn aside(&self) -> Option<String> {
        let commit = &self.commit;
        match self.kind.as_str() {
            "commit" => {
                let summary = words::grouped(&commit.summary);
                Some(format!("{} by {}: {summary} ({} tokens)", commit.id, commit.author, commit.tokens()))
            }
            "line" => {
                let (action, what) = self.line.as_ref()?.as_object()?.iter().next()?;
                Some(format!("{action} {}", what["name"].as_str().unwrap_or_default()))
            }
            "waiting" => {
                let state = self.state.as_deref().unwrap_or_default();
                let why = self.failure.as_ref().and_then(|failure| failure["message"].as_str());
                let what = match state {
                    "waiting" => {
                        let when = self.when.as_deref().unwrap_or_default();
                        format!("until {when}, by {}: {}", commit.author, words::grouped(&commit.summary))
                    }
                    "made" => format!("as {}", self.made_as.as_deref().unwrap_or_default()),
                    _ => why.unwrap_or_default().to_owned(),
                };
                Some(format!("{} {state} {what}", commit.id).trim_end().to_owned())
            }
            "phase" => {
                let name = self.name.as_deref().unwrap_or_default();
                let what = if self.ended == Some(true) { "ends" } else { "begins" };
                Some(format!("the phase {name} {what}, by {}", commit.author))
            }
            "noted" => Some(format!("would have been cleared: {}", words::grouped(&commit.summary))),
            "signal" => {
                let figure = |figure: Option<u64>| words::count(figure.unwrap_or(0));
                let (name, tokens) = (self.signal.as_deref().unwrap_or_default(), figure(self.tokens));
                Some(format!("{name}: {tokens} of {} tokens", figure(self.window)))
            }
            "refused" => {
                let edits = self.edits.as_deref().unwrap_or_default().join(", ");
                let words = self.words.as_deref().unwrap_or_default();
                let model = self.model.as_deref().unwrap_or_default();
                Some(format!("{edits} is no longer requested from {model}: the provider refused it: {words}"))
            }
            "recovery" => {
                Some("the provider refused thinking; from now on it drops thinking that does not fit".to_owned())
            }
            _ => None,
        }
    }

    /// The status as people know it; an exchange without an answer has none.
    pub fn status_in_words(&self) -> String {
        match self.status {
            Some(0) | None => "none".to_owned(),
            Some(status) => status.to_string(),
        }
    }

    pub fn is_failure(&self) -> bool {
        self.error.as_ref().is_some_and(|error| !error.is_null())
            || !(200..400).contains(&self.status.unwrap_or(0))
            || self.ending.as_deref().is_some_and(|ending| ending != "complete")
    }

    /// How the answer ended, if not in the usual way; else why the model stopped.
    pub fn ending_in_words(&self) -> String {
        match self.ending.as_deref() {
            Some("complete") | None => self.stop_reason.clone().unwrap_or_default(),
            Some(ending) => ending.to_owned(),
        }
    }

    /// What else is worth a line: errors, the provider's own edits, anything odd.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(error) = self.error.as_ref().filter(|error| !error.is_null()) {
            remarks.push(format!("error {}", error_in_words(error)));
        }
        remarks.extend(self.applied_edits.iter().flatten().map(edit_in_words));
        if self.compacted == Some(true) {
            remarks.push("the provider wrote a summary of what came before".to_owned());
        }
        let transformations = self.transformations.as_ref().map_or(0, Vec::len) as u64;
        if transformations > 0 {
            remarks.push(format!("the provider made {}", words::plural(transformations, "transformation")));
        }
        let mut rules: Vec<&str> = self.repairs.iter().flatten().filter_map(|repair| repair[0].as_str()).collect();
        rules.dedup();
        if !rules.is_empty() {
            let rules: Vec<String> = rules.into_iter().map(rules::named).collect();
            remarks.push(format!("repaired by rule {}", rules.join(", ")));
        }
        remarks.extend(self.cache_miss_reason.as_ref().map(|reason| format!("cache missed: {reason}")));
        remarks.extend(self.undecodable.as_ref().map(|why| format!("the answer could not be read: {why}")));
        remarks
    }
}

/// What the provider cleared, how much, and where that must have been.
fn edit_in_words(edit: &Value) -> String {
    let count = |name: &str| edit[name].as_u64().filter(|count| *count > 0);
    let mut parts = Vec::new();
    parts.extend(count("cleared_tool_uses").map(|results| words::plural(results, "tool result")));
    parts.extend(
        count("cleared_thinking_turns").map(|turns| format!("the thinking of {}", words::plural(turns, "turn"))),
    );
    parts.extend(count("cleared_input_tokens").map(|tokens| format!("{} tokens", words::count(tokens))));
    if parts.is_empty() {
        return "the provider made 1 edit".to_owned();
    }
    let place = match (edit["first"].as_str(), edit["last"].as_str()) {
        (Some(first), Some(last)) if first == last => format!(", in {first}"),
        (Some(first), Some(last)) => format!(", from {first} to {last}"),
        _ => String::new(),
    };
    format!("the provider cleared {}{place}", parts.join(", "))
}

fn error_in_words(error: &Value) -> String {
    let part = |name: &str| error[name].as_str().unwrap_or_default();
    match (error.as_str(), part("kind"), part("message")) {
        (Some(text), _, _) => text.to_owned(),
        (None, "", "") => error.to_string(),
        (None, kind, message) => format!("{kind}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(json: &str) -> Event {
        serde_json::from_str(json).expect("an event")
    }

    #[test]
    fn an_answer_finds_its_request_by_number_or_by_sequence() {
        let answer = event(r#"{"kind":"answer","request":2}"#);
        assert!(answer.answers(&event(r#"{"kind":"request","request":2,"seq":9}"#)));
        assert!(answer.answers(&event(r#"{"kind":"request","seq":2}"#)));
        assert!(!answer.answers(&event(r#"{"kind":"request","request":3,"seq":2}"#)));
    }

    #[test]
    fn errors_are_told_whatever_their_shape() {
        let remark = |json: &str| event(json).remarks().join("|");
        assert_eq!(
            remark(r#"{"error":{"kind":"overloaded_error","message":"Overloaded"}}"#),
            "error overloaded_error: Overloaded"
        );
        assert_eq!(remark(r#"{"error":"cut"}"#), "error cut");
        assert_eq!(remark(r#"{"error":null,"applied_edits":[{}],"new_field":{}}"#), "the provider made 1 edit");
        let edits = r#"[{"cleared_tool_uses":12,"cleared_input_tokens":34000,"first":"t1/2","last":"t3/1"},{"cleared_thinking_turns":1}]"#;
        assert_eq!(
            remark(&format!(r#"{{"applied_edits":{edits}}}"#)),
            "the provider cleared 12 tool results, 34,000 tokens, from t1/2 to t3/1|the provider cleared the thinking of 1 turn"
        );
    }

    #[test]
    fn what_happens_beside_requests_is_told() {
        let aside = |json: &str| event(json).aside().unwrap_or_default();
        assert_eq!(aside(r#"{"kind":"line","line":{"branch":{"name":"trial","at":null}}}"#), "branch trial");
        assert!(aside(r#"{"kind":"recovery"}"#).contains("thinking"));
        let commit = r#"{"kind":"commit","id":"00000000a1","author":"cli","summary":"delete t1, 12345 tokens less",
            "tokens_before":20000,"tokens_after":7655}"#;
        assert_eq!(aside(commit), "00000000a1 by cli: delete t1, 12,345 tokens less (20,000 → 7,655 tokens)");
        assert_eq!(aside(r#"{"kind":"request"}"#), "");
        let waits = r#"{"kind":"waiting","id":"w1","state":"waiting","when":"cold","author":"cli","summary":"delete t1, 1200 tokens less"}"#;
        assert_eq!(aside(waits), "w1 waiting until cold, by cli: delete t1, 1,200 tokens less");
        assert_eq!(
            aside(r#"{"kind":"waiting","id":"w1","state":"made","commit":"0123456789"}"#),
            "w1 made as 0123456789"
        );
        let failed = r#"{"kind":"waiting","id":"w1","state":"failed","failure":{"message":"t1 is gone."}}"#;
        assert_eq!(aside(failed), "w1 failed t1 is gone.");
        assert_eq!(aside(r#"{"kind":"waiting","id":"w1","state":"cancelled","author":"cli"}"#), "w1 cancelled");
        let repaired = event(r#"{"kind":"answer","repairs":[["A30","x"],["A30","y"],["A41","z"]]}"#);
        assert_eq!(
            repaired.remarks(),
            ["repaired by rule A30 (every tool call has its result), A41 (a running server tool stays defined)"]
        );
    }

    #[test]
    fn a_cut_or_unanswered_exchange_is_a_failure() {
        assert!(!event(r#"{"status":200,"ending":"complete"}"#).is_failure());
        assert!(event(r#"{"status":200,"ending":"cut"}"#).is_failure());
        assert!(event(r#"{"status":529,"ending":"complete"}"#).is_failure());
        assert!(event(r#"{"status":0,"ending":"unreachable"}"#).is_failure());
    }
}
