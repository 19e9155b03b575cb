//! Exports a conversation with its history as one file, and imports it.
//!
//! The file consists of lines of JSON, so people can read it and errors have a place. The first line is a header, the
//! last one a seal over all others. Between them are the unchanged records of the log, each after the blobs that it
//! uses first, and the notes on the conversation. It contains no credentials: none is ever stored.
//!
//! A file can be written by anyone. In a team the importer is the author of what others seem to have written in it, and
//! who opened or shared the conversation elsewhere is left out.
//!
//! Offloaded content is in the log; the files that the stubs name are not exported, because an import must not write to
//! arbitrary places. `restore` brings such content back without its file.

mod authors;

use crate::directory::SharedConversation;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::conversations::ImportResult;
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::card::{self, Card};
use ctx_engine::compose::Ground;
use ctx_engine::conversation::Conversation;
use ctx_engine::log::{self, OpeningRecord};
use ctx_engine::{EDITED, Refusal, mark};
use ctx_store::{Blob, Hash, MemoryStore, NewRecord, Note, Step, Store};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// The format name in the first line.
pub const FORMAT: &str = "ctx-conversation";
pub const VERSION: u32 = 1;
/// Notes that cannot be derived from the log.
const NOTES: [&str; 1] = ["pending"];
/// The number of blobs read at a time.
const PAGE: usize = 256;

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    conversation: String,
    title: String,
    records: u64,
    /// Records that were unreadable at the source.
    #[serde(default, skip_serializing_if = "is_zero")]
    skipped: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Each following line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Blob(Content),
    Record { at: u64, kind: String, version: u16, uses: Vec<String>, body: Box<RawValue> },
    Note { name: String, content: Content },
    End { lines: u64, hash: String },
}

/// Exact bytes; as text if they are valid text.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    Text(String),
    Hex(String),
}

impl Content {
    fn of(bytes: Vec<u8>) -> Content {
        match String::from_utf8(bytes) {
            Ok(text) => Content::Text(text),
            Err(error) => Content::Hex(error.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()),
        }
    }

    fn bytes(self) -> Option<Vec<u8>> {
        match self {
            Content::Text(text) => Some(text.into_bytes()),
            Content::Hex(hex) => {
                let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
                pairs.map(|pair| u8::from_str_radix(pair.filter(|pair| pair.len() == 2)?, 16).ok()).collect()
            }
        }
    }
}

impl Parts {
    pub(crate) fn export(&self, name: &str) -> Result<(String, Vec<u8>), Refusal> {
        let id = self.meant(name)?;
        self.settle(self.patience());
        let found = self.store.records(&id, 0)?;
        let title = lock(&self.directory).card(&id).map(|card| card.title.clone()).unwrap_or_default();
        let mut skipped = found.skipped.len() as u64;
        let mut writing = Writing::default();
        let mut records = Vec::new();
        let mut known: HashSet<Hash> = HashSet::new();
        for record in found.records {
            let new: Vec<Hash> = record.uses.iter().copied().filter(|hash| known.insert(*hash)).collect();
            let mut blobs = Vec::new();
            for page in new.chunks(PAGE) {
                blobs.extend(self.store.blobs(page)?);
            }
            let blobs: Option<Vec<Vec<u8>>> = blobs
                .into_iter()
                .map(|blob| if let Blob::Present(bytes) = blob { Some(bytes) } else { None })
                .collect();
            let body = serde_json::from_slice::<Box<RawValue>>(&record.body).ok();
            // Damaged content is not exported.
            let (Some(blobs), Some(body)) = (blobs, body) else {
                known.retain(|hash| !new.contains(hash));
                skipped += 1;
                continue;
            };
            records.extend(blobs.into_iter().map(|bytes| Line::Blob(Content::of(bytes))));
            let uses = record.uses.iter().map(Hash::to_string).collect();
            records.push(Line::Record { at: record.at, kind: record.kind, version: record.version, uses, body });
        }
        let is_record = |line: &&Line| matches!(line, Line::Record { .. });
        let count = records.iter().filter(is_record).count() as u64;
        let conversation = id.clone();
        writing.line(&Head {
            format: FORMAT.into(),
            version: VERSION,
            conversation,
            title,
            records: count,
            skipped,
        })?;
        records.iter().try_for_each(|line| writing.line(line))?;
        for name in NOTES {
            if let Some(body) = self.store.note(&id, name)? {
                writing.line(&Line::Note { name: name.into(), content: Content::of(body) })?;
            }
        }
        Ok((id, writing.sealed()?))
    }

