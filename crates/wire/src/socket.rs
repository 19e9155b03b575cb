//! A format over a WebSocket: requests and events are text messages, and a request may carry only what is new.

use crate::local_error::LocalError;
use std::borrow::Cow;

/// A client's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketMessage<'m> {
    Request(SocketRequest<'m>),
    /// It carries no history.
    Other,
    Unreadable,
}

/// A client's message that asks for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SocketRequest<'m> {
    /// The answer that it continues: the history up to there is not in the message.
    pub continues: Option<Cow<'m, str>>,
    /// Whether it only prepares a later request.
    pub is_warm_up: bool,
    /// Whether several conversations share the socket.
    pub is_multiplexed: bool,
    /// Headers that the client puts into each message.
    pub headers: Vec<(String, String)>,
}

/// A provider's message, as far as a proxy depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SocketEvent<'m> {
    /// A finished item of the answer.
    pub item: Option<&'m str>,
    /// Whether the answer ends here.
    pub is_last: bool,
    /// The id of the complete answer.
    pub answer: Option<Cow<'m, str>>,
    /// The status of an error.
    pub status: Option<u16>,
    pub is_multiplexed: bool,
}

/// How a format uses a WebSocket.
pub trait Socket: Sync {
    /// Reads a client's message.
    fn message<'m>(&self, message: &'m str) -> SocketMessage<'m>;

    /// Reads a provider's message.
    fn event<'m>(&self, message: &'m str) -> SocketEvent<'m>;

    /// The elements of a message's history, without brackets; `None` if it has no list.
    fn items<'m>(&self, message: &'m str) -> Option<&'m str>;

    /// The message with its whole history; `before` are the elements that it continues.
    fn whole(&self, message: &str, before: &[&str]) -> Option<String>;

    /// The answer to a request whose history is unknown: the client sends all of it.
    fn unknown_history(&self, id: &str) -> String;

    /// An error of the proxy itself.
    fn error(&self, status: u16, error: &LocalError<'_>) -> String;
}
