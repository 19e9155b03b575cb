//! Parses times in recordings.

/// Milliseconds since 1970 of a time like `2026-01-23T10:12:36.437Z`, with or without a fraction or an offset, or of
/// their number. `None` for everything else: an invalid time is unknown.
pub(super) fn milliseconds(text: &str) -> Option<i64> {
    if text.len() == 13
        && let Ok(milliseconds) = text.parse()
    {
        return Some(milliseconds);
    }
    let (date, clock) = text.trim().split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let at = clock.find(['Z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = (clock.get(..at)?, clock.get(at..)?);
    let mut clock = clock.splitn(3, ':');
    let (hour, minute) = (number(clock.next()?)?, number(clock.next()?)?);
    let (second, fraction) = match clock.next() {
        Some(second) => second.split_once('.').unwrap_or((second, "")),
        None => ("0", ""),
    };
    let thousandths = if fraction.is_empty() { 0 } else { number(format!("{fraction:0<3}").get(..3)?)? };
    let second = number(second)?;
    if !(1970..10_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - offset(zone)?;
    Some((minutes * 60 + second) * 1000 + thousandths)
}

fn number(text: &str) -> Option<i64> {
    let digits = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// Minutes east of Greenwich.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes().first() {
        None | Some(b'Z') => return Some(0),
        Some(b'-') => -1,
        Some(_) => 1,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    Some(sign * (number(hours)? * 60 + number(minutes)?))
}

/// Days since 1970-01-01. Years start in March, so that the leap day comes last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn moments_are_read_in_every_usual_spelling() {
        assert_eq!(milliseconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(milliseconds("1769163156437"), Some(1_769_163_156_437));
        assert_eq!(milliseconds("2026-01-23T10:12:36.437Z"), Some(1_769_163_156_437));
        assert_eq!(milliseconds("2026-01-23T12:12:36.4370+02:00"), Some(1_769_163_156_437));
        assert_eq!(milliseconds("2024-02-29 23:59:59"), Some(1_709_251_199_000));
        assert_eq!(milliseconds("2024-03-01T00:00"), Some(1_709_251_200_000));
    }

    #[test]
    fn what_is_no_moment_is_unknown() {
        for text in [
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "2026-01-01",
            "2026-01-01T25:00:00Z",
            "1-é-T:é.é",
            "T",
            "2026-01-01T00:00:00.é",
        ] {
            assert_eq!(milliseconds(text), None, "{text:?}");
        }
    }
}
