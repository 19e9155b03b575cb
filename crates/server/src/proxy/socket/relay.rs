//! Passes messages between a client and the provider, until one of them ends.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::exchange::{Exchanges, MessageOutcome, Verdict};
use crate::watch::Ending;

/// The pings without an answer that are remembered.
const PINGS: usize = 64;
/// The time for the last messages of a socket that ends.
const LINGER: Duration = Duration::from_secs(2);

/// The writing end towards one side, and the pings passed to it. They are answered here at once, so the answers that
/// come later are dropped.
struct Side<S> {
    sink: tokio::sync::Mutex<SplitSink<WebSocketStream<S>, Message>>,
    pings: Mutex<VecDeque<Bytes>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Side<S> {
    fn new(sink: SplitSink<WebSocketStream<S>, Message>) -> Self {
        Self { sink: tokio::sync::Mutex::new(sink), pings: Mutex::default() }
    }

    async fn send(&self, message: Message) -> Result<(), Error> {
        if let Message::Ping(data) = &message {
            let mut pings = self.pings.lock().unwrap_or_else(PoisonError::into_inner);
            pings.push_back(data.clone());
            if pings.len() > PINGS {
                pings.pop_front();
            }
        }
        self.sink.lock().await.send(message).await
    }

    /// Whether this answers a ping that was passed to this side.
    fn is_answer(&self, data: &Bytes) -> bool {
        let mut pings = self.pings.lock().unwrap_or_else(PoisonError::into_inner);
        let place = pings.iter().position(|ping| ping == data);
        place.is_some_and(|place| pings.drain(..=place).next().is_some())
    }
}

/// The time of the last message.
struct LastMessage(Mutex<Instant>);

impl LastMessage {
    fn now() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    /// The next message from one side; an error if there is none.
    async fn next<S>(&self, from: &mut SplitStream<WebSocketStream<S>>) -> Result<Message, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let message = from.next().await.unwrap_or(Err(Error::ConnectionClosed))?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(message)
    }

    /// Waits until no message has come for this long.
    async fn silence(&self, limit: Duration) {
        loop {
            let end = *self.0.lock().unwrap_or_else(PoisonError::into_inner) + limit;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

/// Passes messages until one side ends, or both are silent for `idle`.
pub(super) async fn relay<C, P>(
    client: WebSocketStream<C>,
    provider: WebSocketStream<P>,
    exchanges: &Exchanges,
    idle: Duration,
) where
    C: AsyncRead + AsyncWrite + Unpin,
    P: AsyncRead + AsyncWrite + Unpin,
{
    let (to_client, mut from_client) = client.split();
    let (to_provider, mut from_provider) = provider.split();
    let (to_client, to_provider, last) = (Side::new(to_client), Side::new(to_provider), LastMessage::now());
    let ends = (&to_client, &to_provider);
    let ended = tokio::select! {
        ended = forth(&mut from_client, ends, exchanges, &last) => ended.map_err(|error| (Ending::Cancelled, error)),
        ended = back(&mut from_provider, ends, exchanges, &last) => ended.map_err(|error| (Ending::Cut, error)),
        () = last.silence(idle) => {
            // A client opens another one for its next request.
            close(ends, CloseCode::Away, "the socket was idle").await;
            Ok(Ending::Cut)
        }
    };
    if let Err((_, error)) = &ended {
        tracing::debug!(%error, "a WebSocket ended");
    }
    exchanges.end(ended.unwrap_or_else(|(ending, _)| ending));
    // Both sides get the rest of what was written to them.
    let rest = async { tokio::join!(drain(&mut from_client), drain(&mut from_provider)) };
    let _ = timeout(LINGER, rest).await;
}

/// Closes both ends for this reason.
async fn close<C, P>((to_client, to_provider): (&Side<C>, &Side<P>), code: CloseCode, reason: &'static str)
where
    C: AsyncRead + AsyncWrite + Unpin,
    P: AsyncRead + AsyncWrite + Unpin,
{
    let frame = || Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    // An end that is gone needs no farewell.
    let farewells = async { tokio::join!(to_client.send(frame()), to_provider.send(frame())) };
    let _ = timeout(LINGER, farewells).await;
}

async fn drain<S: AsyncRead + AsyncWrite + Unpin>(from: &mut SplitStream<WebSocketStream<S>>) {
    while let Some(Ok(_)) = from.next().await {}
}

/// Passes the client's messages. Returns when the client closes the socket, or may no longer use it.
async fn forth<C, P>(
    from: &mut SplitStream<WebSocketStream<C>>,
    (to_client, to_provider): (&Side<C>, &Side<P>),
    exchanges: &Exchanges,
    last: &LastMessage,
) -> Result<Ending, Error>
where
    C: AsyncRead + AsyncWrite + Unpin,
    P: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        let message = match last.next(from).await {
            Ok(message) => message,
            Err(error) => {
                if let Error::Capacity(_) = error {
                    let frame = CloseFrame { code: CloseCode::Size, reason: "the message is too long".into() };
                    to_client.send(Message::Close(Some(frame))).await?;
                }
                return Err(error);
            }
        };
        if !message.is_close() && !exchanges.is_admitted() {
            close((to_client, to_provider), CloseCode::Policy, "the key or account is no longer valid").await;
            return Ok(Ending::Cancelled);
        }
        let verdict = match &message {
            Message::Text(text) => exchanges.ask(text).await,
            Message::Binary(_) => exchanges.unreadable(),
            Message::Pong(data) if to_client.is_answer(data) => continue,
            _ => Verdict::Pass,
        };
        let is_last = message.is_close();
        match verdict {
            Verdict::Pass => to_provider.send(message).await?,
            Verdict::Send(text) => to_provider.send(Message::text(text)).await?,
            Verdict::Refuse(text) => to_client.send(Message::text(text)).await?,
            Verdict::End(text) => {
                to_client.send(Message::text(text)).await?;
                let frame = CloseFrame { code: CloseCode::Error, reason: "the request was not sent".into() };
                to_client.send(Message::Close(Some(frame))).await?;
                return Ok(Ending::Unreachable);
            }
        }
        if is_last {
            return Ok(Ending::Cancelled);
        }
    }
}

/// Passes the provider's messages. Returns when the provider closes the socket.
async fn back<C, P>(
    from: &mut SplitStream<WebSocketStream<P>>,
    (to_client, to_provider): (&Side<C>, &Side<P>),
    exchanges: &Exchanges,
    last: &LastMessage,
) -> Result<Ending, Error>
where
    C: AsyncRead + AsyncWrite + Unpin,
    P: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        let message = last.next(from).await?;
        match &message {
            Message::Text(text) => match exchanges.hear(text).await {
                MessageOutcome::Pass(kept) => {
                    for text in kept {
                        to_client.send(Message::text(text)).await?;
                    }
                    to_client.send(message).await?;
                }
                MessageOutcome::Keep => {}
                MessageOutcome::Again(text) => to_provider.send(Message::text(text)).await?,
            },
            Message::Pong(data) if to_provider.is_answer(data) => {}
            Message::Close(_) => {
                for text in exchanges.release() {
                    to_client.send(Message::text(text)).await?;
                }
                to_client.send(message).await?;
                return Ok(Ending::Cut);
            }
            _ => to_client.send(message).await?,
        }
    }
}
