//! Stock Codex (Responses) and opencode (Chat Completions), started by `ctx run`, in front of a strict stand-in for
//! OpenAI's API: turns, tool loops, resumed sessions, and edits in the middle of them.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::stage::{finish, needed, until};

const KEY: &str = "sk-proj-this-credential-is-marked-QJZX7320";

pub struct OpenAi {
    stand_in: Child,
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl OpenAi {
    /// `None` when the client or the stand-in is missing.
    pub fn with(variable: &str) -> Option<OpenAi> {
        let program = needed(variable)?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/tools/fake_upstreams.py");
        if !script.exists() {
            assert!(std::env::var_os("CI").is_none(), "the stand-in for OpenAI is missing: {}", script.display());
            eprintln!("SKIPPED: there is no stand-in for OpenAI's API at {}", script.display());
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["work", "home", "config", "log", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
        let stand_in = Command::new("python3")
            .arg(script)
            .args(["--strict", "--port", &port.to_string(), "--log"])
            .arg(folder.path().join("log"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 starts");
        until("the stand-in listens", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        let stage = OpenAi { stand_in, folder, program };
        let started = stage.ctx(&[
            "run",
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &format!("openai=http://127.0.0.1:{port}"),
            "--",
            "true",
        ]);
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Some(stage)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder").join(name)
    }

    pub fn ctx(&self, arguments: &[&str]) -> Output {
        self.run(env!("CARGO_BIN_EXE_ctx").as_ref(), arguments)
    }

    /// Runs the agent as its user does, without `ctx run`.
    pub fn alone(&self, arguments: &[&str]) -> Output {
        self.run(&self.program, arguments)
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        let programs = self.program.parent().expect("a folder").display().to_string();
        command
            .args(arguments)
            .env_clear()
            .env("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin"))
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("CTX_HOME", self.path("ctx"))
            .env("CODEX_HOME", self.path("config"))
            .env("OPENAI_API_KEY", KEY)
            .env("LANG", "C.UTF-8")
            .current_dir(self.path("work"));
        finish(command)
    }

    /// Runs the agent through the daemon, and gives what it printed.
    fn agent(&self, arguments: &[&str]) -> String {
        let output = self.ctx(&[&["run", "--"], arguments].concat());
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success(), "{arguments:?}: {said}");
        assert!(!said.contains("no request"), "{said}");
        said
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ctx(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "ctx {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    fn edit(&self, arguments: &[&str]) {
        let output = self.ctx(arguments);
        assert!(output.status.success(), "ctx {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The bodies that the stand-in got, oldest first, and whether it took them.
    pub fn received(&self) -> Vec<(String, bool)> {
        let entries = std::fs::read_dir(self.path("log")).expect("a log").flatten().map(|entry| entry.path());
        let mut heads: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
        heads.sort();
        let read = |head: PathBuf| {
            let told: Value = serde_json::from_slice(&std::fs::read(&head).ok()?).ok()?;
            let body = std::fs::read_to_string(head.with_extension("body")).ok()?;
            (told["method"] == "POST").then(|| (body, told["reply"]["invalid"].is_null()))
        };
        heads.into_iter().filter_map(read).collect()
    }

    /// The client of the active conversation.
    pub fn client(&self) -> String {
        self.json(&["conversations"])["conversations"][0]["client"].as_str().unwrap_or_default().to_owned()
    }

    fn titles(&self) -> Vec<String> {
        let frames = self.json(&["list"])["frames"].as_array().expect("frames").clone();
        let turns = frames.iter().filter(|frame| frame["kind"] == "turn");
        turns.map(|frame| frame["title"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Everything that was sent was taken, and the newest request is shown as it left.
    pub fn assert_taken(&self) {
        let received = self.received();
        assert!(!received.is_empty());
        for (body, is_taken) in &received {
            assert!(is_taken, "refused: {body}");
        }
        let events = self.json(&["timeline"])["events"].as_array().expect("events").clone();
        let newest = events.iter().rev().find(|event| event["kind"] == "request").expect("a request");
        let name = format!("r{}", newest["request"].as_u64().expect("a number"));
        let sent = self.ctx(&["sent", &name, "--dump"]);
        let sent = String::from_utf8(sent.stdout).expect("text");
        assert!(received.iter().any(|(body, _)| *body == sent), "{name} is not what left: {sent}");
    }
}

impl Drop for OpenAi {
    fn drop(&mut self) {
        self.ctx(&["stop"]);
        let _ = self.stand_in.kill();
        let _ = self.stand_in.wait();
    }
}

#[test]
fn codex_is_seen_and_goes_on_with_an_edited_history() {
    let Some(stage) = OpenAi::with("CTX_TEST_CODEX") else { return };
    let options = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
    let codex = |arguments: &[&str]| stage.agent(&[&["codex"], &options[..], arguments].concat());
    let said = codex(&["look [[chain echo first_output ;; echo second_output]]"]);
    let session = said.lines().find_map(|line| line.strip_prefix("session id: ")).expect("a session").trim().to_owned();
    assert!(said.contains("second_output"), "{said}");
    assert!(stage.client().starts_with("codex"), "{}", stage.client());
    let listed = stage.json(&["list", "--steps"]);
    let turn = listed["frames"].as_array().and_then(|frames| frames.iter().find(|frame| frame["kind"] == "turn"));
    assert_eq!(turn.expect("a turn")["steps"], 2, "{listed}");
    stage.assert_taken();

    codex(&["resume", &session, "a tangent_word [[say something_else]]"]);
    codex(&["resume", &session, "back [[say back_again]]"]);
    stage.edit(&["delete", "t2"]);
    stage.edit(&["drop-results", "t1/1"]);
    let said = codex(&["resume", &session, "go on [[tool echo third_output]]"]);
    assert!(said.contains("third_output"), "{said}");
    assert_eq!(stage.titles().last().map(String::as_str), Some("go on [[tool echo third_output]]"));
    stage.assert_taken();
    let (newest, _) = stage.received().pop().expect("a request");
    assert!(!newest.contains("tangent_word") && !newest.contains("something_else"), "what was deleted stays away");
    assert!(newest.contains("second_output") && newest.contains("third_output"));
    let body: Value = serde_json::from_str(&newest).expect("JSON");
    let outputs = body["input"]
        .as_array()
        .expect("items")
        .iter()
        .filter(|item| item["type"].as_str().is_some_and(|kind| kind.ends_with("_output")));
    assert!(
        !outputs.map(Value::to_string).any(|output| output.contains("first_output")),
        "a dropped result stays away"
    );
}

#[test]
fn opencode_is_seen_and_goes_on_with_an_edited_chat() {
    let Some(stage) = OpenAi::with("CTX_TEST_OPENCODE") else { return };
    let listen = stage.json(&["status"])["listen"].as_str().expect("an address").to_owned();
    let settings = serde_json::json!({"provider": {"local": {
        "npm": "@ai-sdk/openai-compatible", "name": "Local", "models": {"deepseek-chat": {"name": "d"}},
        "options": {"baseURL": format!("http://{listen}/v1"), "apiKey": KEY},
    }}});
    std::fs::write(stage.path("work/opencode.json"), settings.to_string()).expect("settings");
    let opencode =
        |arguments: &[&str]| stage.agent(&[&["opencode", "run", "-m", "local/deepseek-chat"], arguments].concat());
    let said = opencode(&["look [[tool echo first_output]]"]);
    assert!(said.contains("first_output"), "{said}");
    assert!(stage.client().starts_with("opencode/"), "{}", stage.client());
    stage.assert_taken();
    opencode(&["-c", "a tangent_word"]);
    stage.edit(&["delete", "t2"]);
    stage.edit(&["drop-results", "t1"]);
    let said = opencode(&["-c", "go on [[tool echo second_output]]"]);
    assert!(said.contains("second_output"), "{said}");
    stage.assert_taken();
    let (newest, _) =
        stage.received().into_iter().rfind(|(body, _)| body.contains("second_output")).expect("a request");
    assert!(!newest.contains("tangent_word"), "what was deleted stays away");
    let body: Value = serde_json::from_str(&newest).expect("JSON");
    let results = body["messages"].as_array().expect("messages").iter().filter(|message| message["role"] == "tool");
    let results: Vec<String> = results.map(Value::to_string).collect();
    assert_eq!(results.len(), 2);
    assert!(!results[0].contains("first_output") && results[1].contains("second_output"), "{results:?}");
}
