//! Finds steps that relied on content that a policy had removed.

use crate::needs::{Kind, Need, Place, bare};
use crate::recording::Recording;
use ctx_core::Content;
use std::collections::{HashMap, HashSet};

/// A result of a recording.
pub struct RecordedResult {
    pub place: Place,
    /// The position of its call.
    pub asked: Option<Place>,
    pub call: String,
    text: String,
}

/// All results of a recording, in order.
pub fn results(recording: &Recording) -> Vec<RecordedResult> {
    let mut results = Vec::new();
    let mut calls: HashMap<String, Place> = HashMap::new();
    for (at, message) in recording.messages.iter().enumerate() {
        for (block, content) in recording.wire().contents(message.get().as_bytes()).iter().enumerate() {
            let place = Place { message: at, block };
            if let Some(call) = content.calls() {
                calls.insert(call.to_owned(), place);
            }
            if let Some(call) = content.answers() {
                let (text, asked) = (text_of(content), calls.get(call).copied());
                results.push(RecordedResult { place, asked, call: call.to_owned(), text });
            }
        }
    }
    results
}

/// The content of a recording that is hidden in its newest request, and its replacements.
pub struct Sight<'r> {
    by_call: HashMap<&'r str, &'r RecordedResult>,
    /// The positions of the calls.
    calls: HashMap<&'r str, Place>,
    hidden: HashMap<Place, Instead>,
}

/// The replacement of a result.
struct Instead {
    text: String,
    /// The same without line prefixes of a tool.
    bare: Option<String>,
    /// Every line of the result is still there.
    whole: bool,
}

impl Instead {
    fn of(text: String, result: &RecordedResult) -> Instead {
        let bare = bare(&text);
        let there: HashSet<&str> = lines(&text).chain(bare.iter().flat_map(|bare| lines(bare))).collect();
        let own = self::bare(&result.text);
        let whole = lines(own.as_deref().unwrap_or(&result.text)).all(|line| there.contains(line));
        Instead { text, bare, whole }
    }

    fn says(&self, what: &str) -> bool {
        self.text.contains(what) || self.bare.as_ref().is_some_and(|bare| bare.contains(what))
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

impl<'r> Sight<'r> {
    pub fn new(results: &'r [RecordedResult]) -> Sight<'r> {
        let by_call = results.iter().map(|result| (result.call.as_str(), result)).collect();
        let calls = results.iter().filter_map(|result| Some((result.call.as_str(), result.asked?))).collect();
        Sight { by_call, calls, hidden: HashMap::new() }
    }

    /// The position of a call's result.
    pub fn place(&self, call: &str) -> Option<Place> {
        self.by_call.get(call).map(|result| result.place)
    }

    /// A result was replaced.
    pub fn replaced(&mut self, call: &str, text: String) {
        let Some(result) = self.by_call.get(call) else { return };
        match text == result.text {
            true => drop(self.hidden.remove(&result.place)),
            false => drop(self.hidden.insert(result.place, Instead::of(text, result))),
        }
    }

    /// The input of a call was shortened to this text.
    pub fn asked(&mut self, call: &str, words: String) {
        if let Some(place) = self.calls.get(call) {
            self.hidden.insert(*place, Instead { text: words, bare: None, whole: false });
        }
    }

    /// Whether the content that a reply relied on is hidden everywhere. Reading a file again is no loss as long as its
    /// result is visible.
    pub fn misses(&self, need: &Need) -> bool {
        let is_lost = |place: &Place| match self.hidden.get(place) {
            None => false,
            Some(instead) if matches!(need.kind, Kind::Reread | Kind::Repeat) => !instead.whole,
            Some(instead) => !instead.says(&need.text),
        };
        need.sources.iter().all(is_lost)
    }
}

/// The text of a result.
pub fn text_of(content: &Content) -> String {
    let Content::Result { parts, .. } = content else { return String::new() };
    let texts: Vec<&str> = parts.iter().filter_map(Content::as_text).collect();
    texts.join("\n")
}
