//! The measured servers: `ctx up` and nginx with the same sink, and the sink itself. Each is a separate process on
//! loopback, with its files in a temporary folder.

use super::process::Running;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The timeout for a server to listen.
const STARTING: Duration = Duration::from_secs(10);

pub struct Stage {
    program: PathBuf,
    nginx_program: PathBuf,
    nginx: (Running, SocketAddr),
    sink: (Running, SocketAddr),
    /// Last, so that it is dropped when no longer used.
    folder: TempDir,
}

impl Stage {
    /// Starts the sink and nginx. `program` is the `ctx` binary.
    pub fn set(program: &Path, nginx: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("ctx-bench-").tempdir()?;
        let sink = start_sink()?;
        let proxy = start_nginx(nginx, &folder.path().join("nginx"), &[sink.1])?;
        Ok(Self { program: program.canonicalize()?, nginx_program: nginx.to_owned(), nginx: proxy, sink, folder })
    }

    pub fn sink(&self) -> SocketAddr {
        self.sink.1
    }

    pub fn nginx(&self) -> SocketAddr {
        self.nginx.1
    }

    /// A new folder for a daemon's files.
    pub fn home(&self, name: &str) -> io::Result<PathBuf> {
        let home = self.folder.path().join(name);
        std::fs::create_dir(&home)?;
        Ok(home)
    }

    /// Starts another nginx before these servers. A session stays with its server.
    pub fn balancer(&self, name: &str, servers: &[SocketAddr]) -> io::Result<(Running, SocketAddr)> {
        start_nginx(&self.nginx_program, &self.folder.path().join(name), servers)
    }

    /// Starts a daemon and waits until it accepts connections; returns the time it took.
    pub fn daemon(&self, home: &Path) -> io::Result<Daemon> {
        self.daemon_with(home, &[])
    }

    /// The same with more arguments.
    pub fn daemon_with(&self, home: &Path, arguments: &[&str]) -> io::Result<Daemon> {
        let address = free_address()?;
        let mut command = self.ctx(home);
        let log = std::fs::File::create(home.with_extension("log"))?;
        command.arg("up").arg("--listen").arg(address.to_string());
        command.arg("--upstream").arg(format!("http://{}", self.sink()));
        for name in ["openai", "gemini"] {
            command.arg("--upstream").arg(format!("{name}=http://{}", self.sink()));
        }
        command.args(arguments);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let began = Instant::now();
        let mut running = Running::start(&mut command)?;
        wait_for(address, &mut running)
            .map_err(|error| io::Error::other(format!("{error}: {}", last_words(&home.with_extension("log")))))?;
        Ok(Daemon { running, address, started_in: began.elapsed() })
    }

    /// The `ctx` command with this home and a clean environment.
    pub fn ctx(&self, home: &Path) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy().to_ascii_lowercase();
            if text.starts_with("ctx_") || text.ends_with("_proxy") || text == "rust_log" {
                command.env_remove(name);
            }
        }
        command.env("CTX_HOME", home).current_dir(self.folder.path());
        command
    }
}

pub struct Daemon {
    running: Running,
    pub address: SocketAddr,
    /// From starting the process to its first accepted connection.
    pub started_in: Duration,
}

impl Daemon {
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    pub fn stop(mut self) -> io::Result<()> {
        self.running.stop()
    }

    /// Calls the control API with the token of this home.
    pub fn post(&self, home: &Path, path: &str, body: &str) -> io::Result<()> {
        let token = std::fs::read_to_string(home.join("token"))?;
        let mut stream = TcpStream::connect(self.address)?;
        let request = format!(
            "POST /control/v1/{path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            token.trim(),
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        match answer.starts_with("HTTP/1.1 200 ") {
            true => Ok(()),
            false => Err(io::Error::other(answer)),
        }
    }

    /// Waits until everything is recorded: until its threads are idle.
    pub fn settle(&self) -> io::Result<Duration> {
        const REST: Duration = Duration::from_millis(40);
        let began = Instant::now();
        let mut before = super::process::thread_time(self.id(), &["ctx"])?;
        while began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(REST);
            let now = super::process::thread_time(self.id(), &["ctx"])?;
            if now == before {
                break;
            }
            before = now;
        }
        Ok(began.elapsed().saturating_sub(REST))
    }
}

/// This program again, as the sink. It ends when its standard input closes, with the bench.
fn start_sink() -> io::Result<(Running, SocketAddr)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bench-sink").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = Running::start(&mut command)?;
    let output = running.output().ok_or_else(|| io::Error::other("the sink has no output"))?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let address = line.trim().parse().map_err(|_| io::Error::other("the sink did not say where it listens"))?;
    Ok((running, address))
}

/// A plain reverse proxy, configured for streaming as its manual says. Request bodies are forwarded as they arrive,
/// like in `ctx`: by default, nginx would first write them to a file. One worker per processor is Debian's default;
/// upstream connections are kept open.
fn start_nginx(program: &Path, files: &Path, servers: &[SocketAddr]) -> io::Result<(Running, SocketAddr)> {
    let address = free_address()?;
    std::fs::create_dir(files)?;
    let place_by = if servers.len() > 1 { "hash $http_x_claude_code_session_id consistent; " } else { "" };
    let servers: String = servers.iter().map(|server| format!("server {server}; ")).collect();
    let place = files.display();
    // Started by root, its workers would change to another user without access to our folder.
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    let text = format!(
        "{user}
worker_processes auto;
worker_rlimit_nofile 16384;
pid {place}/pid;
error_log stderr warn;
daemon off;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    client_max_body_size 0;
    client_body_buffer_size 256k;
    keepalive_timeout 3600s;
    keepalive_requests 1000000;
    tcp_nodelay on;
    upstream servers {{ {place_by}{servers}keepalive 256; keepalive_requests 1000000; keepalive_timeout 3600s; }}
    server {{
        listen {address} backlog=4096;
        location / {{
            proxy_pass http://servers;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_buffering off;
            proxy_request_buffering off;
            proxy_read_timeout 3600s;
        }}
    }}
}}
"
    );
    let configuration = files.join("nginx.conf");
    std::fs::write(&configuration, text)?;
    let mut command = Command::new(program);
    command.arg("-c").arg(&configuration).arg("-p").arg(files).stdin(Stdio::null());
    let mut running = Running::start(&mut command)?;
    wait_for(address, &mut running)?;
    Ok((running, address))
}

/// A port that was free a moment ago.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

fn wait_for(address: SocketAddr, running: &mut Running) -> io::Result<()> {
    let deadline = Instant::now() + STARTING;
    loop {
        if TcpStream::connect(address).is_ok() {
            return Ok(());
        }
        if let Some(status) = running.has_ended()? {
            return Err(io::Error::other(format!("it ended with {status} before it listened")));
        }
        if Instant::now() > deadline {
            return Err(io::Error::other("it does not listen"));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn last_words(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(5)..).unwrap_or_default().join(" / ")
}
