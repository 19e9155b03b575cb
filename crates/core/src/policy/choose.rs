//! The decision of the automatic editor, from top to bottom: which results and tool inputs to clear before the next
//! request.
//!
//! Each reason to clear extends the plan of the previous ones: clearing pays ([`Auto`]), a phase has ended, the model's
//! limit is near ([`super::limit`]).

use super::eligible::{Eligibility, Facts, LEAST};
use super::limit;
use super::proposal::referred;
use super::settings::Settings;
use super::target::Target;
use super::{Action, Auto, Item, Look, Outlook, PossibleCut, Price, Proposal};
use std::collections::HashSet;
use std::sync::Arc;

/// The pressure to clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// Clear if it pays, or if the limit is near. The provider may edit too; `cleared`: tokens of results that it
    /// removed from the previous request; `provider_first`: it edits this request for the first time.
    Usual { provider_edits: bool, cleared: u64, provider_first: bool },
    /// Clear everything clearable.
    All,
}

/// The edits to make before the next request.
pub fn choose(settings: &Settings, look: &Look<'_>, facts: Facts<'_>, force: Force) -> Vec<Proposal> {
    let mut eligible = Eligibility::of(settings, look, facts);
    let mut plan = Plan::default();
    match force {
        Force::All => {
            plan.add(limit::all(&eligible, &plan));
        }
        Force::Usual { provider_edits, cleared, provider_first } => {
            let auto = Auto(settings.rules);
            plan.add_unprotected(auto.on_arrival(&eligible.look), &eligible);
            // A result that a new one only refers to has to stay.
            eligible.look.pin(&referred(&plan.proposals));
            // While the provider clears, it does the clearing that pays: another cut would only break its cache.
            if !provider_first && cleared == 0 {
                plan.add_unprotected(auto.shortened(&eligible.look), &eligible);
                plan.add(of_ended_phases(&eligible, &plan));
            }
            let look = &eligible.look;
            let percent = look.window / 100;
            if look.tokens >= percent * settings.threshold(provider_edits) + cleared && !provider_first {
                plan.add(limit::down_to(percent * settings.target(provider_edits), &eligible, &plan));
            }
        }
    }
    plan.proposals
}

/// The results whose clearing before the next request would pay, with reasons.
pub fn outlook(settings: &Settings, look: &Look<'_>, facts: Facts<'_>) -> Outlook {
    Auto(settings.rules).outlook(&Eligibility::of(settings, look, facts).look)
}

/// The proposals so far.
#[derive(Default)]
pub(super) struct Plan {
    proposals: Vec<Proposal>,
    /// The calls whose results they change.
    results: HashSet<String>,
    /// The calls whose inputs they shorten.
    inputs: HashSet<Arc<str>>,
}

impl Plan {
    fn add(&mut self, proposals: Vec<Proposal>) {
        for proposal in &proposals {
            self.results.extend(proposal.what.results().iter().cloned());
            if let Action::ShortInput { call } = &proposal.what {
                self.inputs.insert(call.clone());
            }
        }
        self.proposals.extend(proposals);
    }

    /// Adds proposals without results that are protected by their text, and without the inputs of their calls. Checked
    /// last, because it reads texts: of a few proposals, not of every candidate.
    fn add_unprotected(&mut self, mut proposals: Vec<Proposal>, eligible: &Eligibility<'_, '_>) {
        proposals.retain_mut(|proposal| proposal.what.retain(|call| !eligible.holds(call)));
        self.add(proposals);
    }

    /// Whether the plan changes this result.
    pub fn has_result(&self, item: &Item) -> bool {
        self.results.contains(&*item.call)
    }

    /// Whether the plan shortens the input of this result's call.
    pub fn has_input(&self, item: &Item) -> bool {
        self.inputs.contains(&item.call)
    }
}

/// Details of ended phases: clears them as soon as that pays off within the number of requests so far.
fn of_ended_phases(eligible: &Eligibility<'_, '_>, plan: &Plan) -> Vec<Proposal> {
    let look = &eligible.look;
    let is_left = |item: &&Item| {
        !item.fresh
            && item.saves() >= LEAST
            && !plan.has_result(item)
            && eligible.is_of_ended_phase(item)
            && !eligible.is_held(item)
    };
    let left: Vec<&Item> = look.whole().filter(is_left).collect();
    let cuts: Vec<PossibleCut> = left.iter().map(|item| PossibleCut::of(item)).collect();
    let is_due = |price: &&Price| price.pays_after().ceil() <= look.steps as f64 && look.affords(price);
    let prices = look.prices(&cuts);
    let Some(price) = prices.first().filter(is_due) else { return Vec::new() };
    Proposal::shorten(left, &format!("{}, {}", Target::CompletedPhaseDetails.reason(), price.forecast()))
}

#[cfg(test)]
mod tests;
