//! Summaries of ended phases: the content that a summary replaces.

use crate::Engine;
use crate::automatic::candidates::Candidates;
use crate::compose::{Ground, Weights};
use crate::conversation::{Conversation, account};
use crate::log::{HelperUse, PhaseSummary};
use ctx_api::edit::{EditRequest, When};
use ctx_core::SlotId;
use ctx_core::edit::Operation;
use ctx_core::edit::address::Address;
use ctx_core::edit::fold::{Frame, View};
use ctx_core::edit::layout::{Group, Layout, layout};
use ctx_core::fast_map::FastSet;
use ctx_core::policy::{Call, Mode, Phase, Settings};

/// The author of these edits.
pub const AUTHOR: &str = "helper";
/// Less content, in tokens, needs no summary.
const LEAST: u64 = 3_000;

impl Engine {
    /// Whether the account of a conversation allows this price of a helper.
    pub fn allows_help(&self, conversation: &Conversation, used: &HelperUse) -> bool {
        account::helper_price(&self.models, used) <= conversation.usage.account.balance(&self.models).allows()
    }

    /// The summaries that wait for the account, and that it now allows.
    pub fn due_summaries(&self, conversation: &Conversation) -> Vec<PhaseSummary> {
        let is_due = |summary: &&PhaseSummary| {
            summary.waits_for.as_ref().is_some_and(|price| self.allows_help(conversation, price))
        };
        conversation.policy.summaries.iter().filter(is_due).cloned().collect()
    }

    /// The edit that replaces an ended phase with a summary, which is still to be written. None if the settings leave the
    /// phase alone, or little of it may go.
    pub fn phase_summary(
        &self,
        conversation: &Conversation,
        summary: &PhaseSummary,
        settings: &Settings,
    ) -> Option<EditRequest> {
        let phase = summary.phase.as_str();
        let when = match settings.mode {
            Mode::On => When::Cold,
            Mode::Ask => When::Accepted,
            Mode::Observe | Mode::Off => return None,
        };
        let path: Vec<SlotId> = conversation.messages.tree.path().map(|slot| slot.id).collect();
        let is_it = |one: &&Phase| one.name == phase && one.ended.is_some_and(|moment| moment.at == summary.ended);
        let ended = conversation.policy.phases.all().iter().rev().find(is_it);
        let ended = ended.filter(|_| settings.clears_after(phase))?;
        let messages = ended.messages(&path)?;

        let ground = Ground::of(conversation, false);
        let view = conversation.next_view(&ground);
        let (source, weights) = (ground.source(), Weights::of(conversation));
        let scale = |estimate: f64| conversation.tokens(estimate);
        let desk = conversation.desk(&view, &source, &weights, &scale, 0);
        let seen = Candidates::of(conversation, &desk, &FastSet::default());
        let preserved = preserved(conversation, &seen, &view, settings);
        let stays = |message: usize| !messages.contains(&message) || preserved.contains(&message);
        let newest = view.frames.len().saturating_sub(1);
        let frames = view.frames.iter().enumerate().filter(|(_, frame)| !frame.pinned);
        let ids: Vec<String> = frames
            .flat_map(|(at, frame)| replaceable(frame, &layout(&view, frame, source.messages), at == newest, &stays))
            .map(|address| address.to_string())
            .collect();
        let targets = desk.named(&ids).ok().filter(|targets| !targets.is_empty())?;
        if scale(targets.iter().map(|target| target.weight).sum()) < LEAST {
            return None;
        }
        Some(EditRequest {
            operations: vec![Operation::Compact { ids, select: Default::default(), text: None }],
            author: AUTHOR.to_owned(),
            note: Some(format!("a summary of the phase {phase}")),
            expect: None,
            dry_run: false,
            when,
        })
    }
}

/// The messages with results that the settings preserve.
fn preserved(conversation: &Conversation, seen: &Candidates, view: &View<'_>, settings: &Settings) -> FastSet<usize> {
    let is_preserved = |call: &str, tool: &str| {
        let (path, command) = conversation.policy.text_index.call(call);
        let words = seen.words(conversation, view, call);
        let text = words.as_ref().map(|words| words.text.as_str());
        settings.excludes(tool) || settings.preserves(&Call { tool, path, command, text }).is_some()
    };
    let items = seen.items.iter().filter(|item| is_preserved(&item.call, &item.tool));
    items.filter_map(|item| seen.message(&item.call)).collect()
}

/// The removable part of a frame: all of it, or the steps without a message that stays. The newest frame keeps its last
/// step, which the next request is about.
fn replaceable(frame: &Frame, layout: &Layout, is_newest: bool, stays: &dyn Fn(usize) -> bool) -> Vec<Address> {
    let goes = |group: &Group| !group.source.is_some_and(stays);
    if layout.is_gone() {
        return Vec::new();
    }
    if !is_newest && layout.groups.iter().all(goes) {
        return vec![Address::Frame(frame.id.clone())];
    }
    let last = if is_newest { layout.steps.saturating_sub(1) } else { layout.steps };
    let goes = |step: &usize| layout.groups.iter().filter(|group| group.step == *step).all(goes);
    let steps: Vec<usize> = (1..=last).filter(goes).collect();
    let runs = steps.chunk_by(|one, next| one + 1 == *next).filter_map(|run| Some((*run.first()?, *run.last()?)));
    runs.map(|(from, to)| Address::Steps { frame: frame.id.clone(), from, to }).collect()
}
