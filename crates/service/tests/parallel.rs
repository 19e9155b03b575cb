//! Conversations do not wait for each other: whatever keeps one of them busy, held requests of the others are composed.
//!
//! The first is kept busy by a store or an editor that waits until it is told to go on, so nothing here depends on time;
//! `SOON` is only how long a failure takes.

mod support;

use ctx_api::edit::EditRequest;
use ctx_core::edit::Operation;
use ctx_core::policy::{Facts, Look, Mode, Proposal, Settings};
use ctx_engine::ports::{About, Automatic};
use ctx_service::recorder::Composition;
use ctx_service::{Recorder, Service};
use ctx_wire::answer::Ending;
use ctx_wire::rope::concat;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use support::stores::FailingStore;
use support::{Headers, House, LONG, answers, hints, nameless, with};
use testkit::Session;

const SOON: Duration = Duration::from_secs(30);

/// A house whose recorder runs, on a store that does what it is told to.
struct Running {
    recorder: Recorder,
    store: Arc<FailingStore>,
    house: House,
}

impl Running {
    fn on(store: Arc<FailingStore>) -> Running {
        let house = House::on(store.clone());
        Running { recorder: Recorder::start(house.service.clone()).expect("threads"), store, house }
    }

    fn service(&self) -> &Service {
        &self.house.service
    }

    /// Sends a request, held if its conversation is. What leaves is received as soon as it is known.
    fn send(&self, headers: &Headers, body: &[u8]) -> Receiver<Vec<u8>> {
        let (mut request, mut response) =
            self.recorder.exchange((&ctx_wire::anthropic::Anthropic, ctx_wire::Call::Generate), hints(headers), None);
        request.chunk(body);
        let (leaves, left) = channel();
        if request.is_held() {
            request.compose(Box::new(move |composition| {
                let Composition { outgoing, source, .. } = composition.expect("it is composed");
                let source = concat(&source);
                leaves.send(outgoing.map_or(source.clone(), |outgoing| outgoing.bytes(&source))).expect("received");
            }));
        } else {
            request.end(true);
            leaves.send(body.to_vec()).expect("received");
        }
        response.head(200, Some("text/event-stream"), None);
        response.chunk(&answers::stream(&[serde_json::json!({"type": "text", "text": "done"})], 100, "end_turn"));
        response.end(Some(Ending::Complete));
        left
    }

    fn send_session(&self, session: &Session) -> Receiver<Vec<u8>> {
        self.send(&session.headers(), &session.body())
    }

    /// A conversation with an edit, so that its requests are held.
    fn edited(&self, seed: u64) -> Session {
        let mut session = Session::new(seed).lean();
        session.user(&format!("question {seed}")).assistant("an answer").user("go on");
        self.send_session(&session).recv_timeout(SOON).expect("it leaves");
        self.recorder.settle(LONG);
        self.edit(&session, "EDITED");
        assert_edited(&self.send_session(&session));
        self.recorder.settle(LONG);
        session
    }

    fn edit(&self, session: &Session, text: &str) {
        let edit = serde_json::json!({"op": "edit", "id": "t1#0", "text": text});
        let operation: Operation = serde_json::from_value(edit).expect("an operation");
        let edit = EditRequest { operations: vec![operation], author: "test".into(), ..EditRequest::default() };
        self.service().apply(session.session_id(), edit).expect("a commit");
    }
}

fn assert_edited(left: &Receiver<Vec<u8>>) {
    let body = left.recv_timeout(SOON).expect("a held request of another conversation leaves");
    assert!(memchr::memmem::find(&body, b"EDITED").is_some(), "with its edit");
}

#[test]
fn a_held_request_is_composed_while_another_conversation_is_loaded() {
    let store = Arc::new(FailingStore::new());
    let (first, second) = {
        let running = Running::on(store.clone());
        (running.edited(1), running.edited(2))
    };
    let running = Running::on(store);
    assert_edited(&running.send_session(&second));
    running.store.close();
    let waits = running.send_session(&first);
    assert_edited(&running.send_session(&second));
    assert!(waits.try_recv().is_err(), "the first one is still being loaded");
    running.store.open();
    assert_edited(&waits);
}