    /// `importer`: the person, in a team.
    pub(crate) fn take_in(&self, file: &[u8], dry_run: bool, importer: Option<&str>) -> Result<ImportResult, Refusal> {
        let mut read = read(file)?;
        read.step.records.retain(|record| !authors::is_access(record));
        for record in read.step.records.iter_mut() {
            importer.iter().for_each(|importer| authors::sign(record, importer));
        }
        // Serialises two imports of one file.
        let _one_at_a_time = self.editing.lock(&read.head.conversation);
        self.settle(self.patience());
        // Only a request of its session waits for this.
        let reserved = Arc::new(Mutex::new(Conversation::new(String::new(), OpeningRecord::unknown())));
        let _busy = lock(&reserved);
        let (id, session) = self.place_for(&read, file, &reserved)?;
        let _place = Place { service: self, id: id.clone() };
        let (mut step, conversation) = replayed(&read, &id, session.as_ref())?;
        // Until its first turn here.
        let card = Card { imported: true, ..card::of(&conversation) };
        let ground = Ground::of(&conversation, true);
        let view = ground.lay(conversation.effects(conversation.history.head()));
        let missing = view.frames.iter().flat_map(|frame| view.units(frame, &ground.messages));
        let imported = ImportResult {
            conversation: id.clone(),
            was: read.head.conversation.clone(),
            title: card.title.clone(),
            records: step.records.len() as u64,
            commits: conversation.history.all().count() as u64,
            frames: card.frames,
            tokens: card.tokens,
            session: session.filter(|session| read.opened().session.as_ref() == Some(session)),
            files_missing: missing.filter(|laid| self.engine.lacks_its_file(&view, laid)).count(),
            dry_run,
        };
        if dry_run {
            return Ok(imported);
        }
        let losses = lock(&self.directory).losses(&id);
        step.notes.push(card::note(&card));
        if conversation.is_held() {
            step.notes.push(mark(&id, EDITED, true));
        }
        let _untold = self.writer.write_now(step, losses).map_err(|error| error.refusal("The conversation"))?;
        self.held.put(&card, conversation.is_held());
        lock(&self.directory).put(card);
        Ok(imported)
    }

    /// Its id here, and its session unless a local conversation has it. Both are reserved at once.
    fn place_for(
        &self,
        read: &ArchiveContent,
        file: &[u8],
        reserved: &SharedConversation,
    ) -> Result<(String, Option<String>), Refusal> {
        let stored: HashSet<String> = self.store.conversations()?.into_iter().map(|row| row.id).collect();
        let mut directory = lock(&self.directory);
        let opened = read.opened();
        let is_same = |card: &Card| card.session == opened.session && card.agent == opened.agent;
        let is_live = |session: &String| directory.is_live(session, opened.agent.as_deref());
        let session = opened.session.clone().filter(|session| !directory.cards().any(is_same) && !is_live(session));
        let own = &read.head.conversation;
        let is_free = directory.card(own).is_none() && !stored.contains(own) && !directory.is_loaded(own);
        // A copy without its session must not be found under that session.
        if is_free && session == opened.session {
            let whose = session.clone().map(|session| (session, opened.agent));
            directory.reserve(own, whose, reserved.clone());
            return Ok((own.clone(), session));
        }
        let hash = Hash::of(file).to_string();
        let ids = (0..).map(|number: u64| directory.free_id(&["import", &hash, &number.to_string()]));
        let id = ids.take(100).find(|id| !stored.contains(id)).ok_or_else(|| {
            Refusal::new(ErrorCode::Taken, "No id is free for it.", "This is a bug; please report it.")
        })?;
        directory.reserve(&id, None, reserved.clone());
        // Clients without a session are recognised by their beginning: they must not be taken for the copy's.
        let session = session.or_else(|| opened.session.is_none().then(|| format!("imported-{id}")));
        Ok((id, session))
    }
}

