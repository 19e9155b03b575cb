//! Waits for a daemon.

use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// The address of the daemon of this home, once it listens.
///
/// # Panics
/// If it does not listen within `patience`.
pub fn listening(home: &Path, patience: Duration) -> SocketAddr {
    let address = || {
        let notice: Value = serde_json::from_slice(&std::fs::read(home.join("daemon.json")).ok()?).ok()?;
        notice["listen"].as_str()?.parse().ok()
    };
    let deadline = Instant::now() + patience;
    loop {
        if let Some(address) = address() {
            return address;
        }
        assert!(Instant::now() < deadline, "the daemon of {} does not come up", home.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}
