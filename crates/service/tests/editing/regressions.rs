//! Failures that the simulation has found.

use crate::check;
use crate::client::Client;
use crate::words::Words;
use crate::world::World;
use ctx_api::edit::EditRequest;
use ctx_api::history::{Action, HistoryRequest};
use ctx_core::edit::Operation;
use serde_json::{Value, json};
use testkit::Random;

/// One client that thinks, with messages of the plainest kind.
pub fn world() -> World {
    let mut words = Words::default();
    let mut client = Client::new(&mut Random::new(1), &mut words);
    client.plain();
    let mut world = World::with(1, client);
    world.words = words;
    world
}

pub fn turns(world: &mut World, at: usize, count: usize) {
    for _ in 0..count {
        world.plain_turn(at, true).unwrap_or_else(|what| panic!("{}\n{what}", world.story.join("\n")));
    }
}

pub fn apply(world: &World, at: usize, operation: Value) {
    let operation: Operation = serde_json::from_value(operation).expect("an operation");
    let edit = EditRequest { operations: vec![operation], author: "cli".into(), ..EditRequest::default() };
    world.service().apply(&check::name(world, at), edit).expect("applied");
}

fn undo(world: &World, at: usize) {
    let request = HistoryRequest {
        action: Action::Undo,
        target: None,
        name: None,
        cascade: false,
        author: "cli".into(),
        note: None,
        expect: None,
        dry_run: false,
        when: Default::default(),
    };
    world.service().go(&check::name(world, at), request).expect("undone");
}

fn sent(world: &World, at: usize) -> (Value, Value) {
    let (sent, body) = world.talks[at].sent.clone().expect("sent");
    (serde_json::from_slice(&sent).expect("JSON"), serde_json::from_slice(&body).expect("JSON"))
}

fn thoughts(body: &Value) -> usize {
    body["messages"].to_string().matches("\"thinking\":\"\"").count()
}

#[test]
fn what_was_thought_under_an_edit_stays_behind_when_the_edit_is_taken_back() {
    let mut world = world();
    turns(&mut world, 0, 2);
    apply(&world, 0, json!({"op": "edit", "id": "t1#0", "text": "another question"}));
    turns(&mut world, 0, 2);
    undo(&world, 0);
    turns(&mut world, 0, 1);
    let (sent, body) = sent(&world, 0);
    // Two were thought before the edit, two under it, and the provider takes the two of before again.
    assert_eq!((thoughts(&body), thoughts(&sent)), (4, 2));
    world.restart().expect("nothing is lost");
    turns(&mut world, 0, 2);
}

#[test]
fn so_does_what_a_fork_takes_along_even_when_nothing_is_active_any_more() {
    let mut world = world();
    turns(&mut world, 0, 2);
    apply(&world, 0, json!({"op": "edit", "id": "t1#0", "text": "another question"}));
    turns(&mut world, 0, 2);
    undo(&world, 0);
    world.add_fork(0);
    turns(&mut world, 1, 1);
    world.restart().expect("nothing is lost");
    turns(&mut world, 1, 2);
    let (sent, body) = sent(&world, 1);
    assert_eq!(thoughts(&body), thoughts(&sent) + 2);
}

#[test]
fn what_was_thought_in_an_answer_that_we_lost_is_never_sent_again() {
    let mut world = world();
    turns(&mut world, 0, 2);
    apply(&world, 0, json!({"op": "edit", "id": "t1#0", "text": "another question"}));
    world.plain_turn(0, false).expect("accepted");
    world.restart().expect("nothing is lost");
    turns(&mut world, 0, 1);
    undo(&world, 0);
    turns(&mut world, 0, 1);
}

#[test]
fn nor_when_the_edit_was_taken_back_before_the_answer_was_lost() {
    let mut world = world();
    turns(&mut world, 0, 1);
    apply(&world, 0, json!({"op": "delete", "ids": ["t1#0"]}));
    world.plain_turn(0, false).expect("accepted");
    undo(&world, 0);
    // An agent that takes the history along knows no more of it.
    world.add_agent(0);
    turns(&mut world, 1, 1);
    turns(&mut world, 0, 1);
    world.restart().expect("nothing is lost");
    turns(&mut world, 0, 1);
    turns(&mut world, 1, 1);
}

