//! The client's working directory.

use crate::json::{self, Span};
use ctx_core::Lexicon;
use ctx_core::message::Role;

/// The parts of a request that may state it: the system prompt in the history, and everything before the model's first
/// words.
pub(crate) fn opening(bytes: &[u8], lead: &[Span], messages: &[Span], role: &dyn Fn(&[u8]) -> Role) -> Vec<Span> {
    let is_answer = |span: &&Span| bytes.get((*span).clone()).is_some_and(|message| role(message) == Role::Assistant);
    let told = messages.iter().take_while(|span| !is_answer(span));
    lead.iter().chain(told).cloned().collect()
}

/// The path behind one of the lexicon's openings, in the first part that has one.
pub(crate) fn told(bytes: &[u8], parts: &[Span], lexicon: &Lexicon) -> Option<String> {
    parts.iter().find_map(|span| {
        let text = bytes.get(span.clone())?;
        let behind = |name: &str| text.get(memchr::memmem::find(text, name.as_bytes())? + name.len()..);
        lexicon.folder_openings().find_map(|name| path(behind(name)?))
    })
}

/// The path at the start of a JSON string: up to the end of the line or the text. A backslash in the path is doubled
/// here.
fn path(line: &[u8]) -> Option<String> {
    let mut end = 0;
    while let Some(byte) = line.get(end).filter(|byte| !matches!(byte, b'"' | b'<')) {
        match (byte, line.get(end + 1)) {
            (b'\\', Some(b'\\' | b'u' | b'/')) => end += 2,
            (b'\\', _) => break,
            _ => end += 1,
        }
    }
    let quoted = [b"\"", line.get(..end)?, b"\""].concat();
    let path = json::string_value(&quoted, 0..quoted.len())?.trim().to_owned();
    let is_path = path.starts_with(['/', '~']) || path.get(1..3) == Some(":\\") || path.get(1..3) == Some(":/");
    (is_path && path.len() <= 1024).then_some(path)
}
