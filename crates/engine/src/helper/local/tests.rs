use super::*;

fn text(role: &str, text: &str) -> Piece {
    Piece { role: role.into(), kind: "text".into(), text: text.into(), ..Piece::default() }
}

fn call(tool: &str, label: &str) -> Piece {
    let input = format!("{{\"x\":\"{label}\"}}");
    Piece {
        role: "assistant".into(),
        kind: "tool_use".into(),
        tool: Some(tool.into()),
        label: Some(label.into()),
        text: input,
        ..Piece::default()
    }
}

fn answer(answer: &str, is_error: bool) -> Piece {
    Piece { role: "user".into(), kind: "tool_result".into(), text: answer.into(), is_error, ..Piece::default() }
}

fn material(pieces: Vec<Piece>) -> Material {
    Material { name: "t3".into(), title: "A frame".into(), pieces }
}

#[test]
fn a_part_of_the_conversation_becomes_what_was_asked_done_and_reached() {
    let long = "compiling\n".repeat(200);
    let part = material(vec![
        text("user", "Please fix the parser in src/parse.rs"),
        call("Read", "src/parse.rs"),
        answer(&long, false),
        call("Bash", "cargo test"),
        answer("error[E0308]: mismatched types\n --> src/parse.rs:7", true),
        call("Bash", "cargo test -q"),
        answer("ok", false),
        text("assistant", "The parser works now."),
    ]);
    let words = words(Kind::Summary, &part).expect("words");
    assert_eq!(
        words,
        "Asked: Please fix the parser in src/parse.rs\nDone: Read (src/parse.rs), Bash ×2 (cargo test, cargo test -q)\n\
         Files: src/parse.rs\nErrors on the way:\n- error[E0308]: mismatched types\nOutcome: The parser works now.\n\
         (203 lines of tool results left out)"
    );
}

#[test]
fn a_long_result_keeps_its_ends_headings_errors_and_numbers() {
    let mut lines: Vec<String> = (1..=300).map(|at| format!("straw {at}")).collect();
    lines[99] = "error: no needle".into();
    lines[149] = "## A heading".into();
    lines[199] = "see src/hay/stack.rs:12".into();
    let piece = Piece { label: Some("cargo test".into()), ..answer(&lines.join("\n"), false) };
    let words = words(Kind::Result, &material(vec![piece])).expect("words");
    for kept in [
        "[Extract of cargo test: 300 lines,",
        "straw 1\n",
        "100: error: no needle",
        "150: ## A heading",
        "200: see src/hay",
        "straw 300",
        "287 lines left out",
    ] {
        assert!(words.contains(kept), "{kept}: {words}");
    }
    assert!(words.chars().count() < 600, "{words}");
}

#[test]
fn a_long_result_of_one_line_is_cut() {
    let words = words(Kind::Result, &material(vec![answer(&"x".repeat(50_000), false)])).expect("words");
    assert!(words.chars().count() < 1_400);
}

#[test]
fn what_is_short_already_is_left_alone() {
    assert_eq!(words(Kind::Result, &material(vec![answer("seven cows", false)])), Err(Nonsense::NotShorter));
    assert_eq!(words(Kind::Summary, &material(vec![])), Err(Nonsense::Empty));
}

#[test]
fn whatever_comes_the_words_are_shorter_and_within_their_limits() {
    for seed in 0..200usize {
        let odd = ["é\u{301}", "\u{1b}[0m", "error ", "\n", "a/b.rs ", "<system-reminder>", "# x\n", "\t", "…", "𝕏"];
        let text: String = (0..seed * 7).map(|at| odd[(at * 31 + seed * 17 + at * at) % odd.len()]).collect();
        let part = material(vec![
            self::text("user", &text),
            call("Bash", &text),
            answer(&text, seed % 2 == 0),
            self::text("assistant", &text),
        ]);
        if let Ok(words) = words(Kind::Summary, &part) {
            assert!(
                words.chars().count() <= Kind::Summary.longest()
                    && !words.contains('\u{1b}')
                    && !words.contains("<system-")
            );
        }
        if let Ok(words) = words(Kind::Result, &material(vec![answer(&text, false)])) {
            assert!(words.chars().count() < text.chars().count() && words.chars().count() <= Kind::Result.longest());
        }
        if let Ok(title) = words(Kind::Title, &part) {
            assert!(title.chars().count() <= Kind::Title.longest() && !title.contains('\n'));
        }
    }
}

#[test]
fn a_title_says_what_was_done_when_the_words_say_little() {
    let title = |words: &str| {
        self::words(
            Kind::Title,
            &material(vec![text("user", words), call("Edit", "src/parse.rs"), call("Bash", "cargo test")]),
        )
    };
    assert_eq!(title("yes").as_deref(), Ok("Yes: Edit (src/parse.rs), Bash (cargo test)"));
    assert_eq!(title("please can you fix the old parser. It is broken!").as_deref(), Ok("Fix the old parser"));
    assert!(title(&"many words ".repeat(40)).expect("a title").ends_with('…'));
}
