//! Operations without effect are refused and make no commit.

use crate::check;
use crate::regressions::{apply, turns, world};
use crate::world::World;
use ctx_api::edit::{EditRequest, EditResult};
use ctx_core::ErrorCode;
use ctx_engine::Refusal;
use serde_json::{Value, json};

fn called() -> World {
    let mut world = world();
    turns(&mut world, 0, 1);
    world.call(0, "toolu_1").expect("accepted");
    world.result(0);
    turns(&mut world, 0, 2);
    world
}

fn edit(world: &World, operations: Value) -> Result<EditResult, Refusal> {
    let operations = serde_json::from_value(operations).expect("operations");
    let edit = EditRequest { operations, author: "cli".into(), ..EditRequest::default() };
    world.service().apply(&check::name(world, 0), edit)
}

fn commits(world: &World) -> usize {
    world.service().history(&check::name(world, 0), usize::MAX).expect("a history").commits.len()
}

#[track_caller]
fn does_nothing(world: &World, operation: Value, says: &str) {
    let before = commits(world);
    let refusal = edit(world, json!([operation])).expect_err("nothing to do");
    assert_eq!((refusal.code, refusal.message.as_str()), (ErrorCode::NothingToDo, says));
    assert!(!refusal.hint.is_empty());
    assert_eq!(commits(world), before);
}

/// Makes a change; the same again changes nothing.
#[track_caller]
fn only_once(world: &World, operation: Value, says: &str) {
    apply(world, 0, operation.clone());
    does_nothing(world, operation, says);
}

#[test]
fn the_same_again_changes_nothing() {
    let world = called();
    only_once(&world, json!({"op": "pin", "ids": ["t1"]}), "`pin` has no effect: `t1` is already in that state.");
    does_nothing(
        &world,
        json!({"op": "unpin", "ids": ["t2", "t3"]}),
        "`unpin` has no effect: `t2`, `t3` are already in that state.",
    );
    let title = json!({"op": "retitle", "id": "t1", "title": "the start"});
    only_once(&world, title, "`retitle` has no effect: `t1` is already in that state.");
    let drop = json!({"op": "drop-results", "ids": ["t2"]});
    only_once(&world, drop, "All matching tool results in `t2` are dropped already.");
    only_once(
        &world,
        json!({"op": "edit", "id": "t1", "text": "new"}),
        "`edit` has no effect: `t1` is already in that state.",
    );
    let compact = json!({"op": "compact", "ids": ["t1"], "text": "short"});
    only_once(&world, compact, "`compact` has no effect: `t1` is already in that state.");
    only_once(&world, json!({"op": "offload", "ids": ["t1"]}), "`t1` is already offloaded.");
    only_once(&world, json!({"op": "delete", "ids": ["t1"]}), "`t1` was already removed.");
    only_once(&world, json!({"op": "move", "ids": ["t2"], "to": {"end": true}}), "`t2` is already there.");
}

#[test]
fn what_the_client_said_itself_is_not_written_over_with_the_same() {
    let world = called();
    let shown = |id: &str| world.service().show(&check::name(&world, 0), id, None).expect("shown").messages.remove(0);
    for id in ["t1#0", "t1#0.0", "t2#2.0"] {
        let text = shown(id).blocks[0].text.clone();
        let edit = json!({"op": "edit", "id": id, "text": text});
        does_nothing(&world, edit, &format!("`edit` has no effect: `{id}` is already in that state."));
    }
    let raw: Value = serde_json::from_str(shown("t2#1").blocks[0].raw.as_ref().expect("JSON").get()).expect("JSON");
    let edit = json!({"op": "edit", "id": "t2#1.0", "raw": raw});
    does_nothing(&world, edit, "`edit` has no effect: `t2#1.0` is already in that state.");
    let edit = json!({"op": "edit", "id": "t2#1", "raw": {"role": "assistant", "content": [raw]}});
    does_nothing(&world, edit, "`edit` has no effect: `t2#1` is already in that state.");
    // What was dropped and comes back is a change.
    let result = shown("t2#2.0").blocks[0].text.clone();
    apply(&world, 0, json!({"op": "drop-results", "ids": ["t2"]}));
    apply(&world, 0, json!({"op": "edit", "id": "t2#2.0", "text": result}));
}

#[test]
fn among_others_that_change_something_it_may_stand() {
    let world = called();
    apply(&world, 0, json!({"op": "delete", "ids": ["t1"]}));
    let delete = |id: &str| json!({"op": "delete", "ids": [id]});
    let applied = edit(&world, json!([delete("t1"), delete("t2"), delete("t2")])).expect("applied");
    assert_eq!(applied.frames, ["t2"]);
    let before = commits(&world);
    let refusal = edit(&world, json!([delete("t1"), delete("t2")])).expect_err("nothing to do");
    assert_eq!(refusal.message, "Operation 1 (`delete`): `t1` was already removed.");
    let pins = json!([{"op": "pin", "ids": ["t3"]}, {"op": "unpin", "ids": ["t3"]}]);
    let refusal = edit(&world, pins).expect_err("nothing to do");
    assert_eq!((refusal.code, commits(&world)), (ErrorCode::NothingToDo, before));
    assert_eq!(edit(&world, json!([delete("t3"), delete("t77")])).expect_err("unknown").code, ErrorCode::UnknownId);
}
