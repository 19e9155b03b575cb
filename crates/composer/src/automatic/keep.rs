//! Where the content of results goes that are cleared: a file each, and a line in a ledger. Without both nothing is
//! cleared.

use super::{About, Removed};
use crate::edit::Folder;
use ctx_core::figures::grouped;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Writes the content of a result to a file of its own. Gives the file.
pub fn to_file(folder: &Folder, about: &About<'_>, removed: &Removed<'_>) -> Result<PathBuf, String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let tool: String = removed.tool.chars().take(40).map(plain).collect::<String>().to_lowercase();
    let hash = ctx_store::Hash::of(removed.text.as_bytes()).to_string();
    let name = format!("{}-{}.{}", tool.trim_matches('-'), hash.get(..10).unwrap_or_default(), removed.ending);
    folder.write(about.conversation, &name, removed.text).map(|(path, _)| path).map_err(|error| {
        let place = folder.path(about.conversation, "");
        let hint = "Make room, or choose another folder under [offload] in ctx.toml";
        format!("its content cannot be written to {}: {error}. {hint}", place.display())
    })
}

/// The sentence that tells the agent where it is.
pub fn sentence(file: &Path) -> String {
    format!("{READ_IT}{}{IF_NEEDED}", file.display())
}

/// The file that lines are added to.
pub fn ledger(named: &str, folder: Option<&Path>, offload: &Folder, conversation: &str) -> PathBuf {
    let named = Path::new(named);
    match folder {
        Some(folder) if named.is_relative() => folder.join(named),
        None if named.is_relative() => offload.path(conversation, "").join(named),
        _ => named.to_owned(),
    }
}

/// Adds a line.
pub fn note(ledger: &Path, line: &str) -> Result<(), String> {
    let written = || -> io::Result<()> {
        if fs::symlink_metadata(ledger).is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::other("it is not a plain file"));
        }
        if let Some(folder) = ledger.parent().filter(|folder| !folder.exists()) {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::OpenOptions::new().read(true).append(true).create(true).open(ledger)?;
        // A line of somebody else that has no end yet stays its own.
        let mut last = [b'\n'];
        if file.seek(SeekFrom::End(-1)).is_ok() {
            file.read_exact(&mut last)?;
        }
        let line = if last == *b"\n" { format!("{line}\n") } else { format!("\n{line}\n") };
        file.write_all(line.as_bytes())
    };
    written().map_err(|error| unwritable(ledger, &error))
}

fn unwritable(ledger: &Path, error: &io::Error) -> String {
    let (file, hint) = (ledger.display(), "Choose another file with `ledger` under [context_editing] in ctx.toml");
    format!("the ledger {file} cannot be written: {error}. {hint}")
}

/// Whether a line can be added, as far as that can be told without adding one. Nothing is left behind.
pub fn may_note(ledger: &Path) -> Result<(), String> {
    let tried = || -> io::Result<()> {
        match fs::symlink_metadata(ledger) {
            Ok(found) if !found.is_file() => Err(io::Error::other("it is not a plain file")),
            Ok(_) => fs::OpenOptions::new().read(true).append(true).open(ledger).map(drop),
            // What is not there has to be made, in a folder that may have to be made, too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = ledger.ancestors().skip(1).find(|folder| folder.exists());
                let trial = folder.unwrap_or(Path::new("/")).join(format!(".ctx-{}.trial", std::process::id()));
                // One that is left from before, or another thread's, is as good.
                let unless = |kind: io::ErrorKind| {
                    move |error: io::Error| if error.kind() == kind { Ok(()) } else { Err(error) }
                };
                fs::File::create_new(&trial).map(drop).or_else(unless(io::ErrorKind::AlreadyExists))?;
                fs::remove_file(&trial).or_else(unless(io::ErrorKind::NotFound))
            }
            Err(error) => Err(error),
        }
    };
    tried().map_err(|error| unwritable(ledger, &error))
}

