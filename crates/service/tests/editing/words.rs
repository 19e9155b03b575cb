//! Words that occur once in the world, and what is known of each.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In a block of a message.
    Said,
    /// In a message of role "system".
    Told,
    /// In the system prompt or a tool.
    Around,
    /// In something that an operation brought in.
    Made,
}

#[derive(Debug, Default)]
pub struct Words {
    next: u64,
    all: BTreeMap<u64, (Kind, Option<String>)>,
}

pub type Counts = BTreeMap<u64, usize>;

impl Words {
    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn add(&mut self, kind: Kind, tool: Option<&str>) -> String {
        let number = self.number();
        self.all.insert(number, (kind, tool.map(str::to_owned)));
        format!("~{number}~")
    }

    /// For a block, and for which call it is one half.
    pub fn said(&mut self, tool: Option<&str>) -> String {
        self.add(Kind::Said, tool)
    }

    pub fn told(&mut self) -> String {
        self.add(Kind::Told, None)
    }

    pub fn around(&mut self) -> String {
        self.add(Kind::Around, None)
    }

    pub fn made(&mut self) -> String {
        self.add(Kind::Made, None)
    }

    pub fn made_for(&mut self, tool: &str) -> String {
        self.add(Kind::Made, Some(tool))
    }

    pub fn kind(&self, word: u64) -> Kind {
        self.all.get(&word).map_or(Kind::Made, |(kind, _)| *kind)
    }

    pub fn tool(&self, word: u64) -> Option<&str> {
        self.all.get(&word)?.1.as_deref()
    }
}

/// The words in a text, and how often each.
pub fn count(text: &str) -> Counts {
    let mut counts = Counts::new();
    for piece in text.split('~') {
        if !piece.is_empty() && piece.len() < 12 && piece.bytes().all(|byte| byte.is_ascii_digit()) {
            *counts.entry(piece.parse().unwrap_or(0)).or_default() += 1;
        }
    }
    counts
}

pub fn add(counts: &mut Counts, text: &str) {
    for (word, times) in count(text) {
        *counts.entry(word).or_default() += times;
    }
}
