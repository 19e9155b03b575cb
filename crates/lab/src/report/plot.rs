//! Bars drawn as SVG, one a conversation.

use super::html::escaped;
use std::fmt::Write;

const WIDTH: f64 = 1000.0;
/// From the middle up, and from there down.
const HALF: f64 = 100.0;
/// What is left free for words.
const EDGE: f64 = 14.0;
/// Longer bars are cut off.
const MOST: f64 = 1.0;

/// What is drawn of one conversation: what it is called, and a share.
pub type Bar<'b> = (&'b str, f64);

/// What became more or less, from the best to the worst: up is more.
pub fn changes(page: &mut String, title: &str, bars: &[Bar<'_>]) {
    let most = bars.iter().map(|(_, change)| change.abs()).fold(0.1, f64::max).min(MOST);
    draw(page, title, bars, most, true);
}

/// Shares of a whole.
pub fn shares(page: &mut String, title: &str, bars: &[Bar<'_>]) {
    let most = bars.iter().map(|(_, share)| *share).fold(0.01, f64::max).min(MOST);
    draw(page, title, bars, most, false);
}

fn draw(page: &mut String, title: &str, bars: &[Bar<'_>], most: f64, both_ways: bool) {
    let mut bars = bars.to_vec();
    bars.sort_by(|one, other| one.1.total_cmp(&other.1));
    let step = WIDTH / bars.len().max(1) as f64;
    let height = if both_ways { HALF * 2.0 } else { HALF + 2.0 };
    let _ = write!(
        page,
        "<h3>{}</h3>\n<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\"><line x1=\"0\" x2=\"{WIDTH}\" y1=\"{HALF}\" y2=\"{HALF}\" stroke=\"currentColor\" opacity=\".4\"/>",
        escaped(title),
        escaped(title)
    );
    for (at, (conversation, share)) in bars.iter().enumerate() {
        let high = (share.clamp(-most, most) / most * (HALF - EDGE)).abs();
        let (y, class) = if *share > 0.0 { (HALF - high, "worse") } else { (HALF, "better") };
        let (x, wide) = (at as f64 * step, (step - 2.0).max(1.0));
        let sign = if both_ways { format!("{:+.1} %", share * 100.0) } else { format!("{:.1} %", share * 100.0) };
        let _ = write!(
            page,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\"><title>{} {sign}</title></rect>",
            escaped(conversation)
        );
        if share.abs() > most {
            cut_off(page, x + wide / 2.0, *share);
        }
    }
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let plus = if both_ways { "+" } else { "" };
    let _ = write!(page, "<text x=\"4\" y=\"11\">{plus}{}</text>", percent(most));
    if both_ways {
        let _ = write!(page, "<text x=\"4\" y=\"{}\">−{}</text>", height - 4.0, percent(most));
    }
    page.push_str("</svg>\n");
}

/// A bar that ends in a point is longer than it is drawn; how long it is stands beside it.
fn cut_off(page: &mut String, middle: f64, share: f64) {
    let (tip, foot) = if share > 0.0 { (2.0, EDGE - 1.0) } else { (HALF * 2.0 - 2.0, HALF * 2.0 - EDGE + 1.0) };
    let words = format!("{:+.0} %", share * 100.0);
    let _ = write!(
        page,
        "<path class=\"cut\" d=\"M{:.1} {foot}L{middle:.1} {tip}L{:.1} {foot}Z\"/>",
        middle - 6.0,
        middle + 6.0
    );
    // It stands on the side where there is room.
    let (x, anchor) = if middle > WIDTH / 2.0 { (middle - 8.0, "end") } else { (middle + 8.0, "start") };
    let _ = write!(page, "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{words}</text>", foot.max(11.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_that_is_cut_off_says_how_long_it_is() {
        let mut page = String::new();
        changes(&mut page, "cost", &[("a", -0.2), ("b", 3.61)]);
        assert!(page.contains("class=\"cut\"") && page.contains(">+361 %</text>"), "{page}");
        let mut usual = String::new();
        changes(&mut usual, "cost", &[("a", -0.2), ("b", 0.4)]);
        assert!(!usual.contains("class=\"cut\"") && usual.contains(">+40 %</text>"), "{usual}");
    }

    #[test]
    fn shares_have_no_side_below_nothing() {
        let mut page = String::new();
        shares(&mut page, "harm", &[("a", 0.0), ("b", 0.05)]);
        assert!(page.contains("b 5.0 %") && !page.contains('−'), "{page}");
    }
}
