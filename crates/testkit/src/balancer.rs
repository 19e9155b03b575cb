//! nginx before several daemons, with the settings that the packages recommend. It ends with the handle.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The server that gets a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Each one the next.
    RoundRobin,
    /// A session stays with its server.
    BySession,
}

pub struct Balancer {
    address: SocketAddr,
    nginx: Child,
    _folder: TempDir,
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.nginx.id().to_string()).status();
        let _ = self.nginx.wait();
    }
}

impl Balancer {
    /// `None` where nginx is not installed: the test is skipped, but must run in CI.
    pub fn before(servers: &[SocketAddr], placement: Placement) -> Option<Self> {
        match Self::start(servers, placement) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                println!("SKIPPED: nginx is not installed");
                assert!(std::env::var_os("CI").is_none(), "nginx is missing: run `cargo xtask test`");
                None
            }
            started => Some(started.expect("a balancer")),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn start(servers: &[SocketAddr], placement: Placement) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("ctx-nginx-").tempdir()?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, settings(address, folder.path(), servers, placement))?;
        let mut nginx = Command::new("nginx");
        nginx.arg("-c").arg(&file).arg("-p").arg(folder.path());
        let nginx = nginx.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let balancer = Self { address, nginx, _folder: folder };
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(address).is_err() {
            if Instant::now() > end {
                return Err(io::Error::other("nginx does not listen"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(balancer)
    }
}

/// A server that was killed gets requests again at once: by default, nginx would leave it out for ten seconds.
fn settings(address: SocketAddr, folder: &std::path::Path, servers: &[SocketAddr], placement: Placement) -> String {
    let place = match placement {
        Placement::RoundRobin => "",
        Placement::BySession => "hash $place consistent;",
    };
    let servers: String = servers.iter().map(|server| format!("server {server} max_fails=0; ")).collect();
    let folder = folder.display();
    #[cfg(unix)]
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    #[cfg(not(unix))]
    let user = "";
    format!(
        "{user}
worker_processes 1;
pid {folder}/pid;
error_log {folder}/errors crit;
daemon off;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    map $http_x_claude_code_session_id $place {{
        \"\"      $http_x_ctx_key$http_authorization;
        default $http_x_claude_code_session_id;
    }}
    upstream daemons {{ {place} {servers} }}
    server {{
        listen {address};
        location / {{
            proxy_pass http://daemons;
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_set_header Connection \"\";
            proxy_buffering off;
            proxy_request_buffering off;
            client_max_body_size 64m;
            proxy_connect_timeout 2s;
            proxy_read_timeout 1h;
            proxy_next_upstream error timeout;
        }}
    }}
}}
"
    )
}
