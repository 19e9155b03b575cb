//! Names as PostgreSQL can store them: its texts have no NUL character. The order of names is preserved.

const ESCAPE: char = '\u{1}';

/// The stored form of a name.
pub fn encode(name: &str) -> String {
    if !name.contains(['\0', ESCAPE]) {
        return name.to_owned();
    }
    let escaped = |c| match c {
        '\0' => vec![ESCAPE, '0'],
        ESCAPE => vec![ESCAPE, '1'],
        c => vec![c],
    };
    name.chars().flat_map(escaped).collect()
}

/// Reverses [`encode`].
pub fn decode(stored: &str) -> String {
    let mut chars = stored.chars();
    let mut name = String::with_capacity(stored.len());
    while let Some(c) = chars.next() {
        name.push(match c {
            ESCAPE if chars.next() == Some('0') => '\0',
            c => c,
        });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_survives_and_keeps_its_place() {
        let mut names = ["", "\0", "\0\0", "\0a", "\u{1}", "\u{1}0", "\u{1}\0", "\u{2}", "a\0b", "naïve", "🦀"];
        names.sort_unstable();
        let stored: Vec<String> = names.iter().map(|name| encode(name)).collect();
        assert!(stored.is_sorted() && !stored.iter().any(|name| name.contains('\0')), "{stored:?}");
        let back: Vec<String> = stored.iter().map(|name| decode(name)).collect();
        assert_eq!(back, names);
    }
}
