//! Without a daemon, every verb says so and gives advice.

use crate::place::{LOOKING, Place, closed_port};

#[test]
fn every_verb_that_looks_says_that_no_daemon_runs_and_how_to_start_one() {
    let place = Place::new();
    for verb in LOOKING.iter().chain(&[&["watch"][..], &["delete", "t1"], &["undo"], &["preview", "heal"]]) {
        let ran = place.run(verb).refused();
        assert!(ran.err.contains("error: no daemon is running"), "{ran:?}");
        assert!(
            ran.err.contains("hint: start the daemon with `ctx up`") && ran.err.contains("`ctx run -- claude`"),
            "{ran:?}"
        );
    }
}

#[test]
fn programs_get_the_same_as_json_on_stdout() {
    let place = Place::new();
    for verb in LOOKING {
        let ran = place.run(&[verb, &["--json"]].concat());
        assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""), "{ran:?}");
        let error = &ran.json()["error"];
        assert_eq!(error["code"], "no-daemon");
        assert!(error["message"].is_string() && error["hint"].is_string(), "{ran:?}");
    }
}

/// Runs in a terminal of `script`, which feeds it this input.
#[cfg(unix)]
fn in_a_terminal(place: &Place, arguments: &str, keys: &str) -> Option<String> {
    use std::process::{Command, Stdio};
    let ctx = place.ctx(&[] as &[&str]);
    let line = format!("{} {arguments}", ctx.get_program().to_string_lossy());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env_clear().current_dir(ctx.get_current_dir()?);
    command.envs(ctx.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("NO_COLOR", "1").env("TERM", "xterm").env("SHELL", "/bin/sh");
    command.env("CTX_LISTEN", closed_port().to_string()).env("CTX_UPSTREAM", "http://127.0.0.1:9");
    let input = place.write("keys", keys);
    let out = command.stdin(std::fs::File::open(input).ok()?).stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&out.stdout).replace("\r\n", "\n"))
}

#[test]
#[cfg(unix)]
fn in_a_terminal_one_is_offered_and_started_on_request() {
    let place = Place::new();
    let Some(told) = in_a_terminal(&place, "list", "n\n") else {
        eprintln!("there is no `script`; nothing is tested");
        return;
    };
    assert!(told.contains("No daemon is running. Start it? [Y/n]") && told.contains("error: no daemon"), "{told}");
    assert!(place.notice().is_none());
    // Verbs that only report on the daemon do not start one.
    assert!(!in_a_terminal(&place, "status", "y\n").expect("a terminal").contains("Start it?"));
    let told = in_a_terminal(&place, "conversations", "\n").expect("a terminal");
    assert!(told.contains("Start it? [Y/n]") && told.contains("started the daemon on"), "{told}");
    assert!(!in_a_terminal(&place, "conversations", "n\n").expect("a terminal").contains("Start it?"));
    place.run(&["stop"]).ok();
}

#[test]
fn looking_leaves_no_trace() {
    let place = Place::new();
    place.run(&["list"]).refused();
    place.run(&["doctor", "--offline"]).ok();
    place.run(&["purge", "--all", "--yes"]).ok();
    assert!(!place.home().exists());
}

#[test]
fn there_is_nothing_to_stop_or_to_purge() {
    let place = Place::new();
    assert_eq!(place.run(&["stop"]).ok().out, "No daemon is running.\n");
    assert_eq!(place.run(&["stop", "--json"]).ok().json()["stopped"], false);
    assert_eq!(place.run(&["purge", "--all", "--yes"]).ok().out, "Nothing to purge.\n");
}

#[test]
fn an_address_without_a_daemon_is_named() {
    let place = Place::new();
    std::fs::create_dir(place.home()).expect("a home");
    place.write("home/token", &"0".repeat(64));
    let address = closed_port().to_string();
    let ran = place.run(&["list", "--listen", &address]).refused();
    assert!(ran.err.contains(&address), "{ran:?}");
}
