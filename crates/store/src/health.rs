//! The findings of a check, each with a sentence and advice. The backend implements the check.

use crate::Size;

/// The result of reading and verifying everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    pub findings: Vec<Finding>,
    pub counts: Counts,
    pub size: Size,
    /// The schema version of the file; 0 for a store without files.
    pub schema: i64,
}

impl Health {
    /// Whether everything written can be read back.
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(Finding::is_damage)
    }
}

/// Verified and damaged items.
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

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.conversations += other.conversations;
        self.records += other.records;
        self.blobs += other.blobs;
        self.notes += other.notes;
        self.damaged_records += other.damaged_records;
        self.damaged_blobs += other.damaged_blobs;
        self.damaged_notes += other.damaged_notes;
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// The finding as a sentence.
    pub sentence: String,
    /// Advice.
    pub advice: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// The structure of the file is broken.
    DamagedFile,
    DamagedRecords,
    /// Records that name missing blobs.
    DanglingUses,
    DamagedBlobs,
    DamagedNotes,
    /// Acknowledged records that are missing.
    LostRecords,
    /// Files that others can read.
    Permissions,
    /// Blobs that no record uses.
    UnusedBlobs,
    /// A write-ahead log far beyond its usual size.
    LongLog,
    /// A database server whose settings risk acknowledged commits.
    ServerSettings,
    /// A database of several owners without the role that confines reads to one of them.
    NoReaderRole,
    /// Damaged files that an earlier start moved aside.
    MovedAside,
}

impl Finding {
    /// Whether something written cannot be read back; other findings are informational.
    pub fn is_damage(&self) -> bool {
        match self.kind {
            FindingKind::DamagedFile
            | FindingKind::DamagedRecords
            | FindingKind::DanglingUses
            | FindingKind::DamagedBlobs
            | FindingKind::DamagedNotes
            | FindingKind::LostRecords => true,
            FindingKind::Permissions
            | FindingKind::UnusedBlobs
            | FindingKind::LongLog
            | FindingKind::ServerSettings
            | FindingKind::NoReaderRole
            | FindingKind::MovedAside => false,
        }
    }

    pub(crate) fn new(kind: FindingKind, sentence: String) -> Self {
        let advice = match kind {
            FindingKind::DamagedFile => {
                "stop the daemon and move the store's file away; the next start creates a new store"
            }
            FindingKind::DamagedRecords | FindingKind::DanglingUses => {
                "they are skipped. If they contained edits, requests of that conversation are withheld until its \
                 next edit or `ctx rollback source`; `ctx purge` deletes the conversation"
            }
            FindingKind::DamagedBlobs => "no action needed: the next request with the same message restores it",
            FindingKind::DamagedNotes => "no action needed: notes are rebuilt from the log",
            FindingKind::LostRecords => {
                "edits in them are lost: check `ctx history`, repeat missing edits, then delete that file"
            }
            FindingKind::Permissions => {
                "the next start of the daemon fixes it; or run chmod 700 on the folder, 600 on the files"
            }
            FindingKind::UnusedBlobs => "the next purge removes them",
            FindingKind::LongLog => "restart the daemon to merge it into the main file",
            FindingKind::ServerSettings => "switch it on in the server's settings",
            FindingKind::NoReaderRole => {
                "let an administrator of the server create the role and grant it to this login; then run `ctx store \
                 migrate` and restart the daemons"
            }
            FindingKind::MovedAside => "delete them when you no longer need them",
        };
        Self { kind, sentence, advice }
    }
}
