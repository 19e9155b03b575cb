//! The stage: client ─► front recorder ─► ctx ─► back recorder ─► fake provider.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::recorder::Exchange;
use testkit::{FakeProvider, Options, Recorder};

/// A client that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// Headers of one connection, which may differ between two.
const HOP: [&str; 6] = ["host", "connection", "keep-alive", "transfer-encoding", "te", "upgrade"];

pub struct Stage {
    _provider: FakeProvider,
    pub front: Recorder,
    back: Recorder,
    daemon: Child,
    folder: tempfile::TempDir,
}

impl Stage {
    pub fn new() -> Stage {
        Stage::with(Options::strict())
    }

    pub fn with(options: Options) -> Stage {
        Stage::configured(options, "")
    }

    /// With this `ctx.toml`.
    pub fn configured(options: Options, toml: &str) -> Stage {
        let provider = FakeProvider::start(options).expect("the fake provider starts");
        let back = Recorder::start(provider.address()).expect("the back recorder starts");
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["work", "home", "config", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let home = folder.path().join("ctx");
        std::fs::write(folder.path().join("ctx.toml"), toml).expect("settings");
        let log = std::fs::File::create(folder.path().join("ctx.log")).expect("a log");
        let daemon = up("127.0.0.1:0", &back.url(), &home, log);
        let listen = wait_for(&home);
        let front = Recorder::start(listen).expect("the front recorder starts");
        Stage { _provider: provider, front, back, daemon, folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        // The client resolves links before it writes a path, so this does too.
        self.folder.path().canonicalize().expect("the folder").join(name)
    }

    /// Writes a file into the client's working directory.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.path("work").join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    /// Runs a `ctx` command against the daemon and returns its output.
    pub fn ctx(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ctx"));
        command.args(arguments).arg("--home").arg(self.path("ctx")).env_clear().current_dir(self.path("work"));
        finish(command)
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ctx(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "ctx {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    pub fn conversations(&self) -> Vec<Value> {
        self.json(&["conversations"])["conversations"].as_array().expect("a list").clone()
    }

    /// The only conversation that satisfies `choose`.
    pub fn conversation(&self, choose: impl Fn(&Value) -> bool) -> Value {
        let all = self.conversations();
        let found: Vec<&Value> = all.iter().filter(|conversation| choose(conversation)).collect();
        assert_eq!(found.len(), 1, "not exactly one of {all:#?}");
        found[0].clone()
    }

    /// The frames of a conversation that are turns, with their steps.
    pub fn turns(&self, conversation: &Value) -> Vec<Value> {
        let id = conversation["id"].as_str().expect("an id");
        let listed = self.json(&["list", "--steps", "--conv", id]);
        let frames = listed["frames"].as_array().expect("frames").iter();
        frames.filter(|frame| frame["kind"] == "turn").cloned().collect()
    }

    /// Class and verdict of every request of a conversation, in order.
    pub fn verdicts(&self, conversation: &Value) -> Vec<(String, String)> {
        let id = conversation["id"].as_str().expect("an id");
        let timeline = self.json(&["timeline", "--conv", id]);
        let events = timeline["events"].as_array().expect("events").iter();
        let word = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
        events
            .filter(|event| event["kind"] == "request")
            .map(|event| (word(event, "class"), word(event, "verdict")))
            .collect()
    }

    /// The provider received what the client sent, the client received what the provider sent, and the newest main
    /// request can be printed again byte for byte.
    pub fn assert_faithful(&self) {
        let settled = || {
            let (sent, received) = (self.front.exchanges(), self.back.exchanges());
            let over = sent.iter().chain(&received).all(Exchange::is_over) && received.len() == sent.len();
            if over { Ok(sent) } else { Err(format!("sent {:#?}\nreceived {:#?}", brief(&sent), brief(&received))) }
        };
        let sent = eventually("every exchange is over", settled);
        assert!(!sent.is_empty(), "nothing was sent");
        let mut received = self.back.exchanges();
        for exchange in &sent {
            let same = |other: &Exchange| {
                (&other.method, &other.target, &other.request_body)
                    == (&exchange.method, &exchange.target, &exchange.request_body)
            };
            let at = received
                .iter()
                .position(same)
                .unwrap_or_else(|| panic!("{} {} did not arrive as it was sent", exchange.method, exchange.target));
            let other = received.remove(at);
            assert_eq!(
                end_to_end(&other.request_headers),
                end_to_end(&exchange.request_headers),
                "request headers of {}",
                exchange.target
            );
            let (Some(theirs), Some(ours)) = (&other.response, &exchange.response) else {
                panic!("no answer to {}", exchange.target)
            };
            assert_eq!(
                (ours.status, &ours.body, ours.ending),
                (theirs.status, &theirs.body, theirs.ending),
                "the answer to {}",
                exchange.target
            );
            assert_eq!(end_to_end(&ours.headers), end_to_end(&theirs.headers), "answer headers of {}", exchange.target);
        }
        assert!(received.is_empty(), "the provider got {} requests that nobody sent", received.len());
    }

    /// The bodies of the model calls that the client sent.
    pub fn sent_bodies(&self) -> Vec<Vec<u8>> {
        let calls = self.front.exchanges().into_iter().filter(|exchange| exchange.path() == "/v1/messages");
        calls.map(|exchange| exchange.request_body).collect()
    }

    /// `ctx compose --dump` of a conversation prints the exact bytes of one of the requests.
    pub fn assert_dump_was_sent(&self, conversation: &Value) {
        let dump = self.ctx(&["compose", "--dump", "--conv", conversation["id"].as_str().expect("an id")]);
        assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
        assert!(self.sent_bodies().contains(&dump.stdout), "the dump is none of the bodies that were sent");
    }

    /// The bodies of the model calls that the provider received.
    pub fn received_bodies(&self) -> Vec<Vec<u8>> {
        let calls = self.back.exchanges().into_iter().filter(|exchange| exchange.path() == "/v1/messages");
        calls.map(|exchange| exchange.request_body).collect()
    }

    /// Kills the daemon and restarts it at the same address.
    pub fn kill_and_start_again(&mut self) {
        let notice = std::fs::read(self.path("ctx").join("daemon.json")).expect("the daemon's notice");
        let listen =
            serde_json::from_slice::<Value>(&notice).expect("JSON")["listen"].as_str().expect("an address").to_owned();
        self.daemon.kill().expect("a kill");
        self.daemon.wait().expect("the end");
        let _ = std::fs::remove_file(self.path("ctx").join("daemon.json"));
        let log = std::fs::File::options().append(true).open(self.path("ctx.log")).expect("the log");
        self.daemon = up(&listen, &self.back.url(), &self.path("ctx"), log);
        wait_for(&self.path("ctx"));
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("ctx.log")).unwrap_or_default()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(30).collect();
            eprintln!("the end of the daemon's log, newest first:\n{}", tail.join("\n"));
        }
    }
}

fn up(listen: &str, upstream: &str, home: &Path, log: std::fs::File) -> Child {
    Command::new(env!("CARGO_BIN_EXE_ctx"))
        .args(["up", "--listen", listen, "--upstream", upstream, "--home"])
        .arg(home)
        .env_clear()
        .env("CTX_LOG", "trace")
        .env("CTX_CONFIG", home.with_extension("toml"))
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("the log"))
        .stderr(log)
        .spawn()
        .expect("ctx up starts")
}

