//! Content of other conversations for a commit, copied before the commit is made.

use super::stubs::StubTexts;
use crate::Refusal;
use ctx_core::edit::Operation;
use ctx_core::edit::effect::{Effect, EffectId, NewMessage};
use ctx_core::message::Message;
use ctx_core::{ErrorCode, SlotId};

/// A copied frame, or the named parts of it.
#[derive(Debug, Clone)]
pub(super) struct FrameCopy {
    pub(super) frame: Option<usize>,
    pub(super) titles: Vec<String>,
    pub(super) messages: Vec<NewMessage>,
}

/// Frames of another conversation, as of the time of the copy.
#[derive(Debug, Clone)]
pub struct GatheredFrames {
    pub(super) from: String,
    pub(super) frames: Vec<FrameCopy>,
    pub(super) remark: Option<String>,
    pub(super) stubs: StubTexts,
}

/// The active edits of a conversation, and the history that they are laid over.
#[derive(Debug, Clone)]
pub struct EditsOf {
    pub(super) effects: Vec<(EffectId, Effect)>,
    pub(super) path: Vec<(SlotId, Message)>,
    pub(super) stubs: StubTexts,
}

/// The key of an import: the conversation's name and the ids in it; without ids, its edits.
type ImportKey = (String, Option<Vec<String>>);

#[derive(Debug, Clone)]
pub enum ImportSource {
    /// The conversation itself: frames that its client has left.
    Own,
    Other(GatheredFrames),
    Edits(EditsOf),
}

/// The content for the import operations of a commit.
#[derive(Debug, Clone, Default)]
pub struct Imports(pub Vec<(ImportKey, Result<ImportSource, Refusal>)>);

impl Imports {
    pub fn find(&self, from: &str, ids: Option<&[String]>) -> Result<&ImportSource, Refusal> {
        let found = self.0.iter().find(|(asked, _)| asked.0 == from && asked.1.as_deref() == ids);
        match found {
            Some((_, source)) => source.as_ref().map_err(Refusal::clone),
            None => Err(Refusal::new(
                ErrorCode::Busy,
                format!("Conversation `{from}` could not be read."),
                "Nothing was changed. Try again in a moment.",
            )),
        }
    }
}

/// Reads the content for each import operation.
pub fn imports(
    operations: &[Operation],
    read: impl Fn(&str, Option<&[String]>) -> Result<ImportSource, Refusal>,
) -> Imports {
    let source = |operation: &Operation| match operation {
        Operation::Import { from, ids, edits, .. } => {
            let ids = if *edits { None } else { Some(ids.as_slice()) };
            Some(((from.clone(), ids.map(<[String]>::to_vec)), read(from, ids)))
        }
        _ => None,
    };
    Imports(operations.iter().filter_map(source).collect())
}
