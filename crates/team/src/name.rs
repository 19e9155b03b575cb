//! The names that people and groups can have. Names that people already have stay valid.

use ctx_core::ErrorCode;

use crate::error::TeamError;

const LONGEST: usize = 64;

/// Names under which the daemon, its clients and agents write edits, or would seem to.
const RESERVED: [&str; 16] = [
    "agent",
    "api",
    "cli",
    "context-composer",
    "ctx",
    "daemon",
    "fork",
    "helper",
    "import",
    "mcp",
    "page",
    "policy",
    "program",
    "provider",
    "system",
    "ui",
];

/// Checks the name of a new person. It has only ASCII characters: letters of other alphabets can look the same, and a
/// name signs edits.
pub(crate) fn check_person(name: &str) -> Result<(), TeamError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | '+');
    if !fits(name, is_plain) || !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        let hint = format!(
            "Use up to {LONGEST} letters a-z, digits, `.`, `-`, `_`, `@` and `+`; begin with a letter or digit."
        );
        return Err(refused("person", name, hint));
    }
    if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        return Err(refused("person", name, "The daemon signs edits with it. Choose another name.".to_owned()));
    }
    Ok(())
}

pub(crate) fn check_group(name: &str) -> Result<(), TeamError> {
    if fits(name, |c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@')) {
        return Ok(());
    }
    Err(refused("group", name, format!("Use up to {LONGEST} letters, digits, `.`, `-`, `_` and `@`.")))
}

fn fits(name: &str, is_plain: impl Fn(char) -> bool) -> bool {
    !name.is_empty() && name.chars().count() <= LONGEST && name.chars().all(is_plain)
}

fn refused(what: &str, name: &str, hint: String) -> TeamError {
    TeamError::refused(ErrorCode::BadRequest, format!("A {what} cannot be called `{name}`."), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_name_looks_like_no_other_and_like_no_part_of_the_program() {
        for name in ["anna", "a.b-c_d", "anna+ctx@example.com", "7", "policymaker"] {
            assert!(check_person(name).is_ok(), "{name}");
        }
        let (cyrillic, wide, dotless) = ("\u{430}nna", "\u{ff41}nna", "er\u{131}c");
        for name in [cyrillic, wide, dotless, "policy", "Policy", "ctx", "SYSTEM", "helper", "provider", "daemon"] {
            assert!(check_person(name).is_err(), "{name}");
        }
        for name in ["", ".", "..", "-x", "@a", "a b", "a/b", "a:b", "(agent)", "a\u{202e}b"] {
            assert!(check_person(name).is_err(), "{name:?}");
        }
        assert!(check_group("système").is_ok() && check_group("a path").is_err());
    }
}
