//! Many recordings under several policies, on all cores.

use crate::harm::results;
use crate::needs::{Kind, needs};
use crate::recording::Recording;
use crate::replay::{Known, Played, Turn, Unplayable, play};
use crate::request::Script;
use ctx_core::policy::Policy;
use ctx_wire::anthropic::models::{Found, Model, Models};
use ctx_wire::anthropic::price::Price;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Recordings of models that nobody has a price for are charged as this one.
const LIKE: &str = "claude-opus-4-5";
/// Tokens of the shortest prompt that is cached, where a model does not say.
const LEAST: u64 = 1024;

/// One recording under one policy.
#[derive(Debug, Clone, Default)]
pub struct Score {
    pub conversation: String,
    pub steps: usize,
    pub final_tokens: u64,
    pub cumulative_tokens: u64,
    pub peak_tokens: u64,
    pub input_cost: f64,
    pub output_cost: f64,
    /// What reading again would cost that the policy forced.
    pub forced_cost: f64,
    pub read: f64,
    pub prompt: f64,
    /// Requests before which the policy changed something that had been sent.
    pub clear_events: usize,
    /// Steps that relied on something that was not to be seen any more, and of them those that edited.
    pub harmed: usize,
    pub harmed_edits: usize,
    pub harmed_rereads: usize,
}

impl Score {
    pub fn cost(&self) -> f64 {
        self.input_cost + self.output_cost + self.forced_cost
    }

    fn of(played: &Played) -> Score {
        let tokens = |turn: &Turn| turn.reading.prompt().round() as u64;
        let sum = |of: &dyn Fn(&Turn) -> f64| played.turns.iter().map(of).sum::<f64>();
        let has = |turn: &Turn, kind: Kind| turn.missed.iter().any(|(missed, _)| *missed == kind);
        let count = |of: &dyn Fn(&Turn) -> bool| played.turns.iter().filter(|turn| of(turn)).count();
        Score {
            conversation: played.name.clone(),
            steps: played.turns.len(),
            final_tokens: played.turns.last().map_or(0, tokens),
            cumulative_tokens: played.turns.iter().map(tokens).sum(),
            peak_tokens: played.turns.iter().map(tokens).max().unwrap_or(0),
            input_cost: sum(&|turn| turn.input_cost),
            output_cost: sum(&|turn| turn.output_cost),
            forced_cost: sum(&|turn| turn.forced),
            read: sum(&|turn| turn.reading.read),
            prompt: sum(&|turn| turn.reading.prompt()),
            clear_events: count(&|turn| turn.cleared),
            harmed: count(&|turn| !turn.missed.is_empty()),
            harmed_edits: count(&|turn| has(turn, Kind::Edit)),
            harmed_rereads: count(&|turn| has(turn, Kind::Reread)),
        }
    }
}

/// What came of all recordings.
#[derive(Debug, Default)]
pub struct Outcome {
    /// By policy, in the order they were given: the recordings in theirs.
    pub scores: Vec<Vec<Score>>,
    pub unplayable: Vec<(String, String)>,
    /// Models that are not listed, and which one they were charged as.
    pub strange_models: BTreeMap<String, String>,
    /// Recordings without times: how long the pauses were is not known.
    pub untimed: usize,
    /// Recordings without the provider's counts: their figures are estimates.
    pub uncounted: usize,
}

/// A recording, by its place, under every policy.
type Done = (usize, Result<Vec<Score>, Unplayable>);

/// Plays every recording under every policy.
pub fn run(recordings: &[Recording], policies: &[Arc<dyn Policy>]) -> Outcome {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Done>> = Mutex::default();
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(recordings.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, recording)) = take(&next, recordings) {
                    let scores = one(recording, policies);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, scores));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    let mut outcome = Outcome { scores: policies.iter().map(|_| Vec::new()).collect(), ..Outcome::default() };
    for (at, scores) in done {
        let Some(recording) = recordings.get(at) else { continue };
        match scores {
            Ok(scores) => {
                outcome.scores.iter_mut().zip(scores).for_each(|(list, score)| list.push(score));
                if !matches!(Models::listed().of(&recording.model), Found::Listed(_)) {
                    let model = model(&recording.model).map_or("nothing", |model| &model.name);
                    outcome.strange_models.insert(recording.model.clone(), model.to_owned());
                }
                outcome.untimed += usize::from(recording.turns.iter().any(|turn| turn.at.is_none()));
                outcome.uncounted += usize::from(recording.turns.iter().all(|turn| turn.usage.is_none()));
            }
            Err(error) => outcome.unplayable.push((recording.name.clone(), error.to_string())),
        }
    }
    outcome
}

/// The largest first would be faster; in order is simpler, and the files of a folder are much alike.
fn take<'r>(next: &AtomicUsize, recordings: &'r [Recording]) -> Option<(usize, &'r Recording)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    recordings.get(at).map(|recording| (at, recording))
}

fn one(recording: &Recording, policies: &[Arc<dyn Policy>]) -> Result<Vec<Score>, Unplayable> {
    with_known(recording, |known| policies.iter().map(|policy| Ok(Score::of(&play(known, policy.clone())?))).collect())
}

/// Runs `with` on what is known of a recording before any policy.
pub fn with_known<T>(recording: &Recording, with: impl FnOnce(&Known<'_>) -> T) -> T {
    let script = Script::of(recording);
    let model = model(&recording.model);
    let price = model.and_then(|model| model.price(1));
    let price = price.unwrap_or(Price { input: 0.0, output: 0.0, write_5m: 0.0, write_1h: 0.0, read: 0.0 });
    let least = model.and_then(|model| model.minimum).unwrap_or(LEAST) as f64;
    with(&Known { script: &script, needs: &needs(recording), results: &results(recording), price, least })
}

/// The model of this name, the nearest of its family, or the usual one.
fn model(name: &str) -> Option<&'static Model> {
    let models = Models::listed();
    models.of(name).model().or_else(|| models.of(LIKE).model())
}
