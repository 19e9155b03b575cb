//! From the command line to the request.

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use ctx_core::ErrorCode;
use serde_json::{Value, json};

use super::*;
use crate::arguments::{Cli, PlaceArguments, Verb};

fn change(line: &str) -> Change {
    // Handles quotes like a shell, and nothing else.
    let words = line.split('\'').enumerate().flat_map(|(number, piece)| match number % 2 {
        0 => piece.split_whitespace().collect(),
        _ => vec![piece],
    });
    match Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}")).verb {
        Verb::Change(change) => change,
        other => panic!("{other:?}"),
    }
}

fn asked(line: &str) -> (&'static str, Value) {
    let mut change = change(line);
    let request = change.request(&Context::of_process(PlaceArguments::default())).expect("a request");
    (request.place(), serde_json::from_str(&request.body(change.how(), "cli")).unwrap_or_default())
}

#[track_caller]
fn operation(line: &str, expected: Value) {
    let (place, body) = asked(line);
    assert_eq!((place, &body["operations"]), ("operations", &json!([expected])), "{line}");
}

#[test]
fn operations_are_what_the_log_will_hold() {
    operation("ctx delete t2..t5 t3,t7", json!({"op": "delete", "ids": ["t2..t5", "t3,t7"]}));
    operation(
        "ctx delete --tool Read --larger-than 2000 --older-than 5 --force",
        json!({"op": "delete", "ids": [], "select": {"tool": "Read", "larger_than": 2000, "older_than": 5}, "force": true}),
    );
    operation(
        "ctx drop-results --superseded",
        json!({"op": "drop-results", "ids": [], "select": {"superseded": true}}),
    );
    operation("ctx edit t3#0 --text '- a b'", json!({"op": "edit", "id": "t3#0", "text": "- a b"}));
    operation("ctx edit t3 --text ''", json!({"op": "edit", "id": "t3", "text": ""}));
    operation(
        "ctx edit t3 --raw '{\"role\":\"user\",\"content\":\"x\"}' --force",
        json!({"op": "edit", "id": "t3", "raw": {"role": "user", "content": "x"}, "force": true}),
    );
    operation("ctx compact t3", json!({"op": "compact", "ids": ["t3"]}));
    operation("ctx retitle t3 --auto", json!({"op": "retitle", "id": "t3", "auto": true}));
    operation("ctx compact t3/5..9 --text short", json!({"op": "compact", "ids": ["t3/5..9"], "text": "short"}));
    operation("ctx offload t3", json!({"op": "offload", "ids": ["t3"]}));
    operation(
        "ctx offload --larger-than 9 --summary log",
        json!({"op": "offload", "ids": [], "select": {"larger_than": 9}, "summary": "log"}),
    );
    operation("ctx restore t3 t4", json!({"op": "restore", "ids": ["t3", "t4"]}));
    operation("ctx move t5 --after t2", json!({"op": "move", "ids": ["t5"], "to": {"after": "t2"}}));
    operation("ctx move t5 t6 --start", json!({"op": "move", "ids": ["t5", "t6"], "to": {"start": true}}));
    let file = std::env::temp_dir().join(format!("ctx-add-{}.txt", std::process::id()));
    std::fs::write(&file, "from a file\n").expect("a file");
    let line = format!("ctx add --file {}", file.display());
    operation(&line, json!({"op": "add", "text": "from a file", "role": "user", "to": {"end": true}}));
    let _ = std::fs::remove_file(&file);
    operation("ctx add --text hi", json!({"op": "add", "text": "hi", "role": "user", "to": {"end": true}}));
    operation(
        "ctx add --text hi --role assistant --after t1 --title T",
        json!({"op": "add", "text": "hi", "role": "assistant", "to": {"after": "t1"}, "title": "T"}),
    );
    operation("ctx combine t2 t3 --after t7", json!({"op": "combine", "ids": ["t2", "t3"], "after": "t7"}));
    operation("ctx split t3 --at 2,4", json!({"op": "split", "id": "t3", "at": [2, 4]}));
    operation("ctx split t3 --at-step 5", json!({"op": "split", "id": "t3", "at_step": [5]}));
    operation("ctx split t3 --each-step", json!({"op": "split", "id": "t3", "each_step": true}));
    operation("ctx drop-results", json!({"op": "drop-results", "ids": []}));
    operation(
        "ctx drop-results t3 --tool Read --result toolu_1",
        json!({"op": "drop-results", "ids": ["t3"], "select": {"tool": "Read"}, "result": "toolu_1"}),
    );
    operation(
        "ctx summarize-results t3/5 --text short --larger-than 7",
        json!({"op": "summarize-results", "ids": ["t3/5"], "select": {"larger_than": 7}, "text": "short"}),
    );
    operation(
        "ctx retitle t3 --title T --summary S",
        json!({"op": "retitle", "id": "t3", "title": "T", "summary": "S"}),
    );
    operation("ctx pin t3", json!({"op": "pin", "ids": ["t3"]}));
    operation("ctx unpin t3", json!({"op": "unpin", "ids": ["t3"]}));
    operation(
        "ctx import c3f9 t2 --start",
        json!({"op": "import", "from": "c3f9", "ids": ["t2"], "to": {"start": true}}),
    );
}

