//! `ctx up`: runs the daemon in the foreground. This loads the settings and opens everything in order; the server does
//! the rest.

use ctx_engine::ports::About;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ctx_core::ErrorCode;
use ctx_server::daemon::Daemon;
use ctx_server::{Rules, ServerConfig, Token};
use ctx_service::Service;
use ctx_service::automatic::Editor;
use ctx_service::edit::Folder;
use ctx_store::{SqliteStore, StoreError};
use tokio::runtime::Builder;

use crate::arguments::DaemonArguments;
use crate::client::{callable, page_link};
use crate::config::{LiveRules, Settings};
use crate::context::Context;
use crate::failure::Failure;
use crate::home::{Home, Notice};
use crate::{logging, output};

/// Run the daemon in the foreground
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx up
  ctx up --listen 127.0.0.1:9000 --upstream https://gateway.example
  CTX_LOG=debug ctx up")]
pub struct Arguments {
    #[command(flatten)]
    daemon: DaemonArguments,
    /// Run without a terminal, as `ctx run` does
    #[arg(long, hide = true)]
    pub background: bool,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let home = context.home()?;
    let folder = std::env::current_dir().unwrap_or_default();
    let flags = arguments.daemon.flags(&context.place)?;
    let settings = Settings::load(&flags, &context.environment, &home, &folder)?;
    logging::start(&context.environment)?;
    settings.remarks.iter().chain(&settings.wrong).for_each(|remark| context.note(remark));

    home.prepare()?;
    let store = Arc::new(open_store(&home, context)?);
    let store_path = store.path().to_owned();
    let token = Token::load_or_create(home.path())?;
    let offload = match settings.offload {
        // The user's own settings may name any folder; a project's folder must be inside the project.
        Some(offload) if offload.starts_with(&folder) => Folder::in_project(&folder, offload),
        Some(offload) => Folder::in_project(&offload.clone(), offload),
        None => Folder::in_home(home.path()),
    };
    let service = Service::open(store.clone())?.offloading_to(offload.clone());
    let service = service.with_moments(settings.moments).with_models(settings.models);
    let live = Arc::new(LiveRules::new(&flags, &context.environment, &home));
    let service = Arc::new(service.with_provider(live.clone(), &settings.upstream.url.to_string()));
    let rules: Arc<dyn ctx_engine::automatic::Rules> = live;
    // If the provider clears too, the automatic editor has a higher threshold.
    let asking = Arc::downgrade(&service);
    let provider = move |about: &About<'_>| asking.upgrade().is_some_and(|service| service.provider_edits(about));
    service.automate(Some(Arc::new(Editor::new(rules.clone(), offload, Box::new(provider)))));
    let mut config = ServerConfig::new(settings.listen, settings.upstream, token.clone());
    config.upstreams = settings.upstreams;
    config.allow_remote = settings.allow_remote;
    config.mcp = settings.mcp;
    config.rules = Some(Rules(rules));
    config.helper = settings.helper;
    let upstream = config.upstream.url.to_string();

    // Two threads, so that a long computation of a control request does not block accepting.
    let runtime =
        Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| {
            Failure::new(ErrorCode::NoRuntime, format!("the daemon cannot start its threads: {error}"))
        })?;
    runtime.block_on(async {
        let daemon = Daemon::bind(config, service, home.path().to_owned(), store_path).await?;
        let stop = Signals::listen(arguments.background)?;
        let listen = daemon.local_addr();
        let notice = Notice { pid: std::process::id(), listen, started_at: ctx_service::now() };
        let _up = PutUp::new(&home, notice)?;
        if arguments.background {
            // Leaves the start folder, which may be removed or unmounted later.
            let _ = std::env::set_current_dir(home.path());
            tracing::info!(%listen, %upstream, home = %home.path().display(), "the daemon is up");
        } else {
            // The link contains the token; a file or a pipe may have other readers.
            let link = match context.output.is_terminal() {
                true => page_link(listen, &token, None),
                false => "ctx ui".to_owned(),
            };
            let words = greeting(&callable(listen).to_string(), &upstream, &link, &context.output.paint);
            context.output.print(&words)?;
            tracing::debug!(%listen, %upstream, home = %home.path().display(), "the daemon is up");
        }
        daemon
            .run(stop.received())
            .await
            .map_err(|error| Failure::new(ErrorCode::Daemon, format!("the daemon failed: {error}")))?;
        // Threads that end with the process still hold the store, so it is not closed.
        if let Err(error) = store.checkpoint() {
            tracing::warn!(%error, "cannot empty the store's write-ahead log; the next start does");
        }
        tracing::info!("the daemon has stopped");
        Ok(ExitCode::SUCCESS)
    })
}

