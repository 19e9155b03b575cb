//! The true history: messages with their identities, before any client renders them.

use crate::render::Family;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Who a message really is. The matcher never sees it.
pub type Identity = u64;

#[derive(Clone, Debug)]
pub enum What {
    /// The human speaks. Reminders, output of local commands and the notice of an interrupt are
    /// glued in front of the words.
    Prompt {
        reminders: Vec<String>,
        commands: Vec<String>,
        interrupted: bool,
        text: String,
    },
    /// A user message that is nothing but a reminder: an attached file, a notification.
    Injected {
        text: String,
    },
    /// A user message with the time and the like that moves to the end of every request.
    Notice {
        text: String,
    },
    /// The second message of family A; a reminder of the first one in family B.
    Environment {
        text: String,
    },
    /// A file changed, a mode changed: a system message (A), a reminder in the one before (B).
    Event {
        text: Option<String>,
    },
    Answer {
        thinking: Option<(String, String)>,
        text: Option<String>,
        calls: Vec<Call>,
    },
    /// `typed` is what the human wrote while the tools ran; `interrupted` what came after an Esc.
    Results {
        results: Vec<(String, String)>,
        typed: Option<String>,
        interrupted: Option<String>,
    },
    /// The client's own summary of what was before.
    Summary {
        text: String,
    },
    /// A message of a recorded conversation.
    Recorded {
        message: Value,
        sort: Sort,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Prompt,
    Answer,
    Results,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub id: String,
    pub argument: String,
}

impl What {
    pub fn recorded(message: Value) -> What {
        let has_results = |blocks: &Vec<Value>| blocks.iter().any(|block| block["type"] == "tool_result");
        let sort = match &message["content"] {
            _ if message["role"] == "assistant" => Sort::Answer,
            Value::Array(blocks) if has_results(blocks) => Sort::Results,
            _ => Sort::Prompt,
        };
        What::Recorded { message, sort }
    }

    /// Put in by the client on its own: it comes and goes between renderings.
    pub fn is_injected(&self) -> bool {
        use What::*;
        matches!(self, Injected { .. } | Notice { .. } | Environment { .. } | Event { .. })
    }

    /// Where a human can go back to.
    pub fn is_prompt(&self) -> bool {
        matches!(self, What::Prompt { .. } | What::Recorded { sort: Sort::Prompt, .. })
    }

    /// Results cannot begin a history: their calls would be missing.
    pub fn is_results(&self) -> bool {
        matches!(self, What::Results { .. } | What::Recorded { sort: Sort::Results, .. })
    }

    pub fn calls(&self) -> &[Call] {
        match self {
            What::Answer { calls, .. } => calls,
            _ => &[],
        }
    }

    fn content(&self) -> u64 {
        match self {
            // Reminders are no part of what was said.
            What::Prompt { commands, interrupted, text, .. } => hash(&(commands, interrupted, text)),
            // A notice that tells the time is the same notice when its time changes.
            What::Notice { .. } => 0,
            What::Recorded { message, .. } => hash(&message.to_string()),
            other => hash(&format!("{other:?}")),
        }
    }
}

/// One message of the history.
#[derive(Clone)]
pub struct Item {
    pub identity: Identity,
    /// Whether taking it for an older message and taking it for a new one are both right: the
    /// environment that a client injects again, word for word, under another first message; a
    /// notice with the time.
    pub either: bool,
    /// What it said first, whatever the client makes of it later.
    content: u64,
    what: What,
    /// How it was written last, for which family and with which reminders.
    pub written: RefCell<Option<(Family, String, Rc<str>)>>,
}

impl Item {
    pub fn what(&self) -> &What {
        &self.what
    }

    /// For a client that rewrites its history: the message stays who it is.
    pub fn rewrite(&mut self) -> &mut What {
        self.written.replace(None);
        &mut self.what
    }
}

/// Gives out identities.
///
/// One convention: the very same words at the very same place are the same message. When a human
/// goes back and says the same again, the wire cannot tell that from a retry, and neither can we.
/// The place is all that was really said before; what a client injected does not move it. Answers
/// differ by their signature and their tool ids, too: one that was generated anew is a new message
/// even if its words are the same.
#[derive(Default)]
pub struct Identities {
    known: HashMap<(u64, u64), Identity>,
    next: Identity,
}

impl Identities {
    /// The message `what` behind `history`.
    pub fn at(&mut self, history: &[Item], what: What) -> Item {
        let mut item = self.fresh(what);
        let mut places = Places::default();
        history.iter().for_each(|item| places.pass(item));
        item.identity = *self.known.entry(places.of(&item)).or_insert(item.identity);
        item
    }

    /// A message that was never seen anywhere.
    pub fn fresh(&mut self, what: What) -> Item {
        self.next += 1;
        let content = what.content();
        Item { identity: self.next, either: false, content, what, written: RefCell::new(None) }
    }

    /// Remembers who stands where, when the client has put its history together in another way.
    pub fn learn(&mut self, history: &[Item]) {
        let mut places = Places::default();
        for item in history {
            self.known.entry(places.of(item)).or_insert(item.identity);
            places.pass(item);
        }
    }
}

/// The place behind some messages.
#[derive(Default)]
struct Places {
    said: u64,
    /// What was injected since something was said.
    injected: Vec<u64>,
}

impl Places {
    fn pass(&mut self, item: &Item) {
        if item.what.is_injected() {
            self.injected.push(item.content);
        } else {
            self.said = hash(&(self.said, item.identity));
            self.injected.clear();
        }
    }

    /// The same words can be injected twice in a row: these are two messages.
    fn of(&self, item: &Item) -> (u64, u64) {
        let same = |&&other: &&u64| item.what.is_injected() && other == item.content;
        (hash(&(self.said, self.injected.iter().filter(same).count())), item.content)
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
