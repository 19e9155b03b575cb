//! Summaries by a helper model in place of stubs. They are simulated: their length and their cost are those of real
//! ones, and their text has the most frequent names of the content.

use ctx_core::edit::Operation;
use ctx_core::policy::stub::top_names;
use ctx_core::policy::{Action, Auto, Item, Look, Policy, PossibleCut, Proposal, Settings};
use ctx_models::tokens::USUAL;

pub const NAME: &str = "summaries";
/// The beginning of a summary.
pub const OPENING: &str = "[Summary of earlier tool results:";
/// The tokens of a summary.
const LENGTH: f64 = 1_500.0;
/// Names in a summary. The rest of it is prose.
const NAMES: usize = 120;
/// Less content, in tokens, is not worth a summary.
const LEAST: u64 = 10_000;
/// An output token costs as much as so many of input.
const OUTPUT: f64 = 5.0;
const PROSE: &str = "then this was done and it turned out well; ";

/// The automatic editor, with one summary for each batch of results in place of their stubs.
pub struct Summaries;

impl Policy for Summaries {
    fn name(&self) -> &str {
        NAME
    }

    fn about(&self) -> &str {
        "`auto` with a summary of 1,500 tokens for each batch of old results, written by the same model at its list price"
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        in_place_of_stubs(Auto::default().propose(look), look)
    }

    fn editor(&self, settings: Settings) -> Option<Settings> {
        Some(settings)
    }
}

/// The proposals with one summary in place of all stubs: the first result becomes the summary, the others go. The stubs
/// stay if the account does not allow the price of the summary in addition to that of the edit.
pub fn in_place_of_stubs(proposed: Vec<Proposal>, look: &Look) -> Vec<Proposal> {
    let stub_of = |proposal: &Proposal| match &proposal.what {
        Action::Operation(Operation::SummarizeResults { select, text: None, .. }) => select.calls.first().cloned(),
        _ => None,
    };
    let calls: Vec<String> = proposed.iter().filter_map(stub_of).collect();
    let items: Vec<&Item> = look.items.iter().filter(|item| calls.iter().any(|call| **call == *item.call)).collect();
    let tokens: u64 = items.iter().map(|item| item.tokens).sum();
    let is_due = tokens >= LEAST && allows(look, &items, tokens);
    let Some((first, rest)) = items.split_first().filter(|_| is_due) else { return proposed };
    let texts: Vec<String> = items.iter().filter_map(|item| look.words(&item.call)).map(|words| words.text).collect();
    let reason = "a summary of old results";
    let mut proposals: Vec<Proposal> = proposed.into_iter().filter(|one| stub_of(one).is_none()).collect();
    proposals.push(Proposal::instead(first, summary(&texts.join("\n")), reason));
    let bare =
        |item: &&Item| Proposal { what: Action::Bare { call: item.call.to_string() }, reason: reason.to_owned() };
    proposals.extend(rest.iter().map(bare));
    proposals
}

/// Whether the account allows a summary of these results together with the edit.
fn allows(look: &Look, items: &[&Item], tokens: u64) -> bool {
    let cuts: Vec<PossibleCut> = items.iter().map(|item| PossibleCut::of(item)).collect();
    let edit = look.prices(&cuts).first().map_or(0.0, |price| price.break_even.once);
    look.budget.is_none_or(|budget| edit + tokens as f64 + OUTPUT * LENGTH <= budget)
}

fn summary(text: &str) -> String {
    let mut summary = format!("{OPENING} {} ", top_names(text, NAMES, &|_: &str| false).join(" "));
    let length = (LENGTH * USUAL.chars_per_token) as usize;
    while summary.len() < length {
        summary.push_str(PROSE);
    }
    summary.push(']');
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_core::policy::{Texts, Words};

    #[test]
    fn a_batch_of_results_has_one_summary_with_the_names_of_all() {
        let item = |call: &str| Item { call: call.into(), tokens: 8_000, left: 100, ..Item::default() };
        let text = |call: &str| Some(Words::from(format!("found name_of_{call} here")));
        let look = Look { items: vec![item("a"), item("b"), item("c")], texts: Texts(Some(&text)), ..Look::default() };
        let stubs = Proposal::shorten(&look.items[..2], "old");
        let proposed = in_place_of_stubs(stubs.clone(), &look);
        let [first, second] = &proposed[..] else { panic!("two: {proposed:?}") };
        let Action::Operation(Operation::SummarizeResults { text: Some(summary), .. }) = &first.what else {
            panic!("{first:?}")
        };
        assert!(summary.starts_with(OPENING) && summary.contains("name_of_a") && summary.contains("name_of_b"));
        assert!(!summary.contains("name_of_c") && (4_000..6_000).contains(&summary.len()), "{}", summary.len());
        assert_eq!(second.what, Action::Bare { call: "b".into() });
        assert_eq!(in_place_of_stubs(stubs[..1].to_vec(), &look), stubs[..1], "8,000 tokens are not worth one");
        let within = |budget: f64| {
            let look = Look { budget: Some(budget), ..look.clone() };
            in_place_of_stubs(stubs.clone(), &look) == proposed
        };
        assert!(within(16_000.0 + 7_500.0) && !within(23_000.0), "the account allows its price, or the stubs stay");
    }
}
