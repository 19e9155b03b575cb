//! Files of environment variables: lines of `NAME=value`, perhaps with `export`, quotes and comments.

use std::ops::Range;

use serde_json::Value;

use super::jsonc::splice::Draft;
use super::line;
use super::syntax::Entry;

/// Finds a variable; the last line that sets it counts.
pub fn find(text: &str, path: &[String]) -> Option<Entry> {
    let raw = text.get(value_span(text, path)?)?;
    let unquoted = ['"', '\''].into_iter().find_map(|quote| raw.strip_prefix(quote)?.strip_suffix(quote));
    Some(Entry { value: Some(Value::from(unquoted.unwrap_or(raw))), raw: raw.to_owned() })
}

/// Sets a variable, in its line or in a new last one.
pub fn set(draft: &mut Draft, path: &[String], value: &Value) {
    let value = value.as_str().unwrap_or_default();
    match value_span(&draft.text, path) {
        Some(span) => draft.replace(span, value),
        None => line::insert(draft, draft.text.len(), &format!("{}={value}", path.concat())),
    }
}

/// Replaces the value of a variable with these bytes.
pub fn put_back(draft: &mut Draft, path: &[String], raw: &str) {
    if let Some(span) = value_span(&draft.text, path) {
        draft.replace(span, raw);
    }
}

/// Removes the line of a variable.
pub fn remove(draft: &mut Draft, path: &[String]) {
    if let Some(span) = value_span(&draft.text, path) {
        line::remove(draft, span.start..span.start);
    }
}

/// The range of a variable's value, without surrounding spaces and a trailing comment.
fn value_span(text: &str, path: &[String]) -> Option<Range<usize>> {
    let [name] = path else { return None };
    let mut start = 0;
    let mut found = None;
    for line in text.split_inclusive('\n') {
        if let Some((left, right)) = line.split_once('=') {
            let left = left.trim_start_matches('\u{feff}').trim();
            let left = left.strip_prefix("export ").map_or(left, str::trim);
            let from = start + line.len() - right.len() + (right.len() - right.trim_start().len());
            let comment = right.find(" #").unwrap_or(right.len());
            let value = right.get(..comment).unwrap_or(right).trim();
            if left == name {
                found = Some(from..from + value.len());
            }
        }
        start += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> [String; 1] {
        [name.to_owned()]
    }

    #[test]
    fn a_variable_is_found_in_every_spelling() {
        let text = "# A=0\nexport A = \"x y\" # mine\r\nB='z'\nC=1\nC=2\nD=\n";
        let value = |name| find(text, &path(name)).and_then(|entry| entry.value);
        assert_eq!((value("A"), value("B")), (Some("x y".into()), Some("z".into())));
        assert_eq!((value("C"), value("D"), value("E")), (Some("2".into()), Some("".into()), None));
    }

    #[test]
    fn a_variable_is_set_in_its_line_or_in_a_new_one_and_removed_with_it() {
        for (text, set_to) in [
            ("", "U=http://h\n"),
            ("A=1", "A=1\nU=http://h\n"),
            ("A=1\r\n", "A=1\r\nU=http://h\r\n"),
            ("A=1\nU=old # why\nB=2\n", "A=1\nU=http://h # why\nB=2\n"),
        ] {
            let mut draft = Draft::of(text);
            set(&mut draft, &path("U"), &"http://h".into());
            assert_eq!(draft.text, set_to);
            remove(&mut draft, &path("U"));
            assert!(find(&draft.text, &path("U")).is_none() && draft.text.contains("A=1") == text.contains("A=1"));
        }
    }
}
