//! The port: opens it, accepts connections, distributes them among the workers, and shuts down.
//!
//! Each worker is a thread with its own runtime, and a connection stays with its worker, together with its upstream
//! connection. So an arriving byte wakes exactly the task that forwards it.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use axum::Router;
use ctx_service::Service;
use ctx_wire::Provider;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::auth::{Auth, OwnAddresses};
use crate::config::{Limits, ServerConfig, Upstream, UpstreamUrl};
use crate::connection::tls::{self, ClientSocket, TlsError};
use crate::connection::{self, AcceptedConnection, Register};
use crate::files::{self, Spare};
use crate::local::LocalPaths;
use crate::metrics::{self, Metrics};
use crate::port_holder::{self, PortHolder};
use crate::proxy::{Observers, Proxy, SetupError, Target, Targets};
use crate::router::PathRouter;
use crate::team::{Desk, Team};
use crate::watch::Observer;

/// The backlog of connections; a burst of clients must not be refused.
const BACKLOG: u32 = 1024;
/// The time that a start waits for the lookup of the upstream's name.
const LOOKUP: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("listening on {listen} would let other machines use this daemon without {missing}")]
    RemoteRefused { listen: SocketAddr, missing: &'static str },
    #[error("the metrics on {listen} would be open to other machines")]
    RemoteMetrics { listen: SocketAddr },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot listen on {listen}: the port is in use{}", by(.holder))]
    PortTaken { listen: SocketAddr, holder: Option<PortHolder> },
    #[error("cannot listen on {listen}: {source}")]
    Listen { listen: SocketAddr, source: io::Error },
    #[error("the upstream {upstream} is this daemon itself, which listens on {listen}; requests would loop forever")]
    Loop { listen: SocketAddr, upstream: String },
    #[error(transparent)]
    Setup(#[from] SetupError),
}

impl BindError {
    /// Advice.
    pub fn hint(&self) -> &'static str {
        match self {
            BindError::RemoteRefused { .. } => {
                "listen on 127.0.0.1; or add --team, --tls-cert FILE and --tls-key FILE; or, if something else protects \
                 the port, such as a proxy with TLS or a container's network, add --allow-remote"
            }
            BindError::RemoteMetrics { .. } => {
                "choose a loopback address; or read /control/v1/metrics with the key of an auditor; or, if something else \
                 protects the port, add --allow-remote"
            }
            BindError::Tls(_) => "both files must be PEM, readable, and belong together",
            BindError::PortTaken { holder: Some(PortHolder::Daemon), .. } => {
                "use that daemon, stop it, or choose another port with --listen"
            }
            BindError::PortTaken { .. } => "stop that program, or choose another port with --listen",
            BindError::Listen { .. } => "choose another address",
            BindError::Loop { .. } => "set the upstream to the provider's address, or listen on another port",
            BindError::Setup(error) => error.hint(),
        }
    }
}

fn by(holder: &Option<PortHolder>) -> String {
    holder.as_ref().map_or(String::new(), |holder| format!(" by {holder}"))
}

pub struct Server;

