//! The content that later steps relied on, and its places. Computed once per recording, independently of policies: a
//! policy harms a step if all sources of one of the step's needs are hidden in its request.
//!
//! A step is a reply of the model. Its actions show what it relied on:
//!
//! - **Edit**: it replaced a text in a file, so it had to know that text. The need is the replaced text if an earlier
//!   block contains it as a whole, otherwise each of its distinctive lines (12 or more visible characters) that occurs in
//!   an earlier block. Line numbers of a file view, places of a search and marks of a diff do not count. Lines that occur
//!   nowhere were written by the model and are no need.
//! - **Name**: it used a path or an identifier in a call (not in text that the call writes), or quoted one in
//!   backticks, that occurs in an earlier block as a whole word. A name has 6 or more characters and the form of one: a
//!   `/`, `_`, `.` or `-` inside, a digit, or a capital inside. For a path that occurs nowhere, its longest known end
//!   counts. Programs and options of a command are not names.
//! - **Reread**: it read a range of a file, with a tool or a plain command, that a result of the last 20 steps had
//!   shown completely, and no change of the file since is known. The agent did that with the earlier result in view. If a
//!   policy had hidden that result, the step counts as a forced re-read.
//! - **Repeat**: it ran a command or a search again that changes nothing, of the last 20 steps, and no change since is
//!   known. Such a step is no harm by itself, because the recording repeats it with the earlier result in view.
//!
//! Sources are texts, calls and results of earlier messages. Thinking is none, because it is not sent permanently; the
//! system prompt and the tools are always visible and no need. Of more than 64 sources, the first 16 and the last 48
//! are kept.

mod blocks;
mod calls;
mod edits;
mod index;
mod names;
mod printed;
mod reads;
mod repeats;

pub(crate) use blocks::{value_of, words_in};
pub(crate) use edits::bare;

use crate::recording::Recording;
use blocks::{Block, What};
use index::Index;
use std::collections::HashSet;

/// Something that a reply relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The turn of the reply, as an index into the turns of the recording.
    pub turn: usize,
    pub kind: Kind,
    /// The replaced text or line, the name, or the file and range.
    pub text: String,
    /// Its places, oldest first; never empty.
    pub sources: Vec<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Edit,
    Name,
    Reread,
    Repeat,
}

/// A block of a message. Plain text is block 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub message: usize,
    pub block: usize,
}

const FIRST_SOURCES: usize = 16;
const LAST_SOURCES: usize = 48;

/// The needs of every turn, in the order of the turns.
pub fn needs(recording: &Recording) -> Vec<Need> {
    let mut index = Index::with_head(&blocks::words_of(recording.head.get()));
    let mut reads = reads::Reads::default();
    let mut repeats = repeats::Repeats::default();
    let mut needs = Vec::new();
    let mut turns = (0..recording.turns.len()).map(|turn| (turn, recording.answer(turn))).peekable();
    for (message, json) in recording.messages.iter().enumerate() {
        let read = blocks::read(recording.wire(), json.get(), message);
        while turns.next_if(|(_, answer)| answer.end <= message).is_some() {}
        let turn = turns.peek().filter(|(_, answer)| answer.contains(&message)).map(|(turn, _)| *turn);
        if let Some(turn) = turn {
            let mut told = HashSet::new();
            let mut add = |kind, text: String, sources: Vec<Place>| {
                if !sources.is_empty() && told.insert((kind, text.clone())) {
                    needs.push(Need { turn, kind, text, sources: bounded(sources) });
                }
            };
            for text in edits::replaced(&read) {
                edits::sources(&text, &index).into_iter().for_each(|(text, sources)| add(Kind::Edit, text, sources));
            }
            for name in names::used(&read) {
                if let Some((name, sources)) = index.name(&name) {
                    add(Kind::Name, name, sources);
                }
            }
            reads.again(&read).into_iter().for_each(|(text, sources)| add(Kind::Reread, text, sources));
            repeats.again(&read).into_iter().for_each(|(text, sources)| add(Kind::Repeat, text, sources));
        }
        reads.note(&read);
        repeats.note(&read);
        read.into_iter().for_each(|block| index.add(block));
    }
    needs
}

fn bounded(mut sources: Vec<Place>) -> Vec<Place> {
    if sources.len() > FIRST_SOURCES + LAST_SOURCES {
        sources.drain(FIRST_SOURCES..sources.len() - LAST_SOURCES);
    }
    sources
}

/// The calls of a message: id, tool and input.
fn calls_of(blocks: &[Block]) -> impl Iterator<Item = (&str, &str, &serde_json::Value)> {
    blocks.iter().filter_map(|block| match &block.what {
        What::Call { id, name, input } => Some((id.as_str(), name.as_str(), input)),
        _ => None,
    })
}
