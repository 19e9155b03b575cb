//! The envelope of a request: everything but its history (model, system prompt, tools, settings).

use crate::json::Span;
use ctx_core::Key;

/// A block of the system prompt, or a tool definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// A tool's name; empty for system blocks.
    pub name: Box<str>,
    /// Its span in the body.
    pub at: Span,
    pub chars: u32,
    /// Its first words.
    pub label: Box<str>,
    /// A listed tool that is not loaded: the model does not read it.
    pub deferred: bool,
    /// A tool that the provider runs itself.
    pub server: bool,
    /// It identifies the client. The provider removes it before anything else.
    pub is_attribution: bool,
    /// The key of its bytes without a cache breakpoint, to find it again.
    pub key: Key,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Envelope {
    pub model: Option<Box<str>>,
    pub system: Vec<Piece>,
    /// `None` if the request has no `tools`.
    pub tools: Option<Vec<Piece>>,
    /// The session named in the body, as the client spells it.
    pub session: Option<Box<str>>,
    /// The system prompt identifies a sub-agent.
    pub says_subagent: bool,
    /// The request asks for a JSON answer.
    pub wants_format: bool,
    /// The provider keeps the history; this request carries only new messages.
    pub threaded: bool,
    /// The answer that such a request goes on from, by its id.
    pub continues: Option<Box<str>>,
    pub streams: bool,
    pub manner: Manner,
    /// The digest of the system prompt without its attribution, and of the loaded tools.
    pub digest: Key,
}

/// The settings for thinking and tool choice, by member: the provider's cache finds messages only under the same
/// settings. Members with default values are omitted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manner(pub Vec<(&'static str, Key)>);

impl Manner {
    /// The key; none if everything is the default.
    pub fn key(&self) -> Option<Key> {
        let name = |name: &'static str| name.rsplit('.').next().unwrap_or(name).as_bytes();
        let said = self.0.iter().flat_map(|(member, key)| [name(member), key.0.as_slice()]);
        (!self.0.is_empty()).then(|| Key::of(said))
    }

    /// The first member that differs.
    pub fn first_difference(&self, other: &Manner) -> Option<&'static str> {
        let differs = |(member, _): &&(&'static str, Key)| self.of(member) != other.of(member);
        self.0.iter().chain(&other.0).find(differs).map(|(member, _)| *member)
    }

    fn of(&self, member: &str) -> Option<Key> {
        self.0.iter().find(|(name, _)| *name == member).map(|(_, key)| *key)
    }
}

impl Envelope {
    /// The envelope with everything behind `from` moved to `to`. `None` if nothing moved.
    pub fn moved(&self, from: usize, to: usize) -> Option<Envelope> {
        let is_behind = |piece: &Piece| piece.at.start >= from;
        if from == to || !self.system.iter().chain(self.tools.iter().flatten()).any(is_behind) {
            return None;
        }
        let mut moved = self.clone();
        for piece in moved.system.iter_mut().chain(moved.tools.iter_mut().flatten()).filter(|piece| is_behind(piece)) {
            piece.at = piece.at.start - from + to..piece.at.end - from + to;
        }
        Some(moved)
    }
}

/// The key of what the model reads before the first message.
pub fn digest(system: &[Piece], tools: Option<&[Piece]>) -> Key {
    let system = system.iter().filter(|piece| !piece.is_attribution).map(|piece| &piece.key.0[..]);
    let tools = tools.unwrap_or_default().iter().filter(|tool| !tool.deferred).map(|tool| &tool.key.0[..]);
    Key::of(std::iter::once(b"system".as_slice()).chain(system).chain([b"tools".as_slice()]).chain(tools))
}