impl Server {
    /// Checks everything and opens the port. `control` contains the routes below `/control/v1`; the access checks are
    /// added here and cannot be left out.
    pub async fn bind(
        config: ServerConfig,
        observer: Arc<dyn Observer>,
        control: Router,
    ) -> Result<BoundPort, BindError> {
        let ServerConfig {
            listen,
            tls,
            allow_remote,
            metrics,
            upstream,
            upstreams,
            token,
            limits,
            workers,
            mcp: _,
            helper: _,
            rules: _,
            retention: _,
            team,
            oidc: _,
            public_url,
        } = config;
        let missing = match (&tls, &team) {
            (Some(_), Some(_)) => None,
            (Some(_), None) => Some("keys"),
            (None, Some(_)) => Some("TLS"),
            (None, None) => Some("TLS and keys"),
        };
        if let Some(missing) = missing.filter(|_| !allow_remote && !listen.ip().to_canonical().is_loopback()) {
            return Err(BindError::RemoteRefused { listen, missing });
        }
        let is_near = |address: &SocketAddr| address.ip().to_canonical().is_loopback();
        if let Some(listen) = metrics.filter(|address| !allow_remote && !is_near(address)) {
            return Err(BindError::RemoteMetrics { listen });
        }
        let tls = tls.as_ref().map(tls::acceptor).transpose()?;
        let upstreams: Vec<(String, Upstream)> =
            std::iter::once((Provider::DEFAULT.name().to_owned(), upstream)).chain(upstreams).collect();
        let mut targets = Vec::with_capacity(upstreams.len());
        for (name, upstream) in &upstreams {
            targets.push((name.clone(), Arc::new(Target::new(upstream, &limits)?)));
        }
        let listener = open_or_explain(listen).await?;
        let address = listener.local_addr().map_err(|source| BindError::Listen { listen, source })?;
        for (_, upstream) in &upstreams {
            if leads_back(&upstream.url, address).await {
                return Err(BindError::Loop { listen: address, upstream: upstream.url.to_string() });
            }
        }
        // Commands on this machine need no certificate.
        let nearby = match &tls {
            Some(_) => Some(open_or_explain((Ipv4Addr::LOCALHOST, 0).into()).await?),
            None => None,
        };
        let figures = match metrics {
            Some(address) => Some(open_or_explain(address).await?),
            None => None,
        };
        let own = match &nearby {
            Some(nearby) => nearby.local_addr().map_err(|source| BindError::Listen { listen, source })?,
            None => address,
        };
        Ok(BoundPort {
            most_connections: files::most_connections(files::raise_limit()),
            listener,
            address,
            tls,
            nearby: nearby.map(|listener| (listener, own)),
            auth: Arc::new(Auth::new(token, OwnAddresses::new(own, public_url))),
            observer,
            control,
            team: None,
            service: None,
            figures: figures.map(|listener| (listener, Router::new())),
            metrics: Arc::default(),
            targets: Arc::new(targets),
            limits: Arc::new(limits),
            workers: if workers == 0 { default_workers() } else { workers },
        })
    }
}

/// Whether a daemon could listen here now.
pub async fn check_port(listen: SocketAddr) -> Result<(), BindError> {
    open_or_explain(listen).await.map(drop)
}

async fn open_or_explain(listen: SocketAddr) -> Result<TcpListener, BindError> {
    match open(listen) {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            Err(BindError::PortTaken { listen, holder: port_holder::find(listen).await })
        }
        Err(source) => Err(BindError::Listen { listen, source }),
    }
}

/// One person's agents need few threads; each costs memory for its pool and its runtime.
fn default_workers() -> usize {
    thread::available_parallelism().map_or(2, usize::from).clamp(1, 4)
}

/// Whether a request to the upstream would arrive at the port that we have just opened. A name is looked up only if the
/// port is the same, which is rare; an unknown name is not ours.
async fn leads_back(upstream: &UpstreamUrl, own: SocketAddr) -> bool {
    if upstream.port() != own.port() {
        return false;
    }
    let is_own = |ip: IpAddr| {
        let ip = ip.to_canonical();
        ip.is_loopback() || ip.is_unspecified() || ip == own.ip().to_canonical()
    };
    let host = upstream.host();
    let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Ok(ip) = number.parse::<IpAddr>() {
        return is_own(ip);
    }
    if host.trim_end_matches('.').eq_ignore_ascii_case("localhost") {
        return true;
    }
    match tokio::time::timeout(LOOKUP, tokio::net::lookup_host((host, own.port()))).await {
        Ok(Ok(mut found)) => found.any(|address| is_own(address.ip())),
        _ => false,
    }
}

fn open(listen: SocketAddr) -> io::Result<TcpListener> {
    let socket = if listen.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Otherwise a restart would have to wait until the last connections of the old daemon time out.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(listen)?;
    socket.listen(BACKLOG)
}

/// An open port that does not accept yet.
pub struct BoundPort {
    most_connections: usize,
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    /// Beside a port with TLS: one without, for this machine only.
    nearby: Option<(TcpListener, SocketAddr)>,
    auth: Arc<Auth>,
    observer: Arc<dyn Observer>,
    control: Router,
    team: Option<Arc<Team>>,
    /// The operator's conversations, for the health of their store.
    service: Option<Arc<Service>>,
    /// A port for the metrics, and its routes.
    figures: Option<(TcpListener, Router)>,
    metrics: Arc<Metrics>,
    targets: Arc<Targets>,
    limits: Arc<Limits>,
    workers: usize,
}

impl BoundPort {
    /// Serves this desk, or the desks of a team: then every request needs a key, which leads to one of them.
    pub(crate) fn serving(self, desk: &Desk, team: Option<Arc<Team>>, metrics: Arc<Metrics>) -> Self {
        let figures = self.figures.map(|(listener, _)| (listener, desk.metrics.clone()));
        Self { team, service: Some(desk.service.clone()), figures, metrics, ..self }
    }

