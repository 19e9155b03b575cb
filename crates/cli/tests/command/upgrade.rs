//! A newer `ctx` and an older daemon; an older `ctx` and a newer store.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::place::{Place, finish, provider};

/// The process of a daemon of version 0.1.0, and a thread that answers for it: it reports the running requests and ends
/// with the process.
struct OldDaemon {
    address: SocketAddr,
    running: Arc<AtomicU64>,
    served: JoinHandle<()>,
}

impl OldDaemon {
    /// `status` is that of a real daemon.
    fn start(place: &Place, mut status: Value) -> Self {
        let mut process = Command::new("sleep").arg("60").spawn().expect("a process");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let notice = json!({ "pid": process.id(), "listen": address, "started_at": 1 });
        fs::write(place.home().join("daemon.json"), notice.to_string()).expect("written");
        status["version"] = "0.1.0".into();
        status["pid"] = process.id().into();
        let running = Arc::new(AtomicU64::new(1));
        let reported = running.clone();
        let served = std::thread::spawn(move || answer(&listener, &mut process, &mut status, &reported));
        Self { address, running, served }
    }
}

fn answer(listener: &TcpListener, process: &mut Child, status: &mut Value, running: &AtomicU64) {
    listener.set_nonblocking(true).expect("a port");
    while process.try_wait().expect("a process").is_none() {
        let Ok((mut socket, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        };
        socket.set_nonblocking(false).expect("a connection");
        let _ = socket.read(&mut [0; 4096]);
        status["requests"]["in_flight"] = running.load(Ordering::Relaxed).into();
        let body = status.to_string();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        let _ = socket.write_all((head + &body).as_bytes());
    }
}

#[test]
fn an_older_daemon_is_replaced_at_its_address_once_no_request_runs() {
    let place = Place::new();
    let provider = provider();
    let up = place.up(&provider.url());
    let mut status = place.run(&["status", "--json"]).ok().json();
    assert!(up.terminate().success());
    status["upstream"] = provider.url().into();
    let old = OldDaemon::start(&place, status);

    // A stream runs: the old daemon stays, and the agent uses it.
    let busy = finish(place.ctx(&["run", "--", "true"]));
    assert!(busy.err.contains("has version 0.1.0") && busy.err.contains("busy and stays"), "{busy:?}");
    assert!(!old.served.is_finished());

    old.running.store(0, Ordering::Relaxed);
    let ran = finish(place.ctx(&["run", "--", "true"]));
    assert!(ran.err.contains("replacing the daemon of version 0.1.0"), "{ran:?}");
    old.served.join().expect("the old daemon has ended");
    let now = place.run(&["status", "--json"]).ok().json();
    assert_eq!(now["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(now["listen"], old.address.to_string());
    assert_eq!(now["upstream"], provider.url());
    place.run(&["stop"]).ok();
}

#[test]
fn the_version_names_the_commit() {
    let place = Place::new();
    let told = place.run(&["--version"]).ok().out;
    let rest = told.trim().strip_prefix(concat!("ctx ", env!("CARGO_PKG_VERSION"))).expect("a version");
    let commit = rest.trim().trim_start_matches('(').trim_end_matches(')');
    assert!(rest.is_empty() || commit.len() == 10 && commit.chars().all(|digit| digit.is_ascii_hexdigit()), "{told}");
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_alone() {
    let place = Place::new();
    let provider = provider();
    assert!(place.up(&provider.url()).terminate().success());
    let path = place.home().join("ctx.db");
    let mut bytes = fs::read(&path).expect("a store");
    // The user version of an SQLite file: four bytes from byte 60, the largest first.
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    fs::write(&path, &bytes).expect("written");
    let ran = place.run(&["up", "--listen", "127.0.0.1:0"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("has schema version 99") && ran.err.contains("use the newer version"), "{ran:?}");
    assert!(fs::read(&path).expect("a store") == bytes, "the store is unchanged");
}
