//! The same error rates in the formats of other clients, over their recorded conversations: replayed turn by turn, and
//! under what these clients do to a history.

#[path = "formats/client.rs"]
mod client;
#[path = "formats/recording.rs"]
mod recording;
#[path = "formats/respell.rs"]
mod respell;

use crate::behaviour::Behaviour::{self, *};
use crate::random::Random;
use crate::render::{Rendered, Truth};
use crate::tally::Tally;
use crate::watch::{Expect, Watch};
use client::Client;
use ctx_core::{Verdict, WireId};
use recording::{Recording, recordings};

/// The formats with recordings, and the client that was recorded.
const RECORDED: [(WireId, &str); 3] =
    [(WireId::OpenaiChat, "opencode"), (WireId::OpenaiResponses, "codex"), (WireId::Gemini, "gemini")];

/// How often each behaviour comes, out of the sum.
const MIX: [(Behaviour, usize); 21] = [
    (Turn, 40),
    (Retry, 4),
    (Restart, 4),
    (RestartWithLoss, 2),
    (SideRequest, 4),
    (Rewind, 5),
    (RewindAndSaySame, 3),
    (RewindAndReturn, 4),
    (Return, 3),
    (Compaction, 4),
    (CompactionWithoutTail, 3),
    (CompactionInLoop, 2),
    (Fork, 2),
    (ModelSwitch, 4),
    (ThinkingStripped, 3),
    (ResultsCleared, 4),
    (RemindersChanged, 3),
    (Vanish, 3),
    (InterruptKeepsPartial, 3),
    (Elsewhere, 3),
    (WindowSlides, 1),
];

impl Recording {
    /// Sends what was sent: all that stood before each reply.
    fn replay(&self, watch: &mut Watch) {
        for end in (1..self.elements.len()).filter(|at| self.is_request_end(*at)) {
            let truth = |identity| Truth { identity, either: false, injected: false };
            let bytes = self.body(self.elements[..end].iter());
            let sent = Rendered { bytes, truth: (0..end as u64).map(truth).collect() };
            watch.turn(&sent, Behaviour::Turn, Expect::Plain);
        }
    }
}

fn any(random: &mut Random) -> Behaviour {
    random.weighted(&MIX)
}

/// What the clients of a format do, from one seed on.
fn converse(recording: &Recording, seed: u64, tally: &mut Tally) {
    let mut random = Random::new(seed);
    let script: Vec<Behaviour> = (0..30).map(|_| any(&mut random)).collect();
    let mut client = Client::new(recording, random);
    let mut watch = Watch::on(recording.format, format!("{} seed {seed}", recording.name), tally);
    watch.traces = std::env::var_os("CTX_SEED").is_some();
    client.act(Turn, &mut watch);
    script.into_iter().for_each(|behaviour| client.act(behaviour, &mut watch));
    watch.restart();
}

fn survive(format: WireId) {
    let (_, client) = RECORDED.into_iter().find(|(recorded, _)| *recorded == format).expect("it is recorded");
    let recordings = recordings(format, client);
    let mut tally = Tally::default();
    for seed in crate::seeds(60, 2_000) {
        if let Some(recording) = recordings.get(seed as usize % recordings.len().max(1)) {
            converse(recording, seed, &mut tally);
        }
    }
    println!("{}, what its clients do", format.name());
    tally.assert_at_most(crate::LEAKS, crate::SWALLOWS);
}

#[test]
fn recorded_conversations_of_every_format_replayed_turn_by_turn_lose_nothing_and_take_nothing() {
    for (format, client) in RECORDED {
        let mut tally = Tally::default();
        for recording in recordings(format, client) {
            let mut watch = Watch::on(format, recording.name.clone(), &mut tally);
            recording.replay(&mut watch);
            watch.restart();
        }
        println!("{}, turn by turn", format.name());
        tally.assert_at_most(0.0, 0.0);
    }
}

#[test]
fn what_clients_of_chat_completions_do_stays_within_the_same_rates() {
    survive(WireId::OpenaiChat);
}

#[test]
fn what_clients_of_the_responses_api_do_stays_within_the_same_rates() {
    survive(WireId::OpenaiResponses);
}

#[test]
fn what_clients_of_gemini_do_stays_within_the_same_rates() {
    survive(WireId::Gemini);
}

/// Compactions that people's Codex made: the history before, and the one that it went on with.
#[test]
fn the_humans_words_that_codex_kept_in_front_of_its_summary_are_the_same_messages() {
    let windows = recordings(WireId::OpenaiResponses, "codex");
    let (mut tally, mut kept) = (Tally::default(), 0);
    let numbered =
        |name: &str| name.rsplit_once("-w").map(|(name, number)| (name.to_owned(), number.parse::<u32>().ok()));
    for after in &windows {
        let Some((name, Some(number))) = numbered(&after.name) else { continue };
        let is_before = |one: &&Recording| numbered(&one.name) == Some((name.clone(), number.checked_sub(1)));
        let Some(before) = windows.iter().find(is_before) else { continue };
        let mut watch = Watch::on(WireId::OpenaiResponses, after.name.clone(), &mut tally);
        before.replay(&mut watch);
        watch.compacts = true;
        let Some(end) = (1..after.elements.len()).find(|at| after.is_request_end(*at)) else { continue };
        let new = |at: usize| {
            let is_note = recording::is_note(&after.elements[at]) || after.elements[at]["role"] == "developer";
            Truth { identity: 1_000_000 + at as u64, either: is_note, injected: is_note }
        };
        let mut truth: Vec<Truth> = (0..end).map(new).collect();
        let prompts = |one: &Recording, end: usize| -> Vec<usize> {
            (0..end).rev().filter(|at| recording::is_prompt(&one.elements[*at])).collect()
        };
        // One went on without a summary, with the first words alone.
        if !after.elements[..end].iter().any(|element| element["type"] == "compaction") {
            continue;
        }
        let old = prompts(before, before.elements.len());
        let same = |(now, old): &(usize, usize)| {
            recording::words(&after.elements[*now]) == recording::words(&before.elements[*old])
        };
        for (now, old) in prompts(after, end).into_iter().zip(old).take_while(same) {
            truth[now] = Truth { identity: old as u64, either: false, injected: false };
            kept += 1;
        }
        let sent = Rendered { bytes: after.body(after.elements[..end].iter()), truth };
        watch.turn(&sent, Behaviour::Compaction, Expect::Verdict(Verdict::Compaction));
    }
    println!("{kept} messages were kept");
    tally.assert_at_most(0.0, 0.0);
    assert!(windows.is_empty() || kept >= 10, "{kept}");
}