    /// The address of `/metrics`, if it has its own port.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.figures.as_ref().and_then(|(listener, _)| listener.local_addr().ok())
    }

    /// The address for agents.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The address for commands on this machine: without TLS.
    pub fn nearby_addr(&self) -> SocketAddr {
        self.nearby.as_ref().map_or(self.address, |(_, address)| *address)
    }

    /// Serves until `shutdown` is ready; then lets running requests finish for a while. Dropping the returned future
    /// ends everything at once. Control handlers run on the runtime that polls it.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let (progress, stage) = watch::channel(At::Open);
        let stage = Stage(stage);
        let local = Arc::new(LocalPaths::new(
            self.auth.clone(),
            self.control.clone(),
            (self.team.clone(), self.service.clone()),
            Handle::current(),
            (stage.clone(), &self.limits),
        ));
        let workers: Vec<Worker> = (0..self.workers)
            .map(|number| self.start_worker(number, local.clone(), stage.clone()))
            .collect::<io::Result<_>>()?;

        let _figures = self.figures.take().map(|(listener, routes)| {
            let mut serving = JoinSet::new();
            serving.spawn(metrics::serve(listener, self.auth.clone(), routes));
            serving
        });
        let Self { listener, nearby, tls, limits, most_connections, .. } = self;
        let nearby = nearby.map(|(listener, _)| listener);
        let drained = async {
            shutdown.await;
            if !limits.drain.is_zero() {
                let _ = progress.send(At::Draining);
                tokio::time::sleep(limits.drain).await;
            }
        };
        Acceptor::new((listener, tls.is_some()), nearby, &workers, most_connections).run(drained).await;

        let _ = progress.send(At::Closing);
        let ended: Vec<oneshot::Receiver<Infallible>> = workers.into_iter().map(|worker| worker.ended).collect();
        let all_ended = async {
            for worker in ended {
                let _ = worker.await;
            }
        };
        let mut all_ended = pin!(all_ended);
        if tokio::time::timeout(limits.shutdown_grace, &mut all_ended).await.is_err() {
            tracing::info!("aborted requests that were still running");
            let _ = progress.send(At::Over);
            all_ended.await;
        }
        Ok(())
    }

    fn start_worker(&self, number: usize, local: Arc<LocalPaths>, stage: Stage) -> io::Result<Worker> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (sender, accepted) = mpsc::unbounded_channel();
        let (alive, ended) = oneshot::channel();
        let observers = Observers { operator: self.observer.clone(), team: self.team.clone() };
        let proxy = Proxy::new(self.auth.clone(), observers, &self.targets, &self.limits);
        let router = Arc::new(PathRouter::new(proxy, local, self.metrics.clone()));
        let (limits, tls) = (self.limits.clone(), self.tls.clone());
        thread::Builder::new().name(format!("ctx-worker-{number}")).spawn(move || {
            let _alive: oneshot::Sender<Infallible> = alive;
            work(&runtime, accepted, (&router, tls.as_ref()), &limits, stage);
            // Does not wait for name lookups that still hang in the background.
            runtime.shutdown_background();
        })?;
        Ok(Worker { accepted: sender, ended })
    }
}

/// After running out of handles, the warning is repeated only after this time without one.
const QUIET: Duration = Duration::from_secs(60);

/// Accepts connections and distributes them among the workers. If there are too many, idle ones are closed.
struct Acceptor<'a> {
    listener: TcpListener,
    is_tls: bool,
    nearby: Option<TcpListener>,
    workers: std::iter::Cycle<std::slice::Iter<'a, Worker>>,
    register: Arc<Register>,
    most: usize,
    spare: Spare,
    /// The last time without free handles.
    used_up: Option<Instant>,
}

impl<'a> Acceptor<'a> {
    fn new(
        (listener, is_tls): (TcpListener, bool),
        nearby: Option<TcpListener>,
        workers: &'a [Worker],
        most: usize,
    ) -> Self {
        let (register, spare) = (Arc::default(), Spare::default());
        Self { listener, is_tls, nearby, workers: workers.iter().cycle(), register, most, spare, used_up: None }
    }

