//! The stage for agents of other providers: a daemon, and a strict stand-in for their APIs.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::stage::{finish, needed, until};

pub const KEY: &str = "sk-proj-this-credential-is-marked-QJZX7320";

/// Whether a body contains the deleted turn, and the dropped result.
pub fn has_removed(body: &str) -> [bool; 2] {
    ["tangent_word", "1050"].map(|word| body.contains(word))
}

pub struct Providers {
    stand_in: Child,
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Providers {
    /// `None` if the client or the stand-in is missing. `upstreams`: the client's providers.
    pub fn with(variable: &str, upstreams: &[&str]) -> Option<Providers> {
        let stand_in = |name: &&str, port| format!("{name}=http://127.0.0.1:{port}");
        Providers::behind(variable, |port| upstreams.iter().map(|name| stand_in(name, port)).collect())
    }

    /// The same; `upstreams` gets the stand-in's port.
    pub fn behind(variable: &str, upstreams: impl FnOnce(u16) -> Vec<String>) -> Option<Providers> {
        let program = needed(variable)?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/tools/fake_upstreams.py");
        if !script.exists() {
            assert!(
                std::env::var_os("CI").is_none(),
                "the stand-in for the providers is missing: {}",
                script.display()
            );
            eprintln!("SKIPPED: there is no stand-in for the providers at {}", script.display());
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
        let stage = Providers { stand_in, folder, program };
        let upstreams = upstreams(port);
        let upstreams = upstreams.iter().flat_map(|upstream| ["--upstream", upstream.as_str()]);
        let arguments = ["run", "--listen", "127.0.0.1:0"].into_iter().chain(upstreams).chain(["--", "true"]);
        let started = stage.ctx(&arguments.collect::<Vec<_>>());
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Some(stage)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder").join(name)
    }

    pub fn ctx(&self, arguments: &[&str]) -> Output {
        self.run(Path::new(env!("CARGO_BIN_EXE_ctx")), arguments)
    }

    /// Runs the agent directly, without `ctx run`.
    pub fn alone(&self, arguments: &[&str]) -> Output {
        self.run(&self.program, arguments)
    }

    /// Runs the agent directly, with the key for its built-in provider.
    pub fn with_own_key(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(&self.program, arguments);
        command.env("CODEX_API_KEY", KEY);
        finish(command)
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        finish(self.command(program, arguments))
    }

    /// Starts the agent through the daemon, with an open input.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.through(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("ctx starts")
    }

    /// The agent, started through the daemon.
    pub fn through(&self, arguments: &[&str]) -> Command {
        self.command(Path::new(env!("CARGO_BIN_EXE_ctx")), &[&["run", "--"], arguments].concat())
    }

    /// The address of the daemon.
    pub fn url(&self) -> String {
        let notice = std::fs::read(self.path("ctx").join("daemon.json")).expect("the daemon's notice");
        let notice: Value = serde_json::from_slice(&notice).expect("JSON");
        format!("http://{}", notice["listen"].as_str().expect("an address"))
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
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
            .env("ANTHROPIC_API_KEY", KEY)
            .env("OPENAI_API_KEY", KEY)
            .env("GEMINI_API_KEY", KEY)
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .env("LANG", "C.UTF-8")
            .current_dir(self.path("work"));
        command
    }

    /// Runs the agent through the daemon and returns its output.
    pub fn agent(&self, arguments: &[&str]) -> String {
        self.agent_with(&[], arguments)
    }

    /// The same, with these variables.
    pub fn agent_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> String {
        let mut command = self.through(arguments);
        command.envs(variables.iter().copied());
        let output = finish(command);
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success(), "{arguments:?}: {said}");
        assert!(!said.contains("no request"), "{said}");
        said
    }

    /// The timeline of the newest conversation; nothing before its first request.
    pub fn events(&self) -> Vec<Value> {
        let timeline: Value = serde_json::from_slice(&self.ctx(&["timeline", "--json"]).stdout).unwrap_or_default();
        timeline["events"].as_array().cloned().unwrap_or_default()
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ctx(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "ctx {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    pub fn edit(&self, arguments: &[&str]) {
        let output = self.ctx(arguments);
        assert!(output.status.success(), "ctx {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The bodies that the stand-in received, oldest first, and whether it accepted them.
    pub fn received(&self) -> Vec<(String, bool)> {
        let entries = std::fs::read_dir(self.path("log")).expect("a log").flatten().map(|entry| entry.path());
        let mut heads: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
        heads.sort();
        let read = |head: PathBuf| {
            let told: Value = serde_json::from_slice(&std::fs::read(&head).ok()?).ok()?;
            // The body of a request that is being recorded is still empty.
            let body = std::fs::read_to_string(head.with_extension("body")).ok().filter(|body| !body.is_empty())?;
            let is_request = told["method"] == "POST" || told["transport"] == "ws";
            // A warm-up asks for nothing.
            let is_warm_up = told["body"]["generate"] == false;
            (is_request && !is_warm_up).then(|| (body, told["reply"]["invalid"].is_null()))
        };
        heads.into_iter().filter_map(read).collect()
    }

    /// The client of the active conversation.
    pub fn client(&self) -> String {
        self.json(&["conversations"])["conversations"][0]["client"].as_str().unwrap_or_default().to_owned()
    }

    pub fn titles(&self) -> Vec<String> {
        let frames = self.json(&["list"])["frames"].as_array().expect("frames").clone();
        let turns = frames.iter().filter(|frame| frame["kind"] == "turn");
        turns.map(|frame| frame["title"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Every request was accepted, and the newest one is shown as sent.
    pub fn assert_taken(&self) {
        let received = self.received();
        assert!(!received.is_empty());
        for (body, is_taken) in &received {
            assert!(is_taken, "refused: {body}");
        }
        let events = self.events();
        let newest = events.iter().rev().find(|event| event["kind"] == "request").expect("a request");
        let name = format!("r{}", newest["request"].as_u64().expect("a number"));
        let sent = self.ctx(&["sent", &name, "--dump"]);
        let sent = String::from_utf8(sent.stdout).expect("text");
        assert!(received.iter().any(|(body, _)| *body == sent), "{name} is not what left: {sent}");
    }
}

impl Drop for Providers {
    fn drop(&mut self) {
        self.ctx(&["stop"]);
        let _ = self.stand_in.kill();
        let _ = self.stand_in.wait();
    }
}
