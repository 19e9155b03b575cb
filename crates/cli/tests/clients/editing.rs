//! Stock Claude Code while its context is edited: every operation, and the same after a resume, a fork and a kill of
//! the daemon. The provider is strict and binds thinking, so an invalid edit fails the client's next turn.

use serde_json::Value;

use crate::claude::Claude;
use crate::stage::Stage;

/// Three turns: a file read, a reply with thinking, another reply.
struct Talk<'a> {
    claude: &'a Claude,
    stage: &'a Stage,
    session: String,
}

impl<'a> Talk<'a> {
    fn start(claude: &'a Claude, stage: &'a Stage) -> Talk<'a> {
        let path = stage.file("notes.txt", "the pelican lives in the notes\n");
        let read = format!("THINK:look first ;; USE_TOOL:Read:{path} ;; THEN ;; SAY:the heron was read");
        let session = claude.ask_well(stage, &read, &[]);
        let talk = Talk { claude, stage, session };
        talk.turn("THINK:hmm ;; SAY:the osprey answers");
        talk.turn("SAY:the kestrel answers");
        talk
    }

    /// Takes one more turn in the same session, which must succeed.
    fn turn(&self, prompt: &str) {
        self.claude.ask_well(self.stage, prompt, &["--resume", &self.session]);
    }

    fn conversation(&self) -> String {
        let found = self.stage.conversation(|conversation| conversation["session"] == *self.session);
        found["id"].as_str().expect("an id").to_owned()
    }

    /// Runs a `ctx` command on this conversation and returns its JSON.
    fn ctx(&self, arguments: &[&str]) -> Value {
        self.stage.json(&[arguments, &["--conv", &self.conversation()]].concat())
    }

    /// The newest model call as the provider received it.
    fn sent(&self) -> String {
        let body = self.stage.received_bodies().pop().expect("a request");
        String::from_utf8(body).expect("text")
    }

    /// Runs an edit, lets the client take a turn, and returns the request that the provider received.
    fn after(&self, arguments: &[&str]) -> String {
        let applied = self.ctx(arguments);
        assert!(applied["commit"].is_string(), "{applied:#}");
        self.turn("SAY:on we go");
        let sent = self.sent();
        let dump = self.stage.ctx(&["compose", "--dump", "--conv", &self.conversation()]);
        assert_eq!(String::from_utf8_lossy(&dump.stdout), sent, "the dump is what was sent");
        sent
    }

    fn list(&self, id: &str) -> Value {
        let listed = self.ctx(&["list"]);
        let frames = listed["frames"].as_array().expect("frames");
        frames.iter().find(|frame| frame["id"] == id).unwrap_or_else(|| panic!("no {id} in {listed:#}")).clone()
    }
}

#[test]
fn what_is_deleted_is_gone_and_undo_brings_it_back() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let talk = Talk::start(&claude, &stage);
    let sent = talk.after(&["delete", "t2"]);
    assert!(!sent.contains("osprey") && sent.contains("pelican") && sent.contains("kestrel"));
    assert_eq!(talk.list("t2")["state"][0], "deleted");
    let sent = talk.after(&["undo"]);
    assert!(sent.contains("osprey"), "it is back");
    let sent = talk.after(&["redo"]);
    assert!(!sent.contains("osprey"), "and gone again");
}

#[test]
fn results_can_be_dropped_and_steps_deleted() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let talk = Talk::start(&claude, &stage);
    let sent = talk.after(&["drop-results", "t1"]);
    assert!(!sent.contains("the pelican lives") && sent.contains("heron"));
    let sent = talk.after(&["delete", "t1/1"]);
    assert!(!sent.contains("tool_use_id") && sent.contains("heron"));
}

