//! Stubs: short replacements of cleared results and long tool inputs. A stub keeps the names in the text, because later
//! steps mostly need those, and they are a small part of it. Other forms keep lines of it: docs/lab.md compares them.

use super::outline::{is_definition, is_failure, numbered};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// The part of a text that a stub keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StubForm {
    /// So many names: the most frequent ones.
    pub names: usize,
    /// So many lines that report a failure or begin a definition.
    pub lines: usize,
    /// So many lines at each end.
    pub ends: usize,
}

impl Default for StubForm {
    fn default() -> StubForm {
        StubForm { names: 60, lines: 0, ends: 0 }
    }
}

/// The start of a result's stub; the location of the content and the names follow.
const CLEARED: &str = "[Cleared to save context.";
const LINES: &str = " Lines of it:";
const NAMES: &str = " Names in it:";
/// A longer line is cut.
const LONGEST: usize = 160;
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
pub fn top_names<'t>(text: &'t str, most: usize, known: &impl Fn(&str) -> bool) -> Vec<&'t str> {
    let names = counted(text).into_iter().filter(|(name, _)| !known(name)).enumerate();
    let mut names: Vec<(usize, (&str, usize))> = names.collect();
    names.sort_by_key(|(_, (_, count))| std::cmp::Reverse(*count));
    names.truncate(most);
    names.sort_by_key(|(place, _)| *place);
    names.into_iter().map(|(_, (name, _))| name).collect()
}

/// The lines to keep from a text, in order, with the numbers that the tool printed.
fn top_lines(text: &str, form: StubForm) -> Vec<String> {
    if form.lines == 0 && form.ends == 0 {
        return Vec::new();
    }
    let lines: Vec<(Option<u64>, &str)> = text.lines().map(numbered).collect();
    let is_told = |at: &usize| lines.get(*at).is_some_and(|(_, line)| !line.trim().is_empty());
    let places = |is: fn(&str) -> bool| {
        lines.iter().enumerate().filter(move |(_, (_, line))| is(line)).map(|(at, _)| at).collect::<Vec<_>>()
    };
    let telling = places(is_failure).into_iter().chain(places(is_definition));
    let ends = (0..form.ends).chain(lines.len().saturating_sub(form.ends)..lines.len());
    let kept: BTreeSet<usize> = telling.take(form.lines).chain(ends).filter(is_told).collect();
    let shown = |at: usize| {
        let (number, line) = lines.get(at).copied().unwrap_or_default();
        let line = line.trim();
        let end = (0..=LONGEST.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        let line = line.get(..end).unwrap_or(line);
        number.map_or_else(|| line.to_owned(), |number| format!("{number} {line}"))
    };
    kept.into_iter().map(shown).collect()
}

fn is_name(word: &str) -> bool {
    let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let inside = word.get(1..).unwrap_or_default();
    let tells =
        |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'/' | b'_' | b'.' | b'-');
    has_letter && (inside.bytes().any(tells) || word.bytes().any(|byte| byte.is_ascii_digit()))
}

/// The stub of a result: `kept`, a sentence on the location of its content, and what the form keeps, without the names
/// that are `known` from elsewhere.
pub fn result_stub(text: &str, kept: Option<&str>, form: StubForm, known: impl Fn(&str) -> bool) -> String {
    stub(CLEARED, text, kept, form, &known)
}

/// The same for a long text in a tool input.
pub fn input_stub(text: &str, kept: Option<&str>, form: StubForm, known: &impl Fn(&str) -> bool) -> String {
    stub(REMOVED, text, kept, form, known)
}

/// A stub that only says where the content is.
pub fn bare_stub(kept: Option<&str>) -> String {
    result_stub("", kept, StubForm { names: 0, lines: 0, ends: 0 }, |_| true)
}

fn stub(start: &str, text: &str, kept: Option<&str>, form: StubForm, known: &impl Fn(&str) -> bool) -> String {
    let kept = kept.map(|kept| format!(" {kept}")).unwrap_or_default();
    let lines = top_lines(text, form).join("\n");
    let names = match lines.is_empty() {
        true => top_names(text, form.names, known),
        false => {
            let told: std::collections::HashSet<&str> = names(&lines).collect();
            top_names(text, form.names, &|name: &str| told.contains(name) || known(name))
        }
    };
    let lines = if lines.is_empty() { lines } else { format!("{LINES}\n{lines}\n") };
    let names = if names.is_empty() { String::new() } else { format!("{NAMES} {}", names.join(" ")) };
    format!("{start}{kept}{lines}{names}]")
}

