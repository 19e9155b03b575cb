//! The lines of a text that say most about it: definitions in code, and failures in outputs.

/// Words before the name of a definition.
const DEFINES: [&str; 24] = [
    "fn",
    "func",
    "function",
    "def",
    "class",
    "type",
    "struct",
    "enum",
    "trait",
    "impl",
    "interface",
    "module",
    "mod",
    "namespace",
    "package",
    "macro_rules!",
    "const",
    "static",
    "describe",
    "it",
    "test",
    "CREATE",
    "resource",
    "message",
];
/// Words that may precede them.
const MODIFIERS: [&str; 16] = [
    "pub",
    "pub(crate)",
    "pub(super)",
    "export",
    "default",
    "async",
    "public",
    "private",
    "protected",
    "internal",
    "abstract",
    "final",
    "static",
    "unsafe",
    "extern",
    "declare",
];
/// Words in a line that reports a failure, in lower case.
const FAILS: [&str; 12] = [
    "error",
    "fail",
    "panic",
    "exception",
    "traceback",
    "fatal",
    "undefined",
    "cannot",
    "not found",
    "denied",
    "warning:",
    "expected",
];
/// A longer line is not a report of its own.
const LONGEST_REPORT: usize = 400;

/// A line number, if the tool printed one, and the line itself.
pub fn numbered(line: &str) -> (Option<u64>, &str) {
    let start = line.trim_start_matches(' ');
    let rest = start.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number = start.get(..start.len() - rest.len()).and_then(|number| number.parse().ok());
    match (number, rest.strip_prefix(['→', '\t'])) {
        (Some(number), Some(text)) => (Some(number), text),
        _ => (None, line),
    }
}

/// Whether a line of code begins a definition, or a line of a document a section.
pub fn is_definition(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| MODIFIERS.contains(word));
    let Some(first) = words.next() else { return false };
    let defines = |word: &str| DEFINES.iter().any(|known| word == *known || word.strip_prefix(known) == Some("("));
    let is_heading = first.len() <= 4 && !first.is_empty() && first.bytes().all(|byte| byte == b'#');
    (defines(first.split_inclusive('(').next().unwrap_or(first)) || is_heading) && words.next().is_some()
}

/// Whether a line reports a failure.
pub fn is_failure(line: &str) -> bool {
    if line.len() > LONGEST_REPORT {
        return false;
    }
    let line = line.to_ascii_lowercase();
    FAILS.iter().any(|word| line.contains(word)) && !line.contains("0 failed") && !line.contains("0 errors")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_told_in_many_languages() {
        for line in [
            "fn find_it(path: &Path) {",
            "    pub(crate) async fn find() {",
            "func (s *Store) Get(id string) error {",
            "export default class Page extends View {",
            "def find(self):",
            "type Store struct {",
            "public static final class Box {",
            "## Install it",
            "describe(\"the store\", () => {",
        ] {
            assert!(is_definition(line), "{line}");
        }
        for line in ["", "let x = fn_pointer;", "return type", "// class of things", "fn", "typed = 1", "#include <a>"]
        {
            assert!(!is_definition(line), "{line}");
        }
    }

    #[test]
    fn failures_are_told_by_their_words() {
        for line in ["error[E0382]: borrow of moved value", "--- FAIL: TestStore (0.00s)", "thread 'a' panicked at x"] {
            assert!(is_failure(line), "{line}");
        }
        for line in ["ok  store 0.1s", "test result: ok. 12 passed; 0 failed", &"error ".repeat(100)] {
            assert!(!is_failure(line), "{line}");
        }
    }

    #[test]
    fn a_line_number_is_apart_from_its_line() {
        assert_eq!(numbered("    12→  fn a()"), (Some(12), "  fn a()"));
        assert_eq!(numbered("7\tx"), (Some(7), "x"));
        assert_eq!(numbered("12: x"), (None, "12: x"));
    }
}
