//! Formats numbers, sizes and times.

pub use ctx_core::format::{count, grouped};

/// Tokens, marked as an estimate until the provider has confirmed the scale.
pub fn tokens(number: u64, calibrated: bool) -> String {
    if calibrated { count(number) } else { format!("≈{}", count(number)) }
}

/// `999`, `12.3K`, `4.5M`.
pub fn short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..999_950 => format!("{:.1}K", number as f64 / 1e3),
        999_950..999_950_000 => format!("{:.1}M", number as f64 / 1e6),
        _ => format!("{:.1}G", number as f64 / 1e9),
    }
    .replace(".0", "")
}

/// `$1,234`, `$2.50`, `$0.012`, `-$0.0004`.
pub fn dollars(amount: f64) -> String {
    let sign = if amount < 0.0 { "-" } else { "" };
    match amount.abs() {
        0.0 => "$0".to_owned(),
        large if large >= 999.5 => format!("{sign}${}", count(large.round() as u64)),
        usual if usual >= 0.995 => format!("{sign}${usual:.2}"),
        small if small >= 0.0095 => format!("{sign}${small:.3}"),
        tiny if tiny >= 0.000_05 => format!("{sign}${tiny:.4}"),
        _ => format!("{sign}<$0.0001"),
    }
}

/// `1 step`, `3 steps`.
/// The note that a list is still incomplete.
pub fn unread(requests: u64) -> Option<String> {
    let verb = if requests == 1 { "is" } else { "are" };
    (requests > 0).then(|| format!("{} {verb} still being read; this list may grow", plural(requests, "request")))
}

pub fn plural(number: u64, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{} {word}s", count(number)) }
}

/// `1 copy was`, `2 copies were`: for irregular plurals.
pub fn number_of(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `51.2 KB`.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if number < 1000 {
        return plural(number, "byte");
    }
    let mut size = number as f64;
    let mut unit = "";
    for next in UNITS {
        unit = next;
        size /= 1000.0;
        if size < 999.95 {
            break;
        }
    }
    format!("{size:.1} {unit}")
}

/// `340 ms`, `12.3 s`, `4 min 20 s`.
pub fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{:.1} s", (milliseconds / 100) as f64 / 10.0),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds / 1_000 % 60),
    }
}

/// `just now`, `2 min ago`, `3 h ago`, `5 days ago`.
pub fn ago(now: u64, at: u64) -> String {
    // A clock that was set back must not yield a huge number.
    let seconds = now.saturating_sub(at) / 1_000;
    match seconds {
        0..5 => "just now".to_owned(),
        5..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "1 day ago".to_owned(),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// The time of day, in UTC: `14:03:22Z`.
pub fn clock(at: u64) -> String {
    let seconds = at / 1_000;
    format!("{:02}:{:02}:{:02}Z", seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_not_complete_says_so() {
        assert_eq!(unread(0), None);
        assert_eq!(unread(1).as_deref(), Some("1 request is still being read; this list may grow"));
        assert_eq!(unread(2_920).as_deref(), Some("2,920 requests are still being read; this list may grow"));
    }

    #[test]
    fn estimates_are_marked() {
        assert_eq!(tokens(18_234, false), "≈18,234");
        assert_eq!(tokens(18_234, true), "18,234");
    }

    #[test]
    fn large_numbers_are_short_and_money_has_as_many_digits_as_it_needs() {
        assert_eq!(
            [999, 1_000, 12_345, 999_999, 1_000_000, 4_512_000_000].map(short),
            ["999", "1K", "12.3K", "1M", "1M", "4.5G"]
        );
        assert_eq!(
            [0.0, 1234.5, 2.5, -0.0123, 0.00042, 0.000001].map(dollars),
            ["$0", "$1,235", "$2.50", "-$0.012", "$0.0004", "<$0.0001"]
        );
    }

    #[test]
    fn sizes_have_a_unit_that_fits() {
        assert_eq!(
            [1, 999, 1_000, 51_234, 999_960, 5_300_000, u64::MAX].map(bytes),
            ["1 byte", "999 bytes", "1.0 KB", "51.2 KB", "1.0 MB", "5.3 MB", "18446744.1 TB"]
        );
    }

    #[test]
    fn times_are_told_from_now() {
        let now = 1_000_000_000;
        let told = |seconds: u64| ago(now, now - seconds * 1_000);
        assert_eq!(
            [0, 30, 59, 60, 125, 3_600, 90_000, 400_000].map(told),
            ["just now", "30 s ago", "59 s ago", "1 min ago", "2 min ago", "1 h ago", "1 day ago", "4 days ago"]
        );
        assert_eq!(ago(now, now + 5_000), "just now");
    }

    #[test]
    fn durations_and_the_clock_are_short() {
        assert_eq!([340, 1_000, 12_340, 260_000].map(duration), ["340 ms", "1.0 s", "12.3 s", "4 min 20 s"]);
        assert_eq!(clock(1_700_000_000_000), "22:13:20Z");
    }
}
