//! Moves content to a file, or leaves it in the store alone, and leaves a stub that tells the agent where it is.

use super::files::{Files, NewFile};
use super::handle::{self, ReadsBack};
use crate::conversation::Conversation;
use crate::ports::OffloadFolder;
use crate::view::{show, titles};
use crate::{Engine, Refusal};
use ctx_core::edit::effect::{BlockRef, Effect, NewMessage, NewResult, Why};
use ctx_core::edit::fold::{Unit, View, ViewUnit};
use ctx_core::edit::history::KeptText;
use ctx_core::edit::operation::Select;
use ctx_core::edit::resolve::{self, Desk, OFFLOADED, OFFLOADED_TO_STORE, Scope, Target};
use ctx_core::hint::Command;
use ctx_core::message::{Kind, Role};
use ctx_core::{Content, ErrorCode, hint};
use ctx_store::Hash;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where offloaded content goes.
#[derive(Clone, Copy)]
enum Destination<'d> {
    Folder(&'d Arc<dyn OffloadFolder>),
    Store(ReadsBack<'d>),
}

impl Engine {
    pub fn offload(
        &self,
        conversation: &Conversation,
        desk: &Desk<'_>,
        (ids, select): (&[String], &Select),
        summary: Option<&str>,
        dry_run: bool,
        files: &mut Files,
    ) -> Result<Vec<Effect>, Refusal> {
        let targets = desk.without_staying(desk.targets(ids, select)?)?;
        let destination = self.destination(conversation)?;
        let mut effects = Vec::new();
        for target in &targets {
            if matches!(target.scope, Scope::System | Scope::Tool) {
                return Err(Refusal::new(
                    ErrorCode::NotATurn,
                    format!("`{}` is not part of the conversation; the agent could not read it back.", target.name),
                    hint![Command::Edit, " shortens it, ", Command::Delete, " removes it."],
                ));
            }
            if is_offloaded(desk, target) {
                continue;
            }
            let title = titles::target_title(desk, target);
            let text = self.markdown(conversation, desk, target, &title)?;
            let tokens = (desk.scale)(target.weight);
            let stub = match destination {
                Destination::Store(reader) => {
                    let handle = handle::of(&text);
                    let stub = stub(OFFLOADED_TO_STORE, (&title, tokens), summary, &reader.sentence(&handle));
                    files.kept.extend((!dry_run).then_some(KeptText { handle, text }));
                    stub
                }
                Destination::Folder(folder) => {
                    let name = file_name(&target.name, &title, &text);
                    let path = folder.path(conversation.id(), &name);
                    files.paths.push(path.clone());
                    files.new.extend((!dry_run).then_some(NewFile { name, text }));
                    stub(OFFLOADED, (&title, tokens), summary, &format!("{IS_IN}{}{READ_IT}", path.display()))
                }
            };
            effects.push(match lone_result(desk, target) {
                // A result still answers its call; only its content moves.
                Some((message, block)) => Effect::Results {
                    results: vec![NewResult {
                        of: desk.message_ref(message),
                        block: BlockRef::of(block as u32, &desk.source.messages[message].blocks[block]),
                        text: stub,
                    }],
                    summarized: true,
                },
                None => Effect::Replace {
                    why: Why::Offloaded,
                    covers: desk.covers(std::slice::from_ref(target), false)?,
                    by: vec![NewMessage::text(Some(Role::User), &stub)],
                },
            });
        }
        if effects.is_empty() {
            let names: Vec<String> = targets.iter().map(|target| format!("`{}`", target.name)).collect();
            let what =
                format!("{} {} already offloaded.", names.join(", "), if names.len() == 1 { "is" } else { "are" });
            return Err(ctx_core::edit::Refusal::nothing(what).into());
        }
        Ok(effects)
    }

    fn destination<'d>(&'d self, conversation: &'d Conversation) -> Result<Destination<'d>, Refusal> {
        match (&self.offload_folder, self.handles) {
            (_, Some(handles)) => handle::reader(handles, conversation).map(Destination::Store),
            (Some(folder), None) => Ok(Destination::Folder(folder)),
            (None, None) => Err(Refusal::new(
                ErrorCode::NoFolder,
                "No folder is configured for offloaded content.",
                "Start the daemon with a home folder.",
            )),
        }
    }

    /// Queues the files of a commit that is stored with a request: a client waits, so no disk is waited for.
    pub fn write_soon(&self, conversation: &Conversation, files: &Files) -> Result<(), Refusal> {
        let folder = self.offload_folder.iter().flat_map(|folder| files.new.iter().map(move |file| (folder, file)));
        for (folder, NewFile { name, text }) in folder {
            folder.write_soon(conversation.id(), name, text)?;
        }
        Ok(())
    }

    /// Whether content can be offloaded so that the agent can read it.
    pub fn can_offload(&self, conversation: &Conversation) -> bool {
        self.destination(conversation).is_ok()
    }

    /// Whether sent content names a file that no longer exists. A path in a conversation may come from anyone who edits
    /// it, so a daemon without offloaded files looks for none.
    pub fn lacks_its_file(&self, view: &View<'_>, laid: &ViewUnit) -> bool {
        if self.handles.is_some() {
            return false;
        }
        let has = |file: &PathBuf| self.offload_folder.as_ref().is_some_and(|folder| folder.has(file));
        files_named(view, laid).iter().any(|file| !has(file))
    }

    /// The whole content, for a person or an agent to read.
    fn markdown(
        &self,
        conversation: &Conversation,
        desk: &Desk<'_>,
        target: &Target,
        title: &str,
    ) -> Result<String, Refusal> {
        let texts = self.texts(conversation, desk.source.slots, show::messages_of(&target.units))?;
        let mut out = format!("# {title}\n\nOffloaded from conversation {} ({}).\n", conversation.id(), target.name);
        for message in show::message_views(conversation, desk.view, desk.source, target, &texts) {
            out.push_str(&format!("\n## {}\n", message.role));
            for block in message.blocks.iter().filter(|block| block.covered.is_none()) {
                out.push_str(&show::markdown(block));
            }
        }
        Ok(out)
    }
}

/// Whether the sent content of a target is a stub.
fn is_offloaded(desk: &Desk<'_>, target: &Target) -> bool {
    let mut sent = target.units.iter().filter(|laid| laid.covered.is_none()).peekable();
    sent.peek().is_some()
        && sent.all(|laid| match laid.unit {
            Unit::Made(made) => {
                matches!(desk.view.effect(made.effect), Some(Effect::Replace { why: Why::Offloaded, .. }))
            }
            Unit::Source { .. } => desk.view.new_result(laid).is_some_and(resolve::is_offloaded),
        })
}

/// The only tool result that a target consists of. Results of the provider's tools cannot be changed.
fn lone_result(desk: &Desk<'_>, target: &Target) -> Option<(usize, usize)> {
    let mut blocks = target.sent_blocks();
    let (message, block) = blocks.next().filter(|_| target.scope == Scope::Block)?;
    let facts = desk.source.messages[message].blocks.get(block)?;
    let is_clients = desk.source.messages[message].role == Role::User;
    (blocks.next().is_none() && facts.kind == Kind::ToolResult && is_clients).then_some((message, block))
}

/// `place`: a sentence on the location of the content.
fn stub(start: &str, (title, tokens): (&str, u64), summary: Option<&str>, place: &str) -> String {
    let summary = summary.map(|summary| format!("Summary: {summary}\n")).unwrap_or_default();
    format!("{start} {title} ({tokens} tokens)]\n{summary}{place}")
}

const IS_IN: &str = "The full content is in ";
const READ_IT: &str = "; read that file if you need it.";

fn file_of(stub: &str) -> Option<&Path> {
    let stub = stub.strip_prefix(OFFLOADED)?.strip_suffix(READ_IT)?;
    Some(Path::new(stub.rsplit_once(IS_IN)?.1))
}

/// The files that the sent content of a unit names.
fn files_named(view: &View<'_>, laid: &ViewUnit) -> Vec<PathBuf> {
    if laid.covered.is_some() {
        return Vec::new();
    }
    let file = |stub: &str| file_of(stub).map(Path::to_owned);
    match laid.unit {
        Unit::Source { .. } => view.new_result(laid).and_then(file).into_iter().collect(),
        Unit::Made(made) => {
            let is_stub = matches!(view.effect(made.effect), Some(Effect::Replace { why: Why::Offloaded, .. }));
            let content = view.made(made).filter(|_| is_stub).map(|made| made.content.as_slice()).unwrap_or_default();
            content.iter().filter_map(Content::as_text).filter_map(file).collect()
        }
    }
}

fn file_name(id: &str, title: &str, text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mut slug: String = title.chars().map(plain).take(40).collect();
    while slug.contains("--") {
        slug = slug.replace("--", "-");
    }
    let hash = Hash::of(text.as_bytes()).to_string();
    let id: String = id.chars().map(plain).collect();
    // The title of a block begins with its id.
    let slug = slug.trim_matches('-');
    let slug = slug.strip_prefix(&format!("{id}-")).unwrap_or(slug);
    let name = format!("{id}-{slug}-{}", hash.get(..12).unwrap_or_default());
    format!("{}.md", name.replace("--", "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_it_is() {
        let name = file_name("t3/5..9", "Read src/main.rs!", "text");
        assert!(name.starts_with("t3-5-9-read-src-main-rs-") && name.ends_with(".md"), "{name}");
        let name = file_name("t1#2.0", "t1#2.0 of Since Tuesday", "text");
        assert!(name.starts_with("t1-2-0-of-since-tuesday-"), "{name}");
    }
}
