//! A simulated client that knows who each of its messages really is: its turns, what goes wrong in
//! them, and what it sends. What it does to its history is in `rewriting`.

use crate::behaviour::{Behaviour, Nature, answer_words, attached_file, prompt_words};
use crate::history::{Call, Identities, Item, What};
use crate::random::Random;
use crate::render::{self, Family, Rendered, Style};
use crate::rewriting::Words;
use crate::watch::{Expect, Watch};
use ctx_core::Verdict;

pub struct Client {
    pub random: Random,
    pub nature: Nature,
    pub style: Style,
    pub history: Vec<Item>,
    /// Branches that were left, the newest last.
    pub abandoned: Vec<Vec<Item>>,
    pub identities: Identities,
    behaviour: Behaviour,
    /// Whether requests go through the proxy.
    watched: bool,
    pub switched: bool,
    clock: u64,
}

impl Client {
    pub fn new(nature: Nature, random: Random) -> Client {
        let style = Style { family: nature.family, mark: nature.mark.clone(), streams: true, mark_before_last: false };
        Client {
            random,
            nature,
            style,
            history: Vec::new(),
            abandoned: Vec::new(),
            identities: Identities::default(),
            behaviour: Behaviour::Turn,
            watched: true,
            switched: false,
            clock: 0,
        }
    }

    pub fn push(&mut self, what: What) {
        let item = self.identities.at(&self.history, what);
        self.history.push(item);
    }

    /// Does one thing and goes on with a turn.
    pub fn act(&mut self, behaviour: Behaviour, watch: &mut Watch) {
        self.behaviour = behaviour;
        if self.history.is_empty() && behaviour != Behaviour::Turn {
            self.turn(watch, Expect::Plain);
        }
        let expect = match behaviour {
            Behaviour::Restart => {
                watch.restart();
                Expect::Plain
            }
            Behaviour::RestartWithLoss => {
                watch.restart_with_loss(self.random.between(1, 4));
                Expect::Any
            }
            Behaviour::SideRequest => {
                self.side(watch);
                Expect::Plain
            }
            Behaviour::Rewind => return self.rewind_and(watch, Words::Other),
            Behaviour::RewindAndSaySame => return self.rewind_and(watch, Words::Same),
            Behaviour::RewindAndSayLater => return self.rewind_and(watch, Words::Later),
            Behaviour::RewindAndReturn => {
                self.rewind_and(watch, Words::Other);
                self.return_to_last()
            }
            Behaviour::Return => self.return_to_any(),
            Behaviour::Compaction => {
                let tail = self.random.between(1, self.history.len().min(12));
                self.compact(self.history.len() - tail, true)
            }
            Behaviour::CompactionWithoutTail => self.compact(self.history.len(), true),
            Behaviour::SummariseUpToHere => self.compact(self.prompt_before(1), true),
            Behaviour::SummariseFromHere => self.summarise_from_here(),
            Behaviour::Fork => {
                self.abandoned.clear();
                watch.fork();
                Expect::Plain
            }
            Behaviour::ModelSwitch => self.switch_model(),
            Behaviour::ResultsCleared => self.clear_results(),
            Behaviour::Elsewhere | Behaviour::ElsewhereRewind | Behaviour::ElsewhereCompaction => {
                self.elsewhere(behaviour, watch)
            }
            Behaviour::WindowSlides => self.slide_window(),
            Behaviour::FrontRewritten => self.rewrite_front(),
            // A plain turn, or what happens in the middle of one.
            _ => Expect::Plain,
        };
        self.turn(watch, expect);
    }

    fn elsewhere(&mut self, behaviour: Behaviour, watch: &mut Watch) -> Expect {
        self.watched = false;
        match behaviour {
            Behaviour::ElsewhereRewind => self.rewind_and(watch, Words::Other),
            Behaviour::ElsewhereCompaction => {
                let tail = self.random.below(self.history.len().min(12));
                self.compact(self.history.len() - tail, true);
            }
            _ => {}
        }
        for _ in 0..self.random.between(1, 2) {
            self.turn(watch, Expect::Any);
        }
        self.watched = true;
        if behaviour == Behaviour::Elsewhere { Expect::Plain } else { Expect::Any }
    }

