//! Content that goes to a file, and the stub that tells the agent where it is.

use super::import::Imports;
use crate::conversation::Conversation;
use crate::view::{show, titles};
use crate::{Engine, Refusal};
use ctx_core::Content;
use ctx_core::ErrorCode;
use ctx_core::edit::effect::{Effect, Made, Named, NewResult, Why};
use ctx_core::edit::fold::{Laid, Unit, View};
use ctx_core::edit::operation::Select;
use ctx_core::edit::resolve::{Desk, OFFLOADED, Scope, Target};
use ctx_core::hint;
use ctx_core::hint::Command;
use ctx_core::message::{Kind, Role};
use ctx_store::{Hash, confined};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Where offloaded content goes. Nothing is ever written outside of it, and nothing in it is overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    root: PathBuf,
    /// The project it lies in, which it must not leave, and where version control should not see it.
    project: Option<PathBuf>,
}

impl Folder {
    pub fn in_home(home: &Path) -> Folder {
        Folder { root: home.join("offload"), project: None }
    }

    pub fn in_project(project: &Path, folder: PathBuf) -> Folder {
        Folder { root: folder, project: Some(project.to_owned()) }
    }

    /// Removes what was offloaded from a conversation that is forgotten.
    pub fn forget(&self, conversation: &str) {
        let folder = self.root.join(conversation);
        let is_ours = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
        if is_ours && let Err(error) = fs::remove_dir_all(&folder) {
            tracing::warn!(%error, folder = %folder.display(), "cannot remove what was offloaded");
        }
    }

