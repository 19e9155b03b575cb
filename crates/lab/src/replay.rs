//! Replays a recording: each request passes through the engine with the edits of a policy so far, and is charged by a
//! model of the provider's cache.

use crate::causes::{Causes, ChargedRequest, Ledger};
use crate::charge::Charge;
use crate::editor::{Editor, PolicyActions};
use crate::frames::{Row, rows, totals};
use crate::harm::{RecordedResult, Sight};
use crate::needs::{Kind, Need, Place};
use crate::policies::foresight::{self, Foresight};
use crate::policies::{Nothing, provider, summaries};
use crate::provider_clearing::{CLEARED, ClearingProvider};
use crate::request::{Prompt, Script, SeenMessages};
use ctx_clients::Hints;
use ctx_core::policy::Policy;
use ctx_core::{Key, tokens};
use ctx_engine::attribution::SeenRequest;
use ctx_engine::compose::OutgoingRequest;
use ctx_engine::log::HelperUse;
use ctx_engine::request::Ticket;
use ctx_engine::response::Timing;
use ctx_models::cache::{FIVE_MINUTES, PromptCache, Reading};
use ctx_models::{Models, Price, Rates};
use ctx_service::Service;
use ctx_store::MemoryStore;
use ctx_wire::answer::{Ending, Usage};
use ctx_wire::rope::Arriving;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Smaller differences may come from rounding.
const ROUNDING: u64 = 10;

/// The outcome of a recording under a policy.
#[derive(Debug, Clone, Default)]
pub struct PlayOutcome {
    pub name: String,
    pub turns: Vec<Turn>,
}

#[derive(Debug, Clone, Default)]
pub struct Turn {
    pub reading: Reading,
    /// In dollars: input, and output.
    pub input_cost: f64,
    pub output_cost: f64,
    /// The cost in dollars of re-reads that the policy forced.
    pub forced: f64,
    /// All of it by cause.
    pub causes: Causes,
    /// The actions of the policy before this request, with reasons.
    pub done: Vec<PolicyActions>,
    /// The engine's tokens of the request without and with the actions right before it, if requested and if there were
    /// any.
    pub totals: Option<[u64; 2]>,
    /// Part of it had been sent before.
    pub cleared: bool,
    /// The editor cleared near the limit of the window, beyond its account.
    pub exception: bool,
    /// The request frame by frame, if requested.
    pub frames: Vec<Row>,
    /// Content that the reply relied on and could not see.
    pub missed: Vec<(Kind, String)>,
    /// The tokens of that content, each block once.
    pub missed_tokens: f64,
    /// Commands and searches that the reply repeated without seeing the earlier result.
    pub repeated: Vec<String>,
    /// The tokens of those results, and the cost in dollars of fetching them again. The recording has these steps too,
    /// so the cost is part of the bill already.
    pub repeated_tokens: f64,
    pub repeated_cost: f64,
}

impl Turn {
    /// Tokens removed in addition by the actions: thinking cannot stay after a change.
    pub fn taken_along(&self) -> u64 {
        let own: u64 = self.done.iter().map(|told| told.tokens_less).sum();
        let along = self.totals.map_or(0, |[before, after]| before.saturating_sub(after).saturating_sub(own));
        // Each frame is rounded separately; a thinking block is larger than the error.
        if along < ROUNDING { 0 } else { along }
    }
}

/// Details to record beside the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    Nothing,
    /// The effect of each change on its request.
    Changes,
    /// The same, and the frames of one turn, counted from 0.
    Turn(usize),
}

/// The reason why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Unplayable {
    #[error("the engine cannot take a request: {0}")]
    Engine(#[from] ctx_engine::Problem),
    #[error("the engine cannot open a store in memory: {0}")]
    Store(#[from] ctx_store::StoreError),
    #[error("the engine cannot tell of its frames: {0}")]
    Frames(#[from] ctx_engine::Refusal),
    #[error("the engine does not recognise its own conversation")]
    Lost,
}

/// The data of a recording that no policy affects.
#[derive(Clone, Copy)]
pub struct RecordingFacts<'k> {
    pub script: &'k Script<'k>,
    pub needs: &'k [Need],
    pub results: &'k [RecordedResult],
    pub models: &'k Models,
    /// Turns before which the provider loses its cache, whatever lifetime it states.
    pub cache_losses: &'k [usize],
}

impl<'k> RecordingFacts<'k> {
    /// The model that a turn is charged as.
    pub(crate) fn charge(&self, turn: usize) -> Charge<'k> {
        Charge::of(self.models, self.script.recording.model_of(turn))
    }

    /// The prices of a turn with such a prompt, and the rates of that prompt.
    pub(crate) fn price(&self, turn: usize, prompt: f64) -> (Price, Rates) {
        let price = self.charge(turn).price(prompt);
        (price, price.rates(self.script.lifetime(turn)))
    }
}