/// What, why, where.
pub fn line(about: &About<'_>, (result, what): (&str, &str), reason: &str, file: &Path) -> String {
    let (at, conversation) = (crate::view::day_and_time(about.at), about.conversation);
    let what: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).take(160).collect();
    let what = if what.is_empty() { String::new() } else { format!(" `{}`", what.replace('`', "'")) };
    let (result, reason) = (grouped(result), grouped(reason));
    format!("- {at} UTC, {conversation}: cleared {result}{what}, {reason}; full content: {}", file.display())
}

/// How a result is named there.
pub fn named(removed: &Removed<'_>) -> String {
    let of = if removed.is_input { "the input of " } else { "" };
    format!("{of}{} ({} tokens)", removed.tool, removed.tokens)
}

/// The file that a stub names.
pub fn file_in(stub: &str) -> Option<&Path> {
    let (_, rest) = stub.split_once(READ_IT)?;
    Some(Path::new(rest.split_once(IF_NEEDED)?.0))
}

const READ_IT: &str = "Read it in ";
const IF_NEEDED: &str = " if needed.";

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: About<'static> = About {
        conversation: "c1",
        model: None,
        folder: None,
        agent: None,
        request: 1,
        at: 1_700_000_000_000,
        cleared: 0,
    };

    #[test]
    fn a_text_is_on_disk_to_the_byte_and_the_ledger_has_a_line() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::in_home(home.path());
        let text = "line one\r\n\u{feff}öß\n\nno end";
        let (call, tool, reason) = ("toolu_1", "mcp__x/y", "an old result");
        let removed = Removed { call, is_input: false, tool, text, ending: "txt", tokens: 9, reason };
        let file = to_file(&folder, &ABOUT, &removed).expect("written");
        assert_eq!(fs::read(&file).expect("a file"), text.as_bytes());
        assert_eq!(to_file(&folder, &ABOUT, &removed).expect("the same again"), file);
        assert_eq!(file_in(&sentence(&file)), Some(file.as_path()));
        let ledger = ledger("NOTES.md", Some(home.path()), &folder, "c1");
        fs::write(&ledger, "# Mine, without an end").expect("written");
        note(&ledger, &line(&ABOUT, (&named(&removed), "cat `x`\ny"), removed.reason, &file)).expect("noted");
        let told = fs::read_to_string(&ledger).expect("a file");
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!((lines.len(), lines[0]), (2, "# Mine, without an end"));
        assert!(
            lines[1].starts_with("- 2023-11-14 22:13 UTC, c1: cleared mcp__x/y (9 tokens) `cat 'x' y`, an old"),
            "{told}"
        );
        assert_eq!(named(&Removed { is_input: true, ..removed }), "the input of mcp__x/y (9 tokens)");
    }

    #[test]
    fn what_is_no_file_is_not_written_to() {
        let home = tempfile::tempdir().expect("a folder");
        assert!(note(home.path(), "- x").expect_err("a folder").contains("cannot be written"));
        assert_eq!(may_note(home.path()).expect_err("a folder"), note(home.path(), "- x").expect_err("a folder"));
        fs::write(home.path().join(format!(".ctx-{}.trial", std::process::id())), "").expect("one is left from before");
        assert!(may_note(&home.path().join("a/b/NOTES.md")).is_ok());
        assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0, "nothing is left behind");
        fs::write(home.path().join("file"), "").expect("written");
        assert!(may_note(&home.path().join("file/NOTES.md")).is_err(), "that is no folder");
        assert!(may_note(&home.path().join("file")).is_ok());
        #[cfg(unix)]
        {
            let link = home.path().join("NOTES.md");
            std::os::unix::fs::symlink("/nowhere/else", &link).expect("a link");
            assert!(note(&link, "- x").expect_err("a link").contains("not a plain file"));
            assert!(may_note(&link).is_err());
        }
    }

    #[test]
    fn a_ledger_is_in_the_project_unless_it_says_otherwise() {
        let folder = Folder::in_home(Path::new("/h"));
        let project = Some(Path::new("/p"));
        assert_eq!(ledger("NOTES.md", project, &folder, "c1"), Path::new("/p/NOTES.md"));
        assert_eq!(ledger("/n/x.md", project, &folder, "c1"), Path::new("/n/x.md"));
        assert_eq!(ledger("NOTES.md", None, &folder, "c1"), Path::new("/h/offload/c1/NOTES.md"));
    }
}
