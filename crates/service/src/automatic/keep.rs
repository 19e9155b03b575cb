//! The files of cleared results: one each, and a line in a ledger.

use crate::edit::Folder;
use ctx_engine::ports::{OffloadFolder, Removal};
use ctx_store::confined;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The name of the file for a result.
pub fn file_name(removed: &Removal<'_>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let tool: String = removed.tool.chars().take(40).map(plain).collect::<String>().to_lowercase();
    let hash = ctx_store::Hash::of(removed.text.as_bytes()).to_string();
    format!("{}-{}.{}", tool.trim_matches('-'), hash.get(..10).unwrap_or_default(), removed.ending)
}

/// Why the files of a conversation cannot be written.
pub fn unwritable(folder: &Folder, conversation: &str, error: &io::Error) -> String {
    let place = folder.path(conversation, "");
    let hint = "Free some space, or set another folder under [offload] in ctx.toml";
    format!("its content cannot be written to {}: {error}. {hint}", place.display())
}

/// The ledger file, and the trusted part of its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// Nothing below it may be a link. `None`: nothing in the whole path may be.
    folder: Option<PathBuf>,
    path: PathBuf,
}

/// The ledger of a conversation: in the project, if that is the user's own, otherwise beside the offloaded content.
pub fn ledger(named: &str, folder: Option<&Path>, offload: &Folder, conversation: &str) -> Ledger {
    let path = Path::new(named).to_owned();
    if path.is_absolute() {
        return Ledger { folder: None, path };
    }
    // The folder comes from a request: it may be another user's.
    let is_own = |folder: &&Path| confined::Folder::open(folder).and_then(|found| found.is_own_and_private());
    let project = folder.filter(|folder| folder.is_absolute() && is_own(folder).unwrap_or(false));
    Ledger { folder: Some(project.map_or_else(|| offload.path(conversation, ""), Path::to_owned)), path }
}

impl Ledger {
    fn place(&self) -> PathBuf {
        self.folder.as_deref().unwrap_or(Path::new("")).join(&self.path)
    }

    fn name(&self) -> io::Result<&str> {
        let name = self.path.file_name().and_then(|name| name.to_str());
        name.ok_or_else(|| io::Error::other("its name is not plain text"))
    }

    /// The start of its path, and the folders from there on, none of which may be a link.
    fn way(&self) -> io::Result<(confined::Folder, PathBuf)> {
        let folders = self.path.parent().unwrap_or(Path::new(""));
        match &self.folder {
            Some(folder) => confined::Folder::nearest(folder).map(|(folder, rest)| (folder, rest.join(folders))),
            None => confined::Folder::root_of(folders),
        }
    }

    /// Adds lines.
    pub fn note(&self, lines: &[&str]) -> Result<(), String> {
        let written = || -> io::Result<()> {
            let (folder, way) = self.way()?;
            let mut file = folder.make(&way)?.append(self.name()?)?;
            // An unfinished line by another program stays separate.
            let mut last = [b'\n'];
            if file.seek(SeekFrom::End(-1)).is_ok() {
                file.read_exact(&mut last)?;
            }
            let start = if last == *b"\n" { "" } else { "\n" };
            file.write_all(format!("{start}{}\n", lines.join("\n")).as_bytes())
        };
        written().map_err(|error| self.unwritable(&error))
    }

    /// Whether a line can be added, tested without adding one. Leaves nothing behind.
    pub fn may_note(&self) -> Result<(), String> {
        let tried = || -> io::Result<()> {
            let (folder, way) = self.way()?;
            let (folder, is_whole) = folder.reach(&way)?;
            let opened = match is_whole {
                true => folder.append_existing(self.name()?).map(drop),
                false => Err(io::ErrorKind::NotFound.into()),
            };
            match opened {
                // It has to be created.
                Err(error) if error.kind() == io::ErrorKind::NotFound => folder.check_writable(),
                opened => opened,
            }
        };
        tried().map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &io::Error) -> String {
        let (file, hint) = (self.place(), "Set another file with `ledger` under [context_editing] in ctx.toml");
        format!("the ledger {} cannot be written: {error}. {hint}", file.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_engine::automatic::ledger_line::{file_in, line, named, sentence};
    use ctx_engine::ports::{About, Batch};
    use std::fs;

    const ABOUT: About<'static> = About {
        conversation: "c1",
        model: None,
        folder: None,
        tools: None,
        agent: None,
        request: 1,
        at: 1_700_000_000_000,
        cleared: 0,
        provider_first: false,
        batch: Batch { size: 0, tokens: 0 },
    };

    #[test]
    fn a_text_is_on_disk_to_the_byte_and_the_ledger_has_a_line() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_home(home.path());
        let text = "line one\r\n\u{feff}öß\n\nno end";
        let (call, tool, reason) = ("toolu_1", "mcp__x/y", "an old result");
        let removed = Removal { call, is_input: false, tool, text, ending: "txt", tokens: 9, reason };
        let name = file_name(&removed);
        assert!(name.starts_with("mcp--x-y-") && name.ends_with(".txt"), "{name}");
        let file = folder.checked("c1").expect("writable").join(&name);
        for _ in 0..2 {
            folder.queue("c1", &name, text);
            assert!(folder.write_queued().is_empty(), "also when it is there already");
            assert_eq!(fs::read(&file).expect("a file"), text.as_bytes());
        }
        assert_eq!(file_in(&sentence(&file)), Some(file.as_path()));
        let ledger = ledger("NOTES.md", Some(home.path()), &folder, "c1");
        fs::write(ledger.place(), "# Mine, without an end").expect("written");
        let line = line(&ABOUT, (&named(&removed), "cat `x`\ny"), (Some(removed.reason), true), &file);
        ledger.note(&[&line]).expect("noted");
        let told = fs::read_to_string(ledger.place()).expect("a file");
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!((lines.len(), lines[0]), (2, "# Mine, without an end"));
        assert!(
            lines[1].starts_with("- 2023-11-14 22:13 UTC, c1: cleared mcp__x/y (9 tokens) `cat 'x' y`, an old"),
            "{told}"
        );
        assert_eq!(named(&Removal { is_input: true, ..removed }), "the input of mcp__x/y (9 tokens)");
    }

