//! What a check found, as values with a sentence and an advice each. How it is found is the backend's.

use crate::Size;

/// The outcome of reading and verifying everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    pub findings: Vec<Finding>,
    pub counts: Counts,
    pub size: Size,
    /// Version of the file's schema; 0 for a store without files.
    pub schema: i64,
}

impl Health {
    /// Whether everything that was written can be read back.
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(Finding::is_damage)
    }
}

/// How much was verified, and how much of it was damaged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub conversations: u64,
    pub records: u64,
    pub blobs: u64,
    pub notes: u64,
    pub damaged_records: u64,
    pub damaged_blobs: u64,
    pub damaged_notes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// What is the case, in a plain sentence.
    pub sentence: String,
    /// What to do about it.
    pub advice: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// The structure of the file is broken.
    DamagedFile,
    DamagedRecords,
    /// Records that name blobs which are gone.
    DanglingUses,
    DamagedBlobs,
    DamagedNotes,
    /// Records that were acknowledged and are missing.
    LostRecords,
    /// Others may read what is ours.
    Permissions,
    /// Blobs that no record uses.
    UnusedBlobs,
    /// The write-ahead log has grown far beyond its usual size.
    LongLog,
    /// Files that an earlier start found damaged and moved aside.
    MovedAside,
}

impl Finding {
    /// Damage means that something written cannot be read back; the rest is for information.
    pub fn is_damage(&self) -> bool {
        match self.kind {
            FindingKind::DamagedFile
            | FindingKind::DamagedRecords
            | FindingKind::DanglingUses
            | FindingKind::DamagedBlobs
            | FindingKind::DamagedNotes
            | FindingKind::LostRecords => true,
            FindingKind::Permissions | FindingKind::UnusedBlobs | FindingKind::LongLog | FindingKind::MovedAside => {
                false
            }
        }
    }

    pub(crate) fn new(kind: FindingKind, sentence: String) -> Self {
        let advice = match kind {
            FindingKind::DamagedFile => {
                "stop the daemon and move the store's file away; the next start makes a new one and conversations are recorded afresh"
            }
            FindingKind::DamagedRecords | FindingKind::DanglingUses => {
                "they are skipped. Requests of a conversation whose edits were in them are withheld until its next edit, or \
                 `ctx rollback source`; `ctx purge` removes the conversation"
            }
            FindingKind::DamagedBlobs => {
                "nothing to do: each is written anew when the agent sends the same message again"
            }
            FindingKind::DamagedNotes => "nothing to do: notes are rebuilt from the log",
            FindingKind::LostRecords => {
                "edits in them are gone: compare `ctx history` with what you remember and make them again; then delete that file"
            }
            FindingKind::Permissions => {
                "the daemon corrects it on its next start; or do it now: chmod 700 for the folder, 600 for the files"
            }
            FindingKind::UnusedBlobs => "the next purge removes them",
            FindingKind::LongLog => "stop and start the daemon to move it into the main file",
            FindingKind::MovedAside => "delete them when you no longer want to look at them",
        };
        Self { kind, sentence, advice }
    }
}
