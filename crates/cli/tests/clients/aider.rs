//! Stock aider in a terminal, started by `ctx run`, in front of a strict stand-in for Anthropic's API: a session of several
//! turns with an edit between them, and a question in its mode `ask`. aider has no tools and names no session.

use crate::providers::Providers;
use crate::stage::until;
use crate::terminal::Terminal;

const AIDER: [&str; 13] = [
    "aider",
    "--no-git",
    "--yes-always",
    "--no-check-update",
    "--no-show-model-warnings",
    "--no-show-release-notes",
    "--analytics-disable",
    "--no-auto-lint",
    "--no-pretty",
    "--no-fancy-input",
    "--model",
    "anthropic/claude-sonnet-4-5",
    "a.txt",
];

#[test]
fn aider_goes_on_with_an_edited_history() {
    let Some(stage) = Providers::with("CTX_TEST_AIDER", &["anthropic"]) else { return };
    std::fs::write(stage.path("work/a.txt"), "hello\n").expect("a file");
    let Some(terminal) = Terminal::open(stage.path("tmux"), &stage.through(&AIDER)) else { return };
    terminal.wait_for("Added a.txt to the chat");
    let ask = |prompt: &str| {
        let before = stage.received().len();
        terminal.say(prompt);
        until("the reply is recorded", || {
            let events = stage.events();
            let answers = events.iter().filter(|event| event["kind"] == "answer").count();
            (stage.received().len() > before && answers > before).then_some(())
        });
    };
    ask("please look [[say a first_answer]]");
    assert_eq!(stage.client(), "aider");
    ask("a tangent_word about cows [[say an answer with a tangent_word]]");
    let titles = stage.titles();
    assert!(titles.last().is_some_and(|title| title.starts_with("a tangent_word")), "{titles:?}");
    stage.edit(&["delete", &format!("t{}", titles.len())]);
    ask("go on [[say back_again]]");
    let sent = stage.received().pop().expect("a request").0;
    assert!(sent.contains("first_answer") && sent.contains("go on"), "{sent}");
    assert!(!sent.contains("tangent_word"), "{sent}");
    ask("/ask and now [[say the_end]]");
    let sent = stage.received().pop().expect("a request").0;
    assert!(sent.contains("Act as an expert code analyst") && !sent.contains("tangent_word"), "{sent}");
    stage.assert_taken();
}
