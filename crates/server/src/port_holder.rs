//! Finds the program that holds a port: another daemon, or a program that the system names.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::proxy::errors::ERROR_HEADER;

/// The program that listens on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortHolder {
    /// Another daemon.
    Daemon,
    /// Another program, by name and process.
    Program(String),
}

impl fmt::Display for PortHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortHolder::Daemon => f.write_str("another ctx daemon"),
            PortHolder::Program(name) => f.write_str(name),
        }
    }
}

pub(crate) async fn find(listen: SocketAddr) -> Option<PortHolder> {
    let asked = tokio::time::timeout(Duration::from_millis(500), is_daemon(reachable(listen))).await;
    if asked == Ok(true) {
        return Some(PortHolder::Daemon);
    }
    tokio::task::spawn_blocking(move || program_on(listen.port())).await.ok().flatten().map(PortHolder::Program)
}

/// Replaces an address that cannot be connected to, such as 0.0.0.0.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// A daemon refuses this request, which has no token, and marks the refusal as its own.
async fn is_daemon(address: SocketAddr) -> bool {
    let ask = async {
        let mut socket = TcpStream::connect(address).await?;
        let request = format!("GET /control/v1/status HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        socket.take(4096).read_to_end(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    let answer = ask.await.unwrap_or_default();
    let answer = String::from_utf8_lossy(&answer).to_ascii_lowercase();
    answer.contains(ERROR_HEADER.as_str())
}

#[cfg(target_os = "linux")]
fn program_on(port: u16) -> Option<String> {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .flat_map(|table| listening_inodes(&table, port))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    if sockets.is_empty() {
        return None;
    }
    // Other users' processes hide their files; then the name stays unknown.
    let processes = std::fs::read_dir("/proc").ok()?;
    for process in processes.flatten() {
        let Some(id) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(files) = std::fs::read_dir(process.path().join("fd")) else { continue };
        let holds = files
            .flatten()
            .filter_map(|file| std::fs::read_link(file.path()).ok())
            .any(|target| sockets.iter().any(|socket| target.as_os_str() == socket.as_str()));
        if holds {
            let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some(format!("{} (process {id})", name.trim()));
        }
    }
    None
}

#[cfg(not(target_os = "linux"))]
fn program_on(_port: u16) -> Option<String> {
    None
}

/// The inodes of listening sockets on a port, from a table such as `/proc/net/tcp`: the columns are number, local
/// address, remote address, state (0A = listening) …; the inode is the tenth.
#[cfg(target_os = "linux")]
fn listening_inodes(table: &str, port: u16) -> Vec<String> {
    let suffix = format!(":{port:04X}");
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let (local, state, inode) = (columns.get(1)?, columns.get(3)?, columns.get(9)?);
            (local.ends_with(&suffix) && *state == "0A").then(|| (*inode).to_owned())
        })
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_sockets_is_read_by_port_and_state() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:2254 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0 100 0\n\
             1: 0100007F:2254 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 222 1 0 100 0\n\
             2: 0100007F:2255 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 333 1 0 100 0\n\
             broken\n";
        assert_eq!(listening_inodes(table, 0x2254), ["111"]);
        assert!(listening_inodes("", 1).is_empty());
    }
}
