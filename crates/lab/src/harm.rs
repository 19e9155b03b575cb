//! Which steps relied on something that a policy had taken away.

use crate::needs::{Kind, Need, Place, bare};
use crate::recording::Recording;
use ctx_core::Content;
use std::collections::{HashMap, HashSet};

/// A result of a recording.
pub struct Recorded {
    place: Place,
    /// Where its call stands.
    asked: Option<Place>,
    call: String,
    text: String,
}

/// All results of a recording, in order.
pub fn results(recording: &Recording) -> Vec<Recorded> {
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
                results.push(Recorded { place, asked, call: call.to_owned(), text });
            }
        }
    }
    results
}

/// What of a recording is not to be seen in its newest request as it was recorded, and what stands there instead.
pub struct Sight<'r> {
    by_call: HashMap<&'r str, &'r Recorded>,
    /// Where the calls stand.
    calls: HashMap<&'r str, Place>,
    hidden: HashMap<Place, Instead>,
}

/// What stands in the place of a result.
struct Instead {
    text: String,
    /// The same without what a tool printed before each line.
    bare: Option<String>,
    /// Every line of the result is there still.
    whole: bool,
}

impl Instead {
    fn of(text: String, result: &Recorded) -> Instead {
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
    pub fn new(results: &'r [Recorded]) -> Sight<'r> {
        let by_call = results.iter().map(|result| (result.call.as_str(), result)).collect();
        let calls = results.iter().filter_map(|result| Some((result.call.as_str(), result.asked?))).collect();
        Sight { by_call, calls, hidden: HashMap::new() }
    }

    /// A result got another content.
    pub fn replaced(&mut self, call: &str, text: String) {
        let Some(result) = self.by_call.get(call) else { return };
        match text == result.text {
            true => drop(self.hidden.remove(&result.place)),
            false => drop(self.hidden.insert(result.place, Instead::of(text, result))),
        }
    }

    /// What a call was asked with was shortened to these words.
    pub fn asked(&mut self, call: &str, words: String) {
        if let Some(place) = self.calls.get(call) {
            self.hidden.insert(*place, Instead { text: words, bare: None, whole: false });
        }
    }

    /// Whether what an answer relied on is nowhere to be seen. To read a file again is no loss as long as its result
    /// stands.
    pub fn misses(&self, need: &Need) -> bool {
        let is_lost = |place: &Place| match self.hidden.get(place) {
            None => false,
            Some(instead) if need.kind == Kind::Reread => !instead.whole,
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
