//! Every reading verb on a recorded conversation, for people and for programs.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::Session;

use crate::place::{LOOKING, Place, Up, asking, finish, provider, until};

/// A conversation of two turns, the first with a tool loop.
fn two_turns(seed: u64) -> Session {
    let mut session = asking(seed, "Find the needle");
    session
        .assistant_tools(&[("Read", json!({"file_path": "hay/stack.txt"}))])
        .results(&["straw\n\u{1b}[31mneedle\u{1b}[0m\nstraw\n4\n5\n6\n7\n8\n9\n10"])
        .assistant("It is in hay/stack.txt.")
        .user("SAY:thank you");
    session
}

fn up_with_a_conversation(place: &Place, provider: &testkit::FakeProvider) -> (Up, Session) {
    let up = place.up(&provider.url());
    let session = two_turns(1);
    up.send(&session);
    (up, session)
}

fn ids(frames: &Value) -> Vec<&str> {
    frames["frames"].as_array().into_iter().flatten().filter_map(|frame| frame["id"].as_str()).collect()
}

#[test]
fn people_and_programs_see_the_same_conversation() {
    let (place, provider) = (Place::new(), provider());
    let (up, session) = up_with_a_conversation(&place, &provider);

    let listed = place.run(&["conversations", "--json"]).ok().json();
    let conversation = &listed["conversations"][0];
    let id = conversation["id"].as_str().expect("an id");
    assert_eq!((&conversation["active"], &conversation["session"]), (&true.into(), &session.session_id().into()));
    let table = place.run(&["conversations"]).ok().out;
    let row = table.lines().find(|line| line.contains(id)).expect("a row");
    assert!(row.starts_with("* ") && row.contains("Find the needle"), "{table}");

    let frames = place.run(&["list", "--json"]).ok().json();
    assert_eq!(frames["conversation"], id);
    assert_eq!(ids(&frames), ["system", "tools", "t1", "t2"]);
    let table = place.run(&["list"]).ok().out;
    let heads: Vec<&str> = table.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(heads, ["ID", "system", "tools", "t1", "t2", "total", id], "{table}");
    assert!(table.contains("Find the needle") && table.contains(id), "{table}");
    let steps = place.run(&["list", "--steps"]).ok().out;
    assert!(steps.contains("  t1/1") && steps.contains("  t1/2"), "{steps}");
    assert_eq!(place.run(&["list", "--steps", "--json"]).ok().json()["frames"][2]["step_list"][0]["id"], "t1/1");

    let shown = place.run(&["show", "t1"]).ok().out;
    for expected in
        ["user t1#0", "Find the needle", "calls Read", "file_path: hay/stack.txt", "result of Read", "more line"]
    {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let whole = place.run(&["show", "t1", "--full"]).ok().out;
    assert!(whole.contains("    10\n") && !whole.contains("more line"), "{whole}");
    assert_eq!(place.run(&["show", "t1/1", "--json"]).ok().json()["id"], "t1/1");

    let status = place.run(&["status", "--json"]).ok().json();
    assert_eq!((&status["pid"], &status["upstream"]), (&up.pid().into(), &provider.url().into()));
    let words = place.run(&["status"]).ok().out;
    assert!(words.contains(&up.listen.to_string()) && words.contains(&provider.url()), "{words}");

    let events = place.run(&["timeline", "--json"]).ok().json();
    let kinds: Vec<&str> =
        events["events"].as_array().into_iter().flatten().filter_map(|e| e["kind"].as_str()).collect();
    assert!(kinds.ends_with(&["request", "answer"]), "{kinds:?}");
    let table = place.run(&["timeline"]).ok().out;
    assert!(table.contains("main") && table.contains("200") && table.contains("end_turn"), "{table}");
    assert_eq!(
        place.run(&["timeline", "--json", "--limit", "1"]).ok().json()["events"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn a_composed_body_is_the_request_byte_for_byte() {
    let (place, provider) = (Place::new(), provider());
    let (_up, session) = up_with_a_conversation(&place, &provider);
    let dumped = place.ctx(&["compose", "--dump"]).output().expect("it runs");
    assert!(dumped.status.success());
    assert_eq!(dumped.stdout, session.body(), "not a byte more or less");
    let summary = place.run(&["compose"]).ok().out;
    assert!(summary.contains("messages") && summary.contains("claude-"), "{summary}");
    assert_eq!(place.run(&["compose", "--json"]).ok().json(), session.body_value());
}

#[test]
fn raw_is_exactly_what_stands_in_the_request() {
    let (place, provider) = (Place::new(), provider());
    let (_up, session) = up_with_a_conversation(&place, &provider);
    let listed = place.run(&["show", "t1", "--json"]).ok().json();
    let blocks: Vec<&Value> =
        listed["messages"].as_array().into_iter().flatten().flat_map(|m| m["blocks"].as_array()).flatten().collect();
    let call = blocks.iter().find(|block| block["kind"] == "tool_use").expect("a call");
    let raw = place.run(&["show", call["id"].as_str().expect("an id"), "--raw"]).ok().out;
    let body = String::from_utf8(session.body()).expect("text");
    assert!(body.contains(raw.trim_end()) && raw.contains("hay/stack.txt"), "{raw}");
}

#[test]
fn raw_frames_are_the_messages_of_the_request() {
    let (place, provider) = (Place::new(), provider());
    let (_up, session) = up_with_a_conversation(&place, &provider);
    let raw = place.run(&["show", "t1", "t2", "--raw"]).ok().out;
    let messages: Vec<Value> = raw.lines().map(|line| serde_json::from_str(line).expect("a message")).collect();
    let sent = session.body_value()["messages"].as_array().expect("messages").clone();
    assert_eq!(messages[..sent.len()], sent[..], "{raw}");
    assert_eq!(messages.last().map(|pending| &pending["role"]), Some(&"assistant".into()), "and the pending reply");
    let first = raw.lines().next().expect("a message");
    let body = String::from_utf8(session.body()).expect("text");
    assert!(body.contains(first), "also in its spelling: {first}");
    let range = place.run(&["show", "t1..t2", "--raw"]).ok().out;
    assert_eq!(range, raw);
    assert_eq!(place.run(&["show", "t1", "t9", "--raw"]).refused().code, Some(1), "all or nothing");
}

#[test]
fn output_in_a_pipe_has_no_colours_and_no_control_characters_of_the_conversation() {
    let (place, provider) = (Place::new(), provider());
    let (up, _) = up_with_a_conversation(&place, &provider);
    up.send(&asking(2, "a title with \u{1b}]0;owned\u{7} and \u{9b}31m red"));
    let all =
        [LOOKING.as_slice(), &[&["show", "t1", "--full"], &["list", "--steps"], &["show", "system"], &["doctor"]]]
            .concat();
    for verb in all {
        let out = place.run(verb).ok().out;
        let active = out.chars().find(|letter| letter.is_control() && *letter != '\n');
        assert_eq!(active, None, "{verb:?}: {out:?}");
    }
}

#[test]
fn an_unknown_id_comes_with_what_is_near() {
    let (place, provider) = (Place::new(), provider());
    let (_up, _) = up_with_a_conversation(&place, &provider);
    let ran = place.run(&["show", "t3"]).refused();
    assert!(ran.err.contains("`t3`") && ran.err.contains("t1, t2"), "{ran:?}");
    let error = place.run(&["show", "tools/Raed", "--json"]).json();
    assert_eq!(error["error"]["code"], "unknown-id");
    assert!(error["error"]["hint"].as_str().is_some_and(|hint| hint.contains("tools/Read")), "{error}");
}

#[test]
fn a_conversation_goes_by_the_beginning_of_its_id() {
    let (place, provider) = (Place::new(), provider());
    let (up, _) = up_with_a_conversation(&place, &provider);
    up.send(&asking(2, "SAY:second"));
    let listed = until("both are known", || {
        let listed = place.run(&["conversations", "--json"]).ok().json();
        (listed["conversations"].as_array().map(Vec::len) == Some(2)).then_some(listed)
    });
    let all: Vec<&str> =
        listed["conversations"].as_array().into_iter().flatten().filter_map(|c| c["id"].as_str()).collect();
    let [second, first] = all[..] else { panic!("two conversations, the newest first: {all:?}") };
    assert_eq!(place.run(&["list", "--json"]).ok().json()["conversation"], second, "the newest is the active one");
    let beginning = &first[..first.len() - 1];
    assert_eq!(place.run(&["list", "--json", "--conv", beginning]).ok().json()["conversation"], first);
    let ran = place.run(&["list", "--conv", "zzz"]).refused();
    assert!(ran.err.contains("No conversation `zzz`") && ran.err.contains("ctx conversations"), "{ran:?}");
    let ran = place.run(&["list", "--conv", "c"]).refused();
    assert!(ran.err.contains(first) && ran.err.contains(second), "{ran:?}");
    assert_eq!(place.run(&["list", "--conv", "../status"]).refused().code, Some(1));
}

#[test]
fn failures_of_the_provider_stand_in_the_timeline() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    up.send(&asking(1, "FAIL:529:1:too much today"));
    let table = place.run(&["timeline"]).ok().out;
    assert!(table.contains("529") && table.contains("error overloaded_error: too much today"), "{table}");
}

#[test]
fn shells_and_man_get_their_pages() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.run(&["completions", shell]).ok().out.contains("drop-results"), "{shell}");
    }
    assert_eq!(place.run(&["completions", "csh"]).code, Some(2));
    let told = place.run(&["man", "pages/man1"]).ok().out;
    assert!(told.contains("pages/man1"), "{told}");
    let page = std::fs::read_to_string(place.path("work/pages/man1/ctx-list.1")).expect("a page");
    assert!(page.contains(".SH"), "{page}");
    let pages = place.run(&["man", "pages/man1", "--json"]).ok().json();
    assert!(pages["pages"].as_array().is_some_and(|pages| pages.len() > 40), "{pages}");
}

