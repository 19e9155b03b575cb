//! Words of a shell's command line.

/// The path of a program, quoted if the shell would read it otherwise.
pub fn quoted(path: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '/' | '.' | '_' | '-' | '+' | ':');
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_shell_would_split_or_replace_is_quoted() {
        assert_eq!([quoted("ctx"), quoted("/opt/c-1.0/ctx")], ["ctx", "/opt/c-1.0/ctx"]);
        assert_eq!([quoted("/my tools/ctx"), quoted("/$a/it's")], ["'/my tools/ctx'", r"'/$a/it'\''s'"]);
    }
}
