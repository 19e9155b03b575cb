//! How full the context is, and what of it the automatic editor could clear.

use super::{CacheView, Refusal};
use crate::automatic::{AUTHOR, ProjectSettings};
use crate::directory::lock;
use crate::edit::{Ground, Weights};
use crate::{Composer, now};
use ctx_core::edit::history::CommitId;
use ctx_core::policy::{Mode, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextView {
    pub conversation: String,
    /// Tokens of the next request, without results that the provider itself leaves out, and what the model takes.
    pub tokens: u64,
    /// The scale of the tokens was confirmed by the provider.
    pub calibrated: bool,
    pub window: u64,
    /// The one of the other.
    pub percent: u64,
    /// From this share on the limit is near.
    pub threshold_percent: u64,
    pub status: Standing,
    pub mode: Mode,
    /// The provider edits by itself, too.
    pub provider_edits: bool,
    /// Tokens of results that stay: pinned, preserved or recent.
    pub preserved: u64,
    /// What could go, in the order in which it would.
    pub clearable: Vec<ClearableView>,
    /// Tokens that all edits keep out of the next request, and those of them that the automatic editor took out.
    pub saved: u64,
    pub saved_automatically: u64,
    /// Tokens that the provider itself left out of the newest request; a summary of its own may stand for them.
    pub left_out: u64,
    /// What it would have taken out, had somebody let it.
    pub noted: u64,
    /// Proposals of it that wait for your approval.
    pub proposals: u64,
    /// What keeps it from doing what is wanted: a setting that is wrong, a file that cannot be written.
    pub hindrances: Vec<String>,
    /// Settings in the project's own files that are not in force: they wait for `ctx trust`, or no project can decide them.
    #[serde(default)]
    pub project_settings: Option<ProjectSettings>,
    /// Phases of the work that are open.
    pub phases: Vec<String>,
    pub cache: Option<CacheView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClearableView {
    pub target: Target,
    pub tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    Normal,
    NearLimit,
    Over,
}

impl Standing {
    fn of(tokens: u64, limit: u64, window: u64) -> Standing {
        match tokens {
            tokens if tokens >= window => Standing::Over,
            tokens if tokens >= limit => Standing::NearLimit,
            _ => Standing::Normal,
        }
    }

    /// As people read it.
    pub fn in_words(self) -> &'static str {
        match self {
            Standing::Normal => "NORMAL",
            Standing::NearLimit => "NEAR LIMIT",
            Standing::Over => "OVER",
        }
    }
}

impl Composer {
    pub fn context(&self, name: &str) -> Result<ContextView, Refusal> {
        let shared = self.conversation(name)?;
        let mut conversation = lock(&shared);
        conversation.remember();
        let ground = Ground::of(&conversation, true);
        let (view, repaired) = self.lay_at(&conversation, &ground, "HEAD")?;
        let (source, weights) = (ground.source(), Weights::of(&conversation));
        let scale = |estimate: f64| conversation.calibration.tokens(estimate);
        let desk = conversation.desk(&view, &source, &weights, &scale, 0);
        let standing = self.standing(&conversation, &desk);
        let own = scale(ground.weigh(&ground.lay(Vec::new()), &conversation.envelope));
        let is_ours = |id: CommitId| conversation.history.get(id).is_some_and(|commit| commit.author == AUTHOR);
        let mut others = conversation.effects(conversation.history.head());
        others.retain(|(id, _)| !is_ours(id.commit));
        let without_ours = scale(ground.weigh(&ground.lay(others), &conversation.envelope));
        let saved = own.saturating_sub(standing.tokens);
        let proposals = conversation.waiting.iter().filter(|waiting| waiting.wished.author == AUTHOR);
        let tokens = standing.tokens.saturating_sub(standing.cleared);
        Ok(ContextView {
            conversation: conversation.id.clone(),
            tokens,
            calibrated: conversation.calibration.is_calibrated(),
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
            proposals: proposals.filter(|waiting| waiting.state == crate::edit::wait::State::Waiting).count() as u64,
            hindrances: standing.hindrances,
            project_settings: standing.project_settings,
            phases: conversation.phases.open().map(|phase| phase.name.clone()).collect(),
            cache: self.cached(&conversation, &ground, (&view, &repaired), now()),
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
