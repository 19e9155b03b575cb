//! Days and times as people read them, in UTC.

use std::fmt;

/// A day in UTC, counted from 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(u64);

impl Day {
    const MS: u64 = 24 * 60 * 60 * 1000;
    /// No clock is beyond it.
    const LAST: u64 = 100_000_000;

    pub fn of(at: u64) -> Day {
        Day((at / Day::MS).min(Day::LAST))
    }

    pub fn start(self) -> u64 {
        self.0 * Day::MS
    }

    /// All days up to that one, but no more than can be looked at.
    pub fn until(self, last: Day) -> impl Iterator<Item = Day> {
        const MOST: u64 = 3_660;
        (self.0.max(last.0.saturating_sub(MOST))..=last.0).map(Day)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Years begin in March here, so that a leap day is the last of its year.
        let days = self.0 + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        write!(f, "{:04}-{month:02}-{day:02}", era * 400 + year + next)
    }
}

/// `2026-11-15 19:10`, in UTC.
pub fn day_and_time(at: u64) -> String {
    let minutes = at % Day::MS / 60_000;
    format!("{} {:02}:{:02}", Day::of(at), minutes / 60, minutes % 60)
}
