//! Copies frames of another conversation into this one.

use crate::compose::{Ground, Weights};
use crate::conversation::{Conversation, left};
use crate::edit::files::Files;
use crate::edit::imports::{FrameCopy, GatheredFrames, ImportSource};
use crate::edit::stubs;
use crate::view::{show, titles};
use crate::{Engine, Refusal};
use ctx_core::edit::CommitId;
use ctx_core::edit::effect::{Effect, EffectId, FrameKey, FrameRef, NewMessage, Place};
use ctx_core::edit::fold::Unit;
use ctx_core::edit::frame_id::FrameId;
use ctx_core::edit::operation::{Select, Where};
use ctx_core::edit::resolve::{Desk, Scope};
use ctx_core::hint::Command;
use ctx_core::message::{Block, Kind, Role};
use ctx_core::{Content, ErrorCode, hint};
use std::collections::HashSet;

/// Content that is not imported, by kind.
#[derive(Default)]
struct LeftBehind {
    thinking: usize,
    reminders: usize,
    settings: usize,
}

impl LeftBehind {
    fn in_words(&self) -> Option<String> {
        let count = |number: usize, word: &str| match number {
            0 => None,
            1 => Some(format!("1 {word}")),
            more => Some(format!("{more} {word}s")),
        };
        let thinking = count(self.thinking, "thinking block");
        let reminders =
            count(self.reminders, "note").map(|notes| format!("{notes} of the client's own (environment, reminders)"));
        let settings = count(self.settings, "setting").map(|settings| format!("{settings} (compaction, tools)"));
        let all: Vec<String> = thinking.into_iter().chain(reminders).chain(settings).collect();
        (!all.is_empty())
            .then(|| format!("not imported, because it belongs to the other conversation: {}", all.join(", ")))
    }
}

impl Engine {
    /// Imports frames, each as its own frame. `(commit, index)`: the name of the first effect.
    pub fn import(
        &self,
        into: &Conversation,
        desk: &Desk<'_>,
        (from, ids): (&str, &[String]),
        to: &Where,
        (commit, index): (CommitId, usize),
        files: &mut Files,
    ) -> Result<Vec<Effect>, Refusal> {
        let gathered = match files.imports.find(from, Some(ids))? {
            ImportSource::Other(gathered) => gathered.clone(),
            ImportSource::Own | ImportSource::Edits(_) => self.copies_of_left(into, ids)?,
        };
        let source = if gathered.from == into.id() { "earlier in this conversation" } else { &gathered.from };
        let salt = format!("{}{}", gathered.from, desk.next_added);
        let mut effects: Vec<Effect> = Vec::new();
        for (number, mut copy) in (desk.next_added..).zip(gathered.frames) {
            for made in &mut copy.messages {
                made.content = made.content.drain(..).map(|content| into.wire().copied(content, &salt)).collect();
            }
            let title = Some(format!("{} (from {source})", copy.titles.join(", ")));
            match effects.len() {
                0 => effects = desk.insert(copy.messages, to, title)?,
                before => {
                    let effect = EffectId { commit, index: (index + before - 1) as u32 };
                    let key = FrameKey::Made { effect, part: 0 };
                    let to = Place::After(FrameRef { key, until: None });
                    effects.push(Effect::Insert { number, messages: copy.messages, to, title });
                }
            }
        }
        self.adopt(into, (&gathered.from, &gathered.stubs), &mut effects, files)?;
        files.remarks.extend(gathered.remark);
        Ok(effects)
    }

    /// Copies from another conversation: the content that these ids name, or its edits.
    pub fn copied(&self, conversation: &Conversation, ids: Option<&[String]>) -> Result<ImportSource, Refusal> {
        match ids {
            Some(ids) => self.copy_frames(conversation, ids).map(ImportSource::Other),
            None => self.edits_of(conversation).map(ImportSource::Edits),
        }
    }

    /// Copies from another conversation: frames on its path, otherwise frames that its client has left.
    fn copy_frames(&self, conversation: &Conversation, ids: &[String]) -> Result<GatheredFrames, Refusal> {
        match self.copies(conversation, &Ground::of(conversation, true), ids, None) {
            Err(refusal) if refusal.code == ErrorCode::UnknownId && !conversation.messages.left.is_empty() => {
                let ground = Ground::with_left(conversation, &conversation.left_frames());
                self.copies(conversation, &ground, ids, None).map_err(|_| refusal)
            }
            copies => copies,
        }
    }

    /// Copies from the same conversation only frames that the client has left: the others are already sent.
    fn copies_of_left(&self, conversation: &Conversation, ids: &[String]) -> Result<GatheredFrames, Refusal> {
        let current = Ground::of(conversation, true).lay(conversation.effects(conversation.history.head()));
        let ground = Ground::with_left(conversation, &conversation.left_frames());
        self.copies(conversation, &ground, ids, Some(&left::names(&current)))
    }

