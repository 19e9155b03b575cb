//! Stock goose, started by `ctx run`, in front of a strict stand-in for Anthropic's API: a tool loop, resumed sessions,
//! edits in the middle of them, and its own compaction, which puts the history into a system prompt.

use crate::providers::{Providers, has_removed};

const SETTINGS: [(&str, &str); 4] = [
    ("GOOSE_PROVIDER", "anthropic"),
    ("GOOSE_MODEL", "claude-sonnet-4-5"),
    ("GOOSE_DISABLE_KEYRING", "1"),
    ("GOOSE_MODE", "auto"),
];

#[test]
fn goose_goes_on_with_an_edited_history_and_compacts_that() {
    let Some(stage) = Providers::with("CTX_TEST_GOOSE", &["anthropic"]) else { return };
    let goose = |more: &[(&str, &str)], arguments: &[&str]| {
        stage.agent_with(&[&SETTINGS[..], more].concat(), &[&["goose", "run", "-n", "one"], arguments].concat())
    };
    let said = goose(&[], &["-t", "please look [[tool echo first_output; seq 1000 1100]]"]);
    assert!(said.contains("1100"), "{said}");
    goose(&[], &["-r", "-t", "a tangent_word about cows [[say an answer with a tangent_word]]"]);
    stage.edit(&["delete", "t2"]);
    stage.edit(&["drop-results", "t1"]);
    let said = goose(&[], &["-r", "-t", "go on [[say back_again]]"]);
    assert!(said.contains("back_again"), "{said}");
    assert_eq!(stage.client(), "goose");
    let sent = stage.received().pop().expect("a request").0;
    assert_eq!(has_removed(&sent), [false, false], "{sent}");

    let before = stage.received().len();
    let said = goose(&[("GOOSE_AUTO_COMPACT_THRESHOLD", "0.005")], &["-r", "-t", "and now [[say the_end]]"]);
    assert!(said.contains("Compaction complete") && said.contains("the_end"), "{said}");
    let since = stage.received().split_off(before);
    let asked = &since.first().expect("a request for a summary").0;
    assert!(asked.contains("context limit was reached") && asked.contains("please look"), "{asked}");
    assert!(since.iter().all(|(body, _)| has_removed(body) == [false, false]), "{since:?}");
    goose(&[], &["-r", "-t", "and then [[say the_very_end]]"]);
    assert_eq!(stage.titles().last().map(String::as_str), Some("and then [[say the_very_end]]"));
    let all = stage.json(&["conversations"]);
    assert_eq!(all["conversations"].as_array().map(Vec::len), Some(1), "{all}");
    stage.assert_taken();
}
