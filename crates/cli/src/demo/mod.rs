//! A daemon with a recorded conversation, in a temporary home, for trying every operation without a key or an agent.
//! `ctx demo` keeps it running; `ctx init` tests with it.

mod provider;
mod recording;
mod self_test;

pub use self_test::self_test;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ctx_core::ErrorCode;
use ctx_server::Token;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::handshake;
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use self::provider::ScriptedProvider;
use self::recording::Recording;
use crate::config::{Flags, Settings};
use crate::daemon::{Announcement, Assembly};
use crate::env::Environment;
use crate::failure::Failure;
use crate::home::Home;

const PAUSE: Duration = Duration::from_millis(5);

pub struct Demo {
    recording: Arc<Recording>,
    /// The number of turns played so far.
    played: usize,
    provider: ScriptedProvider,
    listen: SocketAddr,
    token: Token,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<(), Failure>>,
    announcement: Announcement,
    home: TempDir,
}

impl Demo {
    /// Starts provider and daemon on free ports. Nothing of the user's settings or environment applies.
    pub async fn start() -> Result<Self, Failure> {
        let recording = Arc::new(Recording::load().map_err(|error| failed(format!("its recording: {error}")))?);
        let provider = ScriptedProvider::start().await.map_err(|error| failed(format!("its provider: {error}")))?;
        let folder = tempfile::Builder::new().prefix("ctx-demo-").tempdir();
        let folder = folder.map_err(|error| {
            failed(format!("a folder in {}: {error}", std::env::temp_dir().display()))
                .hint("TMPDIR names another folder for temporary files")
        })?;
        let environment = Environment::of(&[]);
        let home = Home::find(Some(folder.path()), &environment)?;
        let upstream = provider.url().parse().map_err(|error| failed(format!("its provider: {error}")))?;
        let listen = Some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0));
        let flags = Flags { listen, upstream: Some(upstream), ..Flags::default() };
        let settings = Settings::load(&flags, &environment, &home, folder.path())?;
        let assembly = Assembly::new(&flags, settings, &environment, &home, folder.path(), |_| {})?;
        let token = assembly.token.clone();
        let daemon = assembly.bind().await?;
        let announcement = daemon.announce()?;
        let listen = daemon.listen();
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(daemon.run(async { stopped.await.unwrap_or_default() }));
        Ok(Self { recording, played: 0, provider, listen, token, stop, served, announcement, home: folder })
    }

    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    pub fn token(&self) -> &Token {
        &self.token
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The number of turns in the recording.
    pub fn turns(&self) -> usize {
        self.recording.turns()
    }

    /// The body of the newest request, as the agent sent it and as the provider received it.
    pub fn newest(&self) -> (Bytes, Bytes) {
        let turn = self.played.saturating_sub(1);
        let sent = self.recording.body(turn, self.recording.requests(turn).saturating_sub(1));
        (sent.into(), self.provider.received())
    }

    /// A client of the control API.
    pub fn client(&self) -> ctx_api::client::Client {
        ctx_api::client::Client::new(self.listen, self.token.expose())
    }

    /// Plays the next turns of the conversation, and waits until they are recorded. Returns the number of turns played.
    pub async fn play(&mut self, turns: usize) -> Result<usize, Failure> {
        let last = (self.played + turns).min(self.recording.turns());
        let played = last - self.played;
        for turn in self.played..last {
            for number in 0..self.recording.requests(turn) {
                let recording = self.recording.clone();
                self.provider.answer_next(move |body, before| recording.answer(turn, number, body, before));
                self.send(self.recording.body(turn, number)).await?;
            }
            self.played = turn + 1;
        }
        let client = self.client();
        loop {
            let status = client.call(&ctx_api::call::status()).await;
            let status = status.map_err(|error| failed(format!("its daemon: {error:?}")))?;
            if status.recorder.queued == 0 {
                return Ok(played);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends a request of the agent through the daemon.
    async fn send(&self, body: Vec<u8>) -> Result<(), Failure> {
        let broken = |error: hyper::Error| failed(format!("its daemon: {error}"));
        let socket = TcpStream::connect(self.listen).await.map_err(|error| failed(format!("its daemon: {error}")))?;
        let (mut sender, connection) = handshake(TokioIo::new(socket)).await.map_err(broken)?;
        tokio::spawn(connection);
        let mut request = Request::post(&self.recording.target).header(HOST, self.listen.to_string());
        for (name, value) in &self.recording.headers {
            request = request.header(name, value.as_str().unwrap_or_default());
        }
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.map_err(|error| failed(format!("its recording: {error}")))?;
        let answer = sender.send_request(request).await.map_err(broken)?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(broken)?.to_bytes();
        match status.is_success() {
            true => Ok(()),
            false => Err(failed(format!("its daemon answered {status}: {}", String::from_utf8_lossy(&body)))),
        }
    }

    /// Stops the daemon and removes the home.
    pub async fn stop(self) -> Result<(), Failure> {
        let Self { stop, served, announcement, home, .. } = self;
        let _ = stop.send(());
        let ended = served.await.unwrap_or(Ok(()));
        drop(announcement);
        let path = home.path().to_owned();
        home.close().map_err(|error| Failure::file("remove", &path, &error))?;
        ended
    }
}

fn failed(why: String) -> Failure {
    Failure::new(ErrorCode::Daemon, format!("the demo cannot start: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_api::cache::{Cause, MissesQuery};
    use ctx_api::call::Conversation;
    use ctx_api::edit::EditRequest;
    use ctx_core::edit::Operation;
    use ctx_core::edit::operation::Select;

    #[test]
    fn after_an_edit_only_the_next_request_misses_the_cache() {
        let played = async {
            let mut demo = Demo::start().await?;
            let client = demo.client();
            demo.play(demo.turns() - 2).await?;
            let select = Select { larger_than: Some(1000), ..Select::default() };
            let operation = Operation::DropResults { ids: Vec::new(), select, result: None };
            let edit = EditRequest { operations: vec![operation], author: "cli".to_owned(), ..EditRequest::default() };
            client.call(&Conversation("active").apply(&edit)).await.expect("edited");
            demo.play(2).await?;
            let misses = client.call(&Conversation("active").misses(&MissesQuery::default())).await.expect("misses");
            demo.stop().await.map(|()| misses)
        };
        let misses = crate::daemon::runtime().expect("a runtime").block_on(played).expect("a demo");
        assert_eq!(misses.came_true, misses.foreseen);
        let found: Vec<_> = misses.misses.iter().filter_map(|view| view.miss.as_ref()).collect();
        let found: Vec<_> = found.iter().map(|miss| (miss.cause, miss.place.as_deref())).collect();
        assert_eq!(found, [(Cause::Edited, Some("t4")), (Cause::FirstRequest, None)]);
    }
}
