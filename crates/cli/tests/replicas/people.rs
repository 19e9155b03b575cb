//! The traffic: people whose agents talk while their conversations are edited, through the balancer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Client, Random, Session};
use tokio::task::JoinHandle;

use crate::stage::{PEOPLE, Stage};

/// Conversations at a time.
const AT_ONCE: u64 = 6;
/// The header by which a request is known at the provider.
pub const NUMBER: &str = "x-test-number";
/// The first words of every conversation; edits replace them.
pub const ORIGINAL: &str = "the original words";

/// An acknowledged edit of the first message.
pub struct Acknowledged {
    pub at: Instant,
    pub number: u64,
    pub commit: String,
    pub took: Duration,
    /// The daemons that may not know it, as its warnings say.
    pub absent: Vec<usize>,
}

pub struct Talk {
    pub person: usize,
    /// In the texts of its edits.
    pub mark: String,
    /// The newest request.
    pub session: Mutex<Session>,
    pub acknowledged: Mutex<Vec<Acknowledged>>,
}

/// A request, as its client knows it.
pub struct Asked {
    pub began: Instant,
    pub talk: usize,
    /// `None`: the connection ended.
    pub status: Option<u16>,
    pub body: String,
}

/// Everything of a round.
pub struct Traffic {
    balancer: String,
    keys: Vec<String>,
    homes: Vec<String>,
    seed: u64,
    numbers: AtomicU64,
    pub talks: Mutex<Vec<Arc<Talk>>>,
    pub asked: Mutex<HashMap<u64, Asked>>,
}

impl Traffic {
    pub fn new(stage: &Stage, seed: u64) -> Traffic {
        Traffic {
            balancer: stage.balancer.url(),
            keys: stage.keys.clone(),
            homes: stage.daemons.iter().map(|daemon| daemon.home().display().to_string()).collect(),
            seed,
            numbers: AtomicU64::new(0),
            talks: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// Starts one conversation after the other in several tasks, until it is over.
    pub fn begin(self: &Arc<Self>, over: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
        let task = |number: u64| {
            let (traffic, over) = (self.clone(), over.clone());
            let random = Random::new(self.seed * 100 + number);
            tokio::spawn(async move { traffic.converse(number, random, &over).await })
        };
        (0..AT_ONCE).map(task).collect()
    }

    async fn converse(&self, task: u64, mut random: Random, over: &AtomicBool) {
        for life in 0.. {
            if over.load(Ordering::SeqCst) {
                return;
            }
            // Two people begin the same session with the same words. Two sessions of one person begin differently:
            // otherwise one would be a fork of the other, with its edits.
            let mut session = Session::new(self.seed * 10_000 + task / 2 * 100 + life).lean();
            session.user(&format!("{ORIGINAL} of {} {life}", task / 2)).assistant("yes").user("go on");
            let person = task as usize % PEOPLE.len();
            let mark = format!("{}-{task}-{life}", PEOPLE[person]);
            let (session, acknowledged) = (Mutex::new(session), Mutex::default());
            let talk = Arc::new(Talk { person, mark, session, acknowledged });
            let number = {
                let mut talks = self.talks.lock().expect("no panic");
                talks.push(talk.clone());
                talks.len() - 1
            };
            let end = Instant::now() + Duration::from_millis(random.between(3000, 9000) as u64);
            let is_over = || over.load(Ordering::SeqCst) || Instant::now() > end;
            let (one, two) = (Random::new(random.number()), Random::new(random.number()));
            tokio::join!(self.ask(number, &talk, one, &is_over), self.edit(&talk, two, &is_over));
        }
    }

    /// The agent: one request after the other, repeated until it is answered.
    async fn ask(&self, number: usize, talk: &Talk, mut random: Random, is_over: &(dyn Fn() -> bool + Sync)) {
        let mut turn = 0;
        while !is_over() {
            let session = talk.session.lock().expect("no panic").clone();
            if self.request(&self.balancer, number, talk, &session).await == Some(200) && random.chance(50) {
                turn += 1;
                let mut newest = talk.session.lock().expect("no panic");
                newest.assistant(&format!("answer {turn}")).user(&format!("question {turn}"));
            }
            tokio::time::sleep(Duration::from_millis(random.between(5, 60) as u64)).await;
        }
    }

    /// Sends a request, and notes what became of it.
    pub async fn request(&self, url: &str, number: usize, talk: &Talk, session: &Session) -> Option<u16> {
        let request = self.numbers.fetch_add(1, Ordering::SeqCst);
        let mut headers = session.headers();
        headers.push(("x-ctx-key".to_owned(), self.keys[talk.person].clone()));
        headers.push((NUMBER.to_owned(), request.to_string()));
        let began = Instant::now();
        let sent = async {
            let mut client = Client::connect(url).await.ok()?;
            client.send("POST", "/v1/messages?beta=true", &headers, &session.body()).await.ok()
        };
        let answer = sent.await;
        let status = answer.as_ref().map(|answer| answer.status);
        let body = answer.map(|answer| String::from_utf8_lossy(&answer.body).into_owned()).unwrap_or_default();
        self.asked.lock().expect("no panic").insert(request, Asked { began, talk: number, status, body });
        status
    }

    /// The person: gives the first message another text, again and again. An edit that is refused may be stored or not.
    async fn edit(&self, talk: &Talk, mut random: Random, is_over: &(dyn Fn() -> bool + Sync)) {
        let session = talk.session.lock().expect("no panic").session_id().to_owned();
        let path = format!("/control/v1/conversations/{session}/operations");
        let headers = [
            ("authorization".to_owned(), format!("Bearer {}", self.keys[talk.person])),
            ("content-type".to_owned(), "application/json".to_owned()),
        ];
        for number in 1.. {
            tokio::time::sleep(Duration::from_millis(random.between(20, 400) as u64)).await;
            if is_over() {
                return;
            }
            let text = format!("EDIT {}:{number}.", talk.mark);
            let body = json!({"operations": [{"op": "edit", "id": "t1#0", "text": text}], "author": "api"});
            let began = Instant::now();
            let Ok(mut client) = Client::connect(&self.balancer).await else { continue };
            let answer = client.send("POST", &path, &headers, body.to_string().as_bytes()).await;
            let Some(answer) = answer.ok().filter(|answer| answer.status == 200) else { continue };
            let Ok(answer) = answer.json() else { continue };
            let warnings: Vec<&str> =
                answer["warnings"].as_array().into_iter().flatten().filter_map(|warning| warning.as_str()).collect();
            let warns = |of: &str| warnings.iter().any(|warning| warning.contains(of));
            let all = warns("may not know it yet");
            let absent = (0..self.homes.len()).filter(|daemon| all || warns(&self.homes[*daemon])).collect();
            let commit = answer["commit"].as_str().expect("a commit").to_owned();
            let acknowledged = Acknowledged { at: Instant::now(), number, commit, took: began.elapsed(), absent };
            talk.acknowledged.lock().expect("no panic").push(acknowledged);
        }
    }
}