#[test]
fn a_compact_list_is_small() {
    let (place, provider) = (Place::new(), provider());
    let (_up, _) = up_with_a_conversation(&place, &provider);
    let list = place.run(&["list", "--json", "--compact"]).ok().json();
    assert_eq!(ids(&list), ["system", "tools", "t1", "t2"]);
    assert_eq!(list["frames"][2]["title"], "Find the needle");
    assert_eq!(place.run(&["list", "--compact"]).code, Some(2), "for programs only");
}

#[test]
fn watching_shows_what_happens_while_it_happens() {
    let (place, provider) = (Place::new(), provider());
    let (up, _) = up_with_a_conversation(&place, &provider);
    for json in [true, false] {
        // The start of listening is unknown, so the stream begins at the current event.
        let events = place.run(&["timeline", "--json"]).ok().json();
        let now =
            events["events"].as_array().and_then(|all| all.last()?["seq"].as_u64()).expect("a number").to_string();
        let conversation = events["conversation"].as_str().expect("an id");
        let mut command = place.ctx(&["watch", "--limit", "2", "--conv", conversation, "--after", &now]);
        if json {
            command.arg("--json");
        }
        let watch = std::thread::spawn(move || finish(command));
        up.send(&asking(9, "SAY:of no interest"));
        up.send(&two_turns(1));
        let ran = watch.join().expect("it ends").ok();
        let lines: Vec<&str> = ran.out.lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        if json {
            let events: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).expect("json")).collect();
            assert_eq!((&events[0]["kind"], &events[1]["kind"]), (&"request".into(), &"answer".into()));
            assert!(events[0]["conversation"].is_string());
        } else {
            assert!(lines[0].contains("→ r") && lines[0].contains(" main ") && lines[1].contains("· 200"), "{lines:?}");
        }
    }
}

#[test]
fn watching_ends_with_the_daemon() {
    let (place, provider) = (Place::new(), provider());
    let (up, _) = up_with_a_conversation(&place, &provider);
    let mut watch = place
        .ctx(&["watch", "--after", "0", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(watch.stdout.take().expect("a pipe")).lines();
    lines.next().expect("an event").expect("text");
    drop(up);
    let ended = watch.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(1));
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    let mut session = asking(1, "Begin");
    session.grow_to(2_000_000);
    up.send(&session);
    let mut dump =
        place.ctx(&["compose", "--dump"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    drop(dump.stdout.take());
    let ended = dump.wait_with_output().expect("it ends");
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn another_homes_daemon_does_not_take_our_token() {
    let (ours, theirs) = (Place::new(), Place::new());
    let up = theirs.up("http://127.0.0.1:1");
    drop(ours.up("http://127.0.0.1:1"));
    let ran = ours.run(&["list", "--listen", &up.listen.to_string()]).refused();
    assert!(ran.err.contains("belongs to another daemon") && ran.err.contains("--home"), "{ran:?}");
}
