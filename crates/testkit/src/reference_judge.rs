//! The reference judge next to the project: the rules by which providers refuse requests, in Python. It shares no code
//! with ours.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Reads `[format, body]` a line, and answers with the refusal or `null`.
const DRIVER: &str = r#"
import json, sys
sys.path.insert(0, sys.argv[1])
import fake_upstreams as rules
judges = {
    "anthropic": rules.validate_messages,
    "openai-chat": rules.validate_chat,
    "openai-responses": rules.validate_responses,
    "gemini": lambda body: rules.validate_gemini(body, require_signatures=False),
}
for line in sys.stdin:
    name, body = json.loads(line)
    print(json.dumps(judges[name](body)), flush=True)
"#;

/// A running judge; it ends when dropped.
pub struct ReferenceJudge {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl ReferenceJudge {
    /// `None` if the reference is missing, which it must not be in CI.
    pub fn start() -> Option<ReferenceJudge> {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/tools");
        let spawned = Command::new("python3")
            .args(["-c", DRIVER])
            .arg(&tools)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let started = spawned.ok().filter(|_| tools.join("fake_upstreams.py").exists());
        let Some(mut process) = started else {
            println!("SKIPPED: the reference judge is not next to this project, or there is no python3");
            assert!(std::env::var_os("CI").is_none(), "the reference judge is missing: {}", tools.display());
            return None;
        };
        let questions = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        Some(ReferenceJudge { process, questions, answers })
    }

    /// Why the provider of this format (`WireId::name`) would refuse the body.
    pub fn refusal(&mut self, format: &str, body: &str) -> Option<String> {
        let body: Value = serde_json::from_str(body).expect("JSON");
        writeln!(self.questions, "{}", json!([format, body])).expect("a question");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("an answer");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?} for {format} {body}"))
    }
}

impl Drop for ReferenceJudge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_refuses_in_every_format_and_accepts_a_question() {
        let Some(mut judge) = ReferenceJudge::start() else { return };
        let result = json!({"role": "tool", "tool_call_id": "c", "content": "r"});
        for (format, question, refused) in [
            ("anthropic", json!({"messages": [{"role": "user", "content": "q"}]}), json!({"messages": []})),
            ("openai-chat", json!({"messages": [{"role": "user", "content": "q"}]}), json!({"messages": [result]})),
            (
                "openai-responses",
                json!({"input": [{"role": "user", "content": "q"}]}),
                json!({"input": [{"type": "function_call_output", "call_id": "c", "output": "r"}]}),
            ),
            (
                "gemini",
                json!({"contents": [{"role": "user", "parts": [{"text": "q"}]}]}),
                json!({"contents": [{"role": "user", "parts": []}]}),
            ),
        ] {
            assert_eq!(judge.refusal(format, &question.to_string()), None);
            assert!(judge.refusal(format, &refused.to_string()).is_some(), "{format}");
        }
    }
}
