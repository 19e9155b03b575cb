//! The daemons, and what stands before and behind them.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Balancer, Client, FakeProvider, Fault, FaultProxy, Options, Placement, PostgresServer};

pub const PATIENCE: Duration = Duration::from_secs(60);
pub const PEOPLE: [&str; 2] = ["anna", "bob"];

pub struct Stage {
    pub server: &'static PostgresServer,
    pub database: String,
    pub daemons: Vec<Daemon>,
    /// For each person.
    pub keys: Vec<String>,
    pub balancer: Balancer,
}

/// A daemon with its own way to the database and a provider of its own, which tells what passed through it.
pub struct Daemon {
    folder: tempfile::TempDir,
    home: PathBuf,
    pub address: SocketAddr,
    pub proxy: FaultProxy,
    pub provider: FakeProvider,
    store: String,
    process: Mutex<Option<Child>>,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Stage {
    /// `None` if a program is missing.
    pub async fn set(placement: Placement) -> Option<Stage> {
        let server = PostgresServer::shared()?;
        let database = server.new_database();
        let daemons: Vec<Daemon> = (0..3).map(|_| Daemon::new(server, &database)).collect();
        let addresses: Vec<SocketAddr> = daemons.iter().map(|daemon| daemon.address).collect();
        let balancer = Balancer::before(&addresses, placement)?;
        let migrated = ctx(daemons[0].home()).args(["store", "migrate", &server.url(&database)]).output();
        assert!(migrated.expect("ctx runs").status.success());
        for daemon in &daemons {
            daemon.start();
            daemon.up().await;
        }
        let run = |arguments: &[&str]| {
            let output = ctx(daemons[0].home()).args(arguments).output().expect("ctx runs");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        let keys = PEOPLE.map(|name| {
            run(&["people", "add", name]);
            run(&["keys", "new", name])
        });
        Some(Stage { server, database, daemons, keys: keys.to_vec(), balancer })
    }

    /// A daemon that knows only the database.
    pub async fn alone(&self) -> Daemon {
        let daemon = Daemon::new(self.server, &self.database);
        daemon.start();
        daemon.up().await;
        daemon
    }

    /// Ends all faults, and waits until every daemon serves and reaches the database.
    pub async fn heal(&self) {
        self.daemons.iter().for_each(|daemon| daemon.proxy.set(Fault::None));
        for daemon in &self.daemons {
            daemon.up().await;
            let end = Instant::now() + PATIENCE;
            while daemon.get("", "/control/health/store").await.is_none_or(|(status, _)| status != 200) {
                assert!(Instant::now() < end, "{} does not come back: {}", daemon.address, daemon.log());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

impl Daemon {
    fn new(server: &PostgresServer, database: &str) -> Daemon {
        let proxy = FaultProxy::to(server.port()).expect("a proxy");
        let store = PostgresServer::url_at(proxy.address().port(), database);
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr()).expect("a port");
        let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("home");
        Daemon { folder, home, address, proxy, provider, store, process: Mutex::new(None) }
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    pub fn start(&self) {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log")).expect("a file");
        let mut command = ctx(self.home());
        command.args(["up", "--team", "--listen", &self.address.to_string(), "--upstream", &self.provider.url()]);
        command.args(["--store", &self.store]).stdout(Stdio::null()).stderr(log);
        *self.process.lock().expect("no panic") = Some(command.spawn().expect("ctx up starts"));
    }

    pub fn kill(&self) {
        if let Some(mut process) = self.process.lock().expect("no panic").take() {
            let _ = process.kill();
            let _ = process.wait();
            let _ = std::fs::remove_file(self.home().join("daemon.json"));
        }
    }

    /// Whether it serves.
    fn is_up(&self) -> bool {
        TcpStream::connect_timeout(&self.address, Duration::from_millis(500)).is_ok()
    }

    /// Waits until it serves. One that could not start is started again, as a service manager would.
    pub async fn up(&self) {
        let end = Instant::now() + PATIENCE;
        while !self.is_up() {
            assert!(Instant::now() < end, "{} does not start: {}", self.address, self.log());
            let has_ended = {
                let mut process = self.process.lock().expect("no panic");
                process.as_mut().is_none_or(|process| process.try_wait().is_ok_and(|status| status.is_some()))
            };
            if has_ended {
                self.start();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The end of what it logged.
    pub fn log(&self) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Status and body of a page of the control API.
    pub async fn get(&self, key: &str, path: &str) -> Option<(u16, Vec<u8>)> {
        let mut client = Client::connect(&format!("http://{}", self.address)).await.ok()?;
        let headers = match key {
            "" => Vec::new(),
            key => vec![("authorization".to_owned(), format!("Bearer {key}"))],
        };
        let answer = client.send("GET", path, &headers, b"").await.ok()?;
        Some((answer.status, answer.body.to_vec()))
    }

    pub async fn json(&self, key: &str, path: &str) -> Option<Value> {
        let (status, body) = self.get(key, path).await?;
        (status == 200).then(|| serde_json::from_slice(&body).ok())?
    }
}

pub fn ctx(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctx"));
    command.env_clear().env("CTX_HOME", home).stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}
