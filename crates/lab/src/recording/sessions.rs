//! Session files of clients as recordings.

use super::{Labels, Recording, Turn, Usage, time};
use ctx_clients::{CLIENTS, SessionConversation, SessionFile, SessionFiles, SessionTurn, SessionUsage};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// The first client accepts every file of lines, so it is tried last.
fn kinds() -> impl Iterator<Item = SessionFiles> {
    CLIENTS.iter().rev().filter_map(|client| client.sessions)
}

/// The session of a client in a file; `None` if it is not one.
pub(super) fn read(path: &Path, name: &str, bytes: &[u8]) -> Option<SessionFile> {
    let files = kinds().find(|files| (files.recognises)(path, bytes))?;
    let own = (files.name)(path);
    let name = own.as_deref().unwrap_or(name);
    let companion = files.companion.and_then(|one| Some((one, std::fs::read((one.path)(path)?).ok()?)));
    Some(match companion {
        Some((companion, beside)) => (companion.read)(name, bytes, &beside),
        None => (files.read)(name, bytes),
    })
}

/// The sessions in the database of a client; `None` if it is not one.
pub(super) fn stored(path: &Path) -> Option<SessionFile> {
    if path.extension().is_none_or(|ending| ending != "db") {
        return None;
    }
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let (files, sessions) = kinds().find_map(|files| Some((files, rows(&database, files.query?).ok()?)))?;
    let mut all = SessionFile { conversations: Vec::new(), skipped: Vec::new() };
    for (name, text) in sessions {
        let SessionFile { conversations, skipped } = (files.read)(&name, text.as_bytes());
        all.conversations.extend(conversations);
        all.skipped.extend(skipped.into_iter().map(|(_, why)| (None, format!("{name}: {why}"))));
    }
    Some(all)
}

fn rows(database: &Connection, query: &str) -> rusqlite::Result<Vec<(String, String)>> {
    database.prepare(query)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Whether a file accompanies session files and contains no conversation.
pub(super) fn passes_over(path: &Path) -> bool {
    kinds().any(|files| (files.passes_over)(path))
}

impl From<SessionConversation> for Recording {
    fn from(conversation: SessionConversation) -> Recording {
        let SessionConversation { name, wire, model, head, messages, turns } = conversation;
        let turns = turns.into_iter().map(Turn::from).collect();
        Recording { name, wire, model, head, lead: Vec::new(), messages, turns, labels: Labels::default() }
    }
}

impl From<SessionTurn> for Turn {
    fn from(turn: SessionTurn) -> Turn {
        let at = turn.at.as_deref().and_then(time::milliseconds);
        Turn { answer: turn.answer, at, usage: turn.usage.map(Usage::from), model: turn.model }
    }
}

impl From<SessionUsage> for Usage {
    fn from(usage: SessionUsage) -> Usage {
        let SessionUsage { input, cache_read, cache_written, cache_written_1h, output } = usage;
        Usage { input, cache_read, cache_written, cache_written_1h, output }
    }
}
