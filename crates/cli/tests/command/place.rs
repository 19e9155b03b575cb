//! A place where `ctx` runs in isolation from the machine.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Client, FakeProvider, Options, Session};

/// A slower command hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// The reading verbs with their required arguments.
pub const LOOKING: [&[&str]; 14] = [
    &["conversations"],
    &["list"],
    &["show", "t1"],
    &["search", "needle"],
    &["compose"],
    &["history"],
    &["diff"],
    &["status"],
    &["timeline"],
    &["stats"],
    &["why-miss"],
    &["ui"],
    &["waiting"],
    &["phase"],
];

pub struct Place {
    folder: tempfile::TempDir,
}

/// The end of a command.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// A refusal: nothing on stdout, a message on stderr.
    #[track_caller]
    pub fn refused(self) -> Self {
        assert_eq!((self.code, self.out.as_str()), (Some(1), ""), "{self:?}");
        assert!(self.err.contains("error: "), "{self:?}");
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("work")).expect("a folder");
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        if name.starts_with("home/") {
            self.make_home();
        }
        fs::write(&path, text).expect("written");
        path
    }

    /// Private, as the daemon creates it.
    fn make_home(&self) {
        fs::create_dir_all(self.home()).expect("a folder");
        #[cfg(unix)]
        fs::set_permissions(self.home(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("closed");
    }

    pub fn ctx<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = self.alone(env!("CARGO_BIN_EXE_ctx"));
        command.args(arguments);
        command
    }

    /// A shell command line in which `ctx` is on the PATH.
    pub fn shell(&self, line: &str) -> Command {
        let mut command = self.alone("sh");
        let before = Path::new(env!("CARGO_BIN_EXE_ctx")).parent().map(Path::to_path_buf);
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::env::join_paths(before.into_iter().chain(std::env::split_paths(&paths)));
        command.args(["-c", line]).env("PATH", paths.expect("folders"));
        command
    }

    /// Another program in the same isolation.
    pub fn alone(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("CTX_HOME", self.home())
            .current_dir(self.path("work"))
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.ctx(arguments))
    }

    /// The same in a terminal.
    pub fn run_at_terminal(&self, arguments: &[&str]) -> Ran {
        let mut command = self.ctx(arguments);
        command.stdin(fs::File::open("/dev/ptmx").expect("a terminal"));
        finish(command)
    }

    /// A foreground daemon that forwards to `upstream`; it ends with its handle.
    pub fn up(&self, upstream: &str) -> Up {
        self.up_with(&["--upstream", upstream])
    }

    pub fn up_with(&self, arguments: &[&str]) -> Up {
        self.started(self.ctx(&[&["up", "--listen", "127.0.0.1:0"], arguments].concat()))
    }

    /// A daemon that the shell starts after setting its limits.
    #[cfg(unix)]
    pub fn up_with_handles(&self, limit: &str, upstream: &str) -> Up {
        self.started(self.shell(&format!("{limit} && exec ctx up --listen 127.0.0.1:0 --upstream {upstream}")))
    }

    fn started(&self, mut command: Command) -> Up {
        let greeting = self.path("greeting");
        let log = self.path("log");
        command.stdout(fs::File::create(&greeting).expect("a file")).stderr(fs::File::create(&log).expect("a file"));
        let mut daemon = command.spawn().expect("ctx starts");
        let listen = until("the daemon is up", || {
            if daemon.try_wait().expect("a child").is_some() {
                panic!("the daemon ended: {}", fs::read_to_string(&log).unwrap_or_default());
            }
            self.notice().filter(|notice| notice["pid"] == daemon.id())?["listen"].as_str()?.parse().ok()
        });
        Up { daemon, listen, greeting, log, token: self.home().join("token") }
    }

    pub fn notice(&self) -> Option<Value> {
        serde_json::from_slice(&fs::read(self.home().join("daemon.json")).ok()?).ok()
    }
}

/// A daemon in the foreground.
pub struct Up {
    daemon: Child,
    pub listen: SocketAddr,
    greeting: PathBuf,
    log: PathBuf,
    token: PathBuf,
}

impl Up {
    pub fn pid(&self) -> u32 {
        self.daemon.id()
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.listen)
    }

    /// Its output so far. The greeting comes right after the notice.
    pub fn greeting(&self) -> String {
        until("the greeting is complete", || {
            fs::read_to_string(&self.greeting).ok().filter(|text| text.contains("Ctrl-C"))
        })
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("a log")
    }

    /// The token of its control API.
    pub fn token(&self) -> String {
        fs::read_to_string(&self.token).expect("a token").trim().to_owned()
    }

    /// Sends the conversation's current request through the daemon, and waits until it is recorded: on a busy machine,
    /// the daemon answers readers before that.
    pub fn send(&self, session: &Session) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut client = Client::connect(&self.url()).await.expect("connected");
            let target = "/v1/messages?beta=true";
            client.send("POST", target, &session.headers(), &session.body()).await.expect("an answer");
            let headers = [("authorization".to_owned(), format!("Bearer {}", self.token()))];
            let deadline = Instant::now() + PATIENCE;
            while Instant::now() < deadline {
                let status = client.send("GET", "/control/v1/status", &headers, b"").await.expect("a status");
                let status: Value = serde_json::from_slice(&status.body).expect("json");
                if status["recorder"]["queued"] == 0 {
                    return;
                }
            }
            panic!("the recorder does not come to rest");
        });
    }

    /// Stops it and waits for its end.
    #[cfg(unix)]
    pub fn terminate(mut self) -> std::process::ExitStatus {
        let told = Command::new("kill").arg(self.pid().to_string()).status().expect("kill runs");
        assert!(told.success());
        until("the daemon ends", || self.daemon.try_wait().expect("a child"))
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

pub fn provider() -> FakeProvider {
    FakeProvider::start(Options::default()).expect("a provider")
}

/// A conversation with this first question.
pub fn asking(seed: u64, question: &str) -> Session {
    let mut session = Session::new(seed).lean().hints(true);
    session.user(question);
    session
}

/// An address where nothing listens.
pub fn closed_port() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("an address")
}

pub fn finish(mut command: Command) -> Ran {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let deadline = Instant::now() + PATIENCE;
    let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text =
        |bytes: std::thread::JoinHandle<Vec<u8>>| String::from_utf8_lossy(&bytes.join().expect("read")).into_owned();
    Ran { code: status.code(), out: text(out), err: text(err) }
}

/// The exit code of a command whose output has no reader.
pub fn finish_unread(mut command: Command) -> Option<i32> {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    command.stdout(writer).stderr(Stdio::null()).status().expect("it starts").code()
}

fn collect(stream: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        bytes
    })
}

pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(unix)]
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode() & 0o777
}
