//! A client that speaks MCP to `ctx mcp`, line by line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(90);

pub struct Speaker {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    asked: u64,
    /// The id of the model's call.
    pub call: Option<String>,
    /// Other metadata of each call.
    pub meta: Value,
}

impl Speaker {
    /// Starts the server and completes the handshake.
    pub fn start(command: Command) -> Speaker {
        Speaker::named(command, "a-test").0
    }

    /// The same under this name, with the server's introduction.
    pub fn named(mut command: Command, client: &str) -> (Speaker, Value) {
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.expect("ctx mcp starts");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("stdout"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut speaker = Speaker { child, stdin, lines, asked: 0, call: None, meta: Value::Null };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}});
        let greeting = speaker.ask("initialize", hello)["result"].clone();
        speaker.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        (speaker, greeting)
    }

    pub fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin");
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("written");
    }

    /// The whole response to a request.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("an answer");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// The result of a tool call, successful or not.
    pub fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let mut params = json!({"name": tool, "arguments": arguments});
        if let Some(call) = &self.call {
            params["_meta"] = json!({"claudecode/toolUseId": call});
        } else if !self.meta.is_null() {
            params["_meta"] = self.meta.clone();
        }
        self.ask("tools/call", params)["result"].clone()
    }

    /// The result of a tool call, which must succeed.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments.clone());
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result:#}");
        result["structuredContent"].clone()
    }

    /// The refusal of a tool call, which must fail.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result:#}");
        let error = result["structuredContent"]["error"].clone();
        for part in ["code", "message", "hint"] {
            assert!(error[part].as_str().is_some_and(|words| !words.is_empty()), "{tool} {arguments}: {error}");
        }
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains(error["hint"].as_str().expect("a hint")), "{text}");
        error
    }

    #[track_caller]
    pub fn refuses(&mut self, tool: &str, arguments: Value, code: &str) -> Value {
        let error = self.refused(tool, arguments);
        assert_eq!(error["code"], code, "{error}");
        error
    }

    pub fn tools(&mut self) -> Vec<Value> {
        self.ask("tools/list", json!({}))["result"]["tools"].as_array().expect("tools").clone()
    }

    pub fn tool_names(&mut self) -> Vec<String> {
        self.tools().iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Disconnects, and returns how the server ends.
    pub fn leave(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
