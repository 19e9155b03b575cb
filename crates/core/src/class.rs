//! The class of a request.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// A turn of the conversation itself.
    Main,
    /// A turn of a sub-agent's own conversation.
    Subagent,
    /// The client asks for a summary of its history.
    Compaction,
    /// A title, probe, suggestion or side question: never part of the conversation.
    Auxiliary,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Main => "main",
            Class::Subagent => "subagent",
            Class::Compaction => "compaction",
            Class::Auxiliary => "auxiliary",
        }
    }

    pub fn from_name(name: &str) -> Option<Class> {
        [Class::Main, Class::Subagent, Class::Compaction, Class::Auxiliary]
            .into_iter()
            .find(|class| class.name() == name)
    }

    /// Whether the messages of such a request belong to a conversation.
    pub fn is_turn(self) -> bool {
        matches!(self, Class::Main | Class::Subagent)
    }
}
