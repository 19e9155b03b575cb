//! Resolves the operations of a plan one by one, each on top of the previous ones.

pub mod risk;
pub mod stale;

use super::apply::within;
use crate::compose::compare::{Overview, overview};
use crate::compose::{Ground, RepairReport};
use crate::conversation::Conversation;
use crate::edit::files::Files;
use crate::{Engine, Refusal};
use ctx_api::edit::{EditRequest, RepairView};
use ctx_api::plan::{Plan, PlannedOperation};
use ctx_core::edit::CommitId;
use ctx_core::edit::effect::{Effect, EffectId};
use ctx_core::edit::fold::View;
use ctx_core::hint::{Argument, Command};
use ctx_core::{ErrorCode, hint};

/// The chosen operations as an edit request. Its note is the only place for reasons.
pub fn plan_request(plan: &Plan, head: Option<&str>) -> Result<EditRequest, Refusal> {
    let chosen = chosen(plan)?;
    let reasons = chosen
        .iter()
        .filter_map(|(_, planned)| Some(format!("{}: {}", planned.operation.name(), planned.reason.as_deref()?)));
    let notes: Vec<String> = plan.note.iter().cloned().chain(reasons).collect();
    Ok(EditRequest {
        operations: chosen.iter().map(|(_, planned)| planned.operation.clone()).collect(),
        author: plan.author.clone(),
        note: Some(notes.join("; ")).filter(|note| !note.is_empty()),
        expect: Some(head.unwrap_or("none").to_owned()),
        dry_run: false,
        when: plan.when,
    })
}

/// A conversation as it would be sent after some of the operations.
pub struct State<'e> {
    pub view: View<'e>,
    repaired: RepairReport,
    pub overview: Overview,
}

pub struct ResolvedOperation {
    pub number: usize,
    pub effects: Vec<Effect>,
    pub nothing: Option<String>,
}

impl Engine {
    /// Resolves each operation on top of the previous ones. One that does not fit is skipped and reported.
    pub fn resolve_each(
        &self,
        conversation: &Conversation,
        ground: &Ground<'_>,
        id: CommitId,
        chosen: &[(usize, &PlannedOperation)],
        files: &mut Files,
    ) -> (Vec<ResolvedOperation>, Vec<(usize, Refusal)>) {
        let (mut effects, mut resolved, mut misfits) = (Vec::new(), Vec::new(), Vec::new());
        for (number, planned) in chosen {
            let operation = &planned.operation;
            let (own, nothing) = match self.resolved(conversation, ground, (id, &effects), operation, true, files) {
                Ok(own) => (own, None),
                Err(refusal) if refusal.code == ErrorCode::NothingToDo => (Vec::new(), Some(refusal.message)),
                Err(refusal) => {
                    misfits.push((*number, within(refusal, *number, chosen.len(), operation)));
                    continue;
                }
            };
            effects.extend(own.iter().cloned());
            resolved.push(ResolvedOperation { number: *number, effects: own, nothing });
        }
        (resolved, misfits)
    }

    pub fn state<'e>(
        &self,
        conversation: &Conversation,
        ground: &Ground<'_>,
        effects: Vec<(EffectId, &'e Effect)>,
    ) -> State<'e> {
        let (view, repaired) = self.lay(conversation, ground, effects);
        let overview = overview(conversation, ground, &view);
        State { view, repaired, overview }
    }
}

/// The repairs that were not necessary before.
pub fn new_repairs(was: &State<'_>, is: &State<'_>) -> Vec<RepairView> {
    is.repaired.repairs.iter().filter(|repair| !was.repaired.repairs.contains(repair)).cloned().collect()
}

/// The chosen operations, with their numbers.
pub fn chosen(plan: &Plan) -> Result<Vec<(usize, &PlannedOperation)>, Refusal> {
    if plan.operations.is_empty() {
        return Err(Refusal::new(
            ErrorCode::NothingToDo,
            "The plan contains no operation.",
            hint![Command::Operations, " shows the operations."],
        ));
    }
    if let Some(number) = plan.only.iter().find(|number| !(1..=plan.operations.len()).contains(number)) {
        let message = format!("The plan has no operation {number}, only {}.", plan.operations.len());
        return Err(Refusal::new(ErrorCode::BadNumber, message, "Operations are counted from 1."));
    }
    let numbered = (1..).zip(&plan.operations);
    Ok(numbered.filter(|(number, _)| plan.only.is_empty() || plan.only.contains(number)).collect())
}

/// Why a plan cannot be applied, with all reasons.
pub fn misfit(mut misfits: Vec<(usize, Refusal)>, plan: &Plan) -> Refusal {
    let numbers: Vec<usize> = misfits.iter().map(|(number, _)| *number).collect();
    if misfits.len() == 1
        && let Some((_, refusal)) = misfits.pop()
    {
        return refusal;
    }
    let fits = |number: &usize| !numbers.contains(number) && (plan.only.is_empty() || plan.only.contains(number));
    let rest: Vec<String> = (1..=plan.operations.len()).filter(fits).map(|number| number.to_string()).collect();
    let told: Vec<String> = misfits.into_iter().map(|(_, refusal)| refusal.message).collect();
    let hint = match rest.as_slice() {
        [] => hint![Command::List, " shows the content. Nothing was changed."],
        rest => hint!["To apply the others: ", Argument::new("only").with(rest.join(",")), ". Nothing was changed."],
    };
    Refusal::new(
        ErrorCode::DoesNotFit,
        format!("{} operations are not possible:\n{}", told.len(), told.join("\n")),
        hint,
    )
}
