//! Descriptions of a cleared result: a line in the ledger, and a sentence that names its file to the agent.

use crate::ports::{About, Removal};
use ctx_core::clean::one_line;
use ctx_core::format::grouped;
use std::path::Path;

/// Content, reason and file. No reason: the same as in the previous line. The first line of a batch also has its total.
pub fn line(
    about: &About<'_>,
    (result, what): (&str, &str),
    (reason, is_first): (Option<&str>, bool),
    file: &Path,
) -> String {
    let (at, conversation) = (ctx_core::day::day_and_time(about.at), one_line(about.conversation, 80));
    let what = one_line(what, 160).replace('`', "'");
    let what = if what.is_empty() { String::new() } else { format!(" `{what}`") };
    let result = grouped(&one_line(result, 200));
    let reason = reason.map_or_else(|| "same batch".to_owned(), |reason| grouped(&one_line(reason, 400)));
    let total = about.batch.in_words().filter(|_| is_first).map_or_else(String::new, |total| format!("; {total}"));
    let file = one_line(&file.display().to_string(), 4_096);
    format!("- {at} UTC, {conversation}: cleared {result}{what}, {reason}{total}; full content: {file}")
}

/// The name of a result in the ledger.
pub fn named(removed: &Removal<'_>) -> String {
    let of = if removed.is_input { "the input of " } else { "" };
    named_as(&format!("{of}{}", removed.tool), removed.tokens)
}

pub fn named_as(what: &str, tokens: u64) -> String {
    format!("{what} ({tokens} tokens)")
}

pub fn file_in(stub: &str) -> Option<&Path> {
    let (_, rest) = stub.split_once(READ_IT)?;
    Some(Path::new(rest.split_once(IF_NEEDED)?.0))
}

const READ_IT: &str = "Read it in ";
const IF_NEEDED: &str = " if needed.";

/// The sentence that names the file to the agent.
pub fn sentence(file: &Path) -> String {
    format!("{READ_IT}{}{IF_NEEDED}", file.display())
}
