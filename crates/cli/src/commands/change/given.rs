//! Flags that several edits share, and texts from stdin or a file.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use clap::Args;
use ctx_core::ErrorCode;
use ctx_core::edit::misread;
use ctx_core::edit::operation::{Select, Where};

use crate::arguments::non_empty;
use crate::failure::Failure;

/// Content named by id.
#[derive(Args, Debug)]
pub struct Ids {
    /// Frames, steps or parts: t3, t3/5..9, 't3#2.1', tools/Bash; several: t2..t5 or t3,t7
    #[arg(value_name = "ID", required = true, value_parser = non_empty)]
    pub ids: Vec<String>,
}

/// Content named by id, or selected by a filter.
#[derive(Args, Debug)]
pub struct SelectedContent {
    /// Frames, steps or parts: t3, t3/5..9, 't3#2.1', tools/Bash; several: t2..t5 or t3,t7
    #[arg(value_name = "ID", required_unless_present_any = ["tool", "larger_than", "older_than", "superseded"], value_parser = non_empty)]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub select: Selection,
}

/// Tool results: all of them, unless ids or filters narrow the selection.
#[derive(Args, Debug)]
pub struct Results {
    /// Only in these frames or steps
    #[arg(value_name = "ID", value_parser = non_empty)]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub select: Selection,
    /// Only the result of this call
    #[arg(long, value_name = "TOOL_USE_ID", value_parser = non_empty)]
    pub result: Option<String>,
}

#[derive(Args, Debug)]
pub struct Selection {
    /// Only calls and results of this tool
    #[arg(long, value_name = "NAME", value_parser = non_empty)]
    tool: Option<String>,
    /// Only parts of more than this many tokens
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    larger_than: Option<u64>,
    /// Skip this many of the newest frames
    #[arg(long, value_name = "FRAMES", value_parser = frames)]
    older_than: Option<usize>,
    /// Only reads of files that were read again or changed later
    #[arg(long)]
    superseded: bool,
    /// Only this call and its result, by call id; repeatable
    #[arg(long = "call", value_name = "ID", value_parser = non_empty)]
    calls: Vec<String>,
}

fn tokens(text: &str) -> Result<u64, String> {
    let is_number = |text: &str| text.replace([',', '_'], "").parse().ok();
    is_number(text).ok_or_else(|| "expected a number of tokens, such as 2000".to_owned())
}

fn frames(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a number of frames, such as 5".to_owned())
}

impl Selection {
    pub fn select(&self) -> Select {
        Select {
            tool: self.tool.clone(),
            larger_than: self.larger_than,
            older_than: self.older_than,
            superseded: self.superseded,
            calls: self.calls.clone(),
        }
    }
}

/// The position of a frame.
#[derive(Args, Debug)]
#[group(multiple = false)]
pub struct Place {
    /// After this frame
    #[arg(long, value_name = "ID", value_parser = non_empty)]
    after: Option<String>,
    /// Before the first frame
    #[arg(long)]
    start: bool,
    /// After the last frame
    #[arg(long)]
    end: bool,
}

impl Place {
    /// The position; the end by default.
    pub fn place(&self) -> Where {
        let end = self.end || (self.after.is_none() && !self.start);
        Where { after: self.after.clone(), start: self.start, end }
    }
}

/// A text argument; `-` reads stdin.
pub fn text(argument: &str) -> Result<String, Failure> {
    if argument == "-" { read(Path::new("-")).map(without_last_newline) } else { Ok(argument.to_owned()) }
}

/// The text of a file; `-` reads stdin.
pub fn read(path: &Path) -> Result<String, Failure> {
    let mut content = String::new();
    let outcome = match path.to_str() {
        Some("-") => io::stdin().lock().read_to_string(&mut content).map(|_| content),
        _ => fs::read_to_string(path),
    };
    outcome.map_err(|error| Failure::file("read", path, &error))
}

/// The bytes of a file; `-` reads stdin.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut content = Vec::new();
    let outcome = match path.to_str() {
        Some("-") => io::stdin().lock().read_to_end(&mut content).map(|_| content),
        _ => fs::read(path),
    };
    outcome.map_err(|error| Failure::file("read", path, &error))
}

/// Removes the final newline of files and pipes.
pub fn without_last_newline(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

/// Refuses invalid JSON of the user, with the position and the expected form.
pub fn invalid_json(what: &str, error: &serde_json::Error) -> Failure {
    Failure::new(
        ErrorCode::InvalidJson,
        format!(
            "{what} is not valid JSON: line {}, column {}: {}",
            error.line(),
            error.column(),
            misread::in_words(&error.to_string())
        ),
    )
}
