//! The gateway, and a machine of a person.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::{Client, FakeProvider, Session, listening};

pub const PATIENCE: Duration = Duration::from_secs(60);

/// A team's daemon with a certificate for `localhost`.
pub struct Gateway {
    home: tempfile::TempDir,
    tls: tempfile::TempDir,
    daemon: Child,
    /// The port for commands on its own machine.
    pub nearby: SocketAddr,
    pub url: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Gateway {
    pub fn open(provider: &FakeProvider, flags: &[&str]) -> Gateway {
        let (home, tls) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
        let (certificate, key) = (tls.path().join("tls.pem"), tls.path().join("tls.key"));
        std::fs::write(&certificate, made.cert.pem()).expect("written");
        std::fs::write(&key, made.signing_key.serialize_pem()).expect("written");
        let port = free_port();
        let mut command = ctx(home.path());
        command.args(["up", "--team", "--listen", &format!("127.0.0.1:{port}"), "--upstream", &provider.url()]);
        command.arg("--tls-cert").arg(&certificate).arg("--tls-key").arg(&key).args(flags);
        let daemon = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("ctx up starts");
        let nearby = listening(home.path(), PATIENCE);
        Gateway { home, tls, daemon, nearby, url: format!("https://localhost:{port}") }
    }

    pub fn certificate(&self) -> PathBuf {
        self.tls.path().join("tls.pem")
    }

    /// A command of the operator.
    pub fn operate(&self, arguments: &[&str]) -> String {
        let output = ctx(self.home.path()).args(arguments).output().expect("ctx runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Adds a person and returns a key for them.
    pub fn person(&self, name: &str) -> String {
        self.operate(&["people", "add", name]);
        self.operate(&["keys", "new", name]).trim().to_owned()
    }

    /// A request of an agent with this key.
    pub async fn send(&self, key: &str, session: &Session) -> u16 {
        let mut client = Client::connect(&format!("http://{}", self.nearby)).await.expect("a connection");
        let mut headers = session.headers();
        headers.push(("x-ctx-key".to_owned(), key.to_owned()));
        let answer = client.send("POST", "/v1/messages?beta=true", &headers, &session.body()).await.expect("an answer");
        answer.status
    }
}

/// The machine of a person.
pub struct Machine {
    pub home: tempfile::TempDir,
}

/// The end of a command.
pub struct Outcome {
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Machine {
    pub fn new() -> Machine {
        Machine { home: tempfile::tempdir().expect("a folder") }
    }

    pub fn command(&self) -> Command {
        ctx(self.home.path())
    }

    /// A command with this text on stdin.
    pub fn run_with(&self, arguments: &[&str], stdin: &str) -> Outcome {
        finish(self.command().args(arguments), stdin)
    }

    pub fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_with(arguments, "")
    }

    /// The output of a command that succeeds.
    pub fn told(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert!(outcome.success, "{arguments:?}: {}{}", outcome.stdout, outcome.stderr);
        outcome.stdout
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let all: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let told = self.told(&all);
        serde_json::from_str(&told).expect(&told)
    }

    /// The code with which a command fails.
    pub fn refusal(&self, arguments: &[&str], stdin: &str) -> String {
        let all: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let outcome = self.run_with(&all, stdin);
        assert!(!outcome.success, "{arguments:?}: {}", outcome.stdout);
        let told: Value = serde_json::from_str(&outcome.stdout).expect(&outcome.stdout);
        told["error"]["code"].as_str().expect("a code").to_owned()
    }

    /// Signs in with an existing key.
    pub fn sign_in(&self, gateway: &Gateway, key: &str) {
        let certificate = gateway.certificate().display().to_string();
        let outcome = self.run_with(&["login", &gateway.url, "--key-file", "-", "--ca", &certificate], key);
        assert!(outcome.success, "{}{}", outcome.stdout, outcome.stderr);
    }
}

pub fn finish(command: &mut Command, stdin: &str) -> Outcome {
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.expect("it starts");
    // A command that does not read its input may have ended.
    let _ = child.stdin.take().expect("stdin").write_all(stdin.as_bytes());
    let output = child.wait_with_output().expect("its end");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Outcome { success: output.status.success(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

pub fn ctx(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctx"));
    command.env_clear().env("CTX_HOME", home).stdin(Stdio::null());
    command
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("an address").port()
}

pub fn session(seed: u64) -> Session {
    let mut session = Session::new(seed);
    session.turn().user("the first question");
    session.assistant("an answer").turn().user("the second question");
    session
}
