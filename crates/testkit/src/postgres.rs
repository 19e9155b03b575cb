//! A PostgreSQL server for one test program: in a temporary folder, on a free port of loopback and on a socket. It ends
//! with the program, however that ends. Each test has a database of its own.

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Debian keeps the programs of each version here.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Runs the server until its input ends, then stops it and removes its folder. Each line of the input kills the server
/// and starts it again.
const KEEPER: &str = r#"folder=$1; shift; "$@" & server=$!
while read -r _; do kill -KILL "$server"; wait "$server"; sleep 0.2; "$@" & server=$!; done
kill -INT "$server"; wait "$server"; rm -rf "$folder""#;

/// The server refuses to run as root.
const USER: &str = "postgres";

pub struct PostgresServer {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    pooler: OnceLock<Option<Pooler>>,
    /// Its input ends with this program.
    keeper: Child,
}

/// A pgbouncer before the server, which lends a connection for one transaction.
struct Pooler {
    port: u16,
    _keeper: Child,
}

impl PostgresServer {
    /// The server of this program. `None` where PostgreSQL is not installed: the test is skipped, but must run in CI.
    pub fn shared() -> Option<&'static Self> {
        static SERVER: OnceLock<Option<PostgresServer>> = OnceLock::new();
        let server =
            SERVER.get_or_init(|| programs().map(|programs| Self::start(programs, None).expect("a database server")));
        if server.is_none() {
            println!("SKIPPED: PostgreSQL is not installed");
            assert!(std::env::var_os("CI").is_none(), "PostgreSQL is missing: run `cargo xtask test`");
        }
        server.as_ref()
    }

    /// Starts another server.
    pub fn start_another() -> Option<Self> {
        let programs = Self::shared()?.programs.clone();
        Some(Self::start(programs, None).expect("a database server"))
    }

    /// Starts another server that speaks TLS with this certificate and key, both as PEM.
    pub fn start_secured(certificate: &str, key: &str) -> Option<Self> {
        let programs = Self::shared()?.programs.clone();
        Some(Self::start(programs, Some((certificate, key))).expect("a database server"))
    }

    fn start(programs: PathBuf, tls: Option<(&str, &str)>) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("ctx-postgres-").tempdir()?.keep();
        let data = folder.join("data");
        std::fs::create_dir(&data)?;
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        if let Some(given) = tls {
            std::fs::write(&certificate, given.0)?;
            std::fs::write(&key, given.1)?;
            done(Command::new("chmod").arg("600").arg(&key))?;
        }
        if is_root() {
            done(Command::new("chmod").arg("755").arg(&folder))?;
            done(Command::new("chown").arg("-R").arg(USER).arg(&folder))?;
        }
        let mut init = stepped_down(&programs.join("initdb"));
        init.args(["--username=ctx", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        done(init.arg("-D").arg(&data))?;
        let port = free_port()?;
        let mut server = stepped_down(&programs.join("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(&folder).args(["-h", "127.0.0.1", "-p", &port.to_string()]);
        server.args(["-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c", "autovacuum=off"]);
        if tls.is_some() {
            let setting = |name: &str, path: &Path| format!("{name}={}", path.display());
            server.args(["-c", "ssl=on", "-c", &setting("ssl_cert_file", &certificate)]);
            server.args(["-c", &setting("ssl_key_file", &key)]);
        }
        let keeper = kept(&server, &folder)?;
        let server = Self { programs, folder, port, pooler: OnceLock::new(), keeper };
        let end = Instant::now() + Duration::from_secs(60);
        while server.sql("postgres", "SELECT 1").is_err() {
            assert!(Instant::now() < end, "the database server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// A new database; returns its name.
    pub fn new_database(&self) -> String {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("ctx{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}")).expect("a database");
        name
    }

    /// The address of a database.
    pub fn url(&self, database: &str) -> String {
        Self::url_at(self.port, database)
    }

    /// The address of a database behind another port.
    pub fn url_at(port: u16, database: &str) -> String {
        format!("postgres://ctx@127.0.0.1:{port}/{database}")
    }

    /// The address of a database over the socket.
    pub fn socket_url(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://ctx@{folder}:{}/{database}", self.port)
    }

    /// The port of a pooler before the server. `None` where pgbouncer is not installed: the test is skipped, but must
    /// run in CI.
    pub fn pooler(&self) -> Option<u16> {
        let pooler = self.pooler.get_or_init(|| {
            let program = Path::new("/usr/sbin/pgbouncer");
            program.exists().then(|| self.start_pooler(program).expect("a pooler"))
        });
        if pooler.is_none() {
            println!("SKIPPED: pgbouncer is not installed");
            assert!(std::env::var_os("CI").is_none(), "pgbouncer is missing: run `cargo xtask test`");
        }
        pooler.as_ref().map(|pooler| pooler.port)
    }

    fn start_pooler(&self, program: &Path) -> io::Result<Pooler> {
        let (port, folder) = (free_port()?, self.folder.join("pooler"));
        std::fs::create_dir(&folder)?;
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user=ctx\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 500\n",
            self.port
        );
        let file = folder.join("pgbouncer.ini");
        std::fs::write(&file, settings)?;
        let keeper = kept(stepped_down(program).arg(&file), &folder)?;
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(Instant::now() < end, "the pooler does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Pooler { port, _keeper: keeper })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills the server without warning and waits until it has recovered.
    pub fn crash(&self) -> io::Result<()> {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            let mut input = self.keeper.stdin.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
            input.write_all(b"\n")?;
            // A server whose predecessor's processes still run ends at once, and is started again.
            let attempt = Instant::now();
            std::thread::sleep(Duration::from_millis(300));
            while attempt.elapsed() < Duration::from_secs(5) {
                if self.sql("postgres", "SELECT 1").is_ok() {
                    return Ok(());
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Kills a process that serves a connection. The server then ends all connections and recovers.
    pub fn kill_backend(&self) -> io::Result<()> {
        let sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() \
                   ORDER BY random() LIMIT 1";
        let backend = self.sql("postgres", sql)?;
        done(Command::new("kill").args(["-KILL", backend.trim()]))
    }

    /// Runs statements and returns what they print, one line per row.
    pub fn sql(&self, database: &str, statements: &str) -> io::Result<String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "ctx", "-h", "127.0.0.1"]);
        let ran = psql.args(["-p", &self.port.to_string(), "-d", database, "-c", statements]).output()?;
        if !ran.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&ran.stderr).into_owned()));
        }
        Ok(String::from_utf8_lossy(&ran.stdout).trim_end().to_owned())
    }
}

/// The folder of the newest installed version.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = versions.map(|path| path.join("bin")).collect();
    found.retain(|bin| bin.join("initdb").exists() && bin.join("postgres").exists());
    found.sort();
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
    };
    found.pop().or_else(on_path)
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Starts a program that ends with this one; then its folder is removed.
fn kept(program: &Command, folder: &Path) -> io::Result<Child> {
    let mut keeper = Command::new("sh");
    keeper.arg("-c").arg(KEEPER).arg("keeper").arg(folder).arg(program.get_program()).args(program.get_args());
    let log = std::fs::File::create(folder.join("log"))?;
    keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).spawn()
}

fn stepped_down(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--"]).arg(program);
    command
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

fn done(command: &mut Command) -> io::Result<()> {
    let ran = command.output()?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&ran.stderr).into_owned())),
    }
}
