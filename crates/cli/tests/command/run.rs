//! `ctx run` and `ctx stop`: an agent in the foreground, a daemon in the background.

use std::fs;
use std::io::{Read, Write};
use std::process::Command;

use crate::place::{Place, Ran, closed_port, finish, mode, provider, until};

const SAY: &str =
    "echo \"base=$ANTHROPIC_BASE_URL hints=$CLAUDE_CODE_GATEWAY_HINT_HEADERS search=$ENABLE_TOOL_SEARCH\"";

/// Stops the background daemon at the end of the test, even if it fails.
struct Behind<'a>(&'a Place);

impl Drop for Behind<'_> {
    fn drop(&mut self) {
        let Some(pid) = self.0.notice().map(|notice| notice["pid"].to_string()) else { return };
        let stopped = self.0.ctx(&["stop"]).output();
        if !stopped.is_ok_and(|stopped| stopped.status.success()) {
            let _ = Command::new("kill").args(["-9", &pid]).output();
        }
    }
}

impl Behind<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.ctx(&[&["run"], arguments].concat());
        command.env("CTX_LISTEN", "127.0.0.1:0");
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments))
    }
}

#[test]
fn the_agent_runs_through_a_daemon_that_is_started_once_and_stays() {
    let (place, provider) = (Place::new(), provider());
    let behind = Behind(&place);
    let ran = behind.run(&["--upstream", &provider.url(), "--", "sh", "-c", &format!("{SAY}; exit 7")]);
    assert_eq!(ran.code, Some(7), "the exit code is the agent's: {ran:?}");
    let notice = place.notice().expect("the daemon stays up");
    let listen = notice["listen"].as_str().expect("an address");
    assert_eq!(ran.out, format!("base=http://{listen} hints=1 search=true\n"), "{ran:?}");
    assert!(ran.err.contains(&format!("started the daemon on {listen}, forwarding to {}", provider.url())), "{ran:?}");

    let again = behind.run(&["--", "sh", "-c", SAY]).ok();
    assert_eq!(again.out, ran.out, "the same daemon");
    assert!(!again.err.contains("daemon"), "no word about it: {again:?}");
    assert_eq!(place.notice().as_ref(), Some(&notice));

    let stopped = place.run(&["stop"]).ok();
    assert!(stopped.out.contains(&notice["pid"].to_string()), "{stopped:?}");
    assert!(place.notice().is_none());
    assert_eq!(place.run(&["stop"]).ok().out, "No daemon is running.\n");
}

#[test]
fn the_port_of_a_dead_daemon_gets_no_token() {
    let (place, provider) = (Place::new(), provider());
    let behind = Behind(&place);
    // The token stays.
    behind.run(&["--upstream", &provider.url(), "--", "true"]).ok();
    place.run(&["stop"]).ok();
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    other.set_nonblocking(true).expect("set");
    let mut dead = Command::new("true").spawn().expect("a process");
    dead.wait().expect("its end");
    let listen = other.local_addr().expect("an address");
    let notice = serde_json::json!({"pid": dead.id(), "listen": listen, "started_at": 1});
    place.write("home/daemon.json", &notice.to_string());
    behind.run(&["--upstream", &provider.url(), "--", "true"]).ok();
    let asked = other.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(asked, Err(std::io::ErrorKind::WouldBlock), "somebody else's port was asked");
}

#[test]
fn what_the_user_has_set_stays_and_a_base_url_of_their_own_is_answered() {
    let (place, provider) = (Place::new(), provider());
    let behind = Behind(&place);
    let mut command = behind.command(&["--upstream", &provider.url(), "--", "sh", "-c", SAY]);
    command.env("ENABLE_TOOL_SEARCH", "false").env("ANTHROPIC_BASE_URL", "https://gateway.example");
    let ran = finish(command).ok();
    assert!(ran.out.contains("search=false") && ran.out.contains("base=http://127.0.0.1:"), "{ran:?}");
    let note = format!(
        "ANTHROPIC_BASE_URL is set to https://gateway.example, but this agent uses ctx, which forwards to {}",
        provider.url()
    );
    assert!(ran.err.contains(&note), "{ran:?}");
}

