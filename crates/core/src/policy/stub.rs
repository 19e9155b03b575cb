//! Stubs: short replacements of cleared results and long tool inputs. A stub keeps the names in the text, because later
//! steps mostly need those, and they are a small part of it.

use std::collections::HashMap;

/// The start of a result's stub; the location of the content and the names follow.
const CLEARED: &str = "[Cleared to save context.";
const NAMES: &str = " Names in it:";
/// The number of names in a stub: the most frequent ones.
const MOST: usize = 60;
/// The start of the stub of a long text in a tool input.
const REMOVED: &str = "[removed to save context; it was done.";

/// Tokens of a stub without names.
pub const BARE: u64 = 60;

/// Shorter words are common ones, longer ones are not names.
const LENGTH: std::ops::RangeInclusive<usize> = 6..=120;

/// The paths and identifiers of a text, each once, in order: words of some length with a `/`, `_`, `.` or `-` inside, a
/// digit, or a capital inside.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    counted(text).into_iter().map(|(name, _)| name)
}

/// The same, with the frequency of each.
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

/// The names to keep from a text, in order, without those that are `known` from elsewhere.
pub fn top_names<'t>(text: &'t str, known: &impl Fn(&str) -> bool) -> Vec<&'t str> {
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

/// The stub of a result: `kept`, a sentence on the location of its content, and its most frequent names, without those
/// that are `known` from elsewhere.
pub fn result_stub(text: &str, kept: Option<&str>, known: impl Fn(&str) -> bool) -> String {
    stub(CLEARED, text, kept, &known)
}

/// The same for a long text in a tool input.
pub fn input_stub(text: &str, kept: Option<&str>, known: &impl Fn(&str) -> bool) -> String {
    stub(REMOVED, text, kept, known)
}

fn stub(start: &str, text: &str, kept: Option<&str>, known: &impl Fn(&str) -> bool) -> String {
    let names = top_names(text, known);
    let kept = kept.map(|kept| format!(" {kept}")).unwrap_or_default();
    let names = if names.is_empty() { String::new() } else { format!("{NAMES} {}", names.join(" ")) };
    format!("{start}{kept}{names}]")
}

/// Whether a text is the stub of a result.
pub fn is_result_stub(text: &str) -> bool {
    text.starts_with(CLEARED)
}

/// A result's stub without its names, if it has any and names the location of the content.
pub fn without_names(text: &str) -> Option<String> {
    let rest = text.strip_prefix(CLEARED)?;
    let kept = rest.rfind(NAMES).and_then(|at| rest.get(..at)).filter(|kept| !kept.is_empty())?;
    Some(format!("{CLEARED}{kept}]"))
}

/// Whether a text is the stub of a text in a tool input.
pub fn is_input_stub(text: &str) -> bool {
    text.starts_with(REMOVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_can_do_without_its_names_where_the_content_is_kept() {
        let known = |_: &str| false;
        let short = result_stub("find_it in src/lib.rs", Some("It is in a file."), known);
        let bare_one = result_stub("", Some("It is in a file."), known);
        assert!(short.contains("src/lib.rs") && without_names(&short).as_ref() == Some(&bare_one));
        assert_eq!(without_names(&bare_one), None, "there is nothing more to leave out");
        assert_eq!(without_names(&result_stub("find_it", None, known)), None, "the names are all there is");
        assert_eq!(without_names("find_it"), None);
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
        let left = result_stub(&format!("{once} the_one, {once} the_one; the_one"), None, |_| false);
        let told: Vec<&str> = names(&left).collect();
        assert_eq!(told.len(), MOST);
        assert_eq!((told.first(), told.last()), (Some(&"name_0"), Some(&"the_one")), "in their order");
    }

    #[test]
    fn what_stands_elsewhere_need_not_stay() {
        let left = result_stub("src/lib.rs and find_it", None, |name| name == "find_it");
        assert_eq!(left, format!("{CLEARED}{NAMES} src/lib.rs]"));
        assert_eq!(result_stub("nothing to see", None, |_| false), crate::edit::resolve::DROPPED);
        assert_eq!(result_stub("nothing", Some("It is in a.txt."), |_| false), format!("{CLEARED} It is in a.txt.]"));
        assert!(
            is_result_stub(&left) && is_result_stub(crate::edit::resolve::DROPPED) && !is_result_stub("src/lib.rs")
        );
    }

    #[test]
    fn of_a_text_that_a_call_was_asked_with_its_names_stay() {
        let text = "let some_name = 1;\n".repeat(40);
        let short = input_stub(&text, Some("It is in a.json."), &|_| false);
        assert_eq!(short, format!("{REMOVED} It is in a.json.{NAMES} some_name]"));
        assert_eq!(input_stub(&text, None, &|_| true), format!("{REMOVED}]"));
        assert!(is_input_stub(&short) && !is_input_stub(&text));
    }
}
