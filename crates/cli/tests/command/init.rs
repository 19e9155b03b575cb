//! `ctx init`: the first run on a machine, and machines on which something is wrong.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use crate::place::{Place, Ran, closed_port, finish, finish_unread};

/// A machine with settings of Claude Code and nothing else of interest.
struct Machine {
    place: Place,
    settings: PathBuf,
    listen: String,
}

impl Machine {
    fn with_settings(text: &str) -> Self {
        let place = Place::new();
        let settings = place.path(".claude/settings.json");
        fs::create_dir_all(place.path(".claude")).expect("a folder");
        fs::write(&settings, text).expect("written");
        fs::create_dir_all(place.path("bin")).expect("a folder");
        Self { place, settings, listen: closed_port().to_string() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.ctx(&[&["init"], arguments].concat());
        command.env("PATH", self.place.path("bin")).env("CTX_LISTEN", &self.listen);
        command
    }

    fn init(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments))
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.settings).expect("settings")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        finish(self.place.ctx(&["stop"]));
    }
}

#[test]
fn agents_are_found_and_set_up_the_daemon_runs_and_everything_is_tested() {
    let machine = Machine::with_settings("{\"model\": \"opus\"}\n");
    fs::write(machine.place.path("bin/codex"), "").expect("a program");
    let ran = machine.init(&["--dry-run"]).ok();
    assert!(ran.out.starts_with("Found on this machine: Claude Code, Codex.\n"), "{ran:?}");
    assert!(ran.out.contains("this was a dry run") && ran.out.contains("\"env\": {"), "{ran:?}");
    assert!(!machine.place.home().exists() && machine.text() == "{\"model\": \"opus\"}\n");

    let refused = machine.init(&[]);
    assert!(refused.code == Some(1) && refused.err.contains("pass --yes"), "{refused:?}");
    assert!(!machine.text().contains("ANTHROPIC"));

    let ran = machine.init(&["--yes"]).ok();
    assert!(machine.text().contains(&format!("http://{}", machine.listen)), "{}", machine.text());
    assert!(!ran.err.contains("no daemon is running"), "{ran:?}");
    assert!(ran.err.contains(&format!("started the daemon on {}", machine.listen)), "{ran:?}");
    for line in
        ["ok 2 turns passed through the daemon byte for byte", "ok an edit reached the provider", "Three things to try"]
    {
        assert!(ran.out.contains(line), "{line}: {ran:?}");
    }
    let again = machine.init(&["--yes"]).ok();
    assert!(again.out.contains("Nothing to do: Claude Code already uses"), "{again:?}");
    assert!(machine.place.run(&["conversations"]).ok().out.contains("No conversation"), "the test leaves nothing");
    machine.place.run(&["uninstall", "--yes"]).ok();
    assert_eq!(machine.text(), "{\"model\": \"opus\"}\n");
}

#[test]
fn a_machine_without_agents_is_told_what_to_do() {
    let machine = Machine::with_settings("{}");
    fs::remove_dir_all(machine.place.path(".claude")).expect("removed");
    let ran = machine.init(&["--yes"]).ok();
    assert!(ran.out.contains("No agent was found") && ran.out.contains("claude, codex"), "{ran:?}");
    assert!(ran.out.contains("ctx demo") && machine.place.notice().is_none(), "{ran:?}");
}

#[test]
fn settings_with_a_syntax_error_are_left_alone_and_the_place_is_named() {
    let machine = Machine::with_settings("{\"model\": \n}");
    let ran = machine.init(&["--yes"]).ok();
    assert!(ran.err.contains("skipped Claude Code") && ran.err.contains("settings.json"), "{ran:?}");
    assert!(ran.err.contains("line 2"), "{ran:?}");
    assert_eq!(machine.text(), "{\"model\": \n}");
    assert!(machine.place.notice().is_none(), "no agent uses a daemon");
}

#[cfg(unix)]
#[test]
fn read_only_settings_of_one_agent_keep_no_other_from_a_daemon() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::with_settings("{}");
    fs::create_dir_all(machine.place.path(".codex")).expect("a folder");
    let codex = machine.place.write(".codex/config.toml", "a = 1\n");
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o444)).expect("a mode");
    let ran = machine.init(&["--yes"]).ok();
    assert!(ran.err.contains("skipped Codex") && ran.err.contains("is read-only"), "{ran:?}");
    assert!(!format!("{}{}", ran.out, ran.err).contains("othing was changed"), "{ran:?}");
    assert!(machine.text().contains(&format!("http://{}", machine.listen)), "{}", machine.text());
    assert_eq!(fs::read_to_string(codex).expect("settings"), "a = 1\n");
    assert!(machine.place.notice().is_some(), "Claude Code needs the daemon");
}

#[test]
fn output_without_a_reader_does_not_stop_it_halfway() {
    let machine = Machine::with_settings("{}");
    assert_eq!(finish_unread(machine.command(&["--yes"])), Some(0));
    assert!(machine.text().contains(&format!("http://{}", machine.listen)), "{}", machine.text());
    assert!(machine.place.notice().is_some(), "the daemon runs");
}

#[test]
fn comments_in_settings_stay_and_are_mentioned() {
    let machine = Machine::with_settings("{\n  // mine\n  \"model\": \"opus\"\n}\n");
    let ran = machine.init(&["--yes"]).ok();
    assert!(machine.text().contains("// mine") && machine.text().contains("ANTHROPIC_BASE_URL"), "{}", machine.text());
    assert!(ran.err.contains("comment"), "{ran:?}");
}

#[test]
fn without_a_home_or_with_one_that_cannot_be_made_nothing_is_changed() {
    let machine = Machine::with_settings("{}");
    let mut command = machine.command(&["--yes"]);
    command.env_remove("HOME").env_remove("CTX_HOME");
    let ran = finish(command).refused();
    assert!(ran.err.contains("neither HOME nor CTX_HOME is set") && ran.err.contains("hint: pass a folder"), "{ran:?}");

    let file = machine.place.write("file", "");
    let mut command = machine.command(&["--yes"]);
    command.env("CTX_HOME", file.join("home"));
    let ran = finish(command).refused();
    assert!(ran.err.contains("cannot write to the home"), "{ran:?}");
    assert_eq!(machine.text(), "{}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_home_is_refused_with_advice() {
    let machine = Machine::with_settings("{}");
    let mut command = machine.command(&["--yes"]);
    // Not even root can create files there.
    command.env("CTX_HOME", "/proc/self");
    let ran = finish(command).refused();
    assert!(ran.err.contains("/proc/self") && ran.err.contains("--home or CTX_HOME"), "{ran:?}");
    assert_eq!(machine.text(), "{}");
}

#[test]
fn a_port_of_another_program_is_named_before_anything_is_changed() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut machine = Machine::with_settings("{}");
    machine.listen = other.local_addr().expect("an address").to_string();
    let ran = machine.init(&["--yes"]).refused();
    assert!(ran.err.contains(&machine.listen) && ran.err.contains("the port is in use"), "{ran:?}");
    assert!(ran.err.contains("ctx.toml") && ran.err.contains("nothing was changed"), "{ran:?}");
    assert_eq!(machine.text(), "{}");
}
