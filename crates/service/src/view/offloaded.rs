//! Offloaded content by its handle: in a commit, or in the message from which it was cleared.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::offloaded::{OffloadedQuery, OffloadedView};
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::Refusal;
use ctx_engine::edit::handle;
use ctx_store::{Blob, Hash};
use ctx_wire::Wire;
use std::collections::HashSet;

/// The number of blobs read at a time.
const PAGE: usize = 64;
/// Characters per answer.
const LARGEST: usize = 40_000;

impl Parts {
    pub(crate) fn offloaded(&self, name: &str, id: &str, query: &OffloadedQuery) -> Result<OffloadedView, Refusal> {
        self.settle(self.patience());
        let (conversation, wire, kept) = {
            let shared = self.stored(name)?;
            let conversation = lock(&shared);
            (conversation.id().to_owned(), conversation.wire(), handle::in_history(&conversation, id))
        };
        let text = match kept {
            Some(text) => Some(text),
            None if handle::is_handle(id) => self.in_messages(&conversation, wire, id)?,
            None => None,
        };
        let text = text.ok_or_else(|| Refusal {
            about: Some(id.to_owned()),
            ..Refusal::new(
                ErrorCode::UnknownId,
                format!("Nothing in {conversation} has the handle `{id}`."),
                hint!["A stub names the handle; ", Command::Show, " shows stubs."],
            )
        })?;
        excerpt(&text, query).map(|(part, characters, next_from)| OffloadedView {
            conversation,
            id: id.to_owned(),
            lines: text.lines().count(),
            characters,
            text: part,
            next_from,
        })
    }

    /// Looks through all messages that were ever sent, newest first: the client may have changed them since.
    fn in_messages(&self, conversation: &str, wire: &dyn Wire, id: &str) -> Result<Option<String>, Refusal> {
        let mut seen: HashSet<Hash> = HashSet::new();
        for record in self.store.records(conversation, 0)?.records.iter().rev() {
            let new: Vec<Hash> = record.uses.iter().copied().filter(|hash| seen.insert(*hash)).collect();
            for page in new.chunks(PAGE) {
                let found = self.store.blobs(page)?.into_iter().find_map(|blob| match blob {
                    Blob::Present(message) => handle::in_message(wire, &message, id),
                    _ => None,
                });
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }
}

/// The part of a text, the length of the selection, and where the rest begins.
fn excerpt(text: &str, query: &OffloadedQuery) -> Result<(String, usize, Option<usize>), Refusal> {
    let (first, last) = query.lines.as_deref().map(range).transpose()?.unwrap_or((1, usize::MAX));
    let wanted = query.grep.as_deref().map(str::to_lowercase);
    let selected = match (&query.lines, &wanted) {
        (None, None) => text.to_owned(),
        _ => {
            let lines = (1..).zip(text.lines()).skip(first - 1).take_while(|(number, _)| *number <= last);
            let lines: Vec<String> = match &wanted {
                None => lines.map(|(_, line)| line.to_owned()).collect(),
                Some(wanted) => lines
                    .filter(|(_, line)| line.to_lowercase().contains(wanted))
                    .map(|(number, line)| format!("{number}: {line}"))
                    .collect(),
            };
            lines.join("\n")
        }
    };
    let (from, all) = (query.from.unwrap_or(0), selected.chars().count());
    let end = from.saturating_add(LARGEST);
    let part = selected.chars().skip(from).take(LARGEST).collect();
    Ok((part, all, (end < all).then_some(end)))
}

/// Parses `10-50`, `10-` or `10`.
fn range(text: &str) -> Result<(usize, usize), Refusal> {
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|number| *number > 0);
    let range = match text.split_once('-') {
        Some((first, last)) if last.trim().is_empty() => number(first).map(|first| (first, usize::MAX)),
        Some((first, last)) => number(first).zip(number(last)),
        None => number(text).map(|line| (line, line)),
    };
    range.filter(|(first, last)| first <= last).ok_or_else(|| {
        Refusal::new(ErrorCode::BadRange, format!("`{text}` is no range of lines."), "Write `10-50`, `10-` or `10`.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, lines: Option<&str>, grep: Option<&str>) -> Result<String, ErrorCode> {
        let query = OffloadedQuery { lines: lines.map(Into::into), grep: grep.map(Into::into), from: None };
        excerpt(text, &query).map(|(part, ..)| part).map_err(|refusal| refusal.code)
    }

    #[test]
    fn lines_and_words_select_and_a_wrong_range_is_refused() {
        let text = "one\nTwo\nthree\ntwo and more\n";
        assert_eq!(read(text, None, None).as_deref(), Ok(text));
        assert_eq!(read(text, Some("2-3"), None).as_deref(), Ok("Two\nthree"));
        assert_eq!(read(text, Some("3-"), None).as_deref(), Ok("three\ntwo and more"));
        assert_eq!(read(text, Some("9"), None).as_deref(), Ok(""));
        assert_eq!(read(text, None, Some("two")).as_deref(), Ok("2: Two\n4: two and more"));
        assert_eq!(read(text, Some("3-9"), Some("TWO")).as_deref(), Ok("4: two and more"));
        for wrong in ["0", "3-2", "x", "-", "-3", ""] {
            assert_eq!(read(text, Some(wrong), None), Err(ErrorCode::BadRange), "{wrong}");
        }
    }

    #[test]
    fn a_long_text_comes_in_parts() {
        let text = "é".repeat(LARGEST + 5);
        let (part, all, next) = excerpt(&text, &OffloadedQuery::default()).expect("a part");
        assert_eq!((part.chars().count(), all, next), (LARGEST, LARGEST + 5, Some(LARGEST)));
        let rest = OffloadedQuery { from: next, ..OffloadedQuery::default() };
        assert_eq!(excerpt(&text, &rest).expect("the rest"), ("é".repeat(5), LARGEST + 5, None));
    }
}
