//! A page that needs nothing but itself: the table, and what each conversation saved drawn as bars.

use super::{Group, Summary};
use crate::run::Outcome;
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1c2024;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
th,td{text-align:right;padding:.25rem .6rem;border-bottom:1px solid #e3e6ea;font-variant-numeric:tabular-nums}
th:first-child,td:first-child{text-align:left}.good{color:#18794e}.bad{color:#b42318}.faint{color:#60646c}
svg{width:100%;height:auto}text{font:11px system-ui,sans-serif;fill:currentColor}
@media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#16181c}th,td{border-color:#2c3036}.good{color:#5bd1a0}.bad{color:#ff8a7a}.faint{color:#9ba1a8}}";

/// `remarks` are what a reader should know of the figures.
pub fn html(outcome: &Outcome, groups: &[Group], remarks: &[String]) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Policies compared</title><style>{STYLE}</style>\n<h1>Policies compared</h1>\n"
    );
    for group in groups {
        let count = group.policies.first().map_or(0, |policy| policy.conversations);
        let _ = writeln!(page, "<h2>{} conversations: {count}</h2>", group.name);
        page.push_str("<table><tr><th>policy<th>tokens<th>peak<th>cost<th>change<th>95 %<th>worst<th>cache read<th>events<th>harm</tr>\n");
        group.policies.iter().for_each(|policy| row(&mut page, policy));
        page.push_str("</table>\n");
    }
    let names: Vec<&str> =
        groups.first().map(|group| group.policies.iter().map(|one| one.policy.as_str()).collect()).unwrap_or_default();
    for (scores, name) in outcome.scores.iter().zip(&names).skip(1) {
        let bars: Vec<(&str, f64)> = scores
            .iter()
            .zip(outcome.scores.first().into_iter().flatten())
            .filter(|(_, first)| first.cost() > 0.0)
            .map(|(own, first)| (own.conversation.as_str(), own.cost() / first.cost() - 1.0))
            .collect();
        plot(&mut page, name, &bars);
    }
    for remark in remarks {
        let _ = writeln!(page, "<p class=\"faint\">{}</p>", escaped(remark));
    }
    page
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
    let _ = writeln!(
        page,
        "<tr><td title=\"{}\">{}<td>{}<td>{}<td>${:.2}<td class=\"{class}\">{}<td class=\"faint\">{} … {}<td>{}<td>{:.1} %<td>{}<td>{:.2} %</tr>",
        escaped(&policy.about),
        escaped(&policy.policy),
        policy.cumulative_tokens,
        policy.peak_tokens,
        policy.cost,
        percent(policy.change),
        percent(policy.change_range[0]),
        percent(policy.change_range[1]),
        percent(policy.worst),
        policy.cache_read_share * 100.0,
        policy.clear_events,
        policy.harm * 100.0
    );
}

/// One bar a conversation, from the best to the worst.
fn plot(page: &mut String, name: &str, bars: &[(&str, f64)]) {
    const WIDTH: f64 = 1000.0;
    const HALF: f64 = 100.0;
    let mut bars = bars.to_vec();
    bars.sort_by(|one, other| one.1.total_cmp(&other.1));
    let most = bars.iter().map(|(_, change)| change.abs()).fold(0.1, f64::max).min(1.0);
    let step = WIDTH / bars.len().max(1) as f64;
    let _ = write!(
        page,
        "<h2>{}: cost of each conversation against the first policy</h2>\n<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\"><line x1=\"0\" x2=\"{WIDTH}\" y1=\"{HALF}\" y2=\"{HALF}\" stroke=\"currentColor\" opacity=\".4\"/>",
        escaped(name),
        HALF * 2.0
    );
    for (at, (conversation, change)) in bars.iter().enumerate() {
        let high = (change.clamp(-most, most) / most * (HALF - 12.0)).abs();
        let (y, colour) = if *change > 0.0 { (HALF - high, "#b42318") } else { (HALF, "#18794e") };
        let _ = write!(
            page,
            "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{high:.1}\" fill=\"{colour}\"><title>{} {:+.1} %</title></rect>",
            at as f64 * step,
            (step - 2.0).max(1.0),
            escaped(conversation),
            change * 100.0
        );
    }
    let _ = writeln!(
        page,
        "<text x=\"4\" y=\"12\">{:+.0} %</text><text x=\"4\" y=\"{}\">−{:.0} %</text></svg>",
        most * 100.0,
        HALF * 2.0 - 4.0,
        most * 100.0
    );
}

fn escaped(text: &str) -> String {
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
        assert!(
            !page.contains("<script>")
                && page.contains("a&lt;b")
                && page.contains("-50.0 %")
                && page.contains("1 &lt; 2")
        );
    }
}