#[test]
fn the_system_prompt_is_cut_where_it_stands_now() {
    let mut world = world();
    turns(&mut world, 0, 1);
    apply(&world, 0, json!({"op": "edit", "id": "system#2", "text": "be brief"}));
    apply(&world, 0, json!({"op": "delete", "ids": ["tools/Edit"]}));
    turns(&mut world, 0, 3);
    let (sent, body) = sent(&world, 0);
    assert_eq!(sent["system"][2]["text"], "be brief");
    assert_eq!(sent["tools"].as_array().map(Vec::len), body["tools"].as_array().map(|tools| tools.len() - 1));
}

#[test]
fn an_agent_has_its_history_from_its_own_session() {
    let mut world = world();
    turns(&mut world, 0, 2);
    world.add_fork(0);
    turns(&mut world, 1, 1);
    apply(&world, 1, json!({"op": "edit", "id": "t1#0", "text": "only in the fork"}));
    world.add_agent(0);
    turns(&mut world, 2, 1);
    let (sent, body) = sent(&world, 2);
    assert_eq!(sent, body);
}

#[test]
fn and_from_its_parent_before_any_other_agent() {
    let mut world = world();
    turns(&mut world, 0, 2);
    apply(&world, 0, json!({"op": "delete", "ids": ["t1"]}));
    turns(&mut world, 0, 1);
    world.add_agent(0);
    turns(&mut world, 1, 2);
    undo(&world, 1);
    world.add_agent(0);
    turns(&mut world, 2, 1);
    let (sent, body) = sent(&world, 2);
    let count = |body: &Value| body["messages"].as_array().map_or(0, Vec::len);
    assert_eq!(count(&sent), count(&body) - 2);
}

#[test]
fn a_failed_request_is_no_reason_to_mark_otherwise_after_a_restart() {
    let mut world = world();
    turns(&mut world, 0, 3);
    apply(&world, 0, json!({"op": "edit", "id": "t2#0", "text": "another question"}));
    world.plain_failure(0).expect("accepted");
    world.restart().expect("the same bytes");
}

#[test]
fn a_text_for_a_message_that_holds_a_result_leaves_the_clients_note_beside_it() {
    let mut world = world();
    world.call(0, "toolu_1").expect("accepted");
    world.result(0);
    turns(&mut world, 0, 1);
    apply(&world, 0, json!({"op": "edit", "id": "t1#2", "text": "seen"}));
    turns(&mut world, 0, 1);
    let (sent, body) = sent(&world, 0);
    assert_eq!(body["messages"][2]["content"].as_array().map(Vec::len), Some(2));
    assert_eq!(sent["messages"][2]["content"][0]["content"], "seen");
    assert_eq!(sent["messages"][2]["content"][1]["text"], body["messages"][2]["content"][1]["text"]);
}

#[test]
fn results_come_to_their_calls_also_when_another_step_was_moved_between_them() {
    let mut world = world();
    world.call(0, "toolu_1").expect("accepted");
    world.result(0);
    world.call(0, "toolu_2").expect("accepted");
    apply(&world, 0, json!({"op": "split", "id": "t1", "each_step": true}));
    apply(&world, 0, json!({"op": "move", "ids": ["t1.2"], "to": {"end": true}}));
    world.result(0);
    turns(&mut world, 0, 2);
}

#[test]
fn a_fork_of_a_first_answer_that_we_lost_does_not_send_its_thinking() {
    let mut world = world();
    world.plain_failure(0).expect("a failure");
    apply(&world, 0, json!({"op": "compact", "ids": ["t1"], "text": "shorter"}));
    world.plain_turn(0, false).expect("accepted");
    world.add_fork(0);
    turns(&mut world, 1, 2);
    turns(&mut world, 0, 1);
}

