//! `ctx doctor`: findings and advice.

use std::fs;

use crate::place::{Place, Ran, asking, closed_port, provider};

fn wrong(ran: &Ran) -> Vec<String> {
    let answer = ran.json();
    let findings = answer["findings"].as_array().expect("findings").clone();
    assert_eq!(answer["healthy"], ran.code == Some(0));
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    findings.iter().filter(|finding| finding["level"] == "wrong").map(|finding| word(&finding["message"])).collect()
}

#[test]
fn everything_is_in_order_while_a_daemon_runs() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    up.send(&asking(1, "SAY:hello"));
    let ran = place.run(&["doctor"]).ok();
    for expected in ["ok    home", "ok    token", "ok    daemon", "ok    store", "ok    upstream", &provider.url()] {
        assert!(ran.out.contains(expected), "{expected}: {ran:?}");
    }
    assert!(ran.out.ends_with("No problems found.\n"), "{ran:?}");
}

#[test]
fn the_upstream_is_tried_without_a_daemon_and_nothing_is_left_behind() {
    let (place, provider) = (Place::new(), provider());
    let ran = place.run(&["doctor", "--upstream", &provider.url()]).ok();
    assert!(ran.out.contains(&format!("{} answers", provider.url())), "{ran:?}");
    assert!(!place.home().exists());
}

#[test]
fn an_upstream_that_cannot_be_reached_is_wrong_with_and_without_a_daemon() {
    let place = Place::new();
    let upstream = format!("http://{}", closed_port());
    let ran = place.run(&["doctor", "--upstream", &upstream, "--json"]);
    assert!(wrong(&ran).iter().any(|message| message.contains("refused") && message.contains(&upstream)), "{ran:?}");
    let _up = place.up(&upstream);
    let ran = place.run(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("wrong upstream") && ran.out.contains("→ Check that the upstream is running"), "{ran:?}");
}

#[test]
fn a_bad_configuration_is_found() {
    let place = Place::new();
    place.write("home/ctx.toml", "[upstream]\nurl = 5\n");
    let ran = place.run(&["doctor", "--json"]);
    assert_eq!(wrong(&ran).len(), 1, "{ran:?}");
    assert!(ran.out.contains("line 2"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn files_that_others_can_read_are_found() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    drop(place.up("http://127.0.0.1:1"));
    let open = |name: &str, mode| {
        fs::set_permissions(place.home().join(name), fs::Permissions::from_mode(mode)).expect("opened")
    };
    open("token", 0o644);
    open("ctx.db", 0o644);
    open("", 0o755);
    let found = wrong(&place.run(&["doctor", "--offline", "--json"])).join("\n");
    assert!(
        found.contains(&format!("others can read {}", place.home().display()))
            && found.contains("token")
            && found.contains("ctx.db"),
        "{found}"
    );
}

#[test]
fn what_a_killed_daemon_left_behind_is_mentioned_and_harmless() {
    let place = Place::new();
    drop(place.up("http://127.0.0.1:1"));
    place.write("home/daemon.json.77", "{");
    let ran = place.run(&["doctor", "--offline"]).ok();
    assert!(ran.out.contains("daemon.json is left over"), "{ran:?}");
    assert!(ran.out.contains("daemon.json.77 is an unfinished file"), "{ran:?}");
    let ran = place.run(&["list"]).refused();
    assert!(ran.err.contains("did not shut down cleanly"), "{ran:?}");
    let up = place.up("http://127.0.0.1:1");
    assert_eq!(place.run(&["status", "--json"]).ok().json()["pid"], up.pid(), "the next start replaces it");
}

#[test]
fn a_damaged_store_is_found_and_explained() {
    let place = Place::new();
    drop(place.up("http://127.0.0.1:1"));
    for name in ["ctx.db-wal", "ctx.db-shm"] {
        let _ = fs::remove_file(place.home().join(name));
    }
    place.write("home/ctx.db", &"this is no database ".repeat(1_000));
    let ran = place.run(&["doctor", "--offline"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("wrong store") && ran.out.contains("→ "), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn a_home_that_cannot_be_made_is_wrong_and_one_that_can_be_is_not_made() {
    let place = Place::new();
    place.write("file", "in the way");
    let ran = place.run(&["doctor", "--json", "--home", &place.path("file/home").display().to_string()]);
    let told = wrong(&ran);
    assert!(told.iter().any(|words| words.contains("does not exist and cannot be created")), "{told:?}");
    let new = place.path("new/home");
    let ran = place.run(&["doctor", "--json", "--home", &new.display().to_string()]);
    assert!(!wrong(&ran).iter().any(|words| words.contains("cannot be created")), "{ran:?}");
    assert!(!place.path("new").exists());
}
