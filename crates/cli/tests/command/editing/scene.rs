//! A conversation to edit: a plain client, the daemon, and a provider as strict as the real one.

use std::cell::Cell;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{FakeProvider, Options, Session};

use crate::place::{Place, Ran, Up, finish, until};

pub struct Scene {
    pub place: Place,
    pub provider: FakeProvider,
    up: Option<Up>,
    pub session: Session,
    /// The number of requests that the provider has answered.
    answered: Cell<usize>,
}

impl Scene {
    /// Four past turns: `t1` to `t3` with calls, `t4` a word of thanks.
    pub fn new() -> Self {
        Self::configured("")
    }

    /// With this `ctx.toml` in the home.
    pub fn configured(toml: &str) -> Self {
        Self::of(four_turns(1), toml)
    }

    /// With the history of this client.
    pub fn of(session: Session, toml: &str) -> Self {
        let place = Place::new();
        place.write("home/ctx.toml", toml);
        let provider = FakeProvider::start(Options::strict()).expect("a provider");
        let up = place.up(&provider.url());
        let scene = Self { place, provider, up: Some(up), session, answered: Cell::new(0) };
        scene.send();
        scene
    }

    fn up(&self) -> &Up {
        self.up.as_ref().expect("a daemon")
    }

    /// Restarts the daemon on the same home after killing it.
    pub fn restart(&mut self) {
        drop(self.up.take());
        self.up = Some(self.place.up(&self.provider.url()));
    }

    /// Waits until every response is stored: merely observed ones may be lost with the daemon.
    pub fn settle(&self) {
        until("the answers are known", || {
            let told = self.json(&["timeline", "--limit", "1000"]);
            let events = told["events"].as_array().into_iter().flatten();
            (events.filter(|event| event["kind"] == "answer").count() == self.answered.get()).then_some(())
        });
        self.dump();
    }

    /// Sends the client's newest request again. Returns the request that the provider received and accepted.
    #[track_caller]
    pub fn send(&self) -> Vec<u8> {
        self.up().send(&self.session);
        let record = self.provider.requests().pop().expect("a request");
        let answer = record.answer.unwrap_or_default();
        assert!(answer["error"].is_null(), "the provider refuses: {answer}");
        self.answered.set(self.answered.get() + 1);
        record.body.to_vec()
    }

    /// The same with any response of the provider.
    pub fn send_anyway(&self) {
        self.up().send(&self.session);
    }

    /// Another conversation through the same daemon.
    pub fn send_other(&self, other: &Session) {
        self.up().send(other);
    }

    /// Lets the client take the provider's last reply and continue. Returns the request that the provider received.
    #[track_caller]
    pub fn next(&mut self, text: &str) -> String {
        let answer = self.provider.requests().pop().and_then(|record| record.answer).expect("an answer");
        let blocks = answer["message"]["content"].as_array().unwrap_or_else(|| panic!("no message: {answer}")).clone();
        self.session.assistant_blocks(blocks).user(text);
        String::from_utf8(self.send()).expect("text")
    }

    /// The exact body that would be sent now.
    pub fn dump(&self) -> String {
        let dumped = self.place.ctx(&["compose", "--dump"]).output().expect("it runs");
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
        String::from_utf8(dumped.stdout).expect("text")
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        self.place.run(&[arguments, &["--json"]].concat()).ok().json()
    }

    /// Makes an edit and checks the common properties: the answer has a commit and the figures, `compose --dump` equals
    /// the next request that the provider receives, and the provider accepts it. Returns the answer and the sent
    /// request.
    #[track_caller]
    pub fn change(&self, arguments: &[&str]) -> (Value, String) {
        let applied = self.json(arguments);
        assert_eq!(applied["commit"].as_str().map(str::len), Some(10), "{arguments:?}: {applied}");
        assert!(applied["frames"].is_array(), "{arguments:?}: {applied}");
        let tokens = |name: &str| applied[name].as_u64().unwrap_or_else(|| panic!("{name}: {applied}"));
        assert!(tokens("tokens_before") > 0 && tokens("tokens_after") > 0, "{arguments:?}: {applied}");
        let dump = self.dump();
        let sent = String::from_utf8(self.send()).expect("text");
        let same = sent.bytes().zip(dump.bytes()).take_while(|(a, b)| a == b).count();
        let rest = |text: &str| String::from_utf8_lossy(&text.as_bytes()[same..]).chars().take(300).collect::<String>();
        assert!(sent == dump, "{arguments:?}: the provider got …{}\nand the dump was …{}", rest(&sent), rest(&dump));
        (applied, sent)
    }

    /// A refused edit: exit code 1, messages for people and programs, and no change.
    #[track_caller]
    pub fn refused(&self, arguments: &[&str]) -> Value {
        let before = (self.dump(), self.json(&["history"]));
        let ran = self.place.run(arguments).refused();
        assert!(ran.err.contains("\nhint: "), "{arguments:?}: {ran:?}");
        let told = self.place.run(&[arguments, &["--json"]].concat());
        assert_eq!((told.code, told.err.as_str()), (Some(1), ""), "{arguments:?}: {told:?}");
        let error = told.json()["error"].clone();
        for part in ["code", "message", "hint"] {
            assert!(error[part].as_str().is_some_and(|words| !words.is_empty()), "{arguments:?}: {error}");
        }
        assert_eq!((self.dump(), self.json(&["history"])), before, "{arguments:?} changed something");
        error
    }

    /// One frame of the list.
    #[track_caller]
    pub fn frame(&self, id: &str) -> Value {
        let list = self.json(&["list"]);
        let found = list["frames"].as_array().into_iter().flatten().find(|frame| frame["id"] == id);
        found.unwrap_or_else(|| panic!("no {id}: {list}")).clone()
    }

    pub fn ids(&self) -> Vec<String> {
        let list = self.json(&["list"]);
        let frames = list["frames"].as_array().into_iter().flatten();
        frames
            .filter(|frame| frame["kind"] != "system" && frame["kind"] != "tools")
            .map(|frame| word(&frame["id"]))
            .collect()
    }

    /// Runs with this input on stdin.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let file = self.place.write("input", input);
        let mut command = self.place.ctx(arguments);
        command.stdin(std::fs::File::open(file).expect("a file"));
        finish(command)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        self.place.write(name, text)
    }
}

pub fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub fn four_turns(seed: u64) -> Session {
    let mut session = Session::new(seed).lean().hints(true);
    session
        .user("Find the needle")
        .assistant_tools(&[("Read", json!({"file_path": "hay/stack.txt"}))])
        .results(&[&"straw and straw again\n".repeat(40)])
        .assistant("It is in the stack.")
        .user("Count the cows")
        .assistant_tools(&[("Bash", json!({"command": "count cows"})), ("Read", json!({"file_path": "cows.txt"}))])
        .results(&["seven cows", "cow\ncow\ncow"])
        .assistant_tools(&[("Bash", json!({"command": "count again"}))])
        .results(&["still seven"])
        .assistant("There are seven.")
        .user("Paint the barn")
        .assistant_tools(&[("Bash", json!({"command": "paint barn"}))])
        .results(&["it is red now"])
        .assistant("Painted.")
        .user("SAY:you are welcome");
    session
}
