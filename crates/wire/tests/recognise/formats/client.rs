//! A client of one of these formats: a part of a recorded conversation, then turns of its own, and what it does to its
//! history.

use super::recording::{Recording, is_models, is_note, is_prompt, is_result, words};
use super::respell;
use crate::behaviour::{Behaviour, answer_words, prompt_words};
use crate::history::Identity;
use crate::random::Random;
use crate::render::{Rendered, Truth};
use crate::watch::{Expect, Watch};
use ctx_core::WireId;
use serde_json::{Value, json};

/// An element of the history, and who it is.
#[derive(Clone)]
struct Item {
    identity: Identity,
    element: Value,
    /// A note of the client that is sent again: the old one and a new one are both right.
    either: bool,
}

/// A client with a part of a recording as its history; the rest of it is still to come.
pub struct Client<'r> {
    recording: &'r Recording,
    random: Random,
    /// Whether the provider's ids are sent in its own steps.
    has_ids: bool,
    history: Vec<Item>,
    abandoned: Vec<Vec<Item>>,
    /// The element of the recording that comes next.
    next: usize,
    identities: Identity,
    /// Whether requests go through the proxy.
    watched: bool,
}

impl<'r> Client<'r> {
    pub fn new(recording: &'r Recording, mut random: Random) -> Client<'r> {
        let next = recording.prompt_from(random.below(recording.elements.len()));
        let next = if next < recording.elements.len() { next } else { recording.prompt_from(0) };
        let has_ids = random.percent(60);
        Client {
            recording,
            random,
            has_ids,
            history: Vec::new(),
            abandoned: Vec::new(),
            next,
            identities: 0,
            watched: true,
        }
    }

    fn push(&mut self, element: Value) {
        self.identities += 1;
        // Whoever goes back and says the same at the same place has said the same message.
        let is_same = |said: &Value| match is_prompt(&element) || is_models(&element) && !words(&element).is_empty() {
            true => is_models(said) == is_models(&element) && words(said) == words(&element),
            false => *said == element,
        };
        let same = |left: &&Vec<Item>| {
            let before = left.iter().zip(&self.history).all(|(one, other)| one.identity == other.identity);
            before && left.get(self.history.len()).is_some_and(|item| is_same(&item.element))
        };
        let identity = self.abandoned.iter().find(same).map(|left| left[self.history.len()].identity);
        let identity = identity.unwrap_or(self.identities);
        self.history.push(Item { identity, element, either: false });
    }

    fn say(&mut self, is_model: bool) {
        let words = if is_model { answer_words(&mut self.random) } else { prompt_words(&mut self.random) };
        let element = self.recording.said(is_model, &words);
        self.push(element);
    }

    /// The history grows by what was recorded, until the model has to answer; then by steps of its own.
    fn grow(&mut self) {
        let mut grown = 0;
        while self.next < self.recording.elements.len() && (grown == 0 || !self.recording.is_request_end(self.next)) {
            self.push(self.recording.elements[self.next].clone());
            self.next += 1;
            grown += 1;
        }
        if grown > 0 {
            return;
        }
        if self.history.is_empty() {
            self.say(false);
        } else if self.random.percent(60) {
            let step = self.recording.step(&mut self.random, self.has_ids);
            step.into_iter().for_each(|element| self.push(element));
        } else {
            self.finish();
            self.say(false);
        }
    }

    /// The model has the last word.
    fn finish(&mut self) {
        if !self.history.last().is_some_and(|last| is_models(&last.element)) {
            self.say(true);
        }
        self.next = self.recording.prompt_from(self.next);
    }

    fn rendered(&self) -> Rendered {
        let truth = |item: &Item| Truth {
            identity: item.identity,
            either: item.either,
            injected: item.either || is_note(&item.element),
        };
        Rendered {
            bytes: self.recording.body(self.history.iter().map(|item| &item.element)),
            truth: self.history.iter().map(truth).collect(),
        }
    }

    fn send(&self, watch: &mut Watch, behaviour: Behaviour, expect: Expect) {
        if self.watched {
            watch.turn(&self.rendered(), behaviour, expect);
        }
    }

    /// Keeps what is there for a return.
    fn leave(&mut self) {
        self.abandoned.push(self.history.clone());
        if self.abandoned.len() > 6 {
            self.abandoned.remove(0);
        }
    }

    fn prompts(&self) -> Vec<usize> {
        (1..self.history.len()).filter(|at| is_prompt(&self.history[*at].element)).collect()
    }

    /// Goes back before one of the last prompts, and says something.
    fn rewind(&mut self, back: usize, says_same: bool) {
        let prompts = self.prompts();
        let Some(&at) = prompts.get(prompts.len().saturating_sub(back)) else { return };
        self.leave();
        let left = self.history.split_off(at);
        self.next = self.recording.prompt_from(self.next);
        match says_same {
            true => self.push(left[0].element.clone()),
            false => self.say(false),
        }
    }

    fn come_back(&mut self) {
        if self.abandoned.is_empty() {
            return;
        }
        let back = self.abandoned.remove(self.random.below(self.abandoned.len()));
        self.leave();
        self.history = back;
    }

    /// A summary, and what stood from some prompt on; in the middle of a loop, from its last step on.
    fn compact(&mut self, keeps_tail: bool, in_loop: bool, watch: &mut Watch) {
        if !in_loop {
            self.finish();
        }
        self.leave();
        let keeps_prompts = self.recording.format == WireId::OpenaiResponses && self.random.percent(60);
        if keeps_prompts {
            watch.compacts = true;
            self.keep_prompts();
        } else {
            self.keep_tail(keeps_tail, in_loop);
        }
        if !in_loop {
            self.say(false);
        }
    }

    /// As Codex does: the newest of the human's words, the client's notes anew, and a sealed summary.
    fn keep_prompts(&mut self) {
        let count = self.random.between(1, 12);
        let notes = self.history.iter().find(|item| is_note(&item.element)).cloned();
        let mut kept: Vec<Item> =
            self.history.iter().rev().filter(|item| is_prompt(&item.element)).take(count).cloned().collect();
        kept.reverse();
        if let Some(note) = notes {
            kept.insert(kept.len().saturating_sub(1), Item { either: true, ..note });
        }
        self.history = kept;
        let seal = format!("{}{}", self.random.hex(), self.random.hex());
        self.push(json!({"type": "compaction", "encrypted_content": seal}));
    }

    /// As the others do: a summary first, and the newest messages.
    fn keep_tail(&mut self, keeps_tail: bool, in_loop: bool) {
        let is_step = |at: &usize| {
            is_models(&self.history[*at].element)
                && !at.checked_sub(1).is_some_and(|at| is_models(&self.history[at].element))
        };
        let from = match (in_loop, self.prompts().as_slice()) {
            (true, _) => (1..self.history.len()).rfind(is_step).unwrap_or(self.history.len()),
            (false, []) => self.history.len(),
            (false, _) if !keeps_tail => self.history.len(),
            (false, prompts) => prompts[self.random.below(prompts.len())],
        };
        let tail = self.history.split_off(from);
        self.history.clear();
        let summary = self.random.words(30);
        let (summary, answer) = match self.recording.format {
            WireId::Gemini => {
                let answer = "Got it. Thanks for the additional context!";
                (format!("<state_snapshot>\n{summary}\n</state_snapshot>"), Some(answer))
            }
            WireId::OpenaiResponses => {
                (format!("Another language model started to solve this problem: {summary}"), None)
            }
            _ => {
                let opening = "The conversation history before this point was compacted into the following summary:";
                (format!("{opening}\n\n<summary>{summary}</summary>"), None)
            }
        };
        self.push(self.recording.said(false, &summary));
        if let Some(answer) = answer.filter(|_| !tail.first().is_some_and(|item| is_models(&item.element))) {
            self.push(self.recording.said(true, answer));
            // The client's own words in the model's name: the old ones and new ones are both right.
            self.history.iter_mut().last().into_iter().for_each(|item| item.either = true);
        }
        self.history.extend(tail);
    }

    /// For another model: without the provider's ids, sealed reasoning and signatures. `respells`: arguments and texts
    /// in another form.
    fn render_anew(&mut self, respells: bool) {
        let format = self.recording.format;
        let histories = std::iter::once(&mut self.history).chain(&mut self.abandoned);
        for history in histories {
            history.retain(|item| item.element["type"] != "reasoning");
            history.iter_mut().for_each(|item| respell::anew(&mut item.element, format, respells));
        }
    }

    /// The client clears what old tools have said.
    fn clear_results(&mut self) {
        let old = self.history.len().saturating_sub(self.random.between(0, 6));
        let results = self.history[..old].iter_mut().filter(|item| is_result(&item.element));
        results.for_each(|item| respell::clear(&mut item.element));
    }

    /// The client's notes change, or move to the newest words.
    fn change_notes(&mut self) {
        let date = format!("The date is {}.", self.random.below(30));
        if self.recording.format == WireId::OpenaiResponses {
            let note = self.recording.said(false, &format!("<environment_context>\n{date}\n</environment_context>"));
            let old = self.history.iter_mut().find(|item| is_note(&item.element));
            if let Some(item) = old.filter(|_| self.random.percent(50)) {
                item.element = note;
            }
            return;
        }
        let prompts: Vec<usize> = (0..self.history.len()).filter(|at| is_prompt(&self.history[*at].element)).collect();
        for (place, at) in prompts.iter().enumerate() {
            let note = (place + 1 == prompts.len()).then(|| format!("<system-reminder>\n{date}\n</system-reminder>"));
            respell::remind(&mut self.history[*at].element, self.recording.format, note.as_deref());
        }
    }

    /// A question beside the conversation: the whole history and one message more.
    fn ask_aside(&mut self, watch: &mut Watch) {
        let words = prompt_words(&mut self.random);
        self.identities += 1;
        let element = self.recording.said(false, &format!("Aside {}: {words}", self.identities));
        self.history.push(Item { identity: self.identities, element, either: false });
        watch.side(&self.rendered(), Behaviour::SideRequest);
        self.history.pop();
    }

    /// What was said in part, and other words behind it.
    fn interrupt(&mut self) {
        let length = self.random.between(1, 40);
        let partial: String = answer_words(&mut self.random).chars().take(length).collect();
        self.push(self.recording.said(true, &partial));
        if self.recording.format == WireId::OpenaiResponses {
            let note = "<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>";
            self.push(self.recording.said(false, note));
        }
        self.next = self.recording.prompt_from(self.next);
        self.say(false);
    }

    /// The oldest turns go without a word.
    fn slide(&mut self) {
        let prompts = self.prompts();
        let (_, older) = prompts.split_last().unwrap_or((&0, &[]));
        if let Some(at) = older.get(self.random.below(3)) {
            self.leave();
            self.history.drain(..at);
        }
    }

    /// Does one thing, and sends a request.
    pub fn act(&mut self, behaviour: Behaviour, watch: &mut Watch) {
        let mut expect = Expect::Any;
        let ends_with_prompt = self.history.last().is_some_and(|last| is_prompt(&last.element));
        match behaviour {
            Behaviour::Retry => expect = Expect::Plain,
            Behaviour::Restart => watch.restart(),
            Behaviour::RestartWithLoss => watch.restart_with_loss(self.random.between(1, 3)),
            Behaviour::SideRequest => self.ask_aside(watch),
            Behaviour::Fork => {
                self.abandoned.clear();
                watch.fork();
            }
            Behaviour::Rewind => {
                let back = self.random.between(1, 4);
                self.rewind(back, false);
            }
            Behaviour::RewindAndSaySame => {
                let back = self.random.between(1, 4);
                self.rewind(back, true);
            }
            Behaviour::RewindAndReturn => {
                let back = self.random.between(1, 4);
                self.rewind(back, false);
                self.send(watch, Behaviour::Rewind, Expect::Any);
                if let Some(back) = self.abandoned.pop() {
                    self.leave();
                    self.history = back;
                }
            }
            Behaviour::Return => self.come_back(),
            Behaviour::Compaction => self.compact(true, false, watch),
            Behaviour::CompactionWithoutTail => self.compact(false, false, watch),
            Behaviour::CompactionInLoop if !ends_with_prompt => self.compact(true, true, watch),
            Behaviour::ModelSwitch => self.render_anew(true),
            Behaviour::ThinkingStripped => self.render_anew(false),
            Behaviour::ResultsCleared => self.clear_results(),
            Behaviour::RemindersChanged => self.change_notes(),
            Behaviour::Vanish if ends_with_prompt => self.rewind(1, false),
            Behaviour::InterruptKeepsPartial => self.interrupt(),
            Behaviour::WindowSlides => self.slide(),
            Behaviour::Elsewhere => {
                self.watched = false;
                (0..self.random.between(1, 4)).for_each(|_| self.grow());
                self.watched = true;
                self.grow();
                expect = Expect::Plain;
            }
            _ => {
                self.grow();
                expect = Expect::Plain;
            }
        }
        self.send(watch, behaviour, expect);
    }
}