#[test]
fn what_is_edited_compacted_and_added_is_sent_instead() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let talk = Talk::start(&claude, &stage);
    let sent = talk.after(&["edit", "t2", "--text", "a stork stands here"]);
    assert!(sent.contains("a stork stands here") && !sent.contains("osprey"));
    let sent = talk.after(&["compact", "t1", "--text", "notes were read: an egret"]);
    assert!(sent.contains("an egret") && !sent.contains("pelican"));
    let sent = talk.after(&["add", "--text", "by the way, an ibis", "--after", "t2"]);
    let place = |word: &str| sent.find(word).unwrap_or_else(|| panic!("no {word}"));
    assert!(place("stork") < place("ibis") && place("ibis") < place("kestrel"));
}

#[test]
fn frames_move_combine_and_split() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let talk = Talk::start(&claude, &stage);
    let sent = talk.after(&["move", "t2", "--after", "t3"]);
    assert!(sent.find("kestrel") < sent.find("osprey"), "moved behind");
    let sent = talk.after(&["combine", "t1", "t3"]);
    assert!(sent.find("heron") < sent.find("kestrel"));
    talk.ctx(&["split", "t1", "--at-step", "2"]);
    assert_eq!(talk.list("t1.2")["state"][0], "combined");
    let sent = talk.after(&["delete", "t1.2"]);
    assert!(!sent.contains("kestrel") && sent.contains("pelican") && sent.contains("osprey"));
}

#[test]
fn the_agent_reads_back_what_was_offloaded() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let talk = Talk::start(&claude, &stage);
    let applied = talk.ctx(&["offload", "t1", "--summary", "what the notes said"]);
    let file = applied["files"][0].as_str().expect("a file").to_owned();
    let text = std::fs::read_to_string(&file).expect("the file");
    assert!(text.contains("the pelican lives in the notes") && text.contains("### Call: Read"), "{text}");
    talk.claude.ask_well(
        talk.stage,
        &format!("USE_TOOL:Read:{file} ;; THEN ;; SAY:found it"),
        &["--resume", &talk.session, "--add-dir", &stage.path("ctx").display().to_string()],
    );
    let sent = talk.sent();
    assert!(sent.contains("what the notes said") && sent.contains(&file));
    assert!(sent.contains("Offloaded from conversation"), "the agent has read the file");
    let sent = talk.after(&["restore", "t1"]);
    assert!(sent.contains("look first") || sent.contains("pelican"), "the content is back");
    assert!(!sent.contains("[Offloaded to a file"), "and the stub is gone");
}

#[test]
fn edits_outlive_a_kill_and_a_fork_inherits_them() {
    let Some(claude) = Claude::find() else { return };
    let mut stage = Stage::new();
    let session = {
        let talk = Talk::start(&claude, &stage);
        talk.ctx(&["delete", "t2"]);
        talk.session.clone()
    };
    stage.kill_and_start_again();
    let talk = Talk { claude: &claude, stage: &stage, session };
    talk.turn("SAY:after the kill");
    assert!(!talk.sent().contains("osprey"));
    let forked = claude.ask_well(&stage, "SAY:another way", &["--resume", &talk.session, "--fork-session"]);
    assert_ne!(forked, talk.session);
    assert!(!talk.sent().contains("osprey"), "the fork begins with the edits");
    let fork = Talk { claude: &claude, stage: &stage, session: forked };
    assert_eq!(fork.ctx(&["history"])["commits"][0]["kind"], "inherit");
    let sent = fork.after(&["undo"]);
    assert!(sent.contains("osprey"), "and goes its own way");
    talk.turn("SAY:the first way");
    assert!(!talk.sent().contains("osprey"), "which is not the parent's");
}

#[test]
fn an_edit_of_one_session_does_not_touch_another_that_began_alike() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let one = claude.ask_well(&stage, "SAY:the same words", &[]);
    let two = claude.ask_well(&stage, "SAY:the same words", &[]);
    let talk = |session: &str| Talk { claude: &claude, stage: &stage, session: session.to_owned() };
    talk(&one).ctx(&["edit", "t1", "--text", "a curlew instead"]);
    talk(&two).turn("SAY:go on");
    assert!(!talk(&two).sent().contains("curlew"));
    talk(&one).turn("SAY:go on");
    assert!(talk(&one).sent().contains("curlew"));
}
