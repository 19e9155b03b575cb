//! What passes through the proxy, and the reply to a held request.

use ctx_clients::Hints;
use ctx_engine::Credentials;
use ctx_engine::compose::Outgoing;
use ctx_engine::ports::ProviderRefusal;
use ctx_wire::Wire;
use ctx_wire::answer::Ending;
use ctx_wire::body::Unreadable;
use ctx_wire::encoding::DecodeError;
use ctx_wire::rope::Pieces;
use std::time::Duration;

/// What passes through the proxy, piece by piece.
pub(super) enum Event {
    Request {
        exchange: u64,
        wire: &'static dyn Wire,
        hints: Box<Hints>,
        encoding: Option<Box<str>>,
        body: Pieces,
        /// The room that its copies take.
        room: u64,
        at: u64,
        /// It only asks how many tokens it would be.
        counting: bool,
        /// It is held, and somebody waits to know how it should leave.
        reply: Option<Reply>,
    },
    /// The provider refused the thinking in a composed request.
    Unbound {
        exchange: u64,
    },
    /// The provider did not take what was asked beside the client.
    Refused {
        exchange: u64,
        refused: Box<ProviderRefusal>,
    },
    /// The client asked which models there are: the answer.
    Models {
        encoding: Option<Box<str>>,
        bytes: Vec<u8>,
    },
    /// The request will not be looked at.
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
        /// Hidden from what is recorded of the answer.
        credentials: Credentials,
    },
}

/// A held request, ready to leave.
#[derive(Debug)]
pub struct Composition {
    /// How it should leave; `None`: as it came.
    pub outgoing: Option<Outgoing>,
    /// What the parts of it are parts of: what came, its encoding undone.
    pub source: Pieces,
    pub wire: &'static dyn Wire,
}

/// Why a held request must not leave: its conversation is edited, or may be, and the edits cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withheld {
    /// The store failed.
    Store,
    /// A damaged record held edits of it.
    LostEdits,
    /// The body cannot be read.
    Unreadable(Flaw),
    /// Our own code failed.
    Defect,
}

/// What keeps a body from being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It is larger than anything that is read.
    Size,
    /// It does not decode as its header says.
    Encoding,
    /// It is no JSON request.
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

/// Takes a composition, or the reason why the request must not leave.
pub type Reply = Box<dyn FnOnce(Result<Composition, Withheld>) + Send>;

impl Event {
    pub fn requests(&self) -> u64 {
        u64::from(matches!(self, Event::Request { .. }))
    }

    /// The room that its copies take.
    pub fn bytes(&self) -> u64 {
        match self {
            Event::Request { room, .. } => *room,
            Event::Part { bytes, .. } | Event::Models { bytes, .. } => bytes.len() as u64,
            _ => 0,
        }
    }
}