/// The reserved place of a conversation during its import. Threads that wait for it find the outcome.
struct Place<'c> {
    service: &'c Parts,
    id: String,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.service.with_directory(|directory| directory.release(&self.id));
    }
}

/// The step that stores it, and the resulting conversation.
fn replayed(read: &ArchiveContent, id: &str, session: Option<&String>) -> Result<(Step, Conversation), Refusal> {
    let mut step = Step { durable: true, ..read.step.clone() };
    for record in &mut step.records {
        record.conversation = id.to_owned();
        if record.kind == log::OPENED
            && let Ok(opened) = serde_json::from_slice::<OpeningRecord>(&record.body)
        {
            let agent = opened.agent.clone().filter(|_| session.is_some());
            let opened = OpeningRecord { session: session.cloned(), agent, ..opened };
            record.body = serde_json::to_vec(&opened).unwrap_or_default();
        }
    }
    step.notes.iter_mut().for_each(|note| note.conversation = id.to_owned());
    // It is tried in memory before anything is stored.
    let trial = MemoryStore::new();
    let unfit = |why: String| {
        Refusal::new(ErrorCode::BadFile, format!("The records in the file are inconsistent: {why}."), WHOLE)
    };
    trial.append(vec![step.clone()]).map_err(|error| unfit(error.to_string()))?;
    let conversation = Conversation::load(id, &trial)?.ok_or_else(|| unfit("there are none".into()))?;
    if conversation.log.skipped > read.head.skipped {
        return Err(unfit(format!("{} of them cannot be read", conversation.log.skipped)));
    }
    if conversation.messages.tree.is_empty() {
        return Err(unfit("they contain no message".into()));
    }
    Ok((step, conversation))
}

const WHOLE: &str = "Nothing was changed. Export the conversation again and copy the whole file.";

/// A parsed file.
struct ArchiveContent {
    head: Head,
    step: Step,
}

impl ArchiveContent {
    fn opened(&self) -> OpeningRecord {
        let opened = self.step.records.iter().rev().find(|record| record.kind == log::OPENED);
        opened.and_then(|record| serde_json::from_slice(&record.body).ok()).unwrap_or_else(OpeningRecord::unknown)
    }
}

fn read(file: &[u8]) -> Result<ArchiveContent, Refusal> {
    let mut lines = (1u64..).zip(file.split_inclusive(|byte| *byte == b'\n'));
    let (_, first) = lines.next().ok_or_else(|| foreign("it is empty"))?;
    let head = head(first)?;
    let mut step = Step::default();
    let mut known: HashSet<Hash> = HashSet::new();
    let mut at = first.len();
    for (number, bytes) in lines.by_ref() {
        let damaged = |why: String| damaged(number, at, &why);
        if !bytes.ends_with(b"\n") {
            return Err(damaged("the file ends in the middle of the line".into()));
        }
        match serde_json::from_slice::<Line>(bytes).map_err(|error| damaged(error.to_string()))? {
            Line::Blob(content) => {
                let bytes = content.bytes().ok_or_else(|| damaged("its bytes are not hexadecimal digits".into()))?;
                let hash = Hash::of(&bytes);
                if known.insert(hash) {
                    step.blobs.push((hash, bytes));
                }
            }
            Line::Record { at, kind, version, uses, body } => {
                if !log::is_readable(version) || !log::KINDS.contains(&kind.as_str()) {
                    let record = format!("this version of ctx does not support records `{kind}` of version {version}");
                    return Err(damaged(record));
                }
                let uses: Option<Vec<Hash>> = uses.iter().map(|hash| hash.parse().ok()).collect();
                let uses = uses.filter(|uses| uses.iter().all(|hash| known.contains(hash)));
                let uses = uses.ok_or_else(|| damaged("it needs content that is not in the file".into()))?;
                let body = body.get().as_bytes().to_vec();
                step.records.push(NewRecord { conversation: String::new(), at, kind, version, uses, body });
            }
            Line::Note { name, content } => {
                let body = content.bytes().filter(|_| NOTES.contains(&name.as_str()));
                let body =
                    body.ok_or_else(|| damaged(format!("this version of ctx does not support notes `{name}`")))?;
                step.notes.push(Note { conversation: String::new(), name, body: Some(body) });
            }
            Line::End { lines: count, hash } => {
                let sealed = file.get(..at).unwrap_or_default();
                if count != number || hash != Hash::of(sealed).to_string() {
                    return Err(damaged("the lines before it do not match the checksum".into()));
                }
                if lines.next().is_some() {
                    return Err(damaged("there is data after the end".into()));
                }
                if step.records.len() as u64 != head.records {
                    return Err(damaged(format!("there are {} records, not {}", step.records.len(), head.records)));
                }
                return Ok(ArchiveContent { head, step });
            }
        }
        at += bytes.len();
    }
    let count = file.split_inclusive(|byte| *byte == b'\n').count();
    Err(Refusal::new(
        ErrorCode::BadFile,
        format!("The file is truncated after line {count} (byte {}).", file.len()),
        WHOLE,
    ))
}

