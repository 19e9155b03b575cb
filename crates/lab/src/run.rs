//! Replays many recordings under several policies, on all cores.

use crate::causes::Causes;
use crate::harm::results;
use crate::needs::{Kind, needs};
use crate::recording::Recording;
use crate::replay::{PlayOutcome, RecordingFacts, Turn, Unplayable, play};
use crate::request::Script;
use ctx_core::policy::Policy;
use ctx_models::Models;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Estimates may be off by a few percent.
const SURELY: f64 = 1.05;

/// Providers drop a little from the prompt by themselves, such as thinking of earlier turns.
const NOTEWORTHY: f64 = 5_000.0;

/// One recording under one policy.
#[derive(Debug, Clone, Default)]
pub struct Score {
    pub conversation: String,
    /// Its project, or itself if that is unknown.
    pub project: String,
    pub steps: usize,
    pub final_tokens: u64,
    pub cumulative_tokens: u64,
    pub peak_tokens: u64,
    pub input_cost: f64,
    pub output_cost: f64,
    /// The cost of forced re-reads.
    pub forced_cost: f64,
    pub causes: Causes,
    pub read: f64,
    pub prompt: f64,
    /// Requests before which the policy changed something already sent.
    pub clear_events: usize,
    /// Steps that relied on hidden content, and those among them that edited.
    pub harmed: usize,
    pub harmed_edits: usize,
    pub harmed_rereads: usize,
    /// The tokens of the content that harmed steps relied on.
    pub missed_tokens: f64,
    /// The seconds of the forced re-reads: for each harmed step, one more of the recording's usual length.
    pub forced_seconds: f64,
    /// Steps that repeated a command or a search whose earlier result was hidden, with tokens and cost.
    pub repeated: usize,
    pub repeated_tokens: f64,
    pub repeated_cost: f64,
    /// The substitute models it is charged as; usually none.
    pub stand_in: Vec<String>,
    /// It was recorded larger than its model's window.
    pub beyond_window: bool,
    /// Its client removed content itself.
    pub shortened_by_client: bool,
}

impl Score {
    pub fn cost(&self) -> f64 {
        self.input_cost + self.output_cost + self.forced_cost
    }

    fn of(known: &RecordingFacts<'_>, played: &PlayOutcome) -> Score {
        let tokens = |turn: &Turn| turn.reading.prompt().round() as u64;
        let sum = |of: &dyn Fn(&Turn) -> f64| played.turns.iter().map(of).sum::<f64>();
        let has = |turn: &Turn, kind: Kind| turn.missed.iter().any(|(missed, _)| *missed == kind);
        let count = |of: &dyn Fn(&Turn) -> bool| played.turns.iter().filter(|turn| of(turn)).count();
        let mut causes = Causes::default();
        played.turns.iter().for_each(|turn| causes += turn.causes);
        Score {
            conversation: played.name.clone(),
            project: known.script.recording.labels.project.clone().unwrap_or_else(|| played.name.clone()),
            steps: played.turns.len(),
            final_tokens: played.turns.last().map_or(0, tokens),
            cumulative_tokens: played.turns.iter().map(tokens).sum(),
            peak_tokens: played.turns.iter().map(tokens).max().unwrap_or(0),
            input_cost: sum(&|turn| turn.input_cost),
            output_cost: sum(&|turn| turn.output_cost),
            forced_cost: sum(&|turn| turn.forced),
            causes,
            read: sum(&|turn| turn.reading.read),
            prompt: sum(&|turn| turn.reading.prompt()),
            clear_events: count(&|turn| turn.cleared),
            harmed: count(&|turn| !turn.missed.is_empty()),
            harmed_edits: count(&|turn| has(turn, Kind::Edit)),
            harmed_rereads: count(&|turn| has(turn, Kind::Reread)),
            missed_tokens: sum(&|turn| turn.missed_tokens),
            forced_seconds: count(&|turn| !turn.missed.is_empty()) as f64 * known.script.step_seconds(),
            repeated: count(&|turn| !turn.repeated.is_empty()),
            repeated_tokens: sum(&|turn| turn.repeated_tokens),
            repeated_cost: sum(&|turn| turn.repeated_cost),
            stand_in: stand_ins(known).into_values().collect::<BTreeSet<_>>().into_iter().collect(),
            beyond_window: is_beyond_window(known),
            shortened_by_client: known.script.sizes.removed_by_client > NOTEWORTHY,
        }
    }
}