#[test]
fn a_conversation_is_loaded_while_the_disk_writes_what_others_said() {
    let store = Arc::new(FailingStore::new());
    let (first, second) = {
        let running = Running::on(store.clone());
        (running.edited(1), running.edited(2))
    };
    let running = Running::on(store);
    running.store.close_writes();
    assert_edited(&running.send_session(&first));
    assert_edited(&running.send_session(&second));
    running.store.open();
}

#[test]
fn a_held_request_is_composed_while_a_commit_or_an_import_of_others_is_stored() {
    let running = Running::on(Arc::new(FailingStore::new()));
    let (first, second) = (running.edited(1), running.edited(2));
    let (id, exported) = running.service().export(first.session_id()).expect("a file");
    running.service().purge(&[id]).expect("forgotten");
    let third = running.edited(3);
    running.store.close_writes();
    std::thread::scope(|scope| {
        let import = scope.spawn(|| running.service().take_in(&exported, false, None));
        let commit = scope.spawn(|| running.edit(&third, "EDITED again"));
        assert_edited(&running.send_session(&second));
        assert!(!import.is_finished() && !commit.is_finished(), "the disk does not answer");
        running.store.open();
        import.join().expect("no panic").expect("taken in");
        commit.join().expect("no panic");
    });
    assert_edited(&running.send_session(&first));
}

/// An editor that does nothing, slowly, for one conversation.
#[derive(Default)]
struct Slow {
    conversation: Mutex<Option<String>>,
    is_waiting: AtomicBool,
    free: Condvar,
}

impl Slow {
    fn stop_at(&self, conversation: Option<String>) {
        *self.conversation.lock().expect("no panic") = conversation;
        self.free.notify_all();
    }

    fn wait_until_it_waits(&self) {
        while !self.is_waiting.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    }
}

impl Automatic for Slow {
    fn settings(&self, about: &About<'_>, _: &[&str]) -> Arc<Settings> {
        let is_it = |stop: &mut Option<String>| stop.as_deref() == Some(about.conversation);
        let mut stop = self.conversation.lock().expect("no panic");
        self.is_waiting.fetch_or(is_it(&mut stop), Ordering::SeqCst);
        drop(self.free.wait_while(stop, |stop| is_it(stop)).expect("no panic"));
        Arc::new(Settings { mode: Mode::On, ..ctx_clients::editor_settings() })
    }

    fn propose(&self, _: &About<'_>, _: &Look<'_>, _: (&Settings, Facts<'_>), _: bool) -> Vec<Proposal> {
        Vec::new()
    }
}

#[test]
fn a_held_request_is_composed_while_another_one_is_being_composed() {
    let running = Running::on(Arc::new(FailingStore::new()));
    let (first, second) = (running.edited(1), running.edited(2));
    let slow = Arc::new(Slow::default());
    running.service().automate(Some(slow.clone()));
    slow.stop_at(Some(running.service().resolve(first.session_id()).expect("known")));
    let waits = running.send_session(&first);
    slow.wait_until_it_waits();
    assert_edited(&running.send_session(&second));
    // New sessions, and clients without one, do not wait either.
    let mut new = Session::new(9).lean();
    new.user("something else");
    running.send_session(&new).recv_timeout(SOON).expect("a new session leaves");
    let script = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"from a script"}]}"#;
    running.send(&nameless(), script).recv_timeout(SOON).expect("a request without a session leaves");
    // Nor do commands.
    running.edit(&second, "EDITED again");
    running.service().frames(second.session_id(), true, None).expect("a list");
    assert!(waits.try_recv().is_err(), "the first one is still being composed");
    slow.stop_at(None);
    assert_edited(&waits);
}

