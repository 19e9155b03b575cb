//! Previews a plan with its risks and its price, and applies it.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::edit::{EditRequest, EditResult};
use ctx_api::plan::{Plan, PlanView, PlannedOperation, PlannedView};
use ctx_core::edit::Operation;
use ctx_core::edit::effect::Effect;
use ctx_engine::Refusal;
use ctx_engine::compose::Ground;
use ctx_engine::compose::compare::Overview;
use ctx_engine::edit::apply::few_images;
use ctx_engine::edit::plan::{State, chosen, misfit, new_repairs, risk, stale};
use ctx_engine::edit::{Files, on_top, summary};

impl Parts {
    pub(crate) fn plan(&self, name: &str, plan: Plan) -> Result<PlanView, Refusal> {
        let chosen = chosen(&plan)?;
        let operations: Vec<Operation> = chosen.iter().map(|(_, planned)| planned.operation.clone()).collect();
        if !plan.apply {
            return self.look_at(name, &plan, &chosen, &operations);
        }
        // By its id: the active conversation may change meanwhile.
        let id = self.meant(name)?;
        let reasons: Vec<Option<String>> = chosen.iter().map(|(_, planned)| planned.reason.clone()).collect();
        let reasons = if reasons.iter().all(Option::is_none) { Vec::new() } else { reasons };
        let (author, note, expect) = (plan.author.clone(), plan.note.clone(), plan.expect.clone());
        let edit =
            EditRequest { operations: operations.clone(), author, note, expect, dry_run: false, when: plan.when };
        match self.apply_for(&id, edit, reasons) {
            Ok(applied) => self.made(self.noting_uploads(applied), &plan),
            // The preview explains more: the commits since then, and all misfits.
            Err(refusal) => Err(self.look_at(&id, &plan, &chosen, &operations).err().unwrap_or(refusal)),
        }
    }

    /// The view of an applied or deferred plan. The effects of its single operations are omitted.
    fn made(&self, applied: EditResult, plan: &Plan) -> Result<PlanView, Refusal> {
        let shared = self.stored(&applied.conversation)?;
        let conversation = lock(&shared);
        if applied.waiting.is_some() {
            return Ok(PlanView {
                head: conversation.history.head().map(|head| head.to_string()),
                note: plan.note.clone(),
                operations: Vec::new(),
                risk: None,
                thinking_lost: applied.preview.thinking_dropped,
                marks: 0,
                cost: applied.preview.cost(),
                applied,
            });
        }
        let commit = applied.commit.as_deref().and_then(|commit| conversation.history.find(commit).ok());
        let head = commit.and_then(|commit| conversation.history.get(commit)?.parent);
        let ground = Ground::of(&conversation, true);
        let lay = |head| self.engine.lay(&conversation, &ground, conversation.effects(head)).0;
        let thinking_lost = risk::Look::new(&conversation, &ground).lost(&lay(head), &lay(commit)).thinking();
        let explained = self.engine.explain_effects(&conversation, conversation.effects(commit))?;
        Ok(PlanView {
            head: head.map(|head| head.to_string()),
            note: plan.note.clone(),
            operations: Vec::new(),
            risk: None,
            thinking_lost,
            marks: explained.map_or(0, |explained| explained.marks),
            cost: applied.preview.cost(),
            applied,
        })
    }

    fn look_at(
        &self,
        name: &str,
        plan: &Plan,
        chosen: &[(usize, &PlannedOperation)],
        operations: &[Operation],
    ) -> Result<PlanView, Refusal> {
        let name = &self.meant(name)?;
        let mut files = Files::importing(self.gather(name, operations));
        let _one_at_a_time = self.editing.lock(name);
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let ground = Ground::of(&conversation, true);
        let at = now();
        let id = self.engine.commit_id(&conversation, at);
        let (resolved, misfits) = self.engine.resolve_each(&conversation, &ground, id, chosen, &mut files);
        stale::check(&conversation, &ground, plan.expect.as_deref(), chosen, &misfits)?;
        if !misfits.is_empty() {
            return Err(misfit(misfits, plan));
        }
        let effects: Vec<Effect> = resolved.iter().flat_map(|resolved| resolved.effects.clone()).collect();
        if effects.is_empty() {
            let said = resolved.into_iter().find_map(|resolved| resolved.nothing);
            return Err(ctx_core::edit::Refusal::nothing(said.unwrap_or_default()).into());
        }
        few_images(&conversation, id, &effects)?;

        let first = self.engine.state(&conversation, &ground, on_top(&conversation, id, &[]));
        let risks = risk::Look::new(&conversation, &ground);
        let scale = |weight: f64| conversation.tokens(weight);
        let mut views = Vec::new();
        let mut before: Option<State<'_>> = None;
        let mut end = 0;
        for (resolved, (_, planned)) in resolved.iter().zip(chosen) {
            let was = before.as_ref().unwrap_or(&first);
            end += resolved.effects.len();
            let is = match resolved.effects.is_empty() {
                true => None,
                false => {
                    let all = on_top(&conversation, id, effects.get(..end).unwrap_or_default());
                    Some(self.engine.state(&conversation, &ground, all))
                }
            };
            let after = is.as_ref().unwrap_or(was);
            let repairs = new_repairs(was, after);
            let nothing = Overview::is_same(&was.overview, &after.overview).then(|| {
                ctx_engine::edit::nothing::nothing(std::slice::from_ref(&planned.operation), &repairs).message
            });
            let lost = risks.lost(&was.view, &after.view);
            let risks = risks.risks(&planned.operation, &resolved.effects, (was, after), &lost, &repairs);
            views.push(PlannedView {
                number: resolved.number,
                operation: planned.operation.clone(),
                reason: planned.reason.clone(),
                frames: Overview::changed(&was.overview, &after.overview),
                tokens_before: scale(was.overview.weight),
                tokens_after: scale(after.overview.weight),
                thinking_lost: lost.thinking(),
                repairs,
                risk: risks.iter().map(|risk| risk.level).max().unwrap_or_default(),
                risks,
                nothing: resolved.nothing.clone().or(nothing),
            });
            before = is.or(before);
        }
        let last = before.as_ref().unwrap_or(&first);
        if Overview::is_same(&first.overview, &last.overview) {
            return Err(ctx_engine::edit::nothing::nothing(operations, &new_repairs(&first, last)).into());
        }
        let all = on_top(&conversation, id, &effects);
        let mut outcome =
            self.engine.weigh_up(&conversation, on_top(&conversation, id, &[]), all.clone(), Some((plan.when, at)))?;
        outcome.check(operations, id, &effects)?;
        let applied = &mut outcome.applied;
        applied.summary = summary(operations, &applied.frames, (applied.tokens_before, applied.tokens_after));
        applied.files.clone_from(&files.paths);
        applied.remarks.clone_from(&files.remarks);
        let applied = outcome.applied;
        let marks = self.engine.explain_effects(&conversation, all)?.map_or(0, |explained| explained.marks);
        let thinking_lost = risks.lost(&first.view, &last.view).thinking();
        Ok(PlanView {
            head: conversation.history.head().map(|head| head.to_string()),
            note: plan.note.clone(),
            risk: views.iter().map(|view| view.risk).max(),
            operations: views,
            thinking_lost,
            marks,
            cost: applied.preview.cost(),
            applied,
        })
    }
}