/// Checks the header. A conversation's id becomes a folder name, so only ids in our format are accepted.
fn head(line: &[u8]) -> Result<Head, Refusal> {
    #[derive(Deserialize)]
    struct Kind {
        format: String,
        version: u32,
    }
    let kind: Kind = serde_json::from_slice(line).map_err(|_| foreign("its first line is not a header"))?;
    if kind.format != FORMAT {
        return Err(foreign("its first line is not a header"));
    }
    if kind.version != VERSION {
        return Err(Refusal::new(
            ErrorCode::BadFile,
            format!("The file has version {}; this ctx reads version {VERSION}.", kind.version),
            "Nothing was changed. Import it with the ctx that wrote it, or a newer one.",
        ));
    }
    let head: Head = serde_json::from_slice(line).map_err(|error| damaged(1, 0, &error.to_string()))?;
    let is_hex = |digits: &str| digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_ours = head.conversation.strip_prefix('c').is_some_and(|id| (6..=32).contains(&id.len()) && is_hex(id));
    if !is_ours {
        return Err(damaged(1, 0, "its `conversation` is not an id"));
    }
    Ok(head)
}

fn foreign(why: &str) -> Refusal {
    Refusal::new(
        ErrorCode::BadFile,
        format!("This is not an exported conversation: {why}."),
        hint![Command::Export, " writes one. Nothing was changed."],
    )
}

fn damaged(line: u64, at: usize, why: &str) -> Refusal {
    // The parser knows the column; only this function knows the line.
    let why = why.replace(" at line 1 column ", " at column ");
    Refusal::new(ErrorCode::BadFile, format!("The file is damaged in line {line} (byte {at}): {why}."), WHOLE)
}

#[derive(Default)]
struct Writing {
    file: Vec<u8>,
    lines: u64,
}

impl Writing {
    fn line(&mut self, line: &impl Serialize) -> Result<(), Refusal> {
        serde_json::to_writer(&mut self.file, line).map_err(|error| {
            Refusal::new(ErrorCode::Store, format!("The conversation cannot be written: {error}."), "Please report it.")
        })?;
        self.file.push(b'\n');
        self.lines += 1;
        Ok(())
    }

    fn sealed(mut self) -> Result<Vec<u8>, Refusal> {
        let end = Line::End { lines: self.lines + 1, hash: Hash::of(&self.file).to_string() };
        self.line(&end)?;
        Ok(self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_whether_they_are_text_or_not() {
        for bytes in [b"".to_vec(), "é\n\u{0}".into(), vec![0xff, 0, 0x80]] {
            assert_eq!(Content::of(bytes.clone()).bytes(), Some(bytes));
        }
        for hex in ["f", "zz", "0é"] {
            assert_eq!(Content::Hex(hex.into()).bytes(), None, "{hex}");
        }
    }

    #[test]
    fn ids_that_would_lead_elsewhere_are_refused() {
        for id in ["", "../../x", "c3f9a1/..", "c", "C3F9A1", "cdefghi", "c3f9"] {
            let line = serde_json::json!({"format": FORMAT, "version": VERSION, "conversation": id, "title": "", "records": 1});
            let refusal = read(format!("{line}\n").as_bytes()).err().map(|refusal| refusal.message);
            assert!(refusal.is_some_and(|told| told.contains("line 1")), "{id}");
        }
    }
}