#[test]
fn a_running_daemon_keeps_its_upstream_and_says_so() {
    let place = Place::new();
    let up = place.up("http://127.0.0.1:1");
    let ran = place.run(&["run", "--upstream", "http://127.0.0.1:2", "--", "sh", "-c", SAY]).ok();
    assert!(ran.out.contains(&up.listen.to_string()), "{ran:?}");
    assert!(ran.err.contains("forwards to http://127.0.0.1:1, not to http://127.0.0.1:2"), "{ran:?}");
}

#[test]
fn a_running_daemon_keeps_its_address_and_says_so() {
    let place = Place::new();
    let up = place.up("http://127.0.0.1:1");
    let wanted = closed_port().to_string();
    let ran = place.run(&["run", "--listen", &wanted, "--", "sh", "-c", SAY]).ok();
    assert!(ran.out.contains(&format!("base={} ", up.url())), "{ran:?}");
    assert!(ran.err.contains(&format!("listens on {}, not on {wanted}", up.listen)), "{ran:?}");
    assert!(!ran.err.contains("started the daemon"), "{ran:?}");
    let same = place.run(&["run", "--listen", &up.listen.to_string(), "--", "true"]).ok();
    assert!(!same.err.contains("listens on"), "{same:?}");
}

#[test]
fn a_run_without_a_request_says_so_and_one_with_a_request_does_not() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    let silent = place.run(&["run", "--", "true"]).ok();
    assert!(silent.err.contains("`true` sent no request through ctx") && silent.err.contains("--client"), "{silent:?}");

    let (runs, asked) = (place.home().join("runs"), place.home().join("asked"));
    let agent = format!("touch '{}'; until [ -e '{}' ]; do sleep 0.05; done", runs.display(), asked.display());
    let ran = std::thread::scope(|scope| {
        let ran = scope.spawn(|| place.run(&["run", "--", "sh", "-c", &agent]).ok());
        until("the agent runs", || runs.exists().then_some(()));
        let mut stream = std::net::TcpStream::connect(up.listen).expect("connected");
        write!(stream, "GET /v1/models HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", up.listen).expect("asked");
        stream.read_to_end(&mut Vec::new()).expect("answered");
        fs::write(&asked, "").expect("written");
        ran.join().expect("ran")
    });
    assert_eq!(ran.err, "");
}

