//! `ctx export`: writes a conversation with its history to a file.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ctx_core::ErrorCode;
use serde_json::json;

use crate::arguments::{ConversationArguments, JsonArguments};
use crate::client::of_conversation;
use crate::context::Context;
use crate::failure::Failure;
use crate::home;
use crate::output::busy::Busy;
use crate::output::words;

/// Export a conversation with its history to a file
#[derive(Args, Debug)]
#[command(
    after_help = "The file contains the whole conversation, including deleted and offloaded content, but no request credentials. Only you
can read it. The format is JSON lines with a checksum.

Examples:
  ctx export                              writes ID.ctx
  ctx export --conv c3f9 - | zstd > farm.ctx.zst
  ctx import --file c3f9a1.ctx"
)]
pub struct Arguments {
    /// File to write; `-` writes to stdout [default: ID.ctx]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let to_stdout = arguments.file.as_deref().is_some_and(|file| file.to_str() == Some("-"));
    if to_stdout && arguments.format.json {
        return Err(Failure::usage("--json needs a file, not `-`"));
    }
    let client = context.client()?;
    let id = client.resolve(&arguments.conversation.conversation)?;
    let file = arguments.file.clone().unwrap_or_else(|| PathBuf::from(format!("{id}.ctx")));
    if !to_stdout && !arguments.force && fs::symlink_metadata(&file).is_ok() {
        return Err(taken(&file));
    }
    let busy = Busy::start("exporting");
    let mut progress = |bytes| busy.say(format!("exporting, {}", words::bytes(bytes)));
    let content = client.download(&of_conversation(&id, "export"), &mut progress)?;
    drop(busy);
    if to_stdout {
        context.output.bytes(&content)?;
        return Ok(ExitCode::SUCCESS);
    }
    keep(&file, &content, arguments.force)?;
    if arguments.format.json {
        let told = json!({ "conversation": id, "file": file, "bytes": content.len() });
        context.output.json(told.to_string().as_bytes())?;
    } else {
        let size = words::bytes(content.len() as u64);
        let told = crate::output::text::line(&format!("written to {}", file.display()));
        context.output.print(&format!(
            "{}  {told}  {}\n",
            context.output.paint.id(&id),
            context.output.paint.faint(&size)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn taken(file: &Path) -> Failure {
    Failure::new(ErrorCode::File, format!("{} already exists", file.display()))
        .hint("name another file, or use --force")
}

/// Writes the whole file or none: it is renamed once it is complete.
fn keep(file: &Path, content: &[u8], force: bool) -> Result<(), Failure> {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let part = file.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let written = home::open_private(&part, |options| options.create_new(true))
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| if force { fs::rename(&part, file) } else { name_it(&part, file) })
        .and_then(|()| home::sync_name(file));
    let _ = fs::remove_file(&part);
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => taken(file),
        _ => Failure::file("write", file, &error),
    })
}

/// Links the file into place, which fails if the name exists; renames it on a disk without links.
fn name_it(part: &Path, file: &Path) -> io::Result<()> {
    fs::hard_link(part, file).or_else(|error| match fs::symlink_metadata(file) {
        Err(none) if none.kind() == io::ErrorKind::NotFound => fs::rename(part, file),
        _ => Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_and_never_over_another_unless_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.ctx");
        keep(&file, b"one", false).expect("written");
        assert_eq!(keep(&file, b"two", false).expect_err("refused").code, ErrorCode::File);
        assert_eq!(fs::read(&file).expect("a file"), b"one");
        keep(&file, b"two", true).expect("written");
        assert_eq!(fs::read(&file).expect("a file"), b"two");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing is left behind");
        assert!(keep(&folder.path().join("no/such.ctx"), b"x", false).is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
        }
    }
}
