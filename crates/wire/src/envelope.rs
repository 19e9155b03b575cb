//! All of a request that is not its history: model, system prompt, tools, settings.

use crate::json::Span;
use ctx_core::Key;

/// A block of the system prompt, or a tool definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// A tool's name; empty for system blocks.
    pub name: Box<str>,
    /// Where it stands in the body.
    pub at: Span,
    pub chars: u32,
    /// The first words of it.
    pub label: Box<str>,
    /// A tool that is listed but not loaded: the model does not read it.
    pub deferred: bool,
    /// A tool that the provider runs itself.
    pub server: bool,
    /// It says which client this is. The provider takes it out before anything else.
    pub is_attribution: bool,
    /// Of its bytes without a cache mark: finds it again.
    pub key: Key,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Envelope {
    pub model: Option<Box<str>>,
    pub system: Vec<Piece>,
    /// `None` when the request has no `tools` at all.
    pub tools: Option<Vec<Piece>>,
    /// The session that the body names, as the client spells it.
    pub session: Option<Box<str>>,
    /// The client says in its system prompt that this is a sub-agent.
    pub says_subagent: bool,
    /// A JSON answer is asked for.
    pub wants_format: bool,
    /// The history lives with the provider; this request carries only a delta.
    pub threaded: bool,
    /// The answer that such a request goes on from, by its id.
    pub continues: Option<Box<str>>,
    pub streams: bool,
    pub manner: Manner,
    /// Of the system prompt without its attribution, and of the tools that the model reads.
    pub digest: Key,
}

/// How the model shall think and choose its tools, by the members that say so: messages are found in the provider's cache
/// only under the same manner. A member that says the default is not among them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manner(pub Vec<(&'static str, Key)>);

impl Manner {
    /// Nothing where all of it is the default.
    pub fn key(&self) -> Option<Key> {
        let name = |name: &'static str| name.rsplit('.').next().unwrap_or(name).as_bytes();
        let said = self.0.iter().flat_map(|(member, key)| [name(member), key.0.as_slice()]);
        (!self.0.is_empty()).then(|| Key::of(said))
    }

    /// The first member in which two differ.
    pub fn first_difference(&self, other: &Manner) -> Option<&'static str> {
        let differs = |(member, _): &&(&'static str, Key)| self.of(member) != other.of(member);
        self.0.iter().chain(&other.0).find(differs).map(|(member, _)| *member)
    }

    fn of(&self, member: &str) -> Option<Key> {
        self.0.iter().find(|(name, _)| *name == member).map(|(_, key)| *key)
    }
}

impl Envelope {
    /// The same envelope around messages that end elsewhere: what stood behind `from` stands behind `to` now.
    /// `None` when nothing of it has moved.
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
