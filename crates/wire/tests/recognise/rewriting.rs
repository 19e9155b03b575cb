//! Changes of clients to a sent history: cut it, return to it, summarise it, render it
//! anew. Each says what verdict the next request should get.

use crate::behaviour::{prompt_words, summary_words};
use crate::client::Client;
use crate::history::{Item, What};
use crate::render::Family;
use crate::watch::{Expect, Watch};
use ctx_core::Verdict;
use serde_json::{Value, json};

/// What is said after going back.
pub enum Words {
    Other,
    Same,
    /// What was said later, at a place that is gone now.
    Later,
}

impl Client {
    /// Where the turn `back` prompts before the end begins, its attachments included.
    pub fn prompt_before(&self, back: usize) -> usize {
        let prompts: Vec<usize> = (0..self.history.len()).filter(|&at| self.history[at].what().is_prompt()).collect();
        let Some(&(mut at)) = prompts.get(prompts.len().saturating_sub(back)).or(prompts.first()) else { return 0 };
        while at > 0 && matches!(self.history[at - 1].what(), What::Injected { .. }) {
            at -= 1;
        }
        at
    }

    fn leave(&mut self) {
        self.identities.learn(&self.history);
        self.abandoned.push(self.history.clone());
        if self.abandoned.len() > 6 {
            self.abandoned.remove(0);
        }
    }

    pub fn rewind_and(&mut self, watch: &mut Watch, words: Words) {
        self.leave();
        let back = self.random.between(1, 4);
        let at = self.prompt_before(back);
        let dropped = self.history.split_off(at);
        let said = |item: &Item| match item.what() {
            What::Prompt { text, .. } => Some(text.clone()),
            _ => None,
        };
        let mut prompts = dropped.iter().filter_map(said);
        let (first, later) = (prompts.next(), prompts.next_back());
        let (words, expect) = match (words, first, later) {
            (Words::Same, Some(first), _) => (first, Expect::Any),
            (Words::Later, _, Some(later)) => (later, Expect::Any),
            (_, first, _) => {
                let mut words = prompt_words(&mut self.random);
                if first.as_ref() == Some(&words) {
                    words.push_str(" please");
                }
                (words, if at > 0 { Expect::Verdict(Verdict::Rewind) } else { Expect::Any })
            }
        };
        self.turn_with(watch, expect, words);
    }

    pub fn return_to_last(&mut self) -> Expect {
        let Some(history) = self.abandoned.pop() else { return Expect::Any };
        let diverges = history.iter().zip(&self.history).any(|(a, b)| a.identity != b.identity);
        self.leave();
        self.history = history;
        if diverges { Expect::Verdict(Verdict::Return) } else { Expect::Any }
    }

    pub fn return_to_any(&mut self) -> Expect {
        if !self.abandoned.is_empty() {
            let history = self.abandoned.remove(self.random.below(self.abandoned.len()));
            self.leave();
            self.history = history;
        }
        Expect::Any
    }

    /// The history becomes a summary and what stood from `from` on, word for word.
    pub fn compact(&mut self, from: usize, finished: bool) -> Expect {
        self.leave();
        let mut from = from.min(self.history.len());
        // A kept tail never begins with results whose calls are gone, nor with what belongs to the
        // message before it.
        let depends = |item: &Item| item.what().is_results() || item.what().is_injected();
        while from > 0 && self.history.get(from).is_some_and(depends) {
            from = if finished { from + 1 } else { from - 1 };
        }
        if self.random.percent(30) {
            // Thinking is bound to what stood before it.
            self.strip_thinking();
        }
        let tail = self.history.split_off(from);
        let environment = |item: &Item| match item.what() {
            What::Environment { text } => Some(text.clone()),
            _ => None,
        };
        let environment = self.history.iter().chain(&tail).find_map(environment);
        self.history.clear();
        let text = summary_words(&mut self.random);
        self.push(What::Summary { text });
        environment.into_iter().for_each(|text| self.environment(text));
        self.history.extend(tail);
        for _ in 0..if finished { self.random.below(3) } else { 0 } {
            self.attach();
        }
        Expect::Verdict(Verdict::Compaction)
    }

