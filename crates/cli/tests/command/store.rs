//! A database as the store, and copies between a database and a home.

use testkit::{Fault, FaultProxy, PostgresServer};

use crate::editing::scene::Scene;
use crate::place::{Place, Ran, until};

/// The address of a new database, with a password that must appear nowhere.
fn database(server: &PostgresServer, port: u16) -> String {
    PostgresServer::url_at(port, &server.new_database()).replace("ctx@", "ctx:s3cret@")
}

fn settings(url: &str) -> String {
    format!("[store]\nurl = \"{url}\"\n")
}

fn dump(place: &Place) -> String {
    place.run(&["compose", "--dump"]).ok().out
}

fn ctx_with(place: &Place, variable: (&str, &str), arguments: &[&str]) -> Ran {
    let mut command = place.ctx(arguments);
    command.env(variable.0, variable.1);
    crate::place::finish(command)
}

#[test]
fn a_daemon_keeps_its_conversations_in_a_database() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = database(server, server.port());
    let mut scene = Scene::configured(&settings(&url));
    scene.change(&["delete", "t1"]);
    scene.change(&["pin", "t2"]);
    scene.next("SAY:and on");
    scene.settle();
    let (before, history) = (scene.dump(), scene.json(&["history"]));
    scene.restart();
    assert_eq!((scene.dump(), scene.json(&["history"])), (before, history), "after a restart");
    assert!(!scene.place.home().join("ctx.db").exists());

    let told = [
        scene.place.run(&["doctor", "--offline"]).ok().out,
        scene.place.run(&["status"]).ok().out,
        scene.place.run(&["config", "check"]).ok().out,
        scene.place.run(&["store", "check"]).ok().out,
        scene.place.run(&["store", "migrate"]).ok().out,
        std::fs::read_to_string(scene.place.path("log")).unwrap_or_default(),
    ];
    assert!(told.iter().all(|text| !text.contains("s3cret")), "{told:?}");
    assert!(told[0].contains("postgres://ctx@127.0.0.1") && told[0].contains("No problems found."), "{}", told[0]);
    assert!(told[3].contains("of 1 conversation"), "{}", told[3]);
    assert!(told[4].contains("has version 3 already"), "{}", told[4]);
}

#[test]
fn conversations_compose_to_the_same_bytes_after_a_copy_there_and_back() {
    let Some(server) = PostgresServer::shared() else { return };
    let (url, mut scene) = (server.url(&server.new_database()), Scene::new());
    scene.change(&["delete", "t1", "--note", "a dead end"]);
    scene.change(&["branch", "trial"]);
    scene.change(&["compact", "t2", "--text", "Seven cows."]);
    scene.next("SAY:and on");
    scene.settle();
    let (bytes, history) = (scene.dump(), scene.json(&["history"]));
    let home = scene.place.home().display().to_string();
    let copied = scene.place.run(&["store", "copy", &home, &url]).ok().out;
    assert!(copied.contains("1 conversation compared: equal."), "{copied}");

    let there = Place::new();
    let up = there.up_with(&["--upstream", &scene.provider.url(), "--store", &url]);
    assert_eq!(dump(&there), bytes, "in the database");
    let second = Place::new();
    let other = second.up_with(&["--upstream", &scene.provider.url(), "--store", &url]);
    assert_eq!(dump(&second), bytes, "a second daemon on the same database");
    drop(other);
    assert_eq!(there.run(&["history", "--json"]).ok().json(), history);
    drop(up);
    let back = Place::new();
    let home = back.home().display().to_string();
    let copied = back.run(&["store", "copy", &url, &home, "--json"]).ok().json();
    assert_eq!((&copied["conversations"], &copied["skipped"]), (&1.into(), &0.into()));
    let _up = back.up(&scene.provider.url());
    assert_eq!(dump(&back), bytes, "and back");
    assert_eq!(back.run(&["history", "--json"]).ok().json(), history);
}

#[test]
fn requests_pass_and_edits_are_refused_while_the_database_is_away() {
    let Some(server) = PostgresServer::shared() else { return };
    let proxy = FaultProxy::to(server.port()).expect("a proxy");
    let url = database(server, proxy.address().port());
    let mut scene = Scene::configured(&settings(&url));
    scene.change(&["delete", "t1"]);
    let edited = scene.send();
    proxy.set(Fault::Cut);
    assert_eq!(scene.send(), edited, "composed from memory");
    let refused = scene.place.run(&["delete", "t2", "--json"]);
    assert_eq!(refused.json()["error"]["code"], "not-stored", "{refused:?}");
    assert!(refused.out.contains("Nothing was changed."), "{refused:?}");
    proxy.set(Fault::None);
    until("an edit is stored again", || {
        let ran = scene.place.run(&["pin", "t3", "--json"]);
        (ran.code == Some(0)).then_some(())
    });
    scene.next("SAY:and on");
    scene.settle();
    let history = scene.json(&["history"]);
    scene.restart();
    assert_eq!(scene.json(&["history"]), history, "what was told is stored");
}

