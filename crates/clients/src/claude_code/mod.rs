//! Claude Code: its headers, its words, its tools.

mod headers;
mod vocabulary;

pub use vocabulary::VOCABULARY;

use crate::{Client, ClientId};

pub static CLIENT: Client = Client {
    id: ClientId::ClaudeCode,
    name: "claude-code",
    title: "Claude Code",
    recognises: headers::recognises,
    headers: headers::NAMES,
    marks_turn: headers::marks_turn,
    class: headers::class,
    tells_side_requests: true,
    vocabulary: &VOCABULARY,
    bookkeeping: &["Task*", "Agent", "Todo*", "AskUserQuestion", "Skill", "*memory*", "ExitPlanMode"],
};
