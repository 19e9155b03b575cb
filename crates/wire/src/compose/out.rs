//! Outgoing messages and their pieces.

use ctx_core::message::Role;

/// One outgoing block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// A block of a client's message; `text`, counted from 1, replaces its content.
    Client { message: u32, block: u32, text: u32 },
    /// A synthetic block, by its index.
    Made(u32),
}

/// An outgoing message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Out {
    pub role: Role,
    /// The client's message whose object it uses.
    pub source: Option<u32>,
    /// `None`: all blocks of its source, unchanged.
    pub pieces: Option<Vec<Piece>>,
    /// The first message of its source: it keeps the other members of the object.
    pub first: bool,
    /// The client's message at whose position it stands; none for an added one.
    pub anchor: Option<u32>,
}

impl Out {
    /// A synthetic message.
    pub fn ours(role: Role, pieces: Vec<Piece>, anchor: Option<u32>) -> Out {
        Out { role, source: None, pieces: Some(pieces), first: true, anchor }
    }

    /// A client's message, unchanged.
    pub fn whole(at: u32, role: Role) -> Out {
        Out { role, source: Some(at), pieces: None, first: true, anchor: Some(at) }
    }

    pub fn is_whole(&self) -> bool {
        self.pieces.is_none()
    }
}