/// The outcome of all recordings.
#[derive(Debug, Default)]
pub struct Outcome {
    /// By policy, in the given order, each with the recordings in their order.
    pub scores: Vec<Vec<Score>>,
    pub unplayable: Vec<(String, String)>,
    /// Unlisted models, and their substitutes.
    pub strange_models: BTreeMap<String, String>,
    /// Recordings without times: their pauses are unknown.
    pub untimed: usize,
    /// Recordings without the provider's counts: their figures are estimates.
    pub uncounted: usize,
    /// Recordings larger than their model's window.
    pub beyond_window: usize,
    /// Recordings whose client removed content itself: they are replayed without that.
    pub shortened_by_client: usize,
}

/// A recording, by index, under every policy, and the substitute models.
type PlayedRecording = (usize, Result<(Vec<Score>, BTreeMap<String, String>), Unplayable>);

/// Replays every recording under every policy, on all cores.
pub fn run(recordings: &[Recording], policies: &[Arc<dyn Policy>], models: &Models) -> Outcome {
    run_on(all_cores(), recordings, policies, models, &|_| {})
}

/// The same on so many cores. Reports the number of recordings that are done.
pub fn run_on(
    cores: usize,
    recordings: &[Recording],
    policies: &[Arc<dyn Policy>],
    models: &Models,
    progress: &(dyn Fn(usize) + Sync),
) -> Outcome {
    let (next, order) = (AtomicUsize::new(0), by_work(recordings));
    let done: Mutex<Vec<PlayedRecording>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..cores.min(recordings.len().max(1)) {
            scope.spawn(|| {
                while let Some((at, recording)) = take(&next, &order, recordings) {
                    let scores = one(recording, policies, models);
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.push((at, scores));
                    progress(done.len());
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
            Ok((scores, strange)) => {
                outcome.beyond_window += usize::from(scores.first().is_some_and(|score| score.beyond_window));
                outcome.shortened_by_client +=
                    usize::from(scores.first().is_some_and(|score| score.shortened_by_client));
                outcome.scores.iter_mut().zip(scores).for_each(|(list, score)| list.push(score));
                outcome.strange_models.extend(strange);
                outcome.untimed += usize::from(recording.turns.iter().any(|turn| turn.at.is_none()));
                outcome.uncounted += usize::from(recording.turns.iter().all(|turn| turn.usage.is_none()));
            }
            Err(error) => outcome.unplayable.push((recording.name.clone(), error.to_string())),
        }
    }
    outcome
}

/// The number of cores of this machine.
pub fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The recordings by the work that they are, most first: then no worker ends long after the others.
fn by_work(recordings: &[Recording]) -> Vec<usize> {
    let work = |at: &usize| {
        let length =
            |recording: &Recording| recording.messages.iter().map(|message| message.get().len()).sum::<usize>();
        recordings.get(*at).map_or(0, |recording| length(recording) * recording.turns.len())
    };
    let mut order: Vec<usize> = (0..recordings.len()).collect();
    order.sort_by_cached_key(|at| std::cmp::Reverse(work(at)));
    order
}

fn take<'r>(next: &AtomicUsize, order: &[usize], recordings: &'r [Recording]) -> Option<(usize, &'r Recording)> {
    let at = *order.get(next.fetch_add(1, Ordering::Relaxed))?;
    recordings.get(at).map(|recording| (at, recording))
}

fn one(
    recording: &Recording,
    policies: &[Arc<dyn Policy>],
    models: &Models,
) -> Result<(Vec<Score>, BTreeMap<String, String>), Unplayable> {
    with_known(recording, models, |known| {
        let score = |policy: &Arc<dyn Policy>| Ok(Score::of(known, &play(known, policy.clone())?));
        Ok((policies.iter().map(score).collect::<Result<_, Unplayable>>()?, stand_ins(known)))
    })
}

/// Runs `with` on the data of a recording that no policy affects.
pub fn with_known<T>(recording: &Recording, models: &Models, with: impl FnOnce(&RecordingFacts<'_>) -> T) -> T {
    let script = Script::of(recording);
    let (needs, results) = (needs(recording), results(recording));
    with(&RecordingFacts { script: &script, needs: &needs, results: &results, models, cache_losses: &[] })
}

/// The unlisted models of a recording, and their substitutes.
fn stand_ins(known: &RecordingFacts<'_>) -> BTreeMap<String, String> {
    let recording = known.script.recording;
    let strange = |turn| Some((recording.model_of(turn).to_owned(), known.charge(turn).stand_in()?.to_owned()));
    (0..recording.turns.len()).filter_map(strange).collect()
}

/// Whether a request is certainly larger than its model's window. A request that the provider counted was accepted.
fn is_beyond_window(known: &RecordingFacts<'_>) -> bool {
    let mut turns = known.script.recording.turns.iter().enumerate().filter(|(_, turn)| turn.usage.is_none());
    let is_beyond = |turn, window: u64| known.script.size(turn) > window as f64 * SURELY;
    turns.any(|(turn, _)| known.charge(turn).window().is_some_and(|window| is_beyond(turn, window)))
}
