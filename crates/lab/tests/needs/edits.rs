//! Replaced texts.

use super::{Talk, Told, need};
use ctx_lab::needs::Kind;
use serde_json::{Value, json};

fn edit(old: &str) -> Value {
    json!({"file_path": "a", "old_string": old, "new_string": "changed"})
}

fn edits(talk: &Talk) -> Vec<Told> {
    talk.needs(Kind::Edit)
}

#[test]
fn a_replaced_text_is_found_behind_the_line_numbers_of_a_view() {
    for view in ["     9→fn one() {\n    10→\ttwo();\n    11→}", "9\tfn one() {\n10\t\ttwo();\n11\t}\n"] {
        let talk = Talk::new().call("Read", json!({}), view).call("Edit", edit("one() {\n\ttwo();\n}"), "ok");
        assert_eq!(edits(&talk), [need(1, "one() {\n\ttwo();\n}", &[(2, 0)])]);
    }
}

#[test]
fn line_numbers_that_an_edit_copied_from_a_view_are_not_needed() {
    let view = "     9→fn one() {\n    10→    two();\n    11→}";
    let talk =
        Talk::new().call("Read", json!({}), view).call("Edit", edit("     9→fn one() {\n    10→    two();"), "no");
    assert_eq!(edits(&talk), [need(1, "fn one() {\n    two();", &[(2, 0)])]);
    let text = "1\t2 apples\nand 3\tpears";
    let talk = Talk::new().call("Read", json!({}), text).call("Edit", edit(text), "ok");
    assert_eq!(edits(&talk), [need(1, text, &[(2, 0)])], "not every line has one");
}

#[test]
fn it_is_found_in_searches_and_diffs() {
    let old = "let a = one();\nlet b = two();";
    for result in [
        "src/a-b.rs:12:let a = one();\nsrc/a-b.rs-13-let b = two();",
        "12:let a = one();\n13:let b = two();",
        "@@ -1,2 +1,2 @@\n-gone\n+let a = one();\n let b = two();",
    ] {
        let talk = Talk::new().call("Bash", json!({}), result).call("Edit", edit(old), "ok");
        assert_eq!(edits(&talk), [need(1, old, &[(2, 0)])], "{result}");
    }
}

#[test]
fn texts_and_inputs_of_earlier_calls_are_sources_too_but_not_thinking_or_the_answer_itself() {
    let mut talk = Talk::new().user("Change let first = 1; please").says("It reads let first = 1; now");
    talk = talk.call("Write", json!({"file_path": "a", "content": "x\nlet first = 1;\n"}), "ok");
    talk =
        talk.call("Edit", json!({"file_path": "a", "old_string": "none of it", "new_string": "let first = 1;"}), "ok");
    talk.messages[2]["content"]
        .as_array_mut()
        .expect("blocks")
        .push(json!({"type": "thinking", "thinking": "let first = 1;"}));
    talk = talk.calls(&[("Edit", edit("let first = 1;"), "ok"), ("Edit", edit("let first = 1;"), "ok")]);
    assert_eq!(edits(&talk), [need(3, "let first = 1;", &[(1, 0), (2, 0), (3, 0), (5, 0)])]);
}

#[test]
fn what_stands_in_no_block_as_a_whole_is_looked_for_line_by_line() {
    let talk = Talk::new()
        .call("Read", json!({}), "    1→  let the_first = line;\n    2→}")
        .call("Edit", json!({"file_path": "a", "old_string": "", "new_string": "let the_second = line;"}), "ok")
        .call(
            "Edit",
            edit("  let the_first = line;\n  let the_second = line;\n  let the_third = line;\n}\nshort\n"),
            "ok",
        );
    let lines = [need(2, "let the_first = line;", &[(2, 0)]), need(2, "let the_second = line;", &[(3, 0)])];
    assert_eq!(edits(&talk), lines, "what stands nowhere was written by the model, and what is short says nothing");
}

#[test]
fn every_kind_of_edit_call_is_known() {
    let old = "the replaced text";
    for input in [
        json!({"command": "str_replace", "path": "a", "old_str": old, "new_str": "x"}),
        json!({"file_path": "a", "edits": [{"old_string": old, "new_string": "x"}]}),
        json!({"input": format!("*** Begin Patch\n*** Update File: a\n@@\n-{old}\n+x\n*** Add File: b\n+y\n*** End Patch")}),
    ] {
        let talk = Talk::new().user(format!("here is {old} in a line")).call("some_tool", input.clone(), "ok");
        assert_eq!(edits(&talk), [need(0, old, &[(1, 0)])], "{input}");
    }
}

#[test]
fn of_many_sources_the_first_and_the_last_are_kept() {
    let mut talk = Talk::new();
    for _ in 0..100 {
        talk = talk.user("the replaced text");
    }
    let found = edits(&talk.call("Edit", edit("the replaced text"), "ok"));
    let kept: Vec<(usize, usize)> = (1..=16).chain(53..=100).map(|message| (message, 0)).collect();
    assert_eq!(found, [need(0, "the replaced text", &kept)]);
}
