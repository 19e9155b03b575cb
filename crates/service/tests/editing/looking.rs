//! Views show exactly the sent content, including repairs by the provider's rules.

use crate::check;
use crate::regressions::{apply, turns, world};
use crate::world::World;
use ctx_api::frames::FrameView;
use ctx_api::history::Diff;
use ctx_api::show::BlockView;
use serde_json::json;

/// A frame whose model calls a tool, and some after it.
fn called() -> World {
    let mut world = world();
    turns(&mut world, 0, 1);
    world.call(0, "toolu_1").expect("accepted");
    world.result(0);
    turns(&mut world, 0, 3);
    world
}

fn frame(world: &World, id: &str) -> FrameView {
    let list = world.service().frames(&check::name(world, 0), true, None).expect("a list");
    let sum: u64 = list.frames.iter().map(|frame| frame.tokens).sum();
    assert!(list.tokens.abs_diff(sum) <= list.frames.len() as u64, "each is rounded: {} {sum}", list.tokens);
    list.frames.into_iter().find(|frame| frame.id == id).expect("a frame")
}

fn blocks(world: &World, id: &str) -> Vec<BlockView> {
    let shown = world.service().show(&check::name(world, 0), id, None).expect("shown");
    shown.messages.into_iter().flat_map(|message| message.blocks).collect()
}

fn diff(world: &World) -> Diff {
    world.service().diff(&check::name(world, 0), "source", "HEAD").expect("a comparison")
}

fn total(world: &World) -> u64 {
    world.service().frames(&check::name(world, 0), false, None).expect("a list").tokens
}

#[test]
fn a_call_that_goes_with_its_result_is_not_counted_and_shown_as_left_out() {
    let world = called();
    let (before, all) = (frame(&world, "t2"), total(&world));
    assert!(before.state.is_empty(), "{before:?}");
    apply(&world, 0, json!({"op": "delete", "ids": ["t2#2.0"]}));
    let after = frame(&world, "t2");
    assert_eq!(after.state, ["trimmed", "repaired", "thinking-dropped"]);
    assert_eq!(after.step_list.as_ref().expect("steps")[0].state, ["trimmed", "repaired"]);
    let call = blocks(&world, "t2").into_iter().find(|block| block.kind == "tool_use").expect("the call");
    assert_eq!(
        call.repaired.as_deref(),
        Some("the call toolu_1 goes too: its result is not sent: rule A30 (every tool call has its result)")
    );
    let sent: u64 = blocks(&world, "t2").iter().filter(|block| block.is_sent()).map(|block| block.tokens).sum();
    assert!(sent.abs_diff(after.tokens) <= 3, "{sent} {after:?}");
    assert_eq!(after.source_tokens, before.tokens);
    let diff = diff(&world);
    assert_eq!((diff.tokens_before, diff.tokens_after), (all, total(&world)));
    let of = |id: &str| diff.frames.iter().find(|frame| frame.id == id).expect("a frame");
    assert!(of("t2").before.contains("### Call: Read") && !of("t2").after.contains("### Call: Read"));
    // What it was thought after has changed.
    assert_eq!(frame(&world, "t3").state, ["thinking-dropped"]);
    assert_eq!(of("t3").change, "changed");
}

#[test]
fn the_commit_tells_the_tokens_that_are_left_and_names_what_was_changed_by_somebody() {
    let world = called();
    let before = total(&world);
    apply(&world, 0, json!({"op": "delete", "ids": ["t2#2.0"]}));
    let history = world.service().history(&check::name(&world, 0), 1).expect("a history");
    let commit = &history.commits[0];
    assert_eq!((commit.tokens_before, commit.tokens_after), (before, total(&world)));
    assert!(commit.summary.starts_with("delete t2#2.0, "), "{}", commit.summary);
    let explained = world.service().explain(&check::name(&world, 0), None).expect("explained");
    assert_eq!((explained.source_tokens, explained.tokens), (before, total(&world)));
}

#[test]
fn what_has_to_stay_is_counted_although_it_was_deleted() {
    let world = called();
    let before = frame(&world, "tools");
    apply(&world, 0, json!({"op": "delete", "ids": ["tools"]}));
    let after = frame(&world, "tools");
    assert_eq!(after.state, ["trimmed", "repaired"]);
    assert!(0 < after.tokens && after.tokens < before.tokens, "{after:?}");
    assert_eq!(blocks(&world, "tools").iter().filter(|block| block.is_sent()).count(), 1);
}

#[test]
fn what_the_agent_sends_is_shown_as_it_sends_it() {
    let world = called();
    apply(&world, 0, json!({"op": "delete", "ids": ["t2#2.0"]}));
    let (name, service) = (check::name(&world, 0), world.service());
    let list = service.frames(&name, true, Some("source")).expect("a list");
    assert!(list.frames.iter().all(|frame| frame.state.is_empty() && frame.tokens == frame.source_tokens));
    let shown = service.show(&name, "t2", Some("source")).expect("shown");
    assert!(shown.messages.iter().flat_map(|message| &message.blocks).all(BlockView::is_sent));
}

#[test]
fn an_offloaded_file_that_is_gone_is_told() {
    let world = called();
    apply(&world, 0, json!({"op": "offload", "ids": ["t1", "t2#2.0"]}));
    let states = || ["t1", "t2"].map(|id| frame(&world, id).state);
    assert_eq!(states(), [vec!["offloaded"], vec!["results-summarized", "thinking-dropped"]]);
    let shown = || world.service().show(&check::name(&world, 0), "t1", None).expect("shown");
    let text = shown().messages[0].blocks[0].text.clone();
    let path = text.rsplit_once("is in ").and_then(|(_, path)| path.split_once(';')).expect("a path").0;
    let folder = std::path::Path::new(path).parent().expect("a folder");
    for file in std::fs::read_dir(folder).expect("a folder") {
        std::fs::remove_file(file.expect("a file").path()).expect("removed");
    }
    let missing = |state: &str| vec![state.to_owned(), "file-missing".to_owned()];
    assert_eq!(states()[0], missing("offloaded"));
    assert!(states()[1].contains(&"file-missing".to_owned()), "{:?}", states()[1]);
    assert_eq!(shown().state, missing("offloaded"));
    // What returns comes from the store.
    apply(&world, 0, json!({"op": "restore", "ids": ["t1", "t2#2.0"]}));
    assert_eq!(states(), [Vec::<String>::new(), Vec::new()]);
}

#[test]
fn a_split_says_what_became_of_the_frame() {
    let world = called();
    apply(&world, 0, json!({"op": "split", "id": "t2", "each_step": true}));
    let history = world.service().history(&check::name(&world, 0), 1).expect("a history");
    assert_eq!(history.commits[0].summary, "split t2 into t2.1, t2.2, t2.3");
}
