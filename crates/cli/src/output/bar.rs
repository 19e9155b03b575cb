//! Bars that show shares.

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const FULL: &str = "█";
const WAS: &str = "░";

/// The current and the former amount, each as part of a bar of this many columns.
pub fn bar(now: u64, was: u64, most: u64, columns: usize) -> (String, String) {
    let eighths = |part: u64| match most {
        0 => 0,
        _ => (u128::from(part) * columns as u128 * 8 / u128::from(most)) as usize,
    };
    // A nonzero amount is always visible.
    let filled = if now > 0 { eighths(now).max(1) } else { 0 };
    let filled = filled.min(columns * 8);
    let solid = format!("{}{}", FULL.repeat(filled / 8), EIGHTHS.get(filled % 8).unwrap_or(&""));
    let gone = (eighths(was) / 8).min(columns).saturating_sub(filled.div_ceil(8));
    (solid, WAS.repeat(gone))
}

/// Amounts next to each other, scaled to the highest; those that do not fit are merged.
pub fn sparkline(amounts: &[f64], columns: usize) -> String {
    const LEVELS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let each = amounts.len().div_ceil(columns.max(1)).max(1);
    let sums: Vec<f64> = amounts.chunks(each).map(|some| some.iter().map(|amount| amount.max(0.0)).sum()).collect();
    let most = sums.iter().copied().fold(0.0, f64::max);
    let level = |sum: &f64| match most > 0.0 {
        true => (sum / most * (LEVELS.len() - 1) as f64).ceil() as usize,
        false => 0,
    };
    sums.iter().map(|sum| *LEVELS.get(level(sum)).unwrap_or(&"█")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_stand_beside_each_other() {
        assert_eq!(sparkline(&[0.0, 1.0, 4.0, 8.0], 9), "▁▂▅█");
        assert_eq!(sparkline(&[0.0, 0.0], 9), "▁▁");
        assert_eq!(sparkline(&[1.0, 1.0, 0.0, 1.0, 2.0], 3), "█▅█");
        assert_eq!(sparkline(&[], 0), "");
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        let solid = |now| bar(now, now, 1_000, 4).0;
        assert_eq!([1_000, 500, 1, 0].map(solid), ["████", "██", "▏", ""]);
        assert_eq!(solid(625), "██▌");
        assert_eq!(bar(5, 5, 0, 4).0, "▏", "and nothing is divided by nothing");
        assert_eq!(bar(u64::MAX, 0, 1, 2).0, "██");
    }

    #[test]
    fn what_has_gone_is_a_shadow() {
        assert_eq!(bar(250, 1_000, 1_000, 4), ("█".into(), "░░░".into()));
        assert_eq!(bar(0, 500, 1_000, 4), (String::new(), "░░".into()));
        assert_eq!(bar(1_000, 1_000, 1_000, 4).1, "");
    }
}
