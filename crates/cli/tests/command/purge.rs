//! `ctx purge`, with and without a daemon.

use crate::place::{Place, Up, asking, closed_port, provider, until};

/// The ids of two conversations, newest first.
fn two_conversations(place: &Place, up: &Up) -> Vec<String> {
    up.send(&asking(1, "SAY:one"));
    up.send(&asking(2, "SAY:two"));
    ids(place)
}

fn ids(place: &Place) -> Vec<String> {
    let listed = place.run(&["conversations", "--json"]).ok().json();
    let all = listed["conversations"].as_array().into_iter().flatten();
    all.filter_map(|conversation| conversation["id"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_running_daemon_forgets_what_it_is_told_to_and_nothing_else() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    let all = two_conversations(&place, &up);
    let ran = place.run(&["purge", "--conv", &all[0], "--yes", "--json"]).ok();
    assert_eq!(ran.json()["conversations"], 1);
    assert!(ran.json()["bytes_freed"].as_u64() > Some(0), "{ran:?}");
    assert_eq!(ids(&place), all[1..]);
    assert_eq!(place.run(&["purge", "--older-than", "1", "--yes"]).ok().out, "Nothing to purge.\n");
    let said = place.run(&["purge", "--all", "--yes"]).ok().out;
    assert!(said.starts_with("Purged 1 conversation (") && said.contains("backups"), "{said}");
    assert!(ids(&place).is_empty());
}

#[test]
fn without_a_daemon_it_is_done_on_the_store() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    let all = two_conversations(&place, &up);
    drop(up);
    let beginning = &all[0][..all[0].len() - 1];
    assert_eq!(place.run(&["purge", "--conv", beginning, "--yes", "--json"]).ok().json()["conversations"], 1);
    let ran = place.run(&["purge", "--conv", &all[0], "--yes"]).refused();
    assert!(ran.err.contains("No conversation"), "{ran:?}");
    let up = place.up(&provider.url());
    assert_eq!(ids(&place), all[1..]);
    drop(up);
    place.run(&["purge", "--all", "--yes"]).ok();
    let _up = place.up(&provider.url());
    assert!(ids(&place).is_empty());
}

#[test]
fn purging_all_also_removes_what_was_moved_aside_as_damaged() {
    let place = Place::new();
    let file = |name: &str| place.home().join(name);
    let upstream = format!("http://{}", closed_port());
    drop(place.up(&upstream));
    let lay_aside = || {
        for name in ["ctx.db.damaged-1", "ctx.db.damaged-1-wal"] {
            std::fs::write(file(name), "words of a conversation").expect("written");
        }
    };
    for with_daemon in [true, false] {
        lay_aside();
        let _up = with_daemon.then(|| place.up(&upstream));
        place.run(&["purge", "--older-than", "0", "--yes"]).ok();
        assert!(file("ctx.db.damaged-1").exists(), "only --all means it");
        place.run(&["purge", "--all"]).refused();
        let ran = place.run(&["purge", "--all", "--yes"]).ok();
        assert_eq!(ran.out, "Removed 2 files of a damaged store (46 bytes).\n");
        assert!(!file("ctx.db.damaged-1").exists() && !file("ctx.db.damaged-1-wal").exists());
        assert!(file("ctx.db").exists() && file("token").exists());
    }
}

#[test]
fn a_dry_run_tells_and_purges_nothing() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    up.send(&asking(1, "SAY:first"));
    let known = || place.run(&["conversations", "--json"]).ok().json()["conversations"].as_array().map(Vec::len);
    until("it is known", || (known() == Some(1)).then_some(()));
    let told = place.run(&["purge", "--all", "--dry-run"]).ok().out;
    assert!(told.contains("Would purge 1 conversation") && told.contains("first"), "{told}");
    let told = place.run(&["purge", "--all", "--dry-run", "--json"]).ok().json();
    assert_eq!((&told["conversations"], told["ids"].as_array().map(Vec::len)), (&1.into(), Some(1)));
    assert_eq!(place.run(&["purge", "--older-than", "1", "--dry-run", "--json"]).ok().json()["conversations"], 0);
    assert_eq!(known(), Some(1));
}

#[test]
fn without_a_word_of_consent_nothing_is_purged() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    let all = two_conversations(&place, &up);
    let ran = place.run(&["purge", "--all"]).refused();
    assert!(ran.err.contains("this is not a terminal") && ran.err.contains("--yes"), "{ran:?}");
    assert_eq!(ids(&place), all);
}

#[test]
fn a_purge_with_two_selections_is_refused() {
    use std::io::{Read, Write};
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    let all = two_conversations(&place, &up);
    let token = std::fs::read_to_string(place.home().join("token")).expect("a token");
    for other in ["\"all\":true", "\"older_than_days\":0"] {
        let body = format!("{{\"conversations\":[\"{}\"],{other}}}", all[0]);
        let head = format!(
            "POST /control/v1/purge HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            up.listen,
            token.trim(),
            body.len()
        );
        let mut socket = std::net::TcpStream::connect(up.listen).expect("connected");
        socket.write_all(format!("{head}{body}").as_bytes()).expect("sent");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("exclude each other"), "{answer}");
    }
    assert_eq!(ids(&place), all);
}

#[test]
fn an_id_that_is_not_known_purges_nothing() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    let all = two_conversations(&place, &up);
    let ran = place.run(&["purge", "--yes", "--conv", &all[0], "zzzz"]).refused();
    assert!(ran.err.contains("`zzzz`"), "{ran:?}");
    assert_eq!(ids(&place), all);
}