#[test]
fn a_named_client_gets_its_own_variables_and_a_wrong_name_is_refused() {
    let place = Place::new();
    let up = place.up("http://127.0.0.1:1");
    let say = "echo \"$ANTHROPIC_HOST $OPENAI_HOST $ANTHROPIC_BASE_URL\"";
    let ran = place.run(&["run", "--client", "goose", "--", "sh", "-c", say]).ok();
    assert_eq!(ran.out, format!("{0} {0} \n", up.url()));
    let wrong = place.run(&["run", "--client", "gose", "--", "true"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.err.contains("gose") && wrong.err.contains("goose"), "{wrong:?}");
}

#[cfg(unix)]
#[test]
fn signals_reach_the_agent_and_its_end_is_told_by_the_code() {
    let place = Place::new();
    let _up = place.up("http://127.0.0.1:1");
    let ran = place.run(&["run", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(ran.code, Some(128 + 9), "{ran:?}");
    // The agent signals its parent, which forwards the signal to it.
    let agent = "sleep 20 >/dev/null 2>&1 & trap 'kill $!; exit 3' TERM; sleep 0.5; kill -TERM $PPID; wait; exit 9";
    let ran = place.run(&["run", "--", "sh", "-c", agent]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn ctx_stops_with_the_agent_and_goes_on_with_it() {
    let place = Place::new();
    let _up = place.up("http://127.0.0.1:1");
    let mut run = place.ctx(&["run", "--", "sh", "-c", "kill -STOP $$; exit 6"]);
    let mut run = run.stderr(std::process::Stdio::null()).spawn().expect("started");
    let pid = run.id();
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    };
    until("it is stopped", || (state() == Some('T')).then_some(()));
    Command::new("kill").args(["-CONT", &pid.to_string()]).status().expect("sent");
    assert_eq!(run.wait().expect("ended").code(), Some(6));
}

#[test]
fn flags_of_the_agent_are_the_agents() {
    let place = Place::new();
    let _up = place.up("http://127.0.0.1:1");
    let ran = place.run(&["run", "echo", "--json", "-p", "--home", "x", "--", "y"]).ok();
    assert_eq!(ran.out, "--json -p --home x -- y\n");
}

#[test]
fn an_agent_that_is_not_there_is_told() {
    let place = Place::new();
    let _up = place.up("http://127.0.0.1:1");
    let ran = place.run(&["run", "--", "no-such-agent"]).refused();
    assert!(ran.err.contains("`no-such-agent`") && ran.err.contains("PATH"), "{ran:?}");
}

#[test]
fn why_a_daemon_does_not_start_is_told_to_the_person() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let ran = place.run(&["run", "--listen", &address, "--", "true"]).refused();
    // Another program on the port is detected before a daemon is started.
    assert!(ran.err.contains(&address), "{ran:?}");

    fs::write(place.home().join("token"), "not a token").expect("written");
    let ran = Behind(&place).run(&["--", "true"]).refused();
    assert!(ran.err.contains("contains no token") && ran.err.contains("delete it"), "{ran:?}");
}

#[test]
fn two_agents_that_start_at_once_share_one_daemon() {
    let (place, provider) = (Place::new(), provider());
    let behind = Behind(&place);
    let ran: Vec<Ran> = std::thread::scope(|scope| {
        let start = || behind.run(&["--upstream", &provider.url(), "--", "sh", "-c", SAY]);
        let agents: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
        agents.into_iter().map(|agent| agent.join().expect("an agent").ok()).collect()
    });
    assert!(ran.iter().all(|one| one.out == ran[0].out), "{ran:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_daemon_behind_the_scenes_holds_no_credentials_and_its_log_is_private() {
    let place = Place::new();
    let behind = Behind(&place);
    let mut command = behind.command(&["--upstream", &format!("http://{}", closed_port()), "--", "true"]);
    command.env("ANTHROPIC_API_KEY", "sk-hush").env("ANTHROPIC_AUTH_TOKEN", "hush").env("CTX_LOG", "debug");
    finish(command).ok();
    let pid = place.notice().expect("a daemon")["pid"].to_string();
    let environment = fs::read(format!("/proc/{pid}/environ")).expect("its environment");
    let environment = String::from_utf8_lossy(&environment);
    assert!(environment.contains("CTX_LOG=debug") && !environment.contains("hush"), "{environment}");
    let folder = fs::read_link(format!("/proc/{pid}/cwd")).expect("its folder");
    assert_eq!(folder, place.home().canonicalize().expect("the home"));

    let log = place.home().join("daemon.log");
    assert_eq!(mode(&log), 0o600);
    let token = fs::read_to_string(place.home().join("token")).expect("a token");
    let said = until("it has said something", || fs::read_to_string(&log).ok().filter(|text| text.contains("is up")));
    assert!(!said.contains(token.trim()), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_runs_without_a_home_that_cannot_be_made() {
    let place = Place::new();
    let mut command = place.ctx(&["run", "--", "echo", "hi"]);
    command.env("CTX_HOME", "/proc/ctx");
    let ran = finish(command).ok();
    assert!(ran.out.contains("hi") && ran.err.contains("THE AGENT RUNS WITHOUT CTX"), "{ran:?}");
}
