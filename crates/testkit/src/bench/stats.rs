//! Percentiles, medians and formatted durations.

use std::time::Duration;

/// The value below which `share` of the samples lie (nearest rank). Zero if there are none.
pub fn percentile(samples: &mut [Duration], share: f64) -> Duration {
    samples.sort_unstable();
    let rank = (share * samples.len() as f64).ceil() as usize;
    samples.get(rank.saturating_sub(1)).or(samples.last()).copied().unwrap_or_default()
}

/// The median of the values. Zero if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle.wrapping_sub(1)), sorted.get(middle)) {
        (Some(left), Some(right)) if sorted.len().is_multiple_of(2) => (left + right) / 2.0,
        (_, Some(value)) => *value,
        _ => 0.0,
    }
}

pub fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1000.0
}

pub fn millis(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1_000_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_samples_and_the_last_is_the_largest() {
        let mut samples: Vec<Duration> = (1..=200).rev().map(Duration::from_micros).collect();
        assert_eq!(percentile(&mut samples, 0.5), Duration::from_micros(100));
        assert_eq!(percentile(&mut samples, 0.99), Duration::from_micros(198));
        assert_eq!(percentile(&mut samples, 1.0), Duration::from_micros(200));
        assert_eq!(percentile(&mut [], 0.5), Duration::ZERO);
    }

    #[test]
    fn the_median_of_an_even_count_lies_between_the_two_in_the_middle() {
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[7.0]), 7.0);
        assert_eq!(median(&[]), 0.0);
    }
}
