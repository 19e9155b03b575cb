//! Events from the proxy, and the reply to a held request.

use ctx_clients::Hints;
use ctx_engine::Credentials;
use ctx_engine::compose::OutgoingRequest;
use ctx_engine::ports::ProviderRefusal;
use ctx_wire::Wire;
use ctx_wire::answer::Ending;
use ctx_wire::body::Unreadable;
use ctx_wire::encoding::DecodeError;
use ctx_wire::rope::Pieces;
use std::time::Duration;

pub(super) enum Event {
    Request {
        exchange: u64,
        wire: &'static dyn Wire,
        hints: Box<Hints>,
        encoding: Option<Box<str>>,
        body: Pieces,
        /// The room of its copies.
        room: u64,
        at: u64,
        /// It only counts tokens.
        counting: bool,
        /// It is held, and the client waits for this reply.
        reply: Option<Reply>,
    },
    /// The provider refused the thinking in a composed request.
    Unbound {
        exchange: u64,
    },
    /// The provider rejected an additional edit.
    Refused {
        exchange: u64,
        refused: Box<ProviderRefusal>,
    },
    /// The answer to a client that listed the models.
    Models {
        encoding: Option<Box<str>>,
        bytes: Vec<u8>,
    },
    /// The request will not be processed.
    NoRequest {
        exchange: u64,
    },
    Head {
        exchange: u64,
        wire: &'static dyn Wire,
        status: u16,
        content_type: Option<Box<str>>,
        encoding: Option<Box<str>>,
        after: Duration,
    },
    Part {
        exchange: u64,
        bytes: Vec<u8>,
    },
    End {
        exchange: u64,
        ending: Option<Ending>,
        after: Duration,
        /// A piece of the answer was dropped.
        lost: bool,
        /// Hidden from everything recorded of the answer.
        credentials: Credentials,
    },
}

/// A held request, ready to leave.
#[derive(Debug)]
pub struct Composition {
    /// Its leaving form; `None`: unchanged.
    pub outgoing: Option<OutgoingRequest>,
    /// The body that its parts refer to, decoded.
    pub source: Pieces,
    pub wire: &'static dyn Wire,
}

/// Why a held request must not leave: its conversation is or may be edited, and the edits cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withheld {
    Store,
    /// A damaged record contained edits.
    LostEdits,
    Unreadable(Flaw),
    /// Our code failed.
    Defect,
}

/// Why a body cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It exceeds the size limit.
    Size,
    /// It does not decode as its header says.
    Encoding,
    /// It is not a JSON request.
    Json,
}

impl Flaw {
    pub(super) fn of_encoding(error: &DecodeError) -> Flaw {
        if matches!(error, DecodeError::TooLarge { .. }) { Flaw::Size } else { Flaw::Encoding }
    }

    pub(super) fn of_body(error: &Unreadable) -> Flaw {
        if matches!(error, Unreadable::TooManyMessages) { Flaw::Size } else { Flaw::Json }
    }
}

/// Receives a composition, or the reason why the request must not leave.
pub type Reply = Box<dyn FnOnce(Result<Composition, Withheld>) + Send>;

impl Event {
    pub fn requests(&self) -> u64 {
        u64::from(matches!(self, Event::Request { .. }))
    }

    /// The room of its copies.
    pub fn bytes(&self) -> u64 {
        match self {
            Event::Request { room, .. } => *room,
            Event::Part { bytes, .. } | Event::Models { bytes, .. } => bytes.len() as u64,
            _ => 0,
        }
    }
}
