//! `ctx demo`: a recorded conversation to play with, and nothing left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use testkit::Client;

use crate::place::{Place, Ran, finish, until};

/// A demo in the foreground.
pub struct Running {
    place: Place,
    child: Child,
    home: PathBuf,
    greeting: String,
    took: Duration,
}

impl Running {
    pub fn start() -> Self {
        let place = Place::new();
        let printed = place.path("printed");
        let started = Instant::now();
        let mut command = place.ctx(&["demo"]);
        // A daemon of the user, which the demo must not touch.
        command
            .env("CTX_LISTEN", "127.0.0.1:1")
            .env("CTX_UPSTREAM", "http://127.0.0.1:1")
            .env("TMPDIR", place.path("work"));
        let child = command.stdout(fs::File::create(&printed).expect("a file")).spawn().expect("ctx starts");
        let greeting = until("the demo is up", || {
            fs::read_to_string(&printed).ok().filter(|text| text.contains("Ctrl-C to stop"))
        });
        let took = started.elapsed();
        let home = greeting.lines().find_map(|line| line.trim().strip_prefix("export CTX_HOME=")).expect("a home");
        Self { child, home: home.into(), greeting, took, place }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = self.place.ctx(arguments);
        command.env("CTX_HOME", &self.home);
        finish(command)
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// A shell command line in which `ctx` uses the demo.
    pub fn shell(&self, line: &str) -> Command {
        let mut command = self.place.shell(line);
        command.env("CTX_HOME", &self.home);
        command
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens the page behind this link, as a browser does: the link signs in, the page follows.
fn load(link: &str) -> (u16, String) {
    let rest = link.strip_prefix("http://").expect("a link");
    let (address, target) = rest.split_once('/').expect("a path");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut client = Client::connect(&format!("http://{address}")).await.expect("connected");
        let entry = client.send("GET", &format!("/{target}"), &[], b"").await.expect("an answer");
        assert_eq!(entry.status, 303, "{entry:?}");
        let mut cookies = entry.headers.iter().filter(|(name, _)| name == "set-cookie").map(|(_, value)| value);
        let cookie = cookies.find(|value| value.starts_with("ctx_session")).expect("a session");
        let cookie = cookie.split(';').next().expect("a value");
        let cookie = [("cookie".to_owned(), cookie.to_owned())];
        let page = client.send("GET", "/ui/", &cookie, b"").await.expect("an answer");
        (page.status, String::from_utf8_lossy(&page.body).into_owned())
    })
}

#[test]
fn a_demo_can_be_listed_edited_and_undone_and_has_a_page() {
    let mut demo = Running::start();
    assert!(demo.took < Duration::from_secs(10), "{:?}", demo.took);
    assert!(demo.greeting.contains("Three things to try"), "{}", demo.greeting);
    let list = demo.run(&["list"]).ok().out;
    assert!(list.contains("t16") && list.contains("the nightly import") && !list.contains("t17"), "{list}");
    let before = demo.run(&["list", "--json"]).ok().json()["tokens"].clone();
    let dropped = demo.run(&["drop-results", "--larger-than", "1000"]).ok().out;
    assert!(dropped.contains("tokens less"), "{dropped}");
    assert!(demo.run(&["list"]).ok().out.contains("[results-dropped]"));
    demo.run(&["undo"]).ok();
    assert_eq!(demo.run(&["list", "--json"]).ok().json()["tokens"], before);
    let stale = demo.run(&["preview", "delete", "--superseded"]).ok().out;
    assert!(stale.contains("tokens less"), "{stale}");

    let link = demo.run(&["ui"]).ok().out.trim().to_owned();
    let (status, body) = load(&link);
    assert!(status == 200 && body.to_lowercase().contains("<!doctype html>"), "{status} {body}");

    assert!(Command::new("kill").args(["-INT", &demo.child.id().to_string()]).status().expect("kill runs").success());
    let ended = until("the demo ends", || demo.child.try_wait().expect("a child"));
    assert!(ended.success(), "{ended}");
    assert!(!demo.home.exists(), "{} is left behind", demo.home.display());
    assert_eq!(fs::read_dir(demo.place.path("work")).expect("a folder").count(), 0);
    assert!(!demo.place.home().exists(), "the user's own home is not made");
}

#[test]
fn a_command_runs_with_the_demo_and_both_end_together() {
    let place = Place::new();
    let line = "ctx demo -- sh -c 'echo $CTX_HOME; ctx delete t6; ctx history; exit 7'";
    let mut command = place.shell(line);
    command.env("TMPDIR", place.path("work")).env("CTX_TOKEN", "0123456789abcdef0123456789abcdef");
    let ran = finish(command);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(ran.out.contains("delete t6") && ran.out.contains("(main)"), "{ran:?}");
    let home = ran.out.lines().next().expect("a line");
    assert!(home.contains("ctx-demo-") && !Path::new(home).exists(), "{ran:?}");
}

#[test]
fn the_recipes_are_true() {
    let demo = Running::start();
    crate::walkthrough::verify(
        "docs/recipes.md",
        &demo.home,
        |line| demo.shell(line),
        |_| unreachable!("no agent is here"),
    );
}

#[test]
fn the_shell_completes_ids_of_the_daemon() {
    let demo = Running::start();
    demo.run(&["delete", "t6"]).ok();
    let complete = |words: &str| {
        let line = format!(
            "eval \"$(ctx completions bash)\"; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _ctx_with_ids ctx \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo ${{COMPREPLY[@]}}"
        );
        finish(demo.shell(&format!("exec bash -c '{line}'"))).ok().out
    };
    assert_eq!(complete("ctx show t1").trim().split(' ').next(), Some("t1"));
    assert!(complete("ctx delete t4 t1").contains("t16") && complete("ctx show t2/").contains("t2/2"));
    assert_eq!(complete("ctx revert \"\"").trim().len(), 10);
    let conversation = complete("ctx list --conv \"\"");
    assert!(conversation.trim().starts_with('c') && !conversation.contains(' '), "{conversation}");
    assert!(complete("ctx list --st").contains("--steps"));
}
