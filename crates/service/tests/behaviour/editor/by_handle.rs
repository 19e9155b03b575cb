//! For agents on other machines: cleared content is in the store, and they read it back by its handle.

use super::work::{Work, on, results};
use ctx_api::offloaded::OffloadedQuery;
use ctx_core::policy::{Mode, Settings};
use ctx_engine::edit::handle::Handles;
use serde_json::json;
use std::fs;

const TOOL: &str = r#"{"name":"mcp__ctx__ctx_show","description":"d","input_schema":{"type":"object"}}"#;

/// An agent with or without our tool.
fn work(settings: Settings, handles: Handles, has_tool: bool) -> Work {
    let mut work = Work::new(settings.clone()).in_store(settings, handles);
    if has_tool {
        work.spelled.push((r#""tools":["#.to_owned(), format!(r#""tools":[{TOOL},"#)));
    }
    work
}

fn handle(stub: &str) -> &str {
    let at = stub.find("o-").unwrap_or_else(|| panic!("a handle in {stub}"));
    &stub[at..at + 18]
}

fn is_empty(work: &Work) -> bool {
    fs::read_dir(work.home.path()).expect("a home").count() == 0
}

#[test]
fn what_is_cleared_is_read_back_to_the_byte_and_no_file_is_written() {
    let mut work = work(on(), Handles::default(), true);
    let sent = results(&work.work(30));
    let cleared: Vec<usize> = (0..30).filter(|at| sent[*at].starts_with("[Cleared to save context.")).collect();
    assert!(cleared.len() >= 15, "{cleared:?}");
    // Any daemon on the store knows the handles.
    work.restart(on());
    for at in cleared {
        assert!(sent[at].contains("Read it with the tool mcp__ctx__ctx_show, id o-"), "{}", sent[at]);
        let read = work.service.offloaded(&work.conversation, handle(&sent[at]), &OffloadedQuery::default());
        assert_eq!(read.expect("kept").text, work.texts[at], "to the byte");
    }
    assert!(is_empty(&work), "neither a file nor a ledger");
}

#[test]
fn nothing_is_cleared_that_the_agent_could_not_read_back() {
    let mut work = work(on(), Handles::default(), false);
    let sent = results(&work.work(16));
    assert!(sent.iter().all(|text| text.starts_with("line ")), "{sent:?}");
    let view = work.service.context(&work.conversation).expect("a view");
    assert!(view.hindrances.iter().any(|why| why.contains("could not read it back")), "{:?}", view.hindrances);
    assert!(is_empty(&work));
}

#[test]
fn an_agent_that_can_run_ctx_is_told_the_command_and_a_long_output_is_cut() {
    let settings = Settings { cuts: ctx_core::policy::Cuts { build: 1_000, ..on().cuts }, mode: Mode::On, ..on() };
    let mut work = work(settings, Handles { by_command: true }, false);
    work.session.user("build it");
    work.send();
    let text: String = (0..800).map(|at| format!("compiling part {at} of the whole program\n")).collect();
    let sent = results(&work.step_with("Bash", json!({"command": "make all"}), text.clone())).pop().expect("a result");
    let id = handle(&sent).to_owned();
    assert!(sent.starts_with("[Cut to save context: "), "{sent}");
    assert!(sent.contains(&format!("Read it with `ctx cat {id} --conv {}`.", work.conversation)), "{sent}");
    let query = OffloadedQuery { lines: Some("400-401".into()), ..OffloadedQuery::default() };
    let read = work.service.offloaded(&work.conversation, &id, &query).expect("kept");
    assert_eq!(read.text, "compiling part 399 of the whole program\ncompiling part 400 of the whole program");
    assert_eq!(read.lines, 800);
}
