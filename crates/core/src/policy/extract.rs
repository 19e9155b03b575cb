//! What is left of a result that goes: the names in it. They are what later steps mostly need, and a small part of it.

use std::collections::HashMap;

/// What stands in the place of a result begins so; where its content is kept, and its names, come behind.
const CLEARED: &str = "[Cleared to save context.";
const NAMES: &str = " Names in it:";
/// So many of them stay: those that stand in it most often.
const MOST: usize = 20;
/// What stands in the place of a long text that a call was asked with.
const REMOVED: &str = "[removed to save context; it was done.";

/// Tokens of a sentence that says where a result is, without its names.
pub const BARE: u64 = 60;

/// Shorter words are common ones, longer ones are no names.
const LENGTH: std::ops::RangeInclusive<usize> = 6..=120;

/// The paths and identifiers of a text, each once, in order: words of some length with a `/`, `_`, `.` or `-` inside, a
/// digit, or a capital inside.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    counted(text).into_iter().map(|(name, _)| name)
}

/// The same, with how often each stands there.
fn counted(text: &str) -> Vec<(&str, usize)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
    let words = text.split(move |c: char| !is_word(c)).map(|word| word.trim_matches(['.', '/', '-']));
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut names: Vec<(&str, usize)> = Vec::new();
    for word in words.filter(|word| LENGTH.contains(&word.len()) && is_name(word)) {
        let place = *places.entry(word).or_insert(names.len());
        match names.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => names.push((word, 1)),
        }
    }
    names
}

/// The names that stay of a text, in their order, without those that `known` says stand elsewhere.
pub fn telling<'t>(text: &'t str, known: &impl Fn(&str) -> bool) -> Vec<&'t str> {
    let names = counted(text).into_iter().filter(|(name, _)| !known(name)).enumerate();
    let mut names: Vec<(usize, (&str, usize))> = names.collect();
    names.sort_by_key(|(_, (_, count))| std::cmp::Reverse(*count));
    names.truncate(MOST);
    names.sort_by_key(|(place, _)| *place);
    names.into_iter().map(|(_, (name, _))| name).collect()
}

fn is_name(word: &str) -> bool {
    let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let inside = word.get(1..).unwrap_or_default();
    let tells =
        |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'/' | b'_' | b'.' | b'-');
    has_letter && (inside.bytes().any(tells) || word.bytes().any(|byte| byte.is_ascii_digit()))
}

/// The text that takes a result's place: `kept`, a sentence on where its content is to be found, and the names in it that
/// tell most, without those that `known` says stand elsewhere.
pub fn extract(text: &str, kept: Option<&str>, known: impl Fn(&str) -> bool) -> String {
    let names = telling(text, &known);
    let kept = kept.map(|kept| format!(" {kept}")).unwrap_or_default();
    match names.is_empty() {
        true => format!("{CLEARED}{kept}]"),
        false => format!("{CLEARED}{kept}{NAMES} {}]", names.join(" ")),
    }
}

/// Whether a text took a result's place.
pub fn is_extract(text: &str) -> bool {
    text.starts_with(CLEARED)
}

/// The same without its names, if it has any and its content is to be found elsewhere.
pub fn bare(text: &str) -> Option<String> {
    let rest = text.strip_prefix(CLEARED)?;
    let kept = rest.rfind(NAMES).and_then(|at| rest.get(..at)).filter(|kept| !kept.is_empty())?;
    Some(format!("{CLEARED}{kept}]"))
}

/// The text that takes the place of a long one that a call was asked with: `kept`, a sentence on where it is to be found,
/// and the names in it that tell most, without those that `known` says stand elsewhere.
pub fn removed(text: &str, kept: Option<&str>, known: &impl Fn(&str) -> bool) -> String {
    let names = telling(text, known);
    let kept = kept.map(|kept| format!(" {kept}")).unwrap_or_default();
    let names = if names.is_empty() { String::new() } else { format!("{NAMES} {}", names.join(" ")) };
    format!("{REMOVED}{kept}{names}]")
}

/// Whether a text took the place of a long one.
pub fn is_removed(text: &str) -> bool {
    text.starts_with(REMOVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_can_do_without_its_names_where_the_content_is_kept() {
        let known = |_: &str| false;
        let short = extract("find_it in src/lib.rs", Some("It is in a file."), known);
        let bare_one = extract("", Some("It is in a file."), known);
        assert!(short.contains("src/lib.rs") && bare(&short).as_ref() == Some(&bare_one));
        assert_eq!(bare(&bare_one), None, "there is nothing more to leave out");
        assert_eq!(bare(&extract("find_it", None, known)), None, "the names are all there is");
        assert_eq!(bare("find_it"), None);
    }

    #[test]
    fn paths_and_identifiers_are_names_and_words_are_not() {
        let text = "    12→fn find_it(path: &Path) in src/lib.rs: HashMap of something, 2026-11-15. 1234567 readme.md; find_it";
        assert_eq!(names(text).collect::<Vec<_>>(), ["find_it", "src/lib.rs", "HashMap", "readme.md"]);
        assert_eq!(names("…äöü/some_name ./a/b.rs --dry-run").collect::<Vec<_>>(), ["some_name", "a/b.rs", "dry-run"]);
    }

    #[test]
    fn of_many_names_those_stay_that_stand_there_most_often() {
        let once: String = (0..100).map(|at| format!("name_{at}, ")).collect();
        let left = extract(&format!("{once} the_one, {once} the_one; the_one"), None, |_| false);
        let told: Vec<&str> = names(&left).collect();
        assert_eq!(told.len(), MOST);
        assert_eq!((told.first(), told.last()), (Some(&"name_0"), Some(&"the_one")), "in their order");
    }

    #[test]
    fn what_stands_elsewhere_need_not_stay() {
        let left = extract("src/lib.rs and find_it", None, |name| name == "find_it");
        assert_eq!(left, format!("{CLEARED}{NAMES} src/lib.rs]"));
        assert_eq!(extract("nothing to see", None, |_| false), crate::edit::resolve::DROPPED);
        assert_eq!(extract("nothing", Some("It is in a.txt."), |_| false), format!("{CLEARED} It is in a.txt.]"));
        assert!(is_extract(&left) && is_extract(crate::edit::resolve::DROPPED) && !is_extract("src/lib.rs"));
    }

    #[test]
    fn of_a_text_that_a_call_was_asked_with_its_names_stay() {
        let text = "let some_name = 1;\n".repeat(40);
        let short = removed(&text, Some("It is in a.json."), &|_| false);
        assert_eq!(short, format!("{REMOVED} It is in a.json.{NAMES} some_name]"));
        assert_eq!(removed(&text, None, &|_| true), format!("{REMOVED}]"));
        assert!(is_removed(&short) && !is_removed(&text));
    }
}
