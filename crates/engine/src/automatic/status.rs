//! The status of a conversation for people: its size, its limit, and the automatic editor's work.

use super::candidates::Candidates;
use super::facts::Places;
use super::run::about;
use crate::Engine;
use crate::conversation::Conversation;
use crate::ports::{Automatic, Limit, NoEditor};
use ctx_api::context::ProjectSettings;
use ctx_core::edit::resolve::Desk;
use ctx_core::fast_map::FastSet;
use ctx_core::policy::{Mode, Tally, Texts, Worth, tally, worth};

pub struct Standing {
    pub tokens: u64,
    /// Those of them that the provider clears.
    pub cleared: u64,
    pub window: u64,
    pub limit: Limit,
    pub mode: Mode,
    pub provider_edits: bool,
    pub tally: Tally,
    /// Tokens that would have been removed.
    pub noted: u64,
    /// The obstacles to the editor's work.
    pub hindrances: Vec<String>,
    pub project_settings: Option<ProjectSettings>,
}

/// The time at which a conversation is inspected, and its editor.
pub struct Now<'n> {
    pub at: u64,
    pub editor: Option<&'n dyn Automatic>,
    /// The provider's cache holds nothing of the conversation.
    pub is_cold: bool,
}

impl Engine {
    /// The content worth removing under the settings of a conversation, and the tokens of the whole request.
    pub fn worth_of(&self, conversation: &Conversation, desk: &Desk<'_>, now: &Now<'_>) -> (Worth, u64) {
        let by = now.editor.unwrap_or(&NoEditor);
        let settings = by.settings(&about(conversation, now.at), &conversation.policy.text_index.skills());
        let seen = Candidates::of(conversation, desk, &FastSet::default());
        let words = |call: &str| seen.words(conversation, desk.view, call);
        let look = self.look_of(conversation, &seen, (Texts(Some(&words)), now.is_cold));
        let places = Places::of(conversation, &seen, desk.view, desk.source.messages);
        (worth(&settings, &look, &|call| places.fact(call)), look.tokens)
    }

    pub fn standing(&self, conversation: &Conversation, desk: &Desk<'_>, now: &Now<'_>) -> Standing {
        let mode = |mode| if now.editor.is_some() { mode } else { Mode::Off };
        let by = now.editor.unwrap_or(&NoEditor);
        let about = about(conversation, now.at);
        let skills = conversation.policy.text_index.skills();
        let settings = by.settings(&about, &skills);
        let seen = Candidates::of(conversation, desk, &FastSet::default());
        let words = |call: &str| seen.words(conversation, desk.view, call);
        let look = self.look_of(conversation, &seen, (Texts(Some(&words)), false));
        let places = Places::of(conversation, &seen, desk.view, desk.source.messages);
        let limit = by.limit(&about, &settings, look.window);
        // The provider clears the oldest content, which would be first here, too.
        let mut tally = tally(&settings, &look, &|call| places.fact(call));
        let mut cleared = about.cleared;
        for (_, tokens) in &mut tally.clearable {
            let gone = cleared.min(*tokens);
            (*tokens, cleared) = (*tokens - gone, cleared - gone);
        }
        // With `Mode::On` there are no notes to report.
        let noted = match settings.mode {
            Mode::On => 0,
            _ => look.items.iter().map(|item| conversation.policy.noted.assume_made(&mut item.clone())).sum(),
        };
        Standing {
            tokens: seen.tokens,
            cleared: about.cleared + conversation.provider.summed_up,
            window: look.window,
            mode: mode(settings.mode),
            provider_edits: by.provider_edits(&about),
            tally,
            noted,
            hindrances: by.hindrances(&about, &skills),
            project_settings: by.project_settings(&about, &skills),
            limit,
        }
    }
}
