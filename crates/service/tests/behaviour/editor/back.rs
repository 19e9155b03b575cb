//! Restored content stays.

use super::work::{Work, on, results};
use ctx_core::policy::{Mode, Settings};
use serde_json::{Value, json};
use testkit::Session;

impl Work {
    fn go(&self, action: &str, target: Option<&str>) {
        let way = json!({"action": action, "target": target, "author": "cli"});
        self.service.go(&self.conversation, serde_json::from_value(way).expect("a way")).expect("done");
    }

    /// The results that are cleared in what leaves next.
    fn cleared(&mut self) -> Vec<usize> {
        let sent = results(&self.send());
        (0..sent.len()).filter(|at| sent[*at].starts_with("[Cleared to save context.")).collect()
    }

    /// Works until something was cleared.
    fn until_cleared(&mut self) -> Vec<usize> {
        self.session.user("do all of it");
        self.send();
        for at in 0.. {
            self.step("Bash", json!({"command": format!("make part-{at}")}));
            if !self.commits().is_empty() {
                break;
            }
        }
        self.cleared()
    }
}

#[test]
fn what_was_brought_back_stays_also_after_a_restart_until_somebody_wants_otherwise() {
    let mut work = Work::new(on());
    let cleared = work.until_cleared();
    assert!(cleared.len() >= 3, "{cleared:?}");
    let preserved = |work: &Work| work.service.context(&work.conversation).expect("a context").preserved;
    let before = preserved(&work);
    let commit = work.commits()[0].id.to_string();
    work.go("revert", Some(&commit));
    assert!(preserved(&work) > before + 10_000, "{} {before}", preserved(&work));
    let next = work.cleared();
    assert!(next.iter().all(|at| !cleared.contains(at)), "others go in the very next request: {next:?}");
    work.restart(on());
    for at in 0..4 {
        let sent = results(&work.step("Bash", json!({"command": format!("make more-{at}")})));
        assert!(cleared.iter().all(|at| sent[*at].starts_with("line ")), "they stay, whatever goes");
    }
    let by_hand = work.service.clear_now(&work.conversation, "tidy");
    let sent = results(&work.send());
    assert!(cleared.iter().all(|at| sent[*at].starts_with("line ")), "by hand too: {by_hand:?}");
}

#[test]
fn what_was_brought_back_stays_in_a_fork_too() {
    let mut work = Work::new(on());
    let cleared = work.until_cleared();
    let commit = work.commits()[0].id.to_string();
    work.go("revert", Some(&commit));
    let parent = work.conversation.clone();
    work.session = work.session.fork();
    for at in 0..4 {
        let sent = results(&work.step("Bash", json!({"command": format!("make more-{at}")})));
        assert!(cleared.iter().all(|at| sent[*at].starts_with("line ")), "they stay, whatever goes");
    }
    assert_ne!(work.conversation, parent);
    work.restart(on());
    let sent = results(&work.step("Bash", json!({"command": "make the rest"})));
    assert!(cleared.iter().all(|at| sent[*at].starts_with("line ")), "also after a restart");
}

#[test]
fn what_was_undone_and_done_again_is_ours_again() {
    let mut work = Work::new(on());
    let cleared = work.until_cleared();
    let preserved = |work: &Work| work.service.context(&work.conversation).expect("a context").preserved;
    let before = preserved(&work);
    work.go("undo", None);
    assert!(preserved(&work) > before + 10_000);
    work.go("redo", None);
    assert_eq!((work.cleared(), preserved(&work)), (cleared, before));
}

#[test]
fn what_was_declined_stays_when_the_editor_may_act() {
    let mut work = Work::new(Settings { mode: Mode::Ask, ..ctx_clients::editor_settings() });
    work.work(16);
    let deferred = work.service.waiting(&work.conversation).expect("a list").wishes;
    assert!(!deferred.is_empty());
    for edit in &deferred {
        work.service.cancel(&work.conversation, &edit.id, "cli").expect("declined");
    }
    work.restart(on());
    let declined = serde_json::to_string(&deferred).expect("JSON").matches("toolu_").count();
    let sent = results(&work.step("Bash", json!({"command": "make more"})));
    assert!(declined > 0 && sent[..declined].iter().all(|text| text.starts_with("line ")));
}

/// The blocks of thinking in a request.
fn thoughts(sent: &Value) -> usize {
    sent["messages"].to_string().matches(r#""type":"thinking""#).count()
}

impl Work {
    /// A long conversation with thinking, and nothing else that the editor would drop.
    fn thinking() -> Work {
        let mut work = Work::new(on());
        work.session = Session::new(3).lean().model("claude-opus-5-5");
        work.session.user(&"do all of it, and think about it first. ".repeat(3_000));
        work.send();
        assert_eq!((0..6).map(|_| thoughts(&work.talk())).last(), Some(6));
        assert!(work.commits().is_empty(), "{:?}", work.commits());
        work
    }

    fn talk(&mut self) -> Value {
        self.session.assistant("It is done.").user("go on");
        self.send()
    }

    /// The next request, when the cache has expired.
    fn talk_later(&mut self) -> Value {
        self.clock += 2 * 3_600_000;
        self.talk()
    }
}

#[test]
fn thinking_that_was_brought_back_stays_also_after_a_restart() {
    let mut work = Work::thinking();
    assert_eq!(thoughts(&work.talk_later()), 0, "all of it goes");
    let commit = work.commits()[0].id.to_string();
    work.go("revert", Some(&commit));
    assert_eq!(thoughts(&work.talk()), 7, "it is back");
    assert_eq!(thoughts(&work.talk_later()), 7, "it stays");
    work.restart(on());
    assert_eq!(thoughts(&work.talk_later()), 7, "also after a restart");
}

#[test]
fn thinking_that_was_brought_back_stays_in_a_fork_too() {
    let mut work = Work::thinking();
    work.talk_later();
    let commit = work.commits()[0].id.to_string();
    work.go("revert", Some(&commit));
    let parent = work.conversation.clone();
    work.session = work.session.fork();
    assert_eq!(thoughts(&work.talk()), 7);
    assert_ne!(work.conversation, parent);
    assert_eq!(thoughts(&work.talk_later()), 7, "what the parent's edit had dropped stays");
}
