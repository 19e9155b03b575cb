//! A daemon in this process: assembled from its settings, announced by a notice in its home while it runs.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use ctx_core::ErrorCode;
use ctx_engine::ports::About;
use ctx_server::daemon::Daemon;
use ctx_server::{Rules, ServerConfig, TeamSettings, Token};
use ctx_service::Service;
use ctx_service::automatic::Editor;
use ctx_service::edit::Folder;
use tokio::runtime::{Builder, Runtime};

use crate::config::{Flags, LiveRules, Settings, WaitlessRules};
use crate::desks::Desks;
use crate::edited_cards;
use crate::env::Environment;
use crate::failure::Failure;
use crate::home::{Home, Notice};
use crate::open_store::OpenStore;
use crate::token;

/// The parts of a daemon before it opens its port.
pub struct Assembly {
    config: ServerConfig,
    service: Arc<Service>,
    store: OpenStore,
    home: Home,
    pub token: Token,
    pub rules: Arc<dyn ctx_engine::automatic::Rules>,
}

impl Assembly {
    /// Opens the store and everything on top of it. `folder` is the working directory; `note` gets remarks for people.
    pub fn new(
        flags: &Flags,
        settings: Settings,
        environment: &Environment,
        home: &Home,
        folder: &Path,
        note: impl Fn(&str),
    ) -> Result<Self, Failure> {
        home.prepare()?;
        let store = OpenStore::open(home, settings.store.as_ref(), settings.team, &note)?;
        let token = token::for_daemon(home, environment)?;
        let offload = match settings.offload {
            // The user's own settings may name any folder; a project's folder must be inside the project.
            Some(offload) if offload.starts_with(folder) => Folder::in_project(folder, offload),
            Some(offload) => Folder::in_project(&offload.clone(), offload),
            None => Folder::in_home(home.path()),
        };
        let service = match settings.team {
            // Agents are elsewhere: they cannot read files here.
            true => store.service()?.keeping_in_store(settings.handles),
            false => store.service()?.offloading_to(offload.clone()),
        };
        let upstream = settings.upstream.url.to_string();
        let desks = Desks {
            store: store.clone(),
            home: home.clone(),
            environment: environment.clone(),
            moments: settings.moments,
            models: settings.models.clone(),
            rules: Arc::new(WaitlessRules::new(Arc::new(LiveRules::new(flags, environment, home).ignoring_folders()))),
            upstream: upstream.clone(),
            handles: settings.handles,
        };
        let service = service.with_moments(settings.moments).with_models(settings.models);
        let live = LiveRules::new(flags, environment, home);
        let live = if settings.team { live.ignoring_folders() } else { live };
        let live = Arc::new(WaitlessRules::new(Arc::new(live)));
        let service = Arc::new(service.with_provider(live.clone(), &upstream));
        if store.is_shared() {
            edited_cards::keep(home, store.place().display().to_string(), &service);
        }
        let rules: Arc<dyn ctx_engine::automatic::Rules> = live;
        // If the provider clears too, the automatic editor has a higher threshold.
        let asking = Arc::downgrade(&service);
        let provider = move |about: &About<'_>| asking.upgrade().is_some_and(|service| service.provider_edits(about));
        let editor = match settings.team {
            true => Editor::in_store(rules.clone(), settings.handles, Box::new(provider)),
            false => Editor::new(rules.clone(), offload, Box::new(provider)),
        };
        service.automate(Some(Arc::new(editor)));
        let mut config = ServerConfig::new(settings.listen, settings.upstream, token.clone());
        config.upstreams = settings.upstreams;
        config.allow_remote = settings.allow_remote;
        config.tls = settings.tls;
        config.metrics = settings.metrics;
        config.limits.drain = settings.drain;
        config.public_url = settings.public_url;
        config.oidc = settings.oidc;
        config.mcp = settings.mcp;
        config.rules = Some(Rules(rules.clone()));
        config.helper = settings.helper;
        config.retention = settings.retention;
        if settings.team {
            config.team = Some(TeamSettings {
                registry: desks.registry(note)?,
                open: Arc::new(desks),
                credentials: settings.credentials,
                idle: settings.idle,
            });
        }
        Ok(Self { config, service, store, home: home.clone(), token, rules })
    }

    pub fn upstream(&self) -> String {
        self.config.upstream.url.to_string()
    }

    /// Opens the port. The notice follows with [`BoundDaemon::announce`].
    pub async fn bind(self) -> Result<BoundDaemon, Failure> {
        let Self { config, service, store, home, .. } = self;
        let daemon = Daemon::bind(config, service, home.path().to_owned(), store.place()).await?;
        Ok(BoundDaemon { daemon, store, home })
    }
}

/// A daemon that owns its port but does not serve yet.
pub struct BoundDaemon {
    daemon: Daemon,
    store: OpenStore,
    home: Home,
}

impl BoundDaemon {
    pub fn listen(&self) -> SocketAddr {
        self.daemon.local_addr()
    }

    /// Writes the notice by which other commands find this daemon; it is removed with the returned value.
    pub fn announce(&self) -> Result<Announcement, Failure> {
        let listen = self.daemon.nearby_addr();
        let notice = Notice { pid: std::process::id(), listen, started_at: ctx_service::now() };
        self.home.put_up(&notice)?;
        Ok(Announcement { home: self.home.clone(), notice })
    }

    /// Serves until `stop` is ready.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), Failure> {
        let ended = self.daemon.run(stop).await;
        ended.map_err(|error| Failure::new(ErrorCode::Daemon, format!("the daemon failed: {error}")))?;
        // Threads that end with the process still hold the store, so it is not closed.
        if let Err(error) = self.store.checkpoint() {
            tracing::warn!(%error, "cannot empty the store's write-ahead log; the next start does");
        }
        Ok(())
    }
}

/// Keeps the notice for as long as the daemon runs.
pub struct Announcement {
    home: Home,
    notice: Notice,
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.home.take_down(&self.notice);
    }
}

/// Two threads, so that a long computation of a control request does not block accepting.
pub fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(ErrorCode::NoRuntime, format!("the daemon cannot start its threads: {error}")))
}
