//! The status of a conversation for people: its size, its limit, and the automatic editor's work.

use super::candidates::Candidates;
use super::facts::Places;
use super::run::about;
use crate::Engine;
use crate::conversation::Conversation;
use crate::conversation::account::{Balance, CREDIT};
use crate::ports::{Automatic, Limit, NoEditor};
use ctx_api::context::{AccountView, ProjectSettings};
use ctx_core::edit::resolve::Desk;
use ctx_core::fast_map::FastSet;
use ctx_core::format::count;
use ctx_core::policy::{Mode, Outlook, PlaceFinder, Price, Tally, Texts, Worth, outlook, tally, worth};

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
    /// The running account, if the editor edits.
    pub account: Option<AccountView>,
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
        let places = Places::of(conversation, &seen, desk.view);
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
        let held = || seen.held(conversation, &self.rules_of(conversation), now.at);
        let mut look = self.look_of(conversation, &seen, (Texts(Some(&words)), false));
        let places = Places::of(conversation, &seen, desk.view);
        let mut account = (mode(settings.mode) == Mode::On).then(|| {
            look.held = PlaceFinder(Some(&held));
            look.budget = Some(self.budget(conversation, seen.tokens));
            let balance = conversation.usage.account.balance(&self.models);
            let outlook = outlook(&settings, &look, &|call| places.fact(call));
            account_view(balance, in_words(outlook, look.budget))
        });
        let limit = by.limit(&about, &settings, look.window);
        // The provider clears the oldest content, which would be first here, too.
        let mut tally = tally(&settings, &look, &|call| places.fact(call));
        let is_clearable = tally.clearable.iter().any(|(_, tokens)| *tokens > 0);
        let forced_from = limit.tokens + about.cleared;
        if let Some(account) = account.as_mut().filter(|_| is_clearable && look.tokens >= forced_from / 4 * 3) {
            account.next.push_str(&near_limit(forced_from));
        }
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
            account,
            hindrances: by.hindrances(&about, &skills),
            project_settings: by.project_settings(&about, &skills),
            limit,
        }
    }
}

fn account_view(balance: Balance, next: String) -> AccountView {
    let Balance { spent, saved, exceptions, exceptions_cost, help } = balance;
    AccountView { spent, saved, credit: CREDIT * spent, bound: CREDIT, exceptions, exceptions_cost, help, next }
}

/// The editor's next step near the limit, where price does not count.
fn near_limit(forced_from: u64) -> String {
    format!("; from {} tokens on, it clears even beyond the account (limit exception)", count(forced_from))
}

/// The editor's next step while the cache is warm, with its reason.
fn in_words(outlook: Outlook, budget: Option<f64>) -> String {
    let edit = |price: &Price| format!("clearing {} tokens {}", count(price.removed), price.forecast());
    match outlook {
        Outlook::Nothing => "nothing is old enough to clear".to_owned(),
        Outlook::Acts(price) => format!("clears {} tokens: {}", count(price.removed), price.forecast()),
        Outlook::TooEarly(price) => format!("waits: {}, which is too late", edit(&price)),
        Outlook::TooDear(price) => format!(
            "waits: {}, but costs as much as {} input tokens, and the account allows {}",
            edit(&price),
            count(price.break_even.once.max(0.0).round() as u64),
            count(budget.unwrap_or(0.0).max(0.0).round() as u64)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_models::BreakEven;

    #[test]
    fn what_comes_next_is_told_with_its_reason() {
        let price = Price { break_even: BreakEven { once: 12_000.0, saves: 400.0 }, removed: 4_000 };
        let words = |outlook| in_words(outlook, Some(900.4));
        assert_eq!(words(Outlook::Acts(price)), "clears 4,000 tokens: pays off after 30 requests");
        assert_eq!(
            words(Outlook::TooEarly(price)),
            "waits: clearing 4,000 tokens pays off after 30 requests, which is too late"
        );
        assert_eq!(
            words(Outlook::TooDear(price)),
            "waits: clearing 4,000 tokens pays off after 30 requests, but costs as much as 12,000 input tokens, and \
             the account allows 900"
        );
    }
}