#[test]
fn moves_in_the_history_say_what_and_where() {
    let history = |line: &str, action: &str, target: Value, name: Value, cascade: bool| {
        let (place, body) = asked(line);
        let said = [&body["action"], &body["target"], &body["name"], &body["cascade"]];
        assert_eq!((place, said), ("history", [&action.into(), &target, &name, &cascade.into()]), "{line}");
    };
    history("ctx revert", "revert", Value::Null, Value::Null, false);
    history("ctx revert 3f9a --cascade", "revert", "3f9a".into(), Value::Null, true);
    history("ctx undo", "undo", Value::Null, Value::Null, false);
    history("ctx redo", "redo", Value::Null, Value::Null, false);
    history("ctx rollback good", "rollback", "good".into(), Value::Null, false);
    history("ctx branch trial --at 3f9a", "branch", "3f9a".into(), "trial".into(), false);
    history("ctx checkout main", "checkout", Value::Null, "main".into(), false);
    history("ctx tag good 3f9a", "tag", "3f9a".into(), "good".into(), false);
    history("ctx tag good", "tag", Value::Null, "good".into(), false);
    history("ctx branch --delete trial", "remove_branch", Value::Null, "trial".into(), false);
    history("ctx tag -d good", "remove_tag", Value::Null, "good".into(), false);
    assert_eq!(asked("ctx heal").0, "heal");
    assert_eq!((asked("ctx branch").0, asked("ctx tag").0), ("branches", "tags"), "without a name they are listed");
}

#[test]
fn every_change_is_signed_and_may_carry_a_note_and_an_expectation() {
    let (_, body) = asked("ctx undo --note 'too much' --expect 3f9a --dry-run");
    assert_eq!(body["author"], "cli");
    assert_eq!((&body["note"], &body["expect"], &body["dry_run"]), (&"too much".into(), &"3f9a".into(), &true.into()));
    for line in ["ctx undo", "ctx revert 3f9a", "ctx rollback good", "ctx redo", "ctx heal", "ctx delete t3"] {
        assert_eq!(asked(&format!("{line} --when cold")).1["when"], "cold", "{line} can wait");
    }
    let (_, body) = asked("ctx heal");
    assert_eq!((&body["note"], &body["expect"], &body["dry_run"]), (&Value::Null, &Value::Null, &false.into()));
}

#[test]
fn every_verb_that_writes_can_be_tried_noted_and_read_by_programs() {
    let preview = Cli::command().find_subcommand("preview").expect("a verb").clone();
    assert!(preview.get_subcommands().count() > 20);
    for verb in preview.get_subcommands() {
        let flags: Vec<&str> = verb.get_arguments().filter_map(|flag| flag.get_long()).collect();
        for flag in ["json", "dry-run", "note", "expect", "conv"] {
            assert!(flags.contains(&flag), "{}: --{flag}", verb.get_name());
        }
        assert!(Cli::command().find_subcommand(verb.get_name()).is_some(), "{}", verb.get_name());
    }
}

#[test]
fn a_preview_is_the_change_without_making_it() {
    let line = ["ctx", "preview", "delete", "t3", "--conv", "c3"];
    let Verb::Preview(_) = Cli::try_parse_from(line).expect("parsed").verb else { panic!("a preview") };
    for line in [&["ctx", "preview"][..], &["ctx", "preview", "list"], &["ctx", "preview", "delete"]] {
        assert!(Cli::try_parse_from(line).is_err(), "{line:?}");
    }
}

#[test]
fn what_cannot_be_meant_is_wrong_usage() {
    for (line, kind) in [
        ("ctx delete", ErrorKind::MissingRequiredArgument),
        ("ctx delete ''", ErrorKind::ValueValidation),
        ("ctx edit", ErrorKind::MissingRequiredArgument),
        ("ctx edit t3 --text a --file b", ErrorKind::ArgumentConflict),
        ("ctx compact", ErrorKind::MissingRequiredArgument),
        ("ctx move t3", ErrorKind::MissingRequiredArgument),
        ("ctx move t3 --start --end", ErrorKind::ArgumentConflict),
        ("ctx add --text a --role system", ErrorKind::InvalidValue),
        ("ctx split t3", ErrorKind::MissingRequiredArgument),
        ("ctx split t3 --at 2 --each-step", ErrorKind::ArgumentConflict),
        ("ctx split t3 --at two", ErrorKind::ValueValidation),
        ("ctx retitle t3 --title a --auto", ErrorKind::ArgumentConflict),
        ("ctx retitle t3", ErrorKind::MissingRequiredArgument),
        ("ctx import c3", ErrorKind::MissingRequiredArgument),
        ("ctx rollback", ErrorKind::MissingRequiredArgument),
        ("ctx branch --at 3f9a", ErrorKind::MissingRequiredArgument),
        ("ctx branch trial --delete trial", ErrorKind::ArgumentConflict),
        ("ctx tag good --delete good", ErrorKind::ArgumentConflict),
        ("ctx batch", ErrorKind::MissingRequiredArgument),
    ] {
        let words: Vec<&str> = line.split(' ').map(|word| word.trim_matches('\'')).collect();
        assert_eq!(Cli::try_parse_from(words).expect_err(line).kind(), kind, "{line}");
    }
}

#[test]
fn raw_json_that_is_none_is_told_with_its_place() {
    let change = change("ctx edit t3 --raw '{\"role\":\"user\"'");
    let failure = change.request(&Context::of_process(PlaceArguments::default())).expect_err("refused");
    assert_eq!(failure.code, ErrorCode::InvalidJson);
    assert!(failure.message.contains("expected `,` or `}`") || failure.message.contains("is incomplete"), "{failure}");
    assert!(failure.message.contains("line 1, column 14"), "{failure}");
}

#[test]
fn every_operation_has_a_verb() {
    let said = serde_json::from_str::<Operation>(r#"{"op":"none"}"#).expect_err("unknown").to_string();
    let (_, known) = said.split_once("expected one of ").expect("the operations");
    let operations: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    assert!(operations.contains(&"delete") && operations.len() > 10, "{operations:?}");
    let verbs = Cli::command();
    let missing: Vec<_> = operations.iter().filter(|name| verbs.find_subcommand(name).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
