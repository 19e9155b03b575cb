//! Who wrote a text: a human, or the client on its own behalf. And what to call it.

use std::borrow::Cow;

/// What a client's own summary of the conversation is called.
pub const SUMMARY_TITLE: &str = "Summary of the conversation so far";

const OPEN: &str = "<system-reminder>";
const CLOSE: &str = "</system-reminder>";

/// The text without the reminders that clients weave into it.
pub fn without_reminders(text: &str) -> Cow<'_, str> {
    if find(text, OPEN).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = find(rest, OPEN) {
        let Some(length) = find(&rest[start..], CLOSE) else { break };
        out.push_str(&rest[..start]);
        rest = &rest[start + length + CLOSE.len()..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// What a text in a user message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speech {
    /// Put in by the client.
    Injected,
    /// A command the human gave to the client; its title.
    Command(String),
    /// The human's words; their title.
    Human(String),
}

/// Judges a text whose reminders are already taken out.
pub fn judge(text: &str) -> Speech {
    const NOTICES: [&str; 10] = [
        "[Request interrupted by user",
        "<local-command-stdout>",
        "<local-command-stderr>",
        "<local-command-caveat>",
        "Caveat: The messages below were generated",
        "<bash-stdout>",
        "<bash-stderr>",
        "<task-notification>",
        "<info-msg>",
        // The text of a skill, which the human named with a command, or the model with a call.
        "Base directory for this skill: ",
    ];
    let text = text.trim();
    if text.is_empty() || NOTICES.iter().any(|notice| text.starts_with(notice)) {
        return Speech::Injected;
    }
    if text.starts_with("<command-name>") || text.starts_with("<command-message>") {
        let name = between(text, "<command-name>", "</command-name>").unwrap_or("/command");
        let args = between(text, "<command-args>", "</command-args>").unwrap_or_default();
        return Speech::Command(line(&format!("{} {}", name.trim(), args.trim())));
    }
    if let Some(command) = between(text, "<bash-input>", "</bash-input>") {
        return Speech::Human(line(&format!("! {}", command.trim())));
    }
    if is_summary(text) {
        return Speech::Human(SUMMARY_TITLE.to_owned());
    }
    Speech::Human(line(text))
}

/// Whether a first message is the client's own summary of what came before it.
pub fn is_summary(text: &str) -> bool {
    text.trim_start().starts_with("This session is being continued from a previous conversation")
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let from = find(text, open)? + open.len();
    let to = find(&text[from..], close)?;
    Some(&text[from..from + to])
}

/// Texts may have many megabytes: at memory speed.
fn find(text: &str, words: &str) -> Option<usize> {
    memchr::memmem::find(text.as_bytes(), words.as_bytes())
}

/// The first words of a text on one line, cut at a word, at most 80 characters.
pub fn line(text: &str) -> String {
    const LIMIT: usize = 80;
    // However long a text is, its title is in its beginning.
    const BEGINNING: usize = 64 * LIMIT;
    let text = text.trim_start();
    let text = text.get(..text.floor_char_boundary(BEGINNING)).unwrap_or(text);
    let mut out = String::new();
    let mut length = 0;
    for word in text.split_whitespace().take(LIMIT) {
        let word_length = word.chars().take(LIMIT + 1).count();
        if length > 0 && length + 1 + word_length > LIMIT {
            out.push('…');
            return out;
        }
        if length > 0 {
            out.push(' ');
            length += 1;
        }
        if word_length > LIMIT {
            out.extend(word.chars().filter(|c| !c.is_control()).take(LIMIT - 1));
            out.push('…');
            return out;
        }
        out.extend(word.chars().filter(|c| !c.is_control()));
        length += word_length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_humans_words_not_the_reminders() {
        let text = "<system-reminder>Today is Monday</system-reminder>\nfix the   parser\nplease";
        assert_eq!(judge(&without_reminders(text)), Speech::Human("fix the parser please".into()));
        assert_eq!(judge(&without_reminders("<system-reminder>x</system-reminder>")), Speech::Injected);
        assert_eq!(judge("[Request interrupted by user for tool use]"), Speech::Injected);
        assert_eq!(
            judge(
                "<command-message>compact</command-message>\n<command-name>/compact</command-name>\n<command-args>now</command-args>"
            ),
            Speech::Command("/compact now".into())
        );
        assert_eq!(judge("Base directory for this skill: /home/me/.claude/skills/tidy\n\n# Tidy"), Speech::Injected);
        assert_eq!(judge("<bash-input>ls -la</bash-input>"), Speech::Human("! ls -la".into()));
    }

    #[test]
    fn an_unclosed_reminder_is_text() {
        assert_eq!(without_reminders("a<system-reminder>b"), "a<system-reminder>b");
        assert_eq!(without_reminders("a<system-reminder>b</system-reminder>c<system-reminder>"), "ac<system-reminder>");
    }

    #[test]
    fn a_title_is_one_line_of_at_most_eighty_characters() {
        let long = line(&"word ".repeat(100));
        assert!(long.chars().count() <= 81 && long.ends_with('…'), "{long}");
        assert!(line(&"x".repeat(5000)).chars().count() <= 81);
        assert_eq!(line("a\u{1b}[31mred\nb"), "a[31mred b");
        assert_eq!(line(&"ä".repeat(1_000_000)), line(&"ä".repeat(100)));
        assert_eq!(line(&format!("{}title", " ".repeat(100_000))), "title");
    }
}