pub fn play(known: &RecordingFacts<'_>, policy: Arc<dyn Policy>) -> Result<PlayOutcome, Unplayable> {
    play_watching(known, policy, Watch::Nothing)
}

/// The same, with details.
pub fn play_watching(
    known: &RecordingFacts<'_>,
    policy: Arc<dyn Policy>,
    watch: Watch,
) -> Result<PlayOutcome, Unplayable> {
    let is_early = match policy.name() {
        foresight::NAME => false,
        foresight::EARLY => true,
        _ => return play_as_is(known, policy, watch),
    };
    // Differs for each recording.
    let played = play_as_is(known, Arc::new(Foresight::of(known, is_early)), watch)?;
    let cost: f64 = played.turns.iter().map(|turn| turn.input_cost + turn.forced).sum();
    // With knowledge of the future, edits that do not pay are not made.
    match cost > unedited_cost(known) {
        true => play_as_is(known, Arc::new(Nothing), watch),
        false => Ok(played),
    }
}

/// The cost of all prompts as recorded. Without edits the engine sends what the client sent.
fn unedited_cost(known: &RecordingFacts<'_>) -> f64 {
    let script = known.script;
    let (mut cache, mut seen) = (PromptCache::new(usize::MAX), SeenMessages::default());
    let cost = |turn| {
        let charge = known.charge(turn);
        let (rules, lifetime) = (charge.cache_rules(), charge.lifetime(script.lifetime(turn)));
        let prompt = script.prompt(&script.request(turn), &mut seen)?;
        let reading = prompt.send(&mut cache, &rules, charge.cache, script.at(turn).max(0) as u64, lifetime);
        let (_, rates) = known.price(turn, reading.prompt());
        Some(rates.prompt(reading.input, reading.read, reading.written))
    };
    (0..script.recording.turns.len()).filter_map(cost).sum()
}

fn play_as_is(known: &RecordingFacts<'_>, policy: Arc<dyn Policy>, watch: Watch) -> Result<PlayOutcome, Unplayable> {
    let script = known.script;
    let service = Service::open(Arc::new(MemoryStore::new()))?.with_models(known.models.clone());
    let clearing = provider::clearing(policy.name()).and_then(Result::ok);
    let editor = Editor::new(policy);
    service.automate(Some(editor.clone()));
    let mut player = Player {
        known,
        service,
        cache: PromptCache::new(usize::MAX),
        seen: SeenMessages::default(),
        sight: Sight::new(known.results),
        editor,
        ledger: Ledger::default(),
        provider: clearing.map(|clearing| ClearingProvider::new(known, clearing)),
    };
    let mut needs = known.needs.iter().peekable();
    let mut turns = Vec::with_capacity(script.recording.turns.len());
    for turn in 0..script.recording.turns.len() {
        let mut played = player.turn(turn, watch)?;
        while needs.next_if(|need| need.turn < turn).is_some() {}
        let of_turn: Vec<&Need> = std::iter::from_fn(|| needs.next_if(|need| need.turn == turn)).collect();
        player.miss(turn, &of_turn, &mut played);
        turns.push(played);
    }
    Ok(PlayOutcome { name: script.recording.name.clone(), turns })
}

struct Player<'k> {
    known: &'k RecordingFacts<'k>,
    service: Service,
    cache: PromptCache<Key>,
    seen: SeenMessages,
    sight: Sight<'k>,
    editor: Arc<Editor>,
    ledger: Ledger<'k>,
    /// The provider, if it clears content itself.
    provider: Option<ClearingProvider<'k>>,
}

