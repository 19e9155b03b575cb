//! What later steps relied on, and where that stood. It is computed once for a recording and knows no policy: a policy
//! harms a step when all sources of one of the step's needs are no longer visible in its request.
//!
//! A step is an answer of the model. What it relied on is told by what it did:
//!
//! - **Edit**: it replaced a text in a file, so it had to know that text. The need is the replaced text if one block
//!   before holds it as a whole, else each of its distinctive lines (12 and more visible characters) that stands in a
//!   block before. Line numbers of a file view, places of a search and the marks of a diff before a line do not count as
//!   part of it. Lines that stand nowhere before were written by the model and are no need.
//! - **Name**: it used a path or an identifier in a call (not in what the call writes), or quoted one in backticks, that
//!   stands in a block before as a whole word. A name has 6 and more characters and the shape of one: a `/`, `_`, `.` or
//!   `-` inside, a digit, or a capital inside. Of a path that stands nowhere, the longest end that does is meant. The
//!   programs and options of a command are not names.
//! - **Reread**: it read a range of a file, by a tool or by a plain command, that a result of the last 20 steps had shown
//!   as a whole, and nothing is known to have changed the file since. The agent did that with the earlier result in
//!   sight. When a policy had hidden that result, the step counts as a forced re-read.
//!
//! Sources are texts, calls and results of earlier messages. Thinking is none, because it is not sent for good; what
//! stands in the system prompt or the tools is always visible and no need. Of more than 64 sources the first 16 and the
//! last 48 are kept.

mod blocks;
mod calls;
mod edits;
mod index;
mod names;
mod printed;
mod reads;

pub(crate) use blocks::{value_of, words_in};
pub(crate) use edits::bare;

use crate::recording::Recording;
use blocks::{Block, What};
use index::Index;
use std::collections::HashSet;

/// A thing that an answer relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The turn whose answer relied on it, as an index into the turns of the recording.
    pub turn: usize,
    pub kind: Kind,
    /// The replaced text or line, the name, or the file and range.
    pub text: String,
    /// Where it stood, oldest first; never empty.
    pub sources: Vec<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Edit,
    Name,
    Reread,
}

/// A block of a message. A content that is a text is block 0.
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
        }
        reads.note(&read);
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

/// The calls of a message: their id, tool and input.
fn calls_of(blocks: &[Block]) -> impl Iterator<Item = (&str, &str, &serde_json::Value)> {
    blocks.iter().filter_map(|block| match &block.what {
        What::Call { id, name, input } => Some((id.as_str(), name.as_str(), input)),
        _ => None,
    })
}
