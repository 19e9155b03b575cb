//! A team's daemon from the command line: people, keys, restarts, and two daemons on one database.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Client, FakeProvider, Options, PostgresServer, Session, listening};

const PATIENCE: Duration = Duration::from_secs(60);

struct Gateway {
    home: tempfile::TempDir,
    daemon: Child,
    address: SocketAddr,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Gateway {
    fn open(provider: &FakeProvider, flags: &[&str]) -> Gateway {
        Self::at(tempfile::tempdir().expect("a folder"), provider, flags)
    }

    fn at(home: tempfile::TempDir, provider: &FakeProvider, flags: &[&str]) -> Gateway {
        let mut command = ctx(home.path());
        command.args(["up", "--team", "--listen", "127.0.0.1:0", "--upstream", &provider.url()]).args(flags);
        let daemon = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("ctx up starts");
        let address = listening(home.path(), PATIENCE);
        Gateway { home, daemon, address }
    }

    /// Stops the daemon; its home stays.
    fn close(mut self) -> tempfile::TempDir {
        let stopped = ctx(self.home.path()).arg("stop").output().expect("ctx stop");
        assert!(stopped.status.success(), "{stopped:?}");
        self.daemon.wait().expect("the end");
        std::mem::replace(&mut self.home, tempfile::tempdir().expect("a folder"))
    }

    /// The output of a command, as the operator or with a person's key.
    fn run(&self, key: Option<&str>, arguments: &[&str]) -> Result<String, String> {
        let mut command = ctx(self.home.path());
        command.args(arguments);
        if let Some(key) = key {
            command.env("CTX_KEY", key);
        }
        let output = command.output().expect("ctx runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stdout) + &text(&output.stderr))
        }
    }

    fn json(&self, key: Option<&str>, arguments: &[&str]) -> Value {
        let all: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let answer = self.run(key, &all).expect("success");
        serde_json::from_str(&answer).expect(&answer)
    }

    fn person(&self, name: &str) -> String {
        self.run(None, &["people", "add", name]).expect("added");
        self.run(None, &["keys", "new", name]).expect("made").trim().to_owned()
    }

    async fn send(&self, key: &str, session: &Session) -> u16 {
        let mut client = Client::connect(&format!("http://{}", self.address)).await.expect("a connection");
        let mut headers = session.headers();
        if !key.is_empty() {
            headers.push(("x-ctx-key".to_owned(), key.to_owned()));
        }
        let answer = client.send("POST", "/v1/messages?beta=true", &headers, &session.body()).await.expect("an answer");
        answer.status
    }
}

fn ctx(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctx"));
    command.env_clear().env("CTX_HOME", home).stdin(Stdio::null());
    command
}

/// Every file below a folder, as text.
fn all_files(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => all.push_str(&all_files(&path)),
            false => all.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default())),
        }
    }
    all
}

