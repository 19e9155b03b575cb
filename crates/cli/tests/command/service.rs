//! The daemon as a service, with a stand-in for systemd; and its replacement by a newer version.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::place::{Place, Ran, closed_port, finish};

/// Runs the unit's command in the background, and keeps its process id.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$@" >> "$HOME/calls"
unit="$HOME/.config/systemd/user/ctx.service"
main() { cat "$HOME/main.pid" 2>/dev/null; }
start() { (eval "exec $(sed -n 's/^ExecStart=//p' "$unit")") </dev/null >/dev/null 2>&1 & echo $! > "$HOME/main.pid"; }
stop() { kill "$(main)" 2>/dev/null; while kill -0 "$(main)" 2>/dev/null; do sleep 0.02; done; rm -f "$HOME/main.pid"; }
case "$*" in
  *"enable --now ctx.service") kill -0 "$(main)" 2>/dev/null || start ;;
  *"disable --now ctx.service") stop ;;
  *"restart ctx.service") stop; start ;;
  *"is-active ctx.service") kill -0 "$(main)" 2>/dev/null ;;
esac
"#;

struct Machine {
    place: Place,
    listen: String,
}

impl Machine {
    fn new(systemctl: &str) -> Self {
        let place = Place::new();
        fs::create_dir_all(place.path("bin")).expect("a folder");
        let program = place.write("bin/systemctl", systemctl);
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("a program");
        Self { place, listen: closed_port().to_string() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.ctx(arguments);
        let path = format!("{}:/usr/bin:/bin", self.place.path("bin").display());
        command.env("PATH", path).args(["--listen", &self.listen]);
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments))
    }

    fn unit(&self) -> PathBuf {
        self.place.path(".config/systemd/user/ctx.service")
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.place.path("calls")).unwrap_or_default()
    }

    fn pid(&self) -> u64 {
        self.place.notice().expect("a daemon")["pid"].as_u64().expect("a process")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.run(&["service", "uninstall"]);
        finish(self.place.ctx(&["stop"]));
    }
}

#[test]
fn a_service_is_installed_shown_and_removed_and_removing_it_twice_is_harmless() {
    let machine = Machine::new(SYSTEMCTL);
    let none = machine.run(&["service", "status"]).ok().out;
    assert!(none.contains("not installed") && none.contains("daemon   not running"), "{none}");
    let ran = machine.run(&["service", "install"]).ok();
    assert!(ran.out.contains(&machine.listen) && ran.out.contains("daemon.log"), "{ran:?}");
    let unit = fs::read_to_string(machine.unit()).expect("a unit");
    assert!(unit.contains(" up --service --home ") && unit.contains(&machine.listen), "{unit}");
    assert!(
        machine.calls().ends_with("--user daemon-reload\n--user enable --now ctx.service\n"),
        "{}",
        machine.calls()
    );

    let told = machine.run(&["service", "status", "--json"]).ok().json();
    assert_eq!((&told["active"], &told["daemon"]), (&true.into(), &machine.listen.as_str().into()), "{told}");
    let log = fs::read_to_string(machine.place.home().join("daemon.log")).expect("a log");
    assert!(log.contains("the daemon is up"), "{log}");
    let doctor = machine.run(&["doctor", "--offline"]).ok().out;
    assert!(doctor.contains("daemon.log"), "{doctor}");

    // Once more, as after an upgrade: the service gets a new process.
    let before = machine.pid();
    machine.run(&["service", "install"]).ok();
    assert_ne!(machine.pid(), before);

    assert!(machine.run(&["service", "uninstall"]).ok().out.starts_with("Removed the service."));
    assert!(!machine.unit().exists() && machine.place.notice().is_none());
    assert_eq!(machine.run(&["service", "uninstall"]).ok().out, "The service is not installed.\n");
}

#[test]
fn a_running_daemon_gives_way_to_the_service() {
    let machine = Machine::new(SYSTEMCTL);
    // `run` takes everything behind `--`, so the address stands before it.
    finish(machine.place.ctx(&["run", "--listen", &machine.listen, "--", "true"])).ok();
    let before = machine.pid();
    machine.run(&["service", "install"]).ok();
    assert_ne!(machine.pid(), before);
}

#[test]
fn without_a_service_manager_nothing_stays_behind() {
    let machine = Machine::new("#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n");
    let ran = machine.run(&["service", "install"]).refused();
    assert!(ran.err.contains("systemd refused: Failed to connect to bus") && ran.err.contains("`ctx up`"), "{ran:?}");
    assert!(!machine.unit().exists() && !machine.place.path(".config").exists());
}

#[test]
fn a_running_daemon_survives_a_service_that_cannot_be_installed() {
    let machine = Machine::new("#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n");
    finish(machine.place.ctx(&["run", "--listen", &machine.listen, "--", "true"])).ok();
    let before = machine.pid();
    machine.run(&["service", "install"]).refused();
    assert_eq!(machine.pid(), before);

    let refusal =
        SYSTEMCTL.replace(") kill -0 \"$(main)\" 2>/dev/null || start ;;", ") echo 'Unit is masked' >&2; exit 1 ;;");
    assert_ne!(refusal, SYSTEMCTL);
    fs::write(machine.place.path("bin/systemctl"), refusal).expect("written");
    let ran = machine.run(&["service", "install"]).refused();
    assert!(ran.err.contains("systemd refused: Unit is masked"), "{ran:?}");
    assert!(!machine.unit().exists() && machine.pid() != before, "it was started again");
    assert_eq!(machine.place.notice().expect("a daemon")["listen"], machine.listen.as_str());
}

#[test]
fn a_service_that_cannot_start_says_why() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut machine = Machine::new(SYSTEMCTL);
    machine.listen = other.local_addr().expect("an address").to_string();
    let ran = machine.run(&["service", "install"]).refused();
    assert!(ran.err.contains("the daemon did not start") && ran.err.contains("the port is in use"), "{ran:?}");
}