/// The daemon's address, once it listens.
fn wait_for(home: &Path) -> std::net::SocketAddr {
    until("the daemon is up", || {
        let notice: Value = serde_json::from_slice(&std::fs::read(home.join("daemon.json")).ok()?).ok()?;
        notice["listen"].as_str()?.parse().ok()
    })
}

fn end_to_end(headers: &[(String, String)]) -> Vec<&(String, String)> {
    headers.iter().filter(|(name, _)| !HOP.contains(&name.to_ascii_lowercase().as_str())).collect()
}

/// Waits until `ready` returns a value.
pub fn until<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    eventually(what, || ready().ok_or(""))
}

/// Waits until `ready` succeeds; fails with its last reason.
fn eventually<T, E: std::fmt::Display>(what: &str, mut ready: impl FnMut() -> Result<T, E>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ready() {
            Ok(found) => return found,
            Err(why) => assert!(Instant::now() < deadline, "waited in vain until {what}: {why}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn brief(exchanges: &[Exchange]) -> Vec<String> {
    let answer = |exchange: &Exchange| {
        exchange.response.as_ref().map(|response| (response.status, response.body.len(), response.ending))
    };
    exchanges
        .iter()
        .map(|exchange| {
            format!(
                "{} {} {} bytes, {:?}, answered {:?}",
                exchange.method,
                exchange.target,
                exchange.request_body.len(),
                exchange.request_ending,
                answer(exchange)
            )
        })
        .collect()
}

/// Runs a command to its end, or kills it if it hangs.
pub fn finish(mut command: Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let pid = child.id();
    let (done, finished) = std::sync::mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if finished.recv_timeout(PATIENCE).is_err() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    });
    let output = child.wait_with_output().expect("the command ends");
    let _ = done.send(());
    let _ = watchdog.join();
    output
}

/// The path in an environment variable that `cargo xtask test` sets. Without it, the test is skipped with a message; in
/// CI it fails.
pub fn needed(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.exists());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{variable} is not set: run `cargo xtask test`");
        eprintln!("SKIPPED: {variable} is not set; `cargo xtask test` installs the clients and sets it");
    }
    found
}
