//! Runs the automatic editor when a request arrives: its proposal becomes a commit.

use super::By;
use super::candidates::Candidates;
use super::facts::Places;
use super::fill::{FilledProposals, Filler};
use crate::compose::{Ground, Weights};
use crate::conversation::policy::AUTHOR;
use crate::conversation::{Conversation, account};
use crate::edit::{Files, notes, on_top, summary};
use crate::ports::{About, Automatic, Batch};
use crate::{Engine, Refusal, log, record};
use ctx_api::timeline::Figures;
use ctx_core::edit::effect::{Effect, NewResult};
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, CommitId};
use ctx_core::fast_map::FastSet;
use ctx_core::message::{Message, Role};
use ctx_core::policy::{Look, Mode, PlaceFinder, Texts, Trims};
use ctx_core::{ErrorCode, SlotId};
use ctx_models::{CacheRules, Rates};
use ctx_store::Step;
use std::cell::RefCell;

/// Named as in the documentation and in the status.
const EXCEPTION: &str = "limit exception: this costs more than the account allows";

/// The code of a refusal because the content to clear could not be filed.
const UNKEPT: ErrorCode = ErrorCode::NotWritten;

/// The moment of a request's arrival.
pub struct Moment<'m> {
    pub at: u64,
    /// Until when the provider's cache may have held content of the conversation, for any model.
    pub warm_until: u64,
    /// Messages that were never sent before.
    pub new: &'m FastSet<SlotId>,
}

/// The proposed commit, and the message that will be changed next; outer `None`: no sent content changes.
pub type WantedCommit = (Commit, Option<Option<SlotId>>);

impl Conversation {
    /// Indexes the words of the newest request.
    pub fn remember(&mut self) {
        self.own_prefixes();
        let count = self.composing.chain.digests().len();
        if let Some(body) = self.newest.last.body.as_ref().filter(|_| self.newest.last.aligned == count) {
            let messages: Vec<&Message> = self.messages.tree.path().map(|slot| &slot.message).collect();
            self.policy.text_index.meet(self.composing.chain.digests(), body, &messages);
        }
    }
}

impl Engine {
    /// Lets the editor inspect a conversation in the state of a request, and applies its proposal, stored with the
    /// request.
    pub fn act(&self, conversation: &mut Conversation, editor: &dyn Automatic, moment: &Moment<'_>, step: &mut Step) {
        if !self.watches(conversation, editor, moment.at) {
            return;
        }
        conversation.remember();
        let settings = editor.settings(&about(conversation, moment.at), &conversation.policy.text_index.skills());
        let by = By { editor, settings: &settings, by_hand: None };
        let made = self.wanted(conversation, &by, moment, step);
        if settings.mode != Mode::On {
            match made {
                Ok(Some((commit, _))) if settings.mode == Mode::Ask => self.ask_for(conversation, commit, step),
                Ok(Some((commit, _))) => self.only_note(conversation, &commit, step),
                Ok(None) | Err(_) => {}
            }
            return;
        }
        match made {
            Ok(None) => {}
            Ok(Some((commit, next))) => {
                editor.done(&about(conversation, moment.at), Ok(&commit));
                self.tell_done(conversation, &commit, &by, step);
                step.records.push(record(conversation.id(), commit.at, log::COMMIT, &commit, Vec::new()));
                conversation.progress.asked = Some(commit.id);
                conversation.history.push(commit);
                conversation.policy.next = next.unwrap_or(conversation.policy.next);
                conversation.composing.weight = None;
                step.notes.extend(notes(conversation));
                step.durable = true;
            }
            // Failed writes were already reported, once.
            Err(refusal) if [ErrorCode::NothingToDo, UNKEPT].contains(&refusal.code) => {}
            Err(refusal) => {
                tracing::warn!(conversation = %conversation.id(), message = %refusal.message, "an automatic edit is refused");
                editor.done(&about(conversation, moment.at), Err(&refusal));
            }
        }
    }

    /// Whether the editor watches a conversation: its requests are held from now on. Independent of skills, so nothing
    /// of the conversation needs to be read.
    pub fn watches(&self, conversation: &mut Conversation, editor: &dyn Automatic, at: u64) -> bool {
        let settings = editor.settings(&about(conversation, at), &[]);
        let is_wanted = settings.mode != Mode::Off;
        conversation.policy.text_index.use_form(settings.rules.stub);
        conversation.policy.automated = is_wanted;
        is_wanted
    }