impl Player<'_> {
    fn turn(&mut self, turn: usize, watch: Watch) -> Result<Turn, Unplayable> {
        let script = self.known.script;
        let at = script.at(turn).max(0) as u64;
        let body = script.request(turn);
        let (ticket, sent) = self.send(&body, at)?;
        let mut done = self.editor.take();
        let before = done.before.as_deref();
        let frames = match watch == Watch::Turn(turn) {
            true => rows(&self.service, &ticket.conversation, before.unwrap_or("HEAD"))?,
            false => Vec::new(),
        };
        let totals = match before.filter(|_| watch != Watch::Nothing) {
            Some(before) => Some(totals(&self.service, &ticket.conversation, before)?),
            None => None,
        };
        let summary = self.summary(turn, &done.results);
        done.results.into_iter().for_each(|(call, text)| self.sight.replaced(&call, text));
        done.inputs.into_iter().for_each(|(call, words)| self.sight.asked(&call, words));
        let charge = self.known.charge(turn);
        let (rules, lifetime) = (charge.cache_rules(), charge.lifetime(script.lifetime(turn)));
        let mut prompt = script.prompt(&sent, &mut self.seen);
        if let Some(cleared) = prompt.as_mut().and_then(|prompt| self.cleared_by_provider(turn, prompt)) {
            done.cleared = true;
            done.told.push(cleared);
        }
        let new = prompt.as_ref().map_or(0.0, |prompt| prompt.tokens_from(script.sent_before(turn)));
        if self.known.cache_losses.contains(&turn) {
            self.cache = PromptCache::new(usize::MAX);
        }
        let reading = prompt.map(|prompt| prompt.send(&mut self.cache, &rules, charge.cache, at, lifetime));
        let reading = reading.unwrap_or_default();
        self.answer(&ticket, turn, &reading, at)?;
        let (price, rates) = self.known.price(turn, reading.prompt());
        let input_cost = rates.prompt(reading.input, reading.read, reading.written);
        let output_cost = price.answer(script.output(turn)) + self.paid(&ticket, turn, summary)?;
        let edited = done.cleared;
        let charged = ChargedRequest { reading, rates, new, cache: charge.cache, at, lifetime, edited };
        let causes = Causes { answers: output_cost, ..self.ledger.charge(&charged) };
        let (done, cleared, exception) = (done.told, done.cleared, done.exception);
        let turn = Turn { reading, input_cost, output_cost, causes, done, totals, cleared, frames, ..Turn::default() };
        Ok(Turn { exception, ..turn })
    }

    /// Lets the provider clear a prompt.
    fn cleared_by_provider(&mut self, turn: usize, prompt: &mut Prompt) -> Option<PolicyActions> {
        let cleared = self.provider.as_mut()?.clear(turn, prompt);
        if cleared.is_empty() {
            return None;
        }
        cleared.calls.iter().for_each(|call| self.sight.replaced(call, CLEARED.to_owned()));
        cleared.inputs.iter().for_each(|call| self.sight.asked(call, String::new()));
        let kinds =
            [(cleared.calls.len(), "results"), (cleared.inputs.len(), "inputs"), (cleared.thinking, "thinking blocks")];
        let kinds = kinds.into_iter().filter(|(count, _)| *count > 0);
        let kinds: Vec<String> = kinds.map(|(count, what)| format!("{count} {what}")).collect();
        let what = format!("the provider clears {}", kinds.join(", "));
        Some(PolicyActions { what, why: Vec::new(), tokens_less: cleared.tokens.round() as u64 })
    }

    /// The tokens of the summaries among these replacements of results: a model of the same price reads all of them
    /// uncached, and writes the summaries.
    fn summary(&self, turn: usize, results: &[(Arc<str>, String)]) -> Option<HelperUse> {
        let summaries = results.iter().filter(|(_, text)| text.starts_with(summaries::OPENING));
        let written: f64 = summaries.map(|(_, text)| tokens::estimate(text.chars().count() as u32, 0)).sum();
        let places = results.iter().filter_map(|(call, _)| self.sight.place(call));
        let read: f64 = places.map(|place| self.known.script.tokens(place)).sum();
        let model = self.known.script.recording.model_of(turn).to_owned();
        (written > 0.0).then(|| HelperUse { model, input: read.round() as u64, output: written.round() as u64 })
    }

    /// The cost of these summaries, which is in the account too.
    fn paid(&self, ticket: &Ticket, turn: usize, summary: Option<HelperUse>) -> Result<f64, Unplayable> {
        let Some(used) = summary else { return Ok(0.0) };
        let (price, rates) = self.known.price(turn, used.input as f64);
        let cost = rates.prompt(used.input as f64, 0.0, 0.0) + price.answer(used.output as f64);
        self.service.helped(&ticket.conversation, used)?;
        Ok(cost)
    }

    /// Sends a request through the engine; returns the composed one.
    fn send(&self, body: &[u8], at: u64) -> Result<(Ticket, Vec<u8>), Unplayable> {
        let session = &*self.known.script.recording.name;
        let hints = Hints::of_turn(session);
        let mut pieces = Arriving::alone();
        pieces.push(body);
        let mut outgoing: Option<OutgoingRequest> = None;
        let seen = SeenRequest {
            wire: self.known.script.recording.wire(),
            hints,
            pieces: pieces.finish(),
            at,
            counting: false,
        };
        let ticket = self.service.hold(seen, &mut |out| outgoing = out)?;
        let sent = outgoing.map_or_else(|| body.to_vec(), |outgoing| outgoing.bytes(body));
        ticket.map(|ticket| (ticket, sent)).ok_or(Unplayable::Lost)
    }

    /// The recorded reply, with the counts that the provider would have reported.
    fn answer(&self, ticket: &Ticket, turn: usize, reading: &Reading, at: u64) -> Result<(), Unplayable> {
        let script = self.known.script;
        let recording = script.recording;
        let messages = recording.messages.get(recording.answer(turn)).unwrap_or_default();
        let messages: Vec<&str> = messages.iter().map(|message| message.get()).collect();
        let tokens = |tokens: f64| tokens.round() as u64;
        let is_long = script.lifetime(turn) > FIVE_MINUTES;
        let (short, long) = if is_long { (0.0, reading.written) } else { (reading.written, 0.0) };
        let usage = Usage {
            input: tokens(reading.input),
            cache_read: tokens(reading.read),
            cache_write: tokens(reading.written),
            cache_write_5m: Some(tokens(short)),
            cache_write_1h: Some(tokens(long)),
            output: tokens(script.output(turn)),
            thinking: None,
        };
        let answer = recording.wire().recorded_answer(&messages, recording.model_of(turn), usage);
        let timing = Timing { at: at + 1, first_byte_ms: Some(1), total_ms: 1 };
        Ok(self.service.answered(ticket, Some(Ending::Complete), Some(answer), timing)?)
    }

    /// The needs of a turn that its request did not show, and what they cost.
    fn miss(&self, turn: usize, needs: &[&Need], played: &mut Turn) {
        const RESULT: f64 = 2000.0;
        let (mut missed, mut repeated) = (BTreeSet::new(), BTreeSet::new());
        for need in needs.iter().filter(|need| self.sight.misses(need)) {
            let source = self.smallest(need);
            match need.kind {
                Kind::Repeat => {
                    played.repeated.push(need.text.clone());
                    repeated.extend(source);
                }
                kind => {
                    played.missed.push((kind, need.text.clone()));
                    missed.extend(source);
                }
            }
        }
        let tokens = |places: BTreeSet<Place>| places.into_iter().map(|place| self.known.script.tokens(place)).sum();
        played.missed_tokens = tokens(missed);
        if !played.missed.is_empty() {
            played.forced = self.fetching(turn, played, RESULT);
            played.causes.rereads = played.forced;
        }
        if !played.repeated.is_empty() {
            played.repeated_tokens = tokens(repeated);
            played.repeated_cost = self.fetching(turn, played, played.repeated_tokens);
        }
    }

    /// The smallest block that had the content.
    fn smallest(&self, need: &Need) -> Option<Place> {
        let size = |place: &Place| self.known.script.tokens(*place);
        need.sources.iter().copied().min_by(|one, other| size(one).total_cmp(&size(other)))
    }

    /// The cost of fetching removed content again: one more request with the whole context, a short call, and the
    /// result.
    fn fetching(&self, turn: usize, played: &Turn, result: f64) -> f64 {
        const CALL: f64 = 100.0;
        let prompt = played.reading.prompt();
        let (price, rates) = self.known.price(turn, prompt + result);
        rates.prompt(0.0, prompt, result) + price.answer(CALL)
    }
}