    pub fn turn(&mut self, watch: &mut Watch, expect: Expect) {
        let words = prompt_words(&mut self.random);
        self.turn_with(watch, expect, words);
    }

    /// A prompt and its tool loop. Something may go wrong at one of its requests.
    pub fn turn_with(&mut self, watch: &mut Watch, mut expect: Expect, words: String) {
        self.prompt(words, false);
        let steps = if self.random.percent(self.nature.tools) { self.random.between(1, 5) } else { 0 };
        let trouble_at = self.random.between(0, steps);
        for step in 0..=steps {
            if step == trouble_at && self.behaviour == Behaviour::CompactionInLoop && self.history.len() > 3 {
                self.send(watch, expect);
                let tail = self.random.between(1, self.history.len().min(6));
                expect = self.compact(self.history.len() - tail, false);
            }
            self.send(watch, expect);
            expect = Expect::Plain;
            if step == trouble_at {
                self.trouble(watch);
            }
            self.answer(step < steps);
            if step < steps {
                self.results();
            }
        }
    }

    /// Something goes wrong with the request that was just sent.
    fn trouble(&mut self, watch: &mut Watch) {
        match self.behaviour {
            Behaviour::Retry => (0..self.random.between(1, 3)).for_each(|_| self.resend(watch, Verdict::Retry)),
            Behaviour::RetryWithoutStream => {
                self.style.streams = false;
                self.resend(watch, Verdict::Retry);
                self.style.streams = true;
            }
            Behaviour::EnvironmentChanged => {
                let words = self.random.words(60);
                let is_environment = |item: &&mut Item| matches!(item.what(), What::Environment { .. });
                if let Some(item) = self.history.iter_mut().find(is_environment) {
                    *item.rewrite() = What::Environment { text: format!("# Environment\n{words}") };
                    let shows = self.style.family == Family::A;
                    self.resend(watch, if shows { Verdict::Rerender } else { Verdict::Retry });
                }
            }
            Behaviour::ThinkingStripped => {
                self.strip_thinking();
                self.resend(watch, Verdict::Retry);
            }
            Behaviour::RemindersChanged => {
                if self.change_reminders() {
                    self.send(watch, Expect::Any);
                } else {
                    self.resend(watch, Verdict::Retry);
                }
            }
            Behaviour::LateEvent => {
                self.event();
                self.send(watch, Expect::Plain);
            }
            Behaviour::Vanish if self.ends_with_prompt() => {
                self.history.truncate(self.prompt_before(1));
                let words = prompt_words(&mut self.random);
                self.prompt(words, false);
                self.send(watch, Expect::Any);
            }
            Behaviour::InterruptKeepsPartial => {
                let length = self.random.between(1, 40);
                let cut = answer_words(&mut self.random).chars().take(length).collect();
                self.push(What::Answer { thinking: None, text: Some(cut), calls: Vec::new() });
                let words = prompt_words(&mut self.random);
                self.prompt(words, true);
                self.send(watch, Expect::Plain);
            }
            Behaviour::InterruptAfterResults => {
                let words = prompt_words(&mut self.random);
                if let Some(item) = self.history.iter_mut().rev().find(|item| !item.what().is_injected())
                    && let What::Results { interrupted: more @ None, .. } = item.rewrite()
                {
                    *more = Some(words);
                    self.send(watch, Expect::Any);
                }
            }
            _ => {}
        }
    }

    fn ends_with_prompt(&self) -> bool {
        self.history.iter().rev().find(|item| !item.what().is_injected()).is_some_and(|item| item.what().is_prompt())
    }

    fn prompt(&mut self, words: String, interrupted: bool) {
        let first = self.history.is_empty();
        if self.random.percent(8) {
            self.attach();
        }
        let reminders = if first {
            vec!["As you answer, consider the project's rules.".to_owned(), "Today is Monday.".to_owned()]
        } else if self.random.percent(15) {
            vec![format!("The todo list has {} items.", self.random.below(5))]
        } else {
            Vec::new()
        };
        let commands = if self.random.percent(6) {
            vec![
                "<command-name>/context</command-name>\n<command-args></command-args>".to_owned(),
                format!("<local-command-stdout>{} tokens</local-command-stdout>", self.random.below(3)),
            ]
        } else {
            Vec::new()
        };
        self.push(What::Prompt { reminders, commands, interrupted, text: words });
        if first {
            let text = format!("# Environment\n{}", self.random.words(60));
            self.environment(text);
        }
        if self.random.percent(10) {
            self.event();
        }
    }

