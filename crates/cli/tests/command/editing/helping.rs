//! Missing texts: extracted by ctx, or written by a helper model.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use super::scene::Scene;
use crate::place::until;

#[test]
fn a_summary_is_found_when_none_is_given() {
    let scene = Scene::new();
    let (applied, sent) = scene.change(&["compact", "t1"]);
    assert_eq!(applied["written"][0]["by"], "ctx", "{applied}");
    assert!(sent.contains("Asked: Find the needle") && !sent.contains("straw and straw again"), "{sent}");
    let told = scene.place.run(&["retitle", "t2", "--auto"]).ok().out;
    assert!(
        told.contains(
            "t2 is titled \"Count the cows: Bash ×2 (count cows, count again), Read (cows.txt)\" (by ctx itself)"
        ),
        "{told}"
    );
    scene.refused(&["summarize-results", "t2"]);
    let told = scene.place.run(&["helper"]).ok().out;
    assert!(told.contains("none; ctx extracts summaries and titles"), "{told}");
}

/// Answers each connection with these bytes, or never.
pub fn helper(answer: Option<&'static str>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for mut socket in listener.incoming().flatten() {
            let mut asked = [0; 65536];
            let _ = socket.read(&mut asked);
            match answer {
                Some(body) => {
                    let head =
                        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
                    let _ = socket.write_all((head + body).as_bytes());
                }
                None => silent.push(socket),
            }
        }
    });
    port
}

/// With a helper model in the home's settings, but not in the project's.
fn helped(answer: Option<&'static str>) -> Scene {
    let mut scene = Scene::new();
    let port = helper(answer);
    let toml = format!("[helper]\nprovider = \"openai\"\nurl = \"http://127.0.0.1:{port}\"\nmodel = \"small\"\n");
    scene.place.write("home/ctx.toml", &toml);
    scene.settle();
    scene.restart();
    scene
}

#[test]
fn a_helper_writes_and_what_it_wrote_outlives_the_daemon() {
    let mut scene =
        helped(Some(r#"{"choices":[{"message":{"content":"It lies in the stack."}}],"usage":{"total_tokens":9}}"#));
    let told = scene.place.run(&["compact", "t1"]).ok().out;
    assert!(told.contains("the summary of t1 is by small: 21 characters"), "{told}");
    assert!(scene.dump().contains("It lies in the stack."));
    let told = scene.place.run(&["helper"]).ok().out;
    assert!(
        told.contains("openai, small") && told.contains("9 of 200,000 tokens") && told.contains("done by small"),
        "{told}"
    );
    scene.place.write("home/ctx.toml", "[helper]\nprovider = \"none\"\n");
    scene.restart();
    assert!(scene.dump().contains("It lies in the stack."));
}

#[test]
fn a_helper_that_answers_nonsense_changes_nothing() {
    let scene = helped(Some("nonsense"));
    let error = scene.refused(&["compact", "t1"]);
    assert_eq!(error["code"], "helper-nonsense", "{error}");
    assert!(error["hint"].as_str().expect("a hint").contains("--text"), "{error}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_stops_it_and_nothing_is_changed() {
    let scene = helped(None);
    let before = scene.dump();
    let mut waiting = scene.place.ctx(&["compact", "t1", "--json"]);
    waiting.stdout(std::process::Stdio::piped());
    let waiting = waiting.spawn().expect("it runs");
    until("the helper is asked", || (scene.json(&["helper"])["jobs"][0]["state"] == "asking").then_some(()));
    std::thread::sleep(Duration::from_millis(300));
    let pid = rustix::process::Pid::from_raw(waiting.id() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let ended = waiting.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(!ended.status.success() && said.contains("helper-cancelled"), "{said}");
    assert_eq!(scene.json(&["helper"])["jobs"][0]["state"], "cancelled");
    assert_eq!(scene.dump(), before);
}
