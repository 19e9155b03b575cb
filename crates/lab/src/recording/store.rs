//! Conversations that `ctx` itself recorded, in the daemon's home.

use super::{Recording, Usage, corpus};
use ctx_service::replay_source::{RecordedConversation, RecordedRequest, recorded};
use ctx_store::{Reader, SqliteStore, StoreError};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::path::Path;

/// Whether a folder contains a store.
pub(super) fn is_store(folder: &Path) -> bool {
    SqliteStore::open_reader(folder).is_ok_and(|reader| reader.path().is_file())
}

/// The conversations in a folder, and the reasons for those that cannot be replayed.
pub(super) fn read(folder: &Path) -> Result<(Vec<Recording>, Vec<String>), String> {
    newest(&SqliteStore::open_reader(folder).map_err(told)?, usize::MAX)
}

fn told(error: StoreError) -> String {
    format!("the store cannot be read: {error}")
}

/// The newest conversations of a store, at most so many, and the reasons for those that cannot be replayed.
pub fn newest(store: &dyn Reader, most: usize) -> Result<(Vec<Recording>, Vec<String>), String> {
    let (mut recordings, mut skipped) = (Vec::new(), Vec::new());
    let mut rows = store.conversations().map_err(told)?;
    if rows.len() > most {
        rows.sort_by_key(|row| std::cmp::Reverse(row.last_at));
        rows.truncate(most);
    }
    for row in rows {
        match recorded(store, &row.id).map_err(told)? {
            None => skipped.push(format!("conversation {}: no request of it is known as a whole", row.id)),
            Some(found) => match recording(&row.id, found) {
                Ok(recording) => recordings.push(recording),
                Err(why) => skipped.push(format!("conversation {}: {why}", row.id)),
            },
        }
    }
    Ok((recordings, skipped))
}

fn recording(id: &str, found: RecordedConversation) -> Result<Recording, String> {
    let mut recording = corpus::read(id.to_owned(), &found.body, None).or_else(|why| match found.reply.is_empty() {
        true => Err(why),
        // Only its first request is known so far.
        false => corpus::unanswered(id.to_owned(), &found.body),
    })?;
    if !found.reply.is_empty() {
        let answer = recording.messages.len();
        recording.turns.push(super::Turn { answer, ..super::Turn::default() });
        for message in &found.reply {
            let message = serde_json::from_slice::<Box<RawValue>>(message);
            recording.messages.push(message.map_err(|error| format!("its reply is broken: {error}"))?);
        }
    }
    let asked: HashMap<usize, &RecordedRequest> = found.asked.iter().map(|asked| (asked.messages, asked)).collect();
    for turn in &mut recording.turns {
        let Some(asked) = asked.get(&turn.answer) else { continue };
        turn.at = i64::try_from(asked.at).ok();
        turn.model = asked.model.as_deref().map(Into::into);
        turn.usage = asked.usage.map(|usage| Usage {
            input: usage.input,
            cache_read: usage.cache_read,
            cache_written: usage.cache_write,
            // The store records it only if it is present.
            cache_written_1h: Some(usage.cache_write_1h.unwrap_or(0)),
            output: usage.output,
        });
    }
    Ok(recording)
}
