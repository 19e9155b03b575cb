//! The size of the context, and the content that the automatic editor could clear.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::context::{ClearableView, ContextView, Standing};
use ctx_core::edit::history::CommitId;
use ctx_engine::Refusal;
use ctx_engine::automatic::Now;
use ctx_engine::compose::{Ground, Weights};
use ctx_engine::conversation::policy::AUTHOR;

impl Parts {
    pub(crate) fn context(&self, name: &str) -> Result<ContextView, Refusal> {
        let shared = self.conversation(name)?;
        let mut conversation = lock(&shared);
        conversation.remember();
        let ground = Ground::of(&conversation, true);
        let (view, repaired) = self.engine.lay_at(&conversation, &ground, "HEAD")?;
        let (source, weights) = (ground.source(), Weights::of(&conversation));
        let scale = |estimate: f64| conversation.tokens(estimate);
        let desk = conversation.desk(&view, &source, &weights, &scale, 0);
        let editor = self.automatic.get();
        let standing =
            self.engine.standing(&conversation, &desk, &Now { at: now(), editor: editor.as_deref(), is_cold: false });
        let own = scale(ground.weigh(&ground.lay(Vec::new()), &conversation.newest.envelope));
        let is_ours = |id: CommitId| conversation.history.get(id).is_some_and(|commit| commit.author == AUTHOR);
        let (ours, others): (Vec<_>, Vec<_>) =
            conversation.effects(conversation.history.head()).into_iter().partition(|(id, _)| is_ours(id.commit));
        // What else is smaller, such as thinking that the provider would not accept, is nobody's edit.
        let without_ours = match ours.is_empty() {
            true => standing.tokens,
            false => scale(ground.weigh(&ground.lay(others), &conversation.newest.envelope)),
        };
        let saved = own.saturating_sub(standing.tokens);
        let proposals = conversation.waiting.iter().filter(|waiting| waiting.edit.author == AUTHOR);
        let tokens = standing.tokens.saturating_sub(standing.cleared);
        Ok(ContextView {
            conversation: conversation.id().to_owned(),
            tokens,
            calibrated: conversation.usage.calibration.is_calibrated(),
            window: standing.window,
            percent: tokens * 100 / standing.window.max(1),
            threshold_percent: standing.limit.percent,
            status: Standing::of(tokens, standing.limit.tokens, standing.window),
            mode: standing.mode,
            provider_edits: standing.provider_edits,
            preserved: standing.tally.preserved.min(tokens),
            clearable: standing
                .tally
                .clearable
                .into_iter()
                .map(|(target, tokens)| ClearableView { target, tokens })
                .collect(),
            saved,
            saved_automatically: without_ours.saturating_sub(standing.tokens).min(saved),
            left_out: standing.cleared,
            noted: standing.noted,
            account: standing.account,
            proposals: proposals
                .filter(|waiting| waiting.state == ctx_engine::conversation::waiting::State::Waiting)
                .count() as u64,
            hindrances: standing.hindrances,
            project_settings: standing.project_settings,
            phases: conversation.policy.phases.open().map(|phase| phase.name.clone()).collect(),
            cache: self.engine.cached(&conversation, &ground, (&view, &repaired), now()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_near_from_the_threshold_on_and_passed_at_the_window() {
        let of = |tokens| Standing::of(tokens, 160_000, 200_000).in_words();
        assert_eq!(
            [of(159_999), of(160_000), of(199_999), of(200_000)],
            ["NORMAL", "NEAR LIMIT", "NEAR LIMIT", "OVER"]
        );
    }
}
