//! `ctx edit`: replaces text or messages.

pub mod editor;

use std::path::{Path, PathBuf};

use clap::Args;
use ctx_api::operations::help;
use ctx_core::edit::Operation;
use serde_json::Value;

use super::change::{ChangeRequest, How, invalid_json, read, text};
use crate::arguments::non_empty;
use crate::context::Context;
use crate::failure::Failure;

/// Arguments of `ctx edit`.
#[derive(Args, Debug)]
#[command(about = format!("{}; without new text, opens your editor", help("edit")))]
#[command(after_help = "The editor is $VISUAL or $EDITOR. An unchanged or empty text cancels the edit.

Examples:
  ctx edit 't3#0'                         edit the message in your editor
  ctx edit 't3#0' --text 'Fix only the parser.'
  ctx edit t3 --raw '[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"Hello\"}]'")]
pub struct Arguments {
    /// Frame, message, block or tool to replace
    #[arg(value_name = "ID", value_parser = non_empty)]
    id: String,
    #[command(flatten)]
    by: By,
    /// Also replace protected parts
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub how: How,
}

#[derive(Args, Debug)]
#[group(multiple = false)]
struct By {
    /// New text; `-` reads stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// New JSON: messages for a frame, a block for a block, a definition for a tool; `-` reads stdin
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    raw: Option<String>,
    /// Read the new text from a file; a .json file counts as --raw
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Arguments {
    pub fn request(&self, context: &Context) -> Result<ChangeRequest, Failure> {
        let by_text = |text| Ok(self.operation(Some(text), None).into());
        let by_raw = |json: String, whence: &str| Ok(self.operation(None, Some(raw(&json, whence)?)).into());
        match &self.by {
            By { text: Some(given), .. } => by_text(text(given)?),
            By { raw: Some(given), .. } => by_raw(text(given)?, "--raw"),
            By { file: Some(file), .. } if is_json(file) => by_raw(read(file)?, &file.display().to_string()),
            By { file: Some(file), .. } => by_text(super::change::without_last_newline(read(file)?)),
            By { .. } => {
                let (content, draft, base) = editor::ask(&self.id, &self.how.conversation.conversation, context)?;
                let operation = match content {
                    editor::Draft::Text(text) => self.operation(Some(text), None),
                    editor::Draft::Messages(json) => {
                        self.operation(None, Some(raw(&json, &draft.display().to_string())?))
                    }
                };
                Ok(ChangeRequest::Operations { operations: vec![operation], draft: Some((draft, base)) })
            }
        }
    }

    fn operation(&self, text: Option<String>, raw: Option<Value>) -> Operation {
        Operation::Edit { id: self.id.clone(), text, raw, content: None, force: self.force }
    }
}

fn is_json(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

fn raw(json: &str, whence: &str) -> Result<Value, Failure> {
    serde_json::from_str(json).map_err(|error| {
        invalid_json(whence, &error).hint(
            "a message is {\"role\":\"user\",\"content\":\"…\"}; put several in [ ]; for plain text, use \
                --text",
        )
    })
}
