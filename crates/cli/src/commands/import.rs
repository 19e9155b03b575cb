//! `ctx import`: copies frames from another conversation, or imports a whole conversation from a file.

use std::path::{Path, PathBuf};

use clap::Args;
use ctx_api::conversations::ImportResult;
use ctx_api::operations::help;
use ctx_core::edit::Operation;
use ctx_core::edit::operation::Where;

use super::change::{ChangeRequest, How, Place};
use crate::arguments::non_empty;
use crate::client::understood;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, text, words};

/// Arguments of `ctx import`.
#[derive(Args, Debug)]
#[command(about = format!("{}, or import an exported conversation", help("import")))]
#[command(
    override_usage = "ctx import CONV ID… [OPTIONS]\n       ctx import CONV --edits [OPTIONS]\n       ctx import --file FILE [--dry-run] [--json]",
    after_help = "--file imports a conversation from `ctx export` as a separate one, with its history, branches and tags. It gets a new id
if its own is taken. A damaged file is refused.

Examples:
  ctx import c3f9a1 t2..t4 --start
  ctx import c3f9a1 --edits               after the agent switched providers
  ctx import --file c3f9a1.ctx"
)]
pub struct Arguments {
    /// Conversation to copy from: an id, or the start of one
    #[arg(value_name = "CONV", value_parser = non_empty, required_unless_present = "file")]
    from: Option<String>,
    /// Frames, steps or parts: t3, t3/5..9, 't3#2.1'; several: t2..t5 or t3,t7
    #[arg(value_name = "ID", value_parser = non_empty, required_unless_present_any = ["file", "edits"])]
    ids: Vec<String>,
    /// Carry over the edits of a conversation that this one continues
    #[arg(long, conflicts_with_all = ["ids", "file", "after", "start", "end"])]
    edits: bool,
    /// Exported file; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "ids", "after", "start", "end", "note", "expect"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    to: Place,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn request(&self, _: &Context) -> Result<ChangeRequest, Failure> {
        if let Some(file) = &self.file {
            return Ok(ChangeRequest::Conversation(file.clone()));
        }
        let (from, ids, edits) = (self.from.clone().unwrap_or_default(), self.ids.clone(), self.edits);
        let to = if edits { Where::default() } else { self.to.place() };
        Ok(Operation::Import { from, ids, to, edits }.into())
    }
}

/// Imports a conversation from a file.
pub fn take_in(file: &Path, how: &How, context: &Context) -> Result<(), Failure> {
    let content = super::change::read_bytes(file)?;
    let answer = context.client()?.upload(&format!("/import?dry_run={}", how.dry_run), content)?;
    match how.format.json {
        true => context.output.json(&answer)?,
        false => context.output.print(&render(&understood(&answer)?, &context.output))?,
    }
    Ok(())
}

fn render(imported: &ImportResult, output: &Output) -> String {
    let paint = &output.paint;
    let head = match imported.dry_run {
        true => paint.warning("preview"),
        false => paint.id(&text::line(&imported.conversation)),
    };
    let counts = format!(
        "{}, {}, {}",
        words::plural(imported.frames as u64, "frame"),
        words::plural(imported.tokens, "token"),
        words::plural(imported.commits, "commit")
    );
    let mut lines = format!("{head}  {}  {}\n", text::line(&imported.title), paint.faint(&counts));
    let mut remarks = Vec::new();
    if imported.conversation != imported.was {
        remarks.push(format!("its original id, {}, is already in use here", imported.was));
    }
    if let Some(session) = &imported.session {
        remarks.push(format!("the session {session} continues here"));
    }
    if imported.files_missing > 0 {
        let files = words::plural(imported.files_missing as u64, "offloaded file");
        remarks.push(format!("{files} missing here: `ctx list` marks them, `ctx restore` restores their content"));
    }
    for remark in remarks {
        lines.push_str(&format!("  {}\n", paint.faint(&text::line(&remark))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_in_is_told_with_what_is_different_here() {
        let imported = ImportResult {
            conversation: "c00aa11".into(),
            was: "c3f9a1b".into(),
            title: "Fix the \u{1b}[2Jparser".into(),
            records: 12,
            commits: 1,
            frames: 4,
            tokens: 1234,
            session: None,
            files_missing: 2,
            dry_run: false,
        };
        insta::assert_snapshot!(render(&imported, &Output::plain()), @r"
        c00aa11  Fix the \x1b[2Jparser  4 frames, 1,234 tokens, 1 commit
          its original id, c3f9a1b, is already in use here
          2 offloaded files missing here: `ctx list` marks them, `ctx restore` restores their content
        ");
        let same = ImportResult {
            was: "c00aa11".into(),
            session: Some("0a1b".into()),
            files_missing: 0,
            dry_run: true,
            ..imported
        };
        insta::assert_snapshot!(render(&same, &Output::plain()), @r"
        preview  Fix the \x1b[2Jparser  4 frames, 1,234 tokens, 1 commit
          the session 0a1b continues here
        ");
    }
}
