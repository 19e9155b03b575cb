//! Words and headers of other agents. An agent that needs more gets a folder of its own.

use crate::HeaderNames;
use ctx_core::ToolRole;
use ctx_core::lexicon::Vocabulary;

/// Session headers of Crush, pi, libraries and others.
pub const HEADERS: HeaderNames =
    HeaderNames { session: &["x-session-affinity", "x-session-id", "session_id", "session-id"], ..HeaderNames::NONE };

/// A variable that several agents set for the commands that they run.
pub const MARKS: &[&str] = &["AI_AGENT"];

pub static VOCABULARY: Vocabulary = Vocabulary {
    folders: &["orking directory: "],
    tools: &[
        ("read", ToolRole::Read),
        ("read_file", ToolRole::Read),
        ("View", ToolRole::Read),
        ("view", ToolRole::Read),
        ("view_file", ToolRole::Read),
        ("open_file", ToolRole::Read),
        ("write", ToolRole::Write),
        ("write_file", ToolRole::Write),
        ("edit", ToolRole::Edit),
        ("multiedit", ToolRole::Edit),
        ("edit_file", ToolRole::Edit),
        ("patch", ToolRole::Edit),
    ],
    tool_patterns: &[
        ("grep", ToolRole::Search),
        ("glob", ToolRole::Search),
        ("ls", ToolRole::Search),
        ("*search*", ToolRole::Search),
        ("*fetch*", ToolRole::Fetch),
    ],
    lasting_words: &["memory", "memories", "skill", "skills", "todo", "todos"],
    ..Vocabulary::EMPTY
};
