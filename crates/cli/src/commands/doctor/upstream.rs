//! Checks that requests reach the upstream: through the running daemon, or through a temporary one that stores nothing.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ctx_server::daemon::Daemon;
use ctx_server::{ServerConfig, Token};
use ctx_service::Service;
use ctx_store::MemoryStore;
use tokio::runtime::Builder;

use super::{Finding, Level};
use crate::client::reach_upstream;
use crate::config::Settings;
use crate::failure::Failure;
use crate::home::Home;
use ctx_api::status::Status;

/// Longer than the daemon's own connection timeout, so that it can report the cause.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn check(daemon: Option<&(SocketAddr, Status)>, settings: Option<&Settings>, home: &Home) -> Vec<Finding> {
    let (upstream, reached) = match (daemon, settings) {
        // A team's daemon passes only requests of people with a key.
        (Some((_, status)), Some(settings)) if status.me.is_some() => {
            (status.upstream.clone(), through_a_daemon_of_our_own(settings, home))
        }
        (Some((address, status)), _) => (status.upstream.clone(), reach_upstream(*address, PATIENCE)),
        (None, Some(settings)) => (settings.upstream.url.to_string(), through_a_daemon_of_our_own(settings, home)),
        // Configuration errors are already reported.
        (None, None) => return Vec::new(),
    };
    vec![match reached {
        Ok(None) => Finding::new("upstream", Level::Good, format!("{upstream} answers")),
        Ok(Some(why)) => match why.split_once(". ") {
            Some((what, advice)) => Finding::new("upstream", Level::Wrong, format!("{what}.")).hint(advice),
            None => Finding::new("upstream", Level::Wrong, why),
        },
        Err(failure) => Finding::wrong("upstream", failure),
    }]
}

fn through_a_daemon_of_our_own(settings: &Settings, home: &Home) -> Result<Option<String>, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let service = Arc::new(Service::open(Arc::new(MemoryStore::new()))?);
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut config = ServerConfig::new(listen, settings.upstream.clone(), Token::generate()?);
    config.workers = 1;
    let daemon = runtime.block_on(Daemon::bind(config, service, home.path().to_owned(), home.path().to_owned()))?;
    let address = daemon.local_addr();
    runtime.spawn(daemon.run(std::future::pending()));
    let reached = reach_upstream(address, PATIENCE);
    runtime.shutdown_background();
    reached
}