    /// Copies the content that `ids` name on `ground`, except from frames that are `taken`.
    fn copies(
        &self,
        conversation: &Conversation,
        ground: &Ground<'_>,
        ids: &[String],
        taken: Option<&HashSet<&FrameId>>,
    ) -> Result<GatheredFrames, Refusal> {
        let source = ground.source();
        let view = ground.lay(conversation.effects(conversation.history.head()));
        let weights = Weights::of(conversation);
        let scale = |estimate: f64| conversation.tokens(estimate);
        let theirs = conversation.desk(&view, &source, &weights, &scale, 0);
        let mut copied: Vec<FrameCopy> = Vec::new();
        let mut left = LeftBehind::default();
        let mut written: Vec<&str> = Vec::new();
        for target in theirs.targets(ids, &Select::default())? {
            if matches!(target.scope, Scope::System | Scope::Tool) {
                return Err(Refusal::new(
                    ErrorCode::NotATurn,
                    format!("`{}` cannot be imported.", target.name),
                    "You can import frames, steps and messages.",
                ));
            }
            let frame = target.frame.and_then(|at| view.frames.get(at));
            if frame.zip(taken).is_some_and(|(frame, taken)| taken.contains(&frame.id)) {
                return Err(Refusal::new(
                    ErrorCode::SameConversation,
                    format!("`{}` is already in this conversation.", target.name),
                    hint![
                        Command::Move,
                        " moves it, ",
                        Command::Add,
                        " writes a new one. From the same conversation, you can import only frames that are no longer \
                         sent: ",
                        Command::List.with("--all"),
                        " shows them."
                    ],
                ));
            }
            // Several parts of one frame stay together.
            if copied.last().is_none_or(|last| last.frame != target.frame) {
                copied.push(FrameCopy { frame: target.frame, titles: Vec::new(), messages: Vec::new() });
            }
            let Some(copy) = copied.last_mut() else { continue };
            copy.titles.push(titles::target_title(&theirs, &target));
            let texts = self.texts(conversation, source.slots, show::messages_of(&target.units))?;
            let mut last = None;
            for laid in target.units.iter().filter(|laid| laid.covered.is_none()) {
                let (owner, role, content) = match laid.unit {
                    Unit::Made(made) => {
                        let Some(made) = view.made(made) else { continue };
                        written.extend(made.content.iter().flat_map(stubs::texts_of));
                        (None, made.role.unwrap_or(Role::User), made.content.clone())
                    }
                    Unit::Source { message, block: Some(at) } => {
                        let facts = ground.messages[message];
                        let Some(block) = facts.blocks.get(at) else { continue };
                        match block.kind {
                            Kind::Thinking => left.thinking += 1,
                            Kind::Reminder => left.reminders += 1,
                            _ if facts.is_setting(at) => left.settings += 1,
                            _ => {}
                        }
                        if matches!(block.kind, Kind::Thinking | Kind::Reminder) || facts.is_setting(at) {
                            continue;
                        }
                        // A result of the provider's tools is sent unchanged or not at all (A42).
                        let result = view.new_result(laid);
                        if result.is_some() && facts.role == Role::Assistant {
                            continue;
                        }
                        written.extend(result);
                        let text = texts.get(&message).map(Vec::as_slice).unwrap_or_default();
                        let Some(content) = content_of(conversation, (text, at), block, result) else { continue };
                        (Some(message), facts.role, vec![content])
                    }
                    Unit::Source { block: None, .. } => continue,
                };
                let role = if role == Role::System { Role::User } else { role };
                match copy.messages.last_mut().filter(|_| owner.is_some() && owner == last) {
                    Some(made) => made.content.extend(content),
                    None => copy.messages.push(NewMessage { role: Some(role), content }),
                }
                last = owner;
            }
        }
        copied.retain(|copy| !copy.messages.is_empty());
        if copied.is_empty() {
            return Err(Refusal::new(
                ErrorCode::Gone,
                "There is nothing to import.",
                hint![Command::List.with("--conv"), " shows the frames."],
            ));
        }
        let stubs = self.stub_texts(conversation, written.into_iter())?;
        Ok(GatheredFrames { from: conversation.id().to_owned(), frames: copied, remark: left.in_words(), stubs })
    }
}

/// A client block, with the new content of its result.
fn content_of(
    conversation: &Conversation,
    (message, at): (&[u8], usize),
    block: &Block,
    result: Option<&str>,
) -> Option<Content> {
    let content = conversation.wire().content(std::str::from_utf8(show::at_of(message, block)).ok()?)?;
    let content = content.linked(block.tool_use_id.as_deref());
    let Some(text) = result else { return Some(content) };
    match conversation.wire().contents(message).into_iter().nth(at)? {
        Content::Result { id, error, .. } => {
            let result = Content::Result { id, parts: vec![Content::text(text)], error };
            Some(result.linked(block.tool_use_id.as_deref()))
        }
        _ => Some(content),
    }
}