#[test]
fn an_edit_through_one_daemon_is_in_the_requests_through_another() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.url(&server.new_database());
    let scene = Scene::configured(&settings(&url));
    let second = Place::new();
    let other = second.up_with(&["--upstream", &scene.provider.url(), "--store", &url]);
    let through_other = || {
        other.send(&scene.session);
        String::from_utf8(scene.provider.requests().pop().expect("a request").body.to_vec()).expect("text")
    };
    scene.change(&["delete", "t1"]);
    assert_eq!(through_other(), scene.dump());
    let applied = second.run(&["edit", "t2#0", "--text", "through the other", "--json"]).ok().json();
    assert!(applied["warnings"].is_null(), "{applied}");
    let sent = String::from_utf8(scene.send()).expect("text");
    assert!(sent.contains("through the other") && sent == through_other(), "{sent}");

    let seen = scene.json(&["timeline", "--limit", "1"])["events"][0]["seq"].to_string();
    let watching = second.ctx(&["watch", "--limit", "8", "--after", &seen, "--json"]);
    let watching = std::thread::spawn(|| crate::place::finish(watching));
    for number in 0.. {
        scene.json(&["retitle", "t2", "--title", &format!("seen elsewhere {number}")]);
        if watching.is_finished() {
            break;
        }
    }
    let told = watching.join().expect("it ends").ok().out;
    assert!(told.contains("seen elsewhere"), "{told}");

    let status = scene.json(&["status"]);
    let name = status["store"]["others"][0]["name"].as_str().expect("the other daemon").to_owned();
    assert!(name.ends_with(&second.home().display().to_string()), "{name}");
    // Killed, it takes no leave.
    drop(other);
    let applied = scene.json(&["pin", "t3"]);
    assert!(applied["warnings"][0].as_str().is_some_and(|warning| warning.contains(&name)), "{applied}");
    until("it is silent", || scene.place.run(&["status"]).ok().out.contains("has not been heard of").then_some(()));
    let again = second.up_with(&["--upstream", &scene.provider.url(), "--store", &url]);
    until("it is back", || scene.json(&["unpin", "t3"])["warnings"].is_null().then(|| scene.json(&["pin", "t3"])));
    again.terminate();
    assert!(scene.json(&["unpin", "t3"])["warnings"].is_null(), "it took leave");
}

#[test]
fn a_daemon_starts_while_the_database_is_away() {
    let Some(server) = PostgresServer::shared() else { return };
    let proxy = FaultProxy::to(server.port()).expect("a proxy");
    let url = database(server, proxy.address().port());
    let mut scene = Scene::configured(&settings(&url));
    let plain = crate::place::asking(77, "SAY:untouched");
    scene.change(&["delete", "t1"]);
    let edited = scene.send();
    let saved = scene.place.home().join("edited.json");
    until("the edited conversation is noted", || {
        std::fs::read_to_string(&saved).ok().filter(|text| text.contains(scene.session.session_id()))
    });
    assert_eq!(crate::place::mode(&saved), 0o600);
    scene.settle();
    proxy.set(Fault::Cut);
    scene.restart();
    let before = scene.provider.requests().len();
    scene.send_anyway();
    assert_eq!(scene.provider.requests().len(), before, "its edits are out of reach, so it is not sent");
    scene.send_other(&plain);
    assert_eq!(scene.provider.requests().len(), before + 1);
    let status = scene.place.run(&["status"]).ok().out;
    assert!(status.contains("the database has been out of reach for"), "{status}");
    let doctor = scene.place.run(&["doctor", "--offline"]).out;
    assert!(doctor.contains("out of reach of the daemon"), "{doctor}");
    proxy.set(Fault::None);
    until("the edits are read", || {
        scene.send_anyway();
        let last = scene.provider.requests().pop().expect("a request");
        (last.body.to_vec() == edited).then_some(())
    });
}

/// Nobody names a daemon that took leave, so edits may have been made since.
#[test]
fn a_daemon_that_took_leave_does_not_start_while_the_database_is_away() {
    let Some(server) = PostgresServer::shared() else { return };
    let proxy = FaultProxy::to(server.port()).expect("a proxy");
    let (scene, place) = (Scene::new(), Place::new());
    place.write("home/ctx.toml", &settings(&database(server, proxy.address().port())));
    let up = || place.up(&scene.provider.url());
    let saved = place.home().join("edited.json");
    let is_refused = || {
        let ran = place.run(&["up", "--upstream", &scene.provider.url()]).refused();
        assert!(ran.err.contains("out of reach"), "{ran:?}");
    };

    let daemon = up();
    daemon.send(&scene.session);
    until("it is saved", || saved.exists().then_some(()));
    daemon.terminate();
    proxy.set(Fault::Cut);
    is_refused();
    proxy.set(Fault::None);

    let daemon = up();
    until("it is saved again", || saved.exists().then_some(()));
    proxy.set(Fault::Cut);
    daemon.terminate();
    // It could not take leave, so edits name it; but its last beat becomes no newer.
    let hours_ago = |hours: u64| {
        let at = std::time::SystemTime::now() - std::time::Duration::from_secs(hours * 3_600);
        std::fs::File::options().append(true).open(&saved).and_then(|file| file.set_modified(at)).expect("a file");
    };
    let age = || std::fs::metadata(&saved).and_then(|file| file.modified()).expect("a time").elapsed().expect("past");
    hours_ago(11);
    let again = up();
    again.send(&scene.session);
    std::thread::sleep(std::time::Duration::from_secs(6));
    assert!(age() > std::time::Duration::from_secs(10 * 3_600), "{:?}", age());
    drop(again);
    hours_ago(13);
    is_refused();
}

#[test]
fn an_address_on_the_command_line_has_no_password() {
    let place = Place::new();
    let ran = place.run(&["up", "--store", "postgres://anna:s3cret@127.0.0.1:1/d"]);
    assert_eq!(ran.code, Some(2));
    assert!(!ran.err.contains("s3cret") && ran.err.contains("CTX_STORE_PASSWORD"), "{ran:?}");
    let ran = place.run(&["store", "migrate"]).refused();
    assert!(ran.err.contains("it needs no migration"), "{ran:?}");
    let ran = ctx_with(&place, ("CTX_STORE", "postgres://anna:s3cret@127.0.0.1:1/d"), &["store", "check"]).refused();
    assert!(!ran.err.contains("s3cret") && ran.err.contains("out of reach"), "{ran:?}");
}