    fn wanted(
        &self,
        conversation: &mut Conversation,
        by: &By<'_>,
        moment: &Moment<'_>,
        step: &mut Step,
    ) -> Result<Option<WantedCommit>, Refusal> {
        let (near, made) = self.would_make(conversation, by, moment);
        self.tell_near(conversation, near, moment.at, step);
        made
    }

    /// The distance to the limit, and the proposed commit.
    pub fn would_make(
        &self,
        conversation: &Conversation,
        by: &By<'_>,
        moment: &Moment<'_>,
    ) -> (Figures, Result<Option<WantedCommit>, Refusal>) {
        let ground = Ground::of(conversation, false);
        let view = conversation.next_view(&ground);
        let (source, weights) = (ground.source(), Weights::of(conversation));
        let scale = |estimate: f64| conversation.tokens(estimate);
        let desk = conversation.desk(&view, &source, &weights, &scale, 0);
        let seen = Candidates::of(conversation, &desk, moment.new);
        // An edit that is free for one model is not free for another whose cache is still warm.
        let is_elsewhere =
            conversation.usage.account.is_cached_elsewhere(conversation.newest.envelope.model.as_deref(), moment.at);
        let cold = conversation.cache.answer.is_some() && moment.at >= moment.warm_until && !is_elsewhere;
        let words = |call: &str| seen.words(conversation, &view, call);
        let held = || seen.held(conversation, &self.rules_of(conversation), moment.at);
        let mut look = self.look_of(conversation, &seen, (Texts(Some(&words)), cold));
        conversation.assume_made(&mut look, by.settings.mode);
        look.held = PlaceFinder(Some(&held));
        look.budget = (by.settings.mode == Mode::On).then(|| match is_elsewhere {
            true => f64::NEG_INFINITY,
            false => self.budget(conversation, seen.tokens),
        });
        let mut about = about(conversation, moment.at);
        let before = conversation.cache.answer.as_ref().map_or(0, |cached| cached.usage.prompt()) + about.cleared;
        let fresh = seen.items.iter().filter(|item| item.fresh).count() as u64;
        let tool_uses = seen.items.len() as u64;
        about.provider_first =
            self.provider_goes_first(&about, (before, seen.tokens), (tool_uses.saturating_sub(fresh), tool_uses));
        let limit = by.editor.limit(&about, by.settings, look.window);
        let tokens = seen.tokens.saturating_sub(conversation.provider.summed_up + about.cleared);
        let figures = Figures { tokens, window: look.window, percent: limit.percent, limit: limit.tokens };
        let places = Places::of(conversation, &seen, &view);
        let facts = |call: &str| places.fact(call);
        let proposed = by.editor.propose(&about, &look, (by.settings, &facts), by.by_hand.is_some());
        if proposed.is_empty() {
            return (figures, Ok(None));
        }
        let is_near = look.tokens >= limit.tokens + about.cleared;
        let exception = is_near && by.by_hand.is_none() && look.exceeds_account(&proposed);
        // Only then is anything written to the ledger.
        if by.settings.mode == Mode::On {
            about.batch = seen.batch(conversation, &proposed, &look);
        }
        let hindrance = RefCell::default();
        let filler =
            Filler { by, facts: &facts, about: &about, conversation, desk: &desk, look: &look, seen: &seen, hindrance };
        let mut filled = filler.fill(proposed, &view);
        if filled.operations.is_empty() {
            return (figures, filled.hindrance.take().map_or(Ok(None), |why| Err(unkept(&why))));
        }
        let id = self.commit_id(conversation, moment.at);
        let (results, saved) = seen.changed(&desk, &filled.texts);
        let effects = match self.effects_of(conversation, &ground, id, results, &filled) {
            Ok(effects) => effects,
            Err(refusal) => return (figures, Err(refusal)),
        };
        let weight = match filled.inputs.is_empty() && filled.others.is_empty() {
            true => seen.estimate - saved,
            false => {
                let mut after = ground.lay(on_top(conversation, id, &effects));
                after.repair(conversation.still_left_out());
                ground.weigh(&after, &conversation.newest.envelope)
            }
        };
        let saved = seen.tokens.saturating_sub(scale(weight));
        let saved = saved.saturating_sub(noted_already(conversation, by.settings.mode, &filled));
        let frames = seen.frames(filled.texts.keys()).into_iter().map(|at| view.frames[at].id.to_string());
        let frames: Vec<String> = frames.collect();
        // Content that is only noted or proposed counts as done on both sides.
        let sent = look.tokens.saturating_sub(about.cleared);
        let tokens = (sent, sent.saturating_sub(saved));
        let mut told: Vec<&str> = filled.reasons.iter().flatten().map(String::as_str).collect();
        told.dedup();
        told.extend(exception.then_some(EXCEPTION));
        let next = filled.next(&desk, &seen, conversation.policy.next.is_some());
        let commit = Commit {
            id,
            parent: conversation.history.head(),
            at: moment.at,
            author: AUTHOR.to_owned(),
            note: Some(told.join("; ")),
            summary: summary(&filled.operations, &frames, tokens),
            reasons: filled.reasons,
            change: Change::Edit { operations: filled.operations, effects },
            tokens_before: tokens.0,
            tokens_after: tokens.1,
            unattended: false,
            exception,
            kept: Vec::new(),
        };
        (figures, Ok(Some((commit, next))))
    }

