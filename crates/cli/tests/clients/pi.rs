//! Stock pi, started by `ctx run`, in front of a strict stand-in for Anthropic's API: a tool loop, resumed sessions, edits
//! in the middle of them, and its own compaction. pi names no session.

use std::io::Write;

use crate::providers::{Providers, has_removed};
use crate::stage::until;

const PI: [&str; 5] = ["pi", "--provider", "anthropic", "--model", "claude-sonnet-4-5"];

#[test]
fn pi_goes_on_with_an_edited_history_and_summarises_that() {
    let Some(stage) = Providers::with("CTX_TEST_PI", &["anthropic"]) else { return };
    std::fs::create_dir_all(stage.path("home/.pi/agent")).expect("a folder");
    let settings = r#"{"compaction":{"enabled":true,"keepRecentTokens":20,"reserveTokens":1000}}"#;
    std::fs::write(stage.path("home/.pi/agent/settings.json"), settings).expect("settings");
    let pi = |arguments: &[&str]| stage.agent(&[&PI[..], arguments].concat());
    let said = pi(&["-p", "please look at the first thing [[tool echo first_output; seq 1000 1100]]"]);
    assert!(said.contains("1100"), "{said}");
    pi(&["-c", "-p", "a tangent_word about cows [[say a long answer with a tangent_word about cows]]"]);
    stage.edit(&["delete", "t2"]);
    stage.edit(&["drop-results", "t1"]);
    pi(&["-c", "-p", "now we go back to the work we had begun [[say back at the work that we had begun]]"]);
    assert_eq!(stage.client(), "pi");
    let sent = stage.received().pop().expect("a request").0;
    assert_eq!(has_removed(&sent), [false, false], "{sent}");

    let before = stage.received().len();
    let mut compacting = stage.start(&[&PI[..], &["-c", "--mode", "rpc"]].concat());
    writeln!(compacting.stdin.as_ref().expect("an input"), r#"{{"type":"compact"}}"#).expect("written");
    let (asks, _) = until("it asks for a summary", || stage.received().into_iter().nth(before));
    assert!(asks.contains("context summarization") && asks.contains("first thing"), "{asks}");
    assert_eq!(has_removed(&asks), [false, false], "{asks}");
    std::thread::sleep(std::time::Duration::from_secs(1));
    drop(compacting.stdin.take());
    compacting.wait().expect("its end");

    pi(&["-c", "-p", "and then what"]);
    let sent = stage.received().pop().expect("a request").0;
    assert!(sent.contains("compacted into the following summary"), "{sent}");
    assert_eq!(has_removed(&sent), [false, false], "{sent}");
    let all = stage.json(&["conversations"]);
    assert_eq!(all["conversations"].as_array().map(Vec::len), Some(1), "{all}");
    stage.assert_taken();
}
