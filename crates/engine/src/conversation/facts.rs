//! The facts of all messages of a log, and the snapshot that keeps those of old messages.
//!
//! A replay needs what each message says about itself (its key, its blocks, its title), also of messages that have left
//! the current path. It follows from the message's bytes alone, so a snapshot keeps it under a digest of them, and only
//! messages without it are read. What happened to the messages is in the records, which are always replayed: a snapshot
//! cannot disagree with the log. Messages on the path are not in it: they are read in any case.

use crate::conversation::SlotVersion;
use ctx_core::Key;
use ctx_core::message::Message;
use ctx_store::{Blob, Hash, Reader, Snapshot, StoreError};
use ctx_wire::WireId;
use ctx_wire::dress::dress;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// Raise it when messages are read differently; a test notices. Snapshots of other formats are ignored.
const FORMAT: u32 = 3;

/// A snapshot is written again when it lacks this many old messages, and a part of all: a load costs little more than
/// with a complete one, and writing costs little per message.
const WORTHWHILE: (usize, usize) = (32, 8);

/// A message version of the log, as it is stored.
pub type StoredMessage<'a> = (WireId, &'a SlotVersion);

/// The body of a snapshot.
#[derive(Serialize, Deserialize)]
struct SnapshotBody {
    format: u32,
    /// Another version of the program may read messages differently.
    program: String,
    facts: Vec<(Key, Message)>,
}

/// The facts of the messages of a log.
#[derive(Debug, Default)]
pub struct Facts {
    known: HashMap<Key, Message>,
    /// The messages that were read for it.
    pub read: HashMap<Hash, Vec<u8>>,
}

impl Facts {
    /// The facts of these messages, as far as they are readable: from the snapshot, otherwise from the store.
    pub fn of(
        messages: &[StoredMessage<'_>],
        snapshot: Option<&Snapshot>,
        store: &dyn Reader,
    ) -> Result<Facts, StoreError> {
        let mut facts = Facts { known: snapshot.and_then(facts_in).unwrap_or_default(), read: HashMap::new() };
        let mut seen = HashSet::new();
        let mut missing: Vec<(Key, StoredMessage<'_>)> =
            messages.iter().map(|message| (digest(*message), *message)).collect();
        missing.retain(|(key, _)| !facts.known.contains_key(key) && seen.insert(*key));
        let mut hashes: Vec<Hash> = missing.iter().map(|(_, (_, version))| version.blob).collect();
        hashes.sort_unstable();
        hashes.dedup();
        for (hash, blob) in hashes.iter().zip(store.blobs(&hashes)?) {
            if let Blob::Present(bytes) = blob {
                facts.read.insert(*hash, bytes);
            }
        }
        for (key, (wire, version)) in missing {
            let exact = facts.read.get(&version.blob).and_then(|bare| dress(bare, &version.dress));
            if let Some(exact) = exact {
                facts.known.insert(key, ctx_wire::wire(wire).read(&exact, ctx_clients::lexicon()).facts);
            }
        }
        Ok(facts)
    }

    /// `None` if the message is missing or damaged.
    pub fn get(&self, message: StoredMessage<'_>) -> Option<Message> {
        self.known.get(&digest(message)).cloned()
    }

    /// A snapshot with the facts of these messages, as of this version of the log.
    pub fn snapshot(&self, messages: &[StoredMessage<'_>], version: u64) -> Option<Snapshot> {
        let mut seen = HashSet::new();
        let keys = messages.iter().map(|message| digest(*message)).filter(|key| seen.insert(*key));
        let facts = keys.filter_map(|key| Some((key, self.known.get(&key)?.clone()))).collect();
        let body = SnapshotBody { format: FORMAT, program: env!("CARGO_PKG_VERSION").to_owned(), facts };
        Some(Snapshot { version, body: serde_json::to_vec(&body).ok()? })
    }

    /// Whether reading old messages cost enough to keep their facts in a new snapshot. The others would have been read
    /// in any case.
    pub fn is_worth_keeping(&self, old: &[StoredMessage<'_>]) -> bool {
        let (count, share) = WORTHWHILE;
        let read: HashSet<Hash> =
            old.iter().map(|(_, version)| version.blob).filter(|blob| self.read.contains_key(blob)).collect();
        read.len() >= count && read.len() * share >= old.len()
    }
}

/// `None` for a snapshot that another program wrote, or an unreadable one.
fn facts_in(snapshot: &Snapshot) -> Option<HashMap<Key, Message>> {
    let body: SnapshotBody = serde_json::from_slice(&snapshot.body).ok()?;
    let is_ours = body.format == FORMAT && body.program == env!("CARGO_PKG_VERSION");
    is_ours.then(|| body.facts.into_iter().collect())
}

/// Identifies the exact bytes of a message, and how they are read.
fn digest((wire, version): StoredMessage<'_>) -> Key {
    let places: Vec<[u8; 4]> = version.dress.0.iter().map(|(at, _)| at.to_le_bytes()).collect();
    let dress = version.dress.0.iter().zip(&places).flat_map(|((_, text), at)| [at.as_slice(), &text[..]]);
    Key::of([wire.name().as_bytes(), version.blob.as_bytes().as_slice()].into_iter().chain(dress))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_store::MemoryStore;

    /// If it fails because messages are read differently now, raise [`FORMAT`].
    #[test]
    fn the_format_names_how_messages_are_read() {
        let spoken = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"text","text":"I look. "},{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"/a.rs"}}]}"#;
        let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"fn a() {}"},{"type":"text","text":"<system-reminder>x</system-reminder>"}]}"#;
        let seen = r#"{"role":"user","content":[{"type":"image","source":{"type":"url","url":"http://host/a"}}]}"#;
        let chat = r#"{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"Read","arguments":"{}"}}]}"#;
        let cases = [
            (WireId::Anthropic, spoken),
            (WireId::Anthropic, result),
            (WireId::Anthropic, seen),
            (WireId::OpenaiChat, chat),
        ];
        let read: Vec<Message> = cases
            .iter()
            .map(|(wire, text)| ctx_wire::wire(*wire).read(text.as_bytes(), ctx_clients::lexicon()).facts)
            .collect();
        let json = serde_json::to_vec(&read).expect("JSON");
        assert_eq!((FORMAT, Key::of([json.as_slice()]).to_string().as_str()), (3, "3fb232fee3d2f83631e7795e25be07a6"));
        let back: Vec<Message> = serde_json::from_slice(&json).expect("messages");
        assert_eq!(back, read);
    }

    #[test]
    fn a_snapshot_of_another_format_or_program_is_ignored() {
        let facts = Facts::of(&[], None, &MemoryStore::new()).expect("read");
        let snapshot = facts.snapshot(&[], 7).expect("a snapshot");
        assert!(facts_in(&snapshot).is_some());
        let text = String::from_utf8(snapshot.body).expect("JSON");
        for other in
            [text.replace("\"format\":3", "\"format\":0"), text.replace(env!("CARGO_PKG_VERSION"), "0"), "{".into()]
        {
            assert_ne!(other, text);
            assert!(facts_in(&Snapshot { version: 7, body: other.into_bytes() }).is_none());
        }
    }
}
