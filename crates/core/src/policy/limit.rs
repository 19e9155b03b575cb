//! Near the model's limit, clears regardless of cost: results in the order of their targets, then long tool inputs,
//! then the names in stubs.

use super::choose::Plan;
use super::eligible::{Eligibility, is_dense, saved};
use super::settings::Mode;
use super::stub::{BARE, without_names};
use super::{Action, Look, Proposal};

/// The smallest cut that cannot reach its target, as a part of the window. Each cut makes the provider read again what
/// is behind it: a smaller one waits for more.
const SMALLEST: u64 = 50;

/// Clears everything clearable that is not in the plan.
pub(super) fn all(eligible: &Eligibility<'_, '_>, plan: &Plan) -> Vec<Proposal> {
    let mut without_end = u64::MAX;
    results_and_inputs(eligible, plan, &mut without_end)
}

/// Clears, in addition to the plan, until `target` tokens are left.
pub(super) fn down_to(target: u64, eligible: &Eligibility<'_, '_>, plan: &Plan) -> Vec<Proposal> {
    let look = &eligible.look;
    // Fresh results are only trimmed, which saves little.
    let planned = look.items.iter().filter(|item| plan.has_result(item) && !item.fresh);
    let planned: u64 = planned.map(|item| item.tokens.saturating_sub(item.left)).sum();
    let tokens = look.tokens.saturating_sub(planned);
    let before = tokens.saturating_sub(target);
    let mut excess = before;
    let mut proposals = results_and_inputs(eligible, plan, &mut excess);
    if eligible.settings.mode == Mode::On {
        proposals.extend(names(look, &mut excess));
    }
    let saved = before - excess;
    let fits_again = tokens > look.window && tokens - saved <= look.window;
    let is_free = look.cold || planned > 0;
    match excess == 0 || is_free || fits_again || saved >= look.window / SMALLEST {
        true => proposals,
        false => Vec::new(),
    }
}

/// Results, then tool inputs, until no tokens are in excess.
fn results_and_inputs(eligible: &Eligibility<'_, '_>, plan: &Plan, excess: &mut u64) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    for (target, item) in eligible.results() {
        if *excess == 0 {
            break;
        }
        if plan.has_result(item) || eligible.is_held(item) {
            continue;
        }
        *excess = excess.saturating_sub(saved(item));
        let reason = target.reason();
        match is_dense(item) {
            true => proposals.push(Proposal { what: Action::Bare { call: item.call.to_string() }, reason }),
            false => proposals.extend(Proposal::shorten([item], &reason)),
        }
    }
    for (target, item, saved) in eligible.inputs() {
        if *excess == 0 {
            break;
        }
        if !plan.has_input(item) {
            *excess = excess.saturating_sub(saved);
            proposals.push(Proposal::short_input(item, &format!("{}: its input", target.reason())));
        }
    }
    proposals
}

/// The names in stubs, oldest first. Otherwise they would eventually fill the window, and until then every request
/// would be cut again.
fn names(look: &Look<'_>, excess: &mut u64) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    for item in look.items.iter().filter(|item| item.cleared && !item.pinned && item.tokens > 2 * BARE) {
        if *excess == 0 {
            break;
        }
        if let Some(text) = look.text(&item.call).and_then(|text| without_names(&text)) {
            *excess = excess.saturating_sub(item.tokens.saturating_sub(BARE));
            proposals.push(Proposal::instead(item, text, "the limit is near: the names in it are removed too"));
        }
    }
    proposals
}