#[test]
fn a_held_request_is_composed_while_another_conversation_is_looked_at() {
    let store = Arc::new(FailingStore::new());
    let (first, second) = {
        let running = Running::on(store.clone());
        (running.edited(1), running.edited(2))
    };
    let running = Running::on(store);
    assert_edited(&running.send_session(&second));
    running.store.close();
    std::thread::scope(|scope| {
        let (service, id) = (running.service(), first.session_id());
        let shown = scope.spawn(|| drop(service.show(id, "t1", None).expect("shown")));
        let compared = scope.spawn(|| drop(service.diff(id, "source", "HEAD").expect("compared")));
        let searched = scope.spawn(|| drop(service.search("question", Some(id), 20).expect("searched")));
        let views = [shown, compared, searched];
        for _ in 0..3 {
            assert_edited(&running.send_session(&second));
        }
        assert!(!views.iter().any(|view| view.is_finished()), "the store does not answer");
        running.store.open();
        views.into_iter().for_each(|view| view.join().expect("no panic"));
    });
}

/// Nothing is measured: the large request takes seconds, and the small ones leave before it.
#[test]
fn held_requests_are_composed_while_a_request_of_very_many_messages_is_read() {
    // The most that a request may have.
    const MESSAGES: usize = 99_999;
    let running = Running::on(Arc::new(FailingStore::new()));
    let (first, second) = (running.edited(1), running.edited(2));
    let message = |at: usize| {
        let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
        format!(r#"{{"role":"{role}","content":"{at}"}}"#)
    };
    let messages = (0..=MESSAGES).map(message).collect::<Vec<_>>().join(",");
    let body = format!(r#"{{"model":"m","max_tokens":9,"messages":[{messages}]}}"#);
    let large = running.send(&first.headers(), body.as_bytes());
    for _ in 0..5 {
        assert_edited(&running.send_session(&second));
    }
    assert!(large.try_recv().is_err(), "the large one is still being read");
    large.recv_timeout(LONG).expect("it leaves");
}

#[test]
fn requests_of_one_session_are_booked_in_the_order_in_which_they_came() {
    let running = Running::on(Arc::new(FailingStore::new()));
    let mut session = running.edited(1);
    let mut leave = Vec::new();
    for turn in 0..20 {
        session.assistant("done").user(&format!("turn {turn}"));
        leave.push(running.send_session(&session));
    }
    leave.iter().for_each(assert_edited);
    running.recorder.settle(LONG);
    let verdicts: Vec<String> = running
        .house
        .events(session.session_id())
        .iter()
        .filter(|event| event["kind"] == "request")
        .map(|event| event["verdict"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert!(verdicts.iter().skip(2).all(|verdict| verdict == "next"), "{verdicts:?}");
}

/// Every conversation is a fork of another, each names the other as its parent, and all come at once.
#[test]
fn a_storm_of_forks_ends_and_every_log_fits_together() {
    let store = Arc::new(FailingStore::new());
    let running = Running::on(store.clone());
    let root = running.edited(1);
    let body = root.body();
    let agents: Vec<String> = (0..16).map(|number| format!("agent-{number}")).collect();
    std::thread::scope(|scope| {
        for (number, agent) in agents.iter().enumerate() {
            let (running, root, body, parent) = (&running, &root, &body, &agents[(number + 1) % agents.len()]);
            scope.spawn(move || {
                let headers = with(root.headers(), "x-claude-code-agent-id", agent);
                let headers = with(headers, "x-claude-code-parent-agent-id", parent);
                for _ in 0..5 {
                    assert_edited(&running.send(&headers, body));
                }
            });
        }
        for number in 0..8 {
            let (running, body) = (&running, &body);
            scope.spawn(move || {
                let session = Session::new(100 + number).lean();
                (0..5).for_each(|_| assert_edited(&running.send(&session.headers(), body)));
            });
        }
        scope.spawn(|| (0..10).for_each(|number| running.edit(&root, &format!("EDITED {number}"))));
    });
    running.recorder.settle(LONG);
    let ids = running.house.ids();
    assert_eq!(ids.len(), 1 + agents.len() + 8);
    drop(running);
    let house = House::on(store.clone());
    for id in ids {
        assert!(memchr::memmem::find(&house.compose(&id), b"EDITED").is_some(), "{id} is edited after a restart");
        let timeline = house.service.timeline(&id, usize::MAX).expect("a timeline");
        assert_eq!(timeline.skipped, 0, "every record of {id} fits to those before it");
    }
}