/// Whether a text is the stub of a result.
pub fn is_result_stub(text: &str) -> bool {
    text.starts_with(CLEARED)
}

/// A result's stub without its lines and names, if it has any and names the location of the content.
pub fn without_names(text: &str) -> Option<String> {
    let rest = text.strip_prefix(CLEARED)?;
    let end = rest.find(LINES).or_else(|| rest.rfind(NAMES))?;
    let kept = rest.get(..end).filter(|kept| !kept.is_empty())?;
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
        let form = StubForm::default();
        let known = |_: &str| false;
        let short = result_stub("find_it in src/lib.rs", Some("It is in a file."), form, known);
        let bare_one = result_stub("", Some("It is in a file."), form, known);
        let with_lines = StubForm { lines: 3, ..form };
        let lines = result_stub("fn find_it() {}", Some("It is in a file."), with_lines, known);
        assert_eq!(without_names(&lines).as_ref(), Some(&bare_one), "{lines}");
        assert_eq!(bare_stub(Some("It is in a file.")), bare_one);
        assert!(short.contains("src/lib.rs") && without_names(&short).as_ref() == Some(&bare_one));
        assert_eq!(without_names(&bare_one), None, "there is nothing more to leave out");
        assert_eq!(without_names(&result_stub("find_it", None, form, known)), None, "the names are all there is");
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
        let left =
            result_stub(&format!("{once} the_one, {once} the_one; the_one"), None, StubForm::default(), |_| false);
        let told: Vec<&str> = names(&left).collect();
        assert_eq!(told.len(), 60);
        assert_eq!((told.first(), told.last()), (Some(&"name_0"), Some(&"the_one")), "in their order");
    }

    #[test]
    fn what_stands_elsewhere_need_not_stay() {
        let form = StubForm::default();
        let left = result_stub("src/lib.rs and find_it", None, form, |name| name == "find_it");
        assert_eq!(left, format!("{CLEARED}{NAMES} src/lib.rs]"));
        assert_eq!(result_stub("nothing to see", None, form, |_| false), crate::edit::resolve::DROPPED);
        assert_eq!(
            result_stub("nothing", Some("It is in a.txt."), form, |_| false),
            format!("{CLEARED} It is in a.txt.]")
        );
        assert!(
            is_result_stub(&left) && is_result_stub(crate::edit::resolve::DROPPED) && !is_result_stub("src/lib.rs")
        );
    }

    #[test]
    fn of_a_text_that_a_call_was_asked_with_its_names_stay() {
        let text = "let some_name = 1;\n".repeat(40);
        let short = input_stub(&text, Some("It is in a.json."), StubForm::default(), &|_| false);
        assert_eq!(short, format!("{REMOVED} It is in a.json.{NAMES} some_name]"));
        assert_eq!(input_stub(&text, None, StubForm::default(), &|_| true), format!("{REMOVED}]"));
        assert!(is_input_stub(&short) && !is_input_stub(&text));
    }

    #[test]
    fn other_forms_keep_the_lines_that_say_most_with_their_numbers() {
        let code =
            "     1→use a;\n     2→fn first() {\n     3→    body();\n     4→}\n     5→fn second() {}\n     6→// end";
        let form = StubForm { names: 5, lines: 1, ends: 1 };
        let left = result_stub(code, None, form, |_| false);
        assert_eq!(left, format!("{CLEARED}{LINES}\n1 use a;\n2 fn first() {{\n6 // end\n]"), "they have its names");
        let output = "compiling\nfn shown() {}\nerror: no such_name\ndone";
        let left = result_stub(output, None, StubForm { names: 0, lines: 1, ends: 0 }, |_| false);
        assert_eq!(left, format!("{CLEARED}{LINES}\nerror: no such_name\n]"), "failures first");
    }
}