    /// Writes a text under a name that its content decides; the same text is written once. Tells whether it is new. File and
    /// folders are on disk when this returns.
    pub(crate) fn write(&self, conversation: &str, name: &str, text: &str) -> io::Result<(PathBuf, bool)> {
        let root = self.open()?;
        if self.project.is_some() {
            match root.create_new(".gitignore") {
                Ok(mut file) => file.write_all(b"*\n")?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let folder = root.make(Path::new(conversation))?;
        let path = folder.path().join(name);
        match folder.create_new(name) {
            Ok(mut file) => {
                let written =
                    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| folder.sync());
                if let Err(error) = written {
                    let _ = folder.remove(name);
                    return Err(error);
                }
                Ok((path, true))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut found = Vec::new();
                let read = folder.read(name).and_then(|file| file.take(text.len() as u64 + 1).read_to_end(&mut found));
                match read {
                    Ok(_) if found == text.as_bytes() => Ok((path, false)),
                    _ => Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else stands in its place")),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// The folder itself, made if it is missing. Below the project or the home no link is followed.
    fn open(&self) -> io::Result<confined::Folder> {
        let base = self.project.as_deref().or(self.root.parent()).unwrap_or(&self.root);
        let below = self.root.strip_prefix(base).map_err(io::Error::other)?;
        confined::Folder::create(base)?.make(below)
    }

    /// Where a text would go.
    pub(crate) fn path(&self, conversation: &str, name: &str) -> PathBuf {
        self.root.join(conversation).join(name)
    }
}

/// The files that a commit needs, and what is to be told of it. Files that are new go again when it does not come about.
#[derive(Debug, Default)]
pub struct Files {
    pub paths: Vec<PathBuf>,
    pub remarks: Vec<String>,
    /// What was copied from other conversations for it.
    pub(super) imports: Imports,
    new: Vec<PathBuf>,
}

impl Files {
    /// With what was copied from other conversations.
    pub(crate) fn importing(imports: Imports) -> Files {
        let mut files = Files::default();
        files.imports = imports;
        files
    }

    fn add(&mut self, path: PathBuf, is_new: bool) {
        self.new.extend(is_new.then(|| path.clone()));
        self.paths.push(path);
    }

    /// The commit is safe.
    pub fn keep(mut self) {
        self.new.clear();
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in &self.new {
            let _ = confined::remove(path);
        }
    }
}

impl Engine {
    pub(super) fn offload(
        &self,
        conversation: &Conversation,
        desk: &Desk<'_>,
        (ids, select): (&[String], &Select),
        summary: Option<&str>,
        dry_run: bool,
        files: &mut Files,
    ) -> Result<Vec<Effect>, Refusal> {
        let targets = desk.without_client_notes(desk.targets(ids, select)?)?;
        let Some(folder) = &self.offload_folder else {
            return Err(Refusal::new(
                ErrorCode::NoFolder,
                "There is no folder to offload to.",
                "Run the daemon with a home folder.",
            ));
        };
        let mut effects = Vec::new();
        for target in &targets {
            if matches!(target.scope, Scope::System | Scope::Tool) {
                return Err(Refusal::new(
                    ErrorCode::NotATurn,
                    format!("`{}` is not a part of the conversation; the agent could not read it back.", target.name),
                    hint![Command::Edit, " shortens it, ", Command::Delete, " removes it."],
                ));
            }
            if is_offloaded(desk, target) {
                continue;
            }
            let title = titles::target_title(desk, target);
            let text = self.markdown(conversation, desk, target, &title)?;
            let tokens = (desk.scale)(target.weight);
            let name = file_name(&target.name, &title, &text);
            let (path, is_new) = match dry_run {
                true => (folder.path(&conversation.id, &name), false),
                false => folder.write(&conversation.id, &name, &text).map_err(|error| {
                    Refusal::new(
                        ErrorCode::NotWritten,
                        format!("`{}` could not be written: {error}.", folder.path(&conversation.id, &name).display()),
                        "Nothing was changed. Make room, or choose another folder under [offload] in ctx.toml.",
                    )
                })?,
            };
            let stub = stub(&title, tokens, summary, &path);
            files.add(path, is_new);
            effects.push(match lone_result(desk, target) {
                // A result stays the answer to its call; only what it says goes.
                Some((message, block)) => Effect::Results {
                    results: vec![NewResult {
                        of: desk.message_ref(message),
                        block: Named::of(block as u32, &desk.source.messages[message].blocks[block]),
                        text: stub,
                    }],
                    summarized: true,
                },
                None => Effect::Replace {
                    why: Why::Offloaded,
                    covers: desk.covers(std::slice::from_ref(target), false)?,
                    by: vec![Made::text(Some(Role::User), &stub)],
                },
            });
        }
        if effects.is_empty() {
            let names: Vec<String> = targets.iter().map(|target| format!("`{}`", target.name)).collect();
            let what =
                format!("{} {} offloaded already.", names.join(", "), if names.len() == 1 { "is" } else { "are" });
            return Err(ctx_core::edit::Refusal::nothing(what).into());
        }
        Ok(effects)
    }

    /// The whole content for a person or an agent to read.
    fn markdown(
        &self,
        conversation: &Conversation,
        desk: &Desk<'_>,
        target: &Target,
        title: &str,
    ) -> Result<String, Refusal> {
        let texts = self.texts(conversation, desk.source.slots, show::messages_of(&target.units))?;
        let mut out = format!("# {title}\n\nOffloaded from conversation {} ({}).\n", conversation.id, target.name);
        for message in show::message_views(conversation, desk.view, desk.source, target, &texts) {
            out.push_str(&format!("\n## {}\n", message.role));
            for block in message.blocks.iter().filter(|block| block.covered.is_none()) {
                out.push_str(&show::markdown(block));
            }
        }
        Ok(out)
    }
}

/// Whether what is sent of a target is a stub.
fn is_offloaded(desk: &Desk<'_>, target: &Target) -> bool {
    let mut sent = target.units.iter().filter(|laid| laid.covered.is_none()).peekable();
    sent.peek().is_some()
        && sent.all(|laid| match laid.unit {
            Unit::Made(made) => {
                matches!(desk.view.effect(made.effect), Some(Effect::Replace { why: Why::Offloaded, .. }))
            }
            Unit::Source { .. } => desk.view.new_result(laid).is_some_and(|text| text.starts_with(OFFLOADED)),
        })
}

/// The tool result that a target consists of, if it is just one. What a tool of the provider's found cannot be changed.
fn lone_result(desk: &Desk<'_>, target: &Target) -> Option<(usize, usize)> {
    let mut blocks = target.sent_blocks();
    let (message, block) = blocks.next().filter(|_| target.scope == Scope::Block)?;
    let facts = desk.source.messages[message].blocks.get(block)?;
    let is_clients = desk.source.messages[message].role == Role::User;
    (blocks.next().is_none() && facts.kind == Kind::ToolResult && is_clients).then_some((message, block))
}

fn stub(title: &str, tokens: u64, summary: Option<&str>, path: &Path) -> String {
    let summary = summary.map(|summary| format!("Summary: {summary}\n")).unwrap_or_default();
    format!("{OFFLOADED} {title} ({tokens} tokens)]\n{summary}{IS_IN}{}{READ_IT}", path.display())
}

const IS_IN: &str = "The full content is in ";
const READ_IT: &str = "; read that file if you need it.";

/// The file that a stub tells the agent to read.
fn file_of(stub: &str) -> Option<&Path> {
    let stub = stub.strip_prefix(OFFLOADED)?.strip_suffix(READ_IT)?;
    Some(Path::new(stub.rsplit_once(IS_IN)?.1))
}

/// Whether something that is sent names a file that is not there any more.
pub fn lacks_its_file(view: &View<'_>, laid: &Laid) -> bool {
    if laid.covered.is_some() {
        return false;
    }
    let lacks = |stub: &str| file_of(stub).is_some_and(|file| !file.is_file());
    match laid.unit {
        Unit::Source { .. } => view.new_result(laid).is_some_and(lacks),
        Unit::Made(made) => {
            let is_stub = matches!(view.effect(made.effect), Some(Effect::Replace { why: Why::Offloaded, .. }));
            let content = view.made(made).filter(|_| is_stub).map(|made| made.content.as_slice()).unwrap_or_default();
            content.iter().filter_map(Content::as_text).any(lacks)
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
    let name = format!("{id}-{}-{}", slug.trim_matches('-'), hash.get(..12).unwrap_or_default());
    format!("{}.md", name.replace("--", "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_once_privately_and_never_over_something_else() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_home(home.path());
        let (path, is_new) = folder.write("c1", "a.md", "text").expect("written");
        assert!(is_new);
        assert_eq!(fs::read_to_string(&path).expect("a file"), "text");
        assert_eq!(folder.write("c1", "a.md", "text").expect("the same again"), (path.clone(), false));
        assert!(folder.write("c1", "a.md", "other").is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
            let elsewhere = tempfile::tempdir().expect("a folder");
            std::os::unix::fs::symlink(elsewhere.path(), home.path().join("offload/c2")).expect("a link");
            assert!(folder.write("c2", "a.md", "text").is_err());
            std::os::unix::fs::symlink(elsewhere.path().join("x"), home.path().join("offload/c1/b.md"))
                .expect("a link");
            assert!(folder.write("c1", "b.md", "text").is_err());
            assert_eq!(fs::read_dir(elsewhere.path()).expect("a folder").count(), 0);
        }
    }

    #[test]
    fn in_a_project_version_control_does_not_see_it() {
        let project = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_project(project.path(), project.path().join(".ctx"));
        folder.write("c1", "a.md", "text").expect("written");
        #[cfg(unix)]
        {
            let elsewhere = tempfile::tempdir().expect("a folder");
            std::os::unix::fs::symlink(elsewhere.path(), project.path().join("out")).expect("a link");
            let folder = Folder::in_project(project.path(), project.path().join("out/offload"));
            assert!(folder.write("c1", "a.md", "text").is_err(), "a link leads out of the project");
        }
        assert_eq!(fs::read_to_string(project.path().join(".ctx/.gitignore")).expect("a file"), "*\n");
    }

    #[test]
    fn names_say_what_it_is() {
        let name = file_name("t3/5..9", "Read src/main.rs!", "text");
        assert!(name.starts_with("t3-5-9-read-src-main-rs-") && name.ends_with(".md"), "{name}");
    }
}