    pub fn summarise_from_here(&mut self) -> Expect {
        self.leave();
        let back = self.random.between(1, 3);
        self.history.truncate(self.prompt_before(back));
        let text = summary_words(&mut self.random);
        self.push(What::Summary { text });
        Expect::Any
    }

    pub fn slide_window(&mut self) -> Expect {
        self.leave();
        let back = self.random.between(1, 3);
        self.history.drain(..self.prompt_before(back));
        Expect::Any
    }

    pub fn rewrite_front(&mut self) -> Expect {
        self.leave();
        let text = format!("Here is a map of the repository:\n{}", self.random.words(30));
        let what = What::Prompt { reminders: Vec::new(), commands: Vec::new(), interrupted: false, text };
        self.history[0] = self.identities.fresh(what);
        Expect::Any
    }

    pub fn switch_model(&mut self) -> Expect {
        self.style.family = match self.style.family {
            Family::A => Family::B,
            Family::B => Family::A,
        };
        if self.random.percent(30) {
            self.strip_thinking();
        }
        // What was injected behind the last message sent shows no change in what stands before it;
        // and back at a model that had the history before, it may be a return.
        let sent = |item: &Item| item.what().is_prompt() || item.what().is_results();
        let sent = self.history.iter().rposition(sent).unwrap_or(0);
        let moves = |item: &Item| matches!(item.what(), What::Environment { .. } | What::Event { .. });
        let shows = self.history[..sent].iter().any(moves) && !self.switched;
        self.switched = true;
        if shows { Expect::Verdict(Verdict::Rerender) } else { Expect::Any }
    }

    /// All thinking is taken out, for good; a message that is nothing else keeps it.
    pub fn strip_thinking(&mut self) {
        for item in self.history.iter_mut().chain(self.abandoned.iter_mut().flatten()) {
            match item.what() {
                What::Answer { .. } | What::Recorded { .. } => {}
                _ => continue,
            }
            match item.rewrite() {
                What::Answer { thinking, text, calls } if text.is_some() || !calls.is_empty() => *thinking = None,
                What::Recorded { message: Value::Object(message), .. } => {
                    let is_thinking = |block: &Value| block["type"] == "thinking";
                    if let Some(Value::Array(blocks)) = message.get_mut("content")
                        && !blocks.iter().all(is_thinking)
                    {
                        blocks.retain(|block| !is_thinking(block));
                    }
                }
                _ => {}
            }
        }
    }

    /// Old results become a placeholder, as clients do to save room.
    pub fn clear_results(&mut self) -> Expect {
        const CLEARED: &str = "[Old tool result content cleared]";
        let kept = self.random.between(0, 6).min(self.history.len());
        let old = self.history.len() - kept;
        for item in self.history[..old].iter_mut().filter(|item| item.what().is_results()) {
            match item.rewrite() {
                What::Results { results, .. } => {
                    results.iter_mut().for_each(|(_, content)| *content = CLEARED.to_owned());
                }
                What::Recorded { message, .. } => {
                    let blocks = message["content"].as_array_mut().into_iter().flatten();
                    blocks.filter(|block| block["type"] == "tool_result").for_each(|block| {
                        block["content"] = json!(CLEARED);
                    });
                }
                _ => {}
            }
        }
        Expect::Plain
    }

    /// Whether one that is a message of its own is among them.
    pub fn change_reminders(&mut self) -> bool {
        let mut any = false;
        let last = self.history.len().saturating_sub(1);
        for item in &mut self.history[..last] {
            let changes = self.random.percent(50);
            match item.what() {
                What::Prompt { .. } => {}
                What::Injected { .. } if changes => {}
                _ => continue,
            }
            match item.rewrite() {
                What::Prompt { reminders, .. } => {
                    reminders.iter_mut().for_each(|reminder| reminder.push_str(" Changed."));
                }
                What::Injected { text } => {
                    text.push_str("\n// changed");
                    any = true;
                }
                _ => {}
            }
        }
        any
    }
}