    async fn run(mut self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        loop {
            self.spare.fill();
            let (accepted, is_tls) = tokio::select! {
                biased;
                () = &mut shutdown => return,
                accepted = self.listener.accept() => (accepted, self.is_tls),
                accepted = accept(self.nearby.as_ref()) => (accepted, false),
            };
            match accepted {
                Ok((socket, _)) => self.hand_over(socket, is_tls, false),
                // The client gave up before the connection was accepted.
                Err(error) if is_the_clients(&error) => {}
                Err(error) if files::are_used_up(&error) => self.make_room(&error).await,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection; retrying shortly");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn hand_over(&mut self, socket: TcpStream, is_tls: bool, on_spare: bool) {
        let place = self.register.enter();
        let (Ok(socket), Some(worker)) = (socket.into_std(), self.workers.next()) else { return };
        let _ = worker.accepted.send(AcceptedConnection { socket, place, is_tls, on_spare });
        let above = self.register.count().saturating_sub(self.most);
        if above > 0 {
            // A few more than needed, so that not every new connection has to free one.
            self.register.shed(above + self.most / 16);
        }
    }

    /// Accepting failed for lack of a handle. If no connection is idle, a reserved handle lets the control API respond.
    async fn make_room(&mut self, error: &io::Error) {
        const AT_ONCE: usize = 32;
        if self.used_up.is_none_or(|last| last.elapsed() > QUIET) {
            tracing::warn!(%error, "all file handles are in use; closing idle connections. If this happens often, \
                raise the limit (`ulimit -n`)");
        }
        self.used_up = Some(Instant::now());
        if self.register.shed(AT_ONCE) == 0
            && self.spare.release()
            && let Ok(Ok((socket, _))) = tokio::time::timeout(Duration::from_millis(10), self.listener.accept()).await
        {
            return self.hand_over(socket, self.is_tls, true);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The next connection; never, if there is no listener.
async fn accept(listener: Option<&TcpListener>) -> io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// The connection after its handshake, if it has one. `None`: the client gave up, or speaks no TLS.
async fn greeted(socket: TcpStream, tls: Option<TlsAcceptor>, limit: Duration) -> Option<ClientSocket> {
    let Some(tls) = tls else { return Some(ClientSocket::Plain(socket)) };
    match tokio::time::timeout(limit, tls.accept(socket)).await {
        Ok(Ok(socket)) => Some(ClientSocket::Tls(Box::new(socket))),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            None
        }
        Err(_) => None,
    }
}

fn is_the_clients(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset)
}

struct Worker {
    accepted: mpsc::UnboundedSender<AcceptedConnection<std::net::TcpStream>>,
    ended: oneshot::Receiver<Infallible>,
}

fn work(
    runtime: &Runtime,
    mut accepted: mpsc::UnboundedReceiver<AcceptedConnection<std::net::TcpStream>>,
    (router, tls): (&Arc<PathRouter>, Option<&TlsAcceptor>),
    limits: &Arc<Limits>,
    mut stage: Stage,
) {
    runtime.block_on(async {
        // Every connection holds a clone of `busy`; when the last one is gone, `idle` resolves.
        let (busy, mut idle) = mpsc::channel::<Infallible>(1);
        while let Some(AcceptedConnection { socket, place, is_tls, on_spare }) = accepted.recv().await {
            let Ok(socket) = TcpStream::from_std(socket) else { continue };
            let _ = socket.set_nodelay(true);
            let (busy, mut stage) = (busy.clone(), stage.clone());
            let closing = Box::pin(async move { stage.closing().await });
            let (tls, router, limits) = (tls.filter(|_| is_tls).cloned(), router.clone(), limits.clone());
            tokio::spawn(async move {
                let _busy = busy;
                let Some(socket) = greeted(socket, tls, limits.head_timeout).await else { return };
                let accepted = AcceptedConnection { socket, place, is_tls, on_spare };
                connection::serve(accepted, router, limits, closing).await;
            });
        }
        drop(busy);
        tokio::select! {
            _ = idle.recv() => {}
            () = stage.over() => {}
        }
    });
}

/// The daemon's state of shutdown, shared by all tasks.
#[derive(Clone)]
pub(crate) struct Stage(watch::Receiver<At>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Open,
    /// It still serves, and tells load balancers to go elsewhere.
    Draining,
    /// No new connections; running requests may finish.
    Closing,
    /// Running requests are aborted.
    Over,
}

impl Stage {
    pub(crate) fn is_draining(&self) -> bool {
        *self.0.borrow() >= At::Draining
    }

    pub(crate) async fn closing(&mut self) {
        self.reach(At::Closing).await;
    }

    async fn over(&mut self) {
        self.reach(At::Over).await;
    }

    /// A dropped sender means that everything is over.
    async fn reach(&mut self, at: At) {
        let _ = self.0.wait_for(|stage| *stage >= at).await;
    }
}
