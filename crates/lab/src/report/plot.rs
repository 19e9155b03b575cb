//! Bars as SVG, one per conversation.

use super::html::escaped;
use std::fmt::Write;

const WIDTH: f64 = 1000.0;
/// The length of the longest bar.
const LONGEST: f64 = 90.0;
/// The space for labels.
const EDGE: f64 = 14.0;
/// Longer bars are cut off.
const MOST: f64 = 1.0;

/// The data of one bar: a name and a share.
pub type Bar<'b> = (&'b str, f64);

/// Changes from the best to the worst: up is more.
pub fn changes(page: &mut String, title: &str, bars: &[Bar<'_>]) {
    let most = bars.iter().map(|(_, change)| change.abs()).fold(0.1, f64::max);
    draw(page, title, bars, most.min(MOST), "+");
}

/// Shares of a whole.
pub fn shares(page: &mut String, title: &str, bars: &[Bar<'_>]) {
    let most = bars.iter().map(|(_, share)| *share).fold(0.01, f64::max);
    draw(page, title, bars, most.min(MOST), "");
}

fn draw(page: &mut String, title: &str, bars: &[Bar<'_>], most: f64, plus: &str) {
    let mut bars = bars.to_vec();
    bars.sort_by(|one, other| one.1.total_cmp(&other.1));
    let high = |share: f64| share.abs().min(most) / most * LONGEST;
    let lowest = bars.first().map_or(0.0, |bar| bar.1.min(0.0));
    let highest = bars.last().map_or(0.0, |bar| bar.1.max(0.0));
    // Only sides with bars are drawn.
    let zero = if highest > 0.0 { EDGE + high(highest) } else { 1.0 };
    let height = zero + if lowest < 0.0 { high(lowest) + EDGE } else { 1.0 };
    let title = escaped(title);
    let _ = write!(
        page,
        "<h3>{title}</h3>\n<svg viewBox=\"0 0 {WIDTH} {height:.1}\" role=\"img\" aria-label=\"{title}\">\
         <line x1=\"0\" x2=\"{WIDTH}\" y1=\"{zero:.1}\" y2=\"{zero:.1}\" stroke=\"currentColor\" opacity=\".4\"/>"
    );
    let percent = |share: f64, digits: usize| {
        let sign = if share < 0.0 { "−" } else { plus };
        format!("{sign}{:.digits$} %", share.abs() * 100.0)
    };
    let step = WIDTH / bars.len().max(1) as f64;
    let wide = (step - 2.0).max(1.0);
    for (at, (conversation, share)) in bars.iter().enumerate() {
        let (x, high) = (at as f64 * step, high(*share));
        let (y, class) = if *share > 0.0 { (zero - high, "worse") } else { (zero, "better") };
        let _ = write!(
            page,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\"><title>{} {}</title></rect>",
            escaped(conversation),
            percent(*share, 1)
        );
        if *share > most {
            let (left, middle, right) = (x, x + wide / 2.0, x + wide);
            let _ = write!(page, "<path class=\"worse\" d=\"M{left:.1} {EDGE}L{middle:.1} 2L{right:.1} {EDGE}Z\"/>");
        }
    }
    if highest > 0.0 {
        let cut = if highest > most { format!(", cut off at {}", percent(most, 0)) } else { String::new() };
        let _ = write!(page, "<text x=\"4\" y=\"11\">{}{cut}</text>", percent(highest, 0));
    }
    if lowest < 0.0 {
        let _ = write!(page, "<text x=\"4\" y=\"{:.1}\">{}</text>", height - 3.0, percent(lowest, 0));
    }
    page.push_str("</svg>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_that_is_cut_off_ends_in_a_point() {
        let mut page = String::new();
        changes(&mut page, "cost", &[("a", -0.2), ("b", 3.61)]);
        assert!(
            page.contains("<path") && page.contains(">+361 %, cut off at +100 %<") && page.contains(">−20 %<"),
            "{page}"
        );
        let mut usual = String::new();
        changes(&mut usual, "cost", &[("a", -0.2), ("b", 0.4)]);
        assert!(!usual.contains("<path") && usual.contains(">+40 %<"), "{usual}");
    }

    #[test]
    fn only_the_sides_on_which_something_stands_are_drawn() {
        let drawn = |bars: &[Bar<'_>]| {
            let mut page = String::new();
            changes(&mut page, "cost", bars);
            page
        };
        assert!(drawn(&[("a", -0.2), ("b", 0.0)]).contains("y1=\"1.0\""));
        let mut page = String::new();
        shares(&mut page, "harm", &[("a", 0.0), ("b", 0.05)]);
        assert!(page.contains("b 5.0 %") && page.contains(">5 %<") && !page.contains('−'), "{page}");
        assert!(!drawn(&[]).contains("<text"), "nothing to draw is no error");
    }
}
