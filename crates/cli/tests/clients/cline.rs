//! Stock Cline in a terminal, in front of a strict stand-in for OpenAI's Chat Completions: a tool loop, edits in the
//! middle of a session, and its own compaction. Cline takes its address from its settings only, and names no session.

use crate::providers::{KEY, Providers, has_removed};
use crate::stage::until;
use crate::terminal::Terminal;

/// Stops the process that Cline leaves in the background.
struct Hub<'a>(&'a Providers);

impl Drop for Hub<'_> {
    fn drop(&mut self) {
        self.0.alone(&["hub", "stop"]);
    }
}

#[test]
fn cline_goes_on_with_an_edited_history_and_compacts_that() {
    let Some(stage) = Providers::with("CTX_TEST_CLINE", &["openai"]) else { return };
    let _hub = Hub(&stage);
    let url = format!("{}/v1", stage.url());
    let set_up = stage.alone(&["auth", "openai-compatible", "-b", &url, "-k", KEY, "-m", "gpt-5.5"]);
    assert!(set_up.status.success(), "{set_up:?}");
    let Some(terminal) = Terminal::open(stage.path("tmux"), &stage.through(&["cline", "-i"])) else { return };
    terminal.wait_for("Auto-approve");
    // An advertisement takes the first key.
    std::thread::sleep(std::time::Duration::from_secs(2));
    if terminal.screen().contains("any other key to close") {
        terminal.press("x");
    }
    let ask = |prompt: &str, answer: &str| {
        terminal.say(prompt);
        terminal.wait_for(answer);
        until("the reply is recorded", || {
            let events = stage.events();
            let newest = events.iter().rfind(|event| event["kind"] == "request" || event["kind"] == "answer")?;
            (newest["kind"] == "answer").then_some(())
        });
    };
    ask("please look [[chain echo first_output; seq 1000 1100]]", "* done:");
    ask("a tangent_word about cows [[say an answer with_a_tangent_word]]", "* an answer with_a_tangent_word");
    stage.edit(&["delete", "t2"]);
    stage.edit(&["drop-results", "t1"]);
    ask("go on [[say back_again]]", "* back_again");
    assert_eq!(stage.client(), "cline");
    let sent = stage.received().pop().expect("a request").0;
    assert!(sent.contains("please look") && sent.contains("go on"), "{sent}");
    assert_eq!(has_removed(&sent), [false, false], "{sent}");

    let before = stage.received().len();
    terminal.say("/compact");
    terminal.wait_for("Context compacted");
    ask("and now [[say the_end]]", "* the_end");
    let since = stage.received().split_off(before);
    assert!(since.len() >= 2 && since[0].0.contains("please look"), "{since:?}");
    assert!(since.iter().all(|(body, _)| has_removed(body) == [false, false]), "{since:?}");
    stage.assert_taken();
}
