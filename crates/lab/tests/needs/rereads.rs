//! Files that are read again.

use super::{Talk, Told, need};
use ctx_lab::needs::Kind;
use serde_json::{Value, json};

fn rereads(talk: &Talk) -> Vec<Told> {
    talk.needs(Kind::Reread)
}

fn lines(offset: u64, limit: u64) -> Value {
    json!({"file_path": "/a/b.rs", "offset": offset, "limit": limit})
}

fn bash(command: &str) -> Value {
    json!({"command": command})
}

#[test]
fn the_same_range_and_a_part_of_it_are_read_again_but_not_more() {
    let talk =
        Talk::new().call("Read", lines(10, 20), "x").call("Read", lines(10, 20), "x").call("Read", lines(15, 5), "x");
    let again = [need(1, "/a/b.rs 10–29", &[(2, 0)]), need(2, "/a/b.rs 15–19", &[(2, 0), (4, 0)])];
    assert_eq!(rereads(&talk), again);
    assert_eq!(
        rereads(&talk.call("Read", lines(10, 21), "x").call("Read", json!({"file_path": "/a/c.rs"}), "x")),
        again
    );
}

#[test]
fn commands_and_views_are_reads_too() {
    for (first, second, text) in [
        ("cat b.rs", "sed -n '3,9p' b.rs", "b.rs 3–9"),
        ("cat b.rs", "cd /a && head -n 20 /a/b.rs", "/a/b.rs 1–20"),
        ("nl -ba b.rs | sed -n '10,30p'", "nl -ba b.rs | sed -n '10,30p' | head -5", "b.rs 10–14"),
        ("tail -5 b.rs", "tail -5 b.rs", "b.rs tail -5 b.rs"),
    ] {
        let talk = Talk::new().call("bash", bash(first), "x").call("bash", bash(second), "x");
        assert_eq!(rereads(&talk), [need(1, text, &[(2, 0)])], "{first}, {second}");
    }
    for (first, second) in [
        ("head -5 b.rs", "head -6 b.rs"),
        ("cat b.rs c.rs", "cat b.rs c.rs"),
        ("cat b.rs | grep x", "cat b.rs | grep x"),
        ("cat b.rs > c.rs", "cat b.rs > c.rs"),
        ("tail -5 b.rs", "tail -4 b.rs"),
        ("python b.rs", "python b.rs"),
    ] {
        assert_eq!(
            rereads(&Talk::new().call("bash", bash(first), "x").call("bash", bash(second), "x")),
            [],
            "{first}, {second}"
        );
    }
    let view = json!({"command": "view", "path": "/a/b.rs", "view_range": [3, 9]});
    let talk = Talk::new().call("Read", lines(1, 100), "x").call("str_replace_based_edit_tool", view, "x");
    assert_eq!(rereads(&talk), [need(1, "/a/b.rs 3–9", &[(2, 0)])]);
}

#[test]
fn after_a_change_it_is_no_reading_again() {
    let (read, again) = (lines(1, 9), [need(2, "/a/b.rs 1–9", &[(2, 0)])]);
    let between = |tool: &str, input: Value| {
        rereads(&Talk::new().call("Read", read.clone(), "x").call(tool, input, "ok").call("Read", read.clone(), "x"))
    };
    assert_eq!(between("Edit", json!({"file_path": "/a/b.rs", "old_string": "1", "new_string": "2"})), []);
    assert_eq!(between("Write", json!({"file_path": "/a/b.rs", "content": "2"})), []);
    assert_eq!(between("Write", json!({"file_path": "/other/b.rs", "content": "2"})), again);
    for command in ["sed -i s/1/2/ b.rs", "echo 1 > b.rs", "git checkout .", "cargo fmt"] {
        assert_eq!(between("Bash", bash(command)), [], "{command}");
    }
    for command in ["grep x b.rs 2>&1 | head -3", "git diff b.rs", "cargo test", "git commit -m x"] {
        assert_eq!(between("Bash", bash(command)), again, "{command}");
    }
    assert_eq!(between("Task", json!({"prompt": "x", "subagent_type": "general-purpose"})), []);
    assert_eq!(between("Task", json!({"prompt": "x", "subagent_type": "Explore"})), again);
}

#[test]
fn only_results_of_the_last_20_steps_that_show_the_file_count() {
    let after = |steps: usize| {
        let mut talk = Talk::new().call("Read", lines(1, 9), "x");
        for _ in 1..steps {
            talk = talk.says("hm").user("go on");
        }
        rereads(&talk.call("Read", lines(1, 9), "x")).len()
    };
    assert_eq!((after(1), after(20), after(21)), (1, 1, 0));
    for result in ["<tool_use_error>File does not exist.</tool_use_error>", "File unchanged since last read."] {
        assert_eq!(rereads(&Talk::new().call("Read", lines(1, 9), result).call("Read", lines(1, 9), "x")), []);
    }
}