    /// A file in a message of its own; no client sends the same one twice in a row.
    pub fn attach(&mut self) {
        let file = attached_file(&mut self.random);
        let mut before = self.history.iter().rev().map(Item::what).take_while(|what| what.is_injected());
        if !before.any(|what| matches!(what, What::Injected { text } if *text == file)) {
            self.push(What::Injected { text: file });
        }
    }

    pub fn environment(&mut self, text: String) {
        let mut item = self.identities.fresh(What::Environment { text });
        item.either = !self.abandoned.is_empty();
        self.history.push(item);
    }

    fn event(&mut self) {
        let text = match self.random.below(4) {
            0 => None,
            1 => Some("Plan mode is off now.".to_owned()),
            _ => Some(format!("The file src/{}.rs was changed on disk.", self.random.words(1))),
        };
        self.push(What::Event { text });
    }

    fn answer(&mut self, calls: bool) {
        let thinking = self.random.percent(self.nature.thinking).then(|| {
            let thought = if self.random.percent(50) { String::new() } else { self.random.words(8) };
            (thought, format!("sig{}{}", self.random.hex(), self.random.hex()))
        });
        let text = (!calls || self.random.percent(40)).then(|| answer_words(&mut self.random));
        let count = match calls {
            true if self.random.percent(25) => self.random.between(2, 4),
            calls => usize::from(calls),
        };
        let made: usize = self.history.iter().map(|item| item.what().calls().len()).sum();
        let call = |at: usize| Call {
            id: match self.nature.counted_ids {
                true => format!("functions.Read:{}", made + at),
                false => format!("toolu_{}", self.random.hex()),
            },
            argument: format!("/src/{}.rs", self.random.words(1)),
        };
        let calls = (0..count).map(call).collect();
        self.push(What::Answer { thinking, text, calls });
    }

    fn results(&mut self) {
        let calls = self.history.last().map(|item| item.what().calls()).unwrap_or_default();
        let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        let results = ids.into_iter().map(|id| (id, format!("{}\n", self.random.words(6)))).collect();
        let typed = self.random.percent(8).then(|| prompt_words(&mut self.random));
        self.push(What::Results { results, typed, interrupted: None });
        if self.random.percent(6) {
            self.event();
        }
    }

    fn send(&mut self, watch: &mut Watch, expect: Expect) {
        self.clock += 1;
        self.transmit(watch, expect);
    }

    /// The same request once more.
    fn resend(&mut self, watch: &mut Watch, verdict: Verdict) {
        self.transmit(watch, Expect::Verdict(verdict));
    }

    fn transmit(&mut self, watch: &mut Watch, expect: Expect) {
        if self.watched {
            let sent = self.render(&self.style.clone());
            let doubtful = self.nature.moving_notice || self.nature.counted_ids;
            let expect = if doubtful { Expect::Any } else { expect };
            watch.turn(&sent, self.behaviour, expect);
        }
    }

    /// A question beside the conversation: the whole history and one message more.
    fn side(&mut self, watch: &mut Watch) {
        let text = prompt_words(&mut self.random);
        let reminders = vec!["A side question.".to_owned()];
        let what = What::Prompt { reminders, commands: Vec::new(), interrupted: false, text };
        self.history.push(self.identities.fresh(what));
        let sent = self.render(&Style { mark_before_last: true, ..self.style.clone() });
        watch.side(&sent, self.behaviour);
        self.history.pop();
    }

    fn render(&mut self, style: &Style) -> Rendered {
        if !self.nature.moving_notice {
            return render::request(&self.history, style);
        }
        let mut history = self.history.clone();
        let at = history.iter().rposition(|item| !item.what().is_injected()).unwrap_or(0);
        let text = format!("It is {} o'clock.", self.clock);
        let mut notice = self.identities.at(&history[..at], What::Notice { text });
        notice.either = true;
        history.insert(at, notice);
        render::request(&history, style)
    }
}
