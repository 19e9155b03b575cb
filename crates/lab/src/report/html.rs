//! A self-contained page: the table, and bars for the outcome of each conversation.

use super::{Group, LONG, Summary, plot};
use crate::run::{Outcome, Score};
use ctx_core::format::count;
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#1c2024;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}h3{font-size:.95rem;margin:1rem 0 .2rem;font-weight:500}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{text-align:right;padding:.25rem .6rem;border-bottom:1px solid #e3e6ea;font-variant-numeric:tabular-nums;white-space:nowrap}
th:first-child,td:first-child{text-align:left}.good{color:#18794e}.bad{color:#b42318}.faint{color:#60646c}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem .8rem;font-size:.9rem}dt{font-weight:500}dd{margin:0}
svg{width:100%;height:auto}text{font:11px system-ui,sans-serif;fill:currentColor}.better{fill:#18794e}.worse{fill:#b42318}
@media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#16181c}th,td{border-color:#2c3036}.good{color:#5bd1a0}.bad{color:#ff8a7a}.faint{color:#9ba1a8}.better{fill:#5bd1a0}.worse{fill:#ff8a7a}}";

/// The columns with their explanations.
const COLUMNS: [(&str, &str); 9] = [
    ("tokens", "all tokens of all requests"),
    ("peak", "the largest request"),
    (
        "cost",
        "dollars: input, cache, answers, and what had to be read again because it was gone; ≈ where another model stands in",
    ),
    ("change", "of the cost, against the first policy"),
    ("likely", "where the change lies for the middle 90 % of a thousand drawings of as many projects"),
    ("worst", "the change of the conversation that fared worst"),
    ("from cache", "the share of the input that was read from the cache"),
    ("events", "how often the policy changed something that had been sent before"),
    ("harm", "the share of steps that relied on something that was not to be seen any more"),
];

/// `remarks` are caveats about the figures.
pub fn html(outcome: &Outcome, groups: &[Group], remarks: &[String]) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Policies compared</title><style>{STYLE}</style>\n<h1>Policies compared</h1>\n"
    );
    for group in groups {
        let first = group.policies.first();
        let conversations = first.map_or(0, |policy| policy.conversations);
        let steps = count(first.map_or(0, |policy| policy.steps) as u64);
        let name = match group.name {
            "long" => format!("long, {} tokens and more", count(LONG)),
            other => other.to_owned(),
        };
        let plural = if conversations == 1 { "" } else { "s" };
        let _ = writeln!(page, "<h2>{name}: {conversations} conversation{plural}, {steps} steps</h2>");
        page.push_str("<div class=\"wide\"><table><tr><th>policy");
        COLUMNS.iter().for_each(|(name, about)| page.push_str(&format!("<th title=\"{about}\">{name}")));
        page.push_str("</tr>\n");
        group.policies.iter().for_each(|policy| row(&mut page, policy));
        page.push_str("</table></div>\n");
    }
    for remark in remarks {
        let _ = writeln!(page, "<p class=\"faint\">{}</p>", escaped(remark));
    }
    let names: Vec<&str> =
        groups.first().map(|group| group.policies.iter().map(|one| one.policy.as_str()).collect()).unwrap_or_default();
    let first = outcome.scores.first().map(Vec::as_slice).unwrap_or_default();
    for (scores, name) in outcome.scores.iter().zip(&names).skip(1) {
        let _ = writeln!(page, "<h2>{}</h2>", escaped(name));
        let against = format!("against {}", names.first().copied().unwrap_or_default());
        let cost = changes(scores, first, Score::cost);
        plot::changes(&mut page, &format!("cost of each conversation {against}"), &cost);
        let tokens = changes(scores, first, |score| score.cumulative_tokens as f64);
        plot::changes(&mut page, &format!("tokens of each conversation {against}"), &tokens);
        let harm = |score: &Score| score.harmed as f64 / score.steps.max(1) as f64;
        let harm: Vec<plot::Bar> = scores.iter().map(|own| (own.conversation.as_str(), harm(own))).collect();
        plot::shares(&mut page, "harm in each conversation: the share of its steps", &harm);
    }
    page.push_str("<h2>What is what</h2>\n<dl class=\"faint\">");
    COLUMNS.iter().for_each(|(name, about)| page.push_str(&format!("<dt>{name}<dd>{about}")));
    page.push_str("</dl>\n<p class=\"faint\">One bar is one conversation; its name and figure show under the pointer. A bar that ends in a point is longer than it is drawn.</p>\n");
    page
}

/// Each conversation compared with the first policy.
fn changes<'s>(scores: &'s [Score], first: &[Score], of: impl Fn(&Score) -> f64) -> Vec<plot::Bar<'s>> {
    let pairs = scores.iter().zip(first).filter(|(_, first)| of(first) > 0.0);
    pairs.map(|(own, first)| (own.conversation.as_str(), of(own) / of(first) - 1.0)).collect()
}

fn row(page: &mut String, policy: &Summary) {
    let class = if policy.change < 0.0 {
        "good"
    } else if policy.change > 0.0 {
        "bad"
    } else {
        "faint"
    };
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let likely = policy.change_range.map(|[from, to]| format!("{} … {}", percent(from), percent(to)));
    let _ = writeln!(
        page,
        "<tr><td title=\"{}\">{}<td>{}<td>{}<td>{}${:.2}<td class=\"{class}\">{}<td class=\"faint\">{}<td>{}<td>{:.1} %<td>{}<td>{:.2} %</tr>",
        escaped(&policy.about),
        escaped(&policy.policy),
        count(policy.cumulative_tokens),
        count(policy.peak_tokens),
        if policy.stand_in_conversations > 0 { "≈" } else { "" },
        policy.cost,
        percent(policy.change),
        likely.unwrap_or_default(),
        percent(policy.worst),
        policy.cache_read_share * 100.0,
        count(policy.clear_events as u64),
        policy.harm * 100.0
    );
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::groups;
    use crate::run::Score;

    #[test]
    fn names_cannot_write_into_the_page() {
        let score = |cost| Score { conversation: "<script>".into(), input_cost: cost, ..Score::default() };
        let outcome = Outcome { scores: vec![vec![score(2.0)], vec![score(1.0)]], ..Outcome::default() };
        let names = ["none", "a<b"].map(|name| (name.to_owned(), "\"x\"".to_owned()));
        let page = html(&outcome, &groups(&outcome, &names), &["1 < 2".into()]);
        assert!(page.contains("all: 1 conversation, 0 steps") && !page.contains("≈$"), "{page}");
        assert!(
            !page.contains("<script>")
                && page.contains("a&lt;b")
                && page.contains("-50.0 %")
                && page.contains("1 &lt; 2")
        );
    }
    #[test]
    fn figures_are_grouped_explained_and_marked() {
        let score = |tokens| Score {
            cumulative_tokens: tokens,
            input_cost: 1.0,
            stand_in: vec!["x".into()],
            ..Score::default()
        };
        let outcome = Outcome { scores: vec![vec![score(1_234_567), score(5)]], ..Outcome::default() };
        let page = html(&outcome, &groups(&outcome, &[("none".into(), String::new())]), &[]);
        assert!(page.contains("<td>1,234,572<") && page.contains("<td>≈$2.00<"), "{page}");
        assert!(COLUMNS.iter().all(|(name, about)| page.contains(&format!("<dt>{name}<dd>{about}"))), "{page}");
    }
}
