//! Commands and searches that are run again.

use super::{Talk, Told, need};
use ctx_lab::needs::Kind;
use serde_json::{Value, json};

fn repeats(talk: &Talk) -> Vec<Told> {
    talk.needs(Kind::Repeat)
}

fn bash(command: &str) -> Value {
    json!({"command": command})
}

#[test]
fn the_same_search_or_command_is_a_repeat_while_nothing_changes() {
    let grep = || json!({"pattern": "fn main"});
    let twice =
        Talk::new().call("Grep", grep(), "a").call("Grep", grep(), "a").call("Grep", json!({"pattern": "x"}), "a");
    assert_eq!(repeats(&twice), [need(1, r#"Grep {"pattern":"fn main"}"#, &[(2, 0)])]);
    let listed = Talk::new().call("Bash", bash("ls -la src"), "a").call("Bash", bash(" ls -la src"), "a");
    assert_eq!(repeats(&listed), [need(1, "ls -la src", &[(2, 0)])]);
}

#[test]
fn after_a_change_and_for_commands_that_change_nothing_is_repeated() {
    let edit = || json!({"file_path": "/a", "old_string": "x", "new_string": "y"});
    let between = |tool: &str, input: Value| {
        Talk::new().call("Bash", bash("git diff"), "a").call(tool, input, "ok").call("Bash", bash("git diff"), "b")
    };
    assert_eq!(repeats(&between("Edit", edit())), []);
    assert_eq!(repeats(&between("Bash", bash("make generate"))), []);
    assert_eq!(repeats(&between("Read", json!({"file_path": "/a"}))).len(), 1, "looking changes nothing");
    assert_eq!(repeats(&Talk::new().call("Bash", bash("make"), "a").call("Bash", bash("make"), "a")), []);
    assert_eq!(
        repeats(&Talk::new().call("Bash", bash("cat a.rs"), "a").call("Bash", bash("cat a.rs"), "a")),
        [],
        "a read"
    );
}
