//! Replaces a running daemon, in a moment in which no request runs: no stream is cut.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ctx_api::status::Status;

use crate::background;
use crate::client::{Client, LocalClient};
use crate::commands::{run, stop};
use crate::config::{Flags, Settings};
use crate::context::Context;
use crate::failure::Failure;
use crate::platform::service::Manager;

/// The time to wait for such a moment. A daemon that stays busy goes on; any later start tries again.
const PATIENCE: Duration = Duration::from_secs(3);
/// The time for the service manager to start the new daemon.
const RESTART: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// This program's version.
pub const OWN: &str = env!("CARGO_PKG_VERSION");

/// Whether a daemon of this version is older than this program.
pub fn is_older(version: &str) -> bool {
    let numbers = |version: &str| {
        let plain = version.split(['-', '+', ' ']).next().unwrap_or_default();
        plain.split('.').map(|part| part.parse::<u64>().ok()).collect::<Option<Vec<u64>>>()
    };
    matches!((numbers(version), numbers(OWN)), (Some(theirs), Some(own)) if theirs < own)
}

/// Replaces an older daemon by one of this version with the same address and upstreams. While the older one is busy, it
/// stays.
pub fn replace(
    client: LocalClient,
    old: Status,
    flags: &Flags,
    context: &Context,
) -> Result<(SocketAddr, Status), Failure> {
    let address = client.address();
    if !falls_idle(&client) {
        context.note(&format!(
            "the running daemon has version {}, this is {OWN}; it is busy and stays until the next start without a \
             running request",
            old.version
        ));
        return Ok((address, old));
    }
    context.note(&format!("replacing the daemon of version {} by {OWN}", old.version));
    let manager = Manager::of_this_system();
    if manager.file(&context.environment).is_ok_and(|file| file.exists()) && manager.is_active() {
        let logged = background::log_length(&context.home()?);
        manager.restart()?;
        return restarted(old.pid, logged, context);
    }
    stop::stop(old.pid)?;
    start_again(flags, address, &old, context)
}

/// Starts a daemon with the address and upstreams of one that was stopped.
pub fn start_again(
    flags: &Flags,
    address: SocketAddr,
    old: &Status,
    context: &Context,
) -> Result<(SocketAddr, Status), Failure> {
    run::start(kept(flags, address, old, context)?, context)
}

/// Waits for a moment without a running request.
pub fn falls_idle(client: &Client) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match client.status() {
            Ok(status) if status.requests.in_flight == 0 => return true,
            Ok(_) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            _ => return false,
        }
    }
}

/// The daemon that the service manager has started after the old one. `logged` is the length of the log before.
pub fn restarted(old: u32, logged: u64, context: &Context) -> Result<(SocketAddr, Status), Failure> {
    let home = context.home()?;
    let deadline = Instant::now() + RESTART;
    loop {
        if let Some((client, status)) = background::answering(&home).filter(|(_, status)| status.pid != old) {
            return Ok((client.address(), status));
        }
        if let Some(failure) = background::last_error(&home.log_file(), logged) {
            return Err(failure);
        }
        if Instant::now() > deadline {
            return Err(background::silent(&home));
        }
        std::thread::sleep(PAUSE);
    }
}

/// The flags with which the new daemon has the address and the upstreams of the old one. Those that it would have
/// anyway are left to its settings.
fn kept(flags: &Flags, address: SocketAddr, old: &Status, context: &Context) -> Result<Flags, Failure> {
    let home = context.home()?;
    let folder = std::env::current_dir().unwrap_or_default();
    let mut flags = flags.clone();
    let own = Settings::load(&flags, &context.environment, &home, &folder)?;
    if flags.listen.is_none() && own.listen != address {
        flags.listen = Some(address);
    }
    if flags.upstream.is_none() && own.upstream.url.to_string() != old.upstream {
        flags.upstream = old.upstream.parse().ok();
    }
    for upstream in &old.upstreams {
        let has = own.upstreams.iter().any(|(name, own)| *name == upstream.name && own.url.to_string() == upstream.url);
        let is_given = flags.upstreams.iter().any(|(name, _)| *name == upstream.name);
        if let Some(url) = upstream.url.parse().ok().filter(|_| !has && !is_given) {
            flags.upstreams.push((upstream.name.clone(), url));
        }
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(is_older("0.0.9") && is_older("0.1.0-alpha (3f9a1c2)"));
        assert!(!is_older(OWN) && !is_older("99.0.0") && !is_older("0.10.0") && !is_older("") && !is_older("new"));
    }
}
