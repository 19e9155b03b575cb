//! An index of the words of all blocks so far, so that only blocks that can contain a text are searched.

use super::Place;
use super::blocks::{Block, What};
use super::edits;
use memchr::memmem::Finder;
use std::collections::HashMap;

/// Shorter words occur in every block.
const SHORTEST: usize = 3;

#[derive(Default)]
pub(super) struct Index {
    blocks: Vec<Entry>,
    words: HashMap<Box<str>, Vec<usize>>,
    names: HashMap<String, NamePlaces>,
    head: String,
}

struct Entry {
    place: Place,
    text: String,
    /// The text without line prefixes of a tool, if it has any.
    bare: Option<String>,
}

/// The places of a name in the blocks searched so far.
#[derive(Default)]
struct NamePlaces {
    looked: usize,
    found: Vec<usize>,
}

impl Index {
    pub(super) fn with_head(head: &str) -> Index {
        Index { head: head.to_owned(), ..Index::default() }
    }

    pub(super) fn add(&mut self, block: Block) {
        if block.text.is_empty() {
            return;
        }
        let number = self.blocks.len();
        for (word, _) in words(&block.text) {
            match self.words.get_mut(word) {
                Some(blocks) if blocks.last() == Some(&number) => {}
                Some(blocks) => blocks.push(number),
                None => drop(self.words.insert(word.into(), vec![number])),
            }
        }
        let bare = if matches!(block.what, What::Result { .. }) { edits::bare(&block.text) } else { None };
        self.blocks.push(Entry { place: block.place, text: block.text, bare });
    }

    /// The blocks that contain `text`, with or without line prefixes.
    pub(super) fn text(&self, text: &str) -> Vec<Place> {
        let finder = Finder::new(text);
        // A word at an end of the text may be part of a longer one.
        let inner = words(text).filter(|(word, at)| *at > 0 && at + word.len() < text.len()).map(|(word, _)| word);
        let holds = |entry: &&Entry| {
            let texts = std::iter::once(&entry.text).chain(&entry.bare);
            texts.into_iter().any(|text| finder.find(text.as_bytes()).is_some())
        };
        self.candidates(inner, 0)
            .filter_map(|number| self.blocks.get(number))
            .filter(holds)
            .map(|entry| entry.place)
            .collect()
    }

    /// The name, or the longest end of a path, that occurs earlier as a whole word, with its places. None if it occurs
    /// nowhere, or in content that is always visible.
    pub(super) fn name(&mut self, name: &str) -> Option<(String, Vec<Place>)> {
        let mut end = name;
        loop {
            if stands_in(&Finder::new(end), end, &self.head) {
                return None;
            }
            let found = self.named(end);
            if !found.is_empty() {
                return Some((end.to_owned(), found));
            }
            (_, end) = end.split_once('/').filter(|(_, end)| !end.starts_with('-') && super::names::is_name(end))?;
        }
    }

    fn named(&mut self, name: &str) -> Vec<Place> {
        let mut known = self.names.remove(name).unwrap_or_default();
        let finder = Finder::new(name);
        let new = self.candidates(words(name).map(|(word, _)| word), known.looked);
        let holds =
            |number: &usize| self.blocks.get(*number).is_some_and(|entry| stands_in(&finder, name, &entry.text));
        let new: Vec<usize> = new.filter(holds).collect();
        known.found.extend(new);
        known.looked = self.blocks.len();
        let places =
            known.found.iter().filter_map(|number| self.blocks.get(*number)).map(|entry| entry.place).collect();
        self.names.insert(name.to_owned(), known);
        places
    }

    /// The blocks from `first` on that contain the rarest of the words; all of them if there is no such word.
    fn candidates<'i>(
        &'i self,
        words: impl Iterator<Item = &'i str>,
        first: usize,
    ) -> impl Iterator<Item = usize> + 'i {
        let none: &[usize] = &[];
        let lists = words.map(|word| self.words.get(word).map_or(none, Vec::as_slice));
        let rarest = lists.min_by_key(|blocks| blocks.len());
        let all = rarest.is_none().then_some(first..self.blocks.len());
        let rarest = rarest.unwrap_or_default();
        let start = rarest.partition_point(|number| *number < first);
        rarest.iter().skip(start).copied().chain(all.into_iter().flatten())
    }
}

/// The words of a text and their positions.
fn words(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        loop {
            let left = text.get(rest..)?;
            let start = rest + left.find(is_word)?;
            let word = text.get(start..)?;
            let end = start + word.find(|letter| !is_word(letter)).unwrap_or(word.len());
            rest = end;
            if end - start >= SHORTEST {
                return Some((text.get(start..end)?, start));
            }
        }
    })
}

fn is_word(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

fn stands_in(finder: &Finder, name: &str, text: &str) -> bool {
    let whole =
        |at: usize| is_whole(name, text.get(..at).unwrap_or_default(), text.get(at + name.len()..).unwrap_or_default());
    finder.find_iter(text.as_bytes()).any(whole)
}

/// Whether a name between these characters is a whole word. An identifier is one in `a.name.b`, a path in `/a/path` and
/// `path/b`; `config.json` is none in `config.json5`, `my-config.json` and `config.json.old`.
fn is_whole(name: &str, before: &str, after: &str) -> bool {
    let mut before = before.chars().rev();
    let starts = match before.next() {
        Some('-') => !before.next().is_some_and(is_word),
        Some(letter) => !is_word(letter),
        None => true,
    };
    let mut after = after.chars();
    let is_file = name.contains(['.', '/']);
    let ends = match after.next() {
        Some('-') => !after.next().is_some_and(is_word),
        Some('.') if is_file => !after.next().is_some_and(is_word),
        Some(letter) => !is_word(letter),
        None => true,
    };
    starts && ends
}
