//! Parses days and time spans.

const HOUR_MS: u64 = 60 * 60 * 1000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// The start of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Milliseconds since 1970.
    At(u64),
    Ago(u64),
}

impl Since {
    pub fn at(self, now: u64) -> u64 {
        match self {
            Since::At(at) => at,
            Since::Ago(span) => now.saturating_sub(span),
        }
    }
}

/// `7d`, `24h` or `2026-11-01`.
pub fn since(text: &str) -> Result<Since, String> {
    let text = text.trim();
    let number =
        |digits: &str| digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|digit| digit.is_ascii_digit()));
    let span = |digits: &str, unit: u64| number(digits)?.checked_mul(unit).map(Since::Ago);
    let found = match (text.strip_suffix('d'), text.strip_suffix('h')) {
        (Some(days), _) => span(days, DAY_MS),
        (_, Some(hours)) => span(hours, HOUR_MS),
        _ => day(text).map(|days| Since::At(days * DAY_MS)),
    };
    found.ok_or_else(|| "expected a day such as 2026-11-01, or a time span such as 7d or 24h".to_owned())
}

/// A day in UTC, counted from 1970.
fn day(text: &str) -> Option<u64> {
    let mut parts = text.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = [31, 28 + u64::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *days.get(month.checked_sub(1)? as usize)?;
    if parts.next().is_some() || !(1970..10_000).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    let before = year - 1;
    let leaps = before / 4 - before / 100 + before / 400;
    let years = before * 365 + leaps - 719_162;
    Some(years + days.iter().take(month as usize - 1).sum::<u64>() + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_spans_are_understood_and_nothing_else() {
        assert_eq!(since("1970-01-01"), Ok(Since::At(0)));
        assert_eq!(since("2000-02-29"), Ok(Since::At(951_782_400_000)));
        assert_eq!(since("2025-11-15"), Ok(Since::At(1_763_164_800_000)));
        assert_eq!(since("7d").map(|since| since.at(8 * DAY_MS)), Ok(DAY_MS));
        assert_eq!(since("24h").map(|since| since.at(0)), Ok(0));
        for wrong in [
            "",
            "7",
            "d",
            "-7d",
            "+7d",
            "2025-02-29",
            "2025-13-01",
            "2025-11-00",
            "1969-12-31",
            "2025-11",
            "x",
            "99999999999999999999d",
        ] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }
}
