//! Directives: the lines of a prompt that script the answer. This module parses them; `prompt` finds the text in a
//! conversation, `answer` executes them.

use std::time::Duration;

/// The limit of `BIG`, so that a typo does not exhaust the memory.
const BIGGEST: usize = 256 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Directive {
    Say(String),
    Think(String),
    Redacted,
    UseTool {
        name: String,
        argument: String,
    },
    FindTool(String),
    Big(usize),
    Usage(i64),
    Stop(String),
    Delay(Duration),
    Slow(Duration),
    Hang(Duration),
    Fail {
        status: u16,
        times: u64,
        message: String,
    },
    MidError {
        kind: String,
        times: u64,
    },
    Cut {
        times: u64,
    },
    /// It looks like a directive but is invalid.
    Bad(String),
}

/// A directive and its text, which distinguishes failing directives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrittenDirective {
    pub(crate) raw: String,
    pub(crate) directive: Directive,
}

/// The directives of a text, one list per assistant message; no list without any.
pub(crate) fn parse(text: &str) -> Vec<Vec<WrittenDirective>> {
    let mut steps = vec![Vec::new()];
    for part in lines(text).flat_map(|line| line.split(";;")) {
        let part = trim(part);
        if part == "THEN" {
            steps.push(Vec::new());
        } else if let (Some(directive), Some(step)) = (read(part), steps.last_mut()) {
            step.push(WrittenDirective { raw: part.to_owned(), directive });
        }
    }
    if steps.iter().all(Vec::is_empty) {
        steps.clear();
    }
    steps
}

fn read(part: &str) -> Option<Directive> {
    let (name, written) = part.split_once(':').unwrap_or((part, ""));
    let argument = trim(written);
    let with_argument = part.len() > name.len();
    let seconds = |make: fn(Duration) -> Directive| {
        let parsed = argument.parse().ok();
        parsed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).map(make)
    };
    let obeyable = match name {
        "REDACTED" if !with_argument => Some(Directive::Redacted),
        "CUT" if !with_argument => Some(Directive::Cut { times: 1 }),
        // Unlike others, a CUT followed by anything but digits is ordinary text.
        "CUT" if is_digits(written) => argument.parse().map(|times| Directive::Cut { times }).ok(),
        "CUT" | "REDACTED" => return None,
        _ if !with_argument => return None,
        "SAY" => Some(Directive::Say(argument.to_owned())),
        "THINK" => Some(Directive::Think(argument.to_owned())),
        "STOP" => Some(Directive::Stop(argument.to_owned())),
        "USE_TOOL" => {
            let (name, argument) = argument.split_once(':').unwrap_or((argument, ""));
            Some(Directive::UseTool { name: name.to_owned(), argument: argument.to_owned() })
        }
        "FIND_TOOL" => Some(Directive::FindTool(argument.to_owned())),
        "BIG" => argument.parse().ok().filter(|size| *size <= BIGGEST).map(Directive::Big),
        "USAGE" => argument.parse().map(Directive::Usage).ok(),
        "DELAY" => seconds(Directive::Delay),
        "SLOW" => seconds(Directive::Slow),
        "HANG" => seconds(Directive::Hang),
        "FAIL" => counted(argument).and_then(|(what, times, message)| {
            Some(Directive::Fail {
                status: what.parse().ok().filter(|status| (100..1000).contains(status))?,
                times,
                message: message.to_owned(),
            })
        }),
        "MIDERR" => counted(argument).map(|(what, times, _)| Directive::MidError { kind: what.to_owned(), times }),
        _ => return None,
    };
    Some(obeyable.unwrap_or_else(|| Directive::Bad(part.to_owned())))
}

/// `what[:times[:message]]`
fn counted(argument: &str) -> Option<(&str, u64, &str)> {
    let mut parts = argument.splitn(3, ':');
    let what = parts.next().unwrap_or_default();
    let times = match parts.next() {
        None | Some("") => 1,
        Some(times) => trim(times).parse().ok()?,
    };
    Some((what, times, parts.next().unwrap_or_default()))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The lines of a text, at every line break of Unicode and at the separators of ASCII.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter| {
        matches!(letter, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
    })
}

/// White space for the provider: Unicode's, and the separators of ASCII.
fn is_white(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\x1c'..='\x1f')
}

pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_white)
}

pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(is_white)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directives(text: &str) -> Vec<Vec<Directive>> {
        let bare = |step: Vec<WrittenDirective>| step.into_iter().map(|written| written.directive);
        parse(text).into_iter().map(|step| bare(step).collect()).collect()
    }

    #[test]
    fn directives_stand_on_lines_or_between_double_semicolons() {
        assert_eq!(
            directives("Please.\nSAY: a ;; THINK:b\u{2028}REDACTED;;THEN;;CUT:3\nplain SAY:no"),
            [
                vec![Directive::Say("a".into()), Directive::Think("b".into()), Directive::Redacted],
                vec![Directive::Cut { times: 3 }],
            ]
        );
    }

    #[test]
    fn a_text_without_directives_has_no_steps() {
        for text in ["", "hello", "THEN", "SAY", "CUTE", "CUT:x", "CUT: 1", "REDACTED:1", "say:x"] {
            assert_eq!(directives(text), [] as [Vec<Directive>; 0], "{text}");
        }
    }

    #[test]
    fn tools_keep_the_colons_of_their_argument() {
        assert_eq!(
            directives("USE_TOOL:Bash:a:b"),
            [[Directive::UseTool { name: "Bash".into(), argument: "a:b".into() }]]
        );
    }

    #[test]
    fn failures_say_how_often_and_why() {
        let fail = |status, times, message: &str| Directive::Fail { status, times, message: message.into() };
        assert_eq!(directives("FAIL:529"), [[fail(529, 1, "")]]);
        assert_eq!(directives("FAIL:400:2:prompt is too long: 5 > 4"), [[fail(400, 2, "prompt is too long: 5 > 4")]]);
    }

    #[test]
    fn what_cannot_be_obeyed_is_said_so() {
        for text in ["BIG:x", "BIG:-1", "FAIL:abc", "DELAY:nan", "HANG:-1", "USAGE:", "FAIL:500:x"] {
            assert_eq!(directives(text), [[Directive::Bad(text.into())]]);
        }
    }
}
