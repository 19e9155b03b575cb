//! The daemon is killed again and again while a client sends requests and edits are made. Acknowledged records survive,
//! the store opens, and sent requests can be rebuilt.
//!
//! A few rounds by default, 1,000 with `CTX_LONG=1`.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Client, FakeProvider, Options, Random, Session, listening};

const PATIENCE: Duration = Duration::from_secs(30);

/// The number of rounds per conversation.
const LIFE: u64 = 20;

struct House {
    home: tempfile::TempDir,
    upstream: String,
    listen: String,
    daemon: Child,
}

impl House {
    fn open(upstream: String) -> House {
        let home = tempfile::tempdir().expect("a folder");
        let daemon = up(home.path(), "127.0.0.1:0", &upstream);
        let listen = listening(home.path(), PATIENCE).to_string();
        House { home, upstream, listen, daemon }
    }

    fn kill(&mut self) {
        self.daemon.kill().expect("a kill");
        self.daemon.wait().expect("the end");
        let _ = std::fs::remove_file(self.home.path().join("daemon.json"));
    }

    fn start_again(&mut self) {
        self.daemon = up(self.home.path(), &self.listen, &self.upstream);
        listening(self.home.path(), PATIENCE);
    }

    fn token(&self) -> String {
        std::fs::read_to_string(self.home.path().join("token")).expect("the token").trim().to_owned()
    }

    /// Calls the control API; `None` if the daemon died in the meantime.
    async fn control(&self, method: &str, path: &str, body: Option<Value>) -> Option<(u16, Value)> {
        let mut client = Client::connect(&format!("http://{}", self.listen)).await.ok()?;
        let headers = [
            ("authorization".to_owned(), format!("Bearer {}", self.token())),
            ("content-type".to_owned(), "application/json".to_owned()),
        ];
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let answer = client.send(method, &format!("/control/v1{path}"), &headers, body.as_bytes()).await.ok()?;
        Some((answer.status, answer.json().ok()?))
    }

    /// The body that would be sent now.
    async fn composed(&self, conversation: &str) -> Vec<u8> {
        let mut client = Client::connect(&format!("http://{}", self.listen)).await.expect("the daemon");
        let headers = [("authorization".to_owned(), format!("Bearer {}", self.token()))];
        let target = format!("/control/v1/conversations/{conversation}/compose");
        let answer = client.send("GET", &target, &headers, b"").await.expect("an answer");
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        answer.body.to_vec()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn up(home: &Path, listen: &str, upstream: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_ctx"))
        .args(["up", "--listen", listen, "--upstream", upstream, "--home"])
        .arg(home)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("ctx up starts")
}

/// Sends requests until the daemon is gone.
async fn talk(house: &House, session: &mut Session, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        grow(session);
        let _ = speak(house, session).await;
    }
}

/// One more turn with its reply, and a new question.
fn grow(session: &mut Session) {
    session.assistant("that is done").turn().user("and what now?");
}

async fn speak(house: &House, session: &Session) -> Option<u16> {
    let mut client = Client::connect(&format!("http://{}", house.listen)).await.ok()?;
    let answer = client.send("POST", "/v1/messages?beta=true", &session.headers(), &session.body()).await.ok()?;
    Some(answer.status)
}

/// Edits until the daemon is gone; returns the acknowledged commits.
async fn edit(house: &House, conversation: &str, random: &mut Random, over: &AtomicBool) -> Vec<String> {
    let mut acknowledged = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let frame = format!("t{}", 1 + random.below(6));
        let edit = match random.below(4) {
            0 => json!({"op": "delete", "ids": [frame]}),
            1 => json!({"op": "edit", "id": frame, "text": format!("edited {}", random.below(1000))}),
            2 => json!({"op": "drop-results", "ids": [frame]}),
            _ => json!({"op": "add", "text": "something new", "to": {"after": frame}}),
        };
        let (path, body) = match random.below(5) {
            0 => ("history", json!({"action": "undo", "author": "api"})),
            _ => ("operations", json!({"operations": [edit], "author": "api"})),
        };
        let path = format!("/conversations/{conversation}/{path}");
        let Some((status, answer)) = house.control("POST", &path, Some(body)).await else { continue };
        if status == 200 {
            acknowledged.push(answer["commit"].as_str().expect("a commit").to_owned());
        }
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_commit_is_lost_to_a_kill() {
    let rounds = if testkit::is_long() { 1000 } else { 25 };
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let mut house = House::open(provider.url());
    let first = testkit::first_seed();
    let mut random = Random::new(first + 7);
    let mut commits = 0;
    let mut session = Session::new(0);
    let mut known: Vec<String> = Vec::new();
    for round in 0..rounds {
        if round % LIFE == 0 {
            session = Session::new(1000 + round);
            session.turn().user("what is to be done?");
            known.clear();
            assert_eq!(speak(&house, &session).await, Some(200));
        }
        let id = session.session_id().to_owned();
        let over = AtomicBool::new(false);
        let moment = Duration::from_millis(5 + random.below(150) as u64);
        let mut editing = Random::new(first + round);
        let (daemon, acknowledged) = {
            let house = &house;
            let (over, session) = (&over, &mut session);
            let pid = house.daemon.id();
            let killing = async move {
                tokio::time::sleep(moment).await;
                let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
                over.store(true, Ordering::Relaxed);
                killed
            };
            let (killed, (), acknowledged) =
                tokio::join!(killing, talk(house, session, over), edit(house, &id, &mut editing, over));
            (killed, acknowledged)
        };
        assert!(daemon.expect("kill runs").success());
        house.kill();
        house.start_again();
        known.extend(acknowledged);
        let (status, history) =
            house.control("GET", &format!("/conversations/{id}/history"), None).await.expect("the history");
        // Merely observed requests may be lost: the client sends them again.
        assert!(status == 200 || known.is_empty(), "round {round}: {history}");
        let commits_there = history["commits"].as_array().map(Vec::as_slice).unwrap_or_default();
        let there: Vec<&str> = commits_there.iter().filter_map(|commit| commit["id"].as_str()).collect();
        for commit in &known {
            assert!(there.contains(&commit.as_str()), "round {round}: {commit} was acknowledged and is lost");
        }
        // The client continues, is accepted, and its requests are composed the same way from then on.
        assert_eq!(speak(&house, &session).await, Some(200), "round {round}");
        let before = house.composed(&id).await;
        if round % 5 == 0 {
            house.kill();
            house.start_again();
            assert!(house.composed(&id).await == before, "round {round}: composed differently after a kill");
        }
        commits += known.len();
    }
    println!("{rounds} rounds; {commits} commits were looked for and found");
    assert!(commits > rounds as usize / 2, "hardly anything was edited: {commits} commits");
}
