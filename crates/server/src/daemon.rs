//! The whole daemon: the proxy, the service behind it, and the control API.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ctx_service::{Recorder, Service};

use crate::api::{self, Api};
use crate::config::ServerConfig;
use crate::helper::{Helper, retitle};
use crate::listen::{BindError, BoundPort, Server};
use crate::mcp;
use crate::observer::{ComposerObserver, Traffic};
use crate::signals;
use ctx_api::status::UpstreamView;

/// The time for storing observed requests on shutdown.
const LAST_WORDS: Duration = Duration::from_secs(5);

pub struct Daemon {
    bound: BoundPort,
    recorder: Recorder,
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
        let recorder = Recorder::start(service.clone())?;
        let traffic: Arc<Traffic> = Arc::default();
        let observer = Arc::new(ComposerObserver::new(service.clone(), recorder.clone(), traffic.clone()));
        let named = |(name, upstream): &(String, crate::config::Upstream)| UpstreamView {
            name: name.clone(),
            url: upstream.url.to_string(),
        };
        let upstreams = (config.upstream.url.to_string(), config.upstreams.iter().map(named).collect());
        let helper = Arc::new(Helper::new(config.helper.clone(), &config.upstream, &config.limits, &home));
        if helper.is_on() && helper.settings().titles {
            retitle(helper.clone(), service.clone());
        }
        if let Some(crate::config::Rules(rules)) = config.rules.clone() {
            signals::tell(&service, rules);
        }
        let api = Api::new(service, recorder.clone(), traffic, upstreams, home, store_path, helper);
        let control = mcp::beside(api::router(api.clone()), config.mcp.clone());
        let bound = Server::bind(config, observer, control).await?;
        api.listens_on(bound.local_addr());
        Ok(Daemon { bound, recorder })
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.bound.local_addr()
    }

    /// Serves until `shutdown` is ready, then lets running requests finish and stores the last of them.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
        let ended = self.bound.run(shutdown).await;
        let recorder = self.recorder;
        let _ = tokio::task::spawn_blocking(move || recorder.settle(LAST_WORDS)).await;
        ended
    }
}
