//! The whole daemon: the proxy, the service behind it, and the control API.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx_service::{Service, now};

use crate::api::Surroundings;
use crate::config::ServerConfig;
use crate::helper::Helper;
use crate::listen::{BindError, BoundPort, Server};
use crate::metrics::Metrics;
use crate::oidc::Oidc;
use crate::retention::{self, RetentionSettings};
use crate::signals;
use crate::team::{Desk, Team};
use ctx_api::status::UpstreamView;
use tokio::task::JoinSet;

/// The time for storing observed requests on shutdown.
const LAST_WORDS: Duration = Duration::from_secs(5);

pub struct Daemon {
    bound: BoundPort,
    desk: Arc<Desk>,
    team: Option<Arc<Team>>,
    retention: Option<RetentionSettings>,
    metrics: Arc<Metrics>,
}

#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl Daemon {
    /// Opens the port. `home` and `store_path` are only shown, by `ctx status`.
    pub async fn bind(
        config: ServerConfig,
        service: Arc<Service>,
        home: PathBuf,
        store_path: PathBuf,
    ) -> Result<Daemon, DaemonError> {
        let named = |(name, upstream): &(String, crate::config::Upstream)| UpstreamView {
            name: name.clone(),
            url: upstream.url.to_string(),
        };
        let helper = Arc::new(Helper::new(config.helper.clone(), &config.upstream, &config.limits, &home));
        let around = Surroundings {
            upstream: config.upstream.url.to_string(),
            upstreams: config.upstreams.iter().map(named).collect(),
            home,
            store_path,
            started_at: now(),
            listen: Arc::default(),
            helper,
            mcp: config.mcp.clone(),
            metrics: Arc::default(),
        };
        if let Some(crate::config::Rules(rules)) = config.rules.clone() {
            signals::tell(&service, rules);
        }
        let (desk, team) = match config.team.clone() {
            None => (Arc::new(Desk::new(service, &around, None)?), None),
            Some(settings) => {
                let oidc = config.oidc.clone().zip(config.public_url.as_ref());
                let oidc = oidc.map(|(oidc, public)| Oidc::new(oidc, public, &config.upstream, &config.limits));
                let team = Team::new(settings, oidc, around.clone(), service)?;
                (team.operator().ok_or_else(|| std::io::Error::other("no desk"))?, Some(team))
            }
        };
        let retention = config.retention;
        let bound = Server::bind(config, desk.observer.clone(), desk.routes.clone()).await?;
        let bound = bound.serving(&desk, team.clone(), around.metrics.clone());
        around.listens_on(bound.local_addr());
        Ok(Daemon { bound, desk, team, retention, metrics: around.metrics })
    }

    /// The address for agents.
    pub fn local_addr(&self) -> SocketAddr {
        self.bound.local_addr()
    }

    /// The address of `/metrics`, if it has its own port.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.bound.metrics_addr()
    }

    /// The address for commands on this machine: without TLS.
    pub fn nearby_addr(&self) -> SocketAddr {
        self.bound.nearby_addr()
    }

    /// Serves until `shutdown` is ready, then lets running requests finish and stores the last of them.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
        let mut removing = JoinSet::new();
        if let Some(settings) = self.retention {
            removing.spawn(retention::run(settings, self.desk.clone(), self.team.clone(), self.metrics));
        }
        let ended = self.bound.run(shutdown).await;
        removing.shutdown().await;
        let mut desks = self.team.as_ref().map(|team| team.open_desks()).unwrap_or_default();
        desks.push(self.desk);
        let _ = tokio::task::spawn_blocking(move || {
            let end = Instant::now() + LAST_WORDS;
            desks.iter().for_each(|desk| desk.recorder.settle(end.saturating_duration_since(Instant::now())));
            self.team.iter().for_each(|team| team.registry().save_used());
        })
        .await;
        ended
    }
}
