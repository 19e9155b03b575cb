//! Starts the reference with the same options as ours, or reports why not.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use testkit::fake_provider::Options;
use tokio::process::{Child, Command};

#[derive(Debug, Clone, Copy, Default)]
pub struct Flags {
    pub strict: bool,
    pub bind_thinking: bool,
    pub gzip: bool,
    pub unknown_ok: bool,
    pub retry_after: u64,
    pub header: Option<&'static str>,
}

impl Flags {
    pub fn strict() -> Self {
        Self { strict: true, bind_thinking: true, ..Self::default() }
    }

    pub fn options(self) -> Options {
        let header = self.header.and_then(|header| header.split_once(": "));
        let header = header.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Options {
            strict: self.strict,
            bind_thinking: self.bind_thinking,
            gzip: self.gzip,
            unknown_ok: self.unknown_ok,
            retry_after: self.retry_after,
            headers: header.into_iter().collect(),
            ..Options::default()
        }
    }

    fn arguments(self) -> Vec<String> {
        let mut arguments = Vec::new();
        for (flag, given) in [
            ("--strict", self.strict),
            ("--bind-thinking", self.bind_thinking),
            ("--gzip", self.gzip),
            ("--unknown-200", self.unknown_ok),
        ] {
            arguments.extend(given.then(|| flag.to_owned()));
        }
        arguments.push(format!("--retry-after={}", self.retry_after));
        arguments.extend(self.header.map(|header| format!("--header={header}")));
        arguments
    }
}

/// The folder next to the project with the reference and the corpus.
pub fn shared() -> PathBuf {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    PathBuf::from(root)
}

pub struct Reference {
    pub url: String,
    /// Killed when dropped.
    _process: Child,
    _folder: tempfile::TempDir,
}

/// `None` if it is missing. In CI the interpreter is required.
pub async fn start(flags: Flags) -> Option<Reference> {
    let script = shared().join("tools/fake_upstream.py");
    if !script.exists() {
        eprintln!("SKIPPED: the reference provider is not beside this project");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let port_file = folder.path().join("port");
    let spawned = Command::new("python3")
        .arg(&script)
        .args(["--port", "0", "--port-file"])
        .arg(&port_file)
        .args(flags.arguments())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let process = match spawned {
        Ok(process) => process,
        Err(error) => {
            let in_ci = std::env::var_os("CI").is_some();
            assert!(!in_ci, "python3 is needed in CI and does not run: {error}");
            eprintln!("SKIPPED: python3, which runs the reference provider, does not: {error}");
            return None;
        }
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    let port = loop {
        if let Ok(port) = std::fs::read_to_string(&port_file) {
            break port;
        }
        assert!(Instant::now() < deadline, "the reference does not start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    Some(Reference { url: format!("http://127.0.0.1:{port}"), _process: process, _folder: folder })
}