fn open_store(home: &Home, context: &Context) -> Result<SqliteStore, Failure> {
    let store = SqliteStore::open(home.path()).map_err(|error| explain(error, home))?;
    let opened = store.opened();
    if let Some(aside) = &opened.moved_aside {
        context.note(&format!("the store was damaged; moved it to {} and created a new one", aside.display()));
    }
    if let Some(lost) = &opened.lost {
        let (first, last) = (lost.start, lost.end - 1);
        context.note(&format!(
            "records {first} to {last} of the store were acknowledged and are missing; `ctx doctor` has details"
        ));
    }
    for path in &opened.fixed_permissions {
        context.note(&format!("others could read {}; fixed", path.display()));
    }
    Ok(store)
}

/// If the store is in use, names the daemon that uses it.
fn explain(error: StoreError, home: &Home) -> Failure {
    let in_use = matches!(error, StoreError::InUse { .. });
    let failure = Failure::from(error);
    match home.notice() {
        Some(notice) if in_use => {
            failure.hint(format!("it listens on {}; use it, or stop it with `ctx stop`", notice.listen))
        }
        _ => failure,
    }
}

fn greeting(listen: &str, upstream: &str, link: &str, paint: &output::Paint) -> String {
    format!(
        "{} listens on {listen} and forwards to {upstream}\n\n  {}  ANTHROPIC_BASE_URL=http://{listen} claude\n  {}  \
         ctx run -- claude\n  {}  {link}\n\nPress Ctrl-C to stop.\n",
        paint.strong("ctx"),
        paint.faint("use it"),
        paint.faint("or    "),
        paint.faint("page  "),
    )
}

/// Keeps the notice for as long as the daemon runs.
struct PutUp<'a> {
    home: &'a Home,
    notice: Notice,
}

impl<'a> PutUp<'a> {
    fn new(home: &'a Home, notice: Notice) -> Result<Self, Failure> {
        home.put_up(&notice)?;
        Ok(Self { home, notice })
    }
}

impl Drop for PutUp<'_> {
    fn drop(&mut self) {
        self.home.take_down(&self.notice);
    }
}

/// The signals that stop the daemon: interrupt, terminate, hang-up.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    outlives_terminal: bool,
}

#[cfg(unix)]
impl Signals {
    /// Registers the signals, so that none is lost before the daemon waits for them.
    fn listen(outlives_terminal: bool) -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let hear = |kind| {
            signal(kind)
                .map_err(|error| Failure::new(ErrorCode::Signals, format!("cannot listen for signals: {error}")))
        };
        Ok(Self {
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
            hang_up: hear(SignalKind::hangup())?,
            outlives_terminal,
        })
    }

    async fn received(mut self) {
        self.next().await;
        // Running requests may finish; a second signal aborts them.
        tokio::spawn(async move {
            self.next().await;
            std::process::exit(130);
        });
    }

    async fn next(&mut self) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => if !self.outlives_terminal { return },
            }
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen(_outlives_terminal: bool) -> Result<Self, Failure> {
        Ok(Self)
    }

    async fn received(self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_tells_all_that_a_user_needs_next() {
        let words = greeting(
            "127.0.0.1:8788",
            "https://api.anthropic.com",
            "http://127.0.0.1:8788/ui/?token=x",
            &output::Paint::plain(),
        );
        insta::assert_snapshot!(words, @r"
        ctx listens on 127.0.0.1:8788 and forwards to https://api.anthropic.com

          use it  ANTHROPIC_BASE_URL=http://127.0.0.1:8788 claude
          or      ctx run -- claude
          page    http://127.0.0.1:8788/ui/?token=x

        Press Ctrl-C to stop.
        ");
    }
}