fn session(seed: u64) -> Session {
    let mut session = Session::new(seed);
    session.turn().user("the first question");
    session.assistant("an answer").turn().user("the second question");
    session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_keep_their_conversations_apart_and_no_key_is_in_any_file() {
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let gateway = Gateway::open(&provider, &[]);
    let (anna, bob) = (gateway.person("anna"), gateway.person("bob"));
    let talk = session(1);
    assert_eq!(gateway.send(&anna, &talk).await, 200);
    assert_eq!(gateway.send(&bob, &talk).await, 200);
    assert_eq!(gateway.send("ctxk_unknown", &talk).await, 401);
    let listed = |gateway: &Gateway, key: Option<&str>| {
        gateway.json(key, &["conversations"])["conversations"].as_array().expect("a list").len()
    };
    assert_eq!((listed(&gateway, Some(&anna)), listed(&gateway, Some(&bob)), listed(&gateway, None)), (1, 1, 0));
    gateway.run(Some(&anna), &["pin", "t1"]).expect("pinned");
    assert_eq!(gateway.json(Some(&anna), &["history"])["commits"][0]["author"], "anna");
    gateway.run(Some(&anna), &["share", "bob"]).expect("shared");
    let shares = gateway.run(None, &["audit", "shares"]).expect("shares");
    assert!(shares.lines().any(|line| line.starts_with("anna") && line.ends_with("bob")), "{shares}");
    assert_eq!(listed(&gateway, Some(&bob)), 2);
    let spent = gateway.run(None, &["stats", "--by", "person", "--csv"]).expect("figures");
    let requests = |name: &str| spent.lines().find_map(|line| line.strip_prefix(name)?.split(',').nth(4));
    assert_eq!((requests("anna"), requests("bob"), spent.lines().count()), (Some("1"), Some("1"), 3), "{spent}");
    assert_eq!(gateway.json(Some(&anna), &["stats", "--by", "person"])["groups"][0]["key"], "anna");
    assert!(gateway.run(Some(&anna), &["stats", "--everyone"]).expect_err("refused").contains("auditor"));
    assert!(gateway.run(Some(&bob), &["people", "add", "mallory"]).expect_err("refused").contains("admin"));
    assert!(gateway.run(None, &["people", "list"]).expect("a list").contains("anna"));
    assert!(gateway.run(None, &["audit", "list"]).expect("a log").contains("key-made"));

    let home = gateway.close();
    let files = all_files(home.path());
    assert!(files.contains("the second question"), "the files have been read");
    for key in [&anna, &bob] {
        assert!(!files.contains(&key[12..]), "a key is in a file of the home");
    }
    for request in provider.requests() {
        assert!(!format!("{request:?}").contains("ctxk_"), "a key has left");
    }

    let gateway = Gateway::at(home, &provider, &[]);
    assert_eq!((listed(&gateway, Some(&anna)), listed(&gateway, Some(&bob))), (1, 2), "after a restart");
    let keys = gateway.json(Some(&anna), &["keys", "list"]);
    let id = keys["keys"][0]["id"].as_str().expect("an id");
    gateway.run(Some(&anna), &["keys", "revoke", id]).expect("revoked");
    assert_eq!(gateway.send(&anna, &talk).await, 401);
}

/// The words of a command line, with quotes.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" # ").next().unwrap_or(line);
    let quoted = line.split('\'').enumerate();
    quoted
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_on_the_page_about_teams_runs() {
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let gateway = Gateway::open(&provider, &[]);
    let bob = gateway.person("bob");
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/team.md"));
    let page = page.expect("the page");
    let (mut anna, mut ran) = (None, Vec::new());
    for line in page.lines().filter_map(|line| line.strip_prefix("$ ctx ")) {
        // A shell would write the output to a file.
        let mut words = words(line.split(" > ").next().unwrap_or(line));
        // The daemon runs already, and other tests sign in from other machines.
        if ["up", "login", "logout", "run"].contains(&words[0].as_str()) {
            continue;
        }
        if let Some(id) = words.iter_mut().find(|word| *word == "c3f9a1") {
            *id = gateway.json(anna.as_deref(), &["conversations"])["conversations"][0]["id"]
                .as_str()
                .expect("an id")
                .to_owned();
        }
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let key = anna.as_deref().filter(|_| words[0] == "share");
        let printed = gateway.run(key, &arguments).unwrap_or_else(|error| panic!("ctx {line}: {error}"));
        if words[0] == "keys" {
            let key = printed.trim().to_owned();
            assert_eq!(gateway.send(&key, &session(3)).await, 200);
            anna.get_or_insert(key);
        }
        ran.push(line.split_once(' ').map_or(line, |(first, _)| first).to_owned());
    }
    assert_eq!(
        ran,
        ["people", "keys", "keys", "people", "share", "share", "share", "audit", "audit", "stats", "stats", "stats"]
    );
    let shared = gateway.json(Some(&bob), &["conversations"])["conversations"].as_array().expect("a list").len();
    assert_eq!(shared, 0, "the page ends the share");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_for_one_use_does_nothing_else_and_is_listed_with_its_scopes() {
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let gateway = Gateway::open(&provider, &[]);
    let anna = gateway.person("anna");
    assert_eq!(gateway.send(&anna, &session(4)).await, 200);
    let made = gateway.json(Some(&anna), &["keys", "new", "--scope", "proxy,look"]);
    let reader = made["key"].as_str().expect("a key");
    assert_eq!(gateway.send(reader, &session(4)).await, 200);
    gateway.run(Some(reader), &["list"]).expect("it may look");
    let refused = gateway.run(Some(reader), &["pin", "t1"]).expect_err("refused");
    assert!(refused.contains("the scope edit"), "{refused}");
    let refused = gateway.run(Some(reader), &["keys", "new"]).expect_err("refused");
    assert!(refused.contains("the scope admin"), "{refused}");
    let listed = gateway.run(Some(reader), &["keys", "list"]).expect("listed");
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[1].contains(" all ") && lines[2].contains(" proxy, look "), "{listed}");
    let me = gateway.run(Some(reader), &["people", "me"]).expect("me");
    assert!(me.starts_with("anna (member; this key: proxy, look)"), "{me}");
}

#[test]
fn a_daemon_without_a_team_has_no_people_and_needs_no_keys() {
    let home = tempfile::tempdir().expect("a folder");
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let mut command = ctx(home.path());
    command.args(["up", "--listen", "127.0.0.1:0", "--upstream", &provider.url()]);
    let daemon = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("ctx up starts");
    let address = listening(home.path(), PATIENCE);
    let gateway = Gateway { home, daemon, address };
    let refused = gateway.run(None, &["people", "add", "anna", "--json"]).expect_err("refused");
    assert!(refused.contains("no-team"), "{refused}");
    assert!(!gateway.home.path().join("people").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_daemons_on_one_database_agree_on_people_keys_and_edits_at_once() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.url(&server.new_database());
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let one = Gateway::open(&provider, &["--store", &url]);
    let other = Gateway::open(&provider, &["--store", &url]);
    let (anna, bob) = (one.person("anna"), one.person("bob"));
    let talk = session(2);
    // A key counts everywhere as soon as it is shown.
    assert_eq!(other.send(&anna, &talk).await, 200);
    assert_eq!(other.send(&bob, &talk).await, 200);
    // What was merely observed comes to the other daemon a moment later.
    let deadline = Instant::now() + PATIENCE;
    while one.json(Some(&anna), &["conversations"])["conversations"].as_array().is_some_and(Vec::is_empty) {
        assert!(Instant::now() < deadline, "the conversation does not come to the other daemon");
    }
    let edited = one.json(Some(&anna), &["delete", "t1"]);
    assert!(edited["commit"].is_string() && edited["warnings"].as_array().is_none_or(Vec::is_empty), "{edited}");
    let composed = one.run(Some(&anna), &["compose", "--dump"]).expect("composed");
    provider.reset();
    assert_eq!(other.send(&anna, &talk).await, 200);
    assert_eq!(other.send(&bob, &talk).await, 200);
    let sent: Vec<String> =
        provider.requests().iter().map(|request| String::from_utf8_lossy(&request.body).into_owned()).collect();
    assert_eq!(sent[0], composed, "anna's edit is in her request through the other daemon");
    assert_eq!(sent[1].as_bytes(), talk.body(), "and not in bob's");
    assert_ne!(sent[0], sent[1]);
    let keys = one.json(Some(&anna), &["keys", "list"]);
    one.run(Some(&anna), &["keys", "revoke", keys["keys"][0]["id"].as_str().expect("an id")]).expect("revoked");
    assert_eq!(other.send(&anna, &talk).await, 401, "revoked everywhere as soon as it is acknowledged");
    let people = other.json(None, &["people", "list"]);
    assert_eq!(people["people"].as_array().map(Vec::len), Some(2));
    assert_eq!(people["people"][0]["keys"], json!(0));
}

/// A command about stores, without a daemon: its exit code and its output.
fn store(arguments: &[&str]) -> (Option<i32>, String) {
    let home = tempfile::tempdir().expect("a folder");
    let output = ctx(home.path()).arg("store").args(arguments).output().expect("ctx runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), told)
}

fn copied(from: &str, to: &str) -> Value {
    let (code, told) = store(&["copy", from, to, "--json"]);
    assert_eq!(code, Some(0), "{told}");
    serde_json::from_str(&told).expect(&told)
}

/// The counts of a check that finds nothing.
fn sound(place: &str) -> Value {
    let (code, told) = store(&["check", place, "--json"]);
    assert_eq!(code, Some(0), "{told}");
    let checked: Value = serde_json::from_str(&told).expect(&told);
    json!([checked["people"], checked["conversations"], checked["records"], checked["blobs"]])
}

fn path(home: &tempfile::TempDir) -> String {
    home.path().display().to_string()
}

/// Two people, of whom Anna has deleted a turn and shared the conversation. Returns their keys.
async fn team_with_an_edit(gateway: &Gateway, talk: &Session) -> (String, String) {
    let (anna, bob) = (gateway.person("anna"), gateway.person("bob"));
    assert_eq!((gateway.send(&anna, talk).await, gateway.send(&bob, talk).await), (200, 200));
    gateway.json(Some(&anna), &["delete", "t1"]);
    gateway.run(Some(&anna), &["share", "bob"]).expect("shared");
    (anna, bob)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_goes_on_in_a_copy_of_its_stores_with_its_keys_and_edits() {
    let Some(server) = PostgresServer::shared() else { return };
    let (first, second) = (server.url(&server.new_database()), server.url(&server.new_database()));
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let (gateway, mut talk) = (Gateway::open(&provider, &[]), Session::new(6).lean().hints(true));
    talk.user("the first question").assistant("an answer").turn().user("the second question");
    let (anna, bob) = team_with_an_edit(&gateway, &talk).await;
    let edited = gateway.run(Some(&anna), &["compose", "--dump"]).expect("composed");
    assert!(!edited.contains("the first question") && edited.contains("the second question"));
    let told = |gateway: &Gateway| {
        let mine = gateway.json(Some(&anna), &["history"]);
        json!([mine, gateway.json(None, &["audit", "shares"]), gateway.json(None, &["people", "list"])["people"]])
    };
    let before = told(&gateway);
    let home = gateway.close();

    let (back, again) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let there = copied(&path(&home), &first);
    assert_eq!((&there["people"], &there["conversations"], &there["skipped"]), (&json!(2), &json!(2), &json!(0)));
    copied(&first, &second);
    copied(&second, &path(&back));
    copied(&path(&back), &path(&again));
    let repeated = copied(&path(&home), &path(&again));
    assert_eq!((&repeated["records"], &repeated["notes"]), (&json!(0), &json!(0)), "nothing was missing");
    let counts = sound(&path(&home));
    for place in [&first, &second, &path(&back), &path(&again)] {
        assert_eq!(sound(place), counts, "{place}");
    }

    let flags = ["--store", &second];
    for (home, flags) in [(tempfile::tempdir().expect("a folder"), &flags[..]), (back, &[])] {
        let copy = Gateway::at(home, &provider, flags);
        provider.reset();
        assert_eq!((copy.send(&anna, &talk).await, copy.send(&bob, &talk).await), (200, 200));
        assert_eq!(copy.send("ctxk_unknown", &talk).await, 401);
        let sent = provider.requests();
        assert!(sent[0].body == edited.as_bytes(), "a deleted turn does not leave");
        assert!(sent[1].body == talk.body(), "Bob's conversation has no edit");
        let mut now = told(&copy);
        // Keys were used just now.
        now[2] = before[2].clone();
        assert_eq!(now, before);
        copy.json(Some(&anna), &["undo"]);
        provider.reset();
        assert_eq!(copy.send(&anna, &talk).await, 200);
        assert!(provider.requests()[0].body == talk.body(), "edits go on");
    }

    let other = Gateway::open(&provider, &[]);
    other.person("carol");
    let other = other.close();
    let (code, refused) = store(&["copy", &path(&other), &first]);
    assert!(code == Some(1) && refused.contains("the target has other people"), "{refused}");
    let (code, refused) = store(&["copy", &first, &path(&other)]);
    assert!(code == Some(1) && refused.contains("the target has other people"), "{refused}");
    assert_eq!(sound(&first), counts, "and nothing was mixed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_in_one_persons_store_and_in_the_log_is_found_and_named() {
    let Some(server) = PostgresServer::shared() else { return };
    let (name, provider) = (server.new_database(), FakeProvider::start(Options::strict()).expect("the fake provider"));
    let (url, gateway) = (server.url(&name), Gateway::open(&provider, &[]));
    team_with_an_edit(&gateway, &session(7)).await;
    let home = gateway.close();
    copied(&path(&home), &url);
    let doctor = |flags: &[&str]| {
        let output = ctx(home.path()).args(["doctor", "--offline"]).args(flags).output().expect("ctx runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (_, told) = doctor(&[]);
    assert!(told.contains("of 2 people and the team's log were read"), "{told}");

    server.sql(&name, "UPDATE ctx.records SET at = at + 1 WHERE owner = 2").expect("damaged");
    let (code, told) = store(&["check", &url]);
    assert!(code == Some(1) && told.contains("bob (person 2): ") && !told.contains("anna"), "{told}");
    let (code, told) = doctor(&["--store", &url]);
    assert!(code == Some(1) && told.contains("bob (person 2): "), "{told}");
    let target = tempfile::tempdir().expect("a folder");
    let (code, told) = store(&["copy", &url, &path(&target)]);
    assert!(code == Some(1) && told.contains("left out as damaged"), "{told}");

    server.sql(&name, "UPDATE ctx.records SET at = at + 1 WHERE owner = -2").expect("damaged");
    let (code, told) = store(&["check", &url]);
    assert!(code == Some(1) && told.contains("the team's log: ") && told.contains("person 2: "), "{told}");
    let target = tempfile::tempdir().expect("a folder");
    let (code, told) = store(&["copy", &url, &path(&target)]);
    assert!(code == Some(1) && told.contains("the team's log cannot be copied"), "{told}");
    assert!(!target.path().join("people").exists(), "nothing was copied");

    let anna = home.path().join("people/1");
    for name in ["ctx.db-wal", "ctx.db-shm"] {
        let _ = std::fs::remove_file(anna.join(name));
    }
    std::fs::write(anna.join("ctx.db"), "this is no database ".repeat(1000)).expect("written");
    for (code, told) in [store(&["check", &path(&home)]), doctor(&[])] {
        assert!(code == Some(1) && told.contains("anna (person 1): ") && !told.contains("bob"), "{told}");
    }
    let (code, told) = store(&["copy", &path(&home), &server.url(&server.new_database())]);
    assert!(code == Some(1) && told.contains("anna (person 1): "), "{told}");
    std::fs::remove_file(anna.join("ctx.db")).expect("removed");
    let (code, told) = store(&["check", &path(&home)]);
    assert!(code == Some(1) && told.contains("anna (person 1): there is no store"), "{told}");
}

/// A folder that reports whether anything in it is opened.
#[cfg(target_os = "linux")]
struct Trap {
    folder: tempfile::TempDir,
    watch: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl Trap {
    fn set() -> Trap {
        use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
        let folder = tempfile::tempdir().expect("a folder");
        let skill = folder.path().join(".claude/skills/trap");
        std::fs::create_dir_all(&skill).expect("a folder");
        let settings = "[context_editing]\nmode = \"off\"\nledger = \"NOTES.md\"\n";
        for (file, text) in [("ctx.toml", settings), ("CLAUDE.md", "words"), (".claude/skills/trap/SKILL.md", "words")]
        {
            std::fs::write(folder.path().join(file), text).expect("written");
        }
        let watch = inotify::init(CreateFlags::NONBLOCK).expect("inotify");
        let what = WatchFlags::OPEN | WatchFlags::CREATE | WatchFlags::MODIFY;
        for place in ["", ".claude", ".claude/skills", ".claude/skills/trap"] {
            inotify::add_watch(&watch, folder.path().join(place), what).expect("watched");
        }
        Trap { folder, watch }
    }

    /// The names of what was opened or written since the last call.
    fn touched(&self) -> Vec<String> {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = rustix::fs::inotify::Reader::new(&self.watch, &mut buffer);
        let mut found = Vec::new();
        while let Ok(event) = reader.next() {
            found.push(event.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default());
        }
        found
    }
}

/// Folders of this name, at any depth.
#[cfg(target_os = "linux")]
fn has_folder(place: &Path, name: &str) -> bool {
    let mut folders = std::fs::read_dir(place).expect("a folder").flatten().filter(|entry| entry.path().is_dir());
    folders.any(|entry| entry.file_name() == name || has_folder(&entry.path(), name))
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_teams_daemon_opens_no_folder_that_a_request_names_and_offloads_to_no_file() {
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let trap = Trap::set();
    let mut talk = Session::new(5).lean().hints(true);
    let words = "many words ".repeat(40);
    talk.user(&format!("Working directory: {}\n{words}\nneedle in it", trap.folder.path().display()));
    talk.assistant("an answer").turn().user("the second question");
    let settings = "[context_editing]\nmode = \"on\"\n[team]\nreads_back = \"cli\"\n";
    let home = || {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::write(home.path().join("ctx.toml"), settings).expect("written");
        home
    };
    let gateway = Gateway::at(home(), &provider, &[]);
    let anna = gateway.person("anna");
    let key = Some(anna.as_str());
    assert_eq!(gateway.send(&anna, &talk).await, 200);
    let offloaded = gateway.json(key, &["offload", "t1"]);
    assert_eq!(offloaded["files"], json!([]), "{offloaded}");
    let shown = gateway.run(key, &["show", "t1", "--full"]).expect("shown");
    let handle = shown.split("ctx cat ").nth(1).and_then(|rest| rest.get(..18)).expect(&shown);
    let text = gateway.run(key, &["cat", handle]).expect("read");
    assert!(text.contains("needle in it"), "{text}");
    assert_eq!(gateway.run(key, &["cat", handle, "--grep", "NEEDLE"]).expect("read").lines().count(), 1);
    assert!(gateway.run(None, &["cat", handle]).is_err(), "the operator does not have it");
    assert_eq!(gateway.send(&anna, &talk).await, 200);
    // Every place that asks for the settings of a project.
    for command in [&["status"][..], &["list"], &["compose"], &["history"], &["timeline"], &["stats"]] {
        gateway.run(key, command).expect("an answer");
    }
    assert_eq!(trap.touched(), [""; 0], "a folder of a request was opened");
    let home_of_team = gateway.close();
    assert!(!has_folder(home_of_team.path(), "offload"), "content was written to a file");

    // The trap works: a daemon on the agent's own machine reads the project's settings.
    let alone = home();
    let mut command = ctx(alone.path());
    command.args(["up", "--listen", "127.0.0.1:0", "--upstream", &provider.url()]);
    let daemon = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("ctx up starts");
    let address = listening(alone.path(), PATIENCE);
    let own = Gateway { home: alone, daemon, address };
    assert_eq!(own.send("", &talk).await, 200);
    assert_eq!(own.send("", &talk).await, 200);
    own.run(None, &["status"]).expect("a status");
    assert!(trap.touched().iter().any(|name| name == "ctx.toml"), "the trap does not work");
}