#[test]
fn nor_does_a_fork_that_might_as_well_come_from_a_conversation_without_edits() {
    let mut world = world();
    world.call(0, "toolu_1").expect("accepted");
    world.add_fork(0);
    world.result(1);
    turns(&mut world, 1, 1);
    apply(&world, 1, json!({"op": "edit", "id": "t1#0", "text": "another question"}));
    // It takes the edit along, and we never see its answer.
    world.add_fork(0);
    world.result(2);
    world.plain_turn(2, false).expect("accepted");
    // Now two have as much of its history.
    world.result(0);
    turns(&mut world, 0, 1);
    world.add_fork(2);
    turns(&mut world, 3, 2);
}

#[test]
fn a_fork_of_what_a_client_summarised_has_its_edits_although_no_answer_tells() {
    let mut world = world();
    turns(&mut world, 0, 2);
    assert!(world.summarise(0));
    world.plain_turn(0, false).expect("accepted");
    // The frames from before keep their numbers.
    apply(&world, 0, json!({"op": "edit", "id": "t3", "text": "another summary"}));
    world.add_fork(0);
    turns(&mut world, 1, 1);
    let (sent, _) = sent(&world, 1);
    assert!(!sent.to_string().contains("This session is being continued"), "{sent}");
}

#[test]
fn what_a_tool_of_the_provider_found_is_not_imported_otherwise_than_it_was() {
    let mut world = world();
    world.search(0, "srvtoolu_1").expect("accepted");
    turns(&mut world, 0, 1);
    apply(&world, 0, json!({"op": "offload", "ids": ["t1#1.1"]}));
    let from = check::name(&world, 0);
    let mut words = std::mem::take(&mut world.words);
    let mut other = Client::new(&mut Random::new(7), &mut words);
    other.plain();
    world.words = words;
    // What it imports are not its own words.
    let mut talk = crate::world::Talk::new(other);
    talk.made = (0..100).collect();
    world.talks.push(talk);
    turns(&mut world, 1, 1);
    apply(&world, 1, json!({"op": "import", "from": from, "ids": ["t1"], "to": {"after": "t1"}}));
    turns(&mut world, 1, 2);
}

#[test]
fn a_paused_answer_goes_back_unchanged_with_the_tools_it_began_with() {
    let mut world = world();
    let has_bash = |world: &World| sent(world, 0).0["tools"].to_string().contains("\"Bash\"");
    turns(&mut world, 0, 1);
    world.pause(0, "srvtoolu_1").expect("asked");
    apply(&world, 0, json!({"op": "delete", "ids": ["tools/Bash"]}));
    world.go_on(0, "srvtoolu_1").expect("the tools are those of before");
    assert!(has_bash(&world));
    let name = check::name(&world, 0);
    let repairs = world.service().explain(&name, None).expect("explained").repairs;
    assert!(repairs.iter().any(|repair| repair.rule == "A44"), "{repairs:?}");
    turns(&mut world, 0, 1);
    assert!(!has_bash(&world), "the edit counts from the next request on");
    // The other way round: what was taken out stays out until the answer is finished, also over a restart.
    world.pause(0, "srvtoolu_2").expect("asked");
    undo(&world, 0);
    world.restart().expect("nothing is lost");
    world.go_on(0, "srvtoolu_2").expect("the tools are those of before");
    assert!(!has_bash(&world));
    turns(&mut world, 0, 1);
    assert!(has_bash(&world));
}

#[test]
fn a_safety_check_with_the_history_as_one_text_leaves_without_what_was_deleted() {
    let mut world = world();
    turns(&mut world, 0, 3);
    apply(&world, 0, json!({"op": "delete", "ids": ["t2"]}));
    world.ask_for_verdict(0).expect("cut");
    // The history is read from the store.
    world.reopen();
    world.ask_for_verdict(0).expect("cut");
    let events = world.service().timeline(&check::name(&world, 0), 3).expect("a timeline");
    assert!(format!("{events:?}").contains("1 of 1 removed texts were cut out of it"), "{events:?}");
}