    fn at(path: &Path) -> Ledger {
        let folder = Folder::in_home(path);
        ledger(path.to_str().expect("text"), None, &folder, "c1")
    }

    #[test]
    fn what_is_no_file_is_not_written_to() {
        let home = tempfile::tempdir().expect("a folder");
        let refused = at(home.path()).note(&["- x"]).expect_err("a folder");
        assert!(refused.contains("cannot be written") && refused.contains("not a plain file"), "{refused}");
        assert_eq!(at(home.path()).may_note(), Err(refused));
        assert_eq!(at(&home.path().join("a/b/NOTES.md")).may_note(), Ok(()));
        assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0, "nothing is left behind");
        fs::write(home.path().join("file"), "").expect("written");
        assert!(at(&home.path().join("file/NOTES.md")).may_note().is_err(), "that is no folder");
        assert_eq!(at(&home.path().join("file")).may_note(), Ok(()));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_any_place_of_a_ledgers_path_is_refused() {
        use std::os::unix::fs::symlink;
        let (project, elsewhere) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        fs::write(elsewhere.path().join("authorized_keys"), "mine\n").expect("written");
        symlink(elsewhere.path(), project.path().join("n")).expect("a link");
        symlink(elsewhere.path().join("authorized_keys"), project.path().join("last")).expect("a link");
        symlink("/nowhere/else", project.path().join("dangling")).expect("a link");
        let folder = Folder::in_home(project.path());
        for name in ["n/authorized_keys", "n/new", "n/deep/er/new", "last", "dangling"] {
            for named in [name.to_owned(), project.path().join(name).display().to_string()] {
                let ledger = ledger(&named, Some(project.path()), &folder, "c1");
                let refused = ledger.note(&["- x"]).expect_err(name);
                assert!(refused.contains("is a link"), "{refused}");
                assert_eq!(ledger.may_note(), Err(refused));
            }
        }
        assert_eq!(fs::read_to_string(elsewhere.path().join("authorized_keys")).expect("a file"), "mine\n");
        assert_eq!(fs::read_dir(elsewhere.path()).expect("a folder").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_new_ledger_is_closed_to_others() {
        use std::os::unix::fs::PermissionsExt;
        let project = tempfile::tempdir().expect("a folder");
        let ledger = ledger("docs/NOTES.md", Some(project.path()), &Folder::in_home(project.path()), "c1");
        ledger.note(&["- x"]).expect("noted");
        let mode = |name: &str| fs::metadata(project.path().join(name)).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode("docs"), mode("docs/NOTES.md")), (0o700, 0o600));
    }

    #[test]
    fn nothing_in_a_line_begins_another_one() {
        let evil = "x\nssh-ed25519 AAAA\u{2028}attacker\r\n#\u{202e}\u{200b}";
        let about = About { conversation: evil, ..ABOUT };
        let (call, reason) = ("toolu_1", evil);
        let removed = Removal { call, is_input: true, tool: evil, text: "", ending: "txt", tokens: 9, reason };
        let line = line(&about, (&named(&removed), evil), (Some(evil), true), Path::new(evil));
        assert!(!line.chars().any(|c| c.is_control() || ctx_core::clean::is_invisible(c)), "{line:?}");
        assert!(line.starts_with("- 2023-11-14 22:13 UTC, x ssh"), "{line:?}");
    }

    #[test]
    fn the_reason_and_the_total_of_a_batch_stand_in_its_first_line() {
        let about = About { batch: Batch { size: 12, tokens: 48_000 }, ..ABOUT };
        let line = |why| line(&about, ("Bash (9 tokens)", "make"), why, Path::new("/h/x.txt"));
        let first = line((Some("an old result"), true));
        let expected = "an old result; 12 in this batch, 48,000 tokens in total; full content: /h/x.txt";
        assert!(first.ends_with(expected), "{first}");
        let next = line((None, false));
        assert!(next.ends_with(": cleared Bash (9 tokens) `make`, same batch; full content: /h/x.txt"), "{next}");
    }

    #[test]
    fn a_ledger_is_in_the_users_own_project_unless_it_says_otherwise() {
        let folder = Folder::in_home(Path::new("/h"));
        let project = tempfile::tempdir().expect("a folder");
        let at = |named: &str, project: Option<&Path>| ledger(named, project, &folder, "c1").place();
        assert_eq!(at("NOTES.md", Some(project.path())), project.path().join("NOTES.md"));
        assert_eq!(at("/n/x.md", Some(project.path())), Path::new("/n/x.md"));
        for elsewhere in [None, Some(Path::new("/nowhere")), Some(Path::new("relative"))] {
            assert_eq!(at("NOTES.md", elsewhere), Path::new("/h/offload/c1/NOTES.md"), "{elsewhere:?}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(project.path(), fs::Permissions::from_mode(0o777)).expect("opened");
            assert_eq!(at("NOTES.md", Some(project.path())), Path::new("/h/offload/c1/NOTES.md"), "others write there");
        }
    }
}