    /// All results at once, then the others, each on top of the previous ones.
    fn effects_of(
        &self,
        conversation: &Conversation,
        ground: &Ground<'_>,
        id: CommitId,
        results: Vec<NewResult>,
        filled: &FilledProposals,
    ) -> Result<Vec<Effect>, Refusal> {
        let mut effects = Vec::new();
        if !results.is_empty() {
            effects.push(Effect::Results { results, summarized: true });
        }
        effects.extend(filled.inputs.iter().cloned());
        for operation in &filled.others {
            let mut files = Files::default();
            match self.resolved(conversation, ground, (id, &effects), operation, false, &mut files) {
                Err(refusal) if refusal.code == ErrorCode::NothingToDo => {}
                resolved => effects.extend(resolved?),
            }
        }
        match effects.is_empty() {
            true => Err(ctx_core::edit::Refusal::nothing("This content is already cleared.").into()),
            false => Ok(effects),
        }
    }

    /// The cache rules of a conversation's model.
    pub fn rules_of(&self, conversation: &Conversation) -> CacheRules {
        self.models.rules(conversation.newest.envelope.model.as_deref(), conversation.wire().cache_rules())
    }

    /// The price in input tokens that an edit may have.
    pub fn budget(&self, conversation: &Conversation, prompt: u64) -> f64 {
        let price = account::price(&self.models, conversation.newest.envelope.model.as_deref(), prompt);
        conversation.usage.account.balance(&self.models).allows() * 1e6 / price.input.max(f64::MIN_POSITIVE)
    }

    pub fn look_of<'t>(
        &self,
        conversation: &Conversation,
        seen: &Candidates,
        (texts, cold): (Texts<'t>, bool),
    ) -> Look<'t> {
        let model = conversation.newest.envelope.model.as_deref();
        let price = model.and_then(|model| self.models.price(model, seen.tokens));
        Look {
            items: seen.items.clone(),
            tokens: seen.tokens.saturating_sub(conversation.provider.summed_up),
            window: self.window_of(conversation),
            steps: conversation.messages.tree.path().filter(|slot| slot.message.role == Role::Assistant).count(),
            cold,
            rates: match price {
                Some((price, _)) => price.rates(conversation.lifetime()).relative(),
                None => Rates::from(&self.models.cache_rules(model)),
            },
            thinking: seen.thinking.clone(),
            held: PlaceFinder::default(),
            budget: None,
            texts,
            trims: Trims::default(),
        }
    }
}

/// Tokens already noted as trimmed from these results, so that they are not counted twice.
fn noted_already(conversation: &Conversation, mode: Mode, filled: &FilledProposals) -> u64 {
    match mode {
        Mode::Observe => filled.texts.keys().map(|call| conversation.policy.noted.trimmed(call)).sum(),
        Mode::On | Mode::Ask | Mode::Off => 0,
    }
}

fn unkept(why: &str) -> Refusal {
    Refusal::new(
        ErrorCode::NotWritten,
        format!("Nothing was cleared: {why}."),
        "Fix this, then try again: ctx clears nothing without a copy.",
    )
}

pub fn about(conversation: &Conversation, at: u64) -> About<'_> {
    About {
        conversation: conversation.id(),
        model: conversation.newest.envelope.model.as_deref(),
        folder: conversation.folder(),
        tools: conversation.newest.envelope.tools.as_deref(),
        agent: conversation.opened().agent.as_deref(),
        request: conversation.progress.requests,
        at,
        cleared: conversation.provider.cleared,
        provider_first: false,
        batch: Batch::default(),
    }
}
